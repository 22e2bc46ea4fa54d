"""The modes that formats are sorted into; `docs/modes.md` explains each."""

from __future__ import annotations

from enum import StrEnum


class ReasoningMode(StrEnum):
    """How a template handles reasoning."""

    NONE = "NONE"
    TAG_BASED = "TAG_BASED"
    DELIMITER = "DELIMITER"
    FORCED_OPEN = "FORCED_OPEN"
    FORCED_CLOSED = "FORCED_CLOSED"
    TOOLS_ONLY = "TOOLS_ONLY"


class ContentMode(StrEnum):
    """How a template wraps content."""

    PLAIN = "PLAIN"
    ALWAYS_WRAPPED = "ALWAYS_WRAPPED"
    WRAPPED_WITH_REASONING = "WRAPPED_WITH_REASONING"


class ToolFormat(StrEnum):
    """How a template writes tool calls."""

    NONE = "NONE"
    JSON_NATIVE = "JSON_NATIVE"
    TAG_WITH_JSON = "TAG_WITH_JSON"
    TAG_WITH_TAGGED = "TAG_WITH_TAGGED"


class CallIdPosition(StrEnum):
    """Where a call's id stands in formats that are not JSON."""

    NONE = "NONE"
    PRE_FUNC_NAME = "PRE_FUNC_NAME"
    BETWEEN_FUNC_AND_ARGS = "BETWEEN_FUNC_AND_ARGS"
    POST_ARGS = "POST_ARGS"
