"""Asking jsonschema imports what the question needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

USE = """
import sys
from autoparser.analysis.core.schema_document import schema_validator
check = schema_validator({"format": "%s"}, unknown_formats=set())
print(bool(check("%s")), "lark" in sys.modules, bool(check("no address")), "lark" in sys.modules)
"""


def printed(format_: str, value: str) -> list[str]:
    command = [sys.executable, "-c", USE % (format_, value)]
    done = subprocess.run(command, capture_output=True, check=True, cwd=ROOT, text=True)  # noqa: S603
    return done.stdout.split()


def test_a_check_of_another_format_imports_no_grammar_of_addresses() -> None:
    assert printed("date", "2026-11-22") == ["False", "False", "True", "False"]


@pytest.mark.slow
def test_an_address_is_checked_by_the_grammar_that_jsonschema_has_for_it() -> None:
    assert printed("iri", "https://example.org/ä") == ["False", "True", "True", "True"]
