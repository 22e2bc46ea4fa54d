"""Define the interface of an engine in the worker, and the form of readings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

USER = {"role": "user", "content": "Please look into it."}
Reading = Mapping[str, Any]
"""`reasoning`, `content` and `calls`, each a name and its arguments as text."""


class AskedEngine(ABC):
    """An engine whose parsers read texts."""

    name: str
    """The engine, e.g. `"vllm"`."""
    steps: Sequence[int] = (1, 6)
    """Possible numbers of tokens per delta in its streams."""

    @abstractmethod
    def parsers(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the names of its parsers of calls and of reasoning."""

    @abstractmethod
    def load(self, loaded: Mapping[str, Any]) -> Reading | None:
        """Store the tools; return the choice of `auto`, or None if the engine has no `auto`."""

    def left_out(self, loaded: Mapping[str, Any]) -> Mapping[int, str]:
        """Return why the engine cannot read a text, by index of the text."""
        del loaded
        return {}

    @abstractmethod
    def reader(
        self, tool: str | None, reasoning: str | None
    ) -> Callable[[Mapping[str, Any], int], Reading]:
        """Return a function that reads a text by two parsers, in deltas of that many tokens."""


class JoinedMessage:
    """A message that comes in parts; an absent part of it is None or empty."""

    def __init__(self) -> None:
        self.reasoning = self.content = ""
        self._calls: dict[int, list[str]] = {}

    def add(self, reasoning: str | None, content: str | None) -> None:
        """Append to the texts."""
        self.reasoning += reasoning or ""
        self.content += content or ""

    def add_call(self, index: int, name: str | None, arguments: str | None) -> None:
        """Append to the call of this index."""
        call = self._calls.setdefault(index, ["", ""])
        call[0] += name or ""
        call[1] += arguments or ""

    def reading(self) -> Reading:
        """Return the message as far as it has come."""
        return message(self.reasoning, self.content, map(tuple, self._calls.values()))


def message(
    reasoning: str | None, content: str | None, calls: Iterable[Sequence[str | None]]
) -> Reading:
    """Return a reading; absent parts are empty."""
    named = [[name or "", arguments] for name, arguments in calls]
    return {"reasoning": reasoning or "", "content": content or "", "calls": named}
