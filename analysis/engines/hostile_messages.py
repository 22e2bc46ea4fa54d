"""Messages that are hard to read: markers where they are text, calls that are only quoted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autoparser.analysis.core.battery import MIXED_TOOL, BatteryCase
from autoparser.analysis.core.conversation import Message, ToolCall

MOST_MARKERS = 8
_ID = "aB3dE6gH1"
_ANSWER = "Nothing is to be done."


def hostile_messages(
    markers: Sequence[str], reasoning_end: str, call: str
) -> Iterator[BatteryCase]:
    """Return the messages for a template's markers; `call` is a call as it writes one.

    Which of them can be told from other messages at all is for the caller to find out.
    """
    for marker in markers[:MOST_MARKERS]:
        for title in (f"the marker {marker} in a string", f"{marker} alone in a string"):
            text = marker if "alone" in title else f"It says {marker} here."
            yield BatteryCase(title, Message(calls=(ToolCall(MIXED_TOOL, {"title": text}, _ID),)))
    if call:
        real = (ToolCall(MIXED_TOOL, {"title": "real"}, _ID),)
        yield BatteryCase("a call quoted in reasoning", Message(_ANSWER, f"I could say {call}"))
        yield BatteryCase(
            "a call quoted in reasoning before another", Message("", f"Not {call}, but:", real)
        )
    if reasoning_end:
        yield BatteryCase(
            "content that quotes the end of reasoning",
            Message(f"It ends with {reasoning_end} there.", "The user asks for a tag."),
        )
