"""A placeholder that changed, and who may send what."""

from __future__ import annotations

from pathlib import Path

from autoparser import ChatTemplate, analyze
from autoparser.analysis.overview.format_facts import changed_facts

TEXT = (Path(__file__).parents[3] / "fixtures" / "parts" / "inline.jinja").read_text("utf-8")


def test_a_placeholder_that_changed_is_a_fact() -> None:
    other = TEXT.replace("<|picture|>", "<|view|>").replace("part.type == 'video'", "false")
    changes = changed_facts(analyze(ChatTemplate(TEXT)), analyze(ChatTemplate(other)))
    found = {each.name: (each.left, each.right) for each in changes}
    assert {each.aspect for each in changes} == {"parts of the content"}
    assert found == {
        "image": ("<|picture|>", "<|view|>"),
        "video": ("<|film|>", "dropped"),
        "where video stands": ("for each part, in the place of the part", None),
        "who may send video": ("user, system, assistant, tool", None),
        **{f"the form video{form}": ("written", "dropped") for form in FORMS},
    }


FORMS = ("", " with video", " with url", " with path")
