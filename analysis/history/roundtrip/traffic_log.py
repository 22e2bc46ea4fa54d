"""An engine's traffic as JSON lines, `{"prompt": …, "completion": …}`, in the order of time.

Prompt and completion are text or token ids. `conversation` names what a request belongs to. Lines
as engines write them are read, too: what vLLM answers with `return_token_ids` (`prompt_token_ids`,
`token_ids`, `choices`), and SGLang's `--log-requests` in JSON, whose `obj` and `out` are what it
was given and what it wrote. A log may have been cut, or hold other events: a line that cannot be
read is left out, with the reason.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.given import read
from autoparser.analysis.loading.tokens import TokenText, tokenizer_of

from .traffic import TrafficRecord

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["TrafficLog", "TrafficLogError", "traffic_of"]

_WANTED = "write one object a line, with prompt and completion"


class TrafficLogError(AutoparserError):
    """A log, or a line of it, is not what it should be."""


@dataclass(frozen=True, slots=True)
class TrafficLog:
    """What could be read of a log."""

    records: tuple[TrafficRecord, ...]
    left_out: tuple[TrafficLogError, ...]
    """Why each of the other lines could not be read."""


_Ids = tuple[int, ...]
_Given = Annotated[str | _Ids, Meta(description="text, or token ids")]


class _SglangGiven(Struct, frozen=True):
    text: str | None = None
    input_ids: _Ids | None = None


class _SglangWritten(Struct, frozen=True):
    text: str | None = None
    output_ids: _Ids | None = None


class _LoggedAnswer(Struct, frozen=True):
    """One of several answers to a prompt."""

    text: str = ""
    token_ids: _Ids | None = None
    prompt_token_ids: _Ids | None = None


class _LoggedRequest(Struct, frozen=True):
    """A line of a log; engines write more than is read."""

    prompt: _Given = ""
    completion: _Given = ""
    prompt_token_ids: _Ids | None = None
    token_ids: _Ids | None = None
    conversation: str | None = None
    choices: tuple[_LoggedAnswer, ...] = ()
    obj: _SglangGiven | None = None
    out: _SglangWritten | None = None

    def answers(self) -> tuple[tuple[_Given, _Ids | None, _Given, _Ids | None], ...]:
        """Return the prompt and its ids, then the completion and its ids, of each answer."""
        if self.obj is not None:
            out = self.out or _SglangWritten()
            given = self.obj.text or "", self.obj.input_ids
            return ((*given, out.text or "", out.output_ids),) if self.out is not None else ()
        if self.choices:
            return tuple(
                (
                    self.prompt,
                    each.prompt_token_ids or self.prompt_token_ids,
                    each.text,
                    each.token_ids,
                )
                for each in self.choices
            )
        return ((self.prompt, self.prompt_token_ids, self.completion, self.token_ids),)


def traffic_of(text: str, file: str, *, tokenizer: Tokenizer | None = None) -> TrafficLog:
    """Read a log. Raises TrafficLogError where no line can be read, TokenizerError.

    Token ids without a text need a tokenizer.
    """
    model = None if tokenizer is None else tokenizer_of(tokenizer, segmenting=True).text
    records: list[TrafficRecord] = []
    left_out: list[TrafficLogError] = []
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            records += _records(line, file, number, model) if line.strip() else ()
        except TrafficLogError as error:
            left_out.append(error)
        except LookupError as error:
            words, hint = "token ids need the model's tokenizer", "add --tokenizer PATH"
            place = f"line {number}"
            raise TrafficLogError(words, file=file, place=place, hint=hint) from error
    if not records:
        empty = TrafficLogError("this is empty", file=file, hint=_WANTED)
        raise next(iter(left_out), empty)
    return TrafficLog(tuple(records), tuple(left_out))


def _records(line: str, file: str, number: int, model: TokenText | None) -> list[TrafficRecord]:
    place = f"line {number}"
    try:
        value = json.loads(line)
    except ValueError as error:
        raise TrafficLogError("this is not JSON", file=file, place=place, hint=_WANTED) from error
    given = read(value, _LoggedRequest, file=file, place=place, wrong=TrafficLogError)
    found: list[TrafficRecord] = []
    for prompt, prompt_ids, written, ids in given.answers():
        prompt_text, prompt_tokens = _both(prompt, prompt_ids, model, place)
        completion, tokens = _both(written, ids, model, place)
        if not prompt_text:
            hint = "add prompt, or prompt_token_ids"
            raise TrafficLogError("there is no prompt", file=file, place=place, hint=hint)
        whose = given.conversation
        found.append(
            TrafficRecord(prompt_text, completion, prompt_tokens, tokens, whose, line=number)
        )
    if not found:
        raise TrafficLogError("there is no completion", file=file, place=place, hint=_WANTED)
    return found


def _both(
    given: _Given, ids: _Ids | None, model: TokenText | None, place: str
) -> tuple[str, _Ids | None]:
    """Return a text and its ids, where those are known. Raises LookupError without a tokenizer.

    The ids' own text is taken where it can be: what an engine gives back may lack special tokens.
    """
    text = "" if isinstance(given, tuple) else given
    ids = given if isinstance(given, tuple) else ids
    if ids is None or (text and model is None):
        return text, ids
    if model is None:
        raise LookupError
    model.check(ids, f"{place}, ids")
    return model.decode(ids), ids
