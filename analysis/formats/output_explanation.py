"""All that was not read as the template writes it, in the order of the text.

For example, the differences between a call as the template writes it and a model's text:

    >>> for one in group_differences('<f>{"a": 1}</f>', '<f>{"a":1}'):
    ...     print(one.deviation, one.offset, repr(one.expected), repr(one.found))
    other whitespace 8 ' ' ''
    missing text 10 '</f>' ''
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from enum import StrEnum

from autoparser.analysis.core.call_format import CallFormat
from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.error_words import nearest_word
from autoparser.analysis.core.format_choice import PromptFormat
from autoparser.analysis.core.text_alignment import edge_units, is_unit, prefix_length
from autoparser.analysis.decoding.message_rendering import AnswerRewriter, FormatTurns
from autoparser.analysis.parsing.foreign_calls import units_in
from autoparser.analysis.parsing.output_parser import OutputParser, after_reasoning
from autoparser.analysis.parsing.parsed_message import ParsedMessage, Status
from autoparser.analysis.parsing.text_tape import Span, SpanKind

from .text_restoring import (
    PromptedParser,
    RestoredOutput,
    foreign_markup,
    marker_places,
    may_be_stripped,
    other_setting,
    restore_markers,
    without_end,
    without_markers,
)

# A place where an output differs from the template's render.


class OutputDeviation(StrEnum):
    """How an output departs from the template."""

    STRAY = "stray closer"
    BEHIND_END = "text after the end of the turn"
    LEFT_OUT = "text that belongs to nothing"
    UNREADABLE = "call that cannot be read"
    UNKNOWN_TOOL = "tool that was not offered"
    SCHEMA = "arguments that break the tool's schema"
    CUT = "text that ends within a call"
    NO_END = "no end of the turn"
    MISSING = "missing text"
    SURPLUS = "text that the template does not write"
    OTHER = "other text"
    ORDER = "another order"
    SPACE = "other whitespace"
    FOREIGN = "markup of no part of this format"


class CauseKind(StrEnum):
    """Why an output may be so; each was tried, and would explain it."""

    STRIPPED = "special tokens stripped"
    """With the format's markers put back that are missing, the output is regular."""
    OMITTED = "markers omitted"
    """The same, and a special token is in the output, so that the engine stripped none."""
    OTHER_PROMPT = "prompt of another setting"
    """After another generation prompt of the template, the output is regular."""
    OTHER_FORMAT = "another format"
    """Nothing of this format's calls is there, and something that looks like another's."""


@dataclass(frozen=True, slots=True)
class PossibleCause:
    """Why an output may be so."""

    kind: CauseKind
    """The kind of cause, such as `CauseKind.STRIPPED`."""
    markers: tuple[str, ...] = ()
    """The markers that were stripped or omitted, such as `("<|tool_call|>",)`."""
    setting: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The switches of the other prompt, such as `{"enable_thinking": False}`; empty: the template's
    defaults."""


@dataclass(frozen=True, slots=True)
class DeviationExplanation:
    """One departure: its place, the expected text, the text there, and the likely cause."""

    deviation: OutputDeviation
    """The kind of departure, such as `OutputDeviation.MISSING`."""
    offset: int
    """In characters of the output, such as `99`."""
    expected: str
    r"""The template's text at that place, such as `"\n</tool_call>"`; empty if it writes none or
    the text is unknown."""
    found: str
    """The output's text at that place, such as `"</tool_calls>"`; empty if text is missing."""
    cause: PossibleCause | None = None
    """The likely cause, such as `PossibleCause(CauseKind.STRIPPED, ("</tool_call>",))`, or None if
    none is known."""
    more: int = 0
    """How many places more are like this one, such as 2."""


# The template's and the model's text of one message, side by side.


_SPACE = re.compile(r"(\s+)")
MOST_TOKENS = 3000
"""Longer middles are taken as one difference: aligning takes time by the square of it."""


@dataclass(frozen=True, slots=True)
class _Region:
    """A stretch in which two texts differ."""

    offset: int
    """In the model's text, such as `99`."""
    expected: str
    """The template's text, such as `"</call>"`."""
    actual: str
    """The model's text, such as `"</calls>"`."""
    moved: bool = False
    """Whether it is one text at two places, such as `"name": "f", ` behind the arguments."""

    @property
    def deviation(self) -> OutputDeviation:
        """The kind of difference."""
        if self.moved:
            return OutputDeviation.ORDER
        wanted, there = _bare(self.expected), _bare(self.actual)
        if wanted == there:
            return OutputDeviation.SPACE
        if not there:
            return OutputDeviation.MISSING
        if not wanted:
            return OutputDeviation.SURPLUS
        return OutputDeviation.ORDER if Counter(wanted) == Counter(there) else OutputDeviation.OTHER


