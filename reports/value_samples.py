"""How values of each type are written, by samples."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text

from autoparser.analysis.core.call_format import ArgumentFormat
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema_keywords import JsonType, type_of

from .blocks import joined
from .visible import quoted

__all__ = ["value_samples"]

SAMPLES: Mapping[JsonType, Json] = {
    JsonType.STRING: "text",
    JsonType.INTEGER: 3,
    JsonType.BOOLEAN: True,
    JsonType.NULL: None,
    JsonType.ARRAY: [1, "a"],
    JsonType.OBJECT: {"k": "v"},
}


def value_samples(arguments: ArgumentFormat) -> Text:
    """Write one value of each type as the template writes it."""
    notation = arguments.members.values or arguments.values
    texts: list[Text] = []
    dropped: list[str] = []
    for kind, value in SAMPLES.items():
        if kind in arguments.refused:
            continue
        if arguments.members.row(type_of(value)) is None:
            dropped.append(kind.value)
        else:
            texts.append(quoted(notation.write(value, arguments.margin)))
    written = joined(texts, " ")
    if dropped:
        written.append(f" (not written: {', '.join(dropped)})")
    return written
