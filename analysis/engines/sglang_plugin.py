"""SGLang's plugin: the entry point `sglang.srt.plugins` calls `register` in each of its processes.

This module alone imports SGLang, and not before it is called.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .sglang_detectors import ReasoningDetector, SglangResults, ToolDetector

NAME = "autoparser"
"""What `--tool-call-parser` and `--reasoning-parser` are given."""


def register() -> None:
    """Register both detectors."""
    core: Any = import_module("sglang.srt.function_call.core_types")
    base: Any = import_module("sglang.srt.function_call.base_format_detector")
    calls: Any = import_module("sglang.srt.function_call.function_call_parser")
    thoughts: Any = import_module("sglang.srt.parser.reasoning_parser")
    results = SglangResults(
        calls=core.StreamingParseResult,
        call=core.ToolCallItem,
        reasoning=thoughts.StreamingParseResult,
        tag=_tag,
    )
    calls.FunctionCallParser.ToolCallParserEnum[NAME] = _class_of(
        "AutoparserToolDetector", ToolDetector, base.BaseFormatDetector, results
    )
    thoughts.ReasoningParser.DetectorMap[NAME] = _class_of(
        "AutoparserReasoningDetector",
        ReasoningDetector,
        thoughts.BaseReasoningFormatDetector,
        results,
    )


def _class_of(name: str, ours: type, base: type, results: SglangResults) -> type:
    return type(name, (ours, base), {"results": results})


def _tag(tag_value: object) -> object:
    """Return a structural tag as xgrammar's class, which SGLang brings."""
    xgrammar: Any = import_module("xgrammar")
    return xgrammar.StructuralTag.model_validate(tag_value)
