from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.switches import SwitchEffect
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import failure_words, raising_hit
from autoparser.analysis.lint.lint_renders import Render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_with
from autoparser.analysis.lint.subject import Subject

PLAIN: tuple[Json, ...] = (False, None)
OF_REASONING = frozenset({SwitchEffect.GENERATION_PROMPT, SwitchEffect.HISTORY_REASONING})


@rule("AP410")
def check(subject: Subject) -> Iterator[Hit]:
    """Set each switch that affects the prompt's end or old reasoning to false and to null."""
    unset = render_with(subject, (subject.user,), {}, generation=True)
    if not unset.rendered:
        return
    for switch in subject.analysis.switches:
        # A switch that is inserted verbatim is the caller's text, like a system message.
        if switch.inserted or not switch.changes & OF_REASONING:
            continue
        asked: list[tuple[Json, Render]] = [
            (value, render_with(subject, (subject.user,), {switch.name: value}, generation=True))
            for value in PLAIN
        ]
        # A template that raises its own error for a value accepts only certain values.
        if any(not render.rendered and not render.crashed for _, render in asked):
            continue
        for value, render in asked:
            if render.crashed:
                yield raising_hit(
                    f"a request {failure_words(render)}",
                    (render, f"{switch.name}={value}"),
                    (unset, "unset"),
                    setting={switch.name: value},
                )
                break
