"""Whole reports, 80 characters wide; ``UPDATE_SNAPSHOTS=1`` writes them anew."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SNAPSHOTS = Path(__file__).parent / "snapshots"

REPORTS = {
    "screen": ["j1-json-in-tags"],
    "screen-of-types": ["a4-type-flags"],
    "screen-of-words": ["calls-in-prompt-words"],
    "tagged-arguments": ["a1-function-parameter", "--full"],
    "json-calls-in-full": ["j3-json-array", "--phase", "T3", "--phase", "R2"],
    "token-pairs": ["a7-token-pairs", "--full"],
    "prompt-words": ["calls-in-prompt-words", "--full"],
    "every-diff": ["reasoning-delimiter", "--diffs"],
}
GATE_FAILS = {"every-diff"}
"""Nothing opens its reasoning: an answer without any cannot be told from it."""


@pytest.mark.parametrize("title", REPORTS)
def test_a_report_is_as_it_was(title: str, autoparser: Callable[..., Any]) -> None:
    template, *options = REPORTS[title]
    ran = autoparser("analyze", f"fixtures/templates/{template}.jinja", *options)
    assert (ran.code, ran.err) == (int(title in GATE_FAILS), "")
    path = SNAPSHOTS / f"{title}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(ran.out, encoding="utf-8", newline="\n")
    assert ran.out == path.read_text(encoding="utf-8")
    assert all(len(line) <= 80 and line == line.rstrip() for line in ran.out.splitlines())
