r"""Render turns of the history: their ends and their reasoning once the conversation goes on.

A template may write a turn otherwise once a message follows it.
`fixtures/templates/t2-recipient-header.jinja` ends the last turn and an earlier one with

    <|start|>assistant<|channel|>final<|message|>wpzqqmqw<|return|>
    <|start|>assistant<|channel|>final<|message|>wpzqqmqw<|end|><|start|>user<|message|>bgjwfpgs<|end|>

(`wpzqqmqw` is the sentinel of content, `bgjwfpgs` marks the next user message), so `historic_end`
returns `<|end|>`. `learn_retention` asks in the same way whether reasoning is still there.
"""

from __future__ import annotations

from autoparser.analysis.core.conversation import Message, Presence, ToolResult, UserMessage
from autoparser.analysis.core.text_alignment import common_suffix, edge_units
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.turn_shape import ReasoningRetention

from .observer import Observer
from .prober import Probe


def historic_turn(observer: Observer) -> Probe:
    """Render a plain assistant turn followed by a user message."""
    message = observer.message(Presence(content=True))
    return observer.prober.probe((observer.prober.user, message, observer.next_user))


def historic_opening(observer: Observer) -> str | None:
    """Return the text before the content of an earlier turn, or None if it is not shown."""
    probe = historic_turn(observer)
    content = observer.prober.sentinels.content
    if not probe.text.startswith(observer.before) or content not in probe.text:
        return None
    return probe.text[len(observer.before) : probe.text.index(content)]


def historic_end(
    observer: Observer, probe: Probe, last: str, usual: str, header_of_turn: str
) -> str | None:
    """Return the end of a turn that another message follows, or None if it is undecidable.

    `last` is the turn's last text, `usual` its end as the last turn of the conversation.
    """
    marks = observer.prober.sentinels
    text = probe.text
    at = text.find(last)
    if not probe.rendered or at < 0:
        return None
    rest = text[at + len(last) :]
    # The text up to the next message's words consists of the turn's end and that message's header.
    following = [rest.find(word) for word in (marks.next_user, marks.answer)]
    until = min((place for place in following if place >= 0), default=-1)
    if until < 0:
        return None
    between = rest[:until]
    if between.startswith(usual):
        return usual
    if between.startswith(usual.rstrip()) and usual.strip():
        return usual.rstrip()
    if until != following[0]:
        return None
    alone = observer.prober.probe((observer.prober.user,), tools=False).text
    # The first user message shows the header of user messages.
    header = common_suffix(between, alone[: alone.find(marks.user)])
    if len(header) < len(between):
        return between[: len(between) - len(header)]
    # The message before the first user's ends like this turn; the header of a role separates them.
    units = edge_units(header_of_turn.strip())
    at = between.find(units[0]) if units else -1
    return between[:at] if at >= 0 else None


def called_turn(observer: Observer) -> Probe:
    """Render a turn of calls, answered, concluded, and followed by a user message."""
    marks = observer.prober.sentinels
    called = observer.message(Presence(reasoning=True, calls=True))
    return observer.prober.probe(
        (
            observer.prober.user,
            called,
            ToolResult(marks.answer, marks.names[0], marks.ids[0]),
            Message(marks.content),
            UserMessage(marks.next_user),
        )
    )


def following_text(observer: Observer, after: TurnPart) -> str:
    """Return the text between a turn and the next message's text: the next header."""
    marks = observer.prober.sentinels
    if after is TurnPart.CALLS:
        probe, last, following = called_turn(observer), marks.values[0], marks.answer
    else:
        probe, last, following = historic_turn(observer), marks.content, marks.next_user
    at = probe.text.find(last)
    until = probe.text.find(following, at)
    if not probe.rendered or min(at, until) < 0:
        return ""
    between = probe.text[at + len(last) : until]
    return between if after is TurnPart.CONTENT else _behind_call(observer, between)


def _behind_call(observer: Observer, between: str) -> str:
    called = observer.sample(Presence(calls=True)).text
    value = observer.prober.sentinels.values[0]
    close = called[called.rfind(value) + len(value) :]
    return between[len(close) :] if between.startswith(close) else ""


def before_next_user(observer: Observer, *, tools: bool = True) -> tuple[Probe, Probe]:
    """Render a turn with reasoning and an answer: as the last one, and before a user message."""
    answer = observer.message(Presence(reasoning=True, content=True))
    last = (observer.prober.user, answer)
    return (
        observer.prober.probe(last, tools=tools),
        observer.prober.probe((*last, observer.next_user), tools=tools),
    )


def learn_retention(observer: Observer, *, reasoning: bool, calls: bool) -> ReasoningRetention:
    """Find the later prompts that retain the reasoning of a turn."""
    if not reasoning:
        return ReasoningRetention()
    marks = observer.prober.sentinels
    tool_loop = answered_loop = None
    if calls:
        called = observer.message(Presence(reasoning=True, calls=True))
        answer = ToolResult(marks.answer, marks.names[0], marks.ids[0])
        loop = observer.prober.probe((observer.prober.user, called, answer))
        tool_loop = (marks.reasoning in loop.text) if loop.rendered else None
        # An answer and a user message end the loop; a template may drop its reasoning then.
        over = called_turn(observer)
        answered_loop = (marks.reasoning in over.text) if over.rendered else None
    return ReasoningRetention(
        tool_loop,
        _keeps_reasoning(observer, tools=True),
        answered_loop,
        _keeps_reasoning(observer, tools=False),
    )


def _keeps_reasoning(observer: Observer, *, tools: bool) -> bool | None:
    """Whether reasoning is retained after the next user message, or None if no turn shows it."""
    word = observer.prober.sentinels.reasoning
    last, later = before_next_user(observer, tools=tools)
    return (word in later.text) if later.rendered and word in last.text else None
