"""Build the expression of a turn: the tree of all that a model may write for a request.

    formats + request  ->  formats_of_request (which setting wrote the prompt)
                       ->  read_prompt_end, written_beginning (what the prompt wrote of the turn)
                       ->  TurnTree: calls from `find_call_section`, rows from `strict_rows`

The parser reads by the tree's markers, which forgives much. A grammar writes by `TurnTree.strict`:
each layout of the format as a row of texts and parts, cut at the end of the prompt.
`build_expression` is the entry; parts that depend only on the format are cached by its identity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec.structs import replace

from autoparser.analysis.core.call_format import CallFormat, FreeWord
from autoparser.analysis.core.call_notation import JsonFields, RowSlot
from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.format_choice import (
    Formats,
    PromptFormat,
    opening_at_end,
)
from autoparser.analysis.core.text_alignment import MarkerBlock, TemplateLiteral, common_suffix
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_parts import StrippedEdges, TurnLayout, TurnPart
from autoparser.analysis.core.turn_shape import TurnOpening

from .prompt_end import leading_whitespace, read_prompt_end
from .turn_nodes import (
    ArgumentList,
    CallSection,
    FreeText,
    FunctionName,
    JsonCall,
    PartBody,
    RowCall,
    RowItem,
    SingleWord,
    StrictItem,
    StrictRow,
    StrictTurn,
    TurnStart,
    TurnTree,
)
from .turn_request import IdentityCache, ParserRequest

# The section of tool calls.


def find_call_section(
    format_: TurnFormat, opening: TemplateLiteral, *, single: bool
) -> CallSection | None:
    """Return the section of calls, or None if the format has no calls.

    `opening` is the result of `opening_of_calls` for the format.
    """
    calls = format_.calls
    if calls is None:
        return None
    fields = calls.json_fields
    call = _row_call(calls) if fields is None else _json_call(calls, fields)
    separator = calls.separator
    return CallSection(
        open=opening,
        call=call,
        separator=TemplateLiteral.of(
            separator.replace(format_.header, "") if format_.header else separator
        ),
        close=TemplateLiteral.of(calls.section_close),
        limit=calls.limit,
        later_close=TemplateLiteral.of(calls.later_close),
        space=_space_before(format_, TurnPart.CALLS),
        behind=_space_before(format_, TurnPart.CONTENT),
        leads=calls.leads,
        single=single,
    )


def opening_of_calls(format_: TurnFormat) -> TemplateLiteral:
    """Return the text that opens the calls of a turn, whichever tools are offered, or empty."""
    calls, reasoning = format_.calls, format_.reasoning
    if calls is None:
        return TemplateLiteral()
    opening = TemplateLiteral.of(calls.section_open or _calls_marker(format_))
    close = "" if reasoning is None else reasoning.close.core
    if close and opening.core.startswith(close):
        # The opening may begin with the closer of the reasoning.
        return TemplateLiteral.of(opening.core[len(close) :] + opening.after)
    return opening


def _calls_marker(format_: TurnFormat) -> str:
    """Return the suffix shared by the texts before calls, or empty if it marks no calls."""
    befores = [
        layout.literals[layout.parts.index(TurnPart.CALLS)].removeprefix(format_.header)
        for layout in format_.layouts.values()
        if TurnPart.CALLS in layout.parts
    ]
    shared = common_suffix(*befores) if befores else ""
    # The closer of content also precedes other parts, so it does not mark calls.
    return "" if shared.strip() in ("", format_.content.close.core) else shared


def _space_before(format_: TurnFormat, part: TurnPart) -> str:
    """Return the whitespace between content and calls if `part` is the second of them, or empty."""
    layout = format_.layouts.get(Presence(content=True, calls=True))
    if layout is None or len(layout.parts) != 2 or layout.parts[1] is not part:  # noqa: PLR2004
        return ""
    text = layout.literals[1]
    return text[len(text.rstrip()) :] if text.strip() else text


def _json_call(calls: CallFormat, fields: JsonFields) -> JsonCall:
    return JsonCall(
        before=TemplateLiteral.of(fields.before),
        name=FunctionName(),
        arguments=ArgumentList(calls.arguments),
        after=TemplateLiteral.of(fields.after),
        name_is_key=fields.fun_name_is_key,
        function_field=fields.function_field,
        name_field=fields.name_field,
        arguments_field=fields.args_field,
        id_field=fields.id_field,
    )


def _row_call(calls: CallFormat) -> RowCall:
    empty = None if calls.empty_row is None else _row(calls.empty_row, calls)
    loose = _row(calls.row, calls, calls.free_words) if calls.free_words else ()
    return RowCall(_row(calls.row, calls), empty, calls.naming, loose)


def _row(
    row: Sequence[str | RowSlot], calls: CallFormat, free: Sequence[FreeWord] = ()
) -> tuple[RowItem, ...]:
    items: list[RowItem] = []
    for at, piece in enumerate(row):
        match piece:
            case RowSlot.NAME:
                items.append(FunctionName())
            case RowSlot.ID:
                items.append(SingleWord(RowSlot.ID))
            case RowSlot.INDEX:
                items.append(SingleWord(RowSlot.INDEX))
            case RowSlot.ARGUMENTS:
                items.append(ArgumentList(calls.arguments))
            case _:
                words = [word for word in free if word.piece == at]
                named = at > 0 and row[at - 1] is RowSlot.NAME
                items += _literals(str(piece), () if named and _is_framed(str(piece)) else words)
    return tuple(items)


@lru_cache(maxsize=256)
def _is_framed(text: str) -> bool:
    """Return whether a literal has several markers and ends with one, whatever its words."""
    literal = TemplateLiteral.of(text)
    return len(literal.markers) > 1 and literal.core.endswith(literal.markers[-1])


def _literals(text: str, free: Sequence[FreeWord]) -> Iterator[RowItem]:
    """Split a literal at the words that a model may replace by others."""
    begun = 0
    for word in free:
        if word.start > begun:
            yield TemplateLiteral.of(text[begun : word.start])
        yield FreeText(text[word.start : word.end])
        begun = word.end
    if text[begun:]:
        yield TemplateLiteral.of(text[begun:])


# Strict rows: every layout of a turn as a row, cut at the end of the prompt.


def strict_rows(
    format_: TurnFormat, request: ParserRequest, written_text: str, start: TurnStart
) -> StrictTurn:
    """Return the rows that a model may write after the prompt's `written_text`.

    Of the request only `calls` and `required` count.
    """
    found: dict[StrictRow, None] = {}
    ends = _ends(format_)
    goes_on = any(
        layout.parts and _rest_after(layout.literals[0], written_text) is not None
        for layout in format_.layouts.values()
    )
    for presence, layout in format_.layouts.items():
        # The template raises for such a message, or drops its calls: a model writes no such turn.
        if layout.refusal or (presence.calls and TurnPart.CALLS not in layout.parts):
            continue
        if goes_on and not layout.parts and _rest_after(layout.literals[0], written_text) is None:
            # This layout is an empty turn, but the prompt has begun another layout.
            continue
        shown = format_.layouts.get(presence._replace(reasoning=True))
        # If the template refuses to render reasoning here, it does not drop it.
        refuses = shown is not None and shown.refusal
        drops = not refuses and (shown is None or TurnPart.REASONING not in shown.parts)
        # If other settings keep reasoning, models write none under these, unless the prompt opens
        # it: then only the history has none.
        drops = drops and (
            start is TurnStart.REASONING or TurnPart.REASONING not in format_.elsewhere
        )
        for items in _rest_of_layout(
            format_, layout, written_text, start, format_.reasoning if drops else None
        ):
            row = _with_end(items, ends)
            if row.has(TurnPart.CALLS) and not (request.calls and format_.calls):
                continue
            if request.required and not row.has(TurnPart.CALLS):
                continue
            found.setdefault(row)
    return StrictTurn(tuple(found), format_.calls)


def written_beginning(
    format_: TurnFormat, opening: TurnOpening | None, request: ParserRequest
) -> str:
    """Return the beginning of the turn that the prompt has already written.

    `opening` is the generation prompt that the prompt ends with, or None if it ends with none.
    """
    header, prompt = format_.header, request.prompt
    if opening is not None and opening.stands_for is not None:
        space = opening.text[len(opening.text.rstrip()) :]
        given = "" if prompt is None else prompt[len(prompt.rstrip()) :]
        return opening.stands_for.removesuffix(space.removeprefix(given) if given != space else "")
    begun = header if opening is None else opening.text
    # Callers strip the whitespace at the end of prompts.
    core = "" if opening is None else begun.rstrip()
    if prompt is None:
        return begun
    if core:
        return prompt[prompt.rindex(core) :]
    bare, reasoning = header.strip(), format_.reasoning
    if opening is None and bare and bare in prompt:
        return bare + prompt.rpartition(bare)[2]
    if reasoning is None or reasoning.opened_by(prompt) is None:
        return begun
    # Turns without a header, such as `[/INST][THINK]`, or a tail of the prompt without it.
    return header + prompt[prompt.rindex(reasoning.open.mark) :]


def _rest_of_layout(
    format_: TurnFormat,
    layout: TurnLayout,
    written_text: str,
    start: TurnStart,
    dropped: MarkerBlock | None,
) -> Iterator[tuple[StrictItem, ...]]:
    """Return the rest of a layout after the prompt.

    `dropped` is the block of reasoning that models write and the template drops from its history.
    """
    first = layout.literals[0]
    rest = _rest_after(first, written_text)
    over = written_text.removeprefix(first) if written_text.startswith(first) else None
    thinks = TurnPart.REASONING in layout.parts
    bare = first.removeprefix(format_.header)
    lost = dropped if dropped is not None and dropped.close.core and not thinks else None
    if lost is not None and start is TurnStart.REASONING:
        if rest is not None and lost.close.core in rest:
            yield _items(layout, rest)
        yield _with_dropped_reasoning(layout, lost, bare)
    elif rest is not None:
        yield _items(layout, rest)
    elif start is TurnStart.CONTENT:
        if not thinks:
            calls = format_.calls
            if over and (calls is None or not calls.section_open.startswith(over)):
                # It begins the calls only if every turn closes the reasoning before calls.
                over = ""
            yield _after_longer_prompt(
                layout, over, _after_reasoning(format_.reasoning, bare, layout, written_text)
            )
    elif start is not TurnStart.REASONING or thinks:
        yield _after_longer_prompt(layout, over, bare)
    if lost is not None and start is TurnStart.HEADER and lost.open.core:
        # The history has no reasoning, but a model that thinks writes it all the same.
        yield lost.open.text, *_with_dropped_reasoning(layout, lost, bare)


def _with_dropped_reasoning(
    layout: TurnLayout, lost: MarkerBlock, bare: str
) -> tuple[StrictItem, ...]:
    """Return reasoning that the template drops, and the layout after it."""
    rest = bare.rpartition(lost.close.core)[2].lstrip()
    return PartBody(TurnPart.REASONING), lost.close.text, *_items(layout, rest)


def _after_longer_prompt(layout: TurnLayout, over: str | None, bare: str) -> tuple[StrictItem, ...]:
    """Return a layout after a prompt that wrote more than its first text, or another text."""
    items = _items(layout, bare if over is None else "")
    if over and layout.parts[:1] == (TurnPart.CALLS,):
        return PartBody(TurnPart.CALLS, written_start=over), *items[2:]
    return items


def _after_reasoning(
    reasoning: MarkerBlock | None, bare: str, layout: TurnLayout, written_text: str
) -> str:
    """Return the text that opens a layout's first part after the reasoning is closed."""
    text = bare
    if reasoning is not None and reasoning.close.core:
        _, closed, text = bare.rpartition(reasoning.close.core)
        # After `<think></think>`, a call still needs the blank line of `</think>\n\n<call>`. Before
        # content, leave it out: it could not be distinguished from the content's own whitespace.
        if closed and text.isspace() and layout.parts[:1] == (TurnPart.CALLS,):
            return text.removeprefix(written_text[len(written_text.rstrip()) :])
    if reasoning is not None and reasoning.open.core and reasoning.open.core in text:
        return ""
    return text.lstrip()


