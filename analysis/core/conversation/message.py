"""An assistant message as plain values: what a parser returns and a format writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


class Presence(NamedTuple):
    """Which parts an assistant message has; templates lay a turn out by it."""

    reasoning: bool = False
    content: bool = False
    calls: bool = False

    def __str__(self) -> str:
        """Name the parts, as reports print them."""
        return " + ".join(name for name, there in self._asdict().items() if there) or "nothing"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a function, its arguments decoded."""

    name: str
    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    id: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One assistant message. An empty text is an absent one."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()

    @property
    def presence(self) -> Presence:
        """Which parts the message has."""
        return Presence(bool(self.reasoning), bool(self.content), bool(self.calls))

    def to_dict(self) -> dict[str, Json]:
        """Return the message in the words of reports: only the parts that are there."""
        parts: dict[str, Json] = {}
        if self.reasoning:
            parts["reasoning"] = self.reasoning
        if self.content:
            parts["content"] = self.content
        if self.calls:
            parts["calls"] = [
                {"name": call.name, "arguments": dict(call.arguments), "id": call.id}
                for call in self.calls
            ]
        return parts
