r"""Widen the rows of a turn by those that only the reader reads, for free answers.

    CALLS                   ->  CONTENT CALLS CONTENT, and with one of these texts alone
    «<think>\n» REASONING   ->  «<think>» REASONING: the text beside a marker has the whitespace
    « to=functions.» NAME   ->  «<|channel|>commentary to=functions.» NAME

Under ``tool_choice="auto"`` a grammar allows these rows: a constraint that refuses what models
write and readers read loses answers. Of each row a sample is written, and only those are allowed
that the parser reads without a repair. If a call is required, the template's own rows are all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from msgspec.structs import replace

from autoparser.analysis.core.conversation import ToolCall
from autoparser.analysis.core.text_alignment import TemplateLiteral, common_prefix
from autoparser.analysis.core.turn_parts import EdgeStrip, StrippedEdges, TurnPart
from autoparser.analysis.parsing.output_parser import OutputParser, row_after_reasoning
from autoparser.analysis.parsing.parsed_message import Status
from autoparser.analysis.parsing.stop_marks import ChannelFrame, channel_frame, is_marked
from autoparser.analysis.parsing.turn_nodes import (
    PartBody,
    StrictItem,
    StrictRow,
    TurnStart,
    TurnTree,
)
from autoparser.analysis.parsing.turn_request import IdentityCache

_FREE: IdentityCache[tuple[StrictRow, ...]] = IdentityCache(256)
_TEXT, _CALLS = PartBody(TurnPart.CONTENT), PartBody(TurnPart.CALLS)


def free_rows(turn: TurnTree, *, parallel: bool) -> tuple[StrictRow, ...]:
    """Return the rows of a turn, widened; without `parallel` nothing follows calls."""
    if turn.strict.free is not None:
        return turn.strict.free
    if turn.calls is None:
        return turn.strict.rows
    marked = is_marked(turn.calls)
    parts = (turn.strict, turn.content)
    return _FREE.of(parts, (marked, parallel), lambda: _widen_rows(turn, marked, parallel))


def ended_by_calls(rows: tuple[StrictRow, ...]) -> tuple[StrictRow, ...]:
    """Return the rows in which no other part follows calls, or all rows if there are none.

    They are those of a turn with one call: text behind it would take in a second one, whose marker
    is masked.
    """

    def goes_on(row: StrictRow) -> bool:
        parts = [item.part for item in row.items if isinstance(item, PartBody)]
        return TurnPart.CALLS in parts[:-1]

    return tuple(row for row in rows if not goes_on(row)) or rows


def _widen_rows(turn: TurnTree, marked: bool, parallel: bool) -> tuple[StrictRow, ...]:
    rows = dict.fromkeys((*turn.strict.rows, *_without_reasoning(turn)))
    if not marked and any(_joints(turn)):
        # Without markers, only the text between content and calls separates them: require it.
        reads = _reading(turn)
        return tuple(row for row in rows if row in turn.strict.rows or reads(row))
    # Over a copy, since each row adds others.
    for row in tuple(rows):
        rows.update(dict.fromkeys(_with_texts(turn, row)))
    frame = channel_frame(turn)
    if frame is not None:
        for widen in (_with_content_in_calls_channel, _with_name_in_channel):
            for row in tuple(rows):
                rows.update(dict.fromkeys(widen(frame, row)))
    widened = tuple(rows)
    return _read_rows(turn, widened if parallel else ended_by_calls(widened))


def _read_rows(turn: TurnTree, rows: Sequence[StrictRow]) -> tuple[StrictRow, ...]:
    """Return the rows with free edges that the parser reads, and the template's own."""
    lead, reads = _lead(turn.strict.rows), _reading(turn)
    found: dict[StrictRow, TemplateLiteral] = {}
    for row in rows:
        free, own = _with_free_edges(turn, row), row in turn.strict.rows
        # A row whose mode only the prompt determines cannot be judged by a sample.
        unjudged = own and not reads(row)
        for form in _with_leads(free, lead) if lead else [free]:
            if unjudged or reads(form):
                found[form] = row.end
            elif own:
                found[row] = row.end
    spoken = any(_is(TurnPart.CONTENT, row.items[0]) for row in found if row.items)

    def ended(row: StrictRow) -> StrictRow:
        if not row.items:
            return StrictRow(()) if spoken else row
        # The whitespace after calls belongs to a text there, if one may follow.
        called = row.items[-1] == _CALLS and StrictRow((*row.items, _TEXT)) not in found
        return replace(row, end=found[row]) if called else row

    return tuple(map(ended, found))


