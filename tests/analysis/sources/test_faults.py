"""A cache that cannot be written: what happened is said, nothing half is left, a second try works.

Each case runs the command line in a process of its own, with the limits of a process: they hold
for root, too, whom no mode of a file keeps out.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.analysis.sources.gguf_files import write_model
from tests.analysis.sources.hub_server import Hub

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
CLOSED = Path("/sys/autoparser-cache")
"""A place where nobody may write: the kernel makes what is there."""


def autoparser(
    hub: Hub, home: Path, *arguments: str, before: Callable[[], None] | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run the command line with this Hub and this home of its cache."""
    variables = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    variables |= {"HF_ENDPOINT": hub.endpoint, "HF_HOME": str(home), **more}
    if before is not None:
        # Python would keep what fits of a module that it compiles, for all who come after.
        variables["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.run(  # noqa: S603 - the interpreter that runs the tests
        [sys.executable, "-m", "autoparser", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=variables,
        preexec_fn=before,
        check=False,
        timeout=120,
    )


def full() -> None:
    """Let no file grow beyond 2000 bytes; what is written after that fails, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))


def halves(home: Path) -> list[str]:
    """Name the files below a directory that a run left, but for markers and locks."""
    kept = [
        path
        for path in home.rglob("*")
        if path.is_file()
        and path.suffix != ".lock"
        and path.name not in ("CACHEDIR.TAG", ".gitignore")
        and "refs" not in path.parts
        and "kept" not in path.parts
    ]
    return [str(path.relative_to(home)) for path in kept]


def test_a_full_disk_is_one_line_and_leaves_nothing(hub: Hub, tmp_path: Path) -> None:
    long = TEMPLATE + "{# " + "x" * 3000 + " #}"
    hub.add("org/model", {"chat_template.jinja": long})
    home = tmp_path / "home"
    done = autoparser(hub, home, "analyze", "org/model", before=full)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("org/model: ")
    assert "the disk is full (File too large); make room there, or set HF_HOME" in done.stderr
    assert done.stderr.count("\n") == 1
    assert halves(home) == []
    offline = autoparser(hub, home, "analyze", "org/model", HF_HUB_OFFLINE="1")
    assert offline.returncode == 2
    assert offline.stderr.count("\n") == 1
    again = autoparser(hub, home, "analyze", "org/model")
    assert (again.returncode, again.stderr) == (0, "")
    assert autoparser(hub, home, "analyze", "org/model", HF_HUB_OFFLINE="1").stdout == again.stdout
    # A header need not be cached to be read, and no half of it is.
    content = write_model(tmp_path / "made.gguf", TEMPLATE).read_bytes()
    hub.add("org/gguf", {"m.gguf": content})
    done = autoparser(hub, home, "analyze", "org/gguf", before=full)
    assert (done.returncode, done.stderr) == (0, "")
    assert not [path for path in home.rglob("*") if "gguf" in path.name and path.is_file()]
    assert not list(home.rglob("*.incomplete"))


def test_a_cache_that_may_not_be_written_to(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(OSError):  # noqa: PT011 - which error is the system's choice
        CLOSED.mkdir()
    hub.add("org/model", {"chat_template.jinja": TEMPLATE})
    done = autoparser(hub, CLOSED, "analyze", "org/model")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"org/model: {CLOSED}")
    assert "the Hub's cache cannot be written: it may not be written to (" in done.stderr
    assert done.stderr.endswith("; set HF_HOME to a directory that may be\n")
    assert done.stderr.count("\n") == 1
    assert autoparser(hub, tmp_path / "home", "analyze", "org/model").returncode == 0


def test_a_cache_that_is_read_only_is_read(hub: Hub, tmp_path: Path) -> None:
    """What it holds is found there, whoever may write."""
    hub.add("org/model", {"chat_template.jinja": TEMPLATE})
    home = tmp_path / "home"
    first = autoparser(hub, home, "analyze", "org/model")
    assert first.returncode == 0

    def no_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    again = autoparser(hub, home, "analyze", "org/model", before=no_files)
    assert (again.returncode, again.stdout) == (0, first.stdout)


def test_no_word_of_the_library_reaches_the_terminal(hub: Hub, tmp_path: Path) -> None:
    """A cut and a busy Hub cost time, and no line."""
    hub.add("org/model", {"chat_template.jinja": TEMPLATE + " " * 5000})
    hub.fail("GET /api", 1, status=503)
    hub.fail("GET /cdn/", 1, keep=100)
    cache = tmp_path / "cache"
    done = autoparser(hub, tmp_path, "analyze", "org/model", HF_HUB_CACHE=str(cache))
    assert (done.returncode, done.stderr) == (0, "")
    assert list(cache.rglob("chat_template.jinja"))
