"""Templates that cannot be analyzed, those that look so, and the bounds of asked requests."""

from __future__ import annotations

import pytest

from autoparser import AutoparserError, ChatTemplate, Json, analyze
from autoparser.analysis.core.question_bounds import AskedTally
from autoparser.errors import TemplateUnusableError
from tests.analysis.tiny import CONTENT, JSON_CALL, REASONING, calls, turn
from tests.case_tables import case_tables, load_cases
from tests.fixture_analyses import analyzed

table = case_tables(__file__, "analyze.yaml")


@table("unusable")
def test_unusable_template_error_is_one_line(text: str, words: str) -> None:
    with pytest.raises(TemplateUnusableError) as error:
        analyze(ChatTemplate(text, origin="t.jinja"))
    line = str(error.value)
    assert line.startswith("t.jinja: "), "the file is named"
    assert words in line
    assert line.isprintable()
    assert error.value.hint, "it says what to do"


@pytest.mark.parametrize("text", load_cases(__file__, "analyze.yaml")["hostile"])
def test_hostile_template_error_is_one_line(text: str) -> None:
    with pytest.raises(AutoparserError) as error:
        analyze(ChatTemplate(text))
    assert str(error.value).isprintable()


def test_megabyte_of_text_is_analyzed_in_few_renders() -> None:
    analysis = analyze(ChatTemplate("x" * 1_000_000 + turn(CONTENT, calls()).text))
    assert analysis.check.ok
    assert analysis.renders < 200


def test_template_with_todays_date_is_not_random() -> None:
    analysis = analyze(turn(CONTENT, opening="A {{ strftime_now('%H:%M:%S') }}:"))
    assert analysis.check.ok


CALL: Json = load_cases(__file__, "analyze.yaml")["call"]


def test_empty_tally_has_empty_bounds() -> None:
    bounds = AskedTally().bounds
    assert (bounds.forms, bounds.settings, bounds.messages, bounds.name_signs) == ({}, (), 0, "")


def test_bounds_count_nested_values() -> None:
    tally = AskedTally()
    tally.add([{"role": "user", "content": "Hello"}], None, {})
    tally.add([{"role": "assistant", "content": "", "tool_calls": [CALL]}], [], {"think": True})
    bounds = tally.bounds
    assert bounds.forms == {
        "arguments as an object": 1,
        "calls wrapped as functions": 1,
        "content as text": 2,
    }
    assert bounds.settings == ({}, {"think": True})
    assert (bounds.messages, bounds.calls, bounds.tools) == (1, 1, 0)
    assert (bounds.longest_text, bounds.largest_number) == (9, 70)
    assert bounds.name_signs == "-2LU_kop"


def test_merged_tally_has_the_larger_bounds_and_summed_forms() -> None:
    one, other = AskedTally(), AskedTally()
    one.add([{"role": "user", "content": "Hi"}], None, {})
    other.add([{"role": "user", "content": "Hello"}] * 3, None, {})
    one.merge(other)
    assert (one.bounds.messages, one.bounds.longest_text) == (3, 5)
    assert one.bounds.forms == {"content as text": 2}


def test_analysis_reports_its_asked_bounds() -> None:
    bounds = analyzed("j1-json-in-tags").asked
    assert bounds.longest_text >= 4000
    assert bounds.largest_number >= 1_000_000
    assert {"-", "_", "2", "F"} <= set(bounds.name_signs)
    assert {"enable_thinking": False} in bounds.settings


def test_refused_requests_do_not_count_in_the_bounds() -> None:
    whole = turn(REASONING, CONTENT, calls(JSON_CALL)).text
    refusing = "{% for m in messages if m.tool_calls %}{{ raise_exception('none') }}{% endfor %}"
    assert analyze(whole).asked.calls > 0
    assert analyze(refusing + whole).asked.calls == 0
