"""What was learnt from examples: what is a guess, and which examples are odd."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from autoparser.analysis.core.format import Part
from autoparser.analysis.from_examples import ExampleVerdict, TaughtFormat

from .layout import Lines, heading, prose, rows
from .visible import visible

__all__ = ["taught_report"]

_SHOWN = 40
"""So many characters are shown of where an example departs."""


def taught_report(found: TaughtFormat, width: int) -> Text:
    """Report on what was learnt; the format itself is in the file."""
    drawn: Lines = list(_lines(found, width))
    for line in drawn:
        line.rstrip()
    return Text("\n").join(drawn)


def _lines(found: TaughtFormat, width: int) -> Iterator[Text]:
    exact = sum(each.exact for each in found.examples)
    read = sum(each.read for each in found.examples)
    total = len(found.examples)
    words = f"{read} of {total} examples are read as what they mean,"
    words += f" and {exact} written as they are."
    yield from prose(Text(words, style="green" if found.ok else "yellow"), width, indent=0)
    evidence = found.analysis.format.evidence
    pairs = [(part.value, Text(evidence[part].value)) for part in Part if part in evidence]
    yield from heading("Evidence", width)
    yield from rows(pairs, width)
    if found.guesses:
        yield from heading("Guesses, since no example shows them", width)
        for each in found.guesses:
            yield from prose(f"{each}.", width)
    if found.odd:
        yield from heading("Examples that are not as the others", width)
        yield from rows([(each.example.place, _departure(each)) for each in found.odd], width)


def _departure(each: ExampleVerdict) -> Text:
    if each.written is None:
        return Text("no example of the others has such parts")
    at = each.departs
    usual = visible(each.written[at:])[:_SHOWN] or "the end"
    if each.cut:
        return Text(f"ends where the others have {usual}")
    return Text(f"has {visible(each.expected[at:])[:_SHOWN]} where the others have {usual}")
