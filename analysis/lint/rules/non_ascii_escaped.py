from __future__ import annotations

import json
from collections.abc import Iterator

from autoparser.analysis.core.conversation import tool_for
from autoparser.analysis.lint.call_texts import render_call
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders, show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_offer
from autoparser.analysis.lint.subject import Subject

LETTERS = "é日ж"


@rule("AP512")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a string of such letters in a call, then in the description of a tool."""
    marks = subject.marks
    render = render_call(subject, **{marks.keys[0]: f"{marks.values[0]}{LETTERS}"})
    escaped = json.dumps(LETTERS)[1:-1]
    if render.rendered and LETTERS not in render.text and escaped in render.text:
        yield Hit(
            f"{LETTERS} in a call is rendered as {escaped}",
            (show_render(render, f"a call with {LETTERS}"),),
            line=render.line_of(escaped),
        )
    if LETTERS not in render.text:
        return
    described = tool_for(marks.names[0], f"{marks.values[1]} {LETTERS}", {marks.keys[0]: "string"})
    offer = render_offer(subject, described)
    if offer.rendered and LETTERS not in offer.text and escaped in offer.text:
        yield Hit(
            f"{LETTERS} in a tool's description is rendered as {escaped}, but unescaped in calls",
            (compare_renders(offer, f"a tool with {LETTERS}", render, f"a call with {LETTERS}"),),
            line=offer.line_of(escaped),
        )
