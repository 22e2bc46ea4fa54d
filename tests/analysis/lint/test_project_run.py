"""A whole run: what counts, what is set aside, and what is not an obstacle to the rest."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from autoparser.analysis.lint import inspection
from autoparser.analysis.lint.hit import Confidence, Severity
from autoparser.analysis.lint.inspection import InspectionTask, LintRun, SeenHits
from autoparser.analysis.lint.project_run import LintRequest, baseline_of, lint_project
from autoparser.analysis.lint.project_settings import FailOn, ProjectSettings
from autoparser.analysis.lint.registry import rule_of
from autoparser.analysis.lint.rule import RuleNeed
from autoparser.analysis.templates.worker_limits import Limits

LINT = Path(__file__).parents[3] / "fixtures" / "lint"
BROKEN, DROPS = LINT / "AP101" / "fires.jinja", LINT / "AP306" / "fires.jinja"
RULES = (rule_of("AP101"), rule_of("AP306"))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two templates with a finding each, one of which is there twice."""
    shutil.copy(BROKEN, tmp_path / "broken.jinja")
    shutil.copy(DROPS, tmp_path / "drops.jinja")
    shutil.copy(DROPS, tmp_path / "again.jinja")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def found(run: LintRun) -> list[tuple[str, str]]:
    return [(template.path, finding.code) for template, finding in run.findings]


ALL = [("again.jinja", "AP306"), ("broken.jinja", "AP101"), ("drops.jinja", "AP306")]


def request(project: Path, *sources: str) -> LintRequest:
    return LintRequest(sources or (".",), RULES, ProjectSettings(root=project))


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_the_order_is_that_of_paths_whoever_does_the_work(jobs: int, project: Path) -> None:
    run = lint_project(replace(request(project), jobs=jobs))
    assert found(run) == ALL
    assert run == lint_project(request(project))


