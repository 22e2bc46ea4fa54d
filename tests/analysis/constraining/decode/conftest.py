"""Servers end with the test that started them."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from .running import Start, servers


@pytest.fixture
def start(tmp_path: Path) -> Generator[Start]:
    """Start a server: what it does, and the engine that it is."""
    yield from servers(tmp_path)
