"""A template's variables as texts, and those that are not switches."""

from __future__ import annotations

import json

from autoparser.analysis.core.conversation import Json

__all__ = ["PASSED", "variable_value"]

PASSED = ("messages", "tools", "documents", "add_generation_prompt")
"""Variables that every render passes itself."""

_WORDS: dict[str, Json] = {"True": True, "False": False, "None": None}


def variable_value(text: str) -> Json:
    """Return the value that a text stands for: JSON, Python's and YAML's words, else the text."""
    try:
        value: Json = json.loads(text)
    except ValueError:
        return _WORDS.get(text, text)
    return value
