"""A real browser: Chromium, driven from here; without one the tests skip, and say so."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start Chromium with a profile of its own.

    For one module: while its driver runs, asyncio can start no event loop in this thread.
    """
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"there is no browser: install one of {', '.join(BROWSERS)}")
    driver = pytest.importorskip("playwright.sync_api", reason="pip install '.[test]'")
    with driver.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, headless=True, args=[*FLAGS])
        yield started
        started.close()


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the pages that are looked at."""
    return tmp_path_factory.mktemp("pages")
