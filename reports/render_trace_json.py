"""A render step by step as JSON; ``docs/trace.schema.json`` is made of the classes here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import Count, JsonDocument, Positive, json_of
from autoparser.analysis.core.provenance import (
    NamedTemplate,
    TemplateDocument,
    named_template,
)
from autoparser.analysis.templates.render_trace import (
    OpenSite,
    RenderTrace,
    SeenValue,
    StepKind,
    TemplateSite,
    TraceStep,
)

__all__ = ["RenderTraceDocument", "render_trace_document"]


class TracedSiteDocument(JsonDocument, frozen=True):
    """A place of the template that does something."""

    kind: StepKind
    line: Positive
    start: Count
    """Characters from the beginning of the template's text, whose lines end in one newline each."""
    end: Count
    """After its last character."""
    source: str
    """What stands there."""
    within: Count | None
    """The index of the test or the loop that decides whether it runs; None: nothing does."""


class TracedPieceDocument(JsonDocument, frozen=True):
    """A stretch of the prompt."""

    text: str
    start: Count
    """Characters from the beginning of the prompt."""
    end: Count
    """After its last character."""
    site: Count | None
    """The index of the place that wrote it; None where it is not known."""
    through: tuple[Count, ...]
    """Indices of the places that put it out after a macro or a block had written it."""
    after: Count
    """How many steps had been made when it was written."""


class SeenValueDocument(JsonDocument, frozen=True):
    """What a name stood for when it was asked for."""

    name: str
    words: str
    """The value, cut where it is long."""


class TraceStepDocument(JsonDocument, frozen=True):
    """Something that the template did."""

    kind: StepKind
    site: Count
    """The index of its place."""
    words: str
    """What was written, tested, gone through or set, cut where it is long."""
    held: bool | None
    """Whether a test held; None where nothing was tested."""
    number: Count
    """Of a pass, which of its loop, from 1; else 0."""
    seen: tuple[SeenValueDocument, ...]


class OpenSiteDocument(JsonDocument, frozen=True):
    """A place whose work was not done when the render failed."""

    site: Count
    seen: tuple[SeenValueDocument, ...]


class TraceFailureDocument(JsonDocument, frozen=True):
    """Why the render ended before its time."""

    message: str
    line: Positive | None
    refused: bool
    """Whether the template itself refused the conversation."""
    ended_in: tuple[OpenSiteDocument, ...]
    """What was at work, the innermost last."""


class RenderTraceDocument(JsonDocument, frozen=True):
    """All that is printed."""

    schema: Literal["autoparser.trace/1"]
    template: TemplateDocument
    prompt: str
    """What was written; up to the failure where there is one."""
    pieces: tuple[TracedPieceDocument, ...]
    """The prompt, cut where another place begins to write."""
    sites: tuple[TracedSiteDocument, ...]
    """Every place that writes, tests, loops or sets, as they stand in the template."""
    steps: tuple[TraceStepDocument, ...]
    """What was done, in its order; plain text is among the pieces alone."""
    left_out: Count
    """How many more steps were made than are listed."""
    failure: TraceFailureDocument | None


def render_trace_document(trace: RenderTrace, template: NamedTemplate) -> dict[str, Json]:
    """Return a trace as values that JSON can hold."""
    failure = trace.failure
    document = RenderTraceDocument(
        "autoparser.trace/1",
        named_template(template),
        trace.prompt,
        tuple(_pieces(trace)),
        tuple(_site(trace, number, site) for number, site in enumerate(trace.sites)),
        tuple(map(_step, trace.steps)),
        trace.left_out,
        None
        if failure is None
        else TraceFailureDocument(
            failure.message, failure.line, failure.refused, tuple(map(_open, trace.ended_in))
        ),
    )
    return json_of(document)


def _pieces(trace: RenderTrace) -> Iterator[TracedPieceDocument]:
    at = 0
    for piece in trace.pieces:
        end = at + len(piece.text)
        yield TracedPieceDocument(piece.text, at, end, piece.site, piece.through, piece.after)
        at = end


def _site(trace: RenderTrace, number: int, site: TemplateSite) -> TracedSiteDocument:
    source = trace.source(number)
    return TracedSiteDocument(site.kind, site.line, site.start, site.end, source, site.within)


def _seen(seen: tuple[SeenValue, ...]) -> tuple[SeenValueDocument, ...]:
    return tuple(SeenValueDocument(each.name, each.words) for each in seen)


def _step(step: TraceStep) -> TraceStepDocument:
    return TraceStepDocument(
        step.kind, step.site, step.words, step.held, step.number, _seen(step.seen)
    )


def _open(ended: OpenSite) -> OpenSiteDocument:
    return OpenSiteDocument(ended.site, _seen(ended.seen))
