from __future__ import annotations

import re
from collections.abc import Iterator

from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.lint.call_texts import (
    FRACTIONS,
    WHOLE_NUMBERS,
    call_numbers,
    render_call,
    value_writing,
)
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP541", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Render numbers in one call; if one is missing, each in a call of its own."""
    sent = call_numbers(subject)
    render = render_call(subject, **sent)
    # One call with all numbers is enough for most templates.
    if not render.rendered or all(_stands_in(render.text, number) for number in sent.values()):
        return
    kinds: list[tuple[float, JsonType]] = [
        (whole_number, JsonType.INTEGER) for whole_number in WHOLE_NUMBERS
    ]
    kinds += [(fraction, JsonType.NUMBER) for fraction in FRACTIONS]
    for number, kind in kinds:
        written = value_writing(subject, number, kind)
        if written is None or _stands_in(written.render.text, number):
            continue
        text = _BEFORE_NUMERAL.sub("", written.text)
        if not _is_number(text, number):
            changed = _parse_number(text.strip().strip("\"'")) != number
            yield Hit(
                f"the number {number} in a call is rendered as {quote_text(text)}",
                (show_render(written.render, f"a call with {number}"),),
                line=written.render.line_of(written.text) if written.text else None,
                severity=None if changed else Severity.WARNING,
            )


def _stands_in(text: str, number: float) -> bool:
    """Return whether a number is written verbatim, without quotes."""
    return bool(re.search(rf"(?<![\w.,\"'-]){re.escape(str(number))}(?![\w,.\"'])", text))


def _is_number(text: str, number: float) -> bool:
    """Return whether a text is the number in any JSON notation."""
    written = text.strip()
    return written == str(number) or (number in FRACTIONS and _parse_number(written) == number)


_BEFORE_NUMERAL = re.compile(r"^.*>(?=-?\d)", re.DOTALL)
"""Markup before a number, such as ``false">7`` if a tag has the type."""


def _parse_number(text: str) -> float | None:
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None
