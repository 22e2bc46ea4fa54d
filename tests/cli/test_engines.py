"""``autoparser engines``: what it prints, and its exit codes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from autoparser.analysis.engines import engine_process
from tests.cli.conftest import ROOT, Run

TEMPLATE = "fixtures/templates/j1-json-in-tags.jinja"


@pytest.mark.usefixtures("fake_engines")
def test_the_ranking_says_what_to_pass(autoparser: Run) -> None:
    ran = autoparser("engines", TEMPLATE)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    # What to pass is said first.
    at = lines.index("  vllm    --tool-call-parser careful --reasoning-parser tags")
    assert at < 5
    assert lines[at + 2] == "  sglang  --tool-call-parser careful --reasoning-parser tags"
    assert "; its auto " in lines[at + 3]
    assert max(map(len, lines)) <= 80
    best = lines.index("  --tool-call-parser careful --reasoning-parser tags")
    assert lines[best - 3] == "vllm 0.0.fake"
    assert "  auto, by the template's text: --tool-call-parser quick" in ran.out
    assert "quick here reads like quick_too" in ran.out
    assert "dying skipped: ValueError: dying is not here" in ran.out
    assert "expected" in ran.out
    assert lines[-1] == f"Next  autoparser analyze {TEMPLATE} --show serve"


@pytest.mark.slow
@pytest.mark.usefixtures("fake_engines")
def test_the_document_has_every_pair(autoparser: Run) -> None:
    ran = autoparser("engines", TEMPLATE, "--json")
    found = json.loads(ran.out)
    assert found["ok"] is True
    vllm, sglang = found["engines"]
    assert (vllm["engine"], sglang["engine"]) == ("vllm", "sglang")
    assert vllm["auto"] is None
    best = sglang["pairs"][0]
    assert (best["tool_parser"], best["reasoning_parser"]) == ("careful", "tags")
    assert best["right"] == best["streamed_right"] == best["total"] == found["texts"]
    assert best["failure"] is None
    failure = next(each["failure"] for each in sglang["pairs"] if each["tool_parser"] == "quick")
    assert failure["text"]
    assert failure["meant"]


@pytest.mark.slow
@pytest.mark.usefixtures("fake_engines")
def test_parsers_that_do_not_read_all_are_a_finding(autoparser: Run, tmp_path: Path) -> None:
    template = tmp_path / "other.jinja"
    text = (ROOT / TEMPLATE).read_text("utf-8")
    template.write_text(text.replace("tool_call>", "use>"), "utf-8")
    assert autoparser("engines", template).code == 1


def test_no_engine_is_an_error_with_a_way_out(
    autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_process, "ENGINES", ())
    ran = autoparser("engines", TEMPLATE)
    assert (ran.code, ran.out) == (2, "")
    assert f"no engine is installed in {sys.executable}" in ran.err
    assert "--python" in ran.err
