"""A saved format in the place of a template: what commands do with it, and what they refuse."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TEMPLATE = "fixtures/templates/switch-thinking-three-ways.jinja"


@pytest.fixture
def saved(autoparser: Callable[..., Any], tmp_path: Path) -> Path:
    path = tmp_path / "model"
    made = autoparser("analyze", TEMPLATE, "--format", "file", "-o", path)
    assert (made.code, made.out, made.err) == (0, "", "")
    return path


def test_what_is_saved_again_is_the_same(saved: Path, autoparser: Callable[..., Any]) -> None:
    assert autoparser("analyze", saved, "--format", "file").out == saved.read_text()
    assert autoparser("analyze", saved, "--json").out == saved.read_text()


def test_the_report_is_that_of_the_template(saved: Path, autoparser: Callable[..., Any]) -> None:
    ours = autoparser("analyze", saved, "--full")
    theirs = autoparser("analyze", TEMPLATE, "--full")
    assert ours.code == theirs.code == 0
    told = ours.out.splitlines()
    # Which parts of content a template takes is asked by renders.
    shown = re.sub(r"^Parts .*\n(?: {14}.*\n)*", "", theirs.out, flags=re.MULTILINE)
    lacking = [line for line in shown.splitlines() if line not in told]
    assert lacking == ["  --phase T3 shows the renders behind one, --diffs those behind all."]


@pytest.mark.parametrize(
    "command",
    [
        ("parse", "--input", "{text}", "--json"),
        ("parse", "--input", "{text}", "--stream", "--json", "--switch", "enable_thinking=true"),
        ("grammar", "--format", "json"),
        ("grammar", "--accepts", "{text}"),
        ("export", "--no-check"),
        ("analyze", "--show", "parser"),
    ],
    ids=" ".join,
)
def test_it_does_what_the_template_does(
    command: tuple[str, ...], saved: Path, tmp_path: Path, autoparser: Callable[..., Any]
) -> None:
    (tmp_path / "text").write_text("<think>\nhm\n</think>\n\nHello<|end|>")
    name, *rest = (each.format(text=tmp_path / "text") for each in command)
    ours, theirs = autoparser(name, saved, *rest), autoparser(name, TEMPLATE, *rest)
    assert (ours.code, ours.out) == (theirs.code, theirs.out)
    assert ours.out


def test_answers_are_judged_by_the_format_alone(
    saved: Path, autoparser: Callable[..., Any]
) -> None:
    ran = autoparser("decode", saved, "--walks", 5, "--json")
    assert json.loads(ran.out)["answers"] == 5
    assert "a saved format has no template that could judge the answers" in ran.err


def test_two_files_are_compared(
    saved: Path, tmp_path: Path, autoparser: Callable[..., Any]
) -> None:
    same = autoparser("compare", saved, TEMPLATE)
    assert same.code == 0
    assert "The formats are alike; they were learnt from the same text." in same.out
    other = tmp_path / "other"
    autoparser(
        "analyze",
        "fixtures/templates/switch-reasoning-effort.jinja",
        "--format",
        "file",
        "-o",
        other,
    )
    ran = autoparser("compare", saved, other)
    assert ran.code == 1
    assert "They differ; they were learnt from different texts." in ran.out
    assert "+  <|plan|>" in ran.out


def test_a_page_is_made_of_it(saved: Path, autoparser: Callable[..., Any]) -> None:
    page = autoparser("report", saved)
    assert page.code == 0
    assert "autoparser report on a saved format" in page.out
    assert "Ten turns" not in page.out


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("analyze", "--phase", "T3"), "a saved format holds no renders"),
        (("roundtrip",), "this takes renders, and a saved format has no template"),
        (("export", "--check"), "the check takes renders, and a saved format has no template"),
        (("grammar", "--switch", "enable_thinking=7"), "enable_thinking=7 was not learnt"),
        (("parse", "--name", "tool_use"), "--name is for templates"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_what_takes_the_template_says_so(
    command: tuple[str, ...], words: str, saved: Path, autoparser: Callable[..., Any]
) -> None:
    name, *rest = command
    more = ("--input", saved) if name == "parse" else ()
    ran = autoparser(name, saved, *rest, *more)
    assert ran.code == 2
    assert words in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_switch_that_is_none_is_named(saved: Path, autoparser: Callable[..., Any]) -> None:
    ran = autoparser("grammar", saved, "--switch", "enable_thinkin=true")
    assert "this saved format has no switch 'enable_thinkin'" in ran.err
    assert "enable_thinking" in ran.err


def test_another_version_is_no_template(tmp_path: Path, autoparser: Callable[..., Any]) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"schema": "autoparser.format/9"}')
    ran = autoparser("analyze", path)
    assert ran.code == 2
    assert "this is autoparser.format/9, and this program reads autoparser.format/1" in ran.err


def test_lint_says_that_it_is_none(saved: Path, autoparser: Callable[..., Any]) -> None:
    path = saved.rename(saved.with_suffix(".json"))
    assert "this is a saved format, which has no template" in autoparser("lint", path).out
