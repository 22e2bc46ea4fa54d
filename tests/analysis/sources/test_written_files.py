"""Files are written whole or not at all; a cache that others wrote to is read with bounds."""

from __future__ import annotations

import errno
import hashlib
import os
import resource
import zlib
from pathlib import Path
from unittest.mock import Mock

import pytest

from autoparser import AutoparserError, analyze, load_format, load_template
from autoparser.analysis.lint.project_run import InspectionCache
from autoparser.analysis.sources.local_files import LARGEST, cached_file, read_files, read_path
from autoparser.analysis.sources.written_files import cache_file, open_lock, open_log, write_whole

J1 = "fixtures/templates/j1-json-in-tags.jinja"
GIGABYTES = 5 << 30


NO_SPACE = Mock(side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
"""Fails like the flush of a file on a full disk."""


def test_saved_format_survives_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    analysis, file = analyze(load_template(J1)), tmp_path / "model.format.json"
    analysis.save(file)
    before = file.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", NO_SPACE)
        with pytest.raises(OSError, match="No space"):
            analysis.save(file)
    assert file.read_bytes() == before
    assert [*tmp_path.iterdir()] == [file]
    assert load_format(file).format == analysis.format
    # A program may overwrite its input.
    analysis.save(file)


def test_file_changed_since_reading_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "t.jinja"
    file.write_bytes(b"one\r\ntwo")
    # Newlines are read as Python's text mode does.
    write_whole(file, b"three", before="one\ntwo")
    with pytest.raises(AutoparserError, match="was changed while this command ran"):
        write_whole(file, b"four", before="one\ntwo")
    assert file.read_bytes() == b"three"
    assert [*tmp_path.iterdir()] == [file]


def test_no_link_to_a_read_file_is_overwritten(tmp_path: Path) -> None:
    file, hard, soft = (tmp_path / name for name in ("file", "hard", "soft"))
    file.write_bytes(b"text")
    os.link(file, hard)
    soft.symlink_to(file)
    token = read_files.set(set())
    try:
        assert read_path(file, noted=False) == b"text"
        write_whole(soft, b"more")
        assert (file.read_bytes(), hard.read_bytes()) == (b"more", b"text")
        assert soft.is_symlink()
        read_path(hard)
        read_path(soft)
        for path in (file, hard, soft):
            with pytest.raises(AutoparserError, match="would overwrite a file"):
                write_whole(path, b"lost")
            with pytest.raises(AutoparserError, match="would overwrite a file"):
                open_log(path)
        cache_file(file, b"lost")
    finally:
        read_files.reset(token)
    assert (file.read_bytes(), hard.read_bytes()) == (b"more", b"text")


def test_new_file_gets_the_default_mode_and_old_file_keeps_its_mode(tmp_path: Path) -> None:
    new, old, usual = (tmp_path / name for name in ("new", "old", "usual"))
    usual.touch()
    old.touch(0o600)
    for path in (new, old):
        write_whole(path, b"")
    assert new.stat().st_mode == usual.stat().st_mode
    assert old.stat().st_mode & 0o777 == 0o600


def odd_files(folder: Path) -> list[Path]:
    """Make things that are not cache files: a pipe, endless and huge files, a folder, a loop."""
    pipe, endless, huge, loop = (folder / name for name in ("pipe", "endless", "huge", "loop"))
    os.mkfifo(pipe)
    endless.symlink_to("/dev/zero")
    huge.touch()
    os.truncate(huge, GIGABYTES)
    link = folder / "link"
    link.symlink_to(huge)
    loop.symlink_to(loop)
    return [pipe, endless, huge, link, folder, loop, folder / "missing"]


def test_cache_reads_are_bounded_and_never_block(tmp_path: Path) -> None:
    for path in odd_files(tmp_path):
        assert cached_file(path) is None, path
    exact = tmp_path / "exact"
    exact.touch()
    os.truncate(exact, LARGEST)
    assert len(cached_file(exact) or b"") == LARGEST
    with pytest.raises(OSError, match=os.strerror(errno.ENXIO)):
        open_lock(tmp_path / "pipe")


def test_cached_file_replaces_the_link_not_its_target(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("mine", "utf-8")
    for at, target in enumerate((own, tmp_path / "none", Path("/dev/zero"))):
        (tmp_path / f"entry{at}").symlink_to(target)
    os.mkfifo(tmp_path / "entry3")
    for at in range(4):
        cache_file(tmp_path / f"entry{at}", b"cached")
        assert not (tmp_path / f"entry{at}").is_symlink()
        assert (tmp_path / f"entry{at}").read_bytes() == b"cached"
    assert own.read_text("utf-8") == "mine"
    assert not (tmp_path / "none").exists()


def test_irregular_file_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="not a regular file"):
        write_whole(pipe, b"new")
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["pipe", "endless", "huge", "link"])
def test_foreign_file_in_the_lint_cache_is_not_read(name: str, tmp_path: Path) -> None:
    odd_files(tmp_path)
    entry = tmp_path / "cache" / "ab" / "cdef"
    entry.parent.mkdir(parents=True)
    (tmp_path / name).rename(entry)
    assert InspectionCache(tmp_path / "cache").get("abcdef") is None


@pytest.mark.parametrize(
    "packed", [zlib.compress(b"\x00" * (1 << 29), 9), zlib.compress(b"\x91" * 9999)]
)
def test_oversized_or_deep_cache_entry_is_ignored(packed: bytes, tmp_path: Path) -> None:
    entry = tmp_path / "ab" / "cdef"
    entry.parent.mkdir()
    entry.write_bytes(hashlib.sha256(packed).digest() + packed)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert InspectionCache(tmp_path).get("abcdef") is None
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
