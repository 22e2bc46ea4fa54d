r"""Conclude the layouts of turns from examples, including layouts that no example shows.

An unseen layout is put together from neighbors that were seen: the literal between content and
calls in one turn is used in another. If two neighbors were never seen beside each other, the guess
is that nothing is between them.

Content and reasoning may lose whitespace at their edges. A text that is written without some of it
can be cut from the markup in more than one way. The literal of other examples decides:

    '<r>\nHm.\n</r>' for the reasoning '\nHm.\n\n', and '<r>\n' in other turns: it is '\nHm.' that
    loses its line breaks, and not the markup
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, product

from msgspec import structs
from msgspec.structs import replace

from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.text_alignment import (
    common_prefix,
    common_suffix,
    first_marker,
    prefix_length,
    suffix_length,
)
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_parts import EdgeStrip, StrippedEdges, TurnLayout, TurnPart

from .call_frame import CallsFrame
from .example_alignment import (
    AlignedExample,
    Mark,
    ShownCall,
    leading_space,
    most_frequent,
    present_parts,
    shown_calls,
)
from .example_arguments import ShownArguments
from .example_frames import text_after_call, text_before_call
from .turn_layouts import PRESENCES, join_calls


def with_usual_edges(aligned: Sequence[AlignedExample]) -> list[AlignedExample]:
    """Cut texts with whitespace at their edges so that the usual literals are left."""
    usual: dict[tuple[str, str], Counter[str]] = {}
    for example in aligned:
        for at in range(len(example.marks) + 1):
            if not _open_to_doubt(example, at):
                usual.setdefault(_neighbor_names(example, at), Counter())[example.between(at)] += 1
    return [_cut_again(example, usual) for example in aligned]


def _text_of_mark(mark: Mark | None) -> str:
    """Return the content or reasoning at a mark, with all its whitespace; else an empty text."""
    return str(mark.value) if mark is not None and isinstance(mark.what, TurnPart) else ""


def _marks_around(example: AlignedExample, at: int) -> tuple[Mark | None, Mark | None]:
    """Return the marks on both sides of a literal."""
    after = example.marks[at] if at < len(example.marks) else None
    return example.marks[at - 1] if at else None, after


def _neighbor_names(example: AlignedExample, at: int) -> tuple[str, str]:
    before, after = _marks_around(example, at)
    return _name_of_mark(before), _name_of_mark(after)


def _name_of_mark(mark: Mark | None) -> str:
    if mark is None:
        return ""
    return TurnPart.CALLS if isinstance(mark.what, RowSlot) else mark.what


def _open_to_doubt(example: AlignedExample, at: int) -> bool:
    before, after = _marks_around(example, at)
    left, right = _text_of_mark(before), _text_of_mark(after)
    return left != left.rstrip() or right != right.lstrip()


def _cut_again(
    example: AlignedExample, usual: Mapping[tuple[str, str], Counter[str]]
) -> AlignedExample:
    for at in range(len(example.marks) + 1):
        if not _open_to_doubt(example, at):
            continue
        # Prefer the possible cut that leaves a literal seen elsewhere.
        known = _UsualLiterals(usual, _neighbor_names(example, at))
        tried = list(_possible_cuts(example, at))
        if tried:
            example = max(tried, key=lambda cut: known.likely(cut.between(at)))
    return example


class _UsualLiterals:
    """The literals of other examples between two neighbors, or beside one of them."""

    def __init__(
        self, usual: Mapping[tuple[str, str], Counter[str]], neighbors: tuple[str, str]
    ) -> None:
        before, after = neighbors
        self._same = usual.get(neighbors, Counter[str]())
        self._closing = [
            text for (left, _), seen in usual.items() if left == before for text in seen
        ]
        self._opening = [
            text for (_, right), seen in usual.items() if right == after for text in seen
        ]

    def likely(self, literal: str) -> tuple[int, int]:
        """Return how often the literal was seen, and how much of it beside one neighbor."""
        closing = max((prefix_length(literal, other) for other in self._closing), default=0)
        opening = max((suffix_length(literal, other) for other in self._opening), default=0)
        return self._same[literal], closing + opening


def _possible_cuts(example: AlignedExample, at: int) -> Iterator[AlignedExample]:
    """Yield the possible cuts of literal number `at`, the current one first."""
    before, after = _marks_around(example, at)
    yield example
    for right, left in product(_possible_ends(example, before), _possible_begins(example, after)):
        marks = list(example.marks)
        if before is not None and right is not None:
            marks[at - 1] = replace(
                before, end=right[0], edges=structs.replace(before.edges, right=right[1])
            )
        if after is not None and left is not None:
            marks[at] = replace(
                after, start=left[0], edges=structs.replace(after.edges, left=left[1])
            )
        # The whitespace between two texts can belong to only one of them.
        if at == 0 or at == len(marks) or marks[at - 1].end <= marks[at].start:
            yield replace(example, marks=tuple(marks))


def _possible_ends(
    example: AlignedExample, mark: Mark | None
) -> Iterator[tuple[int, EdgeStrip] | None]:
    """Yield the offsets where a text may end, with the whitespace that it has lost."""
    if mark is None or not isinstance(mark.what, TurnPart):
        yield None
        return
    text = _text_of_mark(mark)
    # Whitespace after the core belongs to the text or the literal; each kind of stripping decides.
    core = mark.start + len(example.text[mark.start : mark.end].rstrip())
    for strip in EdgeStrip:
        kept = strip.right(text)[len(text.rstrip()) :]
        if example.text.startswith(kept, core):
            yield core + len(kept), strip


def _possible_begins(
    example: AlignedExample, mark: Mark | None
) -> Iterator[tuple[int, EdgeStrip] | None]:
    if mark is None or not isinstance(mark.what, TurnPart):
        yield None
        return
    text = _text_of_mark(mark)
    written = example.text[mark.start : mark.end]
    core = mark.start + len(leading_space(written))
    for strip in EdgeStrip:
        kept = leading_space(strip.left(text))
        if example.text.endswith(kept, 0, core):
            yield core - len(kept), strip


_START, _END = "start", "end"


def seen_layouts(
    examples: Sequence[AlignedExample],
    shown_arguments: ShownArguments | None,
    frame: CallsFrame | None = None,
) -> dict[Presence, TurnLayout]:
    """Return the most frequent layout of each combination of parts.

    The text that a `frame` writes after every call but the first is not part of them.
    """
    found: dict[Presence, list[tuple[TurnLayout, bool]]] = {}
    for example in examples:
        calls = list(shown_calls(example))
        # Behind a call without arguments, the text also closes the arguments that it lacks.
        whole = not calls or any(slot is RowSlot.ARGUMENTS for slot, _ in calls[-1].fields)
        layout = example_layout(example, shown_arguments, frame)
        found.setdefault(example.message.presence, []).append((layout, whole))
    layouts: dict[Presence, TurnLayout] = {}
    for presence, judged in found.items():
        seen = [layout for layout, _ in judged]
        deciding = [layout for layout, whole in judged if whole] or seen
        # Stripped whitespace is only visible if the text had some.
        rows = most_frequent((layout.parts, layout.literals) for layout in deciding)
        if rows is None:
            continue
        same = [layout for layout in seen if (layout.parts, layout.literals) == rows]
        layouts[presence] = TurnLayout(*rows, *_shown_edges(same))
    return layouts


def example_layout(
    example: AlignedExample, shown_arguments: ShownArguments | None, frame: CallsFrame | None = None
) -> TurnLayout:
    """Return the layout of one example; a call extends from its first place to its last."""
    places = [
        mark.what if isinstance(mark.what, TurnPart) else TurnPart.CALLS for mark in example.marks
    ]
    between = [example.between(at) for at in range(len(example.marks) + 1)]
    # View a turn in the same way as in renders, so that both can be merged.
    parts, literals = join_calls(places, between)
    if shown_arguments is not None and TurnPart.CALLS in parts:
        calls, at = list(shown_calls(example)), parts.index(TurnPart.CALLS)
        around = (
            text_before_call(calls[0], shown_arguments),
            _text_behind_calls(calls, shown_arguments, frame),
        )
        literals = (*literals[:at], *around, *literals[at + 2 :])
    edges = {mark.what: mark.edges for mark in example.marks if isinstance(mark.what, TurnPart)}
    return TurnLayout(
        parts,
        literals,
        edges.get(TurnPart.REASONING, StrippedEdges()),
        edges.get(TurnPart.CONTENT, StrippedEdges()),
    )


def _text_behind_calls(
    calls: Sequence[ShownCall], shown_arguments: ShownArguments, frame: CallsFrame | None
) -> str:
    text = text_after_call(calls[-1], shown_arguments)
    if frame is None or len(calls) == 1:
        return text
    # `<c>A</c>` and `<c>A</c><c>B</c></all>` are turns of one layout.
    close = frame.first_close()
    closed = close + frame.later_close
    return close + text.removeprefix(closed) if text.startswith(closed) else text


def complete_layout(
    example_layouts: Mapping[Presence, TurnLayout],
    template_layouts: Mapping[Presence, TurnLayout],
    header: str,
    turn_end: str,
) -> tuple[dict[Presence, TurnLayout], tuple[str, ...]]:
    """Return layouts of all parts that were seen, and the neighbors that never were.

    `template_layouts` are layouts that the template renders; examples take precedence.
    """
    layouts = {**template_layouts, **example_layouts}
    # A part that was never seen cannot be placed.
    read = {part for layout in layouts.values() for part in layout.parts}
    # Parts that were never seen together are put in the usual order.
    order = _usual_part_order(list(example_layouts.values()))
    joints = _usual_joints([*example_layouts.values(), *template_layouts.values()])
    unseen: dict[str, None] = {}
    for presence in PRESENCES:
        there = {*present_parts(presence)} & read
        parts = [part for part in order if part in there]
        if presence in example_layouts or (
            presence in template_layouts and set(template_layouts[presence].parts) == there
        ):
            continue
        literals: list[str] = []
        for pair in pairwise((_START, *(part.value for part in parts), _END)):
            # Neighbors that some turn has beside each other are known.
            literal = joints.get(pair)
            if literal is None:
                unseen[_unseen_words(*pair)] = None
                literal = _guessed_joint(pair, joints, header, turn_end)
            literals.append(literal)
        layouts[presence] = TurnLayout(
            tuple(parts), tuple(literals), *_shown_edges(layouts.values())
        )
    return layouts, tuple(unseen)


def with_emptied_reasoning(
    example_layouts: Mapping[Presence, TurnLayout],
    template_layouts: Mapping[Presence, TurnLayout],
    opening: str,
    header: str,
) -> tuple[dict[Presence, TurnLayout], tuple[str, ...]]:
    """Add turns with reasoning, if all turns have an empty block that the prompt opens.

    A turn `<a><r></r>` CONTENT after a prompt that ends with `<a><r>` shows the place of reasoning.
    """
    layouts = {**template_layouts, **example_layouts}
    core = opening.rstrip()
    if core == header.rstrip() or any(
        TurnPart.REASONING in layout.parts for layout in layouts.values()
    ):
        return dict(example_layouts), ()
    # The text after the opened block closes it, and content follows.
    added = {
        presence._replace(reasoning=True): structs.replace(
            layout,
            parts=(TurnPart.REASONING, *layout.parts),
            literals=(opening, rest, *layout.literals[1:]),
        )
        for presence, layout in layouts.items()
        if layout.parts
        and not presence.reasoning
        and layout.literals[0].startswith(core)
        and (rest := layout.literals[0].removeprefix(opening).removeprefix(core)).strip()
    }
    guess = "reasoning, assumed to fill the block that is empty in all turns"
    return {**example_layouts, **added}, (guess,) if added else ()


def with_worded_calls(format_: TurnFormat) -> TurnFormat:
    """Add calls that only the prompt's words spell out to layouts, after all other parts."""
    turn_end = next((end.text for end in format_.ends if end.after is TurnPart.CONTENT), "")
    # The prompt's words show a call but not its place in a turn, so assume a turn of nothing else.
    called = TurnLayout((TurnPart.CALLS,), (format_.header, turn_end))
    known = {presence: layout for presence, layout in format_.layouts.items() if not presence.calls}
    layouts, _ = complete_layout({Presence(calls=True): called}, known, format_.header, turn_end)
    unworded = dict(format_.not_rendered)
    unworded.pop(TurnPart.CALLS, None)
    return structs.replace(format_, layouts=layouts, not_rendered=unworded)


