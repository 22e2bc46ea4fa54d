"""At which token a server stops, as a model's files say it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from autoparser import load_template
from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.linting import lint
from autoparser.analysis.lint.registry import rule_of
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.sources.tokenizer_loading import load_tokenizer

MODEL = Path(__file__).parents[3] / "fixtures" / "lint" / "AP212" / "quiet"
END, OTHER = "<|end|>", "a"

TABLE = [
    ([END], None, "the generation config stops at the end of turn"),
    ([OTHER, END], None, "among others"),
    ([OTHER], Severity.WARNING, "it stops elsewhere"),
    (None, Severity.INFO, "there is none"),
]


@pytest.mark.parametrize(("stops", "severity", "reason"), TABLE)
def test_a_generation_config_may_name_the_end(
    stops: list[str] | None, severity: Severity | None, reason: str, tmp_path: Path
) -> None:
    shutil.copytree(MODEL, tmp_path, dirs_exist_ok=True)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": OTHER}))
    tokenizer = load_tokenizer(tmp_path)
    if stops is not None:
        ids = [tokenizer.token_to_id(stop) for stop in stops]
        value = ids[0] if len(ids) == 1 else ids
        (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": value}))
    subject = Subject(load_template(tmp_path), tokenizer=tokenizer, directory=tmp_path)
    found = lint(subject, [rule_of("AP211")]).findings
    assert [each.severity for each in found] == ([] if severity is None else [severity]), reason
