"""Comparisons: an edit of a template, and what it changes in behaviour."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from autoparser import Analysis, ChatTemplate, analyze
from autoparser.analysis.overview.comparison import Comparison, compare_templates

FOLDER = Path(__file__).parents[3] / "fixtures" / "templates"
JSON = "j1-json-in-tags"


def text_of(name: str) -> str:
    return (FOLDER / f"{name}.jinja").read_text(encoding="utf-8")


@cache
def analysed(text: str) -> Analysis:
    return analyze(ChatTemplate(text))


def edited(name: str, old: str, new: str) -> Comparison:
    text = text_of(name)
    assert old in text
    return compare_templates(analysed(text), analysed(text.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new"),
    [("", "{# a comment #}"), ("message.role", "message['role']")],
    ids=["a comment", "another spelling"],
)
def test_what_changes_no_behaviour_is_equal(old: str, new: str) -> None:
    text = text_of(JSON)
    found = compare_templates(
        analysed(text), analysed(text.replace(old, new, 1 if not old else -1))
    )
    assert found.equal
    assert not found.same_text
    assert found.asked.renders > 100
    assert found.played > 30


def test_a_template_is_equal_to_itself() -> None:
    found = compare_templates(analysed(text_of(JSON)), analysed(text_of(JSON)))
    assert found.equal
    assert found.same_text


CHANGES = [
    (
        "another marker",
        ("</tool_call>", "</call>"),
        [("markers", "per_call_end", "</tool_call>", "</call>")],
    ),
    (
        "another end",
        ("<|im_end|>", "<|end|>"),
        [("end of turn", "stop strings", ["<|im_end|>"], ["<|end|>"])],
    ),
    (
        "a switch",
        ("enable_thinking", "thinking"),
        [("switches", "enable_thinking=false", "the generation prompt", None)],
    ),
    (
        "a joint",
        ("\\n</think>\\n\\n", "\\n</think>\\n"),
        [("joints", "reasoning → calls", "\n</think>\n\n", "\n</think>\n")],
    ),
]


@pytest.mark.parametrize(("edit", "facts"), [c[1:] for c in CHANGES], ids=[c[0] for c in CHANGES])
def test_an_edit_is_found_in_the_format(
    edit: tuple[str, str], facts: list[tuple[str, str, object, object]]
) -> None:
    found = edited(JSON, *edit)
    assert not found.equal
    there = [(each.aspect, each.name, each.left, each.right) for each in found.facts]
    for fact in facts:
        assert fact in there


def test_the_same_change_in_several_turns_is_one() -> None:
    found = edited(JSON, "<|im_end|>", "<|end|>")
    ends = [each for each in found.facts if each.name == "calls → end"]
    assert len(ends) == 1
    assert len(ends[0].turns) > 1


def test_renders_show_where_they_part() -> None:
    (change,) = edited(JSON, "</tool_call>", "</call>").renders
    assert "reasoning and 1 call, last" in change.conversations
    # The example in the system text comes first.
    assert "Write each call" in change.before
    assert str(change.left).startswith("</tool_call>")
    assert str(change.right).startswith("</call>")


def test_a_template_that_begins_to_raise_is_told_in_its_own_words() -> None:
    text = text_of("content-plain")
    strict = "{% if messages|length > 2 %}{{ raise_exception('too long') }}{% endif %}" + text
    found = compare_templates(analysed(text), analysed(strict))
    change = next(each for each in found.renders if each.right is None)
    assert change.right_error == "too long"
    assert change.left


def test_a_verdict_of_a_round_trip_that_changes_is_named() -> None:
    found = edited(JSON, "message.content", "message.content|trim")
    causes = {(each.left, each.right) for each in found.trips}
    assert ("holds", "content stripped") in causes


def test_a_finding_appears_or_vanishes() -> None:
    folder = FOLDER.parent / "lint" / "AP306"
    quiet, fires = (
        analysed((folder / f"{name}.jinja").read_text(encoding="utf-8"))
        for name in ("quiet", "fires")
    )
    appeared = compare_templates(quiet, fires).findings
    assert ("AP306", True) in {(each.finding.code, each.appeared) for each in appeared}
    vanished = compare_templates(fires, quiet).findings
    assert ("AP306", False) in {(each.finding.code, each.appeared) for each in vanished}


REFUSES_TEXT = (
    "{%- if tool_call.function.arguments is string %}{{ raise_exception('WORDS') }}{% endif %}"
)


def refusing(words: str) -> Analysis:
    text = text_of(JSON)
    loop = "{%- for tool_call in message.tool_calls %}"
    assert loop in text
    return analysed(text.replace(loop, loop + REFUSES_TEXT.replace("WORDS", words)))


def test_another_wording_of_an_exception_is_no_other_finding() -> None:
    found = compare_templates(
        refusing("an object, please"), refusing("Arguments must be a mapping.")
    )
    assert found.findings == ()
    found = compare_templates(analysed(text_of(JSON)), refusing("an object, please"))
    assert "AP504" in {change.finding.code for change in found.findings}


def test_a_special_token_that_only_one_names_is_no_difference() -> None:
    text = "{{ bos_token }}" + text_of("content-plain")
    found = compare_templates(analysed(text), analyze(ChatTemplate(text, {"bos_token": "<s>"})))
    assert found.renders == ()
