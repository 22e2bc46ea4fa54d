"""Conclude a format from labeled examples: hypotheses propose, the examples judge.

A hypothesis is an order of a call's name, id and arguments, and a style of arguments. For each,
the examples are aligned with their messages (`example_alignment.py`), the pieces of the format are
concluded from those that align (`example_frames.py`, `example_arguments.py`, `example_layouts.py`)
and put together as the phases do it. The format that writes most examples exactly wins:

    <call>look(city="Oslo", days=3)</call>        name, then arguments one by one: aligns
                                                  arguments as one JSON object: no object, dropped

From `fixtures/learning/examples.yaml`, whose first output is
`Let me see.[do look(city='Oslo', days=3)][do note(text='rain', urgent=False)]`, it concludes

    row of a call       ('[do ', NAME, '(', ARGUMENTS, ')]'), without a separator
    entry               (KEY, '=', VALUE)
    examples written    3 of 3
    guesses             "escapes of quotes and line breaks in strings", … (5 in all)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from autoparser.analysis.core.call_format import CallFormat
from autoparser.analysis.core.call_notation import Row, RowSlot
from autoparser.analysis.core.conversation import Message, Presence
from autoparser.analysis.core.format_choice import opening_at_end
from autoparser.analysis.core.string_notation import StringEscape
from autoparser.analysis.core.text_alignment import common_prefix, edge_units
from autoparser.analysis.core.turn_format import (
    RefusedMessageError,
    TurnFormat,
)
from autoparser.analysis.core.turn_parts import TurnLayout, TurnPart
from autoparser.analysis.core.turn_shape import TurnEnd

from .call_rows import assemble_call
from .example_alignment import (
    AlignedExample,
    ArgumentStyle,
    Hypothesis,
    ShownCall,
    ValueFrames,
    align_message,
    leading_space,
    may_be_unknown,
    shown_calls,
)
from .example_arguments import GUESSED_EMPTY, ShownArguments, conclude_arguments
from .example_entries import value_frames
from .example_frames import (
    GUESSED_SEPARATOR,
    ShownFrame,
    conclude_frame,
    inner_text,
    row_with_slots,
    text_after_call,
    text_before_call,
    without_opened_calls,
)
from .example_layouts import complete_layout, seen_layouts, with_emptied_reasoning, with_usual_edges
from .examples import ARGUMENTS_MARK, Example, ExampleError
from .turn_layouts import cut_calls, cut_section, learn_turn_end


class ShownFormat(Struct, frozen=True):
    """A format concluded from examples."""

    format: TurnFormat
    """The concluded format, e.g. `<TurnFormat: '<|asst|>' content, calls until '<|eot|>'>`; header,
    openings and ends are the template's."""
    written_count: int
    """How many of the examples it writes exactly, e.g. 3."""
    others: tuple[int, ...]
    """The numbers of the other examples, from 0: cut, malformed, or of another format."""
    guesses: tuple[str, ...] = ()
    """The conclusions that no example shows, e.g. `"the separator of two calls in one
    turn"`."""

    @property
    def rank(self) -> tuple[int, bool, int]:
        """Count the examples written; then prefer the usual escape, then few guesses."""
        return self.written_count, has_usual_escape(self.format), -len(self.guesses)


def learn_examples(
    examples: Sequence[Example], base: TurnFormat, guesses: Sequence[Hypothesis] | None = None
) -> ShownFormat:
    """Learn the format of turns from examples, on the basis of a template's renders.

    `base` has the header, the openings and the ends. Only `guesses` are tried, if they are given.
    Raises ExampleError if no example can be aligned with its message.
    """
    trial = _ExampleTrial(examples, [turn_text(example, base) for example in examples], base)
    best: ShownFormat | None = None
    # The first hypothesis that writes all examples ends the search; orders and styles are many.
    for guess in _hypotheses(examples) if guesses is None else guesses:
        found = trial.under(guess)
        if found is not None and (best is None or found.rank > best.rank):
            best = found
        if best is not None and not best.others and best.rank[1]:
            break
    if best is None:
        raise ExampleError(
            "no example contains all parts of its message",
            place=examples[0].place if examples else None,
            hint="give the exact output, and the message that it should parse to",
        )
    return best


