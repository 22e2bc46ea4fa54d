"""From a format and a request to the expression of the turn that the model may write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autoparser.analysis.alignment import common_prefix, common_suffix, first_marker
from autoparser.analysis.conversation import Presence
from autoparser.analysis.format import CallFormat, Layout, Part, Slot, TurnFormat, Written
from autoparser.analysis.view import JsonFields, json_fields

from .nodes import (
    ArgumentList,
    Block,
    JsonCall,
    Literal,
    Name,
    RowCall,
    RowItem,
    Section,
    Start,
    Text,
    Turn,
    Word,
)
from .request import Request
from .strict import strict


def build(format_: TurnFormat, request: Request) -> Turn:
    """Build the expression of a turn."""
    start, unwritten, prefill = _start(format_, request)
    reasoning = _reasoning(format_)
    ends = _ends(format_)
    calls = _section(format_, request) if request.calls else None
    if calls is not None and reasoning is not None:
        calls = _without_close(calls, reasoning.close.core)
    if start is Start.REASONING and reasoning is not None and not unwritten:
        unwritten = _unwritten(format_, request, reasoning)
    return Turn(
        start=start,
        header=Literal.of(format_.header),
        reasoning=reasoning,
        content=_content(format_, reasoning),
        calls=calls,
        ends=ends,
        goes_on=_goes_on(format_, ends),
        lead=_lead(format_, reasoning),
        tail=next((end.text for end in format_.ends if end.text.isspace()), ""),
        unwritten=unwritten,
        prefill=prefill,
        strict=strict(format_, request, start, reasoning),
    )


_STARTS = {
    Written.NOTHING: Start.TURN,
    Written.PART_OF_HEADER: Start.TURN,
    Written.HEADER: Start.HEADER,
    Written.REASONING_OPEN: Start.REASONING,
    Written.REASONING_CLOSED: Start.CONTENT,
    Written.OTHER: Start.HEADER,
}


def _start(format_: TurnFormat, request: Request) -> tuple[Start, str, str]:
    """Say where the prompt has ended, what of its whitespace is missing, and what it prefilled."""
    if request.start is not None:
        return request.start, "", ""
    openings = sorted(format_.openings, key=lambda opening: -len(opening.text))
    if request.prompt is None:
        default = next((opening for opening in format_.openings if not opening.setting), None)
        if default is None:
            return Start.HEADER, "", ""
        return _STARTS[default.written], "", _prefill(format_, default.text, default.written)
    for opening in openings:
        core = opening.text.rstrip()
        if core and request.prompt.rstrip().endswith(core):
            written = request.prompt[request.prompt.rindex(core) + len(core) :]
            unwritten = opening.text[len(core) :].removeprefix(written)
            prefill = _prefill(format_, opening.text, opening.written)
            return _STARTS[opening.written], unwritten, prefill
    header = format_.header.strip()
    if header and header in request.prompt:
        written = request.prompt.rpartition(header)[2]
        return Start.HEADER, "", "" if written.isspace() else written
    return Start.HEADER, "", ""


def _without_close(section: Section, close: str) -> Section:
    """Leave what closes the reasoning out of what opens the calls."""
    core = section.open.core
    if not close or not core.startswith(close):
        return section
    return replace(section, open=Literal.of(core[len(close) :] + section.open.after))


def _unwritten(format_: TurnFormat, request: Request, reasoning: Block) -> str:
    """Give the whitespace behind the reasoning's opening that the prompt has not written."""
    text = request.prompt
    if text is None:
        default = next((opening for opening in format_.openings if not opening.setting), None)
        text = "" if default is None else default.text
    written = text[len(text.rstrip()) :]
    after = reasoning.open.after
    return after[len(written) :] if after.startswith(written) else ""


def _prefill(format_: TurnFormat, text: str, written: Written) -> str:
    """Give what a generation prompt has written behind the header, where that is no whole part."""
    header = format_.header.strip()
    if written is not Written.OTHER or not header or header not in text:
        return ""
    return text.rpartition(header)[2].lstrip()


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


def _reasoning(format_: TurnFormat) -> Block | None:
    befores, afters = _neighbours(format_, Part.REASONING)
    if not befores:
        close = format_.reasoning_close or format_.reasoning_cut or ""
        if not close.strip():
            return None
        named = Literal.of(format_.reasoning_open)
        return Block(Text(Part.REASONING), named, Literal.of(close))
    opening = common_suffix(*befores) or format_.reasoning_open
    shared = common_prefix(*afters)
    if format_.header.strip():
        shared = shared.partition(format_.header.strip())[0]
    shared = first_marker(shared)
    return Block(
        Text(Part.REASONING),
        Literal.of(opening),
        _before_content(format_, Literal.of(shared)),
        leads=not opening.strip() and bool(shared.strip()),
    )