def _guessed_joint(
    pair: tuple[str, str], joints: Mapping[tuple[str, str], str], header: str, turn_end: str
) -> str:
    """Join the close of one part and the opening of the other, as far as others show them."""
    before, after = pair
    # A common beginning of turns, such as an empty block, belongs to neither part.
    begun = [text for part in pair if (text := joints.get((_START, part)))]
    outer = common_prefix(*begun) if len(begun) == len(pair) else header
    # The end of the turn does not close a part.
    left = [
        text.removesuffix(turn_end) if last == _END else text
        for (first, last), text in joints.items()
        if first == before
    ]
    right = [
        text.removeprefix(outer)
        for (first, last), text in joints.items()
        if last == after and first == _START
    ]
    # The common text after a part closes it; the common text before it opens it.
    closing = header if before == _START else common_prefix(*left) if left else ""
    if len(left) == 1 and before != _START:
        closing = first_marker(closing)
    if after == _END:
        return closing.removesuffix(turn_end) + turn_end
    opening = common_suffix(*right) if right else ""
    return closing + (opening if opening.strip() else "")


def _unseen_words(before: str, after: str) -> str:
    if before == _START:
        return f"turns that begin with {after}"
    if after == _END:
        return f"turns that end with {before}"
    return f"the text between {before} and {after}"


def _shown_edges(layouts: Iterable[TurnLayout]) -> tuple[StrippedEdges, StrippedEdges]:
    """Return the edges of reasoning and content, of layouts that show some."""
    layouts = [*layouts]
    reasoning = (layout.reasoning for layout in layouts if layout.reasoning != StrippedEdges())
    content = (layout.content for layout in layouts if layout.content != StrippedEdges())
    return next(reasoning, StrippedEdges()), next(content, StrippedEdges())


def _usual_part_order(layouts: Sequence[TurnLayout]) -> list[TurnPart]:
    """Return the parts in the order of most turns with several parts."""
    longest = max((layout.parts for layout in layouts), key=len, default=())
    seen = iter(longest)
    return [next(seen) if part in longest else part for part in TurnPart]


def _usual_joints(layouts: Sequence[TurnLayout]) -> dict[tuple[str, str], str]:
    seen: dict[tuple[str, str], list[str]] = {}
    for layout in layouts:
        stations = (_START, *(part.value for part in layout.parts), _END)
        for pair, literal in zip(pairwise(stations), layout.literals, strict=True):
            seen.setdefault(pair, []).append(literal)
    return {pair: most_frequent(texts) or "" for pair, texts in seen.items()}
