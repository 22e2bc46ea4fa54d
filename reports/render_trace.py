"""A render, step by step: which line wrote which text, which tests, with which values; as JSON.

For example, a question under the template of `autoparser demo` is shown as

    18  ::user↵
    19  Hi
    20  ↵
        ::over↵
    23  ::assistant↵

and its first test, in line 10, as `tools`, `false 1 time`, `tools is none`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from typing import Literal

from rich.cells import cell_len
from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import (
    Count,
    JsonDocument,
    Positive,
    copy_fields,
    document_json,
)
from autoparser.analysis.core.provenance import NamedTemplate, TemplateDocument, named_template
from autoparser.analysis.templates.render_trace import (
    OpenSite,
    PromptPiece,
    RenderTrace,
    SeenValue,
    StepKind,
    TraceStep,
)

from .blocks import Block, Blocks, Fitted, Row, blank, excerpt, heading, prose, rows, sentence
from .terminal import report_text, wrap_line
from .visible import LEGEND, counted_noun, lines, marker_text, visible

MOST_OUTCOMES = 6
"""Different values listed for one place."""

LONGEST_SOURCE = 200
"""Longest source shown for a place, in characters; longer ones are cut."""

_THROUGH = "←"
_UNKNOWN = "?"
_TRUE, _FALSE, _FAILED = "green", "yellow", "bold red"
_NUMBER = 4


def render_trace_report(trace: RenderTrace, width: int) -> Text:
    """Show the prompt with the lines that wrote it, then each test, loop and assignment."""
    drawn: Blocks = [
        *_failure(trace),
        *_prompt(trace),
        *_tests(trace),
        *_loops(trace),
        *_assignments(trace),
    ]
    return report_text(drawn, width)


def _failure(trace: RenderTrace) -> Blocks:
    if trace.failure is None:
        return []
    at = "" if trace.failure.line is None else f" in line {trace.failure.line}"
    drawn = prose(Text(f"The render ended{at}.", style=_FAILED), indent=0)
    drawn += prose(visible(trace.failure.message), hang=2)
    for site in trace.ended_in:
        drawn += _place_blocks(trace, site)
    return [*drawn, *blank()]


def _place_blocks(trace: RenderTrace, ended: OpenSite) -> Iterator[Block]:
    line = str(trace.sites[ended.site].line)
    yield from rows([(f"{line:>{_NUMBER}}", source_words(trace, ended.site))], words=False)
    for value in ended.seen:
        yield from prose(seen_words((value,)), _NUMBER + 4, hang=2)


def _prompt(trace: RenderTrace) -> Iterator[Block]:
    written = {piece.site for piece in trace.pieces}
    ended = "so far " if trace.failure is not None else ""
    # The text of an encoder has no place: its Python code is not traced.
    places = "code" if None in written else f"{counted_noun(len(written), 'place')} of the template"
    words = f"The prompt {ended}has {len(trace.prompt)} characters, written by {places}."
    yield from prose(words, indent=0)
    legend = f"{LEGEND}; {_THROUGH} the line that outputs the text of a macro or a block"
    yield from prose(Text(legend, style="dim"))
    if None in written:
        yield from prose(Text(f"{_UNKNOWN} which of its lines is not known", style="dim"))
    yield from blank()
    pairs: list[Row] = []
    # Neighbors of one line are one row, as in `{{ a }}{{ b }}`.
    for label, pieces in groupby(trace.pieces, key=lambda piece: line_words(trace, piece)):
        texts = lines("".join(piece.text for piece in pieces))
        pairs += [("" if at else f"{label:>{_NUMBER}}", text) for at, text in enumerate(texts)]
    yield from rows(pairs, words=False)


def line_words(trace: RenderTrace, piece: PromptPiece) -> str:
    """Return the line that wrote a piece, and those that output it."""
    if piece.site is None:
        return _UNKNOWN
    numbers = [trace.sites[site].line for site in (piece.site, *piece.through)]
    return f" {_THROUGH} ".join(map(str, numbers))


def source_words(trace: RenderTrace, site: int) -> Text:
    """Return a place's source on one line."""
    # An expression may be written over several lines.
    source = " ".join(trace.source(site).split())
    if len(source) > LONGEST_SOURCE:
        source = f"{source[:LONGEST_SOURCE]}…"
    return Text(visible(source), style="cyan")


