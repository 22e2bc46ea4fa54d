"""Bad input and bad usage: exit code 2 and one line that says where and what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
GOOD = "fixtures/templates/j1-json-in-tags.jinja"

UNREADABLE = [
    # source, what the line says of the place or the cause, what to do
    ("nowhere.jinja", "there is no file or directory", "pass a template file"),
    ("fixtures", "holds no chat template", "add one of them"),
    ("fixtures/broken/raises-always.jinja", "raises on every conversation", "by hand"),
    ("fixtures/broken/renders-nothing.jinja", "renders nothing", "check that it reads"),
    ("fixtures/broken/ignores-messages.jinja", "ignores the messages", "check that it reads"),
    ("fixtures/broken/random-text.jinja", "a different text each time", "remove what is random"),
    ("fixtures/broken/invalid-utf8.jinja", "byte 42", "save the file as UTF-8"),
]


@pytest.mark.parametrize(("source", "cause", "advice"), UNREADABLE)
def test_one_line_names_file_cause_and_advice(
    source: str, cause: str, advice: str, autoparser: Run
) -> None:
    ran = autoparser("analyze", source)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"{source}: ")
    assert ran.err.count("\n") == 1
    assert ran.err.endswith("\n")
    assert cause in ran.err
    assert advice in ran.err


@pytest.mark.parametrize("name", ["huge.jinja", "huge.json"])
def test_a_huge_file_is_refused_before_it_is_read(
    name: str, tmp_path: Path, autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / name
    with source.open("wb") as file:
        file.truncate(1 << 30)
    # What is read of a file passes here; a byte would do to fail.
    monkeypatch.setattr("autoparser.analysis.sources.local_files.decode_text", pytest.fail)
    ran = autoparser("analyze", source)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"{source}: this is larger than 64 MiB, the most that is read of a text; pass a template,"
        " or a directory of a model\n"
    )
    ran = autoparser("parse", GOOD, "--input", source)
    assert f"{source}: this is larger than 64 MiB" in ran.err


def test_a_program_is_called_binary(tmp_path: Path, autoparser: Run) -> None:
    source = tmp_path / "model.jinja"
    source.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00\x3e\xd0\xff")
    ran = autoparser("analyze", source)
    assert (ran.code, ran.out) == (2, "")
    assert f"{source}: this is a binary file, a program, not text; pass a template" in ran.err


def test_a_misspelt_form_is_suggested(autoparser: Run) -> None:
    ran = autoparser("grammar", GOOD, "--format", "gnbf")
    assert (ran.code, ran.out) == (2, "")
    assert "'gnbf' is not one of 'gbnf', " in ran.err
    assert "; did you mean gbnf?; see 'autoparser grammar --help'\n" in ran.err


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("AP999", "'autoparser rule' lists all"),
        ("assistant-content-striped", "did you mean assistant-content-stripped?"),
        ("PA301", "did you mean AP301?"),
    ],
)
def test_an_unknown_rule_names_no_unrelated_one(code: str, hint: str, autoparser: Run) -> None:
    ran = autoparser("rule", code)
    assert (ran.code, ran.out, ran.err) == (2, "", f"there is no rule {code!r}; {hint}\n")


def test_standard_input_is_one_file(autoparser: Run) -> None:
    ran = autoparser("render", "-", "--messages", "-")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("standard input holds one file, and - stands for several here; ")


def test_messages_come_from_standard_input(process: Run) -> None:
    ran = process("render", GOOD, "--messages", "-", stdin=b"- {role: user, content: hi}")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"


def test_broken_jinja_is_a_line_and_the_place_with_a_caret(autoparser: Run) -> None:
    ran = autoparser("analyze", "fixtures/broken/broken-syntax.jinja")
    assert (ran.code, ran.out) == (2, "")
    line, text, caret = ran.err.splitlines()
    assert line.startswith("fixtures/broken/broken-syntax.jinja: line 4, column 27: ")
    assert text == "4 |     {%- elif message.role = 'assistant' %}"
    assert caret.index("^") == text.index("=")


def test_five_megabytes_of_text_end_in_a_line(tmp_path: Path, autoparser: Run) -> None:
    source = tmp_path / "big.jinja"
    source.write_text("All work and no play. " * 240_000, encoding="utf-8")
    ran = autoparser("analyze", source)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"{source}: ")
    assert ran.err.count("\n") == 1
    assert len(ran.err) < 1000


def test_a_template_that_hides_in_its_error_is_shown_escaped(
    tmp_path: Path, autoparser: Run
) -> None:
    source = tmp_path / "hostile.jinja"
    source.write_text("{{ raise_exception('\\x1b[31m[bold]\\nred\\u202e') }}", encoding="utf-8")
    ran = autoparser("analyze", source)
    assert ran.code == 2
    assert "\\x1b[31m[bold]\\nred\\u202e" in ran.err
    assert ran.err.rstrip("\n").isprintable()


USES = [
    ((), "Missing argument"),
    ((GOOD, "other"), "unexpected extra argument"),
    ((GOOD, "--jsn"), "--jsn"),
    ((GOOD, "--name"), "--name"),
    ((GOOD, "--name", "tool_use"), "there is no template named 'tool_use'"),
    ((GOOD, "--phase", "T33"), "there is no phase 'T33'; did you mean T3?"),
    ((GOOD, "--phase", ""), "there is no phase ''"),
    ((GOOD, "--json", "--diffs"), "leave out --phase and --diffs"),
    ((GOOD, "--json", "--phase", "T3"), "leave out --phase and --diffs"),
    ((GOOD, "--output", GOOD), "would overwrite the template"),
    ((GOOD, "--output", "no/such/folder/report.txt"), "no/such/folder/report.txt: cannot be"),
    ((GOOD, "--output", "fixtures"), "fixtures: cannot be written"),
]


@pytest.mark.parametrize(("arguments", "words"), USES)
def test_a_wrong_use_is_one_line(arguments: tuple[str, ...], words: str, autoparser: Run) -> None:
    ran = autoparser("analyze", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert ran.err.count("\n") == 1


def test_a_misspelt_command_is_one_line(autoparser: Run) -> None:
    ran = autoparser("analyse", GOOD)
    assert (ran.code, ran.out) == (2, "")
    assert "analyze" in ran.err
    assert ran.err.count("\n") == 1


def test_another_process_says_the_same_and_no_more(process: Run) -> None:
    ran = process("analyze", "fixtures/broken/renders-nothing.jinja")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
