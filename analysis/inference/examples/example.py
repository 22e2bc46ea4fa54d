"""An example: what a model wrote, and the message that it means."""

from __future__ import annotations

from dataclasses import dataclass

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.errors import AutoparserError

__all__ = ["Example", "ExampleError"]


class ExampleError(AutoparserError):
    """Examples cannot be read, or no format explains them."""


@dataclass(frozen=True, slots=True)
class Example:
    """An output and its meaning."""

    output: str
    """What the model wrote after the prompt, with what ends the turn or without it."""
    message: Message
    prompt: str = ""
    """The rendered prompt, or any tail of it; empty: the template's default one."""
    place: str = ""
    """Where it was given, as `examples[2]`."""
