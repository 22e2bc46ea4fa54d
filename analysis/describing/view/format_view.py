"""A format in the words of reports, all of it."""

from __future__ import annotations

from dataclasses import dataclass

from autoparser.analysis.core.format import CallLimit, Formats, JsonFields, Literal, TurnFormat

from .call_markers import (
    argument_markers,
    call_id_position,
    fence_markers,
    is_array,
    json_call_markers,
    section_markers,
    tagged_call_markers,
    tool_format,
)
from .marker_registry import MarkerRegistry, marker_registry
from .modes import CallIdPosition, ContentMode, ReasoningMode, ToolFormat
from .text_modes import content_mode, reasoning_mode


@dataclass(frozen=True, slots=True)
class Flags:
    """What a format says yes or no to."""

    supports_tools: bool
    supports_parallel_calls: bool
    requires_nonnull_content: bool
    """Content that is null raises, or is printed as a word."""
    tools_array_wrapped: bool


@dataclass(frozen=True, slots=True)
class View:
    """A format in the words of reports."""

    reasoning: ReasoningMode
    content: ContentMode
    tools: ToolFormat
    call_id: CallIdPosition
    markers: MarkerRegistry
    json_fields: JsonFields | None
    flags: Flags
    preserved_tokens: tuple[str, ...]
    """Markers that a tokenizer must keep, so that they can be seen in the output."""


def view_of(formats: Formats, *, requires_nonnull_content: bool) -> View:
    """Compute the view of the format that shows most; modes go by all generation prompts."""
    format_ = formats.fullest
    calls = format_.calls
    fields = None if calls is None else calls.json_fields
    reasoning, content, mode = format_.reasoning, format_.content, content_mode(format_)
    kind = tool_format(calls, fields)
    parts: list[dict[str, str]] = []
    if reasoning is not None:
        parts.append(
            {"reasoning_start": reasoning.open.core, "reasoning_end": reasoning.close.core}
        )
    if mode is not ContentMode.PLAIN:
        parts.append({"content_start": content.open.core, "content_end": content.close.core})
    if calls is not None:
        parts.append(section_markers(calls, format_.header))
        parts.append(fence_markers(calls))
        parts.append(
            tagged_call_markers(calls) if fields is None else json_call_markers(calls, fields)
        )
        if kind is ToolFormat.TAG_WITH_TAGGED:
            parts.append(argument_markers(calls))
    markers = marker_registry(*parts)
    return View(
        reasoning=reasoning_mode(format_, formats.openings),
        content=mode,
        tools=kind,
        call_id=call_id_position(calls, fields),
        markers=markers,
        json_fields=fields,
        flags=Flags(
            supports_tools=calls is not None,
            supports_parallel_calls=calls is not None and calls.limit is CallLimit.MANY,
            requires_nonnull_content=requires_nonnull_content,
            tools_array_wrapped=calls is not None and is_array(calls),
        ),
        preserved_tokens=_preserved(markers, format_),
    )


def _preserved(markers: MarkerRegistry, format_: TurnFormat) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for text in (*markers.items().values(), *format_.stop_strings):
        found |= dict.fromkeys(Literal.of(text).markers)
    return tuple(found)