def group_differences(expected: str, actual: str) -> tuple[DeviationExplanation, ...]:
    """Name the differences, those that are alike together.

    `<f>{"a": 1}</f>` against `<f>{"a":1}` lacks a space after the colon, and lacks `</f>`.
    """
    regions = _join_moved(list(_regions(expected, actual)))
    alike = (
        # All differences in whitespace are one group; others have to be of the same texts.
        (kind if kind is OutputDeviation.SPACE else (kind, region.expected, region.actual), region)
        for region in regions
        for kind in [region.deviation]
    )
    return _first_places(
        (key, DeviationExplanation(region.deviation, region.offset, region.expected, region.actual))
        for key, region in alike
    )


def _regions(expected: str, actual: str) -> Iterator[_Region]:
    start = prefix_length(expected, actual)
    # The tokens begin where the texts do, so that no marker is split.
    left, right = _tokens(expected), _tokens(actual)
    pairs = enumerate(zip(left, right, strict=False))
    same = next((at for at, (one, other) in pairs if one != other), min(len(left), len(right)))
    at = sum(map(len, right[:same]))
    before = right[:same]
    left, right = left[same:], right[same:]
    if max(len(left), len(right)) > MOST_TOKENS:
        yield _Region(start, expected[start:], actual[start:])
        return
    # By default, frequent tokens of texts of 200 or more tokens would be ignored.
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    for kind, from_left, to_left, from_right, to_right in matcher.get_opcodes():
        wanted, there = left[from_left:to_left], right[from_right:to_right]
        if kind != "equal":
            yield _trim_whitespace(*_slid(before, wanted, there), at)
        before += there
        at += sum(map(len, there))


def _slid(before: Sequence[str], wanted: list[str], there: list[str]) -> tuple[str, str, int]:
    """Move text that only one side has to the left, as far as the result is the same.

    Between `{"` and `arguments`, `name": "f", "` is missing; that is `"name": "f", ` after `{`.
    """
    alone = wanted or there
    moved = 0
    while (
        not (wanted and there)
        and moved < len(before)
        and before[-1 - moved] == alone[-1]
        and not alone[-1].isspace()
    ):
        alone.insert(0, alone.pop())
        moved += 1
    back = sum(map(len, before[len(before) - moved :]))
    return "".join(wanted), "".join(there), back


def _trim_whitespace(wanted: str, there: str, back: int, at: int) -> _Region:
    """Leave out the whitespace that both begin and end with."""
    start = at - back
    while wanted and there and wanted[0] == there[0] and wanted[0].isspace():
        wanted, there, start = wanted[1:], there[1:], start + 1
    while wanted and there and wanted[-1] == there[-1] and wanted[-1].isspace():
        wanted, there = wanted[:-1], there[:-1]
    return _Region(start, wanted, there)


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    for unit in edge_units(text):
        pieces = [unit] if is_unit(unit) else _SPACE.split(unit)
        for piece in pieces:
            # Each sign between words has a meaning: `"}}`.
            tokens += [piece] if piece.isalnum() or piece.isspace() or is_unit(piece) else piece
    return [token for token in tokens if token]


def _join_moved(regions: list[_Region]) -> list[_Region]:
    """Join a missing text with the same text at another place."""
    found: list[_Region] = []
    for region in regions:
        at = next((at for at, other in enumerate(found) if _swaps(other, region)), None)
        if at is None:
            found.append(region)
        else:
            other = found[at]
            found[at] = _Region(
                min(other.offset, region.offset),
                other.expected if _bare(other.expected) else region.expected,
                other.actual if _bare(other.actual) else region.actual,
                moved=True,
            )
    return found


def _swaps(one: _Region, other: _Region) -> bool:
    kinds = {one.deviation, other.deviation}
    wanted = _bare(one.expected) + _bare(other.expected)
    there = _bare(one.actual) + _bare(other.actual)
    return kinds == {OutputDeviation.MISSING, OutputDeviation.SURPLUS} and Counter(
        wanted
    ) == Counter(there)


def _first_places(
    keyed: Iterable[tuple[object, DeviationExplanation]],
) -> tuple[DeviationExplanation, ...]:
    """Return the first place of each key, with how many more there are."""
    first: dict[object, DeviationExplanation] = {}
    for key, explanation in keyed:
        known = first.get(key)
        first[key] = explanation if known is None else replace(known, more=known.more + 1)
    return tuple(first.values())


