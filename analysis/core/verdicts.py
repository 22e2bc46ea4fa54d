"""Verdicts on a format, with their evidence: the self-check's and the gate's.

The self-check writes each message of the battery by the format and compares the text with the
template's render: `Check(total=47, equal=47, …)`. The gate asks the other way round whether the
grammar accepts, and the parser reads back, each text that the template writes after its prompts:
`Gate(asked=14, passed=14, …)`.
"""

# Annotations are values here: as texts, msgspec would compile each at the first read.
from enum import StrEnum

from msgspec import Struct

from .conversation import Message
from .documents import Count, JsonDocument, SettingValues


class EvidenceKind(StrEnum):
    """The source of a part of a format."""

    RENDER = "render"
    """A render of the template contains it."""
    EXAMPLE = "example"
    """An output contains it, and the message of that output was given."""
    OUTPUT = "output"
    """Outputs contain it, and their messages are unknown."""
    WORDS = "words"
    """Only the prompt's words mention it."""


TEXTS_DIFFER = "the texts differ"
"""The reason of a failure that cannot be traced to a part of the message."""


class TemplateCrash(Struct, frozen=True):
    """One exception of a template, with the messages that raise it."""

    titles: tuple[str, ...]
    """The titles of these messages in the battery, e.g. `("content and 1 call",)`."""
    line: int | None
    """The template's line that raised, e.g. `10`, or None if unknown."""
    reason: str
    """The exception's type and message, e.g.
    `"SecurityError: access to attribute 'append' of 'list' object is unsafe."`."""
    needed: bool
    """Whether agents send such messages, so that the crash is a failure."""
    forbidden: bool = False
    """Whether the sandbox raised."""
    sandbox_alone: bool = False
    """Whether the messages are rendered once lists and dictionaries may be changed."""


class Failure(Struct, frozen=True):
    """A message that the format writes differently from the template, or that crashes it."""

    title: str
    """The title of the message in the battery, e.g. `"content and 1 call"`."""
    message: Message
    """The message, such as
    `Message(calls=(ToolCall("get_forecast", {"city": "Oslo", "days": 3}, "aB3dE6gH1"),))`."""
    written: str | None
    r"""The text that the format writes, e.g.
    `'<|assistant|><call>update_record<with>{"count": 42}</call><|end|>\n'`, or None if by the
    format the template raises."""
    rendered: str | None
    """The template's render, e.g. `"A:(call get_forecast of 2)<end>"`, or None if it raised."""
    reason: str
    """The cause in words, such as `"the texts differ"`."""
    crash: TemplateCrash | None = None
    """The crash, such as one in line `10`, or None if the template renders or refuses the message.
    """
    foretold: bool = False
    """Whether the format predicted it, e.g. `True`: the template crashes on a message that agents
    send."""

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """The sort key: faults of the format first, then named causes, then short texts."""
        # A long title leaves no room for the reason on the line of a report.
        size = len(self.title) + len(self.written or "") + len(self.rendered or "")
        return self.foretold, self.reason == TEXTS_DIFFER, size


class FormFault(Struct, frozen=True):
    """A conversation that loses text if it is sent in OpenAI's form."""

    title: str
    """The title of its last message in the battery, or its text in words, such as
    `"a call and its result"`."""
    reason: str
    """The loss in words, such as `"a call's name is lost or altered"`."""
    usual: str
    """The render of the conversation in OpenAI's form, such as one without the name `get_forecast`
    of a call."""
    wanted: str
    """The render of the conversation in the form that the template expects, such as one with
    `get_forecast`."""


class AskedForm(Struct, frozen=True):
    """Results for messages in OpenAI's form, if the template needs another form."""

    usual: str
    """The form that users send, e.g. `"arguments as an object"`."""
    wanted: str
    """The form that the template expects instead, e.g. `"arguments as a JSON string"`."""
    asked: int
    """The number of conversations that differ between the two forms and that the template accepts
    in its own form, e.g. `49`: a question, a call and its result, and each message of the battery
    after a question."""
    spoiled: tuple[str, ...] = ()
    """The titles of those that silently lose text, such as `("1 call", "2 calls")`."""
    raised: int = 0
    """The number of those on which the template raises, which a caller notices, e.g. `49`."""
    reason: str = ""
    """The exception, e.g. `"Content must be a list of parts."`."""
    unread: int = 0
    """The number of those whose field the template ignores, and reads by another name, e.g. `11`.
    """
    fault: FormFault | None = None
    """The first of those that lose text, such as `"a call and its result"`, or None."""

    @property
    def intact_count(self) -> int:
        """The number of conversations that lose nothing, or only a field of another name."""
        return self.asked - len(self.spoiled) - self.raised

    @property
    def ok(self) -> bool:
        """Whether no conversation silently loses text."""
        return not self.spoiled


