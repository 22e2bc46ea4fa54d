"""What the phases and the self-check found, as they are told."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, convert
from msgspec.structs import asdict

from autoparser.analysis.constraining.gate import Gate, GateQuestion
from autoparser.analysis.core.alignment import DiffSplit
from autoparser.analysis.core.document import AnyJson, Count, JsonDocument, SettingValues
from autoparser.analysis.inference.check import Check, Crash, Failure
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
    confirmed: bool
    """False: only the prompt's words say so, no render."""
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
        finding.confirmed,
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


class CheckCounts(JsonDocument, frozen=True):
    """The self-check in figures."""

    passed: Count
    """Messages on which the template does what the format says, less those on which it crashes
    although agents send them."""
    total: Count
    equal: Count
    """Written by the format as the template renders them."""
    refused: Count
    """Counted as passed: the template refuses them on purpose, and the format says so."""
    crashed: Count
    """The template crashes on them, as the format says; not counted as passed where agents send
    such messages."""
    not_asked: Count
    """Counted as passed: in the shape that the template takes they are the same as others."""
    different: Count
    """The format is wrong about them; the template may crash."""


class CallDocument(JsonDocument, frozen=True):
    """A call in a message."""

    name: str
    arguments: dict[str, AnyJson]
    id: str


class MessageDocument(JsonDocument, frozen=True, omit_defaults=True):
    """A message, the parts that it has."""

    reasoning: str = ""
    content: str = ""
    calls: tuple[CallDocument, ...] = ()


class FailureDocument(JsonDocument, frozen=True):
    """A message that does not pass."""

    title: str
    reason: str
    message: MessageDocument
    written: str | None
    """By the format; null: it says that the template raises on the message."""
    rendered: str | None
    """By the template; null: it raised."""
    crash: Crash | None
    """Where the template crashes on it; null: it renders or refuses it."""
    foretold: bool
    """The format is right about it: the template crashes."""


class CheckDocument(CheckCounts, frozen=True):
    """The self-check of a format."""

    crashes: tuple[Crash, ...]
    """Where the template crashes, each cause once."""
    failures: tuple[FailureDocument, ...]


def check_document(check: Check) -> CheckDocument:
    """Return the verdict, with every failure."""
    failures = tuple(map(_failure, check.failures))
    counts = asdict(check_counts(check))
    return CheckDocument(**counts, crashes=tuple(check.crashes), failures=failures)


def check_counts(check: Check) -> CheckCounts:
    """Return the verdict in figures: what passed, and what it rests on."""
    return CheckCounts(
        check.passed,
        check.total,
        check.equal,
        check.refused,
        check.crashed,
        check.not_asked,
        len(check.different),
    )


def _failure(failure: Failure) -> FailureDocument:
    return convert(failure, FailureDocument, from_attributes=True)


class SandboxDocument(JsonDocument, frozen=True):
    """What transformers' sandbox alone forbids."""

    file: str | None
    """The file, or standard input."""
    line: int | None
    """Of the template."""
    reason: str
    """The exception's type and words."""
    right: Count
    """Messages that crash by it, and that the format writes as the template renders them there."""


def sandbox_document(check: Check, file: str | None) -> SandboxDocument | None:
    """Return what transformers' sandbox alone forbids; None where it forbids nothing."""
    crash = check.forbidden
    if crash is None:
        return None
    return SandboxDocument(file, crash.line, crash.reason, check.freed)


class GateFaultDocument(JsonDocument, frozen=True):
    """A text that did not come through."""

    question: GateQuestion
    setting: SettingValues
    title: str
    """Of the message."""
    text: str
    """What the template writes after the prompt."""
    detail: str


class GateDocument(JsonDocument, frozen=True):
    """What became of the texts that the template writes after its prompts."""

    asked: Count
    """Texts that the template writes after one of its prompts."""
    passed: Count
    """Those that the grammar made for the prompt accepts and the parser reads back."""
    not_asked: Count
    """Messages with which the template's turn does not go on from the prompt, or which it
    refuses."""
    faults: tuple[GateFaultDocument, ...]


def gate_document(gate: Gate) -> GateDocument:
    """Return what became of the texts that the template writes after its prompts."""
    return convert(gate, GateDocument, from_attributes=True)