def has_usual_escape(format_: TurnFormat) -> bool:
    """Return whether strings have the usual escape for their quotes; decides if no text does."""
    if format_.calls is None:
        return True
    string = format_.calls.arguments.values.string
    # A double quote goes with JSON's escapes, a single one with Python's.
    if string.open.endswith('"'):
        return string.escape in (StringEscape.JSON, StringEscape.JSON_ASCII)
    # In Python's notation, `repr` writes the quotes, so they are not literals.
    return not string.open.endswith("'") and string.escape in (
        StringEscape.VERBATIM,
        StringEscape.PYTHON,
    )


def turn_text(example: Example, base: TurnFormat) -> tuple[str, int]:
    """Return the whole turn of an example, and the offset of the output in it."""
    default = next(iter(base.openings), None)
    # A prompt of an unknown setting is treated like the default one.
    opening = (opening_at_end(base, example.prompt) or default) if example.prompt else default
    begun = "" if opening is None else opening.text
    text = begun + example.output
    stops = [
        stop for stop in (*base.stop_strings, *(end.text.strip() for end in base.ends)) if stop
    ]
    end = next((end.text for end in base.ends if end.text.strip()), "")
    # Servers cut the stop string off; the format needs it to end a turn.
    if end and not any(text.rstrip().endswith(stop) for stop in stops):
        text += end
    return text, len(begun)


def is_turn(rendering: str | None, text: str, start: int, output: str) -> bool:
    """Whether the text `rendering` is the turn `text`, in which an output begins at `start`.

    The end of the turn may be missing if the output lacks it; whitespace at the end is ignored.
    """
    turns = (text.rstrip(), f"{text[:start]}{output}".rstrip())
    return rendering is not None and rendering.rstrip() in turns


_ESCAPES = (
    StringEscape.VERBATIM,
    StringEscape.JSON,
    StringEscape.PYTHON,
    StringEscape.HTML,
    StringEscape.JSON_HTML,
    StringEscape.JSON_ASCII,
)
_STYLES = (
    ArgumentStyle(whole=True),
    ArgumentStyle(encoded=True),
    *(ArgumentStyle(escape=escape) for escape in _ESCAPES),
)
_ORDERS = (
    (RowSlot.NAME, RowSlot.ID, RowSlot.ARGUMENTS),
    (RowSlot.ID, RowSlot.NAME, RowSlot.ARGUMENTS),
    (RowSlot.NAME, RowSlot.ARGUMENTS, RowSlot.ID),
    (RowSlot.ARGUMENTS, RowSlot.NAME, RowSlot.ID),
    (RowSlot.ID, RowSlot.ARGUMENTS, RowSlot.NAME),
    (RowSlot.ARGUMENTS, RowSlot.ID, RowSlot.NAME),
    (RowSlot.NAME, RowSlot.ARGUMENTS),
    (RowSlot.ARGUMENTS, RowSlot.NAME),
    (RowSlot.ID, RowSlot.ARGUMENTS),
)


def _hypotheses(examples: Sequence[Example]) -> Iterator[Hypothesis]:
    """Yield hypotheses without the fields that most examples' outputs lack."""
    calls = [(example, call) for example in examples for call in example.message.calls]
    if not calls:
        yield Hypothesis((), _STYLES[0])
        return
    # Half of the calls decide, since a few outputs may be cut.
    with_id = sum(bool(call.id) and call.id in example.output for example, call in calls)
    named = sum(bool(call.id) and call.name in call.id for _, call in calls)
    for style in _STYLES:
        for order in _ORDERS:
            if RowSlot.ID in order and 2 * with_id <= len(calls):
                continue
            if RowSlot.NAME not in order and 2 * named <= len(calls):
                continue
            yield Hypothesis(order, style)


