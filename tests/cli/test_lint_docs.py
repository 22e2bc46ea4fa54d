"""What docs/lint.md shows is what happens, and what it lists is all there is."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from autoparser.analysis.lint.project.settings import KEYS
from autoparser.cli.lint_formats import Format
from autoparser.cli.main import app

DOCS = (Path(__file__).parents[2] / "docs" / "lint.md").read_text("utf-8")
SESSIONS = re.findall(r"```console\n\$ autoparser (.+)\n([\s\S]+?)```", DOCS)


@pytest.mark.parametrize(("command", "shown"), SESSIONS)
def test_a_session_is_real(command: str, shown: str, autoparser: Callable[..., Any]) -> None:
    ran = autoparser(*shlex.split(command))
    assert ran.code in (0, 1)
    for part in shown.split("[…]"):
        assert part.strip("\n") in ran.out


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


def test_every_format_is_told_of() -> None:
    assert {f"`{form}`" for form in Format} <= set(re.findall(r"`[a-z]+`", DOCS))
