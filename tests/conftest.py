"""Tests contact only servers that they start, and use no caches of the person.

Nor does it matter how the tests were started: a shell lets its background jobs ignore interrupts,
and whatever those start would, too.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The tests start hundreds of processes. Where bytecode is forbidden, each would compile the package
# again, so let them write it to a temporary folder: the tree stays unchanged.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", "") and not sys.pycache_prefix:
    os.environ["PYTHONPYCACHEPREFIX"] = tempfile.mkdtemp(prefix="autoparser-tests-bytecode-")
    atexit.register(shutil.rmtree, os.environ["PYTHONPYCACHEPREFIX"], ignore_errors=True)

# Set before anything imports the library, which reads them once; nothing listens on that port.
os.environ["HF_ENDPOINT"] = "http://127.0.0.1:1"
os.environ["HF_HOME"] = tempfile.mkdtemp(prefix="autoparser-tests-")
# No test uses results that another run has cached.
os.environ["AUTOPARSER_NO_CACHE"] = "1"
for name in (
    "HF_TOKEN",
    "HF_HUB_CACHE",
    "HF_ASSETS_CACHE",
    "HF_HUB_OFFLINE",
    "AUTOPARSER_CACHE_DIR",
):
    os.environ.pop(name, None)

from huggingface_hub import close_session, constants  # noqa: E402 - see above

from tests.analysis.sources.hub_server import Hub, running_hub  # noqa: E402

SLOW = ("browser", "ci", "corpus")
"""Folders of which every test is slow; elsewhere a file says so itself."""

MOST_LIKE = 2
"""Slow cases of one test that are asked each time, spread over all of them."""

VOCABULARIES = frozenset({"qwen_backend", "deepseek_backend"})
"""Fixtures that take seconds to load, and hundreds of MB: real vocabularies."""


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Callable[[object, str], list[Any]]:
    """Return a function that lists the arguments of each later call of a function or method."""

    def record(owner: object, name: str) -> list[Any]:
        calls: list[Any] = []
        real = getattr(owner, name)

        def recording(*given: Any) -> Any:
            calls.append(given)
            return real(*given)

        monkeypatch.setattr(owner, name, recording)
        return calls

    return record


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of slow folders, also with the folder's name, and of real vocabularies.

    Of the slow cases of one test, all but a few are marked as rare: they are like the others.
    """
    here = Path(__file__).parent
    for item in items:
        folder = item.path.relative_to(here).parts[0]
        if folder in SLOW:
            item.add_marker(pytest.mark.slow)
            item.add_marker(getattr(pytest.mark, folder))
        if VOCABULARIES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)
    slow = sorted(
        (item for item in items if item.get_closest_marker("slow")), key=lambda item: item.nodeid
    )
    for _, group in groupby(slow, key=lambda item: item.nodeid.partition("[")[0]):
        cases = list(group)
        for at, item in enumerate(cases):
            if at % -(-len(cases) // MOST_LIKE):
                item.add_marker(pytest.mark.rare)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Hub]:
    """A Hub that `huggingface_hub` takes for the Hub in this process, with an empty cache."""
    with running_hub() as running:
        home = tmp_path / "hf"
        template = f"{running.endpoint}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "ENDPOINT", running.endpoint)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(home / "hub"))
        monkeypatch.setattr(constants, "HF_ASSETS_CACHE", str(home / "assets"))
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(home / "token"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        for variable in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_VERBOSITY", "HF_DEBUG"):
            monkeypatch.delenv(variable, raising=False)
        close_session()
        yield running
        close_session()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every wait between two attempts be short."""
    wait = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: wait(min(seconds, 0.01)))