def _rest_after(first: str, written_text: str) -> str | None:
    """Return the rest of a literal after `written_text`, edges aside, or None if it differs."""
    if first.startswith(written_text):
        return first[len(written_text) :]
    bare = written_text.rstrip()
    if bare and first.startswith(bare):
        return first[len(bare) :].lstrip()
    return None


def _items(layout: TurnLayout, first: str) -> tuple[StrictItem, ...]:
    edges = {TurnPart.REASONING: layout.reasoning, TurnPart.CONTENT: layout.content}
    items: list[StrictItem] = [first]
    for part, literal in zip(layout.parts, layout.literals[1:], strict=True):
        items += [PartBody(part, edges.get(part, StrippedEdges())), literal]
    return tuple(items)


def _ends(format_: TurnFormat) -> list[str]:
    """Return the texts that end a turn, with the whitespace around them, longest first."""
    texts = {text for end in format_.ends for text in (end.text, end.historic or "")}
    texts |= {f"{stop}{space}" for stop in format_.stop_strings for space in ("", "\n")}
    return sorted(filter(str.strip, texts), key=len, reverse=True)


def _with_end(items: tuple[StrictItem, ...], ends: Sequence[str]) -> StrictRow:
    """Merge neighboring texts of a row, and move the end of the turn off its last text."""
    merged: list[StrictItem] = []
    for item in items:
        if isinstance(item, str) and merged and isinstance(merged[-1], str):
            merged[-1] += item
        else:
            merged.append(item)
    last = merged[-1]
    if not isinstance(last, str):
        return StrictRow(tuple(merged))
    end = next((text for text in ends if last.endswith(text)), None)
    rest = last.rstrip() if end is None else last.removesuffix(end)
    # Whitespace alone is not a closer: a model may stop before it.
    rest = "" if rest.isspace() else rest
    merged[-1] = rest
    items = tuple(item for item in merged if item != "")
    return StrictRow(items, TemplateLiteral.of(last[len(rest) :]))


