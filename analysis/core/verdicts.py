"""Verdicts on a format, and what each rests on: the self-check's, and the gate's."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from .conversation import Message
from .documents import Count, JsonDocument, SettingValues

# What kind of evidence there is for what is known of a format.


class EvidenceKind(StrEnum):
    """How a part of a format came to be known."""

    RENDER = "render"
    """The template itself writes it."""
    EXAMPLE = "example"
    """An output shows it, and the message that the output means was given beside it."""
    OUTPUT = "output"
    """Outputs show it, and nobody said what they mean."""
    WORDS = "words"
    """Only the prompt's words spell it out."""


TEXTS_DIFFER = "the texts differ"
"""The reason of a failure for which no part of the message can be named."""


class TemplateCrash(Struct, frozen=True):
    """One exception of a template, and the messages that raise it."""

    titles: tuple[str, ...]
    """The messages of the battery, by their titles."""
    line: int | None
    """The template's line that raised; None where it is not known."""
    reason: str
    """The exception's type and words."""
    needed: bool
    """Whether agents send such messages, so that they do not pass."""
    forbidden: bool = False
    """Whether the sandbox forbids what the template does there."""
    sandbox_alone: bool = False
    """Whether nothing else is wrong: where lists and dictionaries may be changed, these messages
    are rendered."""


class Failure(Struct, frozen=True):
    """A message that the format writes differently from the template, or that it crashes on."""

    title: str
    message: Message
    written: str | None
    """What the format wrote; None: it says that the template raises on the message."""
    rendered: str | None
    """What the template rendered; None: it raised."""
    reason: str
    crash: TemplateCrash | None = None
    """Where the template crashes; None: it renders or refuses the message."""
    foretold: bool = False
    """Whether the format is right about it: the template crashes, and agents send such messages."""

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """The sort key: what the format is wrong about, named causes and short texts first."""
        # A title of many causes leaves no room for the reason.
        size = len(self.title) + len(self.written or "") + len(self.rendered or "")
        return self.foretold, self.reason == TEXTS_DIFFER, size


class FormFault(Struct, frozen=True):
    """A conversation that loses what it says where it is given as users send it."""

    title: str
    """Of the message of the battery that ends it, or what is said in words."""
    reason: str
    """What is lost."""
    usual: str
    """The render of what users send."""
    wanted: str
    """The render of the same conversation in the form that the template takes."""


class AskedForm(Struct, frozen=True):
    """What becomes of messages as users send them, where the template wants another form."""

    usual: str
    """What users send, such as ``arguments as an object``."""
    wanted: str
    """What the template takes in its place, such as ``arguments as JSON text``."""
    asked: int
    """Conversations that differ between the two forms, and that the template takes in its own: a
    question, a call and its result, and each message of the battery after a question."""
    spoiled: tuple[str, ...] = ()
    """Those of them that lose what they say in silence, by their titles."""
    raised: int = 0
    """Those on which the template raises: a caller notices."""
    reason: str = ""
    """What it raises."""
    unread: int = 0
    """Those whose field the template does not read, and reads under another name."""
    fault: FormFault | None = None
    """The first of those that are spoiled."""

    @property
    def intact_count(self) -> int:
        """Those that are rendered with all that they say, or without a field of another name."""
        return self.asked - len(self.spoiled) - self.raised

    @property
    def ok(self) -> bool:
        """Whether nothing is lost in silence."""
        return not self.spoiled


class Check(Struct, frozen=True):
    """The verdict on a format, and what it rests on."""

    total: int
    """The messages of the battery."""
    equal: int
    """Messages that the format writes as the template renders them."""
    refused: int
    """Messages that the template refuses on purpose, as the format says it would."""
    not_asked: int
    """Messages that its shape cannot tell from another one, so that they show nothing."""
    crashes: tuple[TemplateCrash, ...]
    """Where the template crashes as the format says it would."""
    failures: tuple[Failure, ...]
    """Messages that do not pass: the format is wrong about them, or agents send such messages and
    the template crashes on them."""
    forms: tuple[AskedForm, ...] = ()
    """The same messages as users send them, one entry for each thing in which the shape that the
    template takes departs from that, and one for all that were asked at once."""

    @property
    def passed(self) -> int:
        """Messages on which the template does what the format says, and which it had better do."""
        return self.total - len(self.failures)

    @property
    def crashed(self) -> int:
        """Messages on which it crashes as the format says, whether they pass or not."""
        return sum(len(crash.titles) for crash in self.crashes)

    @property
    def different(self) -> tuple[Failure, ...]:
        """Messages that the format is wrong about."""
        return tuple(failure for failure in self.failures if not failure.foretold)

    @property
    def ok(self) -> bool:
        """Whether every message came out right, and none is spoiled as users send it."""
        return not self.failures and self.spoiled is None

    @property
    def spoiled(self) -> AskedForm | None:
        """The first thing that users send and that the template spoils; None for nothing."""
        return next((form for form in self.forms if not form.ok), None)

    @property
    def forbidden(self) -> TemplateCrash | None:
        """What transformers' sandbox alone forbids; None where it forbids nothing.

        All else that was found is then from renders in a sandbox that allows it.
        """
        return next((crash for crash in self.crashes if crash.sandbox_alone), None)

    @property
    def freed(self) -> int:
        """Messages that the format is right about where the sandbox forbids nothing of that."""
        return sum(len(crash.titles) for crash in self.crashes if crash.sandbox_alone)

    @property
    def smallest(self) -> Failure | None:
        """The failure that is quickest to understand; one that the format is wrong about first."""
        return min(self.failures, key=lambda failure: failure.rank, default=None)


class GateQuestion(StrEnum):
    """What is asked of each continuation."""

    ACCEPTED = "accepted by the grammar"
    READ = "read back"


class GateFault(JsonDocument, frozen=True):
    """A text that the template writes after its prompt, and what is wrong with it."""

    question: GateQuestion
    setting: SettingValues
    title: str
    """Of the message."""
    text: str
    """What the template writes after the prompt."""
    detail: str


class Gate(JsonDocument, frozen=True):
    """What became of the texts that the template writes after its prompts."""

    asked: Count
    """Texts that the template writes after one of its prompts."""
    passed: Count
    """Those that the grammar made for the prompt accepts and the parser reads back."""
    not_asked: Count
    """Messages with which the template's turn does not go on from the prompt, or which it refuses:
    a model may well write them, and the template does not say how."""
    faults: tuple[GateFault, ...]
    """Those of the form that the template takes first."""
    usual_asked: Count = 0
    """Texts that it writes where the same messages are sent as users do, and come out in silence:
    none, where that is the form that the template takes."""
    usual_passed: Count = 0
    """Those of them that the grammar accepts and the parser reads back."""

    @property
    def ok(self) -> bool:
        """Whether every continuation passed."""
        return self.own_form_ok and self.usual_passed == self.usual_asked

    @property
    def own_form_ok(self) -> bool:
        """Whether every one passed that was sent in the form that the template takes."""
        return self.passed == self.asked
