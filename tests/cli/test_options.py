"""Check options shared by several commands, ``--format``, ``-o`` and completion."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from autoparser.cli import output
from autoparser.cli.lint import MANY
from autoparser.cli.main import DEMO, EXAMPLES, SUMMARIES, app
from tests.case_tables import load_cases

from .conftest import ROOT, Run

COMMANDS: dict[str, Any] = getattr(typer.main.get_command(app), "commands")  # noqa: B009

OF_ITS_OWN = {
    "output",  # a directory in `fetch`
    "form",  # each command has its own forms
    "timeout",  # limits a render, a command, or a template
    "explain",  # explains different things by command
    "profile",  # a set of lint rules, or an engine's handling of history
    "fail_on",  # each command has its own kinds of findings
    "show",  # in one command the parser alone, in another every answer
    "python",  # one environment, or several
    "api_key",  # the key of a backend, or of this server
    "quiet",  # hides notes, and in `lint` the summary, too
    "full",  # shows everything that the command otherwise cuts to one screen
}
"""Options whose help says more in some command."""


@pytest.fixture(scope="module")
def options() -> dict[str, dict[str, Any]]:
    """Every option by its spelling, in each command that has it."""
    found: dict[str, dict[str, Any]] = {}
    for command, made in COMMANDS.items():
        for parameter in made.params:
            for spelling in (*parameter.opts, *parameter.secondary_opts):
                if spelling.startswith("-"):
                    found.setdefault(spelling, {})[command] = parameter
    return found


def test_shared_option_means_the_same_in_every_command(options: dict[str, dict[str, Any]]) -> None:
    for spelling, by_command in options.items():
        shared = {
            (option.help, option.metavar, tuple(option.opts))
            for option in by_command.values()
            if option.name not in OF_ITS_OWN
        }
        assert len(shared) <= 1, (spelling, shared)


def test_commands_share_format_output_and_jobs_options(options: dict[str, dict[str, Any]]) -> None:
    # `serve` and `debug` have no result.
    everywhere = set(COMMANDS) - {"serve", "debug"}
    assert {command for command, option in options["--format"].items() if option.hidden} == {
        "export",
        "report",
    }
    assert set(options["--format"]) == set(options["-f"]) == everywhere
    assert set(options["--output"]) == set(options["-o"]) == everywhere
    assert set(options["--jobs"]) == set(options["-j"]) == {"lint", "fix", "survey"}
    # Every command with encoders also accepts a tokenizer, for encoders that return ids.
    assert set(options["--encoder"]) <= set(options["--tokenizer"])
    # Every command that has a JSON form accepts both spellings.
    assert set(options["--json"]) == {
        *("analyze", "demo", "parse", "decode", "engines", "learn", "roundtrip", "fetch", "fix"),
        *("probe", "plugins", "grammar", "render", "lint", "compare", "rule", "survey", "export"),
    }


ELSEWHERE = {"debug", "engines", "fetch", "plugins", "probe", "serve"}
"""Commands whose examples need a terminal, a network, an engine or a server."""
SLOW = {"compare", "fix", "learn", "report", "roundtrip", "survey"}


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, marks=pytest.mark.slow if command in SLOW else ())
        for command in COMMANDS
    ],
)
def test_help_of_a_command_has_a_working_example(
    command: str, autoparser: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = autoparser(command, "--help").out
    assert told.split("\n\n")[1] == f"  {SUMMARIES[command]}"
    example = re.findall(r"\nExample:\n  autoparser (.*)\n\n", told)
    assert example == [EXAMPLES[command]]
    name, *words = shlex.split(EXAMPLES[command])
    made = COMMANDS[command]
    made.make_context(name, [*words])
    if command in ELSEWHERE:
        return
    monkeypatch.chdir(tmp_path)
    assert autoparser("demo").code == 0
    template = Path(DEMO, "chat_template.jinja").read_text("utf-8")
    for copy in ("before.jinja", "after.jinja"):
        Path(copy).write_text(template, "utf-8")
    Path("tools.yaml").write_text(Path(DEMO, "tools.yaml").read_text("utf-8"), "utf-8")
    Path("log.jsonl").write_text(json.dumps(Path(DEMO, "output.txt").read_text("utf-8")), "utf-8")
    ran = autoparser(name, *words)
    # Exit code 1 means findings, which are allowed here.
    assert ran.code in (0, 1), ran.err
    assert "Traceback" not in ran.err


def test_demo_prints_80_column_commands_that_run_when_pasted(
    autoparser: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = autoparser("demo").out
    assert max(map(len, told.splitlines())) <= 80
    (command,) = re.findall(r"^autoparser parse (?:.*\\\n)*.*$", told, re.MULTILINE)
    words = shlex.split(command.replace("\\\n", ""))  # join lines like a shell
    assert words.pop(0) == "autoparser"
    ran = autoparser(*words)
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize("use", ["survey", "lint --no-cache", "fix --no-cache"])
def test_progress_in_a_log_is_an_occasional_line(
    use: str, autoparser: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, *words = use.split()
    for number in range(MANY + 1):
        text = f"{{{{ messages[0].content }}}}{number}"
        (tmp_path / f"{number}.jinja").write_text(text, "utf-8")
    # CI requests colors with this variable.
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "ing: " not in autoparser(command, tmp_path, *words, "-j", "1").err
    monkeypatch.setattr(output, "LOG_INTERVAL", 0.0)
    ran = autoparser(command, tmp_path, *words, "-j", "1")
    word = {"survey": "surveying", "lint": "linting", "fix": "fixing"}[command]
    assert f"{word}: 4 of {MANY + 1}\n" in ran.err
    assert f"{word}: {MANY + 1} of" not in ran.err
    assert "\r" not in ran.err


FORMS = load_cases(__file__, "options.yaml")["forms"]


def test_options_page_lists_every_form() -> None:
    page = (ROOT / "docs" / "options.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    for command, forms in FORMS.items():
        wanted = [f"`{part}`" for part in (command, *forms.split())]
        assert sum(all(part in row for part in wanted) for row in rows) == 1, command


COMPLETED = [
    # shell, words so far, some of the completions
    ("bash", "autoparser gr", "grammar"),
    ("bash", "autoparser compare --fo", "--format"),
    *(("bash", f"autoparser {command} --format ", forms) for command, forms in FORMS.items()),
    ("zsh", "autoparser lint --format s", "sarif"),
    ("fish", "autoparser render -f t", "text training-template"),
    ("bash", "autoparser analyze --show s", "summary switches settings stops serve"),
    ("bash", "autoparser lint --profile ", "release strict training"),
    ("bash", "autoparser lint --select AP301,AP30", "AP301,AP302"),
    ("bash", "autoparser rule assistant-", "assistant-content-stripped"),
]


@pytest.mark.parametrize(("shell", "line", "answers"), COMPLETED)
def test_shell_completion_offers_the_expected_words(
    shell: str, line: str, answers: str, autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Set the variables that scripts of --install-completion set.
    monkeypatch.setenv("_AUTOPARSER_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    ran = autoparser()
    assert (ran.code, ran.err) == (0, "")
    for answer in answers.split():
        assert answer in ran.out


@pytest.mark.parametrize(
    "shell", ["bash", *(pytest.param(text, marks=pytest.mark.slow) for text in ("zsh", "fish"))]
)
def test_completion_script_is_shown_and_installed(shell: str, tmp_path: Path, process: Run) -> None:
    given = {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    shown = process("--show-completion", shell, **given)
    assert (shown.code, shown.err) == (0, "")
    assert f"_AUTOPARSER_COMPLETE=complete_{shell}" in shown.out
    assert process("--install-completion", shell, **given).code == 0
    scripts = [path.read_text("utf-8") for path in tmp_path.rglob("*") if path.is_file()]
    assert any(f"_AUTOPARSER_COMPLETE=complete_{shell}" in script for script in scripts)