def _lead(rows: Sequence[StrictRow]) -> str:
    """Return the leading whitespace of all rows if one has a marker after it, as in ` <think>`."""
    firsts = [row.items[0] for row in rows if row.items]
    texts = [first for first in firsts if isinstance(first, str)]
    spaces = [text[: len(text) - len(text.lstrip())] for text in texts]
    marked = any(map(str.strip, texts))
    return common_prefix(*spaces) if marked else ""


def _with_leads(row: StrictRow, lead: str) -> Iterator[StrictRow]:
    """Return a row with the whitespace that leads others, and without any.

    A text that could begin with it would hide the other rows from readers that never backtrack.
    """
    first, rest = row.items[:1], row.items[1:]
    if first and isinstance(first[0], str):
        first = tuple(filter(None, [first[0].removeprefix(lead)]))
    yield replace(row, items=tuple(filter(None, (lead, *first, *rest))))
    if first and isinstance(first[0], PartBody) and first[0].part is not TurnPart.CALLS:
        first = (replace(first[0], edges=StrippedEdges(left=EdgeStrip.WHITESPACE)),)
    yield replace(row, items=(*first, *rest))


def _reading(turn: TurnTree) -> Callable[[StrictRow], bool]:
    """Return the check that the parser reads a sample of a row as its parts, without a repair."""
    # With the tool of the sample alone: the result is cached whatever tools are offered.
    parser = OutputParser(replace(turn, offered=frozenset({_CALL.name})))
    sample, calls = dict(_SAMPLES), turn.strict.calls
    if calls is not None:
        naming = calls.naming
        call = _CALL if naming is None else replace(_CALL, id=naming.write(_CALL.name, 0))
        sample[TurnPart.CALLS] = calls.write([call])

    def is_read(row: StrictRow) -> bool:
        bodies = [item for item in row.items if isinstance(item, PartBody)]
        if any(body.part not in sample for body in bodies):
            return False
        pieces = (
            # Without the beginning that the prompt has written.
            item if isinstance(item, str) else sample[item.part].removeprefix(item.written_start)
            for item in row.items
        )
        message = parser.parse("".join(pieces))
        parts = [body.part for body in bodies]
        # Compared without whitespace, since a row may have any around a text.
        spoken = _SAMPLES[TurnPart.CONTENT] * parts.count(TurnPart.CONTENT)
        return (
            message.status in {Status.OK, Status.UNFINISHED}
            and [(call.name, call.status) for call in message.tool_calls]
            == [(_CALL.name, Status.OK)] * (TurnPart.CALLS in parts)
            and "".join((message.content or "").split()) == spoken
            and bool(message.reasoning_content) is (TurnPart.REASONING in parts)
        )

    return is_read


_CALL = ToolCall("look_up", {"city": "Oslo"}, "call00001")
_SAMPLES = {TurnPart.CONTENT: "Done.", TurnPart.REASONING: "Wait."}


def _without_reasoning(turn: TurnTree) -> tuple[StrictRow, ...]:
    """Return the rows after the reasoning, if every row opens it: a model need not reason."""
    if turn.reasoning is None or turn.rows_start is TurnStart.REASONING:
        return ()
    rests = [row_after_reasoning(row, turn.reasoning.close.core) for row in turn.strict.rows]
    found: dict[StrictRow, None] = {}
    for rest in rests:
        # In a row without reasoning, a model can leave it out already.
        if rest is None:
            return ()
        # Whitespace after the closer belongs to it, but let a model write it here all the same.
        bare = [item.lstrip() if isinstance(item, str) else item for item in rest.items[:1]]
        whole = (*filter(None, bare), *rest.items[1:])
        found.update(dict.fromkeys((rest, replace(rest, items=whole))))
    return tuple(found)


def _is(part: TurnPart, item: StrictItem) -> bool:
    return isinstance(item, PartBody) and item.part is part


def _part_place(part: TurnPart, row: StrictRow) -> int:
    return next((at for at, item in enumerate(row.items) if _is(part, item)), len(row.items))


def _with_texts(turn: TurnTree, row: StrictRow) -> Iterator[StrictRow]:
    """Return a row of calls with a text before them, after them, and both."""
    at = _part_place(TurnPart.CALLS, row)
    if at == len(row.items) or row.items[at] != _CALLS:
        # No text follows the beginning of a call that the prompt has written.
        return
    before, behind = row.items[:at], row.items[at + 1 :]
    befores = [before]
    if not any(_is(TurnPart.CONTENT, item) for item in before):
        befores += _texts_before(turn, row)
    afters = [behind]
    if not behind and _may_speak_after_calls(turn):
        afters.append((_TEXT,))
    for first, last in product(befores, afters):
        yield StrictRow((*first, _CALLS, *last), row.end)


