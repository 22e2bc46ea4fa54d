"""The registry of markers, read off a format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class MarkerRegistry:
    """Every marker by its name; cores, without the whitespace at their edges."""

    reasoning_start: str = ""
    reasoning_end: str = ""
    content_start: str = ""
    content_end: str = ""
    tool_section_start: str = ""
    tool_section_end: str = ""
    per_call_start: str = ""
    per_call_end: str = ""
    call_separator: str = ""
    func_name_prefix: str = ""
    func_name_suffix: str = ""
    func_close: str = ""
    args_start: str = ""
    args_end: str = ""
    arg_name_prefix: str = ""
    arg_name_suffix: str = ""
    arg_value_prefix: str = ""
    arg_value_suffix: str = ""
    arg_separator: str = ""
    call_id_prefix: str = ""
    call_id_suffix: str = ""
    code_block_marker: str = ""
    code_block_language: str = ""
    function_namespace: str = ""

    def items(self) -> Mapping[str, str]:
        """Return the markers that are there, by name."""
        return {name: text for name, text in asdict(self).items() if text}


def marker_registry(*parts: Mapping[str, str]) -> MarkerRegistry:
    """Put the markers of the parts together, cut to their cores."""
    markers: dict[str, str] = {}
    for part in parts:
        markers |= {name: text.strip() for name, text in part.items()}
    return MarkerRegistry(**markers)
