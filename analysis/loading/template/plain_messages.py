"""What transformers 5.23.0 makes of messages, tools and switches before a render.

Facts from the wheel (``apply_chat_template`` and ``utils/chat_template_utils.py``): message
keys whose value is None are dropped; the first reasoning field that is set is copied to the
standard one and to the one that some templates read instead; and all that a template sees
is rebuilt from plain JSON types, any other object becoming a placeholder with its type's
name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from autoparser.analysis.core.value_kind import is_mapping, is_row

__all__ = ["REASONING_FIELDS", "plain", "prepared_messages", "prepared_tools"]

REASONING_FIELDS = ("reasoning_content", "thinking", "reasoning")
"""The message fields that hold reasoning, the standard one first, as transformers asks them."""

Message = dict[str, object]


def prepared_messages(messages: Sequence[object]) -> list[Message]:
    """Return plain copies of ``messages`` with None dropped and the reasoning fields filled.

    Raises ValueError for an empty conversation, TypeError for a message that is not a mapping,
    dataclass or pydantic model.
    """
    if not messages:
        raise ValueError("the conversation is empty: pass at least one message")
    return [_prepared_message(message) for message in messages]


def prepared_tools(tools: Sequence[object] | None) -> list[object] | None:
    """Return plain copies of the tools' JSON schemas; None stays None.

    Raises TypeError for anything but a mapping: Python functions are not turned into schemas.
    """
    if tools is None:
        return None
    for tool in tools:
        if not isinstance(tool, Mapping):
            kind = type(tool).__name__
            raise TypeError(f"a tool must be a dict with its JSON schema, not a {kind}")
    return [plain(tool) for tool in tools]


def plain(value: object) -> object:
    """Rebuild ``value`` from plain JSON types, a placeholder with the type's name for others."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    # Subclasses such as enums carry methods of their own, so only their value is kept.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    return _plain_container(value)


def _plain_container(value: object) -> object:
    if is_mapping(value):
        return {plain(key): plain(item) for key, item in value.items()}
    if is_row(value):
        items = map(plain, value)
        return [*items] if isinstance(value, list) else (*items,)
    if _is_numpy_scalar(value):
        return plain(getattr(value, "item")())  # noqa: B009 - numpy is not imported here
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: plain(getattr(value, field.name)) for field in fields}
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return plain(dump())
    return f"<{type(value).__name__}>"


def _is_numpy_scalar(value: object) -> bool:
    return any(
        base.__module__ == "numpy" and base.__name__ == "generic" for base in type(value).__mro__
    )


def _prepared_message(message: object) -> Message:
    rebuilt = plain(message)
    if not is_mapping(rebuilt):
        kind = type(message).__name__
        raise TypeError(f"a message must be a dict with a role, not a {kind}")
    kept = {key: value for key, value in rebuilt.items() if value is not None}
    standard, other, _ = REASONING_FIELDS
    reasoning = next((kept[field] for field in REASONING_FIELDS if field in kept), None)
    if reasoning is None:
        return kept
    return {other: reasoning, **kept, standard: reasoning}
