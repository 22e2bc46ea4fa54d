from __future__ import annotations

from typing import Any


def detect_reasoning_pattern(template: str) -> tuple[bool, None]:
    del template
    return False, None


def detect_tool_call_parser(template: str, tokenizer: Any, config: Any, forced: bool) -> str:
    del template, config, forced
    return "quick" if "<tool_call>" in tokenizer.get_vocab() else "blind"


def detect_reasoning_parser(template: str, tokenizer: Any, config: Any, forced: bool) -> str:
    del template, tokenizer, config, forced
    return "greedy"
