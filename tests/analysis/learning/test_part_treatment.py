"""What stands for images, videos and audio, in templates of our own; transformers is the judge."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoparser import analyze, load_template
from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import MEDIA_FORMS, media_kind
from autoparser.analysis.core.text_format import MediaPlace, MediaSlot, MediaTreatment, PartsOutcome
from autoparser.reports.summary import content_parts_words

FOLDER = Path(__file__).parents[3] / "fixtures" / "parts"
NAMES = sorted(file.stem for file in FOLDER.glob("*.jinja"))


def _analysed(name: str) -> Analysis:
    return analyze(load_template(str(FOLDER / f"{name}.jinja")))


@pytest.mark.parametrize("name", NAMES)
def test_parts_are_told_as_the_file_beside_the_template_says(name: str) -> None:
    said: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    parts = _analysed(name).content_parts
    assert content_parts_words(parts).plain == said["words"]
    for kind, roles in said["roles"].items():
        found = next(each for each in parts.media if each.kind.value == kind)
        assert list(found.roles) == roles
    for kind, number in said.get("first_number", {}).items():
        found = next(each for each in parts.media if each.kind.value == kind)
        assert found.first_number == number


WRITTEN = ["address", "apart", "counted", "inline", "moved", "numbered", "split"]


@pytest.mark.parametrize("name", WRITTEN)
def test_transformers_writes_the_placeholders_where_they_are_said_to_stand(name: str) -> None:
    chat = pytest.importorskip("transformers.utils.chat_template_utils")
    analysis = _analysed(name)
    assert analysis.content_parts.written
    for media in analysis.content_parts.written:
        form = next(
            each
            for each in MEDIA_FORMS
            if each.kind is media.kind and media.forms[each.name] is PartsOutcome.WRITTEN
        )
        parts = [form.part("seen.png"), {"type": "text", "text": "two"}, form.part("seen.png")]
        content = [{"type": "text", "text": "one"}, *parts]
        (text,), _ = chat.render_jinja_template(
            [[{"role": "user", "content": content}]], chat_template=analysis.template.text
        )
        # Only tags and headers of texts, and whitespace, may stand between.
        between = r"(?:</?text>|user>|\s)*"
        assert re.search(between.join(map(re.escape, _expected(media))), text)


def _expected(media: MediaTreatment) -> list[str]:
    first, second = (_placeholder(media, at) for at in (0, 1))
    if media.place is MediaPlace.INLINE:
        return ["one", first, "two", second]
    both = [first, *([second] if media.each else [])]
    return [*both, "one", "two"] if media.place is MediaPlace.BEFORE else ["one", "two", *both]


def _placeholder(media: MediaTreatment, at: int) -> str:
    slots = {
        MediaSlot.DATA: "seen.png",
        MediaSlot.NUMBER: str((media.first_number or 0) + at),
    }
    return "".join(
        slots[piece] if isinstance(piece, MediaSlot) else piece for piece in media.placeholder
    )


def test_parts_cost_no_render_until_they_are_asked_for() -> None:
    analysis = _analysed("inline")
    before = analysis.renders
    assert analysis.content_parts.renders > 0
    assert analysis.renders == before


@pytest.mark.parametrize("form", MEDIA_FORMS, ids=lambda form: form.name)
def test_the_kind_of_a_part_is_read_off_it(form: Any) -> None:
    assert media_kind(form.part("data")) is form.kind


def test_a_part_without_a_type_is_of_the_kind_whose_key_it_has() -> None:
    assert media_kind({"image": "cat.png"}) is not None
    assert media_kind({"type": "text", "text": "image"}) is None
    assert media_kind("image") is None
