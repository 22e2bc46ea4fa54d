"""The command report: the page, where it goes, wrong uses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.history.vocabularies import tiny

Run = Callable[..., Any]
GOOD = "fixtures/templates/j1-json-in-tags.jinja"


def test_a_page_is_written(tmp_path: Path, autoparser: Run) -> None:
    page = tmp_path / "report.html"
    ran = autoparser("report", GOOD, "-o", page)
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>\n")
    assert text.endswith("</html>\n")
    assert "<h1>j1-json-in-tags.jinja</h1>" in text
    assert autoparser("report", GOOD).out == text


def test_tools_and_a_tokenizer_are_of_the_callers_choice(tmp_path: Path, autoparser: Run) -> None:
    tiny("<|im_start|>", "<|im_end|>").save(str(tmp_path / "tokenizer.json"))
    ran = autoparser("report", GOOD, "--tools", "fixtures/tools.yaml", "--tokenizer", tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert "get_weather, list_rooms, book_room" in ran.out
    assert "masks: median" in ran.out


USES = [
    ((), "Missing argument"),
    (("nowhere.jinja",), "there is no file or directory"),
    ((GOOD, "--watch"), "name its file with -o FILE"),
    ((GOOD, "-o", "nowhere/report.html"), "cannot be written"),
    ((GOOD, "-o", GOOD), "would overwrite the template"),
    ((GOOD, "--tokenizer", "fixtures"), "there is no tokenizer here"),
    ((GOOD, "--tools", "nowhere.yaml"), "there is no such file"),
    (("-", "-o", "x.html", "--watch"), "standard input cannot be watched"),
    (("fixtures/broken/raises-always.jinja",), "raises on every conversation"),
]


@pytest.mark.parametrize(("arguments", "words"), USES)
def test_a_wrong_use_is_one_line(arguments: tuple[str, ...], words: str, autoparser: Run) -> None:
    ran = autoparser("report", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert ran.err.count("\n") == 1