def test_identical_templates_are_looked_at_once(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    real = inspection.inspect_template

    def counting(task: InspectionTask) -> SeenHits:
        looked.append(task.template.text)
        return real(task)

    monkeypatch.setattr("autoparser.analysis.lint.project_run.inspect_template", counting)
    told: list[int] = []
    steps: list[None] = []

    def progress(total: int) -> Callable[[], object]:
        told.append(total)
        return lambda: steps.append(None)

    run = lint_project(request(project), progress)
    assert found(run) == ALL
    assert len(looked) == len(set(looked)) == 2
    assert (told, len(steps)) == ([2], 2)


def test_a_bad_file_stops_no_other(project: Path) -> None:
    (project / "bad.jinja").write_bytes(b"\xff\xff")
    (project / "words.jinja").write_text("words", encoding="utf-8")
    run = lint_project(request(project, ".", "nowhere.jinja"))
    assert found(run) == ALL
    assert [each.path for each in run.problems] == ["bad.jinja", "words.jinja", "nowhere.jinja"]


def test_an_ignore_accepts_a_finding_and_an_unused_one_is_told(project: Path) -> None:
    text = DROPS.read_text(encoding="utf-8")
    accepted = "{#- autoparser: ignore AP306 as the model was trained -#}\n"
    useless = "{#- autoparser: ignore AP101 it compiles by now -#}\n"
    (project / "drops.jinja").write_text(accepted + useless + text, encoding="utf-8")
    run = lint_project(request(project, "drops.jinja"))
    (template,) = run.templates
    assert template.findings == ()
    assert [each.code for each in template.ignored] == ["AP306"]
    assert [(each.selectors, each.line) for each in template.unused] == [(("AP101",), 2)]
    assert not run.failed
    without = replace(request(project, "drops.jinja"), rules=(rule_of("AP306"),))
    assert lint_project(without).templates[0].unused == (), "AP101 did not look"


def test_an_ignore_without_a_reason_is_a_problem_and_accepts_nothing(project: Path) -> None:
    text = DROPS.read_text(encoding="utf-8")
    (project / "drops.jinja").write_text("{# autoparser: ignore AP306 #}" + text, encoding="utf-8")
    run = lint_project(request(project, "drops.jinja"))
    assert found(run) == [("drops.jinja", "AP306")]
    assert [(each.path, each.line) for each in run.problems] == [("drops.jinja", 1)]


def test_settings_ignore_for_paths(project: Path) -> None:
    settings = ProjectSettings(
        root=project, per_file_ignores=(("d*.jinja", ("AP3",)), ("x", ("ALL",)))
    )
    run = lint_project(replace(request(project), settings=settings))
    assert found(run) == [row for row in ALL if row[0] != "drops.jinja"]
    assert [len(each.ignored) for each in run.templates] == [0, 0, 1]


def test_settings_exclude_what_is_searched_for(project: Path) -> None:
    settings = ProjectSettings(root=project, exclude=("d*.jinja",))
    run = lint_project(replace(request(project), settings=settings))
    assert found(run) == [row for row in ALL if row[0] != "drops.jinja"]
    assert found(lint_project(replace(request(project, "drops.jinja"), settings=settings)))


def test_a_baseline_knows_what_was_there(project: Path) -> None:
    known = baseline_of(lint_project(request(project)))
    again = lint_project(replace(request(project), baseline=known))
    assert found(again) == []
    assert [len(each.known) for each in again.templates] == [1, 1, 1]
    assert (again.failed, again.vanished) == (False, 0)

    text = DROPS.read_text(encoding="utf-8")
    (project / "drops.jinja").write_text(f"{{# a line more #}}\n{text}", encoding="utf-8")
    assert found(lint_project(replace(request(project), baseline=known))) == []

    shutil.copy(LINT / "AP306" / "quiet.jinja", project / "drops.jinja")
    shutil.copy(DROPS, project / "new.jinja")
    changed = lint_project(replace(request(project), baseline=known))
    assert found(changed) == [("new.jinja", "AP306")]
    assert (changed.failed, changed.vanished) == (True, 1)
    part = lint_project(replace(request(project, "new.jinja"), baseline=known))
    assert part.vanished == 0, "what was not looked at has not vanished"


FAILS = [
    (FailOn.ERROR, Severity.ERROR, True),
    (FailOn.ERROR, Severity.WARNING, False),
    (FailOn.WARNING, Severity.ERROR, True),
    (FailOn.WARNING, Severity.WARNING, True),
    (FailOn.WARNING, Severity.INFO, False),
    (FailOn.INFO, Severity.INFO, True),
    (FailOn.NEVER, Severity.ERROR, False),
]


@pytest.mark.parametrize(("fail_on", "severity", "fails"), FAILS)
def test_it_fails_from_a_severity_on(
    fail_on: FailOn, severity: Severity, fails: bool, project: Path
) -> None:
    run = lint_project(request(project, "drops.jinja"))
    finding = run.templates[0].findings[0]
    weighed = replace(finding, hit=replace(finding.hit, severity=severity))
    assert replace(run, fail_on=fail_on).fails(weighed) is fails


def test_less_sure_findings_can_be_left_out(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsure(task: InspectionTask) -> SeenHits:
        seen = inspection.inspect_template(task)
        hits = tuple(
            (code, replace(hit, confidence=Confidence.MEDIUM), also)
            for code, hit, also in seen.hits
        )
        return replace(seen, hits=hits)

    monkeypatch.setattr("autoparser.analysis.lint.project_run.inspect_template", unsure)
    for least, expected in ((Confidence.LOW, 3), (Confidence.MEDIUM, 3), (Confidence.HIGH, 0)):
        run = lint_project(replace(request(project), min_confidence=least))
        assert len(found(run)) == expected


def test_a_broken_tokenizer_beside_a_template_is_only_told_of(project: Path) -> None:
    (project / "tokenizer.json").write_text("{}", encoding="utf-8")
    needing = msgspec.structs.replace(RULES[1], needs=RuleNeed.TOKENIZER)
    run = lint_project(replace(request(project, "drops.jinja"), rules=(RULES[0], needing)))
    assert found(run) == [("drops.jinja", "AP306")]
    assert run.problems == ()
    (remark,) = run.templates[0].remarks
    assert remark.startswith("tokenizer.json: this is not a tokenizer")


def test_a_tokenizer_that_is_named_takes_the_place_of_the_one_beside(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizers: list[str | None] = []

    def looking(task: InspectionTask) -> SeenHits:
        tokenizers.append(task.tokenizer)
        return SeenHits()

    monkeypatch.setattr("autoparser.analysis.lint.project_run.inspect_template", looking)
    needing = msgspec.structs.replace(RULES[1], needs=RuleNeed.TOKENIZER)
    named, usual, beside = Path("named.json"), Path("usual.json"), project / "tokenizer.json"
    asked = replace(
        request(project, "drops.jinja"), rules=(needing,), settings=ProjectSettings(tokenizer=usual)
    )
    lint_project(asked)
    beside.write_text("{}", encoding="utf-8")
    lint_project(asked)
    lint_project(replace(asked, tokenizer=named))
    assert [Path(each or "").name for each in tokenizers] == [
        "usual.json",
        "tokenizer.json",
        "named.json",
    ]


def test_a_folder_that_cannot_be_searched_is_a_problem(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(folder: str, onerror: Callable[[OSError], None]) -> list[object]:
        onerror(PermissionError(13, "Permission denied", f"{folder}/secret"))
        return [(folder, [], ["drops.jinja"])]

    monkeypatch.setattr("os.walk", refusing)
    run = lint_project(request(project))
    assert found(run) == [("drops.jinja", "AP306")]
    assert run.problems[0].message == "cannot be searched (Permission denied)"


def test_a_crash_is_a_problem_of_its_template(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr("autoparser.analysis.lint.inspection.lint", crash)
    run = lint_project(request(project, "drops.jinja"))
    assert run.templates == ()
    assert run.problems[0].message == "KeyError: 'x'"
    assert "report it" in run.problems[0].hint


HANGS = "{%- for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


def test_a_template_that_does_not_end_stops_no_other(project: Path) -> None:
    (project / "hangs.jinja").write_text(f"{HANGS}{{{{ messages }}}}", encoding="utf-8")
    limits = Limits(seconds=3.0, render_seconds=0.2)
    run = lint_project(replace(request(project), limits=limits, jobs=2))
    assert [row for row in found(run) if row[0] != "hangs.jinja"] == ALL
    told = {each.path for each in run.problems} | {each.path for each in run.templates}
    assert "hangs.jinja" in told
