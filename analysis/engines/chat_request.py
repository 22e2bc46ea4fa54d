"""Read a chat request in OpenAI's form, and word errors for its client.

Contract: null stands for a parameter that is left out, and unknown parameters are ignored with a
line in the log, as engines do. Messages, tools and schemas are checked where they are read. No
error that a client gets names a path of this machine.

    >>> body = {"messages": [{"role": "user", "content": "Hi."}], "temperature": None}
    >>> chat_request(body).tool_choice
    'auto'
    >>> try:
    ...     chat_request({**body, "max_tokens": "many"})
    ... except Exception as error:
    ...     str(as_chat_error(error))
    'max_tokens: must be a number, got a string'
    >>> without_paths("cannot read /srv/models/x.json: no such file")
    'cannot read x.json: no such file'
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Set as AbstractSet
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta, Struct

from autoparser.analysis.core.conversation import Json, tool_function
from autoparser.analysis.core.documents import read_value
from autoparser.analysis.core.error_words import (
    is_list,
    is_mapping,
    one_line,
)
from autoparser.analysis.core.errors import (
    AutoparserError,
    TemplateLimitError,
    TemplateRenderError,
    TokenizerError,
    WorkerDiedError,
)

_LOG = logging.getLogger("autoparser")


class ChatErrorKind(Enum):
    """The cause of an error: OpenAI's type and the HTTP status."""

    INVALID = ("invalid_request_error", 400)
    LOCKED = ("authentication_error", 401)
    ABSENT = ("not_found_error", 404)
    METHOD = ("invalid_request_error", 405)
    SLOW_BODY = ("invalid_request_error", 408)
    TOO_LARGE = ("invalid_request_error", 413)
    NOT_JSON = ("invalid_request_error", 415)
    INTERNAL = ("server_error", 500)
    BACKEND = ("backend_error", 502)
    BUSY = ("overloaded_error", 503)
    LATE = ("timeout_error", 504)

    @property
    def status(self) -> int:
        """The status of an answer that is only this error."""
        return self.value[1]


class ChatError(AutoparserError):
    """A chat request cannot be answered, or its answer broke off."""

    def __init__(
        self,
        message: str,
        kind: ChatErrorKind = ChatErrorKind.INVALID,
        *,
        place: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, place=place, hint=hint)
        self.kind = kind
        """The cause of the error."""

    def to_openai(self) -> dict[str, Json]:
        """Return the error in the form of an OpenAI endpoint."""
        return {"error": self.fields()}

    def fields(self) -> dict[str, Json]:
        """Return the members of OpenAI's error object; the message names the parameter, too.

        Clients often show the message alone: "`tools` must be an array, got a string".
        """
        words, hint, place = self.message, self.hint or "", self.place or ""
        # "must be at least 1, got 0; write at least 1" would say it twice.
        if hint and hint.removeprefix("write ") not in words:
            words = f"{words}; {hint}"
        if words.startswith("must "):
            words = f"`{place or 'the body'}` {words}"
        elif place not in words:
            words = f"{place}: {words}"
        return {
            "message": without_paths(words),
            "type": self.kind.value[0],
            "param": self.place,
            "code": None,
        }


_PATH = re.compile(r"(?<![\w./:])(?P<top>/[^/\s'\":]+)/(?:[^/\s'\":]+/)*")


def without_paths(words: str) -> str:
    """Return the words with paths of this machine cut to their last name."""
    return _PATH.sub(lambda found: "" if Path(found["top"]).is_dir() else found[0], words)


