"""Formats that nobody has: the fixtures, their angle-bracketed tags written with other signs.

What is in the brackets stays, so every fixture must read back as much as it does in its own.
"""

from __future__ import annotations

import re
from functools import cache

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.core.message_battery import battery_messages
from autoparser.analysis.core.turn_format import RefusedMessageError
from tests.fixture_analyses import TEMPLATES, TOKENS
from tests.lanes import sampled

from .loop import difference, fixture_names

BRACKETS = [
    ("[[", "]]"),
    ("{{", "}}"),
    ("((", "))"),
    ("[|", "|]"),
    ("<<", ">>"),
    ("«", "»"),
    ("%%", "%%"),
    ("::", "::"),
    ("--", "--"),
    ("@", "@"),
    ("|", "|"),
    ("#", "#"),
]
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


def rewritten(text: str, opening: str, closing: str) -> str:
    """Return the template with other brackets around the tags in its constants."""

    def constant(match: re.Match[str]) -> str:
        return _TAG.sub(lambda tag: f"{opening}{tag[1]}{closing}", match.group())

    return _CONSTANT.sub(constant, text)


@cache
def source(name: str) -> str:
    return (TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8")


def read_back(text: str) -> tuple[int, int]:
    """Count the messages of the battery that are written right, and those that come back."""
    analysis = analyze(ChatTemplate(text, TOKENS))
    back = 0
    for case in battery_messages():
        try:
            back += not difference(analysis.format, case.message)
        except RefusedMessageError:
            continue
    return analysis.check.passed, back


own = cache(read_back)


@pytest.mark.parametrize(("opening", "closing"), sampled(BRACKETS, 3))
def test_other_brackets_read_as_well(opening: str, closing: str) -> None:
    changed = 0
    for name in NAMES:
        text = rewritten(source(name), opening, closing)
        if text != source(name) and (name, opening) not in AMBIGUOUS:
            changed += 1
            assert read_back(text) == own(source(name)), name
    assert changed >= len(NAMES) // 2
