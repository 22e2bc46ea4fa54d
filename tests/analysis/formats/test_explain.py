"""Deviations from the template: place, expected text, likely cause.

The outputs and their places are in `explanations.yaml`.
"""

from __future__ import annotations

from typing import Any

import pytest

from autoparser.analysis.core.format_choice import PromptFormat
from autoparser.analysis.core.turn_format import RefusedMessageError
from autoparser.analysis.formats.output_explanation import (
    CauseKind,
    DeviationExplanation,
    OutputDeviation,
    OutputReading,
    explain_output,
)
from autoparser.analysis.formats.text_restoring import PromptedParser
from autoparser.analysis.parsing.parsed_message import Status
from tests.analysis.parsing.loop import (
    TOOLS,
    analysis_of,
    fixture_names,
    generated,
    third_of_battery,
    with_ids,
)
from tests.case_tables import case_tables
from tests.lanes import sampled

JSON, MUSE = "j1-json-in-tags", "reasoning-forced-closed"
TABLE = case_tables(__file__, "explanations.yaml")


def explained(
    fixture: str, text: str, prompt: str | None = None, *, complete: bool = True
) -> tuple[DeviationExplanation, ...]:
    """Explain the text after a prompt, by default the template's own."""
    analysis = analysis_of(fixture)
    others = [
        PromptedParser(PromptFormat(format_, opening), analysis.parser(TOOLS, prompt=opening.text))
        for format_ in analysis.formats
        for opening in format_.openings
    ]
    (begun, *_) = analysis.begun(TOOLS, prompt=prompt)
    reader = OutputReading(begun, analysis.parser(TOOLS, prompt=prompt), others)
    return explain_output(reader, text, complete=complete)


@TABLE("explained")
def test_other_format_status_has_that_cause(case: dict[str, Any]) -> None:
    fixture, complete = case.get("fixture", JSON), case.get("complete", True)
    message = analysis_of(fixture).parser(TOOLS).parse(case["text"], complete=complete)
    found = explained(fixture, case["text"], complete=complete)
    kinds = {explanation.cause.kind for explanation in found if explanation.cause is not None}
    assert (CauseKind.OTHER_FORMAT in kinds) is (message.status is Status.OTHER_FORMAT)


@TABLE("explained")
def test_every_deviation_is_reported(case: dict[str, Any]) -> None:
    found = explained(case.get("fixture", JSON), case["text"], complete=case.get("complete", True))
    places = [
        [
            explanation.deviation.name.lower(),
            explanation.offset,
            explanation.expected,
            explanation.found,
        ]
        for explanation in found
    ]
    assert places == case["places"]
    # Equal places are merged into one.
    assert "more" not in case or [explanation.more for explanation in found] == case["more"]


@TABLE("stripped")
def test_stripped_markers_are_restored(case: dict[str, Any]) -> None:
    found = explained(case.get("fixture", JSON), case["text"])
    assert [
        [explanation.expected, explanation.offset, explanation.more] for explanation in found
    ] == case["markers"]
    markers = {marker for marker, _, _ in case["markers"]}
    causes = [explanation.cause for explanation in found if explanation.cause is not None]
    assert len(causes) == len(found)
    assert {cause.kind for cause in causes} == {CauseKind.STRIPPED}
    assert all(set(cause.markers) == markers for cause in causes)


@TABLE("omitted")
def test_markers_are_omitted_if_an_engine_would_have_stripped_others(case: dict[str, Any]) -> None:
    found = explained(case.get("fixture", JSON), case["text"])
    causes = [
        explanation.cause
        for explanation in found
        if explanation.cause is not None and explanation.deviation is not OutputDeviation.NO_END
    ]
    assert {cause.kind for cause in causes} == ({CauseKind.OMITTED} if case["markers"] else set())
    markers = [marker for cause in causes for marker in cause.markers]
    assert [*dict.fromkeys(markers)] == case["markers"]


@pytest.mark.parametrize("text", ["One.\n\nTwo.", 'See {"name": "x"}.', "{}", '{"name": '])
def test_text_without_a_call_gets_no_markers(text: str) -> None:
    assert all(
        explanation.deviation is OutputDeviation.NO_END for explanation in explained(JSON, text)
    )


@pytest.mark.parametrize(
    ("text", "prompt", "deviation", "setting"),
    [
        ("Hello.<turn|>", None, OutputDeviation.MISSING, {"enable_thinking": False}),
        ("Hm</muse>Hello.<turn|>", "<|turn>model\n<muse></muse>", OutputDeviation.STRAY, {}),
    ],
)
def test_prompt_of_another_setting_is_the_cause(
    text: str, prompt: str | None, deviation: OutputDeviation, setting: dict[str, bool]
) -> None:
    (found,) = explained(MUSE, text, prompt)
    assert found.deviation is deviation
    assert found.cause is not None
    assert (found.cause.kind, found.cause.setting) == (CauseKind.OTHER_PROMPT, setting)


# Turns that parse to a different message; in the last one, their end also closes reasoning.
AMBIGUOUS = {"a6-key-is-tag", "j3-4-tagged-array", "j8-python-dict", "p1-2-python-list"}
AMBIGUOUS |= {"p1-3-double-quotes", "p1-4-unquoted", "p1-6-no-separator", "reasoning-delimiter"}
AMBIGUOUS |= {"j3-8-header-recipient"}


@pytest.mark.parametrize(
    "name", sampled([name for name in fixture_names() if name not in AMBIGUOUS], 60)
)
def test_template_output_has_no_explanations(name: str) -> None:
    format_ = analysis_of(name).format
    for case in third_of_battery(name):
        message = with_ids(format_, case.message)
        try:
            text, parser = generated(format_, format_.write(message))
        except RefusedMessageError:
            continue
        begun = PromptFormat(format_, next(iter(format_.openings), None))
        explained_ = explain_output(OutputReading(begun, parser), text)
        # Messages of the battery leave arguments out that their tools require.
        found = [
            explanation
            for explanation in explained_
            if explanation.deviation is not OutputDeviation.SCHEMA
        ]
        assert not found or not text.strip(), (text, found)
