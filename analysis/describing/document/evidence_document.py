"""What the phases and the self-check found, as they are told."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from autoparser.analysis.core.alignment import DiffSplit
from autoparser.analysis.core.evidence_kind import EvidenceKind
from autoparser.analysis.core.json_document import AnyJson, JsonDocument, SettingValues
from autoparser.analysis.inference.phases import Evidence, Finding
from autoparser.analysis.inference.probing import Probe, Shape


class RenderErrorDocument(JsonDocument, frozen=True):
    """Why a render gave no text."""

    reason: str
    line: int | None
    refused: bool
    """The template itself raised."""


class RenderDocument(JsonDocument, frozen=True):
    """One render: what went in, and the text or the error."""

    messages: tuple[dict[str, AnyJson], ...]
    """In the shape that the template takes."""
    tools: bool
    """Whether tools were given."""
    add_generation_prompt: bool
    setting: SettingValues
    text: str | None
    error: RenderErrorDocument | None


class EvidenceDocument(JsonDocument, frozen=True):
    """Two renders that differ in one thing."""

    difference: str
    left: RenderDocument
    right: RenderDocument
    split: DiffSplit
    """left render = prefix + left + suffix, right render = prefix + right + suffix."""


class PhaseDocument(JsonDocument, frozen=True):
    """What a phase concluded, and from which renders."""

    phase: Annotated[str, Meta(pattern="^[A-Z][0-9]$")]
    title: str
    conclusion: str
    """One line for a person."""
    kind: EvidenceKind
    """What says so: renders, examples, outputs, or the prompt's words alone."""
    markers: dict[str, str]
    """The markers that this phase found."""
    evidence: tuple[EvidenceDocument, ...]


def phase_document(
    finding: Finding, shape: Shape, system: str, markers: dict[str, str]
) -> PhaseDocument:
    """Return what a phase concluded, and from which renders."""
    return PhaseDocument(
        finding.phase,
        finding.title,
        finding.conclusion,
        finding.kind,
        {name: markers[name] for name in finding.markers if markers.get(name)},
        tuple(_evidence(evidence, shape, system) for evidence in finding.evidence),
    )


def _evidence(evidence: Evidence, shape: Shape, system: str) -> EvidenceDocument:
    left, right = (_render(probe, shape, system) for probe in (evidence.left, evidence.right))
    return EvidenceDocument(evidence.difference, left, right, evidence.split)


def _render(probe: Probe, shape: Shape, system: str) -> RenderDocument:
    error = probe.error
    return RenderDocument(
        tuple(shape.messages(probe.dialogue, system)),
        probe.tools,
        probe.generation,
        probe.setting,
        None if error is not None else probe.text,
        None if error is None else RenderErrorDocument(error.reason, error.line, error.refused),
    )
