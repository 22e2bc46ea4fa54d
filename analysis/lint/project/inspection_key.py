"""What decides the answer of an inspection, as a key: equal keys, equal answers.

That is the task, with what stands in the files that it names, the limits, the engine itself and
the packages that render, read and encode for it. The engine is known by the text of its files and
not by their dates, so that whoever edits a rule is not shown what the rule found before, and
another machine with the same engine has the same keys. Rules render at a fixed time, so the date
is not part of it.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import autoparser.analysis
from autoparser import __version__
from autoparser.analysis.loading.isolation import Limits

from .inspection import Task

DECIDING = ("jinja2", "jiter", "jsonschema", "markupsafe", "referencing", "tokenizers")
"""Packages that have a part in what rules find."""

Stamp = tuple[str, int, int, int, int]
"""A file, and by what one sees that it is another one."""


class InspectionKeys:
    """The keys of one run, which looks once at each directory."""

    def __init__(self, limits: Limits | None) -> None:
        """Make keys of inspections within these limits."""
        self._limits = limits
        self._stamps: dict[Path, tuple[Stamp, ...]] = {}

    def key_of(self, task: Task) -> str | None:
        """Return the key of a task; None where more decides than can be seen here."""
        if task.jinjas:
            # Other programs are asked at the time of day, and may change with their environment.
            return None
        stamps: tuple[Stamp, ...] = ()
        if task.tokenizer is not None:
            path = Path(task.tokenizer)
            if not path.exists():
                # A model on the Hub may be another one the next time.
                return None
            stamps += self._of(path if path.is_dir() else path.parent)
        if task.directory is not None:
            stamps += self._of(task.directory)
        learnt = None if task.learnt is None else Path(task.learnt).read_bytes()
        template = task.template
        tokens = sorted(template.special_tokens.items())
        parts = (engine(), template.text, tokens, template.sandbox, task.rules, self._limits)
        places = (task.tokenizer, str(task.directory), stamps, learnt, task.tools)
        # Texts may hold what UTF-8 has no bytes for.
        return _digest(repr((parts, places)))

    def _of(self, directory: Path) -> tuple[Stamp, ...]:
        if directory not in self._stamps:
            self._stamps[directory] = tuple(map(_stamp, sorted(_files(directory, depth=1))))
        return self._stamps[directory]


@cache
def engine() -> str:
    """Return a digest of the engine and of the packages that decide with it."""
    found = hashlib.sha256(repr((__version__, sys.version)).encode())
    for name in DECIDING:
        found.update(f"{name} {_version(name)}\n".encode())
    home = Path(autoparser.analysis.__file__ or "").parent
    for path in sorted(_files(home)):
        found.update(repr(os.path.relpath(path, home)).encode())
        found.update(hashlib.sha256(Path(path).read_bytes()).digest())
    return found.hexdigest()


def _version(name: str) -> str:
    # Slow to import, and asked for only where something is cached.
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _files(directory: str | Path, depth: int = 99) -> Iterator[str]:
    """Return the files of a directory and of those in it, to a depth."""
    try:
        with os.scandir(directory) as entries:
            found = [*entries]
    except OSError:
        return
    for entry in found:
        if not entry.is_dir():
            yield entry.path
        elif depth and entry.name != "__pycache__":
            yield from _files(entry.path, depth - 1)


def _stamp(path: str) -> Stamp:
    try:
        found = Path(path).stat()
    except OSError:
        return path, 0, 0, 0, 0
    return path, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
