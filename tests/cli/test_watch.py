"""Watching: what counts as a change, that errors do not end it, and how it ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from autoparser.analysis.core.errors import AutoparserError
from autoparser.cli.watch import PolledFiles, watch_files

ROOT = Path(__file__).parents[2]


def touched(path: Path) -> None:
    later = path.stat().st_mtime_ns + 1_000_000_000
    os.utime(path, ns=(later, later))


def same_text(path: Path) -> None:
    path.write_text("one", encoding="utf-8")
    touched(path)


def other_text(path: Path) -> None:
    path.write_text("two", encoding="utf-8")
    touched(path)


def replaced(path: Path) -> None:
    other = path.with_suffix(".new")
    other.write_text("three", encoding="utf-8")
    other.replace(path)
    touched(path)


CHANGES = [
    ("nothing", lambda path: None, False),  # noqa: ARG005
    ("another time", touched, False),
    ("the same text again", same_text, False),
    ("another text", other_text, True),
    ("another file in its place", replaced, True),
    ("it is gone", Path.unlink, True),
]


@pytest.mark.parametrize(("change", "seen"), [c[1:] for c in CHANGES], ids=[c[0] for c in CHANGES])
def test_a_change_is_one_of_the_content(
    change: Callable[[Path], None], seen: bool, tmp_path: Path
) -> None:
    path = tmp_path / "t.jinja"
    path.write_text("one", encoding="utf-8")
    watched = PolledFiles([path])
    change(path)
    assert watched.changed() is seen
    assert not watched.changed()


def test_files_of_a_directory_are_watched_and_one_may_come(tmp_path: Path) -> None:
    watched = PolledFiles([tmp_path, tmp_path / "later"])
    (tmp_path / "a").write_text("a", encoding="utf-8")
    assert watched.changed()
    (tmp_path / "later").write_text("b", encoding="utf-8")
    assert watched.changed()
    assert not watched.changed()


def test_it_is_done_again_after_each_change_and_after_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.jinja"
    path.write_text("1", encoding="utf-8")
    seen: list[str] = []

    def action() -> int:
        seen.append(path.read_text("utf-8"))
        if seen[-1] == "2":
            raise AutoparserError("this one is broken")
        return 1

    def wait(seconds: float) -> None:
        assert seconds > 0
        if len(seen) == 3:
            raise KeyboardInterrupt
        path.write_text(str(len(seen) + 1), encoding="utf-8")
        later = time.time() + 10 * len(seen)
        os.utime(path, (later, later))

    assert watch_files(str(path), action, wait=wait) == 0
    assert seen == ["1", "2", "3"]
    assert "this one is broken" in capsys.readouterr().err


def test_standard_input_cannot_be_watched() -> None:
    with pytest.raises(AutoparserError, match="cannot be watched"):
        watch_files("-", lambda: 0)


def test_a_command_watches_until_it_is_interrupted(tmp_path: Path) -> None:
    source = tmp_path / "t.jinja"
    page = tmp_path / "report.html"
    shutil.copy(ROOT / "fixtures" / "templates" / "content-plain.jinja", source)
    command = [
        sys.executable,
        "-m",
        "autoparser",
        "report",
        str(source),
        "-o",
        str(page),
        "--watch",
    ]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as running:  # noqa: S603
        assert running.stderr is not None
        try:
            assert "watching" in _next(running.stderr)
            first = page.read_text("utf-8")
            source.write_text("{% if %}", encoding="utf-8")
            assert "Jinja cannot read this template" in _next(running.stderr)
            shutil.copy(ROOT / "fixtures" / "templates" / "j1-json-in-tags.jinja", source)
            while "watching" not in _next(running.stderr):
                pass
            while "watching" not in _next(running.stderr):
                pass
            assert page.read_text("utf-8") != first
        finally:
            running.send_signal(signal.SIGINT)
        assert running.wait(20) in (0, 130)


def _next(stream: object) -> str:
    """Read the next line that says something."""
    line = "\n"
    while line == "\n":
        line = stream.readline()  # type: ignore[attr-defined]
        assert line
    return str(line)
