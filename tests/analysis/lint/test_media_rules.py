"""What the rules about images, videos and audio say of templates of our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoparser import load_template
from autoparser.analysis.lint.rules import media_dropped, media_incomplete
from autoparser.analysis.lint.subject import Subject

FOLDER = Path(__file__).parents[3] / "fixtures" / "parts"


@pytest.mark.parametrize(
    ("name", "dropped", "incomplete"),
    [
        (
            "inline",
            [
                "parts of a message are not in the prompt: audio",
                "a part of type video is written, but dropped as video_url",
            ],
            [],
        ),
        (
            "forgetful",
            [
                "parts of a message are not in the prompt: audio",
                "a part of type image is written, but dropped as image_url",
            ],
            [
                "a part of type image is not in the prompt once later messages follow",
                "a text beside a part of type video is not in the prompt",
            ],
        ),
        ("numbered", [], []),
        ("strict", [], []),
    ],
)
def test_what_is_lost_is_found(name: str, dropped: list[str], incomplete: list[str]) -> None:
    subject = Subject(load_template(str(FOLDER / f"{name}.jinja")))
    assert [hit.message for hit in media_dropped.check(subject)] == dropped
    assert [hit.message for hit in media_incomplete.check(subject)] == incomplete


def test_the_evidence_shows_what_is_lost() -> None:
    subject = Subject(load_template(str(FOLDER / "forgetful.jinja")))
    image, video = media_incomplete.check(subject)
    first, second = (hit.evidence[0].one for hit in (image, video))
    assert "<image>" not in first.text
    assert subject.marks.user not in second.text
    assert subject.marks.user in str(second.messages)
