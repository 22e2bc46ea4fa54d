from __future__ import annotations

import json
from pathlib import Path

import pytest

from autoparser.analysis.lint.baselines import (
    VERSION,
    Baseline,
    BaselineError,
    Key,
    digest_of,
    read_baseline,
)
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.linting import LintFinding
from autoparser.analysis.lint.registry import rule_of

ONE = Key("a.jinja", "", "AP306", "d1")
OTHER = Key("b.jinja", "tool_use", "AP101", "d2")


def test_it_reads_what_it_writes(tmp_path: Path) -> None:
    baseline = Baseline(((OTHER, "said\n\x1b"), (ONE, "also said"), (ONE, "also said")))
    file = tmp_path / "baseline.json"
    file.write_text(baseline.text(), encoding="utf-8")
    assert sorted(read_baseline(file).entries) == sorted(baseline.entries)
    assert baseline.text().isascii()


def test_each_entry_is_used_once() -> None:
    baseline = Baseline(((ONE, ""), (OTHER, "")))
    assert baseline.match([ONE, ONE, OTHER]) == [True, False, True]


def test_only_what_was_looked_at_can_vanish() -> None:
    baseline = Baseline(((ONE, ""), (ONE, ""), (OTHER, "")))
    assert baseline.vanished([ONE], {ONE[:3]}) == 1
    assert baseline.vanished([], {ONE[:3], OTHER[:3]}) == 3
    assert baseline.vanished([], set()) == 0


def test_lines_may_move_and_words_may_not() -> None:
    rule = rule_of("AP306")
    said = [
        digest_of(LintFinding(rule, Hit(message, line=line)))
        for message, line in (("at line 3, so", 3), ("at line 12, so", 12), ("at line 3, not", 3))
    ]
    assert said[0] == said[1] != said[2]


def entry(**changes: object) -> dict[str, object]:
    return {**ONE._asdict(), "message": "m", **changes}


WRONG = [
    ({"schema": "autoparser.lint-baseline/9", "findings": []}, "another version"),
    ({"schema": "autoparser.lint/1", "findings": []}, "this is not a baseline"),
    ({"findings": []}, "this is not a baseline"),
    ([], "this is a list, not an object"),
    ({"schema": VERSION}, "this has no findings"),
    ({"schema": VERSION, "findings": [entry(), entry(code=1)]}, r"findings\[1\]\.code: this is a"),
    ({"schema": VERSION, "findings": ["x"]}, r"findings\[0\]: this is a text, not an object"),
]


@pytest.mark.parametrize(("document", "words"), WRONG)
def test_another_file_is_an_error(document: object, words: str, tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(BaselineError, match=words) as caught:
        read_baseline(file)
    assert "--write-baseline" in str(caught.value)


def test_no_file_and_no_json_are_errors(tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    with pytest.raises(BaselineError, match="write it first"):
        read_baseline(file)
    file.write_text("{", encoding="utf-8")
    with pytest.raises(BaselineError, match="this is not a baseline"):
        read_baseline(file)
    with pytest.raises(BaselineError, match="cannot be read"):
        read_baseline(tmp_path)
