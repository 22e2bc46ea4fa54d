from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from autoparser.analysis.lint.conversation_matrix import PlayedConversation
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import Render, compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.templates.edit_kinds import kept_values
from autoparser.analysis.templates.template_edits import apply_edits, in_newlines

MOST_VALUES = 8
"""The maximum number of tried values; each costs the renders of the matrix."""


@rule("AP120")
def check(subject: Subject) -> Iterator[Hit]:
    """Keep each value that a loop sets, and compare the prompts."""
    text = in_newlines(subject.template.text)
    seen: set[str] = set()
    for kept in islice(kept_values(text), MOST_VALUES):
        if kept.name in seen:
            continue
        other = _first_other(subject, apply_edits(text, kept.edits))
        if other is None:
            continue
        seen.add(kept.name)
        played, render = other
        kept_label = f"with {kept.name} kept"
        yield Hit(
            f"the value of {quote_text(kept.name)} is lost at the end of the loop that"
            f" sets it; with the value kept, the prompt of '{played.name}' differs",
            (compare_renders(played.render, played.name, render, kept_label),),
            line=text.count("\n", 0, kept.at) + 1,
            setting=played.conversation.setting,
        )


def _first_other(subject: Subject, text: str) -> tuple[PlayedConversation, Render] | None:
    """Return the smallest conversation that an edited text of the template renders differently."""
    play = subject.edited_player(text)
    for played in subject.matrix:
        render = play(played.conversation)
        if render.rendered and played.render.rendered and render.text != played.render.text:
            return played, render
    return None
