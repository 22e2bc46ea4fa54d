"""transformers' `response_template`: from a format to the document that a tokenizer carries.

The document's fields are searched for in the text after the last header of the prompt, the
prompt's own beginning of the turn included; see `utils/chat_parsing` of transformers 5.23.
"""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Formats, TurnFormat, Written
from autoparser.analysis.describing.export.export_limits import Export, ExportLimit, MessagePiece
from autoparser.analysis.describing.export.template_dialect import TemplateDialect
from autoparser.analysis.reading.expression import Request, build

from .content_field import call_opening, content_field, content_limit
from .framing import CallsField, TurnEnds
from .joints import joints_of, written_header
from .json_call_field import json_field
from .markup import markup
from .patterns import anchor, either, exact
from .reasoning_field import reasoning_field, reasoning_limit
from .row_call_field import row_field
from .surroundings import TargetSurroundings


def response_template(
    format_: TurnFormat, dialect: TemplateDialect = TemplateDialect.COMMON, eos: str = ""
) -> Export:
    """Write a format as a `response_template`, and say what that cannot express.

    `eos` is the token that ends an output whatever the template writes; empty where none does.
    transformers reads the ids of an output, and that token is one of them: after a call it would be
    content, and take the place of what was before.
    """
    format_ = format_.whole
    if eos and eos not in format_.stop_strings:
        format_ = replace(format_, stop_strings=(*format_.stop_strings, eos))
    around = TargetSurroundings(format_, build(Formats.of(format_), Request()), joints_of(format_))
    calls, limits = _calls(around)
    around = replace(around, calls=calls)
    fields: dict[str, Json] = {}
    without = reasoning_limit(around)
    block = around.turn.reasoning
    if block is not None and without is None:
        around = replace(around, reasoning=block)
        fields[dialect.reasoning] = reasoning_field(around, block)
    fields["content"] = content_field(around, markup(around), joins=dialect.joins)
    if calls is not None:
        closing = anchor("close", calls.close) if calls.close else {}
        fields["tool_calls"] = {
            **anchor("open", call_opening(around)),
            **closing,
            **calls.settings,
        }
    document: dict[str, Json] = {
        "version": 1,
        "defaults": {"role": "assistant"},
        **_start_anchor(format_),
        "fields": fields,
    }
    return Export(
        document,
        tuple(each for each in (without, content_limit(around), *limits) if each is not None),
        needs_tools=calls is not None and calls.needs_tools,
        plain_names=calls is not None and calls.plain_names,
        dialect=dialect,
    )


def _calls(around: TargetSurroundings) -> tuple[CallsField | None, tuple[ExportLimit, ...]]:
    calls = around.format.calls
    if calls is None:
        return None, ()
    fields = calls.json_fields
    end = TurnEnds(around.end, around.ends)
    found = None if fields is None else json_field(calls, fields, end)
    if found is None:
        found = row_field(calls, around.begins, end)
    if found is None:
        return None, (
            ExportLimit(MessagePiece.CALLS, "nothing before the arguments tells the name"),
        )
    return found, found.limits


def _start_anchor(format_: TurnFormat) -> dict[str, str]:
    """Match what stands right before the turn, at the end of the prompt."""
    header = written_header(format_).strip() and format_.header
    openings = sorted(format_.openings, key=lambda opening: -len(opening.text))
    known = [opening.text for opening in openings if opening.text]
    anchors: dict[str, None] = {exact(header): None} if header else {}
    for opening in openings:
        text = opening.text
        begun = any(layout.literals[0].startswith(text) for layout in format_.layouts.values())
        if opening.written is Written.OTHER and text and not begun:
            # No turn has it, so it is not part of the message.
            anchors[exact(text)] = None
        elif not header or header not in text:
            at_end = rf"(?={exact(text)}\Z)" if text else r"\Z"
            others = either(exact(other) for other in known) if not text else ""
            anchors[f"(?<!{others}){at_end}" if others else at_end] = None
    # The longest first: a text that begins with the header goes on after it.
    return anchor("start_anchor", either(sorted(anchors, key=len, reverse=True)) or r"\Z")
