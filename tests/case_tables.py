"""Tables of cases and whole outputs, in files beside their tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    import pytest


def case_tables(test_file: str, name: str) -> Callable[[str], pytest.MarkDecorator]:
    """Return a decorator that runs a test with each case of a table in a file beside it."""
    tables = load_cases(test_file, name)
    # Benchmarks read tables, too, in environments without pytest.
    parametrize = import_module("pytest").mark.parametrize

    def table(key: str) -> pytest.MarkDecorator:
        decorator: pytest.MarkDecorator = parametrize(
            "case", tables[key], ids=lambda case: ascii(case)[:80]
        )
        return decorator

    return table


def load_cases(test_file: str, name: str) -> Any:
    """Return all tables of a file beside a module of tests."""
    return yaml.safe_load((Path(test_file).parent / name).read_text("utf-8"))


def compare_snapshot(path: Path, text: str) -> None:
    """Compare a text with a file, which UPDATE_SNAPSHOTS=1 writes anew."""
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8", newline="\n")
    assert text == path.read_text(encoding="utf-8")
