from __future__ import annotations

import re
from collections.abc import Iterator

from autoparser.analysis.core.schema_keywords import JsonType
from autoparser.analysis.lint.call_texts import WrittenValue, render_call, value_writing
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import quote_text, show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

_WHOLE = (7, -40, 1234567, 9007199254740993)
_FRACTIONS = (2.75, -1234.0625)
"""Numbers that a format to two digits, groups of thousands or a cast alter, the plainest first."""


@rule("AP541")
def check(subject: Subject) -> Iterator[Hit]:
    """Render numbers in one call; where one of them is not there, each of them by itself."""
    keys = subject.marks.typed_keys
    sent = {keys[JsonType.INTEGER]: _WHOLE[-1], keys[JsonType.NUMBER]: _FRACTIONS[-1]}
    render = render_call(subject, **sent)
    if not render.rendered or all(_stands_in(render.text, each) for each in sent.values()):
        return
    kinds: list[tuple[float, JsonType]] = [(each, JsonType.INTEGER) for each in _WHOLE]
    kinds += [(each, JsonType.NUMBER) for each in _FRACTIONS]
    for number, kind in kinds:
        written = value_writing(subject, number, kind)
        if written is not None and not _is_number(written.text, number):
            changed = _changes(written, number)
            yield Hit(
                f"the number {number} in a call is written as {quote_text(written.text)}",
                (show_render(written.render, f"a call with {number}"),),
                line=written.render.line_of(written.text) if written.text else None,
                severity=None if changed else Severity.WARNING,
            )
            return


def _stands_in(text: str, number: float) -> bool:
    """Whether a number is written as it is, in no quotes."""
    return bool(re.search(rf"(?<![\w.,\"'-]){re.escape(str(number))}(?![\w,.\"'])", text))


def _is_number(text: str, number: float) -> bool:
    """Whether a text is the number, in whatever notation of JSON."""
    written = text.strip()
    return written == str(number) or (number in _FRACTIONS and _value(written) == number)


def _changes(written: WrittenValue, number: float) -> bool:
    return _value(written.text.strip().strip("\"'")) != number


def _value(text: str) -> float | None:
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None
