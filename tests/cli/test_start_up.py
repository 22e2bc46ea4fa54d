"""What a command imports before it works: nothing that it does without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import typer

import autoparser.reports
from autoparser.cli.commands import SUMMARIES
from autoparser.cli.main import app
from autoparser.lazy_names import name_homes
from tests.cli.conftest import ROOT, Run

SAY = "print('|'.join(sys.modules), file=sys.stderr)"


def imported(code: str) -> set[str]:
    """Return what a fresh Python has imported once it has run a text."""
    command = [sys.executable, "-c", f"import sys; {code}; {SAY}"]
    done = subprocess.run(command, capture_output=True, check=True, cwd=ROOT, text=True)  # noqa: S603
    return set(done.stderr.splitlines()[-1].split("|"))


def commands_in(modules: set[str]) -> set[str]:
    return {name for name in SUMMARIES if f"autoparser.cli.{name}" in modules}


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_little_more_than_typer(option: str) -> None:
    found = imported(f"from autoparser.cli.main import run; run(['{option}'])")
    own = {
        name for name in found if name.startswith(("autoparser.analysis.", "autoparser.reports"))
    }
    assert own == {
        "autoparser.analysis.core",
        "autoparser.analysis.core.errors",
    }
    assert not commands_in(found)
    assert not found & {"jinja2", "msgspec", "multiprocessing", "rich", "importlib.metadata"}


def test_a_saved_format_is_parsed_without_what_makes_and_loads_templates(
    autoparser: Run, tmp_path: Path
) -> None:
    saved, output = tmp_path / "model.format.json", tmp_path / "output.txt"
    template = "fixtures/templates/a1-function-parameter.jinja"
    assert autoparser("analyze", template, "--format", "file", "-o", saved).code == 0
    output.write_text("Hello.", encoding="utf-8")
    for more in ("", ", '--json'", ", '--stream'"):
        use = f"'parse', {str(saved)!r}, '--input', {str(output)!r}{more}"
        found = imported(f"from autoparser.cli.main import run; run([{use}])")
        assert commands_in(found) == {"parse"}
        wings = ("inference", "constraining", "history", "lint", "overview", "loading.sources")
        began = tuple(f"autoparser.analysis.{wing}." for wing in wings)
        assert sorted(name for name in found if name.startswith(began)) == []
        assert not found & {
            "jinja2",
            "yaml",
            "jsonschema",
            "huggingface_hub",
            "tokenizers",
            "numpy",
            "pydantic",
            "multiprocessing",
        }
        unread = ("core.conversation.dialogue", "core.format.media_slots", "describing.view")
        assert not found & {f"autoparser.analysis.{name}" for name in unread}
        reports = {name for name in found if name.startswith("autoparser.reports.")}
        assert reports <= {f"autoparser.reports.{name}" for name in USED}


def test_a_saved_format_is_parsed_in_a_worker_where_a_limit_is_asked_for(
    autoparser: Run, tmp_path: Path
) -> None:
    saved = tmp_path / "model.format.json"
    template = "fixtures/templates/a1-function-parameter.jinja"
    assert autoparser("analyze", template, "--format", "file", "-o", saved).code == 0
    use = f"'parse', {str(saved)!r}, '--input', {template!r}, '--timeout', '9'"
    assert "multiprocessing" in imported(f"from autoparser.cli.main import run; run([{use}])")


@pytest.mark.parametrize("use", ["'rule'", "'rule', 'AP301'", "'rule', '-f', 'markdown'"])
def test_rules_are_shown_without_their_checks_and_the_engine(use: str) -> None:
    found = imported(f"from autoparser.cli.main import run; run([{use}])")
    own = {name for name in found if name.startswith("autoparser.analysis.lint.")}
    assert own == {f"autoparser.analysis.lint.{name}" for name in READ_FOR_PAGES}
    assert not found & {"jinja2", "tokenizers", "autoparser.analysis.analysis"}


READ_FOR_PAGES = ("hit", "registry", "rule")


def test_a_lint_asks_for_no_schema_and_converts_no_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A flag that a variable sets is converted.
    monkeypatch.delenv("AUTOPARSER_NO_CACHE")
    template = "fixtures/templates/a1-function-parameter.jinja"
    use = f"'lint', {template!r}, '--no-cache', '--no-isolation', '-o', {str(tmp_path / 'x')!r}"
    found = imported(f"from autoparser.cli.main import run; run([{use}])")
    assert commands_in(found) == {"lint", "fix"}
    assert not found & {"jsonschema", "lark", "pydantic", "huggingface_hub", "tokenizers"}


USED = ("blocks", "difference", "message", "parsed_json", "terminal", "visible")


def test_the_help_fits_its_line_and_lists_every_command(autoparser: Run) -> None:
    told = autoparser("--help").out
    for name, words in SUMMARIES.items():
        assert f"  {name:<9}  {words}\n" in told
    assert list(typer.main.get_command(app).commands) == list(SUMMARIES)  # type: ignore[attr-defined]


def test_no_module_hides_a_report_of_its_name() -> None:
    homes = name_homes("autoparser.reports")
    # Once a module of a name is imported, the face has that in the place of the report.
    late = {name for name in homes if name not in NOT_LATE}
    assert not late & {home.removeprefix(".") for home in homes.values()}
    for name in homes:
        assert not isinstance(getattr(autoparser.reports, name), ModuleType)


NOT_LATE = {"visible"}
