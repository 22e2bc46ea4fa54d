"""The command lint beside its tables: its bar, profiles, cache, watching, and its page of docs."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import pytest
import typer

from autoparser.analysis.lint import template_inspection
from autoparser.analysis.lint.project_settings import KEYS
from autoparser.analysis.lint.registry import all_rules
from autoparser.analysis.lint.rule import Profile
from autoparser.cli.lint import FindingForm
from autoparser.cli.main import app
from tests.cli.conftest import ROOT, Run

DROPS = "fixtures/lint/AP306/fires.jinja"
BROKEN = "fixtures/lint/AP101/fires.jinja"
QUIET = "fixtures/lint/AP306/quiet.jinja"
STRIPS = "fixtures/lint/AP301/fires.jinja"
"""It strips the assistant's content, as many templates do: a warning of a convention."""


@pytest.mark.slow
def test_progress_bar_is_shown_in_a_terminal_only(
    tmp_path: Path, process: Run, terminal: Run
) -> None:
    for at in range(11):
        (tmp_path / f"{at}.jinja").write_text(f"{{{{ messages[{at}] }}}}", "utf-8")
    out = tmp_path / "out.txt"
    use = ("lint", tmp_path, "--select", "AP101", "-j", "2", "-o", out)
    ran = process(*use)
    told = out.read_text("utf-8")
    assert (ran.code, ran.out, ran.err, told) == (0, "", "", "11 templates, no finding.\n")
    shown = terminal(*use)
    assert (shown.code, out.read_text("utf-8")) == (0, told)
    assert "linting" in shown.out
    assert shown.out.endswith("\x1b[2K"), "it wipes itself away"


def test_profiles_fold_findings_and_drop_none(autoparser: Run) -> None:
    def shown(*options: str) -> tuple[set[str], set[str]]:
        """Return the codes that are shown, and those that are folded."""
        ran = autoparser("lint", STRIPS, "--isolated", *options, "--format", "json", "--exit-zero")
        (template,) = json.loads(ran.out)["templates"]
        return {finding["code"] for finding in template["findings"]}, set(template["folded"])

    seen = {profile: shown("--profile", profile.value) for profile in Profile}
    everything, nothing = seen[Profile.STRICT]
    assert nothing == set()
    for found, folded in seen.values():
        assert not found & folded
        assert found | folded == everything
    assert shown() == seen[Profile.RELEASE]
    usual, folded = seen[Profile.RELEASE]
    assert not any(rule.convention for rule in all_rules() if rule.code in usual)
    showing = {profile for profile, (found, _) in seen.items() if "AP301" in found}
    assert showing == {Profile.STRICT, Profile.TRAINING, Profile.CACHE}
    ran = autoparser("lint", STRIPS, "--isolated", "--format", "concise", "--fail-on", "info")
    assert ran.code == bool(usual), "what is folded does not fail"
    words = f"{len(folded)} findings hidden by the profile release"
    assert re.search(rf"^{words}.*; --profile strict shows them$", ran.out, re.MULTILINE)


