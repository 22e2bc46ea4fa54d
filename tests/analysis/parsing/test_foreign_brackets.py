"""Formats that nobody has: fixtures, their angle-bracketed tags written with other signs.

The words in the brackets stay, so every fixture must read back as much as it does in its own.
"""

from __future__ import annotations

import re
from functools import cache

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.core.message_battery import battery_messages
from tests.fixture_analyses import TEMPLATES, TOKENS

from .loop import fixture_names, lost_messages

pytestmark = pytest.mark.slow

OPENING = ("[[", "{{", "((", "[|", "<<", "«", "%%", "::", "--", "@", "|", "#")
CLOSING = ("]]", "}}", "))", "|]", ">>", "»", "%%", "::", "--", "@", "|", "#")
EVERY = 12
AMBIGUOUS = {
    # A JSON object opens with the sign that opens these tags.
    ("j2-2-tags-around-content", "{{"),
    ("j7-6-json-lines", "{{"),
    # Values of this notation may hold the sign bare.
    ("g1-pseudo-json", "|"),
}
NAMES = sorted({*fixture_names()[::EVERY], *(name for name, _ in AMBIGUOUS)})

_CONSTANT = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"")
_TAG = re.compile(r"<(/?\|?/?\w[^<>{}'\"]*?)>")


@cache
def counts(text: str) -> tuple[int, int]:
    """Count the messages of the battery that are written right, and those that come back."""
    analysis = analyze(ChatTemplate(text, TOKENS))
    written, lost = lost_messages(analysis.format, [case.message for case in battery_messages()])
    return analysis.check.passed, written - len(lost)


@pytest.mark.parametrize(("opening", "closing"), [*zip(OPENING, CLOSING, strict=True)])
def test_other_brackets_read_as_well(opening: str, closing: str) -> None:
    def constant(match: re.Match[str]) -> str:
        return _TAG.sub(lambda tag: f"{opening}{tag[1]}{closing}", match.group())

    changed = 0
    for name in NAMES:
        text = (TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8")
        other = _CONSTANT.sub(constant, text)
        if other != text and (name, opening) not in AMBIGUOUS:
            changed += 1
            assert counts(other) == counts(text), name
    assert changed >= len(NAMES) // 2
