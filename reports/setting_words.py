"""Settings, values and evidence in words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.verdicts import EvidenceKind

from .visible import visible

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


_KINDS = {
    EvidenceKind.RENDER: "the template's renders",
    EvidenceKind.EXAMPLE: "examples",
    EvidenceKind.OUTPUT: "outputs",
    EvidenceKind.WORDS: "the prompt's words alone",
}
_PARTS = {
    TurnPart.REASONING: "reasoning",
    TurnPart.CONTENT: "content",
    TurnPart.CALLS: "tool calls",
}


def evidence_words(evidence: Iterable[tuple[TurnPart, EvidenceKind]]) -> str:
    """Return what is known of each part, and from what; empty without any part.

    Example: `content: the template's renders; reasoning, tool calls: examples`.
    """
    parts: dict[EvidenceKind, list[str]] = {}
    for part, kind in evidence:
        parts.setdefault(kind, []).append(_PARTS[part])
    return "; ".join(f"{', '.join(names)}: {_KINDS[kind]}" for kind, names in parts.items())
