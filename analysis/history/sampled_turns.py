"""A turn as the format writes it, less what the prompt wrote: in pieces that can be varied.

It is what the model is taken to have written where the template itself does not write the turn
after the prompt or rewrites what it says, or where a variation changes a piece of that text.

Contract: nothing is rendered here. The text comes from the format alone, in pieces whose kinds
are known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from msgspec import structs

from autoparser.analysis.core.call_format import CallFormat, CallLimit
from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.core.text_alignment import MarkerBlock, TemplateLiteral, prefix_length
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.turn_format import RefusedMessageError, TurnFormat
from autoparser.analysis.core.turn_shape import PromptProgress, TurnOpening


class SampledKind(StrEnum):
    """What a piece of a turn is."""

    MARKUP = "markup"
    REASONING = "reasoning"
    CONTENT = "content"
    CALLS = "calls"
    END = "end of turn"


@dataclass(frozen=True, slots=True)
class SampledPiece:
    """A stretch of a turn's text."""

    kind: SampledKind
    text: str


Pieces = tuple[SampledPiece, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """What the model wrote after the prompt."""

    pieces: Pieces
    cut: bool = False
    """It was cut, as by a token limit: no end of turn was written."""
    single_newlines: bool = False
    """Each newline was sampled as a token of its own."""
    plain: str | None = None
    """What is written in its place without variations, or None if a person gave the text."""
    unconfirmed: str = ""
    """Why the format wrote `plain` and not the template itself, or empty if the template did."""

    @property
    def text(self) -> str:
        """All of it."""
        return text_of(self.pieces)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A rendered prompt."""

    text: str
    base: str
    """What the same conversation is without its generation prompt, as far as both are alike."""

    @property
    def opening(self) -> str:
        """What the generation prompt has written of the turn."""
        return self.text[len(self.base) :]


class NotWrittenError(Exception):
    """The format at hand has no such text; the reason is for a person."""


def text_of(pieces: Iterable[SampledPiece]) -> str:
    """Put the pieces' texts together."""
    return "".join(piece.text for piece in pieces)


def sample_turn(
    format_: TurnFormat, message: Message, prompt: Prompt, opening: TurnOpening | None
) -> Sample:
    """Say what a model writes after a prompt to say this, up to the string that stops it.

    `opening` says how much of the turn the prompt has written, where the format knows it.
    Raises NotWrittenError if the format does not write such a message, or where the prompt
    has closed the reasoning that the message has.
    """
    if (
        message.reasoning
        and opening is not None
        and opening.written is PromptProgress.REASONING_CLOSED
    ):
        raise NotWrittenError("the prompt closes the reasoning")
    opened = opening is not None and opening.written is PromptProgress.REASONING_OPEN
    if message.reasoning and TurnPart.REASONING in format_.elsewhere and not opened:
        raise NotWrittenError("no turn has reasoning under these switches")
    pieces = _write_turn(format_, format_.with_naming_ids(message), opened=opened)
    return Sample(_drop_prompted(format_, pieces, prompt, opening))


def _write_turn(format_: TurnFormat, message: Message, *, opened: bool) -> Pieces:
    """Write a turn in pieces; `opened` says that the prompt has opened the reasoning."""
    _check_message(format_, message)
    layout = format_.layouts[message.presence]
    missing = TurnPart.REASONING not in layout.parts and bool(message.reasoning)
    if missing:
        # A template may show reasoning beside other parts only, and yet let the model reason.
        layout = format_.layouts[structs.replace(message, reasoning="").presence]
    written = [SampledPiece(SampledKind.MARKUP, layout.literals[0])]
    for part, literal in zip(layout.parts, layout.literals[1:], strict=True):
        written += [_write_part(format_, part, message), SampledPiece(SampledKind.MARKUP, literal)]
    kinds = {piece.kind for piece in written}
    if message.content and SampledKind.CONTENT not in kinds:
        # It writes content that the template will not show there.
        written = _with_content(format_, written, message)
    if message.calls and SampledKind.CALLS not in kinds:
        raise NotWrittenError("the format has no place for calls beside these parts")
    pieces = (*written[:-1], *_cut_after_stop(format_, written[-1].text))
    return (
        _insert_reasoning(format_, pieces, message.reasoning, opened=opened) if missing else pieces
    )


def _with_content(
    format_: TurnFormat, pieces: list[SampledPiece], message: Message
) -> list[SampledPiece]:
    """Put content where it stands in a turn without calls, if that place is in this turn, too.

    In a format whose calls have a header of their own it is not: nothing then shows what a model
    writes around content beside calls.
    """
    usual = format_.layouts[structs.replace(message, calls=()).presence]
    place = usual.parts.index(TurnPart.CONTENT) if TurnPart.CONTENT in usual.parts else -1
    front = usual.literals[place].rstrip() if place >= 0 else None
    kinds = [piece.kind for piece in pieces[:-1]]
    at = kinds.index(SampledKind.REASONING) if SampledKind.REASONING in kinds else -1
    here = pieces[at + 1].text
    if front is None or not here.startswith(front):
        raise NotWrittenError("nothing shows where content stands beside these parts")
    opened = prefix_length(usual.literals[place], here)
    return [
        *pieces[: at + 1],
        SampledPiece(SampledKind.MARKUP, usual.literals[place]),
        SampledPiece(SampledKind.CONTENT, message.content),
        SampledPiece(SampledKind.MARKUP, here[opened:]),
        *pieces[at + 2 :],
    ]


def _check_message(format_: TurnFormat, message: Message) -> None:
    if format_.layouts[message.presence].refusal:
        raise NotWrittenError(
            f"the template refuses it: {format_.layouts[message.presence].refusal}"
        )
    calls = format_.calls
    if message.calls and calls is None:
        raise NotWrittenError("the template writes no calls")
    if message.reasoning and format_.reasoning is None:
        raise NotWrittenError("the template knows no reasoning")
    if calls is not None and len(message.calls) > 1 and calls.limit is CallLimit.REFUSED:
        raise NotWrittenError(CallLimit.REFUSED.value)


def _write_part(format_: TurnFormat, part: TurnPart, message: Message) -> SampledPiece:
    match part:
        case TurnPart.REASONING:
            return SampledPiece(SampledKind.REASONING, message.reasoning)
        case TurnPart.CONTENT:
            return SampledPiece(SampledKind.CONTENT, message.content)
        case TurnPart.CALLS:
            if format_.calls is None:
                return SampledPiece(SampledKind.CALLS, "")
            refused = format_.calls.refused_type(message.calls)
            if refused is not None:
                raise NotWrittenError(f"the template raises on an argument of type {refused}")
            try:
                return SampledPiece(SampledKind.CALLS, _write_calls(format_.calls, message.calls))
            except RefusedMessageError as error:
                raise NotWrittenError(str(error)) from error


def _write_calls(format_: CallFormat, calls: tuple[ToolCall, ...]) -> str:
    """Write calls, each of which has to be in the text."""
    text = format_.write(calls)
    for at in range(len(calls) if len(calls) > 1 else 0):
        if format_.write((*calls[:at], *calls[at + 1 :])) == text:
            raise NotWrittenError("the template does not write every call of a turn")
    return text


def _cut_after_stop(format_: TurnFormat, tail: str) -> Pieces:
    """Cut what closes a turn after the string at which the model stops."""
    found = [(tail.find(stop), stop) for stop in format_.stop_strings if stop in tail]
    if not found:
        return (SampledPiece(SampledKind.MARKUP, tail.rstrip()),)
    at, stop = min(found)
    return (SampledPiece(SampledKind.MARKUP, tail[:at]), SampledPiece(SampledKind.END, stop))


def _insert_reasoning(
    format_: TurnFormat, pieces: Pieces, reasoning: str, *, opened: bool
) -> Pieces:
    """Put a reasoning block after the header of a turn that the template writes without one."""
    block = _reasoning_block(format_)
    if not opened and not block.open.core:
        raise NotWrittenError("nothing shows how reasoning is opened")
    head = pieces[0].text
    front, close, behind = head.rpartition(block.close.core)
    if close:
        front = front.rstrip()
        front = front.removesuffix(block.open.core) + block.open.core
        rest = f"{close}{behind}"
    else:
        split = len(format_.header) if head.startswith(format_.header) else len(head)
        front, rest = head[:split] + block.open.text, block.close.text + head[split:]
    return (
        SampledPiece(SampledKind.MARKUP, front),
        SampledPiece(SampledKind.REASONING, reasoning),
        SampledPiece(SampledKind.MARKUP, rest),
        *pieces[1:],
    )


def _reasoning_block(format_: TurnFormat) -> MarkerBlock:
    block = format_.reasoning
    if block is None:
        raise NotWrittenError("the template knows no reasoning")
    return block


def _drop_prompted(
    format_: TurnFormat, pieces: Pieces, whole_prompt: Prompt, opening: TurnOpening | None
) -> Pieces:
    """Leave out what the prompt has written, and close what it has opened."""
    text, prompt = text_of(pieces), whole_prompt.opening
    shared = _overlap_length(whole_prompt.text, text)
    if shared >= len(prompt) and _is_beginning(format_, text[:shared], prompt):
        return drop_characters(pieces, shared)
    if not prompt:
        return pieces
    written = None if opening is None else opening.written
    if written is PromptProgress.REASONING_OPEN:
        kinds = [piece.kind for piece in pieces]
        if SampledKind.REASONING in kinds:
            return pieces[kinds.index(SampledKind.REASONING) :]
        return _close_reasoning(format_, pieces, prompt)
    if written is PromptProgress.REASONING_CLOSED:
        header = len(format_.header) if text.startswith(format_.header) else 0
        rest = text[header:]
        close = _reasoning_block(format_).close.core
        at = rest.find(close)
        return drop_characters(pieces, header + (at + len(close) if close and at >= 0 else 0))
    core = prompt.rstrip()
    if core and text.startswith(core):
        space = prefix_length(prompt[len(core) :], text[len(core) :])
        return drop_characters(pieces, len(core) + space)
    units = TemplateLiteral.of(format_.header).units
    if prompt.strip() and units and whole_prompt.text.rstrip().endswith(units[-1]):
        # The prompt ends in the header, however it began it.
        return drop_characters(pieces, len(format_.header))
    return drop_characters(pieces, prefix_length(prompt, text))


def _overlap_length(prompt: str, text: str) -> int:
    """Return how much of a text's beginning a prompt already ends with."""
    for size in range(min(len(prompt), len(text)), 0, -1):
        if prompt.endswith(text[:size]):
            return size
    return 0


def _is_beginning(format_: TurnFormat, shared: str, prompt: str) -> bool:
    """Whether what a prompt ends with is the turn's beginning, and no coincidence.

    Some templates write the header whether a generation prompt is asked for or not.
    """
    header = format_.header.strip()
    return shared == prompt or (bool(header) and header in shared)


def _close_reasoning(format_: TurnFormat, pieces: Pieces, prompt: str) -> Pieces:
    """Close the reasoning that the prompt has opened before anything was thought."""
    block = _reasoning_block(format_)
    text = text_of(pieces)
    front = prompt.rpartition(block.open.core)[0] if block.open.core else prompt
    rest = drop_characters(pieces, prefix_length(front, text))
    begun = text_of(rest).lstrip().removeprefix(block.open.core).lstrip()
    if begun.startswith(block.close.core):
        return drop_characters(rest, len(text_of(rest)) - len(begun))
    return (SampledPiece(SampledKind.MARKUP, block.close.text), *rest)


def drop_characters(pieces: Pieces, count: int) -> Pieces:
    """Leave out the first `count` characters."""
    kept: list[SampledPiece] = []
    for piece in pieces:
        rest = piece.text[count:]
        count = max(0, count - len(piece.text))
        if rest:
            kept.append(replace(piece, text=rest))
    return tuple(kept)
