"""Round trips of conversations with images, in templates of our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from autoparser import analyze, load_template
from autoparser.analysis.history.roundtrip import RoundTrip, round_trip
from autoparser.analysis.history.roundtrip.replay import ReplayStage
from autoparser.analysis.history.roundtrip.scenario_files import ScenarioError, scenarios_of

FOLDER = Path(__file__).parents[4] / "fixtures" / "parts"
FILE = FOLDER / "scenarios.yaml"
SCENARIOS = scenarios_of(yaml.safe_load(FILE.read_text(encoding="utf-8")), FILE.name)


def played(name: str) -> RoundTrip:
    return round_trip(analyze(load_template(str(FOLDER / f"{name}.jinja"))), SCENARIOS)


@pytest.mark.parametrize(
    ("name", "holding", "left_out"),
    [
        ("inline", ["image", "image in a tool result"], {}),
        (
            "numbered",
            ["image"],
            {"image in a tool result": "no image is written in messages of the role tool"},
        ),
        (
            "strict",
            [],
            {
                "image": "no image is written in messages of the role user",
                "image in a tool result": "no image is written in messages of the role tool",
            },
        ),
    ],
)
def test_images_are_played_where_they_are_written(
    name: str, holding: list[str], left_out: dict[str, str]
) -> None:
    found = played(name)
    assert [row.scenario.name for row in found.rows if row.verdict.holds] == holding
    assert {scenario.name: reason for scenario, _, reason in found.left_out} == left_out


def test_an_image_that_is_gone_from_the_history_breaks_the_prefix() -> None:
    (image,) = played("forgetful").rows
    assert not image.verdict.holds
    assert image.scenario.name == "image"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
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
