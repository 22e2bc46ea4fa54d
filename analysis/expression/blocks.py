"""How reasoning and content are opened and closed, and what ends the turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autoparser.analysis.alignment import common_prefix, common_suffix, first_marker
from autoparser.analysis.conversation import Presence
from autoparser.analysis.format import Layout, Part, Slot, TurnFormat

from .nodes import Block, Literal, Text
from .prompted import header_mark


def reasoning_of(format_: TurnFormat) -> Block | None:
    """Find what opens and closes reasoning; None where nothing of the format does."""
    befores, afters = _neighbours(format_, Part.REASONING)
    if not befores:
        close = Literal.of(format_.reasoning_close or format_.reasoning_cut or "")
        if not close.core:
            return None
        emptied = _emptied(format_, close)
        named = Literal.of(format_.reasoning_open)
        return Block(
            Text(Part.REASONING), named, replace(close, after=emptied or close.after), empty=emptied
        )
    opening = common_suffix(*befores) or format_.reasoning_open
    shared = common_prefix(*afters)
    mark = header_mark(format_.header)
    shared = first_marker(shared.partition(mark)[0] if mark else shared)
    close = _before_content(format_, Literal.of(shared))
    return Block(
        Text(Part.REASONING),
        Literal.of(opening),
        close,
        leads=not opening.strip() and bool(shared.strip()),
        empty=_emptied(format_, close),
    )


def _emptied(format_: TurnFormat, close: Literal) -> str | None:
    """Give the whitespace between an empty block and content; None where none is written."""
    layout = format_.layouts.get(Presence(content=True))
    if layout is None or layout.parts[:1] != (Part.CONTENT,) or not close.core:
        return None
    _, closed, behind = layout.literals[0].partition(close.core)
    return behind[: len(behind) - len(behind.lstrip())] if closed else None


def content_of(format_: TurnFormat, reasoning: Block | None) -> Block:
    """Find what opens and closes content; what an empty reasoning block leaves is not it."""
    opens: list[str] = []
    closes: list[str] = []
    for layout in format_.layouts.values():
        if Part.CONTENT not in layout.parts:
            continue
        at = layout.parts.index(Part.CONTENT)
        before = layout.literals[at]
        before = before.removeprefix(format_.header) if at == 0 else before
        opens.append(_without_reasoning(before, reasoning, format_.header))
        if opens[-1].strip():
            closes.append(layout.literals[at + 1])
    opening = max(opens, key=lambda text: len(text.strip()), default="")
    close = common_prefix(*closes) if closes else ""
    for end in format_.ends:
        close = close.removesuffix(end.text) if end.text else close
    if not opening.strip():
        opening = ""
    others = {text.strip(): Literal.of(text) for text in opens if text.strip()}
    others.pop(opening.strip(), None)
    return Block(Text(Part.CONTENT), Literal.of(opening), Literal.of(close), tuple(others.values()))


def ends_of(format_: TurnFormat) -> tuple[Literal, ...]:
    """Give the texts that end a turn, each with the whitespace between it and content."""
    found: dict[str, Literal] = {}
    for end in format_.ends:
        for text in (end.text, end.historic or ""):
            literal = Literal.of(text)
            if literal.core:
                found[literal.core] = literal
    for stop in format_.stop_strings:
        found.setdefault(stop, Literal.of(stop))
    behind = [
        layout.literals[-1]
        for layout in format_.layouts.values()
        if layout.parts[-1:] == (Part.CONTENT,)
    ]
    return tuple(replace(end, before=_space_before(end, behind)) for end in found.values())


def _space_before(end: Literal, texts: Sequence[str]) -> str:
    """Give the whitespace before the end of a turn, in the texts behind its content."""
    befores = [text.partition(end.core)[0] for text in texts if end.core in text]
    if not befores:
        return ""
    shared = common_suffix(*befores)
    return shared[len(shared.rstrip()) :]


def _before_content(format_: TurnFormat, close: Literal) -> Literal:
    """Give the reasoning's close with the whitespace that it has before content."""
    layout = format_.layouts.get(Presence(reasoning=True, content=True))
    if layout is None or layout.parts[:2] != (Part.REASONING, Part.CONTENT) or not close.core:
        return close
    behind = layout.literals[1].partition(close.core)[2]
    return replace(close, after=behind[: len(behind) - len(behind.lstrip())])


def _neighbours(format_: TurnFormat, part: Part) -> tuple[list[str], list[str]]:
    """Collect the literals before and behind a part; the header is left out."""
    befores: list[str] = []
    afters: list[str] = []
    for layout in format_.layouts.values():
        for at, other in enumerate(layout.parts):
            if other is part:
                before = layout.literals[at]
                befores.append(before.removeprefix(format_.header) if at == 0 else before)
                afters.append(_behind(format_, layout, at))
    return befores, afters


def _behind(format_: TurnFormat, layout: Layout, at: int) -> str:
    """Give what is written behind a part, up to the next text."""
    text = layout.literals[at + 1]
    calls = format_.calls
    if calls is not None and layout.parts[at + 1 : at + 2] == (Part.CALLS,):
        first = calls.row[0]
        text += calls.section_open + ("" if isinstance(first, Slot) else first)
    return text


def _without_reasoning(text: str, reasoning: Block | None, header: str) -> str:
    if reasoning is not None and reasoning.close.core and reasoning.close.core in text:
        text = text.rpartition(reasoning.close.core)[2]
    mark = header_mark(header)
    if mark and mark in text:
        text = text.rpartition(mark)[2]
    return text
