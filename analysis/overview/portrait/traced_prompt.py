"""An invented conversation rendered step by step, for the template's source beside its prompt."""

from __future__ import annotations

from collections.abc import Sequence

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Entry, Message, Tool, ToolCall, ToolResult, User
from autoparser.analysis.history.roundtrip.replay import ReplayStage
from autoparser.analysis.loading.template import RenderTrace

__all__ = ["traced_prompt"]

_CITY = "Oslo"
_ID = "aB3dE6gH1"
"""Nine letters and digits, as some templates demand."""


def traced_prompt(analysis: Analysis, tools: Sequence[Tool]) -> RenderTrace:
    """Render a conversation with all that the template writes: reasoning, a call, its result.

    Where the template fails on that, one of a question and an answer.
    """
    stage = ReplayStage(analysis)
    setting = analysis.formats.fullest.setting
    writes_calls = bool(tools) and analysis.formats.fullest.calls is not None
    whole = stage.trace(tuple(_entries(calls=writes_calls)), tuple(tools), setting)
    if whole.failure is None:
        return whole
    return stage.trace(tuple(_entries(calls=False)), (), setting)


def _entries(*, calls: bool) -> Sequence[Entry]:
    question = User(f"What is the weather in {_CITY}?")
    if not calls:
        return [question, Message("It is sunny."), User("Thank you.")]
    call = ToolCall("get_weather", {"city": _CITY, "days": 1}, _ID)
    return [
        question,
        Message("", f"The user asks about {_CITY}.", (call,)),
        ToolResult('{"sky": "clear"}', call.name, call.id),
    ]