def _texts_before(turn: TurnTree, row: StrictRow) -> Iterator[tuple[StrictItem, ...]]:
    """Return the text of other rows up to their content, and the text from there to calls."""
    behind = next(_joints(turn), turn.content.close.text)
    for other in turn.strict.rows:
        at = _part_place(TurnPart.CONTENT, other)
        alike = other.has(TurnPart.REASONING) is row.has(TurnPart.REASONING)
        if alike and at < min(len(other.items), _part_place(TurnPart.CALLS, other) + 1):
            yield (*other.items[: at + 1], behind) if behind else other.items[: at + 1]


def _joints(turn: TurnTree) -> Iterator[str]:
    """Return the texts between content and the calls right after it, in the template's rows."""
    for row in turn.strict.rows:
        first, last = _part_place(TurnPart.CONTENT, row), _part_place(TurnPart.CALLS, row)
        between = row.items[first + 1 : last]
        texts = [item for item in between if isinstance(item, str)]
        if first < last < len(row.items) and len(texts) == len(between):
            yield "".join(texts)


def _with_content_in_calls_channel(frame: ChannelFrame, row: StrictRow) -> Iterator[StrictRow]:
    """Return a row whose content is in the channel of calls: ``<|channel|>commentary<|message|>``.

    Models write there what they are about to do.
    """
    at = _part_place(TurnPart.CONTENT, row)
    before = row.items[at - 1] if 0 < at < len(row.items) else ""
    for words, other in product(frame.opened, frame.called):
        known, wanted = (f"{frame.first}{word}{frame.last}" for word in (words, other))
        if isinstance(before, str) and before.endswith(known):
            head = before.removesuffix(known) + wanted
            yield StrictRow((*row.items[: at - 1], head, *row.items[at:]), row.end)


def _with_name_in_channel(frame: ChannelFrame, row: StrictRow) -> Iterator[StrictRow]:
    """Return a row whose call has its name behind a channel's words.

    Such as ``<|channel|>commentary to=functions.f`` in place of `` to=functions.f``.
    """
    at = _part_place(TurnPart.CALLS, row)
    named = frame.lead is not None and not frame.lead.markers
    if not named or at == len(row.items) or row.items[at] != _CALLS:
        return
    before = row.items[at - 1] if at else ""
    begun = row.items[: at - 1] if isinstance(before, str) and at else row.items[:at]
    text = before.rstrip() if isinstance(before, str) else ""
    for words in (*frame.opened, *frame.called):
        head = f"{text}{frame.first}{words} "
        yield StrictRow((*begun, head, *row.items[at:]), row.end)


def _with_free_edges(turn: TurnTree, row: StrictRow) -> StrictRow:
    """Leave the whitespace between a marker and a text to the text.

    So is that around calls if a text may stand there, too.
    """
    plain, items = has_plain_content(turn), (*row.items, _TEXT)
    meets = plain and any(not text.strip() for text in _joints(turn))
    found: list[StrictItem] = []
    for at, item in enumerate(row.items):
        if isinstance(item, PartBody):
            found.append(replace(item, edges=StrippedEdges()))
            continue
        before = row.items[at - 1] if at else _CALLS
        after_text = isinstance(before, PartBody) and before != _CALLS
        text = item.lstrip() if after_text else item
        spoken = _is(TurnPart.CONTENT, before) and bool(text)
        if items[at + 1] == _CALLS:
            text = text.rstrip() if meets and not spoken else text
        elif at + 1 < len(row.items) or plain:
            text = text.rstrip()
        # Only whitespace separates reasoning from content.
        alone = after_text and at + 1 < len(row.items) and row.items[at + 1] != _CALLS
        found.append(text or (item if alone else ""))
    last = row.items[-1] if row.items else ""
    spoken = isinstance(last, PartBody) and (last != _CALLS or _may_speak_after_calls(turn))
    ends = spoken or (plain and isinstance(last, str) and bool(last))
    end = TemplateLiteral() if ends else row.end
    return replace(row, items=tuple(filter(None, found)), end=end)


def _may_speak_after_calls(turn: TurnTree) -> bool:
    """Return whether text may follow calls: if nothing closes their section, it may be theirs."""
    calls = turn.strict.calls
    closed = calls is not None and (calls.section_close.strip() or not calls.section_open.strip())
    return bool(closed) and has_plain_content(turn)


def has_plain_content(turn: TurnTree) -> bool:
    """Return whether no marker stands around content."""
    return not turn.content.open.core and not turn.content.close.core
