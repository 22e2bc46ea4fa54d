"""An engine's traffic as JSON lines, `{"prompt": …, "completion": …}`, in the order of time.

Prompt and completion are text or token ids; ids may stand in `prompt_token_ids` and `token_ids`,
too, as vLLM's `return_token_ids` has them. `conversation` names what a request belongs to.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.given import read
from autoparser.analysis.loading.tokens import ModelTokenizer, tokenizer_of

from .traffic import TrafficRecord

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["TrafficLogError", "traffic_of"]

_WANTED = "write one object a line, with prompt and completion"


class TrafficLogError(AutoparserError):
    """A log is not what it should be."""


_Given = Annotated[str | tuple[int, ...], Meta(description="text, or token ids")]


class _LoggedRequest(Struct, frozen=True):
    """A line of a log; engines write more than is read."""

    prompt: _Given = ""
    completion: _Given = ""
    prompt_token_ids: tuple[int, ...] | None = None
    token_ids: tuple[int, ...] | None = None
    conversation: str | None = None


def traffic_of(
    text: str, file: str, *, tokenizer: Tokenizer | None = None
) -> tuple[TrafficRecord, ...]:
    """Read a log. Raises TrafficLogError; token ids without a text need a tokenizer."""
    model = None if tokenizer is None else tokenizer_of(tokenizer)
    records = tuple(
        _record(line, file, f"line {number}", model)
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    )
    if not records:
        raise TrafficLogError("this is empty", file=file, hint=_WANTED)
    return records


def _record(line: str, file: str, place: str, model: ModelTokenizer | None) -> TrafficRecord:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise TrafficLogError("this is not JSON", file=file, place=place, hint=_WANTED) from error
    given = read(value, _LoggedRequest, file=file, place=place, wrong=TrafficLogError)
    try:
        prompt, prompt_ids = _both(given.prompt, given.prompt_token_ids, model)
        written, ids = _both(given.completion, given.token_ids, model)
    except LookupError as error:
        words, hint = "token ids need the model's tokenizer", "add --tokenizer PATH"
        raise TrafficLogError(words, file=file, place=place, hint=hint) from error
    if not prompt:
        hint = "add prompt, or prompt_token_ids"
        raise TrafficLogError("there is no prompt", file=file, place=place, hint=hint)
    return TrafficRecord(prompt, written, prompt_ids, ids, given.conversation)


def _both(
    given: str | tuple[int, ...], ids: tuple[int, ...] | None, model: ModelTokenizer | None
) -> tuple[str, tuple[int, ...] | None]:
    """Return a text and its ids, where those are known. Raises LookupError without a tokenizer."""
    text = "" if isinstance(given, tuple) else given
    ids = given if isinstance(given, tuple) else ids
    if text or ids is None:
        return text, ids
    if model is None:
        raise LookupError
    return model.decode(ids), ids
