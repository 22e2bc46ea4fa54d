"""What the README shows is what happens."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parents[2] / "README.md"
SESSIONS = re.findall(r"```console\n\$ autoparser (.+)\n([\s\S]+?)```", README.read_text("utf-8"))


@pytest.mark.parametrize(("command", "shown"), SESSIONS)
def test_a_session_is_real(command: str, shown: str, autoparser: Callable[..., Any]) -> None:
    ran = autoparser(*shlex.split(command))
    assert ran.code == 0
    for part in shown.split("[…]"):
        assert part.strip("\n") in ran.out


def test_the_library_example_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(README.parent)
    (code,) = re.findall(r"```python\n([\s\S]+?)```", README.read_text("utf-8"))
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102
    analysis = names["analysis"]
    assert analysis.markers.reasoning_start == "<think>"
    assert analysis.view.tools.name == "JSON_NATIVE"
    assert analysis.check.passed == 44
