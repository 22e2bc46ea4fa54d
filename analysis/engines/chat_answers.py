"""Write answers in the form of an API, whole or as events; the first one is OpenAI's chat.

    pieces of a backend -> AnswerProgress (one a choice) -> AnswerForm.whole, or
                           AnswerForm.opening, events, closing

A stream and a whole answer are written of the same parser's deltas and message, so they say the
same, also of an answer that was cut.

For example, the pieces of a call, whose name is sent once its arguments begin:

    take(CompletionPiece('<call>{"name": "f", '))                    ->  []
    take(CompletionPiece('"arguments": {}}</call>', end=CompletionEnd("stop", 3, 9)))
    ->  CALL "f", ARGUMENTS "{}", FINISH "tool_calls"
"""

from __future__ import annotations

import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.parsing.parsed_message import Delta, DeltaKind, ParsedMessage
from autoparser.analysis.parsing.stream_parser import StreamParser

from .chat_request import ChatError, ChatRequest
from .completion_backend import CompletionEnd, CompletionPiece

if TYPE_CHECKING:
    from .chat_preparer import PreparedChat


class AnswerProgress:
    """The output of a backend so far, and its parser."""

    def __init__(
        self, chat: PreparedChat, encode: Callable[[str], tuple[int, ...] | None], index: int = 0
    ) -> None:
        """Start the parser of the chat; `encode` returns the model's token ids of a text."""
        self.chat = chat
        self.index = index
        """The number of the choice."""
        self.end = CompletionEnd("stop")
        self.reason = "stop"
        """OpenAI's finish reason."""
        self.count = 0
        """Tokens so far, as the backend counts them."""
        self.logprobs: list[Json] = []
        """Log probabilities of the tokens that are still to be sent."""
        self._stream: StreamParser = chat.parser.stream()
        self._encode = encode
        self._texts: list[str] = []
        self._ids: list[int] = []

    def take(self, piece: CompletionPiece) -> list[Delta]:
        """Parse a piece, and return the deltas that it adds."""
        self._texts.append(piece.text)
        self._ids.extend(piece.ids)
        most = self.chat.request.top_logprobs
        for logprob in piece.logprobs:
            # Backends also send the most likely token if none was requested.
            self.logprobs.append({**logprob, "top_logprobs": logprob["top_logprobs"][:most]})
        # Without ids a piece counts as one token; the end of the answer has the right count.
        self.count += len(piece.ids) or (piece.text != "")
        deltas = self._stream.feed(piece.text)
        if piece.end is None:
            return deltas
        self.end = piece.end
        self.count = piece.end.completion_tokens
        return [*deltas, *self._finish()]

    def _finish(self) -> list[Delta]:
        """Finish the parser; a stop string of the client truncates the text, as a limit does."""
        # A client's stop string may end the text inside a call, as a token limit does.
        cut = self.end.reason == "length" or self._own_stop
        *deltas, finish = self._stream.finish(complete=not cut)
        reason = finish.text
        if self._own_stop:
            # Inside a call, the reason stays "length", so that no client executes the call.
            message = self._stream.message
            if message.partial_call is None:
                reason = "tool_calls" if message.tool_calls else "stop"
        self.reason = reason
        return [*deltas, Delta(DeltaKind.FINISH, reason)]

    @property
    def _own_stop(self) -> bool:
        """Whether a stop string of the client, which does not end a turn, ended the text."""
        stop = self.end.stop_text
        # A client may also list the turn's own end, which truncates nothing.
        return stop in self.chat.request.stops and stop not in self.chat.grammar.stop_strings

    @property
    def own_stop(self) -> str | None:
        """The client's stop that ended the answer, or None if none did."""
        return self.end.stop_text if self._own_stop else None

    @property
    def message(self) -> ParsedMessage:
        """The message so far."""
        return self._stream.message

    @property
    def text(self) -> str:
        """The whole output so far."""
        return "".join(self._texts)

    @property
    def ids(self) -> tuple[int, ...] | None:
        """The token ids of the text, or None if they are not certain.

        A stream of llama-server omits the ids of characters that took several tokens. The ids of
        the encoded text are the fallback if there are as many as were written.
        """
        for found in (tuple(self._ids), self._encode(self.text)):
            # An encoding with as many tokens as were written is taken for the sampled one.
            if found and len(found) == self.end.completion_tokens:
                return found
        return None

    def beside(self) -> dict[str, Json]:
        """Return the fields that a request for ids gets beside the message."""
        chat, fields = self.chat, dict[str, Json]()
        if chat.request.return_token_ids:
            fields["prompt_token_ids"] = None if chat.prompt_ids is None else list(chat.prompt_ids)
            ids = self.ids
            fields["token_ids"] = None if ids is None else list(ids)
        if chat.bridged is not None:
            fields["bridge"] = chat.bridged or "the prompt begins with the earlier turn's ids"
        return fields

    def take_logprobs(self) -> list[Json]:
        """Return the log probabilities that are still to be sent, and forget them."""
        found, self.logprobs = self.logprobs, []
        return found


