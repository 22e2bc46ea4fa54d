"""``--watch``: a command runs again whenever the file that it is about changes.

Files are polled: a template is one small file, editors replace it in many ways, and a poll sees
all of them on every system. What counts as a change is the content, not the time of writing.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from autoparser.analysis.core.errors import AutoparserError, TemplateSyntaxError

from . import wings
from .options import Command, WatchOption, add_options, option_parameter
from .output import print_note
from .source import STANDARD_INPUT

INTERVAL = 0.3
"""Seconds between two looks."""

_FETCH = "fetch it with autoparser fetch -o DIR, and name the directory"

_CLEAR = "\033[H\033[2J\033[3J"


def with_watch(*beside: str, to_file: bool = False) -> Callable[[Command], Command]:
    """Add the option `--watch` to a command; each run has a worker of its own, if it has one.

    `beside` are its options that name further files to watch. `to_file` is for a command whose
    result is not text for a terminal: it can only be watched with `--output`.
    """

    def decorate(command: Command) -> Command:
        def run(values: dict[str, Any], watch: bool) -> object:
            if not watch:
                return command(**values)
            if to_file and values.get("output") is None:
                raise AutoparserError(
                    "--watch writes the result again and again", hint="name its file with -o FILE"
                )
            files = [values.get(name) for name in beside]
            # Without a source, an encoder takes its place.
            encoder: str = values.get("encoder") or ""
            source = values["source"] or encoder.partition(":")[0]
            return watch_files(source, lambda: command(**values), beside=files)

        return add_options(command, [option_parameter("watch", WatchOption, default=False)], run)

    return decorate


def watch_files(
    source: str,
    action: Callable[[], object],
    *,
    beside: Sequence[Path | None] = (),
    wait: Callable[[float], None] = time.sleep,
) -> int:
    """Do something, and again after each change of the source, until it is interrupted.

    `beside` are further files that matter. Raises AutoparserError for a source that cannot be
    watched; errors of the action are shown, and watching goes on.
    """
    if source == STANDARD_INPUT:
        raise AutoparserError("standard input cannot be watched", hint="name a file")

    if not Path(source).exists() and wings.hub_name(source) is not None:
        raise AutoparserError("a model on the Hub cannot be watched", file=source, hint=_FETCH)
    files = PolledFiles([Path(source), *filter(None, beside)])
    try:
        while True:
            _run_action(action)
            print_note("")
            print_note(f"watching {source}, Ctrl-C ends it")
            while not files.changed():
                wait(INTERVAL)
            if sys.stdout.isatty():
                typer.echo(_CLEAR, nl=False)
    except KeyboardInterrupt:
        return 0


def _run_action(action: Callable[[], object]) -> None:
    try:
        action()
    except AutoparserError as error:
        print_note(str(error))
        if isinstance(error, TemplateSyntaxError) and error.excerpt:
            typer.echo(error.excerpt, err=True)


class PolledFiles:
    """Files, and what they were when they were last looked at."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Look at the files; of a directory, at the files in it."""
        self._paths = paths
        self._stamps: dict[Path, tuple[int, int]] = {}
        self._digests: dict[Path, bytes] = {}
        self.changed()

    def changed(self) -> bool:
        """Return whether any content has changed since the last look."""
        files = list(self._files())
        vanished = self._digests.keys() - files
        for path in vanished:
            del self._digests[path]
            self._stamps.pop(path, None)
        # All are looked at, so that one change is seen once.
        differing = sum(map(self._differs, files))
        return bool(differing or vanished)

    def _files(self) -> Iterator[Path]:
        for path in self._paths:
            try:
                if path.is_dir():
                    yield from sorted(each for each in path.iterdir() if each.is_file())
                elif path.is_file():
                    yield path
            except OSError:
                continue

    def _differs(self, path: Path) -> bool:
        try:
            found = path.stat()
            stamp = (found.st_mtime_ns, found.st_size)
            if self._stamps.get(path) == stamp:
                return False
            self._stamps[path] = stamp
            digest = _content_digest(path, found)
        except OSError:
            # It is being replaced; the next look sees what came.
            return False
        before = self._digests.get(path)
        self._digests[path] = digest
        return before != digest


LARGE = 1 << 24
"""Bytes beyond which a file's size and time stand for its content."""


def _content_digest(path: Path, file_stat: os.stat_result) -> bytes:
    if file_stat.st_size > LARGE:
        return f"{file_stat.st_mtime_ns} {file_stat.st_size}".encode()
    return hashlib.sha256(path.read_bytes()).digest()
