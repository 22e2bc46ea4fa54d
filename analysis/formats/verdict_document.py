"""The verdicts of the self-check and the gate as JSON, and read back from it."""

from __future__ import annotations

from msgspec import convert
from msgspec.structs import asdict

from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.core.documents import AnyJson, Count, JsonDocument, SettingValues
from autoparser.analysis.core.verdicts import (
    AskedForm,
    Check,
    Failure,
    Gate,
    GateFault,
    GateQuestion,
    TemplateCrash,
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
    crash: TemplateCrash | None
    """Where the template crashes on it; null: it renders or refuses it."""
    foretold: bool
    """The format is right about it: the template crashes."""


class CheckDocument(CheckCounts, frozen=True):
    """The self-check of a format."""

    crashes: tuple[TemplateCrash, ...]
    """Where the template crashes, each cause once."""
    failures: tuple[FailureDocument, ...]
    forms: tuple[AskedForm, ...] = ()
    """The messages as users send them, one entry for each thing in which the shape that the
    template takes departs from that, and one for all that were asked at once."""


def check_document(check: Check) -> CheckDocument:
    """Return the verdict, with every failure."""
    failures = tuple(map(_failure, check.failures))
    counts = asdict(check_counts(check))
    return CheckDocument(
        **counts, crashes=tuple(check.crashes), failures=failures, forms=check.forms
    )


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
    usual_asked: Count = 0
    """Texts that the template writes where the same messages are sent as users do, and come out in
    silence: none, where that is the form that the template takes."""
    usual_passed: Count = 0
    """Those of them that the grammar accepts and the parser reads back."""


def gate_document(gate: Gate) -> GateDocument:
    """Return what became of the texts that the template writes after its prompts."""
    return convert(gate, GateDocument, from_attributes=True)


def check_read(document: CheckDocument) -> Check:
    """Return the verdict that a document tells."""
    return Check(
        total=document.total,
        equal=document.equal,
        refused=document.refused,
        not_asked=document.not_asked,
        crashes=document.crashes,
        failures=tuple(map(_failure_read, document.failures)),
        forms=document.forms,
    )


def _failure_read(document: FailureDocument) -> Failure:
    told = document.message
    calls = tuple(ToolCall(call.name, call.arguments, call.id) for call in told.calls)
    return Failure(
        title=document.title,
        message=Message(told.content, told.reasoning, calls),
        written=document.written,
        rendered=document.rendered,
        reason=document.reason,
        crash=document.crash,
        foretold=document.foretold,
    )


def gate_read(document: GateDocument) -> Gate:
    """Return the gate's verdict that a document tells."""
    faults = tuple(GateFault(**asdict(fault)) for fault in document.faults)
    return Gate(
        document.asked,
        document.passed,
        document.not_asked,
        faults,
        document.usual_asked,
        document.usual_passed,
    )
