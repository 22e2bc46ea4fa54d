"""The turns that a template writes after its default prompt, rendered without the engine.

Two sets of messages, each with the tools that it calls: the battery of the self-check, and the
messages of the second judge, which are none of the battery's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.message_battery import battery_messages, battery_tools, loose_tools

from .behind import MESSAGES, OFFERED, Asker, Behind
from .gate_judge import asker


@dataclass(frozen=True, slots=True)
class RenderedTurns:
    """What stands after one prompt, message by message."""

    asked: Asker
    tools: Sequence[Json]
    """As a request offers them, with schemas that all of the calls meet."""
    turns: tuple[Behind, ...]
    silent: int
    """Messages of which the template does not say what stands after its prompt."""

    @property
    def prompt(self) -> str:
        return self.asked.prompt or ""


def rendered_turns(analysis: Analysis) -> Iterator[RenderedTurns]:
    """Render both sets of messages, nothing being set."""
    plain = asker(analysis, analysis.formats.base, tools=True)
    fixed = {case.title: case.message for case in battery_messages()}
    sets = (
        (replace(plain, offer=battery_tools()), loose_tools(), fixed),
        (plain, OFFERED, dict(MESSAGES)),
    )
    for asked, tools, messages in sets:
        found = [asked.behind(title, message) for title, message in messages.items()]
        turns = tuple(each for each in found if each.silence is None)
        yield RenderedTurns(asked, tools, turns, len(found) - len(turns))


def calls_written(asked: Asker, turn: Behind) -> tuple[ToolCall, ...]:
    """Return the calls of a turn that reach its text: without one of them it is another text."""
    message = turn.message
    kept: list[ToolCall] = []
    for call in message.calls:
        others = tuple(each for each in message.calls if each is not call)
        if asked.render(structs.replace(message, calls=others)) != turn.whole:
            kept.append(call)
    return tuple(kept)


def answer(asked: Asker, content: str) -> Behind:
    """Render a turn that is this content and nothing else."""
    return asked.behind(content, Message(content))
