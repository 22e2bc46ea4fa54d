"""Check watching: what counts as a change, errors that do not end it, and its end."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from autoparser.analysis.core.errors import AutoparserError
from autoparser.cli.command_runs import PolledFiles, watch_files

from .conftest import ROOT, Start


def write_later(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    later = path.stat().st_mtime_ns + 1_000_000_000
    os.utime(path, ns=(later, later))


def replace_file(path: Path) -> None:
    other = path.with_suffix(".new")
    other.write_text("three", encoding="utf-8")
    other.replace(path)


CHANGES: list[tuple[str, Callable[[Path], object], bool]] = [
    ("nothing", Path.exists, False),
    ("the same text at another time", lambda path: write_later(path, "one"), False),
    ("another text", lambda path: write_later(path, "two"), True),
    ("another file in its place", replace_file, True),
    ("it is gone", Path.unlink, True),
]


@pytest.mark.parametrize(("change", "seen"), [c[1:] for c in CHANGES], ids=[c[0] for c in CHANGES])
def test_only_changed_content_counts_as_a_change(
    change: Callable[[Path], object], seen: bool, tmp_path: Path
) -> None:
    path = tmp_path / "t.jinja"
    path.write_text("one", encoding="utf-8")
    watched = PolledFiles([path])
    change(path)
    assert watched.changed() is seen
    assert not watched.changed()


def test_watch_sees_changed_and_new_files(tmp_path: Path) -> None:
    watched = PolledFiles([tmp_path, tmp_path / "later"])
    (tmp_path / "a").write_text("a", encoding="utf-8")
    assert watched.changed()
    (tmp_path / "later").write_text("b", encoding="utf-8")
    assert watched.changed()
    assert not watched.changed()


def test_watched_action_repeats_after_changes_and_errors(
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
        write_later(path, str(len(seen) + 1))

    assert watch_files(str(path), action, wait=wait) == 0
    assert seen == ["1", "2", "3"]
    assert "this one is broken" in capsys.readouterr().err


@pytest.mark.slow
def test_watch_runs_until_interrupted(tmp_path: Path, start: Start) -> None:
    source, page = tmp_path / "t.jinja", tmp_path / "report.html"
    templates = ROOT / "fixtures" / "templates"
    shutil.copy(templates / "content-plain.jinja", source)
    with start("report", source, "-o", page, "--watch", stdout=None) as running:
        assert running.stderr is not None
        try:
            wait_for(running.stderr, "watching")
            first = page.read_text("utf-8")
            source.write_text("{% if %}", encoding="utf-8")
            wait_for(running.stderr, "Jinja cannot read this template")
            wait_for(running.stderr, "watching")
            shutil.copy(templates / "j1-json-in-tags.jinja", source)
            wait_for(running.stderr, "watching")
            assert page.read_text("utf-8") != first
        finally:
            running.send_signal(signal.SIGINT)
        assert running.wait(20) in (0, 130)


def wait_for(stream: IO[str], words: str) -> None:
    """Read lines up to one that holds the words."""
    until = time.monotonic() + 60
    line = ""
    while words not in line:
        line = stream.readline()
        assert line, "the command has ended"
        assert time.monotonic() < until