def _before_content(format_: TurnFormat, close: Literal) -> Literal:
    """Give the reasoning's close with the whitespace that it has before content."""
    layout = format_.layouts.get(Presence(reasoning=True, content=True))
    if layout is None or layout.parts[:2] != (Part.REASONING, Part.CONTENT) or not close.core:
        return close
    behind = layout.literals[1].partition(close.core)[2]
    return replace(close, after=behind[: len(behind) - len(behind.lstrip())])


def _content(format_: TurnFormat, reasoning: Block | None) -> Block:
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


def _lead(format_: TurnFormat, reasoning: Block | None) -> str:
    """Give the whitespace between the header and content."""
    layout = format_.layouts.get(Presence(content=True))
    if layout is None or layout.parts[:1] != (Part.CONTENT,):
        return ""
    text = layout.literals[0].removeprefix(format_.header)
    text = _without_reasoning(text, reasoning, format_.header)
    return text if text.isspace() else ""


def _space(format_: TurnFormat, presence: Presence, part: Part) -> str:
    """Give the whitespace right before the second of two parts, where this one is the second."""
    layout = format_.layouts.get(presence)
    if layout is None or len(layout.parts) != 2 or layout.parts[1] is not part:  # noqa: PLR2004
        return ""
    text = layout.literals[1]
    return text[len(text.rstrip()) :] if text.strip() else text


def _goes_on(format_: TurnFormat, ends: Sequence[Literal]) -> bool:
    """Whether what ends a turn also stands between its parts."""
    header = format_.header.strip()
    inner = [text for layout in format_.layouts.values() for text in layout.literals[1:-1]]
    calls = format_.calls
    inner += [calls.separator] if calls is not None else []
    return bool(header) and any(
        end.core in text and header in text for end in ends for text in inner
    )


def _without_reasoning(text: str, reasoning: Block | None, header: str) -> str:
    if reasoning is not None and reasoning.close.core and reasoning.close.core in text:
        text = text.rpartition(reasoning.close.core)[2]
    if header.strip() and header.strip() in text:
        text = text.rpartition(header.strip())[2]
    return text


def _ends(format_: TurnFormat) -> tuple[Literal, ...]:
    found: dict[str, Literal] = {}
    for end in format_.ends:
        for text in (end.text, end.historic or ""):
            literal = Literal.of(text)
            if literal.core:
                found[literal.core] = literal
    for stop in format_.stop_strings:
        found.setdefault(stop, Literal.of(stop))
    return tuple(found.values())


def _section(format_: TurnFormat, request: Request) -> Section | None:
    calls = format_.calls
    if calls is None:
        return None
    separator = calls.separator
    if format_.header:
        separator = separator.replace(format_.header, "")
    fields = json_fields(calls)
    call = _row_call(calls, request) if fields is None else _json_call(calls, fields, request)
    return Section(
        open=Literal.of(calls.section_open),
        call=call,
        separator=Literal.of(
            calls.separator.replace(format_.header, "") if format_.header else calls.separator
        ),
        close=Literal.of(calls.section_close),
        limit=calls.limit,
        later_close=Literal.of(calls.later_close),
        space=_space(format_, Presence(content=True, calls=True), Part.CALLS),
        behind=_space(format_, Presence(content=True, calls=True), Part.CONTENT),
    )


def _arguments(calls: CallFormat, request: Request) -> ArgumentList:
    return ArgumentList(calls.arguments, request.tools or {})


def _json_call(calls: CallFormat, fields: JsonFields, request: Request) -> JsonCall:
    return JsonCall(
        before=Literal.of(fields.before),
        name=Name(tuple(request.tools or ())),
        arguments=_arguments(calls, request),
        after=Literal.of(fields.after),
        name_is_key=fields.fun_name_is_key,
        function_field=fields.function_field,
        name_field=fields.name_field,
        arguments_field=fields.args_field,
        id_field=fields.id_field,
    )


def _row_call(calls: CallFormat, request: Request) -> RowCall:
    empty = None if calls.empty_row is None else _row(calls.empty_row, calls, request)
    return RowCall(_row(calls.row, calls, request), empty)


def _row(row: Sequence[str | Slot], calls: CallFormat, request: Request) -> tuple[RowItem, ...]:
    items: list[RowItem] = []
    for piece in row:
        match piece:
            case Slot.NAME:
                items.append(Name(tuple(request.tools or ())))
            case Slot.ID:
                items.append(Word(Slot.ID))
            case Slot.INDEX:
                items.append(Word(Slot.INDEX))
            case Slot.ARGUMENTS:
                items.append(_arguments(calls, request))
            case _:
                items.append(Literal.of(str(piece)))
    return tuple(items)
