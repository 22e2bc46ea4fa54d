"""One word for one thing: options that several commands share, ``--format``, ``-o``, completion."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from autoparser.cli.main import app
from tests.cli.conftest import ROOT, Run

COMMANDS: dict[str, Any] = getattr(typer.main.get_command(app), "commands")  # noqa: B009
TEMPLATE = "fixtures/templates/j1-json-in-tags.jinja"

OF_ITS_OWN = {
    "output",  # a directory in `fetch`
    "form",  # each command has its forms
    "timeout",  # of a render, of a command, of a template
    "explain",  # more words, about what the command shows
    "profile",  # whose findings; whose way of putting turns into the history
    "fail_on",  # which of its findings are failures
    "show",  # the parser alone, every answer
    "python",  # one, several
    "full",  # all of what the command shows on one screen else
}
"""Options whose help says more in some command."""


def options() -> dict[str, dict[str, Any]]:
    """Return every option by its spelling, in each command that has it."""
    found: dict[str, dict[str, Any]] = {}
    for command, made in COMMANDS.items():
        for each in made.params:
            for spelling in (*each.opts, *each.secondary_opts):
                if spelling.startswith("-"):
                    found.setdefault(spelling, {})[command] = each
    return found


def test_an_option_means_the_same_in_every_command() -> None:
    for spelling, by_command in options().items():
        shared = {
            (each.help, each.metavar, tuple(each.opts))
            for each in by_command.values()
            if each.name not in OF_ITS_OWN
        }
        assert len(shared) <= 1, (spelling, shared)


def test_every_command_has_a_form_and_an_output() -> None:
    # A server and a debugger have no result.
    everywhere = set(COMMANDS) - {"serve", "debug"}
    found = options()
    assert set(found["--format"]) == set(found["-f"]) == everywhere
    assert set(found["--output"]) == set(found["-o"]) == everywhere
    assert set(found["--jobs"]) == set(found["-j"]) == {"lint", "fix", "survey"}


def test_json_is_a_short_form_where_text_is_the_only_other_one() -> None:
    assert set(options()["--json"]) == {
        "analyze",
        "demo",
        "parse",
        "decode",
        "engines",
        "learn",
        "roundtrip",
        "fetch",
        "fix",
        "probe",
        "plugins",
    }


def test_both_spellings_of_json_give_the_same(autoparser: Run, tmp_path: Path) -> None:
    output = tmp_path / "output.txt"
    output.write_text("Hello.<|im_end|>", encoding="utf-8")
    uses: list[tuple[object, ...]] = [
        ("analyze", TEMPLATE),
        ("parse", TEMPLATE, "--input", output),
        ("roundtrip", TEMPLATE, "--scenario", "answer"),
        ("decode", TEMPLATE, "--walks", "2"),
    ]
    for use in uses:
        short = autoparser(*use, "--json")
        assert json.loads(short.out)
        assert autoparser(*use, "--format", "json").out == short.out
        file = tmp_path / "result.json"
        assert autoparser(*use, "--json", "-o", file).out == ""
        assert file.read_text(encoding="utf-8") == short.out
        refused = autoparser(*use, "--json", "--format", "text")
        assert (refused.code, refused.out) == (2, "")
        assert "--json and --format text contradict each other" in refused.err


def test_a_result_goes_to_a_file_as_plain_text(autoparser: Run, tmp_path: Path) -> None:
    output = tmp_path / "output.txt"
    output.write_text("Hello.<|im_end|>", encoding="utf-8")
    uses: list[tuple[object, ...]] = [
        ("parse", TEMPLATE, "--input", output),
        ("parse", TEMPLATE, "--input", output, "--stream", "--explain"),
        ("parse", TEMPLATE, "--input", output, "--stream", "--json"),
        ("roundtrip", TEMPLATE, "--scenario", "answer"),
        ("rule",),
        ("rule", "AP301"),
        ("rule", "AP301", "-f", "markdown"),
        ("survey", TEMPLATE, "-j", "1"),
    ]
    for use in uses:
        file = tmp_path / "result.txt"
        printed = autoparser(*use)
        written = autoparser(*use, "-o", file)
        assert (written.code, written.out) == (printed.code, "")
        assert file.read_text(encoding="utf-8") == printed.out


@pytest.mark.parametrize(
    "use",
    [("parse",), ("roundtrip",), ("decode",), ("render", "-f", "training-template"), ("lint",)],
)
def test_no_result_takes_the_place_of_its_template(
    use: tuple[str, ...], autoparser: Run, tmp_path: Path
) -> None:
    template = tmp_path / "template.jinja"
    text = (ROOT / TEMPLATE).read_text("utf-8")
    template.write_text(text, "utf-8")
    ran = autoparser(*use, template, "-o", template)
    assert (ran.code, ran.out) == (2, "")
    assert "--output would overwrite the template" in ran.err
    assert template.read_text("utf-8") == text


def test_an_encoder_that_gives_ids_has_its_tokenizer_everywhere() -> None:
    found = options()
    assert set(found["--encoder"]) <= set(found["--tokenizer"])


FORMS = {
    "analyze": "text json",
    "grammar": "gbnf lark structural-tag ebnf json",
    "export": "response-template",
    "render": "text json training-template",
    "lint": "text concise json sarif github junit markdown",
    "rule": "text markdown",
    "compare": "text json markdown html",
    "survey": "text html",
    "report": "html",
}


def test_the_page_on_options_names_every_form() -> None:
    page = (ROOT / "docs" / "options.md").read_text("utf-8")
    for command, forms in FORMS.items():
        (line,) = (
            line
            for line in page.splitlines()
            if line.startswith("| `")
            and f"`{command}`" in line
            and all(f"`{form}`" in line for form in forms.split())
        )
        assert line


COMPLETED = [
    # shell, words so far, what is among the answers
    ("bash", "autoparser gr", "grammar"),
    ("bash", "autoparser compare --fo", "--format"),
    *(("bash", f"autoparser {command} --format ", forms) for command, forms in FORMS.items()),
    ("zsh", "autoparser gr", "grammar"),
    ("zsh", "autoparser lint --format s", "sarif"),
    ("fish", "autoparser gr", "grammar"),
    ("fish", "autoparser render -f t", "text training-template"),
]


@pytest.mark.parametrize(("shell", "line", "answers"), COMPLETED)
def test_a_shell_completes(shell: str, line: str, answers: str, process: Run) -> None:
    # As the scripts ask that --install-completion leaves after.
    variables = {
        "COMP_WORDS": line,
        "COMP_CWORD": str(line.count(" ")),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    ran = process(_AUTOPARSER_COMPLETE=f"complete_{shell}", **variables)
    assert (ran.code, ran.err) == (0, "")
    for answer in answers.split():
        assert answer in ran.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_told_how_to_complete(shell: str, tmp_path: Path, process: Run) -> None:
    given = {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    shown = process("--show-completion", shell, **given)
    assert (shown.code, shown.err) == (0, "")
    assert f"_AUTOPARSER_COMPLETE=complete_{shell}" in shown.out
    installed = process("--install-completion", shell, **given)
    assert installed.code == 0
    scripts = [path.read_text("utf-8") for path in tmp_path.rglob("*") if path.is_file()]
    assert any(f"_AUTOPARSER_COMPLETE=complete_{shell}" in script for script in scripts)
