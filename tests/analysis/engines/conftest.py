"""Engines that look like the real ones, in the place of those."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def fake_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = (str(Path(__file__).with_name("fakes")), str(ROOT))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
