r"""Find where in a turn its prompt ended, the whitespace that it left out, and its prefill.

    read_prompt_end(format, opening, request)  ->  PromptedTurn

For example, a prompt that has begun the answer:

    >>> from autoparser import analyze, load_template
    >>> formats = analyze(load_template("fixtures/templates/a1-function-parameter.jinja")).formats
    >>> prefilled_text(formats.united, f"{formats.united.header}Sure, ")
    '\nSure, '
"""

from __future__ import annotations

from msgspec import Struct

from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.text_alignment import TemplateLiteral
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.turn_shape import PromptProgress, TurnOpening

from .turn_nodes import TurnStart
from .turn_request import ParserRequest


class PromptedTurn(Struct, frozen=True):
    """The part of the turn that the prompt has written."""

    start: TurnStart
    """Where in the turn the prompt has ended, e.g. `TurnStart.REASONING`."""
    unwritten: str = ""
    r"""Whitespace after the opening in the prompt, which the prompt has not written, e.g. "\n"."""
    prefill: str = ""
    """The beginning of the message that the prompt has already written, e.g. ">>>"."""


_STARTS = {
    PromptProgress.NOTHING: TurnStart.TURN,
    PromptProgress.PART_OF_HEADER: TurnStart.TURN,
    PromptProgress.HEADER: TurnStart.HEADER,
    PromptProgress.REASONING_OPEN: TurnStart.REASONING,
    PromptProgress.REASONING_CLOSED: TurnStart.CONTENT,
    PromptProgress.OTHER: TurnStart.HEADER,
}


def read_prompt_end(
    format_: TurnFormat, opening: TurnOpening | None, request: ParserRequest
) -> PromptedTurn:
    """Return where in the turn the prompt ended, its missing whitespace, and its prefill.

    `opening` is the generation prompt that the prompt ends with, or None if it ends with none.
    """
    prompt, prefill = request.prompt, ""
    if opening is not None and (prompt is None or opening.text.strip()):
        return _after_opening(format_, opening, opening.text if prompt is None else prompt)
    if prompt is not None:
        reasoning = format_.reasoning
        opened = None if reasoning is None else reasoning.opened_by(prompt)
        if opened is not None:
            return PromptedTurn(TurnStart.REASONING, opened)
        prefill = prefilled_text(format_, prompt)
        if opening is not None and not prefill:
            # The template has no generation prompt, so a prompt of it begins no turn.
            return _after_opening(format_, opening, "")
    unwritten = leading_whitespace(format_, format_.header, TurnStart.HEADER)
    return PromptedTurn(TurnStart.HEADER, unwritten, prefill)


def prefilled_text(format_: TurnFormat, prompt: str) -> str:
    """Return the beginning of the message that a prompt wrote after the header of its last turn.

    If turns have no header, it begins with the last opener that was left open.
    """
    mark = format_.header_mark
    if not format_.header.strip():
        return _left_open(format_, prompt)
    if not mark or mark not in prompt:
        return ""
    written = prompt.rpartition(mark)[2]
    # Text after a stop does not belong to the message: it is results of calls in the same turn.
    ended = any(stop in written for stop in format_.stop_strings)
    return "" if ended or written.isspace() else written


def _left_open(format_: TurnFormat, prompt: str) -> str:
    """Return the suffix of a prompt from the last opener that is still open, or empty.

    Only markers of a call may come after it: `[THINK]Let me` begins a message, and in
    `What does [THINK] mean?[/INST]` the user wrote the opener. In open reasoning, calls and content
    are text.
    """
    reasoning, calls = format_.reasoning, format_.calls
    row = () if calls is None else (calls.section_open, *calls.row)
    written = "".join(piece for piece in row if not isinstance(piece, RowSlot))
    others = (
        format_.content.open,
        *format_.content.others,
        TemplateLiteral.of(TemplateLiteral.of(written).first),
    )
    for openers in (() if reasoning is None else (reasoning.open,), others):
        places = ((prompt.rfind(opener.core), opener) for opener in openers if opener.is_marked)
        at, opener = max(places, key=lambda place: place[0], default=(-1, TemplateLiteral()))
        behind = prompt[at + len(opener.core) :]
        foreign = any(marker not in written for marker in TemplateLiteral.of(behind).markers)
        if at >= 0 and not foreign and not any(stop in behind for stop in format_.stop_strings):
            return prompt[at:]
    return ""


def _after_opening(format_: TurnFormat, opening: TurnOpening, prompt: str) -> PromptedTurn:
    """Return the state of the turn after a prompt that ends with this opening."""
    core = opening.text.rstrip()
    space = prompt[len(prompt.rstrip()) :]
    missing = opening.text[len(core) :].removeprefix(space)
    if opening.written is PromptProgress.OTHER and _begins_to_reason(format_, opening.text):
        return PromptedTurn(TurnStart.REASONING, missing)
    start = _STARTS[opening.written]
    prefill, mark = "", format_.header_mark
    if opening.written is PromptProgress.OTHER and mark and mark in opening.text:
        # The text after the header is only a fragment of a part.
        prefill = opening.text.rpartition(mark)[2].lstrip()
    if start is not TurnStart.REASONING:
        return PromptedTurn(
            start, missing + leading_whitespace(format_, opening.turn_begun, start), prefill
        )
    after = "" if format_.reasoning is None else format_.reasoning.open.after
    if not missing and after.startswith(space):
        missing = after[len(space) :]
    return PromptedTurn(start, missing, prefill)


def _begins_to_reason(format_: TurnFormat, text: str) -> bool:
    """Return whether a prompt of its own words opened reasoning that only a closer marks.

    After `{bot}My steps:` comes reasoning if turns are `{bot}REASONING{answer}CONTENT` or
    `{bot}CONTENT`: it is the text before `{answer}`, unless the prompt has written that.
    """
    block = format_.reasoning
    if block is None or not block.close.mark or block.close.mark in text:
        return False
    opener = block.open.core
    return opener == format_.content.open.core and opener in text


def leading_whitespace(format_: TurnFormat, written_text: str, start: TurnStart) -> str:
    """Return the whitespace that the template writes between `written_text` and content."""
    layout = format_.layouts.get(Presence(content=True))
    if layout is None or layout.parts[:1] != (TurnPart.CONTENT,):
        return ""
    text = layout.literals[0]
    if text.startswith(written_text):
        text = text[len(written_text) :]
    elif start is TurnStart.CONTENT:
        return ""
    if text.isspace():
        return text
    reasoning, mark = format_.reasoning, format_.header_mark
    # Whitespace after an empty reasoning block is skipped where that block is read.
    if start is TurnStart.CONTENT or (reasoning is not None and reasoning.close.core in text):
        return ""
    text = text.rpartition(mark)[2] if mark else text
    return text if text.isspace() else ""
