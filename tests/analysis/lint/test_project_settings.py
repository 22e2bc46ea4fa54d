from __future__ import annotations

from pathlib import Path

import pytest

from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.project_settings import (
    FailOn,
    ProjectSettings,
    SettingsError,
    find_settings,
    read_settings,
)
from autoparser.analysis.lint.rule import Profile

FULL = """
[tool.autoparser.lint]
select = ["AP1", "AP3"]
ignore = ["AP306"]
extend-select = ["does-not-compile"]
fail-on = "warning"
profile = "cache"
min-severity = "warning"
exclude = ["vendor", "old/*.jinja"]
tokenizer = "models/tokenizer.json"

[tool.autoparser.lint.per-file-ignores]
"legacy/**" = ["AP3"]
"""


def test_every_key_is_read(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(FULL, encoding="utf-8")
    assert find_settings(tmp_path) == ProjectSettings(
        file,
        tmp_path,
        ("AP1", "AP3"),
        ("AP306",),
        ("does-not-compile",),
        (("legacy/**", ("AP3",)),),
        FailOn.WARNING,
        Profile.CACHE,
        Severity.WARNING,
        ("vendor", "old/*.jinja"),
        tmp_path / "models/tokenizer.json",
    )


def test_the_nearest_file_upward_that_says_something_counts(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    outer = tmp_path / "pyproject.toml"
    outer.write_text(FULL, encoding="utf-8")
    (below / "pyproject.toml").write_text("[tool.other]\nx = 1\n", encoding="utf-8")
    assert find_settings(below).file == outer
    own = tmp_path / "a" / "autoparser.toml"
    own.write_text('[lint]\nignore = ["AP1"]\n', encoding="utf-8")
    found = find_settings(below)
    assert (found.file, found.ignore, found.root) == (own, ("AP1",), tmp_path / "a")


def test_of_one_directory_the_own_file_goes_first(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(FULL, encoding="utf-8")
    (tmp_path / "autoparser.toml").write_text("", encoding="utf-8")
    found = find_settings(tmp_path)
    assert (found.file, found.select) == (tmp_path / "autoparser.toml", None)


WRONG = [
    # file, text, place, words, hint
    ("pyproject.toml", 'selct = ["AP1"]', "lint.selct", "no key 'selct'", "did you mean select?"),
    ("pyproject.toml", 'fail_on = "error"', "lint.fail_on", "no key", "did you mean fail-on?"),
    ("pyproject.toml", 'select = "AP1"', "lint.select", "this is a text, not a list", '["AP301"]'),
    ("pyproject.toml", "select = [1]", "lint.select[0]", "a number, not a text", "quotes"),
    ("pyproject.toml", 'ignore = ["AP1", "AP3066"]', "lint.ignore[1]", "'AP3066'", "did you mean"),
    ("pyproject.toml", 'extend-select = ["x"]', "lint.extend-select[0]", "no rule 'x'", "lists"),
    ("pyproject.toml", 'fail-on = "errors"', "lint.fail-on", "none of error, warning", "write"),
    ("pyproject.toml", "fail-on = 1", "lint.fail-on", "none of error, warning", "write"),
    ("pyproject.toml", "exclude = [[1]]", "lint.exclude[0]", "a list, not a text", "write"),
    ("pyproject.toml", "tokenizer = 3", "lint.tokenizer", "a number, not a text", "quotes"),
    ("pyproject.toml", "per-file-ignores = 3", "lint.per-file-ignores", "not an object", "table"),
    (
        "pyproject.toml",
        'per-file-ignores = {"a/*" = ["AP1", "NO"]}',
        'lint.per-file-ignores."a/*"[1]',
        "no rule 'NO'",
        "",
    ),
    (
        "pyproject.toml",
        'per-file-ignores = {"a/*" = ["AP1"], "b.jinja" = ["AP1", 2]}',
        'lint.per-file-ignores."b.jinja"[1]',
        "a number, not a text",
        "quotes",
    ),
    ("pyproject.toml", 'tokenizer = ""', "lint.tokenizer", "this is empty", "write"),
    ("pyproject.toml", "select = []]", "line 2", "broken TOML", "correct"),
    ("autoparser.toml", "select = []", "select", "no key 'select'", "write [lint]"),
    ("autoparser.toml", "[tool.autoparser.lint]", "tool", "no key 'tool'", "write [lint]"),
    ("autoparser.toml", "lint = 1", "lint", "not an object", "write [lint]"),
]


@pytest.mark.parametrize(("name", "text", "place", "words", "hint"), WRONG)
def test_what_is_wrong_is_told_with_its_place(
    name: str, text: str, place: str, words: str, hint: str, tmp_path: Path
) -> None:
    head = "[tool.autoparser.lint]\n" if name == "pyproject.toml" else ""
    (tmp_path / name).write_text(f"{head}{text}\n", encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        find_settings(tmp_path)
    error = caught.value
    assert error.file == str(tmp_path / name)
    assert place in (error.place or "")
    assert words in error.message
    assert hint in (error.hint or "")


def test_a_file_that_is_named_must_say_something(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        read_settings(tmp_path / "none.toml")
    file = tmp_path / "pyproject.toml"
    file.write_text("[tool.other]\n", encoding="utf-8")
    with pytest.raises(SettingsError, match="no table"):
        read_settings(file)
    file.write_bytes(b"\xff")
    with pytest.raises(SettingsError, match="UTF-8"):
        read_settings(file)
