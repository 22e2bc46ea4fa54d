"""What the pages of the documentation show is what happens."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("compare", "survey")
SESSION = re.compile(r"```console\n\$ autoparser (.+)\n([\s\S]+?)```")
SESSIONS = [
    (command, shown)
    for name in PAGES
    for command, shown in SESSION.findall((DOCS / f"{name}.md").read_text("utf-8"))
]


@pytest.mark.parametrize(("command", "shown"), SESSIONS)
def test_a_session_is_real(command: str, shown: str, autoparser: Callable[..., Any]) -> None:
    ran = autoparser(*shlex.split(command))
    assert ran.code in (0, 1)
    for part in shown.split("[…]"):
        assert part.strip() in ran.out


def test_every_session_is_tried() -> None:
    assert len(SESSIONS) >= len(PAGES)
