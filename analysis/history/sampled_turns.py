"""A turn in the learned format, without the part that the prompt wrote, in pieces to be varied.

It is the assumed model output if the template does not write the turn after the prompt, or alters
its texts, or if a variation changes a piece.

Contract: nothing is rendered here. The text comes from the format alone, in pieces of known kinds.

With the reasoning "Hm." and the content "Yes.", after the prompt `<u>Hi</s><a>`, the pieces are

    markup <t>   reasoning Hm.   markup </t>   content Yes.   end of turn </s>

The format writes `<a><t>` as the first piece; the prompt has written `<a>` of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct, structs
from msgspec.structs import replace

from autoparser.analysis.core.call_format import CallFormat, CallLimit
from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.core.text_alignment import MarkerBlock, TemplateLiteral, prefix_length
from autoparser.analysis.core.turn_format import RefusedMessageError, TurnFormat
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.turn_shape import PromptProgress, TurnOpening


class SampledKind(StrEnum):
    """The kinds of pieces of a turn."""

    MARKUP = "markup"
    REASONING = "reasoning"
    CONTENT = "content"
    CALLS = "calls"
    END = "end of turn"


class SampledPiece(Struct, frozen=True):
    """A piece of a turn's text."""

    kind: SampledKind
    """The part of the turn to which it belongs, such as `SampledKind.MARKUP`."""
    text: str
    """Its text, e.g. `"</t>"`."""


Pieces = tuple[SampledPiece, ...]


class Sample(Struct, frozen=True):
    """The model's output after the prompt."""

    pieces: Pieces
    """The pieces, in the order of the text, such as
    `(SampledPiece(SampledKind.REASONING, "A lookup"),)`."""
    cut: bool = False
    """Whether it was truncated, e.g. by a token limit, before the end of the turn."""
    single_newlines: bool = False
    r"""Whether each newline was sampled as a token of its own, so that `"\n\n"` is two tokens."""
    plain: str | None = None
    """The text without variations, such as `"It is sunny in Oslo.<|im_end|>"`, or None if a
    scenario gives the text."""
    unconfirmed: str = ""
    """The reason why the format wrote `plain`; empty if the template itself wrote it."""

    @property
    def text(self) -> str:
        """The whole output."""
        return join_pieces(self.pieces)


class Prompt(Struct, frozen=True):
    """A rendered prompt."""

    text: str
    """The whole prompt, e.g. `"<u>Hi</s><a>"`."""
    base: str
    r"""The common prefix with the render without a generation prompt, such as
    `"<|im_start|>user\nWhat is the weather in Oslo?<|im_end|>\n"`."""

    @property
    def opening(self) -> str:
        """The beginning of the turn, which the generation prompt writes."""
        return self.text[len(self.base) :]


class NotWrittenError(Exception):
    """The format cannot write such a turn; the message is for a person."""


def join_pieces(pieces: Iterable[SampledPiece]) -> str:
    """Join the texts of pieces."""
    return "".join(piece.text for piece in pieces)


def sample_turn(
    format_: TurnFormat, message: Message, prompt: Prompt, opening: TurnOpening | None
) -> Sample:
    """Return the output by which a model sends a message after a prompt, up to its stop string.

    `opening` is the part of the turn that the prompt has written, if the format knows it.
    Raises NotWrittenError if the format does not write such a message, or if the prompt has closed
    the reasoning that the message has.
    """
    if (
        message.reasoning
        and opening is not None
        and opening.written is PromptProgress.REASONING_CLOSED
    ):
        raise NotWrittenError("the prompt closes the reasoning")
    opened = opening is not None and opening.written is PromptProgress.REASONING_OPEN
    if message.reasoning and TurnPart.REASONING in format_.elsewhere and not opened:
        raise NotWrittenError("turns have no reasoning with these switches")
    pieces = _write_turn(format_, format_.with_naming_ids(message), opened=opened)
    return Sample(_drop_prompted(format_, pieces, prompt, opening))


def _write_turn(format_: TurnFormat, message: Message, *, opened: bool) -> Pieces:
    """Write a turn in pieces; with `opened`, the prompt has opened the reasoning."""
    _check_message(format_, message)
    layout = format_.layouts[message.presence]
    missing = TurnPart.REASONING not in layout.parts and bool(message.reasoning)
    if missing:
        # A template may show reasoning only beside other parts, and yet let the model reason.
        layout = format_.layouts[structs.replace(message, reasoning="").presence]
    written = [SampledPiece(SampledKind.MARKUP, layout.literals[0])]
    for part, literal in zip(layout.parts, layout.literals[1:], strict=True):
        written += [_write_part(format_, part, message), SampledPiece(SampledKind.MARKUP, literal)]
    kinds = {piece.kind for piece in written}
    if message.content and SampledKind.CONTENT not in kinds:
        # The template omits this content; the model still writes it.
        written = _with_content(format_, written, message)
    if message.calls and SampledKind.CALLS not in kinds:
        raise NotWrittenError("the format has no calls next to these parts")
    pieces = (*written[:-1], *_cut_after_stop(format_, written[-1].text))
    return (
        _insert_reasoning(format_, pieces, message.reasoning, opened=opened) if missing else pieces
    )