_FRAMES: IdentityCache[tuple[TurnFormat, TemplateLiteral, TurnTree]] = IdentityCache(64)
"""By format: the format with its whole header, the opening of calls, and the expression of a turn
without its prompt and its request."""
_ROWS: IdentityCache[StrictTurn] = IdentityCache(256)
_SECTIONS: IdentityCache[CallSection | None] = IdentityCache(128)
_TREES: IdentityCache[TurnTree] = IdentityCache(256)
"""By format and opening: the expression of a turn after the opening itself, without tools."""
_DEFAULTS: IdentityCache[PromptFormat] = IdentityCache(128)


def build_expression(formats: Formats, request: ParserRequest) -> TurnTree:
    """Build the expression of a turn, in the format that the request's prompt belongs to.

    If the prompt may belong to several settings, the rows and the ends of all of them are allowed;
    everything else is as under the first.
    """
    if request.prompt is None and request.begun_turn is None:
        asked = (request.tools != {}, *_request_key(request))
        tree = _TREES.of(
            (formats,), asked, lambda: _tree(formats_of_request(formats, request)[0], request)
        )
        return _offering(tree, request)
    turns = [_turn(begun, request) for begun in formats_of_request(formats, request)]
    first = turns[0]
    if len(turns) == 1:
        return first
    # Reversed, so that for equal ends the first turn's whitespace is kept.
    ends = {end.core: end for turn in reversed(turns) for end in turn.ends}
    rows = dict.fromkeys(row for turn in turns for row in turn.strict.rows)
    calls = next((turn.strict.calls for turn in turns if turn.strict.calls is not None), None)
    return replace(first, strict=StrictTurn(tuple(rows), calls), ends=tuple(ends.values()))


