"""Whole reports of each kind; ``UPDATE_SNAPSHOTS=1`` writes them anew."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from .conftest import ROOT, Run

SNAPSHOTS = Path(__file__).parent / "snapshots"
LEFT, RIGHT = (f"fixtures/templates/history-{name}.jinja" for name in ("last-query", "tool-cycle"))
REPORTS: dict[str, list[str]] = {
    "screen": ["j1-json-in-tags"],
    "screen-of-types": ["a4-type-flags"],
    "screen-of-words": ["calls-in-prompt-words"],
    "tagged-arguments": ["a1-function-parameter", "--full"],
    "json-calls-in-full": ["j3-json-array", "--phase", "T3", "--phase", "R2"],
    "token-pairs": ["a7-token-pairs", "--full"],
    "prompt-words": ["calls-in-prompt-words", "--full"],
    "every-diff": ["reasoning-delimiter", "--diffs"],
}
USES = [
    # Nothing opens the reasoning of every-diff: an answer without any cannot be told from it.
    *(
        (
            f"{title}.txt",
            80,
            int(title == "every-diff"),
            ["analyze", f"fixtures/templates/{name}.jinja", *options],
        )
        for title, (name, *options) in REPORTS.items()
    ),
    ("compare-80.txt", 80, 1, ["compare", LEFT, RIGHT]),
    ("compare-120.txt", 120, 1, ["compare", LEFT, RIGHT, "--full"]),
    ("compare.md", 0, 1, ["compare", LEFT, RIGHT, "--format", "markdown"]),
    ("rule-80.txt", 80, 0, ["rule", "AP306"]),
    ("rule-120.txt", 120, 0, ["rule", "AP306"]),
    ("survey-80.txt", 80, 0, ["survey", "CORPUS", "--jobs", "1"]),
    ("survey-120.txt", 120, 0, ["survey", "CORPUS", "--jobs", "1"]),
]
SLOW = ("compare-120.txt", "compare.md", "survey-120.txt")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name in ("content-plain", "j1-json-in-tags", "reasoning-none"):
        shutil.copy(ROOT / "fixtures" / "templates" / f"{name}.jinja", folder)
    shutil.copy(ROOT / "fixtures" / "broken" / "raises-always.jinja", folder)
    return folder


@pytest.mark.parametrize(
    ("file", "width", "code", "use"),
    [
        pytest.param(*use, id=use[0], marks=pytest.mark.slow if use[0] in SLOW else ())
        for use in USES
    ],
)
def test_a_report_is_as_it_was(
    file: str,
    width: int,
    code: int,
    use: list[str],
    corpus: Path,
    autoparser: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if width:
        monkeypatch.setenv("COLUMNS", str(width))
    ran = autoparser(*(corpus if each == "CORPUS" else each for each in use))
    assert (ran.code, ran.err) == (code, "")
    path = SNAPSHOTS / file
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(ran.out, encoding="utf-8", newline="\n")
    assert ran.out == path.read_text(encoding="utf-8")
    lines = ran.out.splitlines()
    assert not width or all(len(line) <= width and line == line.rstrip() for line in lines)


@pytest.mark.slow
def test_a_value_of_a_switch_that_is_set_is_compared_alone(tmp_path: Path, autoparser: Run) -> None:
    text = (ROOT / LEFT).read_text("utf-8")
    changed = tmp_path / "changed.jinja"
    new = text.replace("'<think>\\n\\n</think>\\n\\n' if", "'<think></think>' if")
    changed.write_text(new, "utf-8")
    assert new != text
    ran = autoparser("compare", LEFT, changed)
    assert "under enable_thinking=false, only with the generation prompt:" in ran.out
    # The prompt that was changed is that of one value.
    for value, differs in ((True, False), (False, True)):
        switch = ("--switch", f"enable_thinking={str(value).lower()}")
        found = json.loads(autoparser("compare", LEFT, changed, *switch, "--format", "json").out)
        assert bool(found["renders"]["differing"]) is differs
        assert found["asked"]["usual"] == {"enable_thinking": value}
