"""The command fix beside its table: the proof in JSON, a limit."""

from __future__ import annotations

import json

import pytest

from autoparser.analysis.core.errors import LimitKind, TemplateLimitError
from tests.cli.conftest import ROOT, Run

LINT = ROOT / "fixtures" / "lint"


@pytest.mark.slow
@pytest.mark.parametrize(("code", "more"), [("AP109", ()), ("AP401", ("--unsafe-fixes",))])
def test_json_has_the_proof_of_a_fix(code: str, more: tuple[str, ...], autoparser: Run) -> None:
    ran = autoparser("fix", LINT / code / "fires.jinja", "--select", code, "--json", *more)
    (shown,) = json.loads(ran.out)["templates"]
    (finding,) = shown["findings"]
    proof = finding["proof"]
    assert (ran.code, shown["changed"], finding["fixed"]) == (1, True, True)
    assert 0 < proof["changed"] < proof["conversations"]
    assert finding["safe"] is not bool(more)
    assert proof["beyond"] == (proof["changed"] if more else 0)
    assert {"tools", "reasoning", "several turns", "no system message"} <= {*proof["kinds"]}
    assert all(each["before"] != each["after"] for each in proof["examples"])
    assert {each["asked_for"] for each in proof["examples"]} == {not more}


def test_a_limit_that_ends_the_search_is_named(
    autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: object, **__: object) -> None:
        raise TemplateLimitError(LimitKind.TASK_TIME, "this took more than 60 s")

    monkeypatch.setattr("autoparser.analysis.editing.lint_fixes.fix_template", ended)
    ran = autoparser("fix", LINT / "AP109" / "fires.jinja", "--select", "AP109")
    assert (ran.code, ran.out) == (2, "")
    words = " ".join(ran.err.split())
    for each in ("not finished: ", "this took more than 60 s", "stays AP109", "a limit ended the"):
        assert each in words
