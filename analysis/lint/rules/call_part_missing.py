from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import ToolCall
from autoparser.analysis.lint.call_texts import CallSpan, call_spans
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_last_call
from autoparser.analysis.lint.subject import Subject


@rule("AP532", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Search for names and keys of calls where their values are written."""
    if subject.format.calls is None:
        yield from _nameless(subject)
        return
    for played in subject.matrix:
        for span in () if played.conversation.other_form else call_spans(played):
            part = _missing_part(span)
            if part:
                line = played.render.line_at(span.texts[0].start)
                yield played.hit(f"{part} is not rendered in '{played.name}'", line)


def _nameless(subject: Subject) -> Iterator[Hit]:
    """Search for a call of which only the arguments are written."""
    call, render = subject.call(), render_last_call(subject)
    value = subject.marks.values[0]
    behind = render.text.partition(subject.marks.user)[2]
    if value in behind and call.name not in behind and call.id not in behind:
        yield Hit(
            "the name of a called function is never rendered",
            (show_render(render, "a call"),),
            line=render.line_of(value),
        )


def _missing_part(span: CallSpan) -> str:
    """Return the part of calls that is missing around their values; empty if none is missing."""
    calls: list[ToolCall] = []
    for text in span.texts:
        call = text.spoken.call
        if call is not None and call not in calls:
            calls.append(call)
    for call in calls:
        # An id may contain the name, but that depends on the engine that makes it.
        if call.name not in span.text and call.id not in span.text:
            return "the name of a called function"
        if any(key not in span.text for key in call.arguments):
            return "the name of an argument"
    return ""
