"""What a fixture's format writes comes back: the battery, and random messages."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.message_battery import battery_messages
from autoparser.analysis.core.turn_format import RefusedMessageError

from .loop import analysis_of, difference, fixture_names
from .messages import random_messages

pytestmark = pytest.mark.slow

ENOUGH = 0.99
RANDOM = 100

UNOPENED = "nothing opens reasoning, so that text without its close is all reasoning"
UNESCAPED = "strings are written without their quotes escaped, or without quotes"
UNTOLD = "an array's empty items, and those that are not strings, are written like strings"
LOST: Mapping[str, tuple[str, int]] = {
    "j3-4-tagged-array": (UNOPENED, 11),
    "j8-python-dict": (UNOPENED, 11),
    "reasoning-delimiter": (UNOPENED, 11),
    "p1-2-python-list": (UNESCAPED, 42),
    "p1-3-double-quotes": (UNESCAPED, 42),
    "p1-4-unquoted": (UNESCAPED, 42),
    "a6-key-is-tag": (UNTOLD, 43),
}
"""Fixtures whose text itself is ambiguous: why, and how many of the battery come back."""


@pytest.mark.parametrize("name", fixture_names())
def test_the_battery_comes_back(name: str) -> None:
    format_ = analysis_of(name).format
    bad: list[str] = []
    total = 0
    for case in battery_messages():
        try:
            found = difference(format_, case.message)
        except RefusedMessageError:
            continue
        total += 1
        if found:
            bad.append(f"{case.title}\n{found}")
    needed = LOST[name][1] if name in LOST else total * ENOUGH
    assert total - len(bad) >= needed, f"{len(bad)} of {total}, first: {bad[0]}"


def test_the_table_of_exceptions_names_fixtures() -> None:
    assert set(LOST) <= set(fixture_names())


@pytest.mark.parametrize("name", [name for name in fixture_names() if name not in LOST])
def test_random_messages_come_back(name: str) -> None:
    format_ = analysis_of(name).format
    bad: list[str] = []
    done: list[Message] = []
    for message in random_messages(RANDOM):
        try:
            found = difference(format_, message)
        except RefusedMessageError:
            continue
        done.append(message)
        if found:
            bad.append(found)
    assert len(done) - len(bad) >= ENOUGH * len(done), f"{len(bad)} of {len(done)}\n{bad[0]}"
