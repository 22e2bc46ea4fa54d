"""transformers' `response_template`: from a format to the document that a tokenizer carries.

The document's fields are searched for in the text behind the last header of the prompt, the
prompt's own beginning of the turn included; see `utils/chat_parsing` of transformers 5.23.
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.conversation import Json
from autoparser.analysis.export.limits import Export, Limit, Piece
from autoparser.analysis.expression import Request, Turn, build
from autoparser.analysis.format import TurnFormat
from autoparser.analysis.view import json_fields

from .framing import CallsField
from .joints import joints_of
from .json_call import json_field
from .patterns import anchor, either, exact
from .row_call import row_field
from .text import (
    Surroundings,
    call_opening,
    content_field,
    markup,
    reasoning_field,
    turn_begins,
    turn_ends,
)


def response_template(format_: TurnFormat) -> Export:
    """Write a format as a `response_template`, and say what that cannot express."""
    turn = build(format_, Request())
    calls, limits = _calls(format_, turn)
    around = Surroundings(format_, turn, joints_of(format_), calls)
    fields: dict[str, Json] = {}
    reasoning, reasoning_limits = reasoning_field(around)
    if reasoning is not None:
        fields["reasoning_content"] = reasoning
    content, content_limits = content_field(around)
    fields["content"] = content
    if calls is not None:
        closing = anchor("close", calls.close) if calls.close else {}
        fields["tool_calls"] = {
            **anchor("open", call_opening(around)),
            **closing,
            **calls.settings,
        }
    rest = markup(around)
    if rest:
        # An empty match closes it at once: what it took becomes an empty field, which is dropped.
        fields["markup"] = {**anchor("open", rest), "close_pattern": ""}
    document: dict[str, Json] = {
        "version": 1,
        "defaults": {"role": "assistant"},
        **_start_anchor(format_, turn),
        "fields": fields,
    }
    return Export(
        document,
        (*reasoning_limits, *content_limits, *limits),
        needs_tools=calls is not None and calls.needs_tools,
    )


def _calls(format_: TurnFormat, turn: Turn) -> tuple[CallsField | None, tuple[Limit, ...]]:
    calls = format_.calls
    if calls is None:
        return None, ()
    begins, end = turn_begins(format_, turn), turn_ends(turn) or r"\Z"
    fields = json_fields(calls)
    found = None if fields is None else json_field(calls, fields, end)
    if found is None:
        found = row_field(calls, begins, end)
    if found is None:
        return None, (Limit(Piece.CALLS, "nothing before the arguments tells the name"),)
    return found, found.limits


def _start_anchor(format_: TurnFormat, turn: Turn) -> dict[str, str]:
    """Match what stands right before the turn, at the end of the prompt."""
    header = format_.header
    texts = sorted({opening.text for opening in format_.openings}, key=len, reverse=True)
    if header.strip() and all(header in text for text in texts):
        return anchor("start_anchor", exact(header))
    return anchor("start_anchor", either(_anchors(header, texts)))


def _anchors(header: str, texts: list[str]) -> Iterator[str]:
    if header.strip():
        yield exact(header)
    without = [text for text in texts if text and not (header.strip() and header in text)]
    yield from (rf"(?={exact(text)}\Z)" for text in without)
    if len(without) < len(texts) or not texts:
        known = either(exact(text) for text in texts if text)
        yield rf"(?<!{known})\Z" if known else r"\Z"
