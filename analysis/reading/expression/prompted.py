"""Where in the turn a prompt has ended, and what of the turn's beginning it has left to write."""

from __future__ import annotations

from dataclasses import dataclass

from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.format import Literal, Opening, Part, Slot, TurnFormat, Written

from .nodes import Start
from .request import Request


@dataclass(frozen=True, slots=True)
class PromptedTurn:
    """What the prompt has done of the turn."""

    start: Start
    unwritten: str = ""
    """Whitespace after what the prompt has opened, which it has not written."""
    prefill: str = ""
    """What it has already written of the message itself."""


_STARTS = {
    Written.NOTHING: Start.TURN,
    Written.PART_OF_HEADER: Start.TURN,
    Written.HEADER: Start.HEADER,
    Written.REASONING_OPEN: Start.REASONING,
    Written.REASONING_CLOSED: Start.CONTENT,
    Written.OTHER: Start.HEADER,
}


def prompted(format_: TurnFormat, opening: Opening | None, request: Request) -> PromptedTurn:
    """Say where the prompt has ended, what of its whitespace is missing, and what it prefilled.

    `opening` is the one that the prompt ends with, None where it ends with none.
    """
    if request.start is not None:
        return PromptedTurn(request.start, lead(format_, format_.header, request.start))
    if opening is not None and (request.prompt is None or opening.text.strip()):
        prompt = opening.text if request.prompt is None else request.prompt
        return _behind(format_, opening, prompt)
    if request.prompt is None:
        return PromptedTurn(Start.HEADER, lead(format_, format_.header, Start.HEADER))
    reasoning = format_.reasoning
    opened = None if reasoning is None else reasoning.opened_by(request.prompt)
    if opened is not None:
        return PromptedTurn(Start.REASONING, opened)
    prefill = prefilled(format_, request.prompt)
    if opening is not None and not prefill:
        # The template has no generation prompt, so a prompt of it begins no turn.
        return _behind(format_, opening, "")
    return PromptedTurn(Start.HEADER, lead(format_, format_.header, Start.HEADER), prefill)


def prefilled(format_: TurnFormat, prompt: str) -> str:
    """Return what a prompt has written of the message itself, after the header of its last turn.

    Where turns have no header, it is what stands after the last opener that was left open.
    """
    mark = format_.header_mark
    if not format_.header.strip():
        return _left_open(format_, prompt)
    if not mark or mark not in prompt:
        return ""
    written = prompt.rpartition(mark)[2]
    # After a stop comes what is not the message: the results of its calls, in one turn.
    ended = any(stop in written for stop in format_.stop_strings)
    return "" if ended or written.isspace() else written


def _left_open(format_: TurnFormat, prompt: str) -> str:
    """Return the end of a prompt, from the last opener on, where nothing closes what it opened.

    No marker stands after it but those of a call: `[THINK]Let me` begins a message, and in
    `What does [THINK] mean?[/INST]` somebody else has written the opener. In open reasoning calls
    and content are text.
    """
    reasoning, calls = format_.reasoning, format_.calls
    row = () if calls is None else (calls.section_open, *calls.row)
    written = "".join(piece for piece in row if not isinstance(piece, Slot))
    others = (format_.content.open, *format_.content.others, Literal.of(Literal.of(written).first))
    for openers in (() if reasoning is None else (reasoning.open,), others):
        places = ((prompt.rfind(each.core), each) for each in openers if each.is_marked)
        at, opener = max(places, key=lambda place: place[0], default=(-1, Literal()))
        behind = prompt[at + len(opener.core) :]
        foreign = any(marker not in written for marker in Literal.of(behind).markers)
        if at >= 0 and not foreign and not any(stop in behind for stop in format_.stop_strings):
            return prompt[at:]
    return ""


def _behind(format_: TurnFormat, opening: Opening, prompt: str) -> PromptedTurn:
    """Say what is left to write after a prompt that ends with this opening."""
    core = opening.text.rstrip()
    space = prompt[len(prompt.rstrip()) :]
    missing = opening.text[len(core) :].removeprefix(space)
    if opening.written is Written.OTHER and _begins_to_reason(format_, opening.text):
        return PromptedTurn(Start.REASONING, missing)
    start = _STARTS[opening.written]
    prefill = _prefill(format_, opening.text, opening.written)
    if start is not Start.REASONING:
        return PromptedTurn(start, missing + lead(format_, opening.turn_begun, start), prefill)
    after = "" if format_.reasoning is None else format_.reasoning.open.after
    if not missing and after.startswith(space):
        missing = after[len(space) :]
    return PromptedTurn(start, missing, prefill)


def _begins_to_reason(format_: TurnFormat, text: str) -> bool:
    """Whether a prompt has opened a turn in its own words, where only a closer tells reasoning.

    After `{bot}My steps:` comes reasoning where turns are `{bot}REASONING{answer}CONTENT` or
    `{bot}CONTENT`: what comes before `{answer}`, unless the prompt has written that.
    """
    block = format_.reasoning
    if block is None or not block.close.mark or block.close.mark in text:
        return False
    opener = block.open.core
    return opener == format_.content.open.core and opener in text


def _prefill(format_: TurnFormat, text: str, written: Written) -> str:
    """Give what a generation prompt has written after the header, where that is no whole part."""
    mark = format_.header_mark
    if written is not Written.OTHER or not mark or mark not in text:
        return ""
    return text.rpartition(mark)[2].lstrip()


def lead(format_: TurnFormat, written: str, start: Start) -> str:
    """Return the whitespace that the template writes between what is `written` and content."""
    layout = format_.layouts.get(Presence(content=True))
    if layout is None or layout.parts[:1] != (Part.CONTENT,):
        return ""
    text = layout.literals[0]
    if text.startswith(written):
        text = text[len(written) :]
    elif start is Start.CONTENT:
        return ""
    if text.isspace():
        return text
    reasoning, mark = format_.reasoning, format_.header_mark
    # What an empty reasoning block leaves after itself is skipped where that block is read.
    if start is Start.CONTENT or (reasoning is not None and reasoning.close.core in text):
        return ""
    text = text.rpartition(mark)[2] if mark else text
    return text if text.isspace() else ""