def seen_words(values: Sequence[SeenValue]) -> Text:
    """Return names with their values in a row."""
    found = Text()
    for at, value in enumerate(values):
        found.append(", " if at else "")
        found.append(visible(value.name)).append(" is ", "dim").append(visible(value.words))
    return found


def _steps_by_site(trace: RenderTrace, *kinds: StepKind) -> Iterator[tuple[int, list[TraceStep]]]:
    """Return the places of these kinds that ran, in template order."""
    found: dict[int, list[TraceStep]] = {}
    for step in trace.steps:
        if step.kind in kinds:
            found.setdefault(step.site, []).append(step)
    # In the order of the source, where a reader looks them up.
    yield from sorted(found.items(), key=lambda item: (trace.sites[item[0]].line, item[0]))


def _tests(trace: RenderTrace) -> Iterator[Block]:
    asked = list(_steps_by_site(trace, StepKind.TEST))
    every = [site for site in trace.sites if site.kind is StepKind.TEST]
    if not every:
        return
    yield from heading(f"Conditions: {len(asked)} of {len(every)} were tested")
    for site, steps in asked:
        yield from _site_row(trace, site)
        for words, count, style in _steps_words(steps):
            label = sentence((f"{words[0]}", style), f" {counted_noun(count, 'time')}")
            yield from _outcome(label, words[1])
    reached = {trace.sites[site].line for site, _ in asked}
    # Counted by line: a line with several tests is reached if one of them is.
    missed = sorted({site.line for site in every} - reached)
    if missed:
        which = f"line{'' if len(missed) == 1 else 's'} {', '.join(map(str, missed))}"
        yield from prose(Text(f"never reached: {which}", style="dim"))
    # Steps beyond the limit may have reached a line that seems missed.
    if trace.left_out:
        yield from prose(f"{counted_noun(trace.left_out, 'later step')} left out")


def _site_row(trace: RenderTrace, site: int) -> Blocks:
    label = f"{trace.sites[site].line:>{_NUMBER}}"
    return rows([(label, source_words(trace, site))], words=False)


def _outcome(label: Text, words: Text) -> Blocks:
    indent = _NUMBER + 4
    column = 16
    gap = " " * max(column - cell_len(label.plain), 1)
    text = sentence(label, gap, words) if words.plain else label

    # Values begin beside their label and wrap below it, so the layout depends on the width.
    def lines_at(width: int) -> Blocks:
        first = wrap_line(text, max(width - indent, 20), words=True)
        drawn = [sentence(" " * indent, first[0])]
        rest = Text("").join(first[1:])
        if rest.plain:
            broken = wrap_line(rest, max(width - indent - column, 20), words=True)
            drawn += [sentence(" " * (indent + column), line) for line in broken]
        return excerpt(drawn, broken=False)

    return [Fitted(lines_at)]


def _steps_words(steps: Sequence[TraceStep]) -> Iterator[tuple[tuple[str, Text], int, str]]:
    """Return the outcomes of tests with their values, and the number of times each occurred."""
    outcomes: dict[tuple[bool | None, tuple[SeenValue, ...]], int] = {}
    for step in steps:
        # A test in a loop runs hundreds of times, with few different values.
        key = (step.held, step.seen)
        outcomes[key] = outcomes.get(key, 0) + 1
    for held, seen in [*outcomes][:MOST_OUTCOMES]:
        word, style = ("true", _TRUE) if held else ("false", _FALSE)
        yield (word, seen_words(seen)), outcomes[held, seen], style
    left = [*outcomes.values()][MOST_OUTCOMES:]
    if left:
        yield ("…", Text(f"with {len(left)} other values", style="dim")), sum(left), "dim"


def _loops(trace: RenderTrace) -> Iterator[Block]:
    loops = list(_steps_by_site(trace, StepKind.LOOP, StepKind.PASS))
    if not loops:
        return
    yield from heading("Loops")
    for site, steps in loops:
        yield from _site_row(trace, site)
        for begun in _runs(steps)[:MOST_OUTCOMES]:
            yield from _outcome(Text(counted_noun(begun, "time")), Text())


def _runs(steps: Sequence[TraceStep]) -> list[int]:
    """Return the number of passes for each start of a loop."""
    passes: list[int] = []
    for step in steps:
        if step.kind is StepKind.LOOP:
            # An inner loop begins again in each iteration of the outer one.
            passes.append(0)
        elif passes:
            passes[-1] += 1
    return passes


