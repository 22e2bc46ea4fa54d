"""Every fixture as a response template, read by transformers' own parser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from autoparser import analyze, response_template
from autoparser.analysis.core.message_battery import BatteryCase, battery_messages
from autoparser.analysis.core.turn_format import RefusedMessageError
from autoparser.analysis.export.export_limits import Export, TemplateDialect
from autoparser.analysis.export.response_template import (
    ExportTrial,
    transformers_parser,
    trial_tools,
    try_out,
    turn_prompts,
)
from tests.analysis.parsing.loop import analysis_of, fixture_names
from tests.analysis.parsing.messages import random_messages
from tests.analysis.tiny import CONTENT, REASONING, turn
from tests.case_tables import load_cases

pytestmark = pytest.mark.slow

TARGET = "transformers.utils.chat_parsing"
"""It takes a while to load, so only a test that runs does."""

RANDOM = 16
"""Messages that are drawn for a fixture; of 127 fixtures they are two thousand."""
EOS = "<|the-end|>"
ENDED_OTHERWISE = ("a1-function-parameter", "a2-4-long-tags", "j1-json-in-tags", "p1-python-lines")
"""Some of them end a turn by a marker, some by a blank line."""

TABLES = load_cases(__file__, "response_templates.yaml")

NO_TURN_GOES_ON = {"j8-python-dict", "reasoning-cut-from-content"}
"""Fixtures of which no turn in the history goes on from a prompt."""


def parse_response(*given: Any, **options: Any) -> dict[str, Any]:
    """Read a text as transformers does."""
    found: dict[str, Any] = import_module(TARGET).parse_response(*given, **options)
    return found


def trial_of(
    name: str,
    dialect: TemplateDialect = TemplateDialect.COMMON,
    cases: Sequence[BatteryCase] | None = None,
) -> tuple[Export, ExportTrial]:
    """Export a fixture, and let transformers parse the template's output."""
    format_ = analysis_of(name).formats.united
    export = response_template(format_, dialect)
    return export, try_out(format_, export, parse_response, analysis_of(name).prober(), cases)


def test_analysis_export_equals_the_export_of_its_united_format() -> None:
    analysis = analysis_of("j1-json-in-tags")
    plain = response_template(analysis.formats.united).document
    assert response_template(analysis, eos="").document == plain
    tokens = {"eos_token": EOS}
    ended = replace(analysis, template=replace(analysis.template, special_tokens=tokens))
    ended_by = response_template(analysis.formats.united, eos=EOS).document
    assert response_template(ended).document == ended_by != plain


@pytest.mark.parametrize("name", fixture_names())
def test_promised_messages_parse_back(name: str) -> None:
    # The dialects differ in one name and in joined content, so some fixtures use the second one.
    at = fixture_names().index(name)
    dialect = TemplateDialect.COMMON if at % 4 else TemplateDialect.TRANSFORMERS
    export, trial = trial_of(name, dialect)
    assert trial.ok, trial.mismatches[0]
    assert (trial.total == trial.foretold) is (name in NO_TURN_GOES_ON)
    assert {limit.piece.name for limit in export.limits} == {*TABLES["in_part"].get(name, ())}
    assert all(limit.reason for limit in export.limits)
    cases = [BatteryCase("random", message) for message in random_messages(RANDOM)]
    _, trial = trial_of(name, cases=cases)
    assert trial.ok, trial.mismatches[0]


def test_export_table_names_existing_fixtures() -> None:
    assert set(TABLES["in_part"]) <= set(fixture_names())
    assert transformers_parser() is import_module(TARGET).parse_response


@pytest.mark.parametrize("name", ENDED_OTHERWISE)
def test_end_token_is_not_part_of_the_message(name: str) -> None:
    """A model may end its output by a token that the template never writes."""
    analysis = analysis_of(name)
    format_ = analysis.formats.united
    export = response_template(format_, eos=EOS)

    def ended(text: str, *given: Any, **options: Any) -> Mapping[str, Any]:
        stop = next((stop for stop in format_.stop_strings if stop in text), "")
        front = text.partition(stop)[0] if stop else text
        return parse_response(f"{front}{EOS}", *given, **options)

    trial = try_out(format_, export, ended, analysis.prober(), battery_messages()[::5])
    assert trial.ok, trial.mismatches[0]
    assert trial.total > trial.foretold


