"""What stands for images, videos and audio, in templates of our own; transformers is the judge."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoparser import Analysis, ChatTemplate, analyze
from autoparser.analysis.core.conversation import MEDIA_FORMS, media_kind
from autoparser.analysis.core.text_format import MediaPlace, MediaSlot, MediaTreatment, PartsOutcome
from autoparser.reports.summary import content_parts_words

FOLDER = Path(__file__).parents[3] / "fixtures" / "parts"
WRITTEN = ["address", "apart", "counted", "inline", "moved", "numbered", "split"]
NAMES = sorted(file.stem for file in FOLDER.glob("*.jinja"))


def analysis_of(name: str) -> Analysis:
    return analyze(ChatTemplate((FOLDER / f"{name}.jinja").read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", NAMES)
def test_parts_are_treated_as_the_file_beside_the_template_says(name: str) -> None:
    expected: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text("utf-8"))
    analysis = analysis_of(name)
    before = analysis.renders
    parts = analysis.content_parts
    assert parts.renders > 0
    assert analysis.renders == before, "parts cost no render until they are asked for"
    assert content_parts_words(parts).plain == expected["words"]
    found = {each.kind.value: each for each in parts.media}
    assert {kind: [*found[kind].roles] for kind in expected["roles"]} == expected["roles"]
    numbers = expected.get("first_number", {})
    assert {kind: found[kind].first_number for kind in numbers} == numbers


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITTEN)
def test_transformers_writes_the_placeholders_where_they_are_found(name: str) -> None:
    chat = pytest.importorskip("transformers.utils.chat_template_utils")
    analysis = analysis_of(name)
    assert analysis.content_parts.written_media
    for media in analysis.content_parts.written_media:
        form = next(
            each
            for each in MEDIA_FORMS
            if each.kind is media.kind and media.forms[each.name] is PartsOutcome.WRITTEN
        )
        part, one, two = (
            form.part("seen.png"),
            *({"type": "text", "text": t} for t in ("one", "two")),
        )
        (text,), _ = chat.render_jinja_template(
            [[{"role": "user", "content": [one, part, two, part]}]],
            chat_template=analysis.template.text,
        )
        first, second = (placeholder(media, at) for at in (0, 1))
        both = [first, second] if media.each else [first]
        expected = ["one", "two", *both]
        if media.place is MediaPlace.INLINE:
            expected = ["one", first, "two", second]
        elif media.place is MediaPlace.BEFORE:
            expected = [*both, "one", "two"]
        # Only tags and headers of texts, and whitespace, may stand between.
        assert re.search(r"(?:</?text>|user>|\s)*".join(map(re.escape, expected)), text)


def placeholder(media: MediaTreatment, at: int) -> str:
    slots = {MediaSlot.DATA: "seen.png", MediaSlot.NUMBER: str((media.first_number or 0) + at)}
    return "".join(
        slots[piece] if isinstance(piece, MediaSlot) else piece for piece in media.placeholder
    )


def test_the_kind_of_a_part_is_read_off_it_with_and_without_a_type() -> None:
    for form in MEDIA_FORMS:
        assert media_kind(form.part("data")) is form.kind
    assert media_kind({"image": "cat.png"}) is not None
    assert media_kind({"type": "text", "text": "image"}) is None
    assert media_kind("image") is None