def as_chat_error(error: Exception) -> ChatError:
    """Convert any error of a request to one for its client; an unexpected one is logged."""
    if isinstance(error, ChatError):
        return error
    if isinstance(error, RecursionError):
        # JSON of thousands of brackets, which no recursive function can read.
        return ChatError("the request is nested too deeply")
    if not isinstance(error, AutoparserError):
        _LOG.error("a request failed", exc_info=error)
        return ChatError(
            "internal server error", ChatErrorKind.INTERNAL, hint="see the server's log"
        )
    # These are faults of the server; all others come from the request.
    own = isinstance(error, WorkerDiedError | TokenizerError)
    kind = ChatErrorKind.INTERNAL if own else ChatErrorKind.INVALID
    # These errors point into the template, which the client has not sent.
    of_template = isinstance(error, TemplateRenderError | TemplateLimitError)
    words = f"the chat template {error.message}" if of_template else error.message
    return ChatError(words, kind, place=None if of_template else error.place, hint=error.hint)


@dataclass(frozen=True, slots=True)
class ServingLimits:
    """Limits on bodies, time and concurrent requests."""

    body: int = 8_000_000
    """Most bytes of a request, e.g. 1000 in tests."""
    seconds: float = 600.0
    """Seconds that an answer may take, from the request to its last piece, e.g. 600."""
    requests: int = 256
    """Most chats answered at the same time, e.g. 256; others are refused and told to retry."""
    body_seconds: float = 30.0
    """Seconds that a request's body may take to arrive, e.g. 30."""


_Objects = Annotated[tuple[dict[str, Any], ...], Meta(description="a list of objects")]
_Ids = Annotated[tuple[int, ...], Meta(description="a list of token ids")]


class StreamOptions(Struct, frozen=True):
    """Token counts in a stream, next to its deltas."""

    include_usage: bool = False
    """Whether the last event has the token counts, e.g. `"usage": {"prompt_tokens": 12, …}`."""
    continuous_usage_stats: bool = False
    """Whether each event has the token counts so far, in `"usage"`."""


class NamedSchema(Struct, frozen=True):
    """The schema of an answer in JSON."""

    schema: dict[str, Any]
    """The JSON schema, e.g. `{"type": "object"}`."""
    name: str = ""
    """The schema's name, e.g. `"forecast"`; ignored."""


class ResponseFormat(Struct, frozen=True):
    """The required form of the content."""

    type: Literal["text", "json_object", "json_schema"]
    """`"text"` for free text, else JSON with or without a schema."""
    json_schema: NamedSchema | None = None
    """The schema for the type `"json_schema"`."""


class EarlierTurn(Struct, frozen=True, forbid_unknown_fields=True):
    """The token ids of the last assistant message and its prompt, from an earlier answer."""

    prompt_token_ids: _Ids
    """The ids of its prompt, e.g. `(151644, 872)`."""
    token_ids: _Ids
    """The ids of its output, e.g. `(9707, 13, 151645)`."""


