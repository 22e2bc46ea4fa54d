"""Tables of cases and whole outputs, in files beside their tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

import yaml

Test = TypeVar("Test", bound=Callable[..., object])


def case_tables(test_file: str, name: str) -> Callable[[str], Callable[[Test], Test]]:
    """Return a decorator that runs a test with each case of a table in a file beside it.

    A parameter `case` is the whole case; without it, parameters are the case's values by name.
    """
    tables = load_cases(test_file, name)
    # Benchmarks read tables, too, in environments without pytest.
    parametrize = import_module("pytest").mark.parametrize

    def table(key: str) -> Callable[[Test], Test]:
        def decorate(test: Test) -> Test:
            cases, names = tables[key], ["case"]
            rows = [[case] for case in cases]
            if "case" not in (given := signature(test).parameters):
                names = [name for name in given if any(name in case for case in cases)]
                rows = [[case.get(name) for name in names] for case in cases]
            ids = [ascii(case)[:80] for case in cases]
            decorated: Test = parametrize(names, rows, ids=ids)(test)
            return decorated

        return decorate

    return table


def load_cases(test_file: str, name: str) -> Any:
    """Return all tables of a file beside a module of tests."""
    return yaml.safe_load((Path(test_file).parent / name).read_text("utf-8"))


def compare_snapshot(path: Path, text: str) -> None:
    """Compare a text with a file, which UPDATE_SNAPSHOTS=1 writes anew."""
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8", newline="\n")
    assert text == path.read_text(encoding="utf-8")
