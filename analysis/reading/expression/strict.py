"""What a strict writer may write of a turn: every layout as a row, cut where the prompt ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autoparser.analysis.core.format import (
    Block,
    Edges,
    Layout,
    Literal,
    Opening,
    Part,
    TurnFormat,
)

from .nodes import Body, Start, Strict, StrictItem, StrictRow
from .prompted import prefilled
from .request import Request


def strict(format_: TurnFormat, request: Request, written: str, start: Start) -> Strict:
    """Return the rows that a model may write after what the prompt has `written` of the turn.

    Of the request, only whether calls may and have to be written counts.
    """
    found: dict[StrictRow, None] = {}
    ends = _ends(format_)
    goes_on = any(
        layout.parts and _behind(layout.literals[0], written) is not None
        for layout in format_.layouts.values()
    )
    for presence, layout in format_.layouts.items():
        if layout.refusal or (presence.calls and Part.CALLS not in layout.parts):
            continue
        if goes_on and not layout.parts and _behind(layout.literals[0], written) is None:
            # An empty turn, and the prompt has begun another one.
            continue
        shown = format_.layouts.get(presence._replace(reasoning=True))
        # What the template refuses to render with reasoning it does not render without it either.
        refuses = shown is not None and shown.refusal
        drops = not refuses and (shown is None or Part.REASONING not in shown.parts)
        # Where other settings keep reasoning, models write none under these, but for a prompt that
        # opens it: then it is only the history that has none.
        drops = drops and (start is Start.REASONING or Part.REASONING not in format_.elsewhere)
        for items in _cut(format_, layout, written, start, format_.reasoning if drops else None):
            row = _ended(items, ends)
            if row.has(Part.CALLS) and not (request.calls and format_.calls):
                continue
            if request.required and not row.has(Part.CALLS):
                continue
            found.setdefault(row)
    return Strict(tuple(found), format_.calls)


def either(ways: Sequence[Strict]) -> Strict:
    """Return all that may be written in one way or another; calls are written as in the first."""
    rows = dict.fromkeys(row for way in ways for row in way.rows)
    calls = next((way.calls for way in ways if way.calls is not None), None)
    return Strict(tuple(rows), calls)


def written_of(format_: TurnFormat, opening: Opening | None, request: Request) -> str:
    """Return the beginning of the turn that the prompt has already written.

    `opening` is the one that the prompt ends with, None where it ends with none.
    """
    header = format_.header
    if request.start is Start.TURN:
        return ""
    if request.start is Start.REASONING:
        return _opened(format_)
    if request.start is not None:
        return header
    prompt = request.prompt
    if opening is not None and opening.stands_for is not None:
        space = opening.text[len(opening.text.rstrip()) :]
        given = "" if prompt is None else prompt[len(prompt.rstrip()) :]
        return opening.stands_for.removesuffix(space.removeprefix(given) if given != space else "")
    if opening is not None:
        core = opening.text.rstrip()
        if prompt is not None and core:
            return prompt[prompt.rindex(core) :]
        if prompt is None or not prefilled(format_, prompt):
            return opening.text
    if prompt is None:
        return header
    bare = header.strip()
    if bare and bare in prompt:
        return bare + prompt.rpartition(bare)[2]
    return header if bare else header + prefilled(format_, prompt)


def _opened(format_: TurnFormat) -> str:
    """Return a turn up to where its reasoning begins."""
    firsts = (
        layout.literals[0]
        for layout in format_.layouts.values()
        if layout.parts[:1] == (Part.REASONING,)
    )
    named = "" if format_.reasoning is None else format_.reasoning.open.text
    return next(firsts, format_.header + named)


def _cut(
    format_: TurnFormat, layout: Layout, written: str, start: Start, dropped: Block | None
) -> Iterator[tuple[StrictItem, ...]]:
    """Return what is left of a layout after the prompt.

    `dropped` is the reasoning that models write there and the template keeps out of its history.
    """
    first = layout.literals[0]
    rest = _behind(first, written)
    thinks = Part.REASONING in layout.parts
    bare = first.removeprefix(format_.header)
    lost = dropped if dropped is not None and dropped.close.core and not thinks else None
    if lost is not None and start is Start.REASONING:
        if rest is not None and lost.close.core in rest:
            yield _items(layout, rest)
        yield _thought(layout, lost, bare)
    elif rest is not None:
        yield _items(layout, rest)
    elif start is Start.CONTENT:
        if not thinks:
            over = written.removeprefix(first) if written.startswith(first) else None
            yield _begun(
                layout,
                _section_begun(format_, over) if over else over,
                _after_reasoning(format_.reasoning, bare, layout, written),
            )
    elif start is not Start.REASONING or thinks:
        yield _begun(
            layout, written.removeprefix(first) if written.startswith(first) else None, bare
        )
    if lost is not None and start is Start.HEADER and lost.open.core:
        yield lost.open.text, *_thought(layout, lost, bare)


def _thought(layout: Layout, lost: Block, bare: str) -> tuple[StrictItem, ...]:
    """Return a layout after reasoning that the template drops."""
    rest = bare.rpartition(lost.close.core)[2].lstrip()
    return Body(Part.REASONING), lost.close.text, *_items(layout, rest)


def _begun(layout: Layout, over: str | None, bare: str) -> tuple[StrictItem, ...]:
    """Return a layout of which the prompt wrote more than its first text, or something else."""
    items = _items(layout, bare if over is None else "")
    if over and layout.parts[:1] == (Part.CALLS,):
        return Body(Part.CALLS, begun=over), *items[2:]
    return items


def _after_reasoning(reasoning: Block | None, bare: str, layout: Layout, written: str) -> str:
    """Return what opens a layout's first part once the reasoning is closed."""
    text = bare
    if reasoning is not None and reasoning.close.core:
        _, closed, text = bare.rpartition(reasoning.close.core)
        # After `<think></think>` a call still wants the blank line of `</think>\n\n<call>`. Content
        # wants none: nothing there would tell it from the content's own.
        if closed and text.isspace() and layout.parts[:1] == (Part.CALLS,):
            return text.removeprefix(written[len(written.rstrip()) :])
    if reasoning is not None and reasoning.open.core and reasoning.open.core in text:
        return ""
    return text.lstrip()


