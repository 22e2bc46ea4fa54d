"""What was learnt from unlabelled outputs: from how many, and which of them do not fit."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from autoparser.analysis.from_outputs import InferredFormat, LoggedReading

from .layout import heading, prose, report_text
from .learnt_sections import departing, evidence_section, guess_section, odd_section
from .visible import visible

__all__ = ["inferred_report"]


def inferred_report(found: InferredFormat, width: int) -> Text:
    """Report on what was learnt; the format itself is in the file."""
    return report_text(_lines(found, width))


def _lines(found: InferredFormat, width: int) -> Iterator[Text]:
    total = len(found.readings)
    fitting = total - len(found.odd)
    words = f"{fitting} of {total} outputs are read whole and written back as they are,"
    words += f" with {found.calls} calls that fit the tools."
    yield from prose(Text(words, style="green" if found.ok else "yellow"), width, indent=0)
    if found.own:
        words = f"{found.own} of them are as the template itself writes."
        yield from prose(Text(words), width, indent=0)
    if found.widened:
        words = "The parser reads the template's way and the learnt one; the grammar writes the"
        yield from prose(Text(f"{words} template's."), width, indent=0)
    analysis = found.analysis
    learnt = analysis.format if analysis.also is None else analysis.also.default.format
    yield from evidence_section(learnt.evidence, width)
    call = next((each.message for each in found.readings if _calls(each)), None)
    if call is not None and learnt.calls is not None:
        yield from heading("A call as the format writes it", width)
        yield from prose(Text(visible(learnt.calls.write(call.calls[:1]))), width)
    yield from guess_section(found.guesses, "output", width)
    odd = [(each.output.place, _departure(each)) for each in found.odd]
    yield from odd_section("Outputs that do not fit", odd, width)


def _calls(reading: LoggedReading) -> bool:
    return not reading.problem and reading.message is not None and bool(reading.message.calls)


def _departure(each: LoggedReading) -> Text:
    if each.written is None or each.departs >= len(each.expected.rstrip()):
        return Text(each.problem)
    return Text(f"{each.problem}, from {departing(each.expected, each.departs)} on")
