"""Scenarios times settings times next roles, what fixes a row, and advice for it."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from autoparser import AutoparserError
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.history.round_trips import (
    AdviceReader,
    advice_of,
    code_of,
    failing_rows,
    fixing_setting,
    round_trip,
    settings_of,
)
from autoparser.analysis.history.scenario_files import shipped_scenarios
from autoparser.analysis.history.scenarios import Next
from autoparser.analysis.history.trip_causes import Cause

from .played import fixture, rows, shipped, verdict
from .vocabularies import tiny

SETTINGS: list[tuple[str, list[dict[str, Json]]]] = [
    ("content-plain", [{}]),
    ("switch-preserve-history", [{}, {"preserve_reasoning": True}]),
    (
        "history-last-query",
        [
            {},
            {"preserve_thinking": True},
            {"enable_thinking": False},
            {"enable_thinking": False, "preserve_thinking": True},
        ],
    ),
    # Reasoning needs this switch, and still nothing set is what is usual; false is as unset.
    ("a4-type-flags", [{}, {"thinking": True}]),
]


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_the_switches_that_may_matter_are_tried(name: str, settings: list[dict[str, Json]]) -> None:
    found = [dict(each) for each in settings_of(fixture(name))]
    assert found[0] == settings[0]
    assert sorted(map(repr, found)) == sorted(map(repr, settings))


def test_a_row_says_under_which_settings_it_goes_otherwise() -> None:
    (row,) = rows(fixture("history-last-query"), [shipped("reasoning + answer")])
    assert (row.verdict.cause, dict(row.verdict.setting)) == (Cause.REASONING_DROPPED, {})
    (other,) = row.differing
    assert dict(other.setting) == {"preserve_thinking": True}
    assert other.holds
    assert fixing_setting(row) == {"preserve_thinking": True}
    advice = advice_of(row)
    assert [each.reader for each in advice] == list(AdviceReader)
    assert advice[-1].text == "set preserve_thinking=true: it holds then"


UNREAD = [
    ("cut in a call, dropped", "leave the text of a call that cannot be read in the content"),
    ("malformed call, dropped", "leave the text of a call that cannot be read in the content"),
    ("cut in a call, kept", "send the tokens of the last turn again as they are"),
]


@pytest.mark.parametrize(("name", "engine"), UNREAD)
def test_for_a_call_that_could_not_be_read_the_template_is_not_blamed(
    name: str, engine: str
) -> None:
    row = rows(fixture("t2-recipient-header"), [shipped(name)])[0]
    assert row.verdict.cause is Cause.CALL_LOST
    told = {each.reader: each.text for each in advice_of(row)}
    assert told[AdviceReader.TEMPLATE].startswith("nothing to do")
    assert told[AdviceReader.ENGINE].startswith(engine)


def test_a_row_that_holds_needs_no_advice() -> None:
    (row,) = rows(fixture("history-last-query"), [shipped("many parameters")])
    assert advice_of(row) == ()


def test_a_setting_that_is_given_takes_the_place_of_the_switches() -> None:
    analysis = fixture("history-last-query")
    found = round_trip(
        analysis, [shipped("reasoning + answer")], setting={"preserve_thinking": True}
    )
    assert [dict(each) for each in found.settings] == [{"preserve_thinking": True}]
    assert found.rows[0].others == ()


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    scenarios = shipped_scenarios()[:3]
    round_trip(
        fixture("content-plain"),
        scenarios,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(1, 3), (2, 3), (3, 3)]


KINDS = [
    ("any", {"reasoning + answer", "compact JSON, nested"}),
    ("string", {"reasoning + answer", "compact JSON, nested"}),
    ("json-spacing", {"compact JSON, nested"}),
    ("reasoning-dropped", {"reasoning + answer"}),
    ("ids", set()),
]


@pytest.mark.parametrize(("kind", "names"), KINDS)
def test_rows_are_found_by_level_and_by_cause(kind: str, names: set[str]) -> None:
    scenarios = ("reasoning + answer", "compact JSON, nested", "many parameters")
    found = rows(fixture("history-last-query"), [shipped(name) for name in scenarios])
    assert {row.scenario.name for row in failing_rows(found, [kind])} == names


def test_causes_have_codes_of_one_word() -> None:
    codes = [code_of(cause) for cause in Cause]
    assert len(set(codes)) == len(codes)
    assert all(" " not in code for code in codes)


def test_tokens_are_counted() -> None:
    tokenizer = tiny("<|im_start|>", "<|im_end|>")
    found = verdict(fixture("j1-json-in-tags"), "answer", Next.USER, tokenizer=tokenizer)
    assert found.tokens is not None
    assert found.tokens.sampled == len(tokenizer.encode("It is sunny in Oslo.<|im_end|>").ids)
    assert found.tokens.reused == found.tokens.sampled
    assert found.tokens.prompt_reused == found.tokens.prompt


def test_a_stop_string_of_several_tokens_is_told() -> None:
    found = round_trip(fixture("j1-json-in-tags"), [shipped("answer")], tokenizer=tiny())
    ((stop, size),) = found.split_stops
    assert stop == "<|im_end|>"
    assert size > 1


def test_a_tokenizer_that_cannot_encode_is_an_error() -> None:
    unable = Tokenizer(models.WordLevel({"word": 0}, unk_token="<unk>"))
    unable.pre_tokenizer = pre_tokenizers.Whitespace()
    with pytest.raises(AutoparserError, match="the tokenizer cannot encode"):
        round_trip(fixture("j1-json-in-tags"), [shipped("answer")], tokenizer=unable)
