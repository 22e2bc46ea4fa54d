"""Check that foreign text reaches a terminal without control characters.

Every command, and every way in: a template's text and markers, what it says when it refuses, file
names, options, switches, messages, tools, a model's output, scenarios.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.case_tables import load_cases

from .conftest import ROOT, Run

pytestmark = pytest.mark.slow

GOOD = (ROOT / "fixtures/templates/j1-json-in-tags.jinja").read_text(encoding="utf-8")

EVIL = (
    "\x1b[38;5;213m\x1b[2J\x1b]0;owned\x07\x1b]8;;http://x.y\x1b\\"  # CSI, OSC, a link
    "\x9b31m\x9d0;x\x9c\x85"  # the same as C1 controls, and a line end
    "\x08\x0b\x0c\x7f"  # backspace, vertical tab, form feed, delete
    "\u202e\u2066\u200f\u2028\u2029"  # writing direction, line and paragraph separator
    "\u200b\u200d\ufeff\u2060\u00ad\u3164\u115f\u2800\ufe0f\U000e0041\U000e0101"  # nothing to see
    "[red][link=http://x.y][/]"  # rich's markup
)
"""Texts that no report may let through, except the last, which is shown verbatim."""

IN_SOURCE = EVIL + "\\u0000\\r"
"""The same in a string of a template, with characters that a file or its reader would change."""

HALF = "\\ud800"
"""Half of a surrogate pair, in a string of a template."""

HIDDEN = "\u3164\u115f\u2800\ufe0f\U000e0101"
"""Letters, marks and symbols that show nothing."""


def hidden(text: str) -> set[str]:
    """Return the characters of a text that a terminal obeys, or that show nothing."""
    return {
        character
        for character in set(text) - {"\n"}
        if character in HIDDEN or unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    }


MARKERS = ("im_start|", "im_end|", "tool_call", "think")
MARKED = GOOD
for marker in MARKERS:
    MARKED = MARKED.replace(f"{marker}>", f"{marker}{IN_SOURCE}>")
CALL = {"name": f"tool{EVIL}", "arguments": {f"key{EVIL}": EVIL}}
OUTPUT = f"{EVIL}<tool_call>\n{json.dumps(CALL, ensure_ascii=False)}\n</tool_call>"
TABLE = load_cases(__file__, "inert_cases.yaml")
WORDS = {"SOURCE": IN_SOURCE, "EVIL": EVIL, "MARKED": MARKED, "GOOD": GOOD}


def with_words(value: Any) -> Any:
    """Return a value of the table with what its words in capitals stand for."""
    if isinstance(value, dict):
        return {with_words(key): with_words(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_words(inner) for inner in value]
    return filled(value, WORDS) if isinstance(value, str) else value


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Write the files for the commands below; the template's own name is hostile, too."""
    values = {name: with_words(value) for name, value in TABLE["files"].items()}
    texts = {
        "OUTPUT": OUTPUT,
        "NO-TEXT": GOOD.replace("im_end|>", f"im_end{HALF}|>"),
        "HALF-A-CALL": GOOD.replace("</tool_call>'", f"</tool_call{HALF}>'"),
        **{
            name: value if isinstance(value, str) else json.dumps(value)
            for name, value in values.items()
        },
    }
    found = {"EVIL": EVIL, "MISSING": str(tmp_path / f"missing{EVIL[:30]}")}
    for name, text in texts.items():
        # A file name may contain anything but slashes.
        path = tmp_path / f"{name}{EVIL.replace('/', '')[:60]}.jinja"
        path.write_text(text, encoding="utf-8", newline="")
        found[name] = str(path)
    return found


def filled(text: str, words: Mapping[str, str]) -> str:
    pattern = re.compile("|".join(sorted(words, key=len, reverse=True)))
    return pattern.sub(lambda match: words[match.group()], text)


def command_of(case: str, files: Mapping[str, str]) -> list[str]:
    return [filled(part, files) for part in case.split()]


@pytest.mark.parametrize("case", TABLE["cases"])
def test_command_output_contains_no_control_characters(
    case: str, files: dict[str, str], autoparser: Run
) -> None:
    ran = autoparser(*command_of(case, files))
    assert ran.out + ran.err
    assert hidden(ran.out + ran.err) == set()


def test_rich_markup_is_shown_as_text(files: dict[str, str], autoparser: Run) -> None:
    assert "[red][link=http://x.y][/]" in autoparser("analyze", files["TEMPLATE"]).out


@pytest.mark.parametrize("case", TABLE["terminal_cases"])
def test_terminal_output_contains_only_own_colors(
    case: str, files: dict[str, str], terminal: Run
) -> None:
    shown = terminal(*command_of(case, files)).out
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown.replace("\r\n", "\n"))
    assert hidden(plain) - {"\t"} == set()
    assert "\x1b[38;5;213m" not in shown


def test_prompt_goes_verbatim_to_a_pipe(files: dict[str, str], autoparser: Run) -> None:
    out = autoparser("render", files["PLAIN"], "--messages", files["USER"]).out
    assert f"hi {EVIL}" in out
