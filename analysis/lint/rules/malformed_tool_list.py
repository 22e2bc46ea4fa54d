"""Lists of tools with unbalanced brackets, or with nothing between two tools.

Two tools in a prompt, and the finding:

    {"type": "function", …, "required": ["city", …]}}}{"type": "function", …}
    no separator between two tools: '…}}}{"type": "function",'
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice

from autoparser.analysis.core.message_shape import ToolForm
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import compare_renders, show_render
from autoparser.analysis.lint.marker_pairs import marker_balance
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_offer
from autoparser.analysis.lint.subject import Subject


@rule("AP540")
def check(subject: Subject) -> Iterator[Hit]:
    """Parse two tools as JSON documents, and check the text between them."""
    if subject.shape.tools is ToolForm.NONE:
        return
    yield from islice(_uneven(subject), 1)
    yield from _glued_keys(subject)
    render = render_offer(subject, *subject.functions[:2])
    first, second = (render.text.find(name) for name in subject.marks.names[:2])
    if not 0 <= first < second:
        return
    # The name is inside its object, which begins at some brace before it.
    ends = (_document_end(render.text, at, first, second) for at in range(first))
    end = next(filter(None, ends), 0)
    if end and render.text[end : end + 1] == "{":
        yield Hit(
            "no separator between two tools:"
            f" {quote_text(render.text[max(0, end - _SHOWN) : end + _SHOWN])}",
            (show_render(render, "two tools"),),
            line=render.line_at(end),
        )


_SHOWN = 20
"""The number of quoted characters before and after the missing separator."""
_BRACKETS = (("{", "}"), ("[", "]"), ("(", ")"))


def _uneven(subject: Subject) -> Iterator[Hit]:
    """Count the opening and closing brackets around one tool, and around three."""
    one, three = (render_offer(subject, *subject.functions[:count]) for count in (1, 3))
    if not (one.rendered and three.rendered):
        return
    counts = [_opened_and_closed(render.text) for render in (one, three)]
    for opening, (opened, closed) in counts[1].items():
        before = counts[0].get(opening, (0, 0))
        # Text that nothing closes may separate tools.
        if closed and opened and all(before) and before[0] - before[1] != opened - closed:
            yield Hit(
                f"{quote_text(opening)} is opened {opened} times and closed {closed} times"
                f" with three tools, but {before[0]} and {before[1]} times with one",
                (compare_renders(three, "three tools", one, "one tool"),),
                line=three.line_of(opening),
            )


def _opened_and_closed(text: str) -> dict[str, tuple[int, int]]:
    balance = marker_balance(text)
    found = {
        balance.spelled[pair]: (balance.opened[pair], balance.closed[pair])
        for pair in balance.opened
    }
    return found | {left: (text.count(left), text.count(right)) for left, right in _BRACKETS}


def _glued_keys(subject: Subject) -> Iterator[Hit]:
    """Search for a parameter that follows the previous one's description without a break."""
    key, other = subject.marks.keys[:2]
    render = render_offer(subject, subject.functions[0])
    end = render.text.find(subject.marks.user)
    first, second = (
        re.search(rf"\w?{re.escape(name)}", render.text[:end]) for name in (key, other)
    )
    if first and second and first.group() == key and second.group() != other:
        yield Hit(
            "no separator between two parameters of a tool:"
            f" {quote_text(render.text[max(0, second.start() - _SHOWN) : second.end()])}",
            (show_render(render, "a tool"),),
            line=render.line_at(second.start()),
        )


def _document_end(text: str, start: int, inside: int, before: int) -> int:
    """Return the end of an object that contains one place but not another, or 0."""
    if text[start] != "{":
        return 0
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return 0
    return end if inside < end <= before else 0