def _bare(text: str) -> str:
    return _SPACE.sub("", text)


_OF_ANOTHER_PROMPT = (
    OutputDeviation.STRAY,
    OutputDeviation.MISSING,
    OutputDeviation.SURPLUS,
    OutputDeviation.OTHER,
)


@dataclass(frozen=True, slots=True)
class OutputReading:
    """How an output was read."""

    prompt_format: PromptFormat
    r"""The format and the generation prompt of the output, such as `"<|im_start|>assistant\n"`."""
    parser: OutputParser
    """The parser of the output, such as `<OutputParser of 'look', 'note'>`; it keeps the reasoning
    apart from the content."""
    others: Sequence[PromptedParser] = ()
    r"""The template's other generation prompts, such as the one that ends with `<think>\n`."""


@dataclass(frozen=True, slots=True)
class ReasoningCall:
    """A call in reasoning, which the message therefore lacks."""

    offset: int
    """The start of the reasoning, in characters of the output, e.g. `8`."""
    parser: OutputParser
    """The parser that parses the reasoning's text as an answer, e.g. `<OutputParser of 'look'>`."""
    message: ParsedMessage
    """The reasoning, parsed as an answer: it has calls, e.g. of `look`, or one that cannot be
    parsed."""
    closed: bool
    """Whether the reasoning is closed, so that the call is a draft; otherwise it is lost."""

    @property
    def broken(self) -> bool:
        """Whether it is lost, and cannot be parsed."""
        return not self.closed and self.message.status is Status.MALFORMED

    @property
    def readable(self) -> bool:
        """Whether a call of a tool that was offered can be parsed."""
        return any(call.status is not Status.UNKNOWN_TOOL for call in self.message.tool_calls)


@dataclass(frozen=True, slots=True)
class ComparedOutput:
    """An output as it was parsed, and every place in which it departs from the template."""

    message: ParsedMessage
    """The message, such as `<ParsedMessage ok: content 'Hello.'>`."""
    drafted: ReasoningCall | None
    """The call in its reasoning, e.g. without its closer; None if the reasoning has no call."""
    places: tuple[DeviationExplanation, ...]
    """The departures in the order of the text, such as a missing `"</tool_call>"`."""


def explain_output(
    reader: OutputReading, text: str, *, complete: bool = True
) -> tuple[DeviationExplanation, ...]:
    """Explain every departure of an output from the template; empty if there is none.

    An output that was cut on purpose is compared as far as its calls have closed.
    """
    return compare_output(reader, text, complete=complete).places


def compare_output(reader: OutputReading, text: str, *, complete: bool = True) -> ComparedOutput:
    """Parse an output, and explain its departures as `explain_output` does."""
    message = reader.parser.parse(text, complete=complete)
    drafted = call_in_reasoning(reader.parser, message, text)
    # A message with calls has its markers, and restoring tries every row.
    back = None if message.tool_calls else restore_markers(reader.parser, text)
    # If the engine stripped nothing, only a call shows that markers are missing: the texts around
    # a missing `</think>` are content.
    if back is not None and (
        may_be_stripped(reader.parser.turn, text, back.markers)
        or reader.parser.parse(back.text).tool_calls
    ):
        return ComparedOutput(message, drafted, _explain_restored(back, text, reader))
    found = [
        *_junk(reader, message, text),
        *_explain_calls(reader, message, drafted, text, complete=complete),
        *_explain_rewritten(reader, message, text),
    ]
    # The end of a truncated output is not missing: it was never written.
    if message.missing_end and message.status is not Status.CUT:
        cause = PossibleCause(CauseKind.STRIPPED, (message.missing_end,))
        found.append(
            DeviationExplanation(OutputDeviation.NO_END, len(text), message.missing_end, "", cause)
        )
    if not message.tool_calls and message.status not in (Status.MALFORMED, Status.CUT):
        found += _foreign(reader, message, text)
    ordered = sorted(found, key=lambda one: one.offset)
    return ComparedOutput(message, drafted, tuple(_explain_by_prompt(reader, ordered, text)))


def _explain_restored(
    back: RestoredOutput, text: str, reader: OutputReading
) -> tuple[DeviationExplanation, ...]:
    """Explain an output by the markers that it lacks."""
    ends = [end.core for end in reader.parser.turn.ends]
    cause = _lack(reader, text, back.markers)
    return _first_places(
        (marker, DeviationExplanation(kind, offset, marker, "", cause))
        for marker, offset in marker_places(back, text)
        for kind in [OutputDeviation.NO_END if marker in ends else OutputDeviation.MISSING]
    )


