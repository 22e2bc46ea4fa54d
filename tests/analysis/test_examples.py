"""Run the examples in docstrings of the package."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): len(lines)
    for wing in ("analysis", "autoparser", "cli", "reports")
    for path in sorted((ROOT / wing).rglob("*.py"))
    if (lines := re.findall(r"^ *>>> ", path.read_text(encoding="utf-8"), re.MULTILINE))
}
"""The number of examples by module, as its text has them."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_docstring_examples_are_true(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    module = import_module(
        f"autoparser.{name}".replace("autoparser.autoparser.__init__", "autoparser")
    )
    told: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    tests = doctest.DocTestFinder().find(module)
    for test in tests:
        runner.run(test, out=told.append)
    # doctest skips examples outside of docstrings, as in the string below a field.
    assert sum(len(test.examples) for test in tests) == EXAMPLES[name]
    assert runner.failures == 0, "".join(told)
