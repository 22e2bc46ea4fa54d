"""The results of a parser: deltas of a stream, and messages.

As OpenAI's clients get a delta:

    >>> Delta(DeltaKind.CONTENT, "Hel").to_openai()
    {'content': 'Hel'}
    >>> Delta(DeltaKind.ARGUMENTS, '{"a": 1}', 1).to_openai()
    {'tool_calls': [{'index': 1, 'function': {'arguments': '{"a": 1}'}}]}
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from msgspec import Struct

from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.shown import Shown

if TYPE_CHECKING:
    from autoparser.analysis.core.schema_validation import SchemaBreach

from .text_tape import Span, SpanKind

ReasoningIn: TypeAlias = Literal["separate", "inline", "raw"]
"""Where reasoning goes: into a text of its own, into the content without its markers, or into the
content with its markers as they came."""

FinishReason: TypeAlias = Literal["stop", "tool_calls", "length"]
"""Why an output ended, in OpenAI's words: by itself, with calls to answer, or cut."""

Forgiven: TypeAlias = Literal["exact", "repairs", "all"]
"""Which calls count: those of turns as the template writes them; also repaired ones that lose and
guess nothing; or also a bare JSON object of an offered tool."""

MarkupIn: TypeAlias = Literal["keep", "drop", "separate"]
"""Where the text of calls that could not be read goes: into the content, nowhere, or into
`ParsedMessage.unread`."""

UnclosedReasoning: TypeAlias = Literal["calls", "keep", "content"]
"""The kind of text after reasoning that is never closed: reasoning up to a whole call, reasoning to
the end, or the answer."""

REASONING_FIELD = "reasoning_content"


class Status(StrEnum):
    """How a message or a call was parsed, e.g. `Status.OK` if it has the template's format."""

    OK = "ok"
    UNFINISHED = "unfinished"
    """All was read, but no end of the turn was seen: the model did not write it, or the engine
    took it off."""
    REPAIRED = "repaired"
    """Markers of a call were missing or stood there twice, or its arguments were not under their
    key."""
    STRAY = "stray markup"
    """Text at a place where the format has none, such as a stray closer, or words between the
    opener of calls and a call; it is junk."""
    MALFORMED = "malformed"
    """A call was opened that could not be read: it keeps its place where its arguments had begun,
    else it stays in the content."""
    NEEDS_REPAIRS = "needs repairs"
    """Under `forgive="exact"` the turn is not as the template writes it, so that its calls are
    content; "repairs" reads them."""
    NEEDS_ALL = "needs all"
    """A call is content that only `forgive="all"` reads, such as a bare JSON object."""
    LOST = "lost call"
    """Reasoning that is never closed contains a call with faults. Parsers leave it there: only the
    command looks for it."""
    UNKNOWN_TOOL = "unknown tool"
    OTHER_FORMAT = "another format"
    """Nothing was read as a call, and the content calls an offered tool in another format, as
    `[TOOL_CALLS]f{}` where the template writes `<tool_call>`."""
    CUT = "cut"
    """The text was cut before it ended."""

    @property
    def regular(self) -> bool:
        """Whether everything matches the template's format, with or without the end of the turn."""
        return self in (Status.OK, Status.UNFINISHED)


class DeltaKind(StrEnum):
    """The field of the message that a delta extends."""

    REASONING = "reasoning"
    CONTENT = "content"
    CALL = "call"
    """Opens a call: its name, whole."""
    ARGUMENTS = "arguments"
    FINISH = "finish"
    """Nothing more comes; the text is the reason."""


# It holds no containers, so the garbage collector need not track one for each token.
class Delta(Struct, gc=False):
    """A piece of a streamed message; a struct, since almost every token makes one.

        (delta,) = parser.stream().feed("Hel")
        delta.to_openai()  # {'content': 'Hel'}

    The meaning of `text` depends on `kind`.
    """

    kind: DeltaKind
    """The field that it extends, such as `DeltaKind.CONTENT`."""
    text: str
    """The text that is added, such as `"Here is"`; of a call's first delta, its name."""
    index: int = 0
    """The index of the call in its message, e.g. 1 for the second."""
    id: str = ""
    """The id of the call: as it is written, e.g. "functions.get_forecast:0", or made if none is."""

    def to_openai(self, *, reasoning_field: str = REASONING_FIELD) -> dict[str, Json]:
        """Return the delta of an OpenAI streaming chunk, such as `{"content": "Hel"}`.

        The last delta is `{"finish_reason": "stop"}`, which belongs into the chunk's choice, next
        to an empty delta: `to_openai_choice` returns the whole choice.
        """
        match self.kind:
            case DeltaKind.FINISH:
                return {"finish_reason": self.text}
            case DeltaKind.REASONING:
                return {reasoning_field: self.text}
            case DeltaKind.CONTENT:
                return {"content": self.text}
            case DeltaKind.CALL:
                # As in OpenAI's API, the first chunk has empty arguments, to which clients append.
                function: dict[str, Json] = {"name": self.text, "arguments": ""}
                call: dict[str, Json] = {
                    "index": self.index,
                    "id": self.id or f"call_{self.index}",
                    "type": "function",
                    "function": function,
                }
                return {"tool_calls": [call]}
            case DeltaKind.ARGUMENTS:
                return {"tool_calls": [{"index": self.index, "function": {"arguments": self.text}}]}

    def to_openai_choice(
        self, index: int = 0, *, reasoning_field: str = REASONING_FIELD
    ) -> dict[str, Json]:
        """Return the choice of an OpenAI streaming chunk: the delta and the `finish_reason`.

        `index` is that of the choice.
        """
        if self.kind is DeltaKind.FINISH:
            return {"index": index, "delta": {}, "finish_reason": self.text}
        delta: Json = self.to_openai(reasoning_field=reasoning_field)
        return {"index": index, "delta": delta, "finish_reason": None}