class _ExampleTrial(Struct, frozen=True):
    """Examples with the texts of their turns, on the basis of a template's renders."""

    examples: Sequence[Example]
    """The examples as given, e.g. of the output `"[do look(city='Oslo', days=3)]<|eot|>"`."""
    texts: Sequence[tuple[str, int]]
    """The whole turn of each example, and the offset of its output there, e.g.
    `("<a><call>look()</call>", 3)`."""
    base: TurnFormat
    """The format that the template's renders show, e.g.
    `<TurnFormat: '<|asst|>' content until '<|eot|>'>`."""

    def under(self, guess: Hypothesis) -> ShownFormat | None:
        """Conclude a format under a hypothesis, or return None if it aligns no example."""
        aligned = self._align_with_frames(guess)
        called = any(turn.message.calls for turn in aligned.values())
        if not aligned or (guess.fields and not called):
            return None
        # Try all examples together first: usually none of them is malformed.
        best = self._shown_format(aligned.values())
        # Leaving out a malformed example improves the result for the others.
        for _ in range(len(aligned) // _ODD):
            suspected = aligned if best is None else [at for at in aligned if at in best.others]
            tried: list[tuple[int, ShownFormat]] = []
            for at in suspected:
                rest = [turn for other, turn in aligned.items() if other != at]
                found = self._shown_format(rest) if rest else None
                if found is not None:
                    tried.append((at, found))
            if not tried:
                break
            odd, better = max(tried, key=lambda pair: pair[1].rank)
            if best is not None and better.rank <= best.rank:
                break
            best = better
            del aligned[odd]
        if best is None:
            return None
        # Conclude again from the examples that this format writes, since the others blur it.
        rest = [turn for at, turn in aligned.items() if at not in best.others]
        second = self._shown_format(rest) if 0 < len(rest) < len(aligned) else None
        return best if second is None or second.written_count < best.written_count else second

    def _align_with_frames(self, guess: Hypothesis) -> dict[int, AlignedExample]:
        """Align the examples, then again with the literals around values of the first pass."""
        aligned = self._align_examples(guess)
        # An object is found without help; literals around values only help with entries.
        if guess.style.whole or guess.style.encoded:
            return aligned
        known = {
            at: turn
            for at, (example, (text, start)) in self._numbered_examples()
            if at not in aligned
            and may_be_unknown(example.message, text)
            and (turn := align_message(text, start, example.message, guess, only_known=True))
            is not None
        }
        # The literals of the first pass decide between several places of one value.
        frames = value_frames((*aligned.values(), *known.values()))
        if len(frames.middles) > 1 or (known and frames.middles):
            return self._align_examples(guess, frames)
        return aligned

    def _align_examples(
        self, guess: Hypothesis, frames: ValueFrames | None = None
    ) -> dict[int, AlignedExample]:
        found = {
            at: turn
            for at, (example, (text, start)) in self._numbered_examples()
            if (turn := align_message(text, start, example.message, guess, frames)) is not None
        }
        return dict(zip(found, with_usual_edges(list(found.values())), strict=True))

    def _numbered_examples(self) -> Iterator[tuple[int, tuple[Example, tuple[str, int]]]]:
        return enumerate(zip(self.examples, self.texts, strict=True))

    def _shown_format(self, aligned: Collection[AlignedExample]) -> ShownFormat | None:
        """Conclude a format, and check which examples it writes."""
        concluded = _conclude_format([*aligned], self.base)
        if concluded is None:
            return None
        format_, guesses = concluded
        others = tuple(
            at
            for at, (example, (text, start)) in self._numbered_examples()
            if not is_turn(written_turn(format_, example.message), text, start, example.output)
        )
        # A guess that writes an example exactly is shown by it.
        written = [
            example.message.calls for at, example in enumerate(self.examples) if at not in others
        ]
        shown = {
            GUESSED_SEPARATOR: any(len(calls) > 1 for calls in written),
            GUESSED_EMPTY: any(not call.arguments for calls in written for call in calls),
        }
        guesses = tuple(guess for guess in guesses if not shown.get(guess))
        return ShownFormat(format_, len(self.examples) - len(others), others, guesses)


_ODD = 3
"""One in this many examples may be odd."""


def written_turn(format_: TurnFormat, message: Message) -> str | None:
    """Return a message as a format writes it, or None if it never saw such parts."""
    try:
        return format_.write(message)
    except (RefusedMessageError, KeyError):
        return None


def _conclude_format(
    aligned: Sequence[AlignedExample], base: TurnFormat
) -> tuple[TurnFormat, tuple[str, ...]] | None:
    """Put the pieces together; return None if there are calls that cannot be."""
    calls = [call for example in aligned for call in shown_calls(example)]
    styled = next((example.style for example in aligned if example.message.calls), None)
    # Conclude the arguments first: the rest of the literals around them is the frame.
    shown = None if styled is None else conclude_arguments(calls, styled)
    if calls and shown is None:
        return None
    # Examples may come from another setting than the template's default.
    header = _header_of_examples(aligned, base)
    turn_end = next((end.text for end in base.ends if end.after is TurnPart.CONTENT), "")
    if shown is not None:
        header = without_opened_calls(header, calls, shown)
    layouts = seen_layouts(aligned, shown)
    known = {
        presence: layout
        for presence, layout in base.layouts.items()
        if not presence.calls and not layout.refusal
    }
    turn_end = turn_end or learn_turn_end({**known, **layouts})
    found: CallFormat | None = None
    guesses: tuple[str, ...] = ()
    if shown is not None:
        prompted = {example.text[: example.start] for example in aligned} | _reasoning_closes(
            aligned
        )
        framed = conclude_frame(calls, shown, header, turn_end, prompted)
        if framed is None:
            return None
        # Now that the close of later calls is known, it does not count as part of the layouts.
        if framed.frame.later_close:
            layouts = seen_layouts(aligned, shown, framed.frame)
        layouts = {
            presence: cut_calls(layout, framed.frame) for presence, layout in layouts.items()
        }
        section = cut_section(
            {**known, **layouts}, _beginning_without_reasoning(layouts, known, header), turn_end
        )
        layouts = {presence: section.layouts[presence] for presence in layouts}
        if turn_end.strip() and framed.frame.later_close.rstrip().endswith(turn_end.strip()):
            layouts = {
                presence: _without_end_after_calls(layout, turn_end)
                for presence, layout in layouts.items()
            }
        found = _assemble_shown_calls(calls, shown, framed, (section.open, section.close))
        if found is None:
            return None
        guesses = (*shown.guesses, *framed.guesses)
    # The prompt may have opened a block that all examples leave empty.
    opening = base.openings[0].text if base.openings else ""
    layouts, emptied = with_emptied_reasoning(layouts, known, opening, header)
    layouts, unseen = complete_layout(layouts, known, header, turn_end)
    format_ = replace(
        base,
        header=header,
        layouts=layouts,
        calls=found,
        ends=_with_ends_of_layouts(base.ends, layouts),
        not_rendered={},
        elsewhere=frozenset(),
    )
    return format_, (*guesses, *emptied, *unseen)


def _reasoning_closes(aligned: Sequence[AlignedExample]) -> set[str]:
    """Return the first markers between reasoning and calls, if calls only follow reasoning."""
    closes: set[str] = set()
    for example in aligned:
        at = next(
            (at for at, mark in enumerate(example.marks) if isinstance(mark.what, RowSlot)), 0
        )
        if not example.message.calls:
            continue
        # Calls without reasoning before them show their own opening.
        if not at or example.marks[at - 1].what is not TurnPart.REASONING:
            return set()
        before = example.between(at)
        space = leading_space(before)
        closes.update(space + unit for unit in edge_units(before.lstrip())[:1])
    return closes


def _without_end_after_calls(layout: TurnLayout, turn_end: str) -> TurnLayout:
    """Remove the turn's end after calls from a layout, if later calls are closed by it."""
    if layout.parts[-1:] != (TurnPart.CALLS,):
        return layout
    *before, last = layout.literals
    return replace(layout, literals=(*before, last.removesuffix(turn_end)))


def _header_of_examples(aligned: Sequence[AlignedExample], base: TurnFormat) -> str:
    """Return the beginning of every turn: the template's header, or the text that prompts wrote."""
    if all(example.text.startswith(base.header) for example in aligned):
        return base.header
    return common_prefix(*(example.text[: example.start] for example in aligned))


def _beginning_without_reasoning(
    layouts: dict[Presence, TurnLayout], template_layouts: dict[Presence, TurnLayout], header: str
) -> str:
    """Return the beginning of turns without reasoning, including an empty block of it."""
    plain = [
        layout.literals[0]
        for presence, layout in {**template_layouts, **layouts}.items()
        if layout.parts[:1] == (TurnPart.CONTENT,) and not presence.reasoning
    ]
    called = [
        layout.literals[0] for layout in layouts.values() if layout.parts[:1] == (TurnPart.CALLS,)
    ]
    shared = common_prefix(*plain, *called) if plain and called else ""
    return shared if len(shared) > len(header) else header


def _with_ends_of_layouts(
    ends: tuple[TurnEnd, ...], layouts: dict[Presence, TurnLayout]
) -> tuple[TurnEnd, ...]:
    """Add the ends after parts after which the template renders none, such as calls."""
    historic = {end.text: end.historic for end in ends}
    seen = {layout.parts[-1]: layout.literals[-1] for layout in layouts.values() if layout.parts}
    rendered = {end.after for end in ends}
    shown = (
        TurnEnd(part, text, historic.get(text))
        for part, text in seen.items()
        if text.strip() and part not in rendered
    )
    return (*ends, *shown)


def _guessed_empty_row(calls: CallFormat) -> Row | None:
    """Guess a call without arguments: drop the space before arguments that have no brackets."""
    if calls.arguments.members.open or RowSlot.ARGUMENTS not in calls.row:
        return None
    at = calls.row.index(RowSlot.ARGUMENTS)
    # `<call>f {…}</call>` without arguments is probably `<call>f</call>`.
    before = calls.row[at - 1] if at else ""
    return (*calls.row[: at - 1], *calls.row[at + 1 :]) if before.isspace() else None


def _assemble_shown_calls(
    calls: Sequence[ShownCall],
    shown_arguments: ShownArguments,
    framed: ShownFrame,
    section: tuple[str, str],
) -> CallFormat | None:
    """Combine the frame and the arguments; a call without arguments shows its own row."""
    found = assemble_call(framed.frame, (), shown_arguments.arguments, ARGUMENTS_MARK, section)
    if found is None:
        return None
    row = row_with_slots(framed.frame.call)
    found = replace(found, row=row)
    # A call without arguments shows its own row, if any example has one.
    empty = [
        call for call in calls if not any(slot is RowSlot.ARGUMENTS for slot, _ in call.fields)
    ]
    if not empty:
        return replace(found, empty_row=_guessed_empty_row(found))
    frame = framed.frame
    text = text_before_call(empty[0], shown_arguments)[-len(frame.repetition.open) or None :]
    opening = frame.repetition.open if text == frame.repetition.open else ""
    body = inner_text(empty[0], shown_arguments) + text_after_call(empty[0], shown_arguments)
    cut = body.find(frame.repetition.close) if frame.repetition.close.strip() else -1
    if not opening or cut < 0:
        return found
    end = cut + len(frame.repetition.close)
    return replace(found, empty_row=row_with_slots(opening + body[:end]))
