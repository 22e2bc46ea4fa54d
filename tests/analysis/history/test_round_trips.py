"""Round trips: causes of broken ones, turns left out, advice, calls cut short, scenario files."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import Mock, call, patch

import pytest
import yaml
from tokenizers import Tokenizer

from autoparser import Analysis, Message, RoundTrip, ToolCall, analyze, round_trip
from autoparser.analysis.core.conversation import ToolResult, UserMessage
from autoparser.analysis.history import client_memory, scenario_files, trip_verdict
from autoparser.analysis.history.client_memory import readable_part
from autoparser.analysis.history.round_trips import (
    AdviceReader,
    advice_of,
    cause_advice,
    cause_code,
    failing_rows,
    fixing_setting,
    fixing_settings,
    trip_settings,
)
from autoparser.analysis.history.sampled_turns import NotWrittenError
from autoparser.analysis.history.scenario_files import (
    SHIPPED,
    ScenarioError,
    scenarios_of,
    shipped_scenarios,
)
from autoparser.analysis.history.scenarios import (
    PROFILES,
    Answers,
    ArgumentsAs,
    BesideCalls,
    EngineHabits,
    Ids,
    Next,
    Scenario,
    UnreadCalls,
)
from autoparser.analysis.history.trip_causes import Cause
from autoparser.analysis.history.trip_verdict import Verdict
from autoparser.analysis.history.turn_variations import VARIATIONS
from tests.analysis.tiny import turn
from tests.case_tables import load_cases
from tests.corpus.corpus_templates import PACKAGE, corpus_paths, read_template
from tests.fixture_analyses import analyzed

from .renderers import analysis_of, deepseek, read_cases, stand_in, tiny

TABLE = read_cases("round_trips.yaml")
SHIPPED_SCENARIOS: dict[str, dict[str, Any]] = {
    scenario["name"]: scenario
    for scenario in yaml.safe_load(Path(scenario_files.SHIPPED).read_text("utf-8"))["scenarios"]
}
ESSAY = [case for case in TABLE["cases"] if "real" in case]


@cache
def real_analysis(name: str) -> Analysis:
    return analyze(read_template(next(path for path in corpus_paths() if path.stem == name)))


def analysis_for(case: dict[str, Any]) -> Analysis:
    if "fixture" in case:
        return analyzed(case["fixture"])
    if "media" in case:
        return analyzed(f"../parts/{case['media']}")
    if "text" in case:
        return analysis_of(case["text"])
    parts = (TABLE["parts"].get(part, part) for part in case["parts"])
    around = {"opening": "<|a|>", "prompt": "<|a|>", "end": "<|end|>\n", **case}
    keys = ("opening", "prompt", "end")
    return analysis_of(turn(*parts, **{key: around[key] for key in keys}).text)


def scenario_from(given: str | dict[str, Any]) -> Scenario:
    if isinstance(given, str):
        return next(scenario for scenario in shipped_scenarios() if scenario.name == given)
    fields = {**given, "name": given.get("name", "own")}
    if "like" in fields:
        fields = {**SHIPPED_SCENARIOS[fields.pop("like")], **fields}
    return scenarios_of([fields], "own.yaml")[0]


def tokenizer_for(case: dict[str, Any]) -> Tokenizer | None:
    if "with" in case:
        return tiny(*case["with"])
    name = case.get("vocabulary")
    if name is None or name == "deepseek":
        return None if name is None else deepseek()
    return stand_in(*TABLE["vocabularies"].get(name, ()))


def play(analysis: Analysis, case: dict[str, Any]) -> RoundTrip:
    profile = case.get("profile")
    return round_trip(
        analysis,
        [scenario_from(case["scenario"])],
        tokenizer=tokenizer_for(case),
        setting=case.get("setting"),
        profile=None if profile is None else PROFILES[profile],
    )


def check(found: RoundTrip, case: dict[str, Any]) -> None:
    if "left_out" in case:
        assert found.rows == ()
        assert found.left_out
        assert all(case["left_out"] in reason for _, _, reason in found.left_out)
        return
    coming = case.get("next", scenario_from(case["scenario"]).next[0].value)
    verdict = next(row.verdict for row in found.rows if row.next.value == coming)
    if "cause" in case:
        cause = case["cause"]
        outcome = case.get("outcome", "HOLDS" if cause is None else "BREAKS")
        found_cause = None if verdict.cause is None else verdict.cause.name
        assert (found_cause, verdict.outcome.name) == (cause, outcome), verdict
    if "fault" in case:
        assert (None if verdict.fault is None else verdict.fault.name) == case["fault"]
    for key in ("sampled", "unconfirmed", "reason"):
        assert case.get(key, getattr(verdict, key)) == getattr(verdict, key)
    assert case.get("has", "") in verdict.sampled
    assert "has_not" not in case or case["has_not"] not in verdict.sampled
    check_places(verdict, case)


def check_places(verdict: Verdict, case: dict[str, Any]) -> None:
    for key, value in case.get("tokens", {}).items():
        assert getattr(verdict.tokens, key) == value
    if verdict.tokens is not None:
        tokens = verdict.tokens
        assert tokens.holds is (case["cause"] is None)
        assert tokens.holds is (
            tokens.prompt_reused + tokens.reused == tokens.prompt + tokens.sampled
        )
    if "difference" in case:
        difference, wanted = verdict.difference, case["difference"]
        assert difference is not None
        assert difference.part == wanted["part"]
        assert difference.before.endswith(wanted.get("before", ""))
        for key in ("sampled", "rendered"):
            assert getattr(difference, key).startswith(wanted.get(key, ""))
        if difference.at >= 0:
            assert verdict.sampled[difference.at :].startswith(difference.sampled[:8])


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case, id=case["name"], marks=pytest.mark.slow if at % 12 or "real" in case else ()
        )
        for at, case in enumerate(TABLE["cases"])
    ],
)
def test_scenarios_match_the_table(case: dict[str, Any]) -> None:
    check(play(analysis_for(case), case), case)


@pytest.mark.slow
@pytest.mark.parametrize("case", ESSAY, ids=lambda case: case["name"])
def test_real_template_round_trips_like_its_fixture(case: dict[str, Any]) -> None:
    pytest.importorskip(PACKAGE, reason=f"the corpus is the package {PACKAGE}")
    check(play(real_analysis(case["real"]), case), case)


@pytest.mark.parametrize("name", TABLE["settings"])
def test_relevant_switches_are_tried(name: str) -> None:
    settings = TABLE["settings"][name]
    found = [dict(setting) for setting in trip_settings(analyzed(name))]
    assert found[0] == settings[0]
    assert sorted(map(repr, found)) == sorted(map(repr, settings))


def test_advice_names_the_setting_that_makes_a_row_pass() -> None:
    names = ("reasoning + answer", "compact JSON, nested", "many parameters")
    scenarios = [scenario_from(name) for name in names]
    progress = Mock()
    found = round_trip(analyzed("history-last-query"), scenarios, progress=progress)
    assert progress.mock_calls == [call(1, 3), call(2, 3), call(3, 3)]
    row, _, holding = found.rows
    (other,) = row.differing
    assert (dict(other.setting), other.holds) == ({"preserve_thinking": True}, True)
    assert fixing_setting(row) == other.setting
    assert fixing_settings(found.rows, {Cause.REASONING_DROPPED, Cause.RETOKENIZED}) == {
        Cause.REASONING_DROPPED: other.setting
    }
    assert [advice.reader for advice in advice_of(row)] == list(AdviceReader)
    assert advice_of(row)[-1].text == "set preserve_thinking=true"
    assert advice_of(holding) == ()
    kinds = {"any": 2, "string": 2, "json-spacing": 1, "reasoning-dropped": 1, "ids": 0}
    assert {kind: len(failing_rows(found.rows, [kind])) for kind in kinds} == kinds
    assert failing_rows(found.rows, ["reasoning-dropped"])[0] is row
    assert len({*map(cause_code, Cause)}) == len(Cause)
    assert all(len(cause_advice(cause)) == len(AdviceReader) for cause in Cause)
    alone = round_trip(analyzed("history-last-query"), scenarios[:1], setting=other.setting)
    assert ([*alone.settings], alone.rows[0].others) == ([other.setting], ())


def test_advice_does_not_resend_reasoning_the_template_drops() -> None:
    rows = round_trip(analyzed("history-tool-cycle"), shipped_scenarios()).rows
    dropped = [row for row in rows if row.verdict.cause is Cause.REASONING_DROPPED]
    alone = [row for row in dropped if fixing_setting(row) is None]
    assert alone
    for row in alone:
        assert "the template drops the reasoning" in advice_of(row)[-1].text


@pytest.mark.slow
def test_unparsable_call_is_not_blamed_on_the_template() -> None:
    for name, engine in (
        ("cut in a call, dropped", "keep the text of an unparsable call in the content"),
        ("cut in a call, kept", "reuse the last turn's tokens"),
    ):
        row = round_trip(analyzed("t2-recipient-header"), [scenario_from(name)]).rows[0]
        assert row.verdict.cause is Cause.CALL_LOST
        texts = {advice.reader: advice.text for advice in advice_of(row)}
        assert texts[AdviceReader.TEMPLATE].startswith("not fixable")
        assert texts[AdviceReader.ENGINE].startswith(engine)


def test_tokenizer_that_splits_a_stop_is_reported() -> None:
    analysis, scenarios = analyzed("j1-json-in-tags"), [scenario_from("answer")]
    ((stop, size),) = round_trip(analysis, scenarios, tokenizer=tiny()).split_stops
    assert (stop, size > 1) == ("<|im_end|>", True)


@pytest.mark.slow
def test_round_trip_writes_only_variations_by_the_format(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Mock(side_effect=NotWrittenError("the format was asked"))
    monkeypatch.setattr(trip_verdict, "sample_turn", asked)
    scenarios = [scenario_from(name) for name in ("answer", "newline ends answer")]
    found = round_trip(analyzed("content-plain"), scenarios)
    assert {row.scenario.name for row in found.rows} == {"answer"}
    assert {reason for _, _, reason in found.left_out} == {"the format was asked"}


@pytest.mark.slow
def test_message_comparison_respects_types_and_ignores_argument_order() -> None:
    text = '<tool_call>\n{"name": "f", "arguments": {"b": 1, "a": true}}\n</tool_call><|im_end|>'
    parsed = analyzed("j1-json-in-tags").parser().parse(text)
    for arguments, same in (
        ({"a": True, "b": 1}, True),
        ({"a": 1, "b": 1}, False),
        ({"a": True}, False),
    ):
        message = Message(calls=(ToolCall("f", arguments),))
        assert trip_verdict.says_message(parsed, text, message) is same


@pytest.mark.parametrize("case", read_cases("cut_json.yaml"), ids=lambda case: repr(case["text"]))
def test_longest_completable_json_prefix_is_read(case: dict[str, Any]) -> None:
    assert readable_part(case["text"]) == case["value"]


@pytest.mark.parametrize(
    ("begun", "unit"), [("", "k"), ("", "oops "), ('": oops', "s"), ('": ', "[")]
)
def test_a_million_characters_are_parsed_by_bisection(begun: str, unit: str) -> None:
    text = '{"city": "Oslo", "' + begun + unit * (1_000_000 // len(unit))
    with patch.object(client_memory, "_parse_json", wraps=client_memory._parse_json) as parsed:
        assert readable_part(text)["city"] == "Oslo"
    assert parsed.call_count <= 22


OWN = load_cases(__file__, "round_trips.yaml")["own"]


def test_every_key_of_a_scenario_file_is_read() -> None:
    (mine,) = scenarios_of(yaml.safe_load(OWN), "own.yaml")
    assert (mine.name, mine.about, mine.silent) == ("mine", "One of my own.", True)
    user, called, answer = mine.history
    assert user == UserMessage("Well?")
    assert isinstance(called, Message)
    assert (called.reasoning, called.calls[0].arguments) == ("Hm.", {"at": 1})
    assert answer == ToolResult("nothing", "look", "abc")
    assert mine.message.content == "No."
    assert mine.variations == ("compact-json", "newline-before-calls")
    assert (mine.next, mine.answers) == ((Next.TOOL, Next.LATER), Answers.REVERSED)
    assert mine.engine == EngineHabits(
        arguments=ArgumentsAs.STRING,
        ids=Ids.MADE,
        malformed=UnreadCalls.DROPPED,
        reasoning="stripped",
        json="rewritten",
        reasoning_fields=("thought",),
        beside_calls=BesideCalls.DROPPED,
    )
    assert [tool["name"] for tool in mine.tools] == ["look"]


def test_scenario_list_uses_shipped_tools_or_none() -> None:
    text, bare = scenarios_of(
        [
            {"name": "text", "sampled": "text", "cut": True, "engine": "sglang"},
            {"name": "bare", "sampled": "text", "tools": False},
        ],
        "own.yaml",
    )
    assert (text.sampled, text.cut, text.next) == ("text", True, (Next.USER,))
    assert text.engine == PROFILES["sglang"].engine
    assert (text.tools, bare.tools) == (shipped_scenarios()[0].tools, ())


@pytest.mark.parametrize(
    "case", read_cases("wrong_scenarios.yaml"), ids=lambda case: f"{case['place']} {case['hint']}"
)
def test_invalid_scenario_file_is_refused_with_its_place(case: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError) as raised:
        scenarios_of(case["file"], "own.yaml")
    error = raised.value
    assert (error.file, error.place) == ("own.yaml", case["place"] or None)
    assert case["hint"] in (error.hint or "")
    assert "\n" not in str(error)


def test_shipped_scenarios_are_valid() -> None:
    scenarios = shipped_scenarios()
    # Their tools are not checked when they are read; here they are.
    assert scenarios_of(yaml.safe_load(SHIPPED.read_text("utf-8")), SHIPPED.name) == scenarios
    assert len({scenario.name for scenario in scenarios}) == len(scenarios)
    assert {name for scenario in scenarios for name in scenario.variations} == set(VARIATIONS)
