"""A turn as the template writes it under each value of each switch, one at a time.

What is shown is rendered; no format is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json, Message, Tool, ToolCall
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.inference.check.template_turns import QUESTION, WrittenTurn

__all__ = ["SwitchView", "switch_views"]


@dataclass(frozen=True, slots=True)
class SwitchView:
    """What the template writes under one setting."""

    setting: Mapping[str, Json]
    """Empty: nothing is set but what the template cannot do without."""
    turn: WrittenTurn
    prompt: str
    """What stands after the question, in the prompt that the model goes on from."""


def switch_views(analysis: Analysis, tools: Sequence[Tool]) -> tuple[SwitchView, ...]:
    """Render an answer with all that the template writes, first with nothing set.

    A setting under which the prompt cannot be made is left out. There are no views where there is
    no switch.
    """
    if not analysis.switches:
        return ()
    message = _message(analysis)
    settings = [
        {},
        *({switch.name: value} for switch in analysis.switches for value in switch.values),
    ]
    offered = tools if message.calls else ()
    views = (_view(analysis, message, offered, setting) for setting in settings)
    return tuple(view for view in views if view is not None)


def _message(analysis: Analysis) -> Message:
    format_ = analysis.formats.fullest
    call = ToolCall("get_weather", {"city": "Oslo", "days": 1})
    return Message(
        "Let me look.",
        "" if format_.reasoning is None else "The user asks about Oslo.",
        () if format_.calls is None else (call,),
    )


def _view(
    analysis: Analysis, message: Message, tools: Sequence[Tool], setting: Mapping[str, Json]
) -> SwitchView | None:
    try:
        turns = analysis.turns(
            [{"type": "function", "function": tool} for tool in tools],
            chat_template_kwargs=setting,
        )
        turn = turns.written(message)
    except AutoparserError:
        return None
    return SwitchView(setting, turn, turn.prompt.rpartition(QUESTION)[2])
