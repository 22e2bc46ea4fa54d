"""Profiles: what is shown to whom, what is folded, and that folding decides nothing else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.registry import all_rules
from autoparser.analysis.lint.rule import Profile, profiles_of

Run = Callable[..., Any]
LINT = Path(__file__).parents[2] / "fixtures" / "lint"
STRIPS = LINT / "AP301" / "fires.jinja"
"""A template that strips what the assistant said, as many do: a warning of a convention."""


def shown(autoparser: Run, *options: str) -> tuple[set[str], set[str]]:
    """Return the codes that are shown, and those that are folded."""
    ran = autoparser("lint", STRIPS, *options, "--format", "json", "--exit-zero")
    assert (ran.code, ran.err) == (0, "")
    (template,) = json.loads(ran.out)["templates"]
    return {each["code"] for each in template["findings"]}, set(template["folded"])


def everything(autoparser: Run) -> set[str]:
    found, folded = shown(autoparser, "--isolated", "--profile", "strict")
    assert folded == set()
    return found


@pytest.mark.parametrize("profile", Profile)
def test_a_profile_folds_and_drops_nothing(profile: Profile, autoparser: Run) -> None:
    found, folded = shown(autoparser, "--isolated", "--profile", profile.value)
    assert not found & folded
    assert found | folded == everything(autoparser)


def test_without_a_profile_conventions_are_folded(autoparser: Run) -> None:
    found, folded = shown(autoparser, "--isolated")
    assert "AP301" in folded
    assert (found, folded) == shown(autoparser, "--isolated", "--profile", "release")
    rules = {rule.code: rule for rule in all_rules()}
    assert not any(rules[code].convention for code in found)


def test_who_has_use_for_a_convention_is_shown_it(autoparser: Run) -> None:
    assert "AP301" in shown(autoparser, "--isolated", "--profile", "training")[0]
    assert "AP301" in shown(autoparser, "--isolated", "--profile", "cache")[0]
    assert "AP301" in shown(autoparser, "--isolated", "--profile", "engines")[1]


def test_who_names_a_rule_is_shown_what_it_finds(autoparser: Run) -> None:
    assert shown(autoparser, "--isolated", "--select", "AP301") == ({"AP301"}, set())
    assert "AP301" in shown(autoparser, "--isolated", "--extend-select", "AP301")[0]
    narrowed = ("--isolated", "--select", "AP301", "--profile", "release")
    assert shown(autoparser, *narrowed) == (set(), {"AP301"}), "who names both wants both"


def test_the_least_severity_folds_what_weighs_less(autoparser: Run) -> None:
    least = ("--min-severity", "warning")
    found, folded = shown(autoparser, "--isolated", "--profile", "strict", *least)
    assert "AP301" in found
    assert folded
    lower = {rule.code for rule in all_rules() if rule.severity is Severity.INFO}
    assert folded <= lower
    assert "AP301" in shown(autoparser, "--isolated", "--select", "AP301", *least[:1], "error")[1]


def test_what_is_folded_is_one_line_and_does_not_fail(autoparser: Run) -> None:
    ran = autoparser("lint", STRIPS, "--isolated", "--format", "concise", "--fail-on", "info")
    found, folded = shown(autoparser, "--isolated")
    assert ran.code == (1 if found else 0)
    (line,) = (each for each in ran.out.splitlines() if "not shown in the profile release" in each)
    assert line.startswith(f"{len(folded)} findings not shown")
    assert line.endswith("; --profile strict shows them")
    assert "AP301" in line


def test_settings_name_a_profile_and_an_option_goes_before_it(
    tmp_path: Path, autoparser: Run
) -> None:
    file = tmp_path / "autoparser.toml"
    file.write_text('[lint]\nprofile = "cache"\nmin-severity = "warning"\n', "utf-8")
    config = ("--config", str(file))
    cache = ("--isolated", "--profile", "cache", "--min-severity", "warning")
    assert shown(autoparser, *config) == shown(autoparser, *cache)
    least = ("--min-severity", "info")
    assert shown(autoparser, *config, "--profile", "strict", *least)[0] == everything(autoparser)


def test_what_a_baseline_knows_has_not_vanished_where_it_is_folded(
    tmp_path: Path, autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(STRIPS, tmp_path / "chat.jinja")
    base = ("lint", "chat.jinja", "--isolated", "--baseline", "known.json")
    autoparser(*base, "--profile", "strict", "--write-baseline")
    ran = autoparser(*base, "--format", "json")
    assert json.loads(ran.out)["baseline"] == {"vanished": 0}


def test_every_rule_that_runs_is_in_a_profile() -> None:
    for rule in all_rules():
        assert (Profile.STRICT in profiles_of(rule)) is rule.default
        assert rule.runs_for is None or profiles_of(rule) == (Profile(rule.runs_for.value),)
        assert not rule.convention or rule.severity is not Severity.ERROR, rule.code
