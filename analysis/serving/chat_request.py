"""A chat request in OpenAI's words, read as a value.

Contract: what is not known is refused by name, since a parameter that is dropped in silence changes
answers; what only the clients' bookkeeping reads is taken and left alone. Messages, tools and
schemas are checked by whoever reads them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.given import read

from .chat_error import ChatError

_Objects = Annotated[tuple[dict[str, Any], ...], Meta(description="a list of objects")]
_Ids = Annotated[tuple[int, ...], Meta(description="a list of token ids")]


class StreamOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """What a stream tells beside its deltas."""

    include_usage: bool = False


class NamedSchema(Struct, frozen=True):
    """The schema of an answer in JSON."""

    schema: dict[str, Any]
    name: str = ""


class ResponseFormat(Struct, frozen=True, forbid_unknown_fields=True):
    """What the content of an answer has to be."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: NamedSchema | None = None


class EarlierTurn(Struct, frozen=True, forbid_unknown_fields=True):
    """The ids of the turn that the last assistant message is, as an answer gave them."""

    prompt_token_ids: _Ids
    token_ids: _Ids


class ChatRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A request for one assistant message."""

    messages: Annotated[_Objects, Meta(min_length=1)]
    model: str = ""
    tools: _Objects | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool = True
    response_format: ResponseFormat | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: Literal[1] = 1

    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Meta(ge=1)] | None = None
    stop: str | tuple[str, ...] | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logit_bias: dict[str, float] | None = None

    return_token_ids: bool = False
    """Whether the answer has the ids of its prompt and of what was written."""
    continues: EarlierTurn | None = None
    """What the last assistant message was, in ids: the new prompt then begins with them."""

    user: Any = None
    metadata: Any = None
    store: Any = None
    service_tier: Any = None
    safety_identifier: Any = None
    prompt_cache_key: Any = None

    @property
    def limit(self) -> int | None:
        """How many tokens the answer may have; None where nothing is said."""
        return self.max_completion_tokens or self.max_tokens

    @property
    def stops(self) -> tuple[str, ...]:
        """The texts that end the answer, beside those of the format."""
        return (self.stop,) if isinstance(self.stop, str) else self.stop or ()

    @property
    def schema(self) -> dict[str, Any] | None:
        """The schema of the content. Raises ChatError where one is announced and missing."""
        wanted = self.response_format
        if wanted is None or wanted.type == "text":
            return None
        if wanted.type == "json_object":
            return {"type": "object"}
        if wanted.json_schema is None:
            raise ChatError(
                "the schema is missing", place="response_format", hint="give json_schema.schema"
            )
        return wanted.json_schema.schema

    def sampling(self) -> dict[str, Json]:
        """Return how tokens are chosen, by the names that backends share."""
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


def chat_request(body: bytes) -> ChatRequest:
    """Read a request. Raises ChatError, which names the place in it."""
    try:
        value: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ChatError(f"the body is not JSON: {error}") from error
    try:
        return read(value, ChatRequest, file="the request")
    except AutoparserError as error:
        raise ChatError(error.message, place=error.place, hint=error.hint) from error
