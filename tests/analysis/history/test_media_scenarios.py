"""Round trips of conversations with images, in templates of our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autoparser import analyze, load_template
from autoparser.analysis.core.conversation import Message
from autoparser.analysis.history.conversation_replay import ReplayStage
from autoparser.analysis.history.round_trips import RoundTrip, round_trip
from autoparser.analysis.history.scenario_files import (
    ScenarioError,
    scenarios_of,
    shipped_scenarios,
)

FOLDER = Path(__file__).parents[3] / "fixtures" / "parts"
SCENARIOS = [
    each
    for each in shipped_scenarios()
    if any(not isinstance(entry, Message) and entry.media for entry in each.history)
]
NO_USER = "no {} is written in messages of the role user"
NO_TOOL = "no image is written in messages of the role tool"
NOTHING = "the template writes no images, videos or sounds"


def played(path: Path) -> RoundTrip:
    return round_trip(analyze(load_template(str(path))), SCENARIOS)


@pytest.mark.parametrize(
    ("name", "holding", "left_out"),
    [
        (
            "inline",
            ["image", "two images", "video", "call after an image", "image in a tool result"],
            {"sound": NO_USER.format("audio")},
        ),
        (
            "numbered",
            ["image", "two images"],
            {
                "video": NO_USER.format("video"),
                "sound": NO_USER.format("audio"),
                "call after an image": "the template writes no calls",
                "image in a tool result": NO_TOOL,
            },
        ),
        ("strict", [], {each.name: NOTHING for each in SCENARIOS}),
    ],
)
def test_images_are_played_where_they_are_written(
    name: str, holding: list[str], left_out: dict[str, str]
) -> None:
    found = played(FOLDER / f"{name}.jinja")
    names = (row.scenario.name for row in found.rows if row.verdict.holds)
    assert list(dict.fromkeys(names)) == holding
    assert {scenario.name: reason for scenario, _, reason in found.left_out} == left_out


def test_a_template_without_parts_is_asked_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    rendered: list[object] = []

    def prompt(*asked: object) -> None:
        rendered.append(asked)

    monkeypatch.setattr(ReplayStage, "prompt", prompt)
    found = played(FOLDER.parent / "templates" / "a1-function-parameter.jinja")
    assert (found.rows, rendered) == ((), [])
    assert {reason for _, _, reason in found.left_out} == {NOTHING}


def test_an_image_that_is_gone_from_the_history_breaks_the_prefix() -> None:
    found = {row.scenario.name: row.verdict for row in played(FOLDER / "forgetful.jinja").rows}
    assert not found["image"].holds


@pytest.mark.parametrize(
    "scenario", [each for each in SCENARIOS if "image" in each.name], ids=lambda each: each.name
)
def test_the_placeholder_stands_in_the_prompt(scenario: Any) -> None:
    stage = ReplayStage(analyze(load_template(str(FOLDER / "inline.jinja"))))
    assert "<|picture|>" in stage.prompt(scenario.history, scenario.tools, {}).text


@pytest.mark.parametrize(
    ("entry", "place"),
    [
        ({"content": "A cat.", "media": ["image"]}, "scenarios[0].history[0].media"),
        ({"user": "Look.", "media": ["picture"]}, "scenarios[0].history[0].media[0]"),
    ],
)
def test_media_that_cannot_be_are_errors_with_their_place(entry: Any, place: str) -> None:
    scenario = {"name": "own", "history": [entry, {"user": "And?"}], "message": {"content": "A."}}
    with pytest.raises(ScenarioError) as raised:
        scenarios_of([scenario], "own.yaml")
    assert place in str(raised.value)
