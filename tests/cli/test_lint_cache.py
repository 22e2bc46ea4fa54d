"""`lint` with what an earlier run has found: the same bytes, and no template looked at again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from autoparser.analysis.lint.inspection import InspectionTask, SeenHits, inspect_template
from tests.cli.conftest import ROOT, Run

LOOK = "autoparser.analysis.lint.project_run.inspect_template"
FORMS = ("text", "concise", "json", "sarif", "github", "junit", "markdown")


@pytest.fixture(autouse=True)
def caching(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AUTOPARSER_NO_CACHE")


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the texts of the templates that were looked at."""
    texts: list[str] = []

    def counting(task: InspectionTask) -> SeenHits:
        texts.append(task.template.text)
        return inspect_template(task)

    monkeypatch.setattr(LOOK, counting)
    return texts


def in_every_form(
    autoparser: Run, sources: Sequence[Path], folder: Path, *more: str
) -> list[object]:
    """Return what is printed, and every file."""
    folder.mkdir(exist_ok=True)
    use = ("lint", *sources, "--isolated", "--profile", "strict", "--show-evidence", "--explain")
    files = [folder / form for form in FORMS]
    reports = [f"--report={form}={file}" for form, file in zip(FORMS, files, strict=True)]
    return [autoparser(*use, *reports, *more), *(file.read_bytes() for file in files)]


def the_same_in_every_form(
    autoparser: Run, sources: Sequence[Path], looked: list[str], folder: Path
) -> None:
    fresh = in_every_form(autoparser, sources, folder / "reports", "--no-cache")
    cached = f"--cache-dir={folder / 'cache'}"
    in_every_form(autoparser, sources, folder / "reports", cached)
    looked.clear()
    assert in_every_form(autoparser, sources, folder / "reports", cached) == fresh
    assert looked == []


def test_what_was_cached_is_the_same_in_every_form(
    autoparser: Run, looked: list[str], tmp_path: Path
) -> None:
    # One that loses content, one that Jinja cannot read, and a text that is no template.
    few = [ROOT / "fixtures" / "lint" / code / "fires.jinja" for code in ("AP306", "AP101")]
    the_same_in_every_form(autoparser, [*few, ROOT / "fixtures" / "README.md"], looked, tmp_path)


@pytest.mark.slow
def test_what_was_cached_of_the_fixtures_is_the_same_in_every_form(
    autoparser: Run, looked: list[str], tmp_path: Path
) -> None:
    found = sorted((ROOT / "fixtures" / "templates").glob("*.jinja"))[::17]
    found += sorted((ROOT / "fixtures" / "lint").glob("*/fires.jinja"))[::17]
    the_same_in_every_form(autoparser, found, looked, tmp_path)


def test_where_it_is_cached_and_how_to_do_without(
    autoparser: Run, looked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    template = tmp_path / "one.jinja"
    template.write_text("{{ messages[0].content }}", encoding="utf-8")
    use = ("lint", template, "--isolated", "--select", "AP101")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))

    def times(*more: str | Path) -> int:
        looked.clear()
        assert autoparser(*use, *more).code == 0
        return len(looked)

    assert [times("--no-cache"), times("--no-cache")] == [1, 1]
    assert not (tmp_path / "home").exists()
    assert [times(), times()] == [1, 0]
    assert (tmp_path / "home" / "autoparser" / "lint").is_dir()
    assert [times("--cache-dir", tmp_path / "own" / "one"), times()] == [1, 0]
    monkeypatch.setenv("AUTOPARSER_CACHE_DIR", str(tmp_path / "other"))
    assert [times(), times(), times("--cache-dir", tmp_path / "own" / "one")] == [1, 0, 0]
    monkeypatch.setenv("AUTOPARSER_NO_CACHE", "1")
    assert times() == 1


def test_other_rules_and_other_limits_look_anew(
    autoparser: Run, looked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AUTOPARSER_CACHE_DIR", str(tmp_path / "cache"))
    template = tmp_path / "one.jinja"
    template.write_text("{{ messages[0].content }}", encoding="utf-8")
    for more in (("--select", "AP101"), ("--select", "AP101,AP102"), ("--select", "AP1")):
        looked.clear()
        # What is shown of it decides nothing.
        for shown in ((), ("--profile", "release"), ("--statistics",), ("--fail-on", "info")):
            autoparser("lint", template, "--isolated", *more, *shown)
        assert len(looked) == 1


def test_a_folder_that_cannot_be_is_an_error(autoparser: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    ran = autoparser("lint", "fixtures/lint/AP306", "--cache-dir", tmp_path / "file")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"{tmp_path / 'file'}: this cannot be the folder of the cache")
    assert ran.err.endswith("name another one with --cache-dir, or give --no-cache\n")


def test_watching_looks_at_what_changes_alone(
    autoparser: Run, looked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AUTOPARSER_CACHE_DIR", str(tmp_path / "cache"))
    models = tmp_path / "models"
    models.mkdir()
    for at in range(3):
        (models / f"{at}.jinja").write_text(f"{{{{ messages[{at}] }}}}", encoding="utf-8")

    def twice(_: str, action: Callable[[], int], beside: object) -> int:
        assert beside
        action()
        (models / "1.jinja").write_text("{{ messages[0] }}!", encoding="utf-8")
        return action()

    monkeypatch.setattr("autoparser.cli.lint.watch_files", twice)
    ran = autoparser("lint", models, "--isolated", "--select", "AP101", "--watch")
    assert (ran.code, len(looked), looked[3:]) == (0, 4, ["{{ messages[0] }}!"])
