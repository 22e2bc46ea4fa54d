"""The modes of reasoning and content."""

from __future__ import annotations

from collections.abc import Sequence

from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.format import Opening, Part, TurnFormat, Written

from .modes import ContentMode, ReasoningMode


def reasoning_mode(format_: TurnFormat, openings: Sequence[Opening]) -> ReasoningMode:
    """Sort the reasoning by where it shows and by what the generation prompts write."""
    reasoning = format_.reasoning
    if reasoning is None:
        return ReasoningMode.NONE
    shown = [
        presence for presence, layout in format_.layouts.items() if Part.REASONING in layout.parts
    ]
    written = {opening.written for opening in openings}
    if Written.REASONING_OPEN in written:
        if Written.REASONING_CLOSED in written:
            return ReasoningMode.FORCED_CLOSED
        return ReasoningMode.FORCED_OPEN
    if shown and all(presence.calls for presence in shown):
        return ReasoningMode.TOOLS_ONLY
    return ReasoningMode.TAG_BASED if reasoning.open.core else ReasoningMode.DELIMITER


def content_mode(format_: TurnFormat) -> ContentMode:
    """Sort the content by what opens it: alone, or only after reasoning."""
    opening = format_.content.open.core
    if not opening:
        return ContentMode.PLAIN
    alone = format_.layouts.get(Presence(content=True))
    before = "" if alone is None else alone.literals[0].removeprefix(format_.header)
    wrapped = opening in before
    return ContentMode.ALWAYS_WRAPPED if wrapped else ContentMode.WRAPPED_WITH_REASONING
