"""Answers of inspections in a folder, for the next run over the same templates.

Contract: what comes out is what went in, to the last byte of every report; an entry that is
damaged, cut or of another kind is not there. Nothing in the folder is run or believed beyond its
digest: entries are plain values, read as the classes that they are of. What nobody has asked for
in a month is removed.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from time import time
from types import MappingProxyType
from typing import cast

from msgspec import MsgspecError, msgpack

from autoparser.analysis.loading.cached_files import cache_file, cached_file

from .inspection import SeenHits

__all__ = ["InspectionCache"]

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

    def put(self, key: str, seen: SeenHits) -> None:
        """Cache an answer, unless something was in the way of looking, which may go away."""
        if seen.troubles or not seen.looked:
            return
        try:
            content = msgpack.encode(seen, enc_hook=_thawed)
            read = self._decoder.decode(content)
            # One and true are equal, their bytes are not; a set and a list have the same bytes.
            same = read == seen and msgpack.encode(read) == content
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