def formats_of_request(formats: Formats, request: ParserRequest) -> tuple[PromptFormat, ...]:
    """Return the formats that a request may be about: several if its prompt is ambiguous.

    A format comes with its opening if the prompt ends with that.
    """
    tools = request.tools != {}
    prompt = request.prompt
    begun_turn = request.begun_turn
    if begun_turn is not None:
        if prompt is None:
            return (begun_turn,)
        return (_after(begun_turn, prompt),)
    if prompt is None:
        return (
            _DEFAULTS.of(
                (formats,), tools, lambda: formats.under({}, tools=tools) or formats.default
            ),
        )
    found = formats.behind(prompt)
    if found:
        return found
    inside = formats.within(prompt)
    if inside:
        return tuple(PromptFormat(found.format, None) for found in inside)
    return (_after(formats.under({}, tools=tools) or formats.default, prompt),)


def _after(begun_turn: PromptFormat, prompt: str) -> PromptFormat:
    """Return a format whose setting is known with the opening that the prompt ends with."""
    opening = opening_at_end(begun_turn.format, prompt)
    if opening is None and begun_turn.opening is not None and not begun_turn.opening.text.strip():
        # The template writes an empty generation prompt, and every prompt ends with it.
        opening = begun_turn.opening
    return PromptFormat(begun_turn.format, opening)