def _with_content(
    format_: TurnFormat, pieces: list[SampledPiece], message: Message
) -> list[SampledPiece]:
    """Insert content at its place in a turn without calls, if this turn has that place.

    A format whose calls have their own header does not have it: no render then shows the markup
    around content next to calls.
    """
    usual = format_.layouts[structs.replace(message, calls=()).presence]
    place = usual.parts.index(TurnPart.CONTENT) if TurnPart.CONTENT in usual.parts else -1
    front = usual.literals[place].rstrip() if place >= 0 else None
    kinds = [piece.kind for piece in pieces[:-1]]
    at = kinds.index(SampledKind.REASONING) if SampledKind.REASONING in kinds else -1
    here = pieces[at + 1].text
    if front is None or not here.startswith(front):
        raise NotWrittenError("no render shows content next to these parts")
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
        raise NotWrittenError("the template renders no calls")
    if message.reasoning and format_.reasoning is None:
        raise NotWrittenError("the template renders no reasoning")
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
    """Write calls. Raises NotWrittenError if one is missing in the text."""
    text = format_.write(calls)
    # Some templates silently render only the first or the last call of a turn.
    for at in range(len(calls) if len(calls) > 1 else 0):
        if format_.write((*calls[:at], *calls[at + 1 :])) == text:
            raise NotWrittenError("the template does not render every call of a turn")
    return text


def _cut_after_stop(format_: TurnFormat, tail: str) -> Pieces:
    """Cut a turn's closing text after the string at which the model stops."""
    found = [(tail.find(stop), stop) for stop in format_.stop_strings if stop in tail]
    if not found:
        return (SampledPiece(SampledKind.MARKUP, tail.rstrip()),)
    # The model stops at the first of several stop strings.
    at, stop = min(found)
    return (SampledPiece(SampledKind.MARKUP, tail[:at]), SampledPiece(SampledKind.END, stop))


def _insert_reasoning(
    format_: TurnFormat, pieces: Pieces, reasoning: str, *, opened: bool
) -> Pieces:
    """Insert a reasoning block after the header of a turn that has none."""
    block = _reasoning_block(format_)
    if not opened and not block.open.core:
        raise NotWrittenError("no render shows the opening of reasoning")
    head = pieces[0].text
    front, close, behind = head.rpartition(block.close.core)
    # The turn has an empty block, e.g. `<t></t>`, so that the reasoning goes into it.
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
        raise NotWrittenError("the template renders no reasoning")
    return block


def _drop_prompted(
    format_: TurnFormat, pieces: Pieces, whole_prompt: Prompt, opening: TurnOpening | None
) -> Pieces:
    """Remove the part that the prompt has written, and close reasoning that it has opened."""
    text, prompt = join_pieces(pieces), whole_prompt.opening
    shared = _overlap_length(whole_prompt.text, text)
    if shared >= len(prompt) and _is_beginning(format_, text[:shared], prompt):
        return drop_characters(pieces, shared)
    if not prompt:
        return pieces
    written = None if opening is None else opening.written
    # The prompt opens reasoning with other text than turns in the history, so the turn is cut at
    # its part, not by characters.
    if written is PromptProgress.REASONING_OPEN:
        kinds = [piece.kind for piece in pieces]
        if SampledKind.REASONING in kinds:
            return pieces[kinds.index(SampledKind.REASONING) :]
        return _close_reasoning(format_, pieces, prompt)
    if written is PromptProgress.REASONING_CLOSED:
        header = len(format_.header) if text.startswith(format_.header) else 0
        rest = text[header:]
        # The prompt ends after its closed block; the turn in the history may write that block
        # differently.
        close = _reasoning_block(format_).close.core
        at = rest.find(close)
        return drop_characters(pieces, header + (at + len(close) if close and at >= 0 else 0))
    # The prompt and the turn in the history may differ in the whitespace after the header.
    core = prompt.rstrip()
    if core and text.startswith(core):
        space = prefix_length(prompt[len(core) :], text[len(core) :])
        return drop_characters(pieces, len(core) + space)
    units = TemplateLiteral.of(format_.header).units
    if prompt.strip() and units and whole_prompt.text.rstrip().endswith(units[-1]):
        # The prompt ends with the header, whatever comes before it.
        return drop_characters(pieces, len(format_.header))
    return drop_characters(pieces, prefix_length(prompt, text))


def _overlap_length(prompt: str, text: str) -> int:
    """Return the length of the longest prefix of a text that is a suffix of the prompt."""
    # The longest first: a prompt's end may also overlap by chance, e.g. in one newline.
    for size in range(min(len(prompt), len(text)), 0, -1):
        if prompt.endswith(text[:size]):
            return size
    return 0


def _is_beginning(format_: TurnFormat, shared: str, prompt: str) -> bool:
    """Whether the end of a prompt is the turn's beginning rather than a coincidence.

    Some templates write the header even without a generation prompt.
    """
    header = format_.header.strip()
    return shared == prompt or (bool(header) and header in shared)


def _close_reasoning(format_: TurnFormat, pieces: Pieces, prompt: str) -> Pieces:
    """Close the empty reasoning that the prompt has opened."""
    block = _reasoning_block(format_)
    text = join_pieces(pieces)
    front = prompt.rpartition(block.open.core)[0] if block.open.core else prompt
    rest = drop_characters(pieces, prefix_length(front, text))
    begun = join_pieces(rest).lstrip().removeprefix(block.open.core).lstrip()
    if begun.startswith(block.close.core):
        return drop_characters(rest, len(join_pieces(rest)) - len(begun))
    return (SampledPiece(SampledKind.MARKUP, block.close.text), *rest)


def drop_characters(pieces: Pieces, count: int) -> Pieces:
    """Remove the first `count` characters."""
    kept: list[SampledPiece] = []
    for piece in pieces:
        rest = piece.text[count:]
        count = max(0, count - len(piece.text))
        if rest:
            kept.append(replace(piece, text=rest))
    return tuple(kept)