def _assignments(trace: RenderTrace) -> Iterator[Block]:
    found = list(_steps_by_site(trace, StepKind.SET))
    if not found:
        return
    yield from heading("Variables that were set")
    for site, steps in found:
        yield from _site_row(trace, site)
        # In their order: how a variable grows is what a reader follows.
        values = list(dict.fromkeys(step.words for step in steps))
        words = [marker_text(value) for value in values[:MOST_OUTCOMES]]
        if len(values) > MOST_OUTCOMES:
            words.append(f"… {len(values) - MOST_OUTCOMES} other values")
        yield from prose(", then ".join(words), _NUMBER + 4, hang=2)


class TracedSiteDocument(JsonDocument, frozen=True):
    """A place of the template that writes, tests, loops or assigns."""

    kind: StepKind
    """The action, e.g. `"test"`."""
    line: Positive
    """The line, from 1, e.g. `8`."""
    start: Count
    """Offset in the template's text, with line ends of one newline, in characters, e.g. `220`."""
    end: Count
    """Offset after its last character, e.g. `240`."""
    source: str
    """Its source text, e.g. `"tools or system_text"`."""
    within: Count | None
    """The index of the enclosing test or loop, e.g. `5`; null if there is none."""


class TracedPieceDocument(JsonDocument, frozen=True):
    """A piece of the prompt."""

    text: str
    r"""The characters, e.g. `"<|im_start|>assistant\n"`."""
    start: Count
    """Offset in the prompt, in characters, e.g. `54`."""
    end: Count
    """Offset after its last character, e.g. `76`."""
    site: Count | None
    """The index of the place that wrote it, e.g. `19`; null if unknown."""
    through: tuple[Count, ...]
    """Indices of the places that output it after a macro or a block had written it, e.g. `[17]`."""
    after: Count
    """Number of steps before it was written, e.g. `11`."""


class TraceFailureDocument(JsonDocument, frozen=True):
    """The reason why the render failed."""

    message: str
    """The error, e.g. `"refuses the conversation: Only one call at a time."`."""
    line: Positive | None
    """The template's line, from 1, e.g. `33`; null if unknown."""
    refused: bool
    """Whether the template itself refused the conversation, e.g. by `raise_exception`."""
    ended_in: tuple[OpenSite, ...]
    """The running places, the innermost last, e.g. that with the index 23."""


class RenderTraceDocument(JsonDocument, frozen=True):
    """All contents of the trace."""

    schema: Literal["autoparser.trace/1"]
    """The schema's name and version, `"autoparser.trace/1"`."""
    template: TemplateDocument
    """The template that was rendered, e.g. from `"chat_template.jinja"`."""
    prompt: str
    r"""The rendered text, up to the failure if there is one, e.g. `"<|im_start|>user\nHow is the
    weather in Rio?…"`."""
    pieces: tuple[TracedPieceDocument, ...]
    """The prompt, split where another place begins to write, e.g. `"Let me look."`."""
    sites: tuple[TracedSiteDocument, ...]
    """Every place that writes, tests, loops or assigns, in template order, e.g. `"tools or
    system_text"` in line 8."""
    steps: tuple[TraceStep, ...]
    """The steps in their order, e.g. a test that was false; plain text is only among the pieces."""
    left_out: Count
    """Number of further steps that are not listed, e.g. `0`."""
    failure: TraceFailureDocument | None
    """The error that ended the render, e.g. in line 33; null if it is complete."""


def render_trace_document(trace: RenderTrace, template: NamedTemplate) -> dict[str, Json]:
    """Return a trace as JSON values."""
    failure = trace.failure
    ends = list(accumulate(len(piece.text) for piece in trace.pieces))
    document = copy_fields(
        RenderTraceDocument,
        trace,
        schema="autoparser.trace/1",
        template=named_template(template),
        pieces=tuple(
            copy_fields(TracedPieceDocument, piece, start=end - len(piece.text), end=end)
            for piece, end in zip(trace.pieces, ends, strict=True)
        ),
        sites=tuple(
            copy_fields(TracedSiteDocument, site, source=trace.source(number))
            for number, site in enumerate(trace.sites)
        ),
        steps=tuple(trace.steps),
        failure=None
        if failure is None
        else copy_fields(TraceFailureDocument, failure, ended_in=tuple(trace.ended_in)),
    )
    return document_json(document)