class ChatRequest(Struct, frozen=True):
    """A request for one assistant message, or for several."""

    messages: Annotated[_Objects, Meta(min_length=1)]
    """The conversation, e.g. `({"role": "user", "content": "Hi"},)`."""
    model: str = ""
    """The model that the client names, e.g. `"parrot"`; the answer repeats it."""
    tools: _Objects = ()
    """The tools, e.g. `({"type": "function", "function": {"name": "get_weather"}},)`."""
    tool_choice: str | dict[str, Any] = "auto"
    """`"auto"`, `"none"`, `"required"`, or an object that names a tool or `allowed_tools`."""
    parallel_tool_calls: bool = True
    """Whether one answer may have several calls, as in OpenAI's API by default."""
    response_format: ResponseFormat | None = None
    """The form of the content, e.g. of the type `"json_schema"`, or None for free text."""
    chat_template_kwargs: dict[str, Any] = {}
    """Variables of the template, e.g. `{"enable_thinking": False}`."""
    reasoning_effort: str = ""
    """E.g. `"low"`; it sets the switch of the template that has such values."""
    continue_final_message: bool = False
    """Whether the last message is an answer's beginning, e.g. `"The weather"`, to be continued."""
    stream: bool = False
    """Whether the answer comes as events, `data: {…}`."""
    stream_options: StreamOptions = StreamOptions()
    """Options of a stream, e.g. `{"include_usage": true}`."""
    n: Annotated[int, Meta(ge=1, le=128)] = 1
    """The number of choices, e.g. 3."""
    logprobs: bool = False
    """Whether the answer has the log probability of each token, e.g. -0.5."""
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] = 0
    """The number of likeliest tokens listed at each place, e.g. 2."""

    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    """The token limit by its old name, e.g. 200."""
    max_completion_tokens: Annotated[int, Meta(ge=1)] | None = None
    """The token limit; it takes precedence over `max_tokens`."""
    min_tokens: Annotated[int, Meta(ge=0)] = 0
    """Fewest tokens before the answer may end; 0 for no minimum."""
    stop: str | tuple[str, ...] = ()
    """Texts that end the answer, e.g. `"\\n\\n"` or `("END", "STOP")`."""
    temperature: float | None = None
    """E.g. 0.7; None leaves each sampling parameter to the backend."""
    top_p: float | None = None
    """Probability mass of the likeliest tokens that are sampled, e.g. 0.95."""
    top_k: int | None = None
    """Number of the likeliest tokens that are sampled, e.g. 20."""
    min_p: float | None = None
    """Least probability relative to the likeliest token, e.g. 0.05."""
    seed: int | None = None
    """Seed of the first choice; each further choice adds 1."""
    presence_penalty: float | None = None
    """Subtracted from the logits of tokens that have occurred, e.g. 0.5."""
    frequency_penalty: float | None = None
    """Subtracted once for each occurrence of a token, e.g. 0.5."""
    repetition_penalty: float | None = None
    """Divisor of the logits of repeated tokens, e.g. 1.1; `repeat_penalty` in llama-server."""
    logit_bias: dict[str, float] | None = None
    """Added to the logits of tokens, by id: `{"50256": -100.0}`."""

    return_token_ids: bool = False
    """Whether the answer includes the token ids of its prompt and its output, as `prompt_token_ids`
    and `token_ids`."""
    continues: EarlierTurn | None = None
    """The last assistant message as token ids, `{"prompt_token_ids": […], "token_ids": […]}`, which
    the new prompt then extends."""

    @property
    def limit(self) -> int | None:
        """The token limit of the answer, or None if the request has none."""
        return self.max_completion_tokens or self.max_tokens

    @property
    def stops(self) -> tuple[str, ...]:
        """The client's own stop strings."""
        return (self.stop,) if isinstance(self.stop, str) else self.stop

    @property
    def schema(self) -> dict[str, Any] | None:
        """The schema of the content, or None for free text. Raises ChatError if it is missing."""
        wanted = self.response_format
        if wanted is None or wanted.type == "text":
            return None
        # Any object: OpenAI's older mode names no schema.
        if wanted.type == "json_object":
            return {"type": "object"}
        if wanted.json_schema is None:
            raise ChatError(
                "missing json_schema.schema", place="response_format", hint="add the JSON schema"
            )
        return wanted.json_schema.schema

    @property
    def callable_tools(self) -> tuple[tuple[dict[str, Any], ...], str | dict[str, Any]]:
        """The tools that may be called, and the choice among them.

        `allowed_tools` leaves some out, though the prompt has all. Raises ChatError for a tool that
        is not among them.
        """
        choice = self.tool_choice
        if isinstance(choice, str) or choice.get("type") != "allowed_tools":
            return self.tools, choice
        # Chat Completions nest mode and tools in an `allowed_tools` object, Responses puts them
        # next to the type.
        held = choice.get("allowed_tools", choice)
        listed = held.get("tools") if is_mapping(held) else None
        mode = held.get("mode", "auto") if is_mapping(held) else None
        if not is_list(listed) or mode not in ("auto", "required"):
            raise ChatError(
                "allowed_tools needs a mode, auto or required, and an array of tools",
                place="tool_choice",
            )
        names = [
            str(tool_function(tool).get("name")) if is_mapping(tool) else "" for tool in listed
        ]
        by_name = {str(tool_function(tool).get("name")): tool for tool in self.tools}
        for name in names:
            if name not in by_name:
                raise ChatError(f"unknown tool {name!r} in allowed_tools", place="tool_choice")
        offered = tuple(by_name[name] for name in dict.fromkeys(names))
        # If no tool is allowed, the prompt still lists all of them, and no call may be made.
        return (offered, mode) if offered else (self.tools, "none")

    def sampling(self) -> dict[str, Json]:
        """Return the sampling parameters that have the same name in all backends."""
        return {name: value for name in _SAMPLING if (value := getattr(self, name)) is not None}


