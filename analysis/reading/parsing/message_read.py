"""What was read as the message that goes into a history."""

from __future__ import annotations

import json

from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.reading.text import SpanKind

from .parsed_message import ParsedMessage


def message_of(parsed: ParsedMessage, text: str = "") -> Message:
    """Return the message that was read; a call that is written without an id has none.

    With the `text` that it was read from, parts of whitespace alone, which a reader drops, are in
    it. Raises ValueError for arguments that are not JSON.
    """
    return Message(
        parsed.content or _part(parsed, text, SpanKind.CONTENT),
        parsed.reasoning_content or _part(parsed, text, SpanKind.REASONING),
        tuple(
            ToolCall(call.name, json.loads(call.arguments), call.id) for call in parsed.tool_calls
        ),
    )


def _part(parsed: ParsedMessage, text: str, kind: SpanKind) -> str:
    return "".join(text[span.start : span.end] for span in parsed.spans if span.kind is kind)