class AnswerForm(ABC):
    """How an API writes the answer to one request."""

    def __init__(self, request: ChatRequest, body: Mapping[str, Any], model: str) -> None:
        """Store the request; `body` is its JSON as the client sent it."""
        self.request = request
        self.body = body
        self.model = request.model or model
        self.created = int(time.time())

    @abstractmethod
    def whole(self, answers: Sequence[AnswerProgress]) -> dict[str, Json]:
        """Return a whole answer, for a request without `stream`."""

    @abstractmethod
    def opening(self) -> bytes:
        """Return the first events of a stream."""

    @abstractmethod
    def events(self, answer: AnswerProgress, deltas: Sequence[Delta], /) -> bytes:
        """Return the events of deltas, or nothing without deltas."""

    @abstractmethod
    def closing(self, answers: Sequence[AnswerProgress]) -> bytes:
        """Return the last events of a complete stream."""

    @abstractmethod
    def error(self, error: ChatError) -> bytes:
        """Return the event of an error after a stream has begun; nothing follows it."""

    @staticmethod
    def error_body(error: ChatError) -> dict[str, Json]:
        """Return the body of an error response."""
        return error.to_openai()


def new_id(prefix: str) -> str:
    """Return a unique id, e.g. `"chatcmpl-5f2b…"`."""
    return f"{prefix}{uuid.uuid4().hex}"


def event(value: Json, name: str = "") -> bytes:
    """Return a server-sent event, with its name if the API names events."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + msgspec.json.encode(value) + b"\n\n"


class ChatForm(AnswerForm):
    """The form of OpenAI's chat completions."""

    def __init__(self, request: ChatRequest, body: Mapping[str, Any], model: str) -> None:
        """Store the request; `body` is its JSON as the client sent it."""
        super().__init__(request, body, model)
        self._id = new_id("chatcmpl-")

    def whole(self, answers: Sequence[AnswerProgress]) -> dict[str, Json]:
        """Return a whole answer, with token ids in its choices if they were requested."""
        choices: list[Json] = []
        for answer in answers:
            choice = answer.message.to_openai_choice(answer.index)
            if self.request.logprobs:
                choice["logprobs"] = {"content": answer.take_logprobs(), "refusal": None}
            choices.append({**choice, "finish_reason": answer.reason, **answer.beside()})
        envelope = self._shared_fields("chat.completion")
        return {**envelope, "choices": choices, "usage": token_usage(answers)}

    def opening(self) -> bytes:
        """Return the first event of each choice."""
        first: Json = {"role": "assistant", "content": ""}
        return b"".join(
            self._chunk({"index": index, "delta": first, "finish_reason": None})
            for index in range(self.request.n)
        )

    def events(self, answer: AnswerProgress, deltas: Sequence[Delta], /) -> bytes:
        """Return a chunk a delta; the first one has the log probabilities so far."""
        # Text that the parser holds back has no delta yet: its log probabilities wait for one.
        logprobs = answer.take_logprobs() if deltas and self.request.logprobs else None
        chunks = bytearray()
        for delta in deltas:
            chunks += self._chunk(delta.to_openai_choice(answer.index), logprobs, answer)
            logprobs = None
        return bytes(chunks)

    def closing(self, answers: Sequence[AnswerProgress]) -> bytes:
        """Return the usage event, if it was requested, and the end of the stream."""
        beside = answers[0].beside()
        last = b""
        # Ids and the bridge are not part of any delta: send them with the usage, in the last event.
        if beside or self.request.stream_options.include_usage:
            fields = self._shared_fields("chat.completion.chunk")
            last = event({**fields, "choices": [], "usage": token_usage(answers), **beside})
        return last + b"data: [DONE]\n\n"

    def error(self, error: ChatError) -> bytes:
        """Return the event of an error."""
        return event(error.to_openai())

    def _chunk(
        self,
        choice: dict[str, Json],
        logprobs: list[Json] | None = None,
        answer: AnswerProgress | None = None,
    ) -> bytes:
        if logprobs:
            choice["logprobs"] = {"content": logprobs, "refusal": None}
        fields = self._shared_fields("chat.completion.chunk")
        fields["choices"] = [choice]
        options = self.request.stream_options
        if options.continuous_usage_stats:
            fields["usage"] = token_usage([] if answer is None else [answer])
        elif options.include_usage:
            # OpenAI sends a null in all chunks but the last.
            fields["usage"] = None
        return event(fields)

    def _shared_fields(self, kind: str) -> dict[str, Json]:
        return {"id": self._id, "object": kind, "created": self.created, "model": self.model}


def token_usage(answers: Sequence[AnswerProgress]) -> dict[str, Json]:
    """Return the `usage` of the answers to one prompt, as OpenAI counts tokens."""
    end = answers[0].end if answers else CompletionEnd("stop")
    ids = (answers[0].chat.prompt_ids if answers else None) or ()
    # All choices have the same prompt, so it is counted once.
    prompt, written = end.prompt_tokens or len(ids), sum(answer.count for answer in answers)
    cached: Json = {"cached_tokens": end.cached_tokens}
    return {
        "prompt_tokens": prompt,
        "completion_tokens": written,
        "total_tokens": prompt + written,
        "prompt_tokens_details": cached,
    }