@pytest.fixture
def looked(recorded: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the templates that were looked at, with the cache in use."""
    monkeypatch.delenv("AUTOPARSER_NO_CACHE")
    tasks: list[Any] = recorded(template_inspection, "inspect_template")
    return tasks


SOME = [
    *sorted((ROOT / "fixtures" / "templates").glob("*.jinja"))[::34],
    *sorted((ROOT / "fixtures" / "lint").glob("*/fires.jinja"))[::34],
]


@pytest.mark.parametrize(
    "sources",
    [[DROPS, BROKEN, QUIET, "README.md"], pytest.param(SOME, marks=pytest.mark.slow)],
    ids=len,
)
def test_cached_answer_is_equal_in_every_form(
    sources: list[str],
    autoparser: Run,
    looked: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    # A run that takes long says how far it is, and one from the cache does not take long.
    monkeypatch.setattr("autoparser.cli.output.LOG_INTERVAL", inf)
    forms = {form.value: tmp_path / form.value for form in FindingForm}
    use = ("lint", *sources, "--isolated", "--profile", "strict", "--show-evidence", "--explain")
    reports = [f"--report={form}={file}" for form, file in forms.items()]

    def every_form(cache: str) -> list[object]:
        return [autoparser(*use, *reports, cache), *(form.read_bytes() for form in forms.values())]

    fresh, cached = every_form("--no-cache"), f"--cache-dir={tmp_path / 'cache'}"
    every_form(cached)
    looked.clear()
    assert every_form(cached) == fresh
    assert looked == []


def test_cache_folder_can_be_chosen_or_disabled(
    autoparser: Run, looked: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    template = tmp_path / "one.jinja"
    template.write_text("{{ messages[0].content }}", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))

    def times(*more: str | Path, select: str = "AP101") -> int:
        looked.clear()
        autoparser("lint", template, "--isolated", "--select", select, *more)
        return len(looked)

    assert [times("--no-cache"), times("--no-cache")] == [1, 1]
    assert not (tmp_path / "home").exists()
    assert [times(), times()] == [1, 0]
    assert (tmp_path / "home" / "autoparser" / "lint").is_dir()
    assert [times("--cache-dir", tmp_path / "own" / "one"), times()] == [1, 0]
    monkeypatch.setenv("AUTOPARSER_CACHE_DIR", str(tmp_path / "other"))
    assert [times(), times(), times("--cache-dir", tmp_path / "own" / "one")] == [1, 0, 0]
    # Other rules lint again; a filter of findings does not.
    shows = ((), ("--profile", "release"), ("--statistics",), ("--fail-on", "info"))
    assert [times(*show, select="AP101,AP102") for show in shows] == [1, 0, 0, 0]
    monkeypatch.setenv("AUTOPARSER_NO_CACHE", "1")
    assert times() == 1


def test_watch_reruns_only_on_changes_of_found_files(
    tmp_path: Path, autoparser: Run, looked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AUTOPARSER_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "models" / "a").mkdir(parents=True)
    shutil.copy(ROOT / QUIET, "models/a/chat.jinja")
    shutil.copy(ROOT / DROPS, "chat.jinja")
    watched: list[list[Path | None]] = []

    def twice(source: str, action: Callable[[], int], beside: list[Path | None]) -> int:
        watched.append([path for path in beside if path is not None])
        assert (source, action()) == ("models, chat.jinja", 1)
        Path("chat.jinja").write_text((ROOT / QUIET).read_text("utf-8") + "\n", "utf-8")
        return action()

    monkeypatch.setattr("autoparser.cli.lint.watch_files", twice)
    select = ("--select", "AP101,AP306", "--format", "concise")
    ran = autoparser("lint", "models", "chat.jinja", *select, "--watch")
    assert (ran.code, len(looked)) == (0, 3)
    assert ran.out.endswith("2 templates, 1 finding: 1 error\n2 templates, no finding\n")
    assert watched == [[Path("models"), Path("chat.jinja"), Path("models/a")]]


def test_docs_list_every_option_key_convention_and_format() -> None:
    docs = (ROOT / "docs" / "lint.md").read_text("utf-8")
    command = typer.main.get_command(app)
    parameters = command.commands["lint"].params  # type: ignore[attr-defined]
    options = {opt for parameter in parameters for opt in parameter.opts if opt.startswith("--")}
    assert options - {"--help"} == set(re.findall(r"`(--[a-z-]+)[ `]", docs)) - {"--help"}
    (table,) = re.findall(r"```toml\n([\s\S]+?)```", docs)
    assert set(tomllib.loads(table)["tool"]["autoparser"]["lint"]) == set(KEYS)
    (conventions,) = re.findall(r"These rules report conventions: ([^.]+)\.", docs)
    listed = [rule.code for rule in all_rules() if rule.convention]
    assert re.findall(r"AP\d+", conventions) == listed
    assert {f"`{form}`" for form in FindingForm} <= set(re.findall(r"`[a-z]+`", docs))
