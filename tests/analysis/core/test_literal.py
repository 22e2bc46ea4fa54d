"""What of a literal looks like a marker."""

from __future__ import annotations

import pytest

from autoparser.analysis.core.literals import TemplateLiteral, spaced_spellings


@pytest.mark.parametrize(
    ("text", "units", "markers", "trigger", "mark", "reason"),
    [
        ("", (), (), "", "", "nothing"),
        ("\n\n", (), (), "", "", "whitespace alone"),
        ("\n<a>\n", ("<a>",), ("<a>",), "<a>", "<a>", "one marker"),
        ("<a>\n<b>", ("<a>", "<b>"), ("<a>", "<b>"), "<a>", "<a>\n<b>", "the first is noticed"),
        (
            "<|start|>bot<|message|>",
            ("<|start|>", "bot", "<|message|>"),
            ("<|start|>", "<|message|>"),
            "<|start|>bot<|message|>",
            "<|start|>bot<|message|>",
            "a word between two markers goes with the first",
        ),
        ("Answer: ", ("Answer", ":"), (), "Answer:", "Answer:", "words are noticed whole"),
        ('", "', ('",', '"'), (), '", "', "", "punctuation alone is not noticed"),
        ('">[<b>', ('">', "[", "<b>"), ("<b>",), '">[<b>', '">[<b>', "a tag that closes is a unit"),
        ("(call ", ("(call",), (), "(call", "(call", "a bracket that leads to the next word"),
    ],
)
def test_looks(
    text: str,
    units: tuple[str, ...],
    markers: tuple[str, ...],
    trigger: str,
    mark: str,
    reason: str,
) -> None:
    literal = TemplateLiteral.of(text)
    assert literal.units == units, reason
    assert literal.markers == markers, reason
    assert literal.trigger == trigger, reason
    assert literal.mark == mark, reason
    assert literal.noticed_by_marker is (trigger in markers), reason


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("<a>", set()),
        ("<a>word two<b>", set()),
        ("<a>\n<b>", {"<a><b>", "<a> <b>", "<a>\r\n<b>", "<a>\n\n<b>"}),
        ("<a>\n\ntool call<b>", {"<a>tool call<b>", "<a>\ntool call<b>"}),
    ],
)
def test_whitespace_inside_a_text_may_be_other_but_between_words(
    text: str, others: set[str]
) -> None:
    first, *found = spaced_spellings(text)
    assert first == text
    assert set(found) >= others
    assert bool(found) == bool(others)
    assert {"".join(each.split()) for each in found} <= {"".join(text.split())}


def test_a_text_of_many_gaps_has_no_more_spellings_than_one_of_eight() -> None:
    # Without a bound, each gap doubles them: six more are sixty-four times as many.
    marked = "<a>" + "\n<b>" * 8
    spelled = spaced_spellings(marked)
    longer = spaced_spellings(marked + "\n<c>" * 6)
    assert len(longer) == len(spelled)
    assert {each.removesuffix("\n<c>" * 6) for each in longer} == {*spelled}
