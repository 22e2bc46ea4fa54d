from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import show_render
from autoparser.analysis.lint.other_environments import engines_at
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP804", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Render conversations of each kind, and search for the sandbox's own error."""
    for chat, dialogue, tools in (
        ("a chat", subject.chat, False),
        ("a chat with tools", subject.chat, True),
        ("a tool call", subject.loop, True),
    ):
        played = subject.play(dialogue, tools=tools, generation=True)
        render = subject.as_transformers(played, tools=tools, generation=True)
        if render.error is not None and render.error.forbidden:
            yield Hit(
                f"fails on {chat} in the sandbox of transformers: {render.reason}",
                (show_render(render, chat),),
                line=render.error.line,
                engines=engines_at(subject, render.error.line),
                cause=render.cause,
            )