@pytest.mark.parametrize("name", fixture_names()[::3])
def test_character_stream_equals_whole_parse(name: str) -> None:
    format_ = analysis_of(name).formats.united
    export = response_template(format_)
    for case in battery_messages()[::10]:
        try:
            turn = format_.write(case.message)
        except RefusedMessageError:
            continue
        if not export.promises(case.message):
            continue
        for prefix, text in turn_prompts(format_, case.message, turn):
            parser = import_module(TARGET).ResponseParser(
                export.document, prefix=prefix, tools=trial_tools()
            )
            for char in text:
                parser.feed(char)
            streamed, _ = parser.finalize()
            whole = parse_response(text, export.document, prefix=prefix, tools=trial_tools())
            assert streamed == whole, case.title


def parsed(
    name: str,
    text: str,
    prefix: str | None = None,
    dialect: TemplateDialect = TemplateDialect.COMMON,
) -> dict[str, Any]:
    """Read a text after a fixture's default prompt."""
    format_ = analysis_of(name).formats.united
    prompt = format_.openings[0].text if prefix is None else prefix
    document = response_template(format_, dialect).document
    message = parse_response(text, document, prefix=prompt, tools=trial_tools())
    assert message.pop("role") == "assistant"
    return message


def called(name: str, **arguments: object) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


QWEN = "j1-json-in-tags"


@pytest.mark.parametrize("what", TABLES["outputs"])
def test_output_that_no_template_writes_is_parsed(what: str) -> None:
    case = TABLES["outputs"][what]
    calls = [called("get_forecast", city=city) for city in case.get("cities", ())]
    expected = case["message"] | ({"tool_calls": calls} if calls else {})
    dialect = TemplateDialect[case.get("dialect", "COMMON")]
    assert parsed(QWEN, case["text"], dialect=dialect) == expected


def test_last_header_of_the_prompt_counts_and_may_open_reasoning() -> None:
    earlier = analysis_of(QWEN).format.write(battery_messages()[1].message)
    opening = analysis_of(QWEN).format.openings[0].text
    assert parsed(QWEN, "Hello.", prefix=f"{earlier}{opening}") == {"content": "Hello."}
    message = {"thinking": "Hm.", "content": "Hello."}
    assert parsed("a1-function-parameter", "Hm.\n</think>\n\nHello.<|im_end|>\n") == message


def test_untyped_arguments_stay_strings_without_tools() -> None:
    format_ = analysis_of("a1-7-break-after-value").format
    export = response_template(format_)
    assert export.needs_tools
    assert not response_template(analysis_of(QWEN).formats.united).needs_tools
    message = next(case.message for case in battery_messages() if case.title == "1 call")
    text = format_.write(message).removeprefix(format_.header)
    read = parse_response(text, export.document, prefix=format_.header)
    assert read["tool_calls"] == [called("get_forecast", city="Oslo", days="3")]


@pytest.mark.parametrize("prompt", ["A:", "A:(/r)"])
def test_reasoning_closed_by_the_prompt_is_not_content(prompt: str) -> None:
    closed = f"{REASONING}{{% if not m.reasoning_content %}}(/r){{% endif %}}"
    analysis = analyze(turn(closed, CONTENT, end="<end>\n", prompt=prompt))
    format_ = analysis.formats.united
    trial = try_out(format_, response_template(format_), parse_response, analysis.prober())
    assert trial.ok, trial.mismatches[0]
    assert trial.foretold < trial.total


def test_lossy_export_fails_by_rendering_again() -> None:
    """An export that loses a character is found out by the template, whatever the format says."""
    analysis = analyze(turn(CONTENT, end="<.^$*+?{2}|(end)[]\\>\n"))
    format_ = analysis.formats.united
    export = response_template(format_)
    assert try_out(format_, export, parse_response, analysis.prober()).ok

    def lossy(*given: Any, **options: Any) -> dict[str, Any]:
        read = parse_response(*given, **options)
        return {**read, "content": (read.get("content") or "").replace(".", "") or None}

    trial = try_out(format_, export, lossy, analysis.prober())
    assert not trial.ok
    assert trial.mismatches[0].text.startswith("Here is what I found.")
