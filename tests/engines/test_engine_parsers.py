"""The real engines' own parsers, ranked; skipped where no engine is installed.

`AUTOPARSER_ENGINES` names the Pythons of engines' environments, as PATH names folders.
"""

from __future__ import annotations

import os
import sys

import pytest

from autoparser import analyze, load_template
from autoparser.analysis.engines.engine_process import EngineProcess, ParserPair, engines_of
from autoparser.analysis.engines.engine_ranking import TextDelivery, asked_texts, rank_parsers

from .chats import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.engine]

PYTHONS = os.environ.get("AUTOPARSER_ENGINES", sys.executable).split(os.pathsep)


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_an_engine_answers_for_all_of_its_parsers(engine: str) -> None:
    python = next((each for each in PYTHONS if engine in engines_of(each)), None)
    if python is None:
        pytest.skip(f"{engine} is not installed")
    analysis = analyze(load_template(ROOT / "fixtures/templates/j1-json-in-tags.jinja"))
    asked = asked_texts(analysis)
    with EngineProcess(engine, python) as process:
        ranking = rank_parsers(process, analysis, asked)
        assert (len(ranking.offered.tools), len(ranking.offered.reasoning)) > (40, 30)
        # Some of them read this common format, and none of them ends or hangs the process.
        assert ranking.best.pair.tool is not None
        assert ranking.best.whole.right > 0.75 * len(asked.texts)
        assert not [each for each in ranking.unusable if "process" in each.reason]
        for pair in (ParserPair(), ranking.best.pair):
            for delivery in TextDelivery:
                answers = process.read(pair, [0], delivery.tokens)
                assert isinstance(answers, list)