_SAMPLING = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
)
_BOOKKEEPING = {
    *("user", "metadata", "store", "service_tier", "safety_identifier", "verbosity"),
    *("prompt_cache_key", "prompt_cache_retention", "modalities"),
}
"""Parameters without an effect on the answer; they are ignored silently."""


def json_object(body: bytes) -> dict[str, Any]:
    """Decode a body without its null members. Raises ChatError unless it is an object."""
    try:
        value = msgspec.json.decode(body)
    except (ValueError, RecursionError) as error:
        raise ChatError(f"the body is not valid JSON: {one_line(str(error))}") from error
    if not is_mapping(value):
        raise ChatError("the body must be a JSON object")
    return {name: field for name, field in value.items() if field is not None}


def without_nulls(value: Mapping[str, Any], kind: type[Struct]) -> dict[str, Any]:
    """Return a request without the fields that are null, as if its client had left them out.

    So it is in the objects that a request has fields for, as in `stream_options`; a message, a
    schema and the template's variables may hold null and mean it.
    """
    inner = _inner_kinds(kind)
    return {
        name: without_nulls(field, inner[name]) if name in inner and is_mapping(field) else field
        for name, field in value.items()
        if field is not None
    }


@cache
def _inner_kinds(kind: type[Struct]) -> Mapping[str, type[Struct]]:
    """Return the fields that hold an object of a class of their own, such as `StreamOptions`."""
    return {
        field.name: part
        for field in msgspec.structs.fields(kind)
        for part in (field.type, *get_args(field.type))
        if isinstance(part, type) and issubclass(part, Struct)
    }


def chat_request(value: Mapping[str, Any]) -> ChatRequest:
    """Read a decoded request. Raises ChatError, which names the member."""
    value = without_nulls(value, ChatRequest)
    ignore_fields(value.keys() - _BOOKKEEPING - set(ChatRequest.__struct_fields__))
    try:
        request = read_value(value, ChatRequest, file="the request")
    except AutoparserError as error:
        # A missing member is reported for the object around it, which has no name here.
        missing = "messages" if "messages" not in value else None
        raise ChatError(error.message, place=error.place or missing, hint=error.hint) from error
    _check_schemas(request)
    return request


MOST_SCHEMA = 1_000_000
"""Bytes of the tools, and of a schema of the answer, as JSON: a grammar is written of them."""


def _check_schemas(request: ChatRequest) -> None:
    """Raise ChatError for tools or a schema so large that their grammar takes many seconds."""
    for place, value in (("tools", request.tools), ("response_format", request.response_format)):
        # The body's limit is far higher, since a conversation may hold long documents.
        if len(msgspec.json.encode(value)) > MOST_SCHEMA:
            raise ChatError(
                f"{place} is larger than {MOST_SCHEMA} bytes", ChatErrorKind.TOO_LARGE, place=place
            )


def ignore_fields(names: AbstractSet[str]) -> None:
    """Log the names of fields that are ignored, once for a set of them."""
    if names:
        _log_ignored(tuple(sorted(names)))


@lru_cache(maxsize=256)
def _log_ignored(names: tuple[str, ...]) -> None:
    _LOG.warning("ignored unsupported fields of a request: %s", one_line(", ".join(names), 300))