def _turn(begun_turn: PromptFormat, request: ParserRequest) -> TurnTree:
    """Return the expression of a turn; all that depends on the format alone is made once."""
    format_, opening = begun_turn.format, begun_turn.opening
    # Prompts are as many as chats, so only the tree without one is worth keeping.
    if request.prompt is None:
        tree = _TREES.of(
            (format_, opening), _request_key(request), lambda: _tree(begun_turn, request)
        )
    else:
        tree = _tree(begun_turn, request)
    return _offering(tree, request)


def _request_key(request: ParserRequest) -> tuple[bool, ...]:
    """Return all of a request that the expression of its turn depends on, beside its tools."""
    return request.calls, request.parallel, request.required, request.json


def _offering(tree: TurnTree, request: ParserRequest) -> TurnTree:
    """Return an expression with the tools of a request."""
    tools = request.tools
    if tools is None:
        return tree
    return replace(tree, offered=frozenset(tools), schemas=tools)


def _tree(begun_turn: PromptFormat, request: ParserRequest) -> TurnTree:
    """Return the expression of a turn without the tools of the request."""
    format_, calls, frame = _FRAMES.of(
        (begun_turn.format,), None, lambda: _frame(begun_turn.format.whole)
    )
    opening = begun_turn.opening
    prompted = read_prompt_end(format_, opening, request)
    continues = bool(prompted.prefill) and (opening is None or not opening.text.strip())
    # The message that a prompt continues is read, and its rows are cut, from its beginning.
    written = format_.header if continues else written_beginning(format_, opening, request)
    key = (written, prompted.start, request.calls, request.required)
    section = None
    if request.calls and format_.calls is not None:
        section = _SECTIONS.of(
            (frame,),
            request.parallel,
            lambda: find_call_section(format_, calls, single=not request.parallel),
        )
    strict = _ROWS.of((frame,), key, lambda: strict_rows(format_, request, written, prompted.start))
    if frame.goes_on and opening is None and _ends_before_header(format_, request.prompt or ""):
        strict = replace(strict, stopped="the prompt ends between two parts of the turn")
    return replace(
        frame,
        start=prompted.start,
        calls=section,
        unwritten=prompted.unwritten,
        json=request.json,
        prefill=prompted.prefill,
        continues=continues,
        strict=strict,
    )


def _ends_before_header(format_: TurnFormat, prompt: str) -> bool:
    """Return whether a prompt ends after the end of a part, before the header of the next one."""
    header = format_.header.strip()
    written = prompt.rpartition(header)[2] if header and header in prompt else ""
    return any(
        end in written and header.startswith(written.rpartition(end)[2].strip())
        for end in format_.stop_strings
    )


def _frame(format_: TurnFormat) -> tuple[TurnFormat, TemplateLiteral, TurnTree]:
    content = format_.content
    # The text that ends the turn is not a part of the content's closer.
    close = TemplateLiteral.of(format_.without_end(content.close.text))
    tree = TurnTree(
        start=TurnStart.HEADER,
        header=TemplateLiteral.of(format_.header),
        reasoning=format_.reasoning,
        content=replace(content, close=close),
        calls=None,
        ends=format_.end_literals,
        goes_on=_goes_on(format_),
        lead=leading_whitespace(format_, format_.header, TurnStart.HEADER),
        tail=next((end.text for end in format_.ends if end.text.isspace()), ""),
    )
    return format_, opening_of_calls(format_), tree


def _goes_on(format_: TurnFormat) -> bool:
    """Return whether an end of the turn, with a header after it, also occurs between its parts."""
    header = format_.header_mark
    inner = [text for layout in format_.layouts.values() for text in layout.literals[1:-1]]
    calls = format_.calls
    inner += [calls.separator] if calls is not None else []
    return bool(header) and any(
        end.core in text and header in text for end in format_.end_literals for text in inner
    )
