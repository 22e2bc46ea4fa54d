"""The command compare: whole outputs, every form, exit codes, wrong uses."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

Run = Callable[..., Any]
ROOT = Path(__file__).parents[2]
SNAPSHOTS = Path(__file__).parent / "snapshots"
LEFT = "fixtures/templates/history-last-query.jinja"
RIGHT = "fixtures/templates/history-tool-cycle.jinja"
SMALL = "fixtures/templates/content-plain.jinja"
"""Neither calls nor switches, so it is asked in a moment."""


@pytest.mark.parametrize("width", ["80", "120"])
def test_a_comparison_is_as_it_was(
    width: str, autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    ran = autoparser("compare", LEFT, RIGHT, *(["--full"] if width == "120" else []))
    assert (ran.code, ran.err) == (1, "")
    path = SNAPSHOTS / f"compare-{width}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(ran.out, encoding="utf-8", newline="\n")
    assert ran.out == path.read_text(encoding="utf-8")
    assert all(len(line) <= int(width) for line in ran.out.splitlines())


def test_markdown_is_as_it_was(autoparser: Run) -> None:
    ran = autoparser("compare", LEFT, RIGHT, "--format", "markdown")
    path = SNAPSHOTS / "compare.md"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(ran.out, encoding="utf-8", newline="\n")
    assert ran.out == path.read_text(encoding="utf-8")


EQUAL = re.compile(
    r"- fixtures/templates/history-last-query.jinja: self-check 47/47 "
    r"\+ fixtures/templates/history-last-query.jinja: self-check 47/47 "
    r"They are the same text; they are alike in what was asked: [1-9]\d* renders with nothing set, "
    r"[1-9]\d* under switches and [1-9]\d* round trips, of at most 12 messages, 3 calls and 3 "
    r"tools, texts of 4,004 characters and numbers up to 7,654,321; format and findings are equal. "
    r"What was asked .*switches nothing set; each value alone: .*enable_thinking: .*"
    r"not asked other values of a switch; three switches at once; .*"
)
"""A report, less where its lines are broken."""


def test_equal_templates(autoparser: Run) -> None:
    ran = autoparser("compare", LEFT, LEFT)
    assert (ran.code, ran.err) == (0, "")
    assert EQUAL.fullmatch(" ".join(ran.out.split()))


def test_a_change_under_one_value_is_a_difference(tmp_path: Path, autoparser: Run) -> None:
    text = (ROOT / LEFT).read_text("utf-8")
    changed = tmp_path / "changed.jinja"
    changed.write_text(
        text.replace("'<think>\\n\\n</think>\\n\\n' if", "'<think></think>' if"), "utf-8"
    )
    ran = autoparser("compare", LEFT, changed)
    assert (ran.code, ran.err) == (1, "")
    assert "under enable_thinking=false, only with the generation prompt:" in ran.out


def test_what_a_switch_sets_is_set_in_every_render(tmp_path: Path, autoparser: Run) -> None:
    text = (ROOT / LEFT).read_text("utf-8")
    changed = tmp_path / "changed.jinja"
    changed.write_text(
        text.replace("'<think>\\n\\n</think>\\n\\n' if", "'<think></think>' if"), "utf-8"
    )
    options = ("--format", "json", "--switch")
    found = {
        value: json.loads(
            autoparser("compare", LEFT, changed, *options, f"enable_thinking={value}").out
        )
        for value in ("true", "false")
    }
    for value, document in found.items():
        asked = document["asked"]
        assert asked["usual"] == {"enable_thinking": value == "true"}
        assert not any("enable_thinking" in setting for setting in asked["settings"])
    # The prompt that was changed is that of one value.
    assert found["true"]["renders"]["differing"] == 0
    assert found["false"]["renders"]["differing"] > 0


def test_a_switch_that_nothing_reads_is_warned_of(autoparser: Run) -> None:
    ran = autoparser("compare", LEFT, SMALL, "--switch", "enable_thinkin=1")
    words = "this template reads no variable 'enable_thinkin'"
    near = "; did you mean enable_thinking?"
    assert ran.err == f"{LEFT}: warning: {words}{near}\n{SMALL}: warning: {words}\n"


def test_json_is_as_its_schema_says(autoparser: Run) -> None:
    schema = json.loads((ROOT / "docs" / "compare.schema.json").read_text("utf-8"))
    for left, right, code in ((LEFT, RIGHT, 1), (SMALL, SMALL, 0)):
        ran = autoparser("compare", left, right, "--format", "json")
        assert (ran.code, ran.err) == (code, "")
        assert ran.out.isascii()
        document = json.loads(ran.out)
        Draft202012Validator(schema).validate(document)
        assert document["equal"] == (code == 0)


def test_json_names_the_lines_that_the_text_names(tmp_path: Path, autoparser: Run) -> None:
    source = "{% for m in messages %}\n  {{- m.role + ':' + m.content|trim + '\\n' }}\n{% endfor %}"
    left, right = tmp_path / "left.jinja", tmp_path / "right.jinja"
    left.write_text(source.replace("|trim", ""), encoding="utf-8")
    right.write_text(source, encoding="utf-8")
    text = autoparser("compare", left, right).out
    document = json.loads(autoparser("compare", left, right, "--format", "json").out)
    changed = document["renders"]["changed"]
    assert (2, 2) in {(each["left_line"], each["right_line"]) for each in changed}
    assert re.search(r"^ +- 2 ", text, re.MULTILINE)
    places = {(each["line"], each["column"]) for each in document["findings"]}
    assert places - {(None, None)} <= {(1, 1), (2, 3), (3, 1)}
    assert (2, 3) in places


def test_a_page_is_written(tmp_path: Path, autoparser: Run) -> None:
    page = tmp_path / "compare.html"
    ran = autoparser("compare", LEFT, SMALL, "-f", "html", "-o", page, "--exit-zero")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>\n")


def test_text_goes_to_a_file(tmp_path: Path, autoparser: Run) -> None:
    report = tmp_path / "compare.txt"
    assert autoparser("compare", SMALL, SMALL, "-o", report).code == 0
    assert "They are the same text; they are alike in what was asked: " in " ".join(
        report.read_text(encoding="utf-8").split()
    )


USES = [
    ((), "Missing argument"),
    ((LEFT,), "Missing argument"),
    ((LEFT, "nowhere.jinja"), "nowhere.jinja: there is no file or directory"),
    ((LEFT, RIGHT, "--format", "xml"), "'xml' is not one of"),
    ((LEFT, RIGHT, "-o", RIGHT), "would overwrite the template"),
    ((LEFT, "fixtures/broken/broken-syntax.jinja"), "broken-syntax.jinja"),
]


@pytest.mark.parametrize(("arguments", "words"), USES)
def test_a_wrong_use_is_told(arguments: tuple[str, ...], words: str, autoparser: Run) -> None:
    ran = autoparser("compare", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
