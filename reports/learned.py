"""Formats learned from examples or unlabeled outputs: the format in use, and unusual inputs."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import Count, JsonDocument, document_json
from autoparser.analysis.core.provenance import TemplateDocument, named_template
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.verdicts import EvidenceKind
from autoparser.analysis.teaching.example_learning import ExampleVerdict, TaughtFormat
from autoparser.analysis.teaching.output_learning import (
    InferredFormat,
    LoggedReading,
    fitting_messages,
)
from autoparser.analysis.teaching.taught_analysis import UsedFormat

from .blocks import Block, heading, prose, rows
from .terminal import report_text
from .visible import visible

_SHOWN = 40
"""Characters shown of a text from its departure on."""
_USED = {
    UsedFormat.TEMPLATE: "The template's own format is used",
    UsedFormat.LEARNED: "The learned format is used",
    UsedFormat.BOTH: "The learned format is used in addition to the template's own",
}
_GRAMMAR = "The parser reads both formats, and grammars allow both."


class LearnedReadingDocument(JsonDocument, frozen=True):
    """The reading of one example or output."""

    place: str
    """Where it was given, e.g. `examples.yaml:3`."""
    read: bool
    """Of an example: whether it parses to its label, e.g. `true`. Of an output: whether it is read
    whole, and written back to the same text."""
    problem: str
    """The reason if it is not read, e.g. `"no other example has these parts"`, otherwise empty."""


class LearnedDocument(JsonDocument, frozen=True):
    """The format in use after `autoparser learn`, with the reason."""

    template: TemplateDocument
    """The template that the examples are for, e.g. from `"chat-only.jinja"`."""
    ok: bool
    """Whether every example or output is read by the format in use, e.g. `true`."""
    used: UsedFormat
    """The template's own format, the `"learned"` one, or both: the parser reads either."""
    reason: str
    """The reason, e.g. `"it reads 3 of 3 examples, the template's own format alone 0"`."""
    given: Count
    """Number of examples or outputs, e.g. `3`."""
    read: Count
    """Number of those that the format in use reads, e.g. `3`."""
    readings: tuple[LearnedReadingDocument, ...]
    """Each of them, e.g. `"examples[0]"`."""
    misread: tuple[str, ...]
    """Inputs that the learned format does not read, even if unused, e.g. `["examples[1]"]`."""
    evidence: dict[str, EvidenceKind]
    """By part of a turn, the evidence for its format, e.g. `{"calls": "example"}`."""
    guesses: tuple[str, ...]
    """Assumptions that no input confirms, in words, e.g. `["calls without arguments"]`."""


def learned_document(learning: TaughtFormat | InferredFormat, *, ok: bool) -> dict[str, Json]:
    """Return the results of learning as JSON; the format itself is in the file.

    `ok` is whether all inputs are read: `learning` lacks the ones that could not be labeled.
    """
    if isinstance(learning, TaughtFormat):
        readings = [
            (example.example.place, example.read, _departing_example(example).plain)
            for example in learning.examples
        ]
    else:
        readings = [
            (reading.output.place, not reading.problem, reading.problem)
            for reading in learning.readings
        ]
    return document_json(
        LearnedDocument(
            named_template(learning.analysis.template),
            ok=ok,
            used=learning.used,
            reason=learning.reason,
            given=len(readings),
            read=sum(read for _, read, _ in readings),
            readings=tuple(
                LearnedReadingDocument(place, read, "" if read else problem)
                for place, read, problem in readings
            ),
            misread=learning.misread,
            evidence={
                part.value: kind for part, kind in _learned_format(learning).evidence.items()
            },
            guesses=learning.guesses,
        )
    )


def learned_report(learning: TaughtFormat | InferredFormat, width: int) -> Text:
    """Report on learning; the format itself is in the file."""
    return report_text(_learned_lines(learning), width)


def _learned_lines(learning: TaughtFormat | InferredFormat) -> Iterator[Block]:
    if isinstance(learning, TaughtFormat):
        unit, odd_title = "example", "Examples that differ from the others"
        # A format may read more than it writes, so both are counted.
        exact = sum(example.exact for example in learning.examples)
        words = f"{learning.read} of {len(learning.examples)} examples parse to their messages,"
        words += f" and {exact} re-render exactly."
        odd = [(verdict.example.place, _departing_example(verdict)) for verdict in learning.odd]
    else:
        unit, odd_title = "output", "Outputs that do not fit"
        total = len(learning.readings)
        words = f"{total - len(learning.odd)} of {total} outputs parse completely and re-render"
        words += f" exactly, with {learning.calls} calls that fit the tools."
        odd = [(reading.output.place, _departing_output(reading)) for reading in learning.odd]
    yield from prose(Text(words, style="green" if learning.ok else "yellow"), indent=0)
    yield from prose(Text(f"{_USED[learning.used]}: {learning.reason}."), indent=0)
    if learning.used is UsedFormat.BOTH:
        yield from prose(Text(_GRAMMAR), indent=0)
    learned = _learned_format(learning)
    evidence = learned.evidence
    pairs = [(part.value, Text(evidence[part].value)) for part in TurnPart if part in evidence]
    yield from (*heading("Evidence"), *rows(pairs))
    # Outputs have no labels: one call as written shows whether the conclusion is right.
    readings = learning.readings if isinstance(learning, InferredFormat) else ()
    calls = [call for message in fitting_messages(readings) for call in message.calls]
    if calls and learned.calls is not None:
        yield from heading("A tool call as the format writes it")
        yield from prose(Text(visible(learned.calls.write(calls[:1]))))
    if learning.guesses:
        yield from heading(f"Guesses, since no {unit} shows them")
    for guess in learning.guesses:
        yield from prose(f"{guess}.")
    if odd:
        yield from (*heading(odd_title), *rows(odd))


def _learned_format(learning: TaughtFormat | InferredFormat) -> TurnFormat:
    """Return the learned format: the one beside the template's, if any."""
    analysis: Analysis = learning.analysis
    return analysis.format if analysis.also is None else analysis.also.default.format


def _departing_example(verdict: ExampleVerdict) -> Text:
    if verdict.exact:
        return Text("parses to a different message")
    if verdict.written is None:
        # The format has not seen such parts together, so it writes nothing to compare.
        return Text("no other example has these parts")
    at = verdict.departs
    # An example may go on where the others end.
    usual = _departing(verdict.written, at) or "the end"
    if verdict.cut:
        return Text(f"ends instead of {usual}")
    return Text(f"has {_departing(verdict.expected, at)} instead of {usual}")


def _departing_output(reading: LoggedReading) -> Text:
    # A departure in the whitespace at the end would not be visible in an excerpt.
    if reading.written is None or reading.departs >= len(reading.expected.rstrip()):
        return Text(reading.problem)
    return Text(f"{reading.problem}, from {_departing(reading.expected, reading.departs)} on")


def _departing(text: str, at: int) -> str:
    """Return the beginning of a text from its departure on."""
    return visible(text[at:])[:_SHOWN]
