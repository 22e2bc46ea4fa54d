"""The corpus is analysed once for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from .outcomes import PACKAGE, Outcome, corpus_paths, outcomes


@pytest.fixture(scope="session")
def corpus() -> list[Path]:
    """The templates; without the package the tests skip, and say so."""
    pytest.importorskip(PACKAGE, reason=f"the corpus is the package {PACKAGE}")
    return corpus_paths()


@pytest.fixture(scope="session")
def surveyed(corpus: list[Path]) -> list[Outcome]:
    return outcomes(corpus)
