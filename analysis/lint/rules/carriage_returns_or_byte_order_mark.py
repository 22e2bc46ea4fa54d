from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import show_render
from autoparser.analysis.lint.other_environments import ordinary_conversations
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

UNWANTED = {"\r": "a carriage return", "\ufeff": "a byte order mark"}


@rule("AP807", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Search for either in ordinary conversations, whose own texts have none."""
    for chat, render, _ in ordinary_conversations(subject):
        found = next((character for character in UNWANTED if character in render.text), None)
        if found is not None:
            yield Hit(
                f"the prompt of {chat} contains {UNWANTED[found]}",
                (show_render(render, chat),),
                line=render.line_of(found),
            )
