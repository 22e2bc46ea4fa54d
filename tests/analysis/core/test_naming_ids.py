"""Ids that carry names: what is read out of them, and what is written."""

from __future__ import annotations

import re

import pytest

from autoparser.analysis.core.call_notation import NamingId, RowSlot

PLAIN = NamingId()
MADE = NamingId(("functions.", RowSlot.NAME, ":", RowSlot.INDEX))
APART = NamingId((RowSlot.ID, "~", RowSlot.NAME, "/", RowSlot.ID))


@pytest.mark.parametrize(
    ("call_id", "offered", "name"),
    [
        ("functions.delete:0", {"delete"}, "delete"),
        ("delete:0", {"delete"}, "delete"),
        ("delete", {"delete"}, "delete"),
        ("call/delete#12", {"delete"}, "delete"),
        # A name is the whole name.
        ("functions.undelete:0", {"delete"}, "undelete"),
        ("functions.delete_all:0", {"delete"}, "delete_all"),
        ("functions.delete-all:0", {"delete"}, "delete-all"),
        ("functions.delete2:0", {"delete"}, "delete2"),
        # Of two names of which one holds the other, the longer one counts.
        ("functions.files.delete:0", {"delete", "files.delete"}, "files.delete"),
        ("functions.files.delete:0", {"delete"}, "delete"),
        # Nothing says which of two it is.
        ("functions.delete:0", {"delete", "functions"}, "functions.delete:0"),
        ("functions.undelete:0", None, "undelete"),
        ("a1b2c3", None, "a1b2c3"),
        # It holds no name at all.
        ("0123", {"delete"}, ""),
        ("functions.7:0", {"delete"}, ""),
        ("weird@id", {"delete"}, ""),
        ("weird@id", None, ""),
    ],
)
def test_a_name_is_the_only_offered_one_that_stands_whole(
    call_id: str, offered: set[str] | None, name: str
) -> None:
    assert PLAIN.name_in(call_id, offered) == name


@pytest.mark.parametrize(
    ("naming", "call_id", "name"),
    [
        (MADE, "functions.delete:0", "delete"),
        (MADE, "functions.functions:0", "functions"),
        (MADE, "functions.files.delete:11", "files.delete"),
        # An id that is not put together so is read by the general rule.
        (MADE, "delete:0", "delete"),
        (MADE, "functions.delete", "delete"),
        (APART, "7~delete/aB3", "delete"),
        (APART, "delete", "delete"),
    ],
)
def test_a_known_row_says_where_the_name_stands(naming: NamingId, call_id: str, name: str) -> None:
    assert naming.name_in(call_id, {"delete", "functions"} if name == "functions" else None) == name


@pytest.mark.parametrize("naming", [PLAIN, MADE, APART])
def test_what_is_written_is_read_back_and_fits_the_pattern(naming: NamingId) -> None:
    written = naming.write("files.delete", 3)
    assert naming.name_in(written, {"files.delete"}) == "files.delete"
    pattern = naming.pattern(r"files\.delete", re.escape, word=r"\w+", number=r"\d+")
    assert re.fullmatch(pattern, written)
