"""Fixtures with the templates of the corpus, all of them or a sample."""

from __future__ import annotations

from pathlib import Path

import pytest

from .corpus_templates import PACKAGE, corpus_paths


@pytest.fixture(scope="session")
def corpus() -> list[Path]:
    """The templates; without the package the tests skip, and say so."""
    pytest.importorskip(PACKAGE, reason=f"the corpus is the package {PACKAGE}")
    return corpus_paths()
