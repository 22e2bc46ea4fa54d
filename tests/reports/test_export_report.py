"""The report of an export."""

from __future__ import annotations

import pytest

from autoparser.analysis.export.export_limits import Export, ExportLimit, MessagePiece
from autoparser.analysis.export.response_template import (
    ComparedMessage,
    ExportMismatch,
    ExportTrial,
)
from autoparser.reports import export_report

READ = ComparedMessage(None, "Hello.")
LOST = ExportMismatch("content", "…" * 80 + "A:", "Hel\x1blo.\n", READ, ComparedMessage(None, None))
RAISED = ExportMismatch("1 call", "A:", "{", READ, None, "ValueError('no JSON')")


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("mismatch", [LOST, RAISED])
def test_a_mismatch_is_shown_as_a_person_can_see_it(mismatch: ExportMismatch, width: int) -> None:
    limit = ExportLimit(MessagePiece.IDS, "they stand after the arguments, which is too late")
    trial = ExportTrial(3, 5, 2, 1, (mismatch, RAISED))
    text = export_report(Export({}, (limit,), needs_tools=True), trial, width).plain
    assert all(len(line) <= width for line in text.splitlines())
    assert "\x1b" not in text
    words = " ".join(text.split())
    assert "call ids they stand after the arguments" in words
    assert "3 of 5 messages" in words
    assert "2 more have parts that are not expressed" in words
    assert f"Comes back otherwise: {mismatch.kind}" in words
    assert mismatch.title in words
    # One of each kind is shown.
    assert "ValueError" in text


def test_a_whole_export_that_was_not_tried() -> None:
    assert export_report(Export({}), None, 80).plain.splitlines() == [
        "The whole format is expressed.",
        "Not checked with the target's own parser.",
    ]
