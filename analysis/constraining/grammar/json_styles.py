"""What of a notation is JSON, so that a value can be left to a writer of JSON."""

from __future__ import annotations

from autoparser.analysis.core.format import Container, Escape, JsonType, Notation, Slot, Text

from .rules import JsonStyle

_QUOTED = frozenset({Escape.JSON, Escape.JSON_ASCII})


def json_style(notation: Notation) -> JsonStyle | None:
    """Say how the JSON of a notation is spaced; None where not every value in it is JSON."""
    if not notation.is_json or notation.string.close != '"' or notation.number != Text():
        return None
    members = object_style(notation.object, notation)
    items = notation.array
    if members is None or not _is_array(items) or items.values is not None:
        return None
    if items.separator != members.item_separator or items.indent != members.indent:
        return None
    return members


def object_style(container: Container, outer: Notation) -> JsonStyle | None:
    """Say how an object is spaced, where it is JSON and what it holds is spaced alike."""
    entry = container.entry
    if (
        (container.open, container.close, container.empty) != ("{", "}", "{}")
        or (container.key.open, container.key.close) != ('"', '"')
        or container.key.escape not in _QUOTED
        or container.typed
        or len(entry) != 3  # noqa: PLR2004 - key, colon, value
        or (entry[0], entry[2]) != (Slot.KEY, Slot.VALUE)
    ):
        return None
    style = JsonStyle(
        container.separator,
        str(entry[1]),
        ascii_only=outer.string.escape is Escape.JSON_ASCII,
        indent=container.indent,
    )
    values = container.values
    if values is not None and json_style(values) != style:
        return None
    if values is None and outer.object is not container and json_style(outer) != style:
        return None
    return style


def _is_array(container: Container) -> bool:
    return (
        (container.open, container.close, container.empty) == ("[", "]", "[]")
        and container.entry == (Slot.VALUE,)
        and not container.typed
    )


def kind_style(notation: Notation, kind: JsonType) -> JsonStyle | None:
    """Say how values of one type are spaced, where they are written as JSON."""
    plain = JsonStyle(ascii_only=notation.string.escape is Escape.JSON_ASCII)
    match kind:
        case JsonType.STRING:
            text = notation.string
            quoted = (text.open, text.close) == ('"', '"') and text.escape in _QUOTED
            return plain if quoted and text.guard is None else None
        case JsonType.BOOLEAN:
            return plain if (notation.true, notation.false) == ("true", "false") else None
        case JsonType.NULL:
            return plain if notation.null == "null" else None
        case JsonType.INTEGER | JsonType.NUMBER:
            return plain if notation.number == Text() else None
        case JsonType.ARRAY:
            inner = notation.array.values or notation
            return json_style(inner) if _is_array(notation.array) else None
        case JsonType.OBJECT:
            return object_style(notation.object, notation)
