"""Kinds of turns: the keys under which a bridge stores its findings.

The text of a turn is not part of its kind: two turns with reasoning and one call, between the same
prompt and the same roles, are bridged in the same way.
"""

from __future__ import annotations

from typing import NamedTuple

from autoparser.analysis.core.conversation import Presence


class AnsweredKind(NamedTuple):
    """Decides whether the turn's reasoning stays only after an answer."""

    content: bool
    """Whether the turn has content, such as `"Sunny."`."""
    calls: bool
    """Whether the turn has calls, such as one of `get_weather`."""
    roles: tuple[str, ...]
    """The roles of the new messages, e.g. `("tool", "user")`."""
    prompt: str
    """The base's prompt, such as `"<|im_start|>user:pkvrbnwj<|im_end|><|im_start|>assistant:"`."""


class TurnKind(NamedTuple):
    """The facts on which both kinds of keys depend."""

    presence: Presence
    """The parts of the turn, such as `Presence(reasoning=True, content=False, calls=True)`."""
    lead: str | None
    """The text before the content or the calls of a turn that has nothing else, such as
    `"</think>"`."""
    number: int | None
    """The number of the first call, such as `7`, if calls are counted through the conversation."""
    roles: tuple[str, ...]
    """The roles of the new messages, e.g. `("user",)`."""
    force: bool
    """Whether changes that can be kept are kept, as with `force=True`."""


class SettledKind(NamedTuple):
    """Decides whether the turn stays after each base that the prompt may end with."""

    turn: TurnKind
    """The turn, such as one whose lead is `"</think>"`."""
    calls: int
    """How many calls the turn has, such as `1`."""
    prompts: tuple[str, ...]
    """The prompts of the bases."""


class PlacedKind(NamedTuple):
    """Decides after which shorter base the turn is bridged in the same way."""

    turn: TurnKind
    """The turn, such as one whose lead is `"</think>"`."""
    prompt: str
    """The prompt of the whole base."""
    names: tuple[str, ...]
    """The tools that the turn calls and the new messages name, in order, such as
    `("get_weather", "get_weather")`."""


class KeptKind(NamedTuple):
    """Decides whether the turn stays as it was when messages follow it."""

    presence: Presence
    """The parts of the turn, such as `Presence(reasoning=True, content=False, calls=True)`."""
    calls: int
    """How many calls the turn has, such as `1`."""
    lead: str
    r"""The text between the prompt and the turn's last text, such as
    `"<think>\ndxdpspvg\n</think>\n\n"`."""
    prompt: str
    r"""The base's prompt, such as `"<|im_start|>u\npkvrbnwj<|im_end|>\n<|im_start|>a\n"`."""
    roles: tuple[str, ...]
    """The roles of the new messages, e.g. `("user",)`."""


class OwnedKind(NamedTuple):
    """Decides which message owns each part of the added text."""

    presence: Presence
    """The parts of the turn, such as `Presence(reasoning=True, content=True, calls=False)`."""
    roles: tuple[object, ...]
    """The roles of the new messages, e.g. `("user",)`."""


class FateKind(NamedTuple):
    """Decides what happens to the turns before the last one."""

    presence: Presence
    """The parts of the turn, such as `Presence(reasoning=True, content=False, calls=True)`."""
    roles: tuple[str, ...]
    """The roles of the new messages, e.g. `("user",)`."""
    tools: bool
    """Whether tools are offered, such as `get_weather`."""
    ends_with_result: bool
    """Whether the prompt ends with the result of a call, such as `"xzvmcjnz"`."""