class CallAttempt(Struct, frozen=True):
    """A stretch of the text with a call, or with the beginning of one."""

    start: int
    """The offset of its opener, including whitespace and the opener of all calls, e.g. 38."""
    end: int
    """The offset after the call, e.g. 143."""
    status: Status
    """The outcome, e.g. `Status.OK`; malformed if no call could be read, cut if the text ended in
    it."""

    def without(self, skipped: int) -> CallAttempt:
        """Return it in the text without so many characters at its beginning."""
        return CallAttempt(max(0, self.start - skipped), max(0, self.end - skipped), self.status)


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """One parsed tool call, such as `get_weather` with the arguments `'{"city": "Oslo"}'`."""

    name: str
    """The function's name, such as `"get_forecast"`."""
    arguments: str
    """The arguments as JSON text, such as `'{"city": "Oslo", "days": 3}'`."""
    id: str = ""
    """The id as it is written, such as `"functions.get_forecast:0"`; empty if none is."""
    status: Status = Status.OK
    """How the call was read, such as `Status.REPAIRED`."""
    made_id: str = field(default="", compare=False)
    """The id that was made for the call, such as `"NfNR9I2yt"`, if none was written when it
    began."""
    schema: Json = field(default=None, compare=False, repr=False)
    """The JSON schema of the offered tool's parameters, e.g. {"type": "object"}; None if it has
    none."""
    departures: tuple[str, ...] = field(default=(), compare=False)
    """The departures of a recovered call from the template, such as "`</call>` is missing"."""

    @property
    def schema_errors(self) -> tuple[SchemaBreach, ...]:
        """The violations of the tool's schema, such as `"days: 'x' is not of type 'integer'"`.

        Computed on first access: no call is rejected for it. Empty if there are none, if no schema
        is known, or if the arguments are not JSON, which the call's status reports.
        """
        if self.schema is None:
            return ()
        # jsonschema takes longer to import than most answers to parse.
        from autoparser.analysis.core.schema_validation import schema_breaches  # noqa: PLC0415

        try:
            return schema_breaches(self.schema, json.loads(self.arguments))
        # A model may nest arguments deeper than Python's recursion limit.
        except (ValueError, RecursionError):
            return ()

    @property
    def sent_id(self) -> str:
        """The id that clients have: the model's own, or the one sent before that arrived."""
        return self.made_id or self.id


