"""Rank the parsers of real engines, and load exports in them; without an engine they skip.

`AUTOPARSER_ENGINES` lists the Pythons of engines' environments, separated like PATH; exports are
loaded with `AUTOPARSER_VLLM_PYTHON=/path/to/python`, and the like for SGLang.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from dataclasses import replace

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.core.message_battery import battery_messages, loose_tools
from autoparser.analysis.core.reading_judge import ReadMessage
from autoparser.analysis.engines.engine_process import (
    EngineProcess,
    ParserError,
    ParserPair,
    installed_engines,
)
from autoparser.analysis.engines.engine_ranking import TextDelivery, rank_parsers
from autoparser.analysis.engines.ranking_texts import asked_texts
from autoparser.analysis.export.export_limits import TemplateDialect
from autoparser.analysis.export.response_template import response_template, try_out
from tests.analysis.parsing.loop import analysis_of, fixture_names
from tests.fixture_analyses import analyzed

from .export_reader import ExportReader, RefusedExportError
from .running_engine import SGLANG, VLLM

pytestmark = [pytest.mark.slow, pytest.mark.engine]

NAME = "j1-json-in-tags"
PYTHONS = os.environ.get("AUTOPARSER_ENGINES", sys.executable).split(os.pathsep)


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_engine_answers_for_all_its_parsers(engine: str) -> None:
    python = next((path for path in PYTHONS if engine in installed_engines(path)), None)
    if python is None:
        pytest.skip(f"{engine} is not installed")
    analysis = analyzed(NAME)
    asked = asked_texts(analysis)
    with EngineProcess(engine, python) as process:
        ranking = rank_parsers(process, analysis, asked)
        assert (len(ranking.offered.tools), len(ranking.offered.reasoning)) > (40, 30)
        # Some parsers read this common format, and none of them ends or hangs the process.
        assert ranking.best.pair.tool is not None
        assert ranking.best.whole.right > 0.75 * len(asked.texts)
        assert not [parser for parser in ranking.unusable if "process" in parser.reason]
        for pair in (ParserPair(), ranking.best.pair):
            for delivery in TextDelivery:
                answers = process.read(pair, [0], delivery.tokens)
                assert isinstance(answers, list)


# llama.cpp's own parser, tested with a model that writes a given text.


@pytest.mark.parametrize("tokens", [0, 1])
def test_model_writes_each_text_exactly(tokens: int) -> None:
    # This template ends a turn without a marker, so the parser has nothing to remove.
    text = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"
    said = ["plain", "naïve 日本語 – 🚀", "x" * 600, "<0x41>1.2", "one\ntwo\n\n\tthree"]
    some = asked_texts(analyzed(NAME)).texts[0]
    texts = [replace(some, text=text, opening="", tools=False) for text in said]
    with EngineProcess("xllamacpp") as process:
        given = [text.to_worker() for text in texts]
        assert not process.load(ChatTemplate(text), [], loose_tools(), given).left_out
        read = process.read(ParserPair(), range(len(texts)), tokens)
    assert read == [ReadMessage(text) for text in said]


def test_llama_cpp_parses_most_turns_of_a_common_format() -> None:
    every = asked_texts(analyzed(NAME))
    asked = replace(every, texts=every.texts[::3])
    with EngineProcess("xllamacpp") as process:
        ranking = rank_parsers(process, analyzed(NAME), asked)
    (only,) = ranking.pairs
    assert only.pair == ParserPair()
    assert not ranking.offered.has_parsers
    assert ranking.auto is None
    assert only.total + len(ranking.left_out) == len(asked.texts)
    assert only.whole.right > 0.75 * only.total
    assert only.streamed_right > 0.75 * only.total
    assert [score.delivery.tokens for score in only.streamed] == [1]


FORBIDS = "{{ messages[0].content }}{% if tools %}{{ raise_exception('no') }}{% endif %}"


@pytest.mark.parametrize(
    ("template", "words"),
    [
        # The parameter is a number.
        ("", "its grammar rejects the text after"),
        (FORBIDS, "no"),
        ("{% nonsense %}", ""),
    ],
)
def test_unparsable_text_has_its_reason(template: str, words: str) -> None:
    some = next(text for text in asked_texts(analyzed(NAME)).texts if text.meant.calls)
    broken = replace(some, text=some.text.replace('"arguments": {', '"arguments": ['))
    used = ChatTemplate(template) if template else analyzed(NAME).template
    with EngineProcess("xllamacpp") as process:
        process.load(used, [], loose_tools(), [broken.to_worker()])
        answer = process.read(ParserPair(), [0], 0)
    reason = answer if isinstance(answer, ParserError) else answer[0]
    assert isinstance(reason, ParserError)
    assert words in reason.reason


def test_texts_after_an_unrendered_prompt_are_left_out() -> None:
    some = asked_texts(analyzed(NAME)).texts[0]
    given = [some.to_worker(), replace(some, opening="another opening").to_worker()]
    with EngineProcess("xllamacpp", sys.executable) as process:
        loaded = process.load(analyzed(NAME).template, [], loose_tools(), given)
    assert list(loaded.left_out) == [1]


TWICE_READ = "sglang"
"""Its first parser passes on a text without markup, so the second one loses a call that the text
after it closes. A null written as `None` stays that text."""
PRESENT = {engine.name: engine.python for engine in (VLLM, SGLANG) if engine.python}


@pytest.fixture(scope="module", params=PRESENT)
def engine(request: pytest.FixtureRequest) -> Generator[tuple[str, ExportReader]]:
    with ExportReader(request.param, PRESENT[request.param]) as reader:
        yield request.param, reader


@pytest.mark.parametrize("name", fixture_names() if PRESENT else ())
def test_exports_load_and_parse_every_promised_message(
    engine: tuple[str, ExportReader], name: str
) -> None:
    called, reader = engine
    analysis = analysis_of(name)
    format_ = analysis.formats.united
    promised = reader.load(format_, response_template(format_))
    trial = try_out(format_, promised, reader, analysis.prober())
    calling = {case.title for case in battery_messages() if case.message.calls}
    known = calling if called == TWICE_READ else set[str]()
    strange = [mismatch for mismatch in trial.mismatches if mismatch.title not in known]
    assert not strange, strange[0]


def test_serving_engines_refuse_exports_in_the_transformers_dialect(
    engine: tuple[str, ExportReader],
) -> None:
    _, reader = engine
    format_ = analysis_of("j1-json-in-tags").formats.united
    export = response_template(format_, TemplateDialect.TRANSFORMERS)
    with pytest.raises(RefusedExportError, match="reasoning_content"):
        reader.load(format_, export)
