"""What docs/lint.md lists is all there is."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import typer

from autoparser.analysis.lint.project_settings import KEYS
from autoparser.analysis.lint.registry import all_rules
from autoparser.cli.lint import FindingForm
from autoparser.cli.main import app

DOCS = (Path(__file__).parents[2] / "docs" / "lint.md").read_text("utf-8")


def test_every_option_is_listed() -> None:
    command = typer.main.get_command(app)
    options = {
        option
        for parameter in command.commands["lint"].params  # type: ignore[attr-defined]
        for option in parameter.opts
        if option.startswith("--")
    }
    assert options - {"--help"} == set(re.findall(r"`(--[a-z-]+)[ `]", DOCS)) - {"--help"}


def test_every_key_is_shown() -> None:
    (shown,) = re.findall(r"```toml\n([\s\S]+?)```", DOCS)
    table = tomllib.loads(shown)["tool"]["autoparser"]["lint"]
    assert set(table) == set(KEYS)


def test_every_convention_is_told_of() -> None:
    (told,) = re.findall(r"Of conventions are ([^.]+)\.", DOCS)
    of_conventions = [rule.code for rule in all_rules() if rule.convention]
    assert re.findall(r"AP\d+", told) == of_conventions


def test_every_format_is_told_of() -> None:
    assert {f"`{form}`" for form in FindingForm} <= set(re.findall(r"`[a-z]+`", DOCS))
