"""What was learnt from examples: what is a guess, and which examples are odd."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from autoparser.analysis.from_examples import ExampleVerdict, TaughtFormat

from .layout import prose, report_text
from .learnt_sections import departing, evidence_section, guess_section, odd_section

__all__ = ["taught_report"]


def taught_report(found: TaughtFormat, width: int) -> Text:
    """Report on what was learnt; the format itself is in the file."""
    return report_text(_lines(found, width))


def _lines(found: TaughtFormat, width: int) -> Iterator[Text]:
    exact = sum(each.exact for each in found.examples)
    read = sum(each.read for each in found.examples)
    total = len(found.examples)
    words = f"{read} of {total} examples are read as what they mean,"
    words += f" and {exact} written as they are."
    yield from prose(Text(words, style="green" if found.ok else "yellow"), width, indent=0)
    yield from evidence_section(found.analysis.format.evidence, width)
    yield from guess_section(found.guesses, "example", width)
    odd = [(each.example.place, _departure(each)) for each in found.odd]
    yield from odd_section("Examples that are not as the others", odd, width)


def _departure(each: ExampleVerdict) -> Text:
    if each.written is None:
        return Text("no example of the others has such parts")
    at = each.departs
    usual = departing(each.written, at) or "the end"
    if each.cut:
        return Text(f"ends where the others have {usual}")
    return Text(f"has {departing(each.expected, at)} where the others have {usual}")