def _section_begun(format_: TurnFormat, over: str) -> str:
    """Return what a prompt wrote after a layout's first text if calls begin with it.

    So it does where each turn closes the reasoning, and with calls first of all.
    """
    calls = format_.calls
    return over if calls is not None and calls.section_open.startswith(over) else ""


def _behind(first: str, written: str) -> str | None:
    """Return what a literal holds after what was written; whitespace alone makes no difference."""
    if first.startswith(written):
        return first[len(written) :]
    bare = written.rstrip()
    if bare and first.startswith(bare):
        return first[len(bare) :].lstrip()
    return None


def _items(layout: Layout, first: str) -> tuple[StrictItem, ...]:
    edges = {Part.REASONING: layout.reasoning, Part.CONTENT: layout.content}
    items: list[StrictItem] = [first]
    for part, literal in zip(layout.parts, layout.literals[1:], strict=True):
        items += [Body(part, edges.get(part, Edges())), literal]
    return tuple(items)


def _ends(format_: TurnFormat) -> list[str]:
    """Return the texts that end a turn, with whitespace around them, the longest first."""
    texts = {text for end in format_.ends for text in (end.text, end.historic or "")}
    texts |= {f"{stop}{space}" for stop in format_.stop_strings for space in ("", "\n")}
    return sorted(filter(str.strip, texts), key=len, reverse=True)


def _ended(items: tuple[StrictItem, ...], ends: Sequence[str]) -> StrictRow:
    """Take the end off a row's last text, and put neighbouring texts together."""
    merged: list[StrictItem] = []
    for item in items:
        if isinstance(item, str) and merged and isinstance(merged[-1], str):
            merged[-1] += item
        else:
            merged.append(item)
    last = merged[-1]
    if not isinstance(last, str):
        return StrictRow(tuple(merged))
    for text in ends:
        if last.endswith(text):
            rest = last[: len(last) - len(text)]
            # Whitespace alone closes no text: a model may stop before it.
            space = rest if rest.isspace() else ""
            merged[-1] = rest[len(space) :]
            return StrictRow(_filled(merged), Literal.of(space + text))
    bare = last.rstrip()
    merged[-1] = bare
    return StrictRow(_filled(merged), Literal.of(last[len(bare) :]))


def _filled(items: list[StrictItem]) -> tuple[StrictItem, ...]:
    return tuple(item for item in items if item != "")
