"""All that was not read as the template writes it, in the order of the text."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from autoparser.analysis.constraining.decode.rendering import FormatTurns, Rewriter
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Begun, CallFormat, Slot
from autoparser.analysis.core.spelling import nearest
from autoparser.analysis.reading.parsing import OutputParser, ParsedMessage, Span, SpanKind, Status

from .elsewhere import PromptedParser, foreign, other_setting
from .explanation import CauseKind, Deviation, Explanation, PossibleCause
from .markers import units_in, without
from .restoring import Restored, places, restored
from .side_by_side import differences

_OF_ANOTHER_PROMPT = (Deviation.STRAY, Deviation.MISSING, Deviation.SURPLUS, Deviation.OTHER)


@dataclass(frozen=True, slots=True)
class OutputReading:
    """How an output was read."""

    begun: Begun
    """What the prompt belongs to."""
    parser: OutputParser
    """It keeps the reasoning apart from the content."""
    others: Sequence[PromptedParser] = ()
    """The template's other generation prompts."""


def explain(reader: OutputReading, text: str, *, complete: bool = True) -> tuple[Explanation, ...]:
    """Name every place in which an output is not as the template writes it; empty: there is none.

    An output that was cut on purpose is compared as far as its calls have closed.
    """
    message = reader.parser.parse(text, complete=complete)
    back = None if message.tool_calls else restored(reader.parser, text, reader.parser.offered)
    if back is not None:
        return _restored(back, text, reader)
    found = [
        *_junk(reader, message, text),
        *_calls(reader, message, text, complete=complete),
        *_rewritten(reader, message, text),
    ]
    if message.missing_end and message.status is not Status.CUT:
        cause = PossibleCause(CauseKind.STRIPPED, (message.missing_end,))
        found.append(Explanation(Deviation.NO_END, len(text), message.missing_end, "", cause))
    if not message.tool_calls and message.status not in (Status.MALFORMED, Status.CUT):
        found += _foreign(reader, text)
    ordered = sorted(found, key=lambda each: each.offset)
    return tuple(_of_another_prompt(reader, ordered, text))


def _restored(back: Restored, text: str, reader: OutputReading) -> tuple[Explanation, ...]:
    """Explain an output whose markers were stripped by what is missing in it."""
    ends = [end.core for end in reader.parser.turn.ends]
    cause = PossibleCause(CauseKind.STRIPPED, back.markers)
    found: dict[str, Explanation] = {}
    for marker, offset in places(back, text):
        kind = Deviation.NO_END if marker in ends else Deviation.MISSING
        known = found.get(marker)
        found[marker] = (
            Explanation(kind, offset, marker, "", cause)
            if known is None
            else replace(known, more=known.more + 1)
        )
    return tuple(found.values())


def _junk(reader: OutputReading, message: ParsedMessage, text: str) -> Iterator[Explanation]:
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
            deviation = Deviation.BEHIND_END
        elif message.status is Status.STRAY and units_in([found.strip()]) == (found.strip(),):
            deviation = Deviation.STRAY
        else:
            deviation = Deviation.LEFT_OUT
        start = span.start + len(found) - len(found.lstrip())
        yield Explanation(deviation, start, "", found.strip())


def _calls(
    reader: OutputReading, message: ParsedMessage, text: str, *, complete: bool
) -> Iterator[Explanation]:
    """Explain the calls that were not read, or that nobody offered."""
    skeleton = "" if reader.begun.format.calls is None else _skeleton(reader.begun.format.calls)
    if message.status is Status.MALFORMED:
        at = _broken_at(reader.parser, text)
        yield Explanation(Deviation.UNREADABLE, at, skeleton, text[at:], more=0)
    names = [span for span in message.spans if span.kind is SpanKind.NAME]
    for call in message.tool_calls:
        if call.status is Status.UNKNOWN_TOOL:
            at = _named(names, text, call.name)
            close = nearest(call.name, sorted(reader.parser.offered or ()))
            yield Explanation(Deviation.UNKNOWN_TOOL, at, close or "", call.name)
    if message.partial_call is not None or (message.status is Status.CUT and complete):
        yield Explanation(Deviation.CUT, len(text), skeleton, "")


