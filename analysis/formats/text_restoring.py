r"""Putting back the markers that an engine took out of an output with its special tokens.

What is left of a format without some of its markers is looked for in the text: the rows that a
turn may have, and in them the calls. `\n{"name": "f", "arguments": {}}\n` is what is left of
`<call>\n{"name": "f", "arguments": {}}\n</call>`. Only markers of which the text has none are put
back, and what comes of it has to be read without any trouble.

    >>> from autoparser import analyze, load_template
    >>> parser = analyze(load_template("fixtures/templates/j1-json-in-tags.jinja")).parser()
    >>> restored = restore_markers(parser, '\n{"name": "find", "arguments": {}}\n')
    >>> restored.text
    '<tool_call>\n{"name": "find", "arguments": {}}\n</tool_call><|im_end|>'
    >>> restored.markers
    ('<|im_end|>', '<tool_call>', '</tool_call>')
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from autoparser.analysis.core.call_format import CallFormat
from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format_choice import PromptFormat
from autoparser.analysis.core.text_alignment import edge_units, is_unit
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.decoding.message_rendering import (
    AnswerRewriter,
    FormatTurns,
    MessageRendering,
)
from autoparser.analysis.parsing.foreign_calls import (
    call_texts,
    foreign_call,
    has_own_markup,
    units_in,
)
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import ParsedMessage
from autoparser.analysis.parsing.text_tape import SpanKind
from autoparser.analysis.parsing.turn_nodes import PartBody, StrictItem, StrictRow, TurnTree

# A format's markers that a tokenizer may have as special tokens.


def turn_markers(turn: TurnTree) -> tuple[str, ...]:
    """Return every marker that the template writes in such a turn, its ends included."""
    texts = [text for row in turn.strict.rows for text in (*row.items, row.end.core)]
    if turn.strict.calls is not None:
        texts += call_texts(turn.strict.calls)
    return units_in(text for text in texts if isinstance(text, str))


def without_markers(text: str, markers: Iterable[str]) -> str:
    """Return a text as it is when these markers are stripped."""
    # The longest first, since one marker may contain another.
    for marker in sorted(markers, key=len, reverse=True):
        text = text.replace(marker, "")
    return text


def may_be_stripped(turn: TurnTree, text: str, lost_markers: Collection[str]) -> bool:
    """Return whether an engine may have stripped the markers that a text lacks.

    An engine strips every special token or none: it leaves neither the end of the turn nor, of a
    pair such as `<call>` and `</call>`, one alone.
    """
    if any(marker in text for marker in units_in(end.core for end in turn.ends)):
        return False
    return not any(
        (opener in text or closer in text) and not {opener, closer}.isdisjoint(lost_markers)
        for opener, closer in _pairs(turn)
        if opener != closer
    )


def _pairs(turn: TurnTree) -> Iterator[tuple[str, str]]:
    """Yield the markers around each part, the outermost of calls first."""
    frames: list[tuple[str, str]] = []
    for row in turn.strict.rows:
        for before, part, after in zip(row.items, row.items[1:], row.items[2:], strict=False):
            if isinstance(part, PartBody) and isinstance(before, str) and isinstance(after, str):
                inner = zip(reversed(units_in([before])), units_in([after]), strict=False)
                frames += inner
    calls = turn.strict.calls
    if calls is not None:
        at = calls.row.index(RowSlot.ARGUMENTS) if RowSlot.ARGUMENTS in calls.row else 0
        head, tail = (
            "".join(piece for piece in pieces if type(piece) is str)
            for pieces in (calls.row[:at], calls.row[at + 1 :])
        )
        for opening, closing in ((head, tail), (calls.section_open, calls.section_close)):
            frames += zip(units_in([opening]), reversed(units_in([closing])), strict=False)
    # `<|call|>` and `</f>` are around the same arguments, and no pair.
    yield from (pair for pair in frames if _frame(pair[0]) == _frame(pair[1]))


def _frame(marker: str) -> str:
    """Return the signs of a marker, such as `<>` of `</call>`."""
    return re.sub(r"[\w\s/]", "", marker)


# Whether an output belongs to another prompt, or to another format.


@dataclass(frozen=True, slots=True)
class PromptedParser:
    """A generation prompt of the template, with the parser of the text after it."""

    prompt_format: PromptFormat
    r"""The format and the generation prompt, such as `"<|im_start|>assistant\n<think>\n"`."""
    parser: OutputParser
    """The parser of the text after the prompt, such as `<OutputParser of 'look', 'note'>`."""


def other_setting(others: Sequence[PromptedParser], text: str) -> Mapping[str, Json] | None:
    """Return the setting of the first prompt after which a text parses without faults, or None."""
    for other in others:
        message = other.parser.parse(text)
        junk = any(span.kind is SpanKind.JUNK for span in message.spans)
        if not message.status.regular or junk:
            continue
        rewriter = AnswerRewriter(
            FormatTurns(other.prompt_format), other.prompt_format.format, other.parser
        )
        rendering, opening = rewriter.compare(text, message).rendering, other.prompt_format.opening
        if opening is not None and (
            rendering.same_text or rendering is MessageRendering.WHITESPACE
        ):
            return opening.setting
    return None


def foreign_markup(turn: TurnTree, text: str, message: ParsedMessage) -> tuple[int, str] | None:
    """Find what looks like another format's markup, where no call of this format is there.

    It is the call for which the message has the status "another format", or, in a text without any
    marker of this format, a marker at its very beginning or end.
    """
    if message.leaves_call:
        content = [span for span in message.spans if span.kind is SpanKind.CONTENT]
        start, end = content[0].start, content[-1].end
        found = foreign_call(turn, text[start:end])
        return None if found is None else _marker_around(text, start + found[0], found[1])
    ends = {end.core for end in turn.ends}
    ours = (*turn_markers(turn), *units_in([turn.header.core]))
    if has_own_markup(turn, text) or any(our in text for our in ours if our not in ends):
        return None
    return _at_an_edge(text, ends)


def _marker_around(text: str, at: int, name: str) -> tuple[int, str]:
    """Return the marker that a name stands in, or the name."""
    start = 0
    for unit in edge_units(text):
        if start <= at < start + len(unit) and is_unit(unit):
            return start, unit
        start += len(unit)
    return at, name


def _at_an_edge(text: str, ends: set[str]) -> tuple[int, str] | None:
    bare = text.strip()
    # A turn may end with several markers.
    while bare.endswith(tuple(ends)) and ends:
        bare = bare.removesuffix(next(end for end in ends if bare.endswith(end))).rstrip()
    units = edge_units(bare)
    at = len(text) - len(text.lstrip())
    if not units:
        return None
    if is_unit(units[0]):
        return at, units[0]
    if is_unit(units[-1]):
        return at + len(bare) - len(units[-1]), units[-1]
    return None


_WORD = r"[\w.:-]+"
_TELLING = 3
"""Characters left between two texts that say where one ends."""

LONGEST = 100_000
"""Characters of an output in which markers are put back."""


@dataclass(frozen=True, slots=True)
class RestoredOutput:
    """An output with the markers that were missing."""

    text: str
    r"""The output with the markers inserted, such as
    `"<think>\nThe forecast, then the rooms.\n</think>\n\nLet me look.\n<tool_call>\n…<|im_end|>"`.
    """
    markers: tuple[str, ...]
    """The markers that were missing, such as `("<|tool_call|>",)`."""


def restore_markers(parser: OutputParser, text: str) -> RestoredOutput | None:
    """Insert the missing markers; return None unless a regular message with more parts results."""
    if len(text) > LONGEST:
        return None
    turn = parser.turn
    lost_markers = tuple(marker for marker in turn_markers(turn) if marker not in text)
    # An end that is still there would be read as content of the restored turn.
    body, end = without_end(text, [end.core for end in turn.ends])
    found: list[tuple[tuple[int, bool, int], RestoredOutput]] = []
    # The text alone does not show which parts it has, so every row is tried.
    for row in turn.strict.rows:
        written = _restore_row(row, turn.strict.calls, body, lost_markers, turn.offered)
        if written is None:
            continue
        whole = written + (end or row.end.core)
        message = parser.parse(whole)
        markers = tuple(marker for marker in lost_markers if marker in whole)
        # A missing end is not enough, since most engines remove it.
        if message.status.regular and _says(message, row) and set(markers) - {row.end.core}:
            exact = without_markers(written, lost_markers).rstrip() == body.rstrip()
            fits = (len(message.tool_calls), exact, len(row.items))
            found.append((fits, RestoredOutput(whole, markers)))
    # Prefer the most calls, then an unchanged text, then the most parts.
    return max(found, key=lambda scored: scored[0])[1] if found else None


def marker_places(back: RestoredOutput, text: str) -> Iterator[tuple[str, int]]:
    """Return each marker that was put back, and its place in the text without it.

    But for markers and, where the engine has stripped that too, whitespace, both texts have the
    same characters.
    """
    exact = without_markers(back.text, back.markers).startswith(text)
    counted = [at for at, char in enumerate(text) if exact or not char.isspace()]
    pattern = re.compile("|".join(map(re.escape, sorted(back.markers, key=len, reverse=True))))
    before = at = 0
    for found in pattern.finditer(back.text):
        between = back.text[at : found.start()]
        before += sum(exact or not char.isspace() for char in between)
        at = found.end()
        yield found.group(), counted[before] if before < len(counted) else len(text)


def _says(message: ParsedMessage, row: StrictRow) -> bool:
    """Whether a message has the parts that its row should give it."""
    read = (message.reasoning_content, message.content, message.tool_calls)
    parts = (TurnPart.REASONING, TurnPart.CONTENT, TurnPart.CALLS)
    return all(bool(text) is row.has(part) for text, part in zip(read, parts, strict=True))


def without_end(text: str, ends: Sequence[str]) -> tuple[str, str]:
    """Return a text without the end of a turn, and that end, or empty without one."""
    bare = text.rstrip()
    end = next((end for end in ends if end and bare.endswith(end)), "")
    return (bare[: len(bare) - len(end)], end) if end else (text, "")


def _restore_row(
    row: StrictRow,
    calls: CallFormat | None,
    text: str,
    lost_markers: Sequence[str],
    offered: Collection[str] | None,
) -> str | None:
    """Insert the markers of one row, or return None if the text does not fit it."""
    items = list(row.items)
    at = next((at for at, item in enumerate(items) if _is_calls(item)), None)
    if at is None:
        # Only a literal between two texts leaves something to find; one part alone has only edges.
        has_both = row.has(TurnPart.REASONING) and row.has(TurnPart.CONTENT)
        return _insert_literals(items, text, lost_markers) if has_both else None
    behind = items[at + 1 :]
    # A text after the calls could belong to the remains of the last one.
    if calls is None or any(isinstance(item, PartBody) for item in behind):
        return None
    section = _Calls(calls, lost_markers, offered)
    start = section.start(text)
    if start is None:
        return None
    tail = "".join(item for item in behind if isinstance(item, str))
    bare = without_markers(tail, lost_markers)
    written = section.put_back(text[start:].removesuffix(bare if bare.strip() else ""))
    before = _insert_literals(items[:at], text[:start], lost_markers)
    return None if before is None or written is None else f"{before}{written}{tail}"


def _is_calls(item: StrictItem) -> bool:
    return isinstance(item, PartBody) and item.part is TurnPart.CALLS


def _insert_literals(
    items: Sequence[StrictItem], text: str, lost_markers: Sequence[str]
) -> str | None:
    """Insert the literals between texts, or return None if their remains are missing."""
    pieces: list[str] = []
    at = 0
    body = False
    for place, item in enumerate(items):
        if isinstance(item, PartBody):
            body = True
            continue
        bare = without_markers(item, lost_markers)
        last = place == len(items) - 1
        start = _find(text, bare, at, free=body, last=last)
        if start is None:
            return None
        pieces += [text[at:start], item]
        at = start + (len(bare) if text.startswith(bare, start) else len(text) - start)
        body = False
    if not body and text[at:].strip():
        return None
    return "".join([*pieces, text[at:]])


def _find(text: str, bare: str, at: int, *, free: bool, last: bool) -> int | None:
    """Find the remains of a literal: at this offset, or after a `free` text."""
    if not free:
        return at if text.startswith(bare, at) else None
    if last:
        # Engines may strip the whitespace at the end.
        bare = bare if text.endswith(bare) else bare.rstrip()
        return (
            len(text) - len(bare) if text.endswith(bare) and len(text) - len(bare) >= at else None
        )
    # Paragraphs have an empty line between them, too.
    found = text.find(bare, at) if len(bare) >= _TELLING else -1
    return None if found < 0 else found


class _Calls:
    """The remains of a section of calls."""

    def __init__(
        self, calls: CallFormat, lost_markers: Sequence[str], offered: Collection[str] | None
    ) -> None:
        self._calls = calls
        self._lost_markers = lost_markers
        at = calls.row.index(RowSlot.ARGUMENTS) if RowSlot.ARGUMENTS in calls.row else 0
        self._head, self._tail = calls.row[:at], calls.row[at + 1 :]
        names = (
            # The longest first, since one name may begin with another.
            "|".join(map(re.escape, sorted(offered, key=len, reverse=True))) if offered else _WORD
        )
        left = "".join(self._literal_remains(piece) for piece in self._head)
        # Without known names, any word could be a name: a word of the literals has to precede it.
        telling = bool(offered) or any(char.isalnum() for char in left)
        # An id after the arguments has no known text, so that its edges would be guesses.
        known = RowSlot.NAME in self._head and all(type(piece) is str for piece in self._tail)
        self._pattern = re.compile(self._regex(names)) if known and telling else None

    def _literal_remains(self, piece: str) -> str:
        """Return the remains of a literal, and an empty text for a slot."""
        # A slot is a `str`, too, so `isinstance` does not distinguish it from a literal.
        return without_markers(piece, self._lost_markers) if type(piece) is str else ""

    def _regex(self, names: str) -> str:
        pieces: list[str] = []
        for at, piece in enumerate(self._head):
            if piece is RowSlot.NAME:
                pieces.append(f"(?P<s{at}>{names})")
            elif type(piece) is str:
                left = re.escape(self._literal_remains(piece))
                # An engine may strip whitespace before the first call.
                pieces.append(
                    rf"\s*{re.escape(self._literal_remains(piece).lstrip())}" if not at else left
                )
            else:
                pieces.append(f"(?P<s{at}>{_WORD})")
        return "".join(pieces)

    def start(self, text: str) -> int | None:
        """Return the offset of the first call, including the section's opening."""
        found = None if self._pattern is None else self._pattern.search(text)
        if found is None:
            return None
        start = found.start()
        opening = self._literal_remains(self._calls.section_open).strip()
        if opening:
            bare = text[:start].rstrip()
            return len(bare) - len(opening) if bare.endswith(opening) else None
        return start

    def put_back(self, text: str) -> str | None:
        """Write the calls of a text with their markers, or return None if they are not calls."""
        heads = [] if self._pattern is None else list(self._pattern.finditer(text))
        stops = [*(head.start() for head in heads[1:]), len(text)]
        bodies = [text[head.end() : stop] for head, stop in zip(heads, stops, strict=True)]
        calls = list(self._restored_calls(heads, bodies))
        if not calls or None in calls:
            return None
        joined = self._calls.separator.join(filter(None, calls))
        return f"{self._calls.section_open}{joined}{self._calls.section_close}"

    def _restored_calls(
        self, heads: Sequence[re.Match[str]], bodies: Sequence[str]
    ) -> Iterator[str | None]:
        closing = "".join(piece for piece in self._tail if type(piece) is str)
        for at, (head, body) in enumerate(zip(heads, bodies, strict=True)):
            last = at == len(heads) - 1
            behind = self._calls.section_close if last else self._calls.separator
            left = without_markers(closing + behind, self._lost_markers).strip()
            bare = body.rstrip()
            if not bare.endswith(left):
                yield None
                return
            arguments = bare[: len(bare) - len(left)].rstrip()
            pieces = [
                piece if type(piece) is str else head.group(f"s{place}")
                for place, piece in enumerate(self._head)
            ]
            yield f"{''.join(pieces)}{arguments}{closing}"
