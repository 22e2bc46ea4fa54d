from __future__ import annotations

import json
from collections.abc import Iterator

from autoparser.analysis.core.message_shape import ToolForm
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import quote_text, show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_offer
from autoparser.analysis.lint.subject import Subject


@rule("AP540")
def check(subject: Subject) -> Iterator[Hit]:
    """Read two tools as JSON documents, and look at what stands between them."""
    if subject.shape.tools is ToolForm.NONE:
        return
    render = render_offer(subject, *subject.functions[:2])
    first, second = (render.text.find(name) for name in subject.marks.names[:2])
    if not 0 <= first < second:
        return
    ends = (_document_end(render.text, at, first, second) for at in range(first))
    end = next(filter(None, ends), 0)
    if end and render.text[end : end + 1] == "{":
        yield Hit(
            "nothing stands between two tools:"
            f" {quote_text(render.text[max(0, end - _SHOWN) : end + _SHOWN])}",
            (show_render(render, "two tools"),),
            line=render.line_at(end),
        )


_SHOWN = 20


def _document_end(text: str, start: int, inside: int, before: int) -> int:
    """Return where an object ends that holds a place and not another; 0 without such a one."""
    if text[start] != "{":
        return 0
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return 0
    return end if inside < end <= before else 0