class Check(Struct, frozen=True):
    """The verdict on a format, with its evidence."""

    total: int
    """The number of messages in the battery, e.g. `47`."""
    equal: int
    """The number of messages that the format writes as the template renders them, e.g. `47`."""
    refused: int
    """The number of messages that the template refuses, as the format predicts, e.g. `8`."""
    not_asked: int
    """The number of messages that its shape cannot express, so that they show nothing."""
    crashes: tuple[TemplateCrash, ...]
    """The crashes of the template that the format predicts, such as one for `"1 call"` and all
    other messages with calls."""
    failures: tuple[Failure, ...]
    """Messages that do not pass, such as `"1 call"`: the format is wrong about them, or agents send
    such messages and the template crashes on them."""
    forms: tuple[AskedForm, ...] = ()
    """Results for the same messages in OpenAI's form: one for each departure of the template's
    shape from it, such as `"content as text"`, and one for all departures at once."""

    @property
    def passed(self) -> int:
        """The number of messages that the format predicts correctly and that are not failures."""
        return self.total - len(self.failures)

    @property
    def crashed(self) -> int:
        """The number of messages on which the template crashes as predicted, failures or not."""
        return sum(len(crash.titles) for crash in self.crashes)

    @property
    def different(self) -> tuple[Failure, ...]:
        """The failures that are faults of the format."""
        return tuple(failure for failure in self.failures if not failure.foretold)

    @property
    def ok(self) -> bool:
        """Whether every message passed, and none silently loses text in OpenAI's form."""
        return not self.failures and self.spoiled is None

    @property
    def spoiled(self) -> AskedForm | None:
        """The first of OpenAI's forms in which messages silently lose text, or None."""
        return next((form for form in self.forms if not form.ok), None)

    @property
    def forbidden(self) -> TemplateCrash | None:
        """The first crash that only transformers' sandbox causes, or None.

        If there is one, all other results are from renders in a sandbox that allows it.
        """
        return next((crash for crash in self.crashes if crash.sandbox_alone), None)

    @property
    def freed(self) -> int:
        """The number of messages that only a sandbox that allows changes renders."""
        return sum(len(crash.titles) for crash in self.crashes if crash.sandbox_alone)

    @property
    def smallest(self) -> Failure | None:
        """The failure that is quickest to understand, faults of the format first, or None."""
        return min(self.failures, key=lambda failure: failure.rank, default=None)


class GateQuestion(StrEnum):
    """The questions about each text after a prompt."""

    ACCEPTED = "accepted by the grammar"
    READ = "read back"


class GateFault(JsonDocument, frozen=True):
    """A text that the template writes after its prompt, and that did not pass."""

    question: GateQuestion
    """The question that failed, e.g. `"read back"`."""
    setting: SettingValues
    """The values of switches in the render, such as `{"deep": "other"}`."""
    title: str
    """The title of the message, e.g. `"content and 1 call"`."""
    text: str
    r"""The text after the prompt, e.g. `"Here is what I found.<|end|>\n"`."""
    detail: str
    r"""The fault in words, with the text that was expected, such as
    `"the parsed message renders as 'Here is what I found.\\n'"`."""


class Gate(JsonDocument, frozen=True):
    """The verdict on the texts that the template writes after its prompts."""

    asked: Count
    """The number of texts that the template writes after its prompts, e.g. `14`."""
    passed: Count
    """The number of texts that the prompt's grammar accepts and its parser reads back, e.g. `14`.
    """
    not_asked: Count
    """The number of messages that the template refuses, or whose turn does not continue the prompt,
    e.g. `14`: a model may well write them, and the template does not show how."""
    faults: tuple[GateFault, ...]
    r"""The texts that did not pass, such as `"Here is what I found.<|end|>\n"`, of messages in the
    form that the template expects."""
    usual_asked: Count = 0
    """The number of texts if the same messages are sent in OpenAI's form; 0 if that is the form
    that the template expects. Messages that raise are not counted."""
    usual_passed: Count = 0
    """The number of those that the grammar accepts and the parser reads back, such as `10`."""

    @property
    def ok(self) -> bool:
        """Whether every text passed."""
        return self.own_form_ok and self.usual_passed == self.usual_asked

    @property
    def own_form_ok(self) -> bool:
        """Whether every text passed of messages in the form that the template expects."""
        return self.passed == self.asked