@dataclass(frozen=True, slots=True, repr=False)
class ParsedMessage(Shown):
    r"""The parsed message of a model.

        message = parser.parse("<think>\nHm.\n</think>\n\nHello.<|im_end|>")
        message.reasoning_content, message.content  # ('Hm.', 'Hello.')
        message.to_openai()["reasoning_content"]  # 'Hm.'

    A `StreamParser` has the message so far as `message`.
    """

    shown_as: ClassVar[str] = "message"

    content: str | None
    """The answer for the user, such as `"Here is what I found."`, or None if there is none."""
    reasoning_content: str | None
    """The reasoning, such as `"A lookup is due."`, or None if there is none."""
    tool_calls: tuple[ParsedCall, ...]
    """The calls that closed, and those that broke after they had begun, e.g.
    (ParsedCall("get_weather", '{"city": "Oslo"}'),)."""
    partial_call: ParsedCall | None
    """The call that the end cut, such as one with the arguments `'{"city": "Os'`."""
    status: Status
    """The worst status of any part, such as `Status.OK`."""
    spans: tuple[Span, ...]
    """The kinds of all parts of the text, such as `Span(0, 3, SpanKind.REASONING)`; every character
    is in exactly one span."""
    missing_end: str = ""
    """The end of such a turn, such as `"<|im_end|>"`, if a text that is said to be complete has
    none; else empty."""
    reasoning_end: int | None = None
    """The offset after the closer of the reasoning, e.g. 46, the first one if there are two; 0 if
    the prompt closed it; None if it is not closed."""
    finish_reason: FinishReason | None = None
    """The reason why the text ended, such as `"tool_calls"`, or None if more may come."""
    unread: str | None = None
    """The text of calls that could not be read, with `markup="separate"`; else None."""
    attempts: tuple[CallAttempt, ...] = ()
    """Every call in the order of the text, and every attempt that failed, e.g. (CallAttempt(60,
    150, Status.OK),)."""

    def __repr__(self) -> str:
        """Return how it was read and what there is of it, in one line."""
        texts = {"reasoning": self.reasoning_content, "content": self.content}
        parts = [
            f"{name} {_text_start(text)!r}" for name, text in texts.items() if text is not None
        ]
        calls = ", ".join(repr(call.name) for call in self.begun_calls)
        parts += [f"calls {calls}"] * bool(calls)
        return f"<{type(self).__name__} {self.status.value}: {'; '.join(parts) or 'nothing'}>"

    @property
    def leaves_call(self) -> bool:
        """Whether a call stays in the content: in another format, or only a guess."""
        return self.status in (Status.OTHER_FORMAT, Status.NEEDS_ALL)

    @property
    def begun_calls(self) -> tuple[ParsedCall, ...]:
        """All calls that a stream has sent, by index, including one that the end truncated."""
        return (*self.tool_calls, *filter(None, [self.partial_call]))

    @property
    def malformed_calls(self) -> tuple[ParsedCall, ...]:
        """The malformed calls among `tool_calls`, whose partial arguments were closed."""
        return tuple(call for call in self.tool_calls if call.status is Status.MALFORMED)

    def ended(self) -> ParsedMessage:
        """Return a copy marked as ended by a stop token."""
        status = Status.OK if self.status is Status.UNFINISHED else self.status
        return replace(self, status=status, missing_end="")

    def to_openai(self, *, reasoning_field: str = REASONING_FIELD) -> dict[str, Json]:
        """Return the message of an OpenAI chat completion.

        `reasoning_field` is the key of the reasoning; some servers and templates use `reasoning`.
        The `finish_reason` is not part of a message: `to_openai_choice` returns it.
        """
        # OpenAI's messages always have `content`, null if absent; reasoning is an extension.
        message: dict[str, Json] = {"role": "assistant", "content": self.content}
        if self.reasoning_content is not None:
            message[reasoning_field] = self.reasoning_content
        if self.begun_calls:
            message["tool_calls"] = [
                {
                    "id": call.sent_id or f"call_{index}",
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for index, call in enumerate(self.begun_calls)
            ]
        return message

    def to_openai_choice(
        self, index: int = 0, *, reasoning_field: str = REASONING_FIELD
    ) -> dict[str, Json]:
        """Return the choice `index` of an OpenAI chat completion: message and `finish_reason`.

        The `finish_reason` is null while the output may continue.
        """
        message: Json = self.to_openai(reasoning_field=reasoning_field)
        return {"index": index, "message": message, "finish_reason": self.finish_reason}


_LONGEST = 40
"""Characters of a text that a line shows of it."""


def _text_start(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


# The parsed output as a message for the history.


def message_from(parsed: ParsedMessage, text: str = "") -> Message:
    """Return the message that was read; a call that is written without an id has none.

    With the `text` that it was read from, parts of whitespace alone, which a reader drops, are in
    it. Raises ValueError for arguments that are not JSON.
    """
    return Message(
        parsed.content or _part(parsed, text, SpanKind.CONTENT),
        parsed.reasoning_content or _part(parsed, text, SpanKind.REASONING),
        tuple(
            ToolCall(call.name, json.loads(call.arguments), call.id) for call in parsed.tool_calls
        ),
    )


def _part(parsed: ParsedMessage, text: str, kind: SpanKind) -> str:
    return "".join(text[span.start : span.end] for span in parsed.spans if span.kind is kind)


READ = (Status.OK, Status.UNFINISHED, Status.REPAIRED)

_OUTRANKED = (*READ, Status.STRAY)
"""Statuses of calls that the status of an unknown tool overrides."""


def message_status(message: ParsedMessage) -> Status:
    """Return the message's status, taking unknown tools into account."""
    unknown = any(call.status is Status.UNKNOWN_TOOL for call in message.tool_calls)
    return Status.UNKNOWN_TOOL if unknown and message.status in _OUTRANKED else message.status


def all_read(message: ParsedMessage) -> bool:
    """Return whether every part of a message was read, and every call's tool was offered."""
    return message_status(message) in READ