def _lack(reader: OutputReading, text: str, markers: tuple[str, ...]) -> PossibleCause:
    """Return why markers are missing without which nothing else differs."""
    stripped = may_be_stripped(reader.parser.turn, text, markers)
    return PossibleCause(CauseKind.STRIPPED if stripped else CauseKind.OMITTED, markers)


def _junk(
    reader: OutputReading, message: ParsedMessage, text: str
) -> Iterator[DeviationExplanation]:
    """Explain what of the text is in no part of the message."""
    turn = reader.parser.turn
    ends = tuple(end.core for end in turn.ends)
    for at, span in enumerate(message.spans):
        found = text[span.start : span.end]
        if span.kind is not SpanKind.JUNK or found.isspace():
            continue
        last = at == len(message.spans) - 1
        before = text[: span.start].rstrip()
        if last and not message.missing_end and before.endswith(ends):
            deviation = OutputDeviation.BEHIND_END
        elif message.status is Status.STRAY and units_in([found.strip()]) == (found.strip(),):
            deviation = OutputDeviation.STRAY
        else:
            deviation = OutputDeviation.LEFT_OUT
        start = span.start + len(found) - len(found.lstrip())
        yield DeviationExplanation(deviation, start, "", found.strip())


def call_in_reasoning(
    parser: OutputParser, message: ParsedMessage, text: str
) -> ReasoningCall | None:
    """Return the call in the reasoning of a message without calls; None if it has no call.

    A call of an offered tool that is complete and regular ends open reasoning, so it is in the
    message. One with faults may be a draft, and only a closer after it would show that it is.
    """
    turn = parser.turn
    spans = [span for span in message.spans if span.kind is SpanKind.REASONING]
    if not spans or message.tool_calls or turn.calls is None:
        return None
    # Reasoning that is not closed is content for a parser with this option.
    kept = OutputParser(turn, unclosed_reasoning="content").parse(text)
    closed = kept.reasoning_content is not None
    # Without the names of tools, any markup in closed reasoning could be taken for a call.
    if closed and not turn.offered:
        return None
    answer_parser = OutputParser(after_reasoning(turn))
    for span in spans:
        reasoning = text[span.start : span.end]
        found = ReasoningCall(span.start, answer_parser, answer_parser.parse(reasoning), closed)
        # The reasoning may name a marker without a call.
        named = turn.offered is None or any(name in reasoning for name in turn.offered)
        if found.readable or (named and found.broken):
            return found
    return None


def _explain_calls(
    reader: OutputReading,
    message: ParsedMessage,
    drafted: ReasoningCall | None,
    text: str,
    *,
    complete: bool,
) -> Iterator[DeviationExplanation]:
    """Explain calls that could not be parsed, and calls of unknown tools."""
    calls = reader.prompt_format.format.calls
    # Shown in place of the call that cannot be read, whose own text is unknown.
    skeleton = "" if calls is None else _skeleton(calls)
    if message.status is Status.MALFORMED:
        at = _broken_at(reader.parser, text)
        yield DeviationExplanation(OutputDeviation.UNREADABLE, at, skeleton, text[at:], more=0)
    if drafted is not None and drafted.broken:
        end = next(span.end for span in message.spans if span.start == drafted.offset)
        at = drafted.offset + _broken_at(drafted.parser, text[drafted.offset : end])
        yield DeviationExplanation(OutputDeviation.UNREADABLE, at, skeleton, text[at:end])
    names = [span for span in message.spans if span.kind is SpanKind.NAME]
    for call in message.tool_calls:
        for breach in call.schema_errors:
            where = f"{call.name}.{breach.keyword}" if breach.keyword else call.name
            at = _first_name(names, text, call.name)
            yield DeviationExplanation(OutputDeviation.SCHEMA, at, where, str(breach))
        if call.status is Status.UNKNOWN_TOOL:
            at = _first_name(names, text, call.name)
            close = nearest_word(call.name, sorted(reader.parser.turn.offered or ()))
            yield DeviationExplanation(OutputDeviation.UNKNOWN_TOOL, at, close or "", call.name)
    if message.partial_call is not None or (message.status is Status.CUT and complete):
        yield DeviationExplanation(OutputDeviation.CUT, len(text), skeleton, "")


def _first_name(names: Sequence[Span], text: str, name: str) -> int:
    """Return the offset at which a name was first read."""
    return next((span.start for span in names if text[span.start : span.end] == name), 0)


