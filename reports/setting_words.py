"""Settings and values in words."""

from __future__ import annotations

import json
from collections.abc import Mapping

from rich.text import Text

from autoparser.analysis.core.conversation import Json

from .visible import visible

__all__ = ["DOUBT_STYLE", "UNCONFIRMED", "doubt", "setting_words", "value_words"]

UNCONFIRMED = "not confirmed: only the prompt's words say so"
DOUBT_STYLE = "yellow"


def doubt() -> Text:
    """Return the mark of what no render confirms."""
    return Text(f" ({UNCONFIRMED})", style=DOUBT_STYLE)


def value_words(value: Json) -> str:
    """Return a value as JSON, a text without its quotes where that is clear."""
    if isinstance(value, str) and value and value.replace("_", "").replace("-", "").isalnum():
        return visible(value)
    return visible(json.dumps(value, ensure_ascii=False))


def setting_words(setting: Mapping[str, Json]) -> str:
    """Return the values of switches as a caller would set them."""
    return ", ".join(f"{visible(name)}={value_words(value)}" for name, value in setting.items())
