"""The verdict of the self-check as JSON, and read back from it."""

from __future__ import annotations

from msgspec import convert

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import Count, JsonDocument, copy_fields
from autoparser.analysis.core.verdicts import AskedForm, Check, TemplateCrash


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
    arguments: dict[str, Json]
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
    failures = convert(check.failures, tuple[FailureDocument, ...], from_attributes=True)
    different = len(check.different)
    return copy_fields(CheckDocument, check, different=different, failures=failures)


def check_counts(check: Check) -> CheckCounts:
    """Return the verdict in figures."""
    return copy_fields(CheckCounts, check, different=len(check.different))


def check_read(document: CheckDocument) -> Check:
    """Return the verdict of a document."""
    return convert(document, Check, from_attributes=True)