def _skeleton(calls: CallFormat) -> str:
    """Return a call as the template writes it, with placeholders for its parts."""
    words = {
        RowSlot.NAME: "NAME",
        RowSlot.ID: "ID",
        RowSlot.INDEX: "0",
        RowSlot.ARGUMENTS: "ARGUMENTS",
    }
    # A slot is a `str`, too, so `isinstance` does not distinguish it from a literal.
    row = "".join(piece if type(piece) is str else words[RowSlot(piece)] for piece in calls.row)
    return f"{calls.section_open}{row}{calls.section_close}"


def _broken_at(parser: OutputParser, text: str) -> int:
    """Return the position of the character at which a call was first given up."""

    def is_broken(count: int) -> bool:
        stream = parser.stream()
        stream.feed(text[:count])
        stream.read_on()
        # A search for other calls holds the text from where the first one broke.
        return stream.searching or stream.message.status is Status.MALFORMED

    # Bisected, since a call that was given up stays so, whatever text follows.
    return max(0, bisect_left(range(len(text) + 1), True, key=is_broken) - 1)


def _explain_rewritten(
    reader: OutputReading, message: ParsedMessage, text: str
) -> list[DeviationExplanation]:
    """Explain the differences between the output and the template's text of the parsed message."""
    if message.partial_call is not None or message.status in (Status.MALFORMED, Status.CUT):
        return []
    if not text.strip():
        # Nothing was written, so nothing departs.
        return []
    if text != text.rstrip():
        # Whitespace at the end may be content, which templates write before calls.
        text = text.rstrip()
        message = reader.parser.parse(text)
    rewriter = AnswerRewriter(
        FormatTurns(reader.prompt_format), reader.prompt_format.format, reader.parser
    )
    try:
        found = rewriter.compare(text, message)
    except (ValueError, RecursionError):
        # Repaired arguments need not be JSON.
        return []
    if found.rendering.same_text or found.rewritten is None:
        return []
    expected = found.rewritten
    if message.missing_end:
        expected, _ = without_end(expected, [end.core for end in reader.parser.turn.ends])
    written, ats = _without_junk(message.spans, text)
    # Ignore whitespace at the edges, which depends on the prompt and the end.
    lead = len(written) - len(written.lstrip())
    shown = group_differences(expected.strip(), written.strip())
    placed = [
        replace(difference, offset=ats[min(lead + difference.offset, len(written))])
        for difference in shown
    ]
    # Text missing at the very end was probably never written, so it is not a stripped marker.
    missing = (
        difference for difference in placed if difference.deviation is OutputDeviation.MISSING
    )
    lost_markers = units_in(
        difference.expected for difference in missing if text[difference.offset :].strip()
    )
    lost_markers = tuple(marker for marker in lost_markers if marker not in text)
    # If nothing else differs without these markers, they explain the output.
    if lost_markers and not group_differences(
        without_markers(expected, lost_markers).strip(), written.strip()
    ):
        cause = _lack(reader, text, lost_markers)
        placed = [replace(difference, cause=cause) for difference in placed]
    return placed


def _without_junk(spans: Sequence[Span], text: str) -> tuple[str, list[int]]:
    """Return the text that was read, and the output's offset of each character and of the end."""
    kept = [span for span in spans if span.kind is not SpanKind.JUNK]
    ats = [at for span in kept for at in range(span.start, span.end)]
    return "".join(text[span.start : span.end] for span in kept), [*ats, len(text)]


def _foreign(
    reader: OutputReading, message: ParsedMessage, text: str
) -> Iterator[DeviationExplanation]:
    found = foreign_markup(reader.parser.turn, text, message)
    if found is None:
        return
    at, piece = found
    calls = reader.prompt_format.format.calls
    expected = "" if calls is None else _skeleton(calls)
    # A marker at an edge may be what the user asked for, such as a page in HTML.
    called = message.leaves_call
    cause = PossibleCause(CauseKind.OTHER_FORMAT) if called else None
    yield DeviationExplanation(OutputDeviation.FOREIGN, at, expected, piece, cause)


def _explain_by_prompt(
    reader: OutputReading, explanations: Sequence[DeviationExplanation], text: str
) -> Iterator[DeviationExplanation]:
    """Name the setting whose prompt would explain an output that is not regular."""
    setting: Mapping[str, Json] | None = None
    if any(explanation.deviation in _OF_ANOTHER_PROMPT for explanation in explanations):
        setting = other_setting(reader.others, text)
    for explanation in explanations:
        if setting is not None and explanation.deviation in _OF_ANOTHER_PROMPT:
            yield replace(explanation, cause=PossibleCause(CauseKind.OTHER_PROMPT, setting=setting))
        else:
            yield explanation
