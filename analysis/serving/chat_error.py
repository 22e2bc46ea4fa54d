"""What a client of the chat endpoint is told when its request comes to nothing."""

from __future__ import annotations

from enum import Enum

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.errors import (
    AutoparserError,
    TemplateLimitError,
    TemplateRenderError,
    TokenizerError,
    WorkerDiedError,
)


class ChatErrorKind(Enum):
    """Whose fault it is: OpenAI's word for it and the status of HTTP."""

    INVALID = ("invalid_request_error", 400)
    SLOW_BODY = ("invalid_request_error", 408)
    TOO_LARGE = ("invalid_request_error", 413)
    INTERNAL = ("server_error", 500)
    BACKEND = ("backend_error", 502)
    BUSY = ("overloaded_error", 503)
    LATE = ("timeout_error", 504)

    @property
    def status(self) -> int:
        """The status of an answer that is only this error."""
        return self.value[1]


class ChatError(AutoparserError):
    """A chat request is not answered, or not to its end."""

    def __init__(
        self,
        message: str,
        kind: ChatErrorKind = ChatErrorKind.INVALID,
        *,
        file: str | None = None,
        place: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, file=file, place=place, hint=hint)
        self.kind = kind
        """Whose fault it is."""

    def to_openai(self) -> dict[str, Json]:
        """Return the error as an OpenAI endpoint tells it."""
        words = self.message if self.hint is None else f"{self.message}; {self.hint}"
        told: Json = {
            "message": words,
            "type": self.kind.value[0],
            "param": self.place,
            "code": None,
        }
        return {"error": told}


def as_chat_error(error: AutoparserError) -> ChatError:
    """Return any error that a request ran into as one for its client."""
    if isinstance(error, ChatError):
        return error
    own = isinstance(error, WorkerDiedError | TokenizerError)
    kind = ChatErrorKind.INTERNAL if own else ChatErrorKind.INVALID
    # The place of these is one in the template, which is nothing that the client has sent.
    of_template = isinstance(error, TemplateRenderError | TemplateLimitError)
    words = f"the chat template {error.message}" if of_template else error.message
    return ChatError(words, kind, place=None if of_template else error.place, hint=error.hint)
