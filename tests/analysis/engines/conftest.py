"""Fake engines for the tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autoparser.analysis.engines import engine_process
from autoparser.analysis.engines.served_format import CACHE_VARIABLE

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _unshared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the cache of whoever runs the tests alone."""
    monkeypatch.setenv(CACHE_VARIABLE, "")


@pytest.fixture
def fake_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = (str(Path(__file__).with_name("fakes")), str(ROOT))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    # Engines that are really installed have tests elsewhere.
    monkeypatch.setattr(engine_process, "ENGINES", ("vllm", "sglang"))