def _skeleton(calls: CallFormat) -> str:
    """Return a call as the template writes it, with words for what it is made of."""
    words = {Slot.NAME: "NAME", Slot.ID: "ID", Slot.INDEX: "0", Slot.ARGUMENTS: "ARGUMENTS"}
    row = "".join(piece if type(piece) is str else words[Slot(piece)] for piece in calls.row)
    return f"{calls.section_open}{row}{calls.section_close}"


def _broken_at(parser: OutputParser, text: str) -> int:
    """Return the position of the character at which a call was first given up."""

    def broken(count: int) -> bool:
        stream = parser.stream()
        stream.feed(text[:count])
        return stream.message.status is Status.MALFORMED

    return max(0, bisect_left(range(len(text) + 1), True, key=broken) - 1)


def _named(names: Sequence[Span], text: str, name: str) -> int:
    return next((span.start for span in names if text[span.start : span.end] == name), 0)


def _rewritten(reader: OutputReading, message: ParsedMessage, text: str) -> list[Explanation]:
    """Explain what the template writes otherwise for the message that was read."""
    if message.partial_call is not None or message.status in (Status.MALFORMED, Status.CUT):
        return []
    rewriter = Rewriter(FormatTurns(reader.begun), reader.begun.format, reader.parser)
    try:
        found = rewriter.compare(text, message)
    except (ValueError, RecursionError):
        # Arguments that were repaired may be no JSON.
        return []
    if found.rendering.same_text or found.again is None:
        return []
    expected = _ended(found.again, message, [end.core for end in reader.parser.turn.ends])
    written, ats = _without_junk(message.spans, text)
    # How much whitespace stands at the edges is the prompt's and the end's affair.
    lead = len(written) - len(written.lstrip())
    shown = differences(expected.strip(), written.strip())
    placed = [replace(each, offset=ats[min(lead + each.offset, len(written))]) for each in shown]
    # What is missing at the very end was rather never written.
    missing = (each for each in placed if each.deviation is Deviation.MISSING)
    gone = units_in(each.expected for each in missing if text[each.offset :].strip())
    gone = tuple(marker for marker in gone if marker not in text)
    if gone and not differences(without(expected, gone).strip(), written.strip()):
        cause = PossibleCause(CauseKind.STRIPPED, gone)
        placed = [replace(each, cause=cause) for each in placed]
    return placed


def _ended(again: str, message: ParsedMessage, ends: Sequence[str]) -> str:
    """Leave out the end that a message does not have."""
    bare = again.rstrip()
    end = next((end for end in ends if bare.endswith(end)), "")
    return bare.removesuffix(end) if message.missing_end else bare


def _without_junk(spans: Sequence[Span], text: str) -> tuple[str, list[int]]:
    """Return what was read, and the place in the text of each of its characters and of its end."""
    kept = [span for span in spans if span.kind is not SpanKind.JUNK]
    ats = [at for span in kept for at in range(span.start, span.end)]
    return "".join(text[span.start : span.end] for span in kept), [*ats, len(text)]


def _foreign(reader: OutputReading, text: str) -> Iterator[Explanation]:
    found = foreign(reader.parser.turn, text, reader.parser.offered)
    if found is None:
        return
    at, piece = found
    expected = "" if reader.begun.format.calls is None else _skeleton(reader.begun.format.calls)
    yield Explanation(Deviation.FOREIGN, at, expected, piece, PossibleCause(CauseKind.OTHER_FORMAT))


def _of_another_prompt(
    reader: OutputReading, found: Sequence[Explanation], text: str
) -> Iterator[Explanation]:
    """Name the setting whose prompt would explain an output that is not regular."""
    setting: Mapping[str, Json] | None = None
    if any(each.deviation in _OF_ANOTHER_PROMPT for each in found):
        setting = other_setting(reader.others, text)
    for each in found:
        if setting is not None and each.deviation in _OF_ANOTHER_PROMPT:
            yield replace(each, cause=PossibleCause(CauseKind.OTHER_PROMPT, setting=setting))
        else:
            yield each
