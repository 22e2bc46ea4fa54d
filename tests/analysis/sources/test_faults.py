"""A cache that cannot be written: what happened is said, nothing half is left, a second try works.

Each case runs the command line in a process of its own, with the limits of a process: they hold
for root, too, whom no mode of a file keeps out.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from functools import partial
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
"""A place that refuses writes: the kernel makes its files."""


def analyze(
    hub: Hub, home: Path, model: str = "org/model", *, largest: int | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """Analyze a model with a home of the cache, where no file may grow beyond some bytes.

    Writing more fails as on a full disk.
    """
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    limit = None
    if largest is not None:
        limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (largest, largest))
        # Otherwise Python would cache truncated bytecode of a module, for all later processes.
        more["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.run(  # noqa: S603 - the interpreter that runs the tests
        [sys.executable, "-m", "autoparser", "analyze", model],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**inherited, "HF_ENDPOINT": hub.endpoint, "HF_HOME": str(home), **more},
        preexec_fn=limit,
        check=False,
        timeout=120,
    )


def halves(home: Path) -> list[Path]:
    """Return the files below a directory that a run left, but for markers and locks."""
    return [
        path
        for path in home.rglob("*")
        if path.is_file()
        and path.suffix != ".lock"
        and path.name not in ("CACHEDIR.TAG", ".gitignore")
        and not {"refs", "kept"} & {*path.parts}
    ]


def test_full_disk_error_is_one_line_and_leaves_nothing(hub: Hub, tmp_path: Path) -> None:
    hub.add("org/model", {"chat_template.jinja": TEMPLATE + "{# " + "x" * 3000 + " #}"})
    home = tmp_path / "home"
    done = analyze(hub, home, largest=2000)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("org/model: ")
    assert "the disk is full (File too large); make room there, or set HF_HOME" in done.stderr
    assert done.stderr.count("\n") == 1
    assert halves(home) == []
    offline = analyze(hub, home, HF_HUB_OFFLINE="1")
    assert (offline.returncode, offline.stderr.count("\n")) == (2, 1)
    again = analyze(hub, home)
    assert (again.returncode, again.stderr) == (0, "")
    assert analyze(hub, home, HF_HUB_OFFLINE="1").stdout == again.stdout
    # A cached file is found even if nothing can be written.
    assert analyze(hub, home, largest=0).stdout == again.stdout
    # A header can be read without being cached, and no partial file remains.
    hub.add("org/gguf", {"m.gguf": write_model(tmp_path / "made.gguf", TEMPLATE).read_bytes()})
    done = analyze(hub, home, "org/gguf", largest=2000)
    assert (done.returncode, done.stderr) == (0, "")
    assert not [path for path in home.rglob("*") if "gguf" in path.name and path.is_file()]
    assert not list(home.rglob("*.incomplete"))


def test_unwritable_cache_error_is_one_line(hub: Hub) -> None:
    with pytest.raises(OSError):  # noqa: PT011 - which error is the system's choice
        CLOSED.mkdir()
    hub.add("org/model", {"chat_template.jinja": TEMPLATE})
    done = analyze(hub, CLOSED)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"org/model: {CLOSED}")
    assert "the Hub's cache cannot be written: no write access (" in done.stderr
    assert done.stderr.endswith("; set HF_HOME to a writable directory\n")
    assert done.stderr.count("\n") == 1


def test_hub_library_prints_nothing(hub: Hub, tmp_path: Path) -> None:
    """A cut and a busy Hub cost time, and no line."""
    hub.add("org/model", {"chat_template.jinja": TEMPLATE + " " * 5000})
    hub.fail("GET /api", 1, status=503)
    hub.fail("GET /cdn/", 1, keep=100)
    cache = tmp_path / "cache"
    done = analyze(hub, tmp_path, HF_HUB_CACHE=str(cache))
    assert (done.returncode, done.stderr) == (0, "")
    assert list(cache.rglob("chat_template.jinja"))
