"""Placeholders of images, videos and audio, in templates of our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from autoparser import Analysis, ChatTemplate, analyze
from autoparser.analysis.core.media_parts import MEDIA_FORMS, media_kind
from autoparser.reports.summary import content_parts_words

FOLDER = Path(__file__).parents[3] / "fixtures" / "parts"
NAMES = sorted(file.stem for file in FOLDER.glob("*.jinja"))


def analysis_of(name: str) -> Analysis:
    return analyze(ChatTemplate((FOLDER / f"{name}.jinja").read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", NAMES)
def test_media_placeholders_follow_the_processor_file(name: str) -> None:
    expected: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text("utf-8"))
    analysis = analysis_of(name)
    before = analysis.renders
    parts = analysis.content_parts
    assert parts.renders > 0
    assert analysis.renders == before, "parts cost no render until they are asked for"
    assert content_parts_words(parts).plain == expected["words"]
    found = {medium.kind.value: medium for medium in parts.media}
    assert {kind: [*found[kind].roles] for kind in expected["roles"]} == expected["roles"]
    numbers = expected.get("first_number", {})
    assert {kind: found[kind].first_number for kind in numbers} == numbers


def test_media_kind_is_found_with_and_without_a_type() -> None:
    for form in MEDIA_FORMS:
        assert media_kind(form.part("data")) is form.kind
    assert media_kind({"image": "cat.png"}) is not None
    assert media_kind({"type": "text", "text": "image"}) is None
    assert media_kind("image") is None
