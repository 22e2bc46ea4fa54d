"""Answers of inspections in a folder, for the next run over the same templates.

Contract: what comes out is what went in, to the last byte of every report; an entry that is
damaged, cut or of another kind is not there. Nothing in the folder is run or believed beyond its
digest: entries are plain values, read as the classes that they are of. What nobody has asked for
in a month is removed.
"""

from __future__ import annotations

import hashlib
import os
import sys
import zlib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import time
from types import MappingProxyType
from typing import cast

from msgspec import MsgspecError, msgpack

from autoparser import __version__
from autoparser.analysis.sources.local_files import (
    HOME,
    cache_file,
    cached_file,
    files_below,
)
from autoparser.analysis.templates.worker_limits import Limits

from .inspection import InspectionTask, SeenHits

# What decides the answer of an inspection, as a key: equal keys, equal answers.
#
# That is the task, with what stands in the files that it names, the limits, the engine itself and
# the packages that render, read and encode for it. The engine is known by the text of its files
# and not by their dates, so that whoever edits a rule is not shown what the rule found before,
# and another machine with the same engine has the same keys. Rules render at a fixed time, so the
# date is not part of it.


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

    def key_of(self, task: InspectionTask) -> str | None:
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
        saved = None if task.saved_format is None else Path(task.saved_format).read_bytes()
        template = task.template
        tokens = sorted(template.special_tokens.items())
        parts = (engine_digest(), template.text, tokens, template.sandbox, task.rules, self._limits)
        places = (task.tokenizer, str(task.directory), stamps, saved, task.tools)
        # Texts may hold what UTF-8 has no bytes for.
        return _digest(repr((parts, places)))

    def _of(self, directory: Path) -> tuple[Stamp, ...]:
        if directory not in self._stamps:
            self._stamps[directory] = tuple(map(_stamp, sorted(files_below(directory, depth=1))))
        return self._stamps[directory]


@cache
def engine_digest() -> str:
    """Return a digest of the engine and of the packages that decide with it."""
    found = hashlib.sha256(repr((__version__, sys.version)).encode())
    for name in DECIDING:
        found.update(f"{name} {_version(name)}\n".encode())
    for path in sorted(files_below(HOME)):
        found.update(repr(os.path.relpath(path, HOME)).encode())
        found.update(hashlib.sha256(Path(path).read_bytes()).digest())
    return found.hexdigest()


def _version(name: str) -> str:
    # Slow to import, and asked for only where something is cached.
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _stamp(path: str) -> Stamp:
    try:
        found = Path(path).stat()
    except OSError:
        return path, 0, 0, 0, 0
    return path, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


DAY = 24 * 3600.0
UNUSED = 30 * DAY
"""Seconds after which an entry is removed that nobody has asked for."""

_DIGEST = hashlib.sha256().digest_size


class InspectionCache:
    """The answers in one folder."""

    def __init__(self, folder: Path) -> None:
        """Use this folder, which need not be there."""
        self._folder = folder
        self._decoder = msgpack.Decoder(SeenHits)

    def get(self, key: str) -> SeenHits | None:
        """Return the answer that was cached by a key; None where there is none."""
        entry = self._entry(key)
        found = cached_file(entry)
        if found is None:
            return None
        digest, body = found[:_DIGEST], found[_DIGEST:]
        if hashlib.sha256(body).digest() != digest:
            return None
        try:
            seen = self._decoder.decode(zlib.decompress(body))
        except (MsgspecError, UnicodeDecodeError, zlib.error):
            return None
        if _age(entry) > DAY:
            with suppress(OSError):
                os.utime(entry)
        return seen

    def put(self, key: str, seen_hits: SeenHits) -> None:
        """Cache an answer, unless something was in the way of looking, which may go away."""
        if seen_hits.troubles or not seen_hits.looked:
            return
        try:
            content = msgpack.encode(seen_hits, enc_hook=_thawed)
            read = self._decoder.decode(content)
            # One and true are equal, their bytes are not; a set and a list have the same bytes.
            same = read == seen_hits and msgpack.encode(read) == content
        except (MsgspecError, OverflowError, TypeError, UnicodeError):
            # Not every text and every number has a place in an entry.
            return
        if same:
            body = zlib.compress(content, 1)
            cache_file(self._entry(key), hashlib.sha256(body).digest() + body)

    def sweep(self) -> None:
        """Remove what nobody has asked for in a month; at most once a day."""
        marker = self._folder / "swept"
        if _age(marker) < DAY:
            return
        cache_file(marker, b"")
        for entry in self._folder.glob("??/*"):
            if _age(entry) > UNUSED:
                with suppress(OSError):
                    entry.unlink()

    def _entry(self, key: str) -> Path:
        return self._folder / key[:2] / key[2:]


def _thawed(value: object) -> object:
    if isinstance(value, MappingProxyType):
        return dict(cast("Mapping[object, object]", value))
    raise TypeError


def _age(path: Path) -> float:
    """Return the seconds since a file was written or asked for; endless where there is none."""
    try:
        return time() - path.stat().st_mtime
    except OSError:
        return float("inf")
