"""Check that evidence is shown in plain words if the render is equal."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.learning.plain_words import PlainWords, sentinel_sentence
from autoparser.analysis.learning.prober import choose_sentinels
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.linting import lint
from autoparser.analysis.lint.registry import find_rule
from autoparser.analysis.lint.subject import Subject
from tests.analysis.tiny import CONTENT, turn

FIXTURES = Path(__file__).parents[3] / "fixtures" / "lint"
MARKS = choose_sentinels("")
WORDS = PlainWords("")
COUNTED = ChatTemplate(
    "{% for m in messages %}{{ m.content }}|{{ m.content | length }}\n{% endfor %}"
)


def test_plain_words_sort_like_their_sentinels() -> None:
    keys = [*MARKS.keys, *MARKS.typed_keys.values()]
    for words in (keys, MARKS.names, MARKS.values):
        assert [*map(WORDS.text, sorted(words))] == sorted(map(WORDS.text, words))


def test_sentinels_map_to_distinct_plain_words() -> None:
    words = {*MARKS.words()}
    assert all(WORDS.text(word) != word for word in words)
    assert len({*map(WORDS.text, words)}) == len(words)


def test_whole_sentinels_become_plain_words() -> None:
    word = MARKS.content
    assert WORDS.text(f"<a>{sentinel_sentence(word)}</a>") == "<a>Let me look.</a>"
    assert WORDS.text(sentinel_sentence(word).upper()) == "LET ME LOOK."
    assert WORDS.text(word.upper()) == "LET ME LOOK."
    assert WORDS.text(word[:-1]) == word[:-1]
    assert WORDS.value({"n": [MARKS.integer, True, None]}) == {"n": [3, True, None]}


@pytest.mark.parametrize(
    ("template", "said"),
    [(turn(CONTENT), "What is the weather in Rio?"), (COUNTED, MARKS.user)],
    ids=["written whole", "counted"],
)
def test_equal_render_is_shown_in_plain_words(template: ChatTemplate, said: str) -> None:
    subject = Subject(template)
    one, other = subject.play(subject.chat[:1]), subject.play(subject.chat)
    shown = compare_renders(one, "one", other, "other").one
    assert said in shown.text
    assert shown.messages == ({"role": "user", "content": said},)
    assert shown.label == ("one" if said != MARKS.user else "one, in invented words")
    assert [line for _, line in shown.origins] == [line for _, line in one.origins] != []


@pytest.mark.parametrize("code", ["AP120", "AP306", "AP601", "AP702", "AP703", "AP706", "AP802"])
def test_findings_show_and_quote_plain_words(code: str) -> None:
    text = (FIXTURES / code / "fires.jinja").read_text("utf-8")
    (found,) = lint(Subject(ChatTemplate(text)), [find_rule(code)]).findings
    words = PlainWords(text)
    shown = repr((found.message, found.evidence))
    assert words.text(shown) == shown
    assert found.evidence


def test_phase_evidence_is_shown_in_plain_words() -> None:
    analysis = analyze(turn(CONTENT))
    shown = [
        evidence for finding in analysis.phases for evidence in analysis.shown_evidence(finding)
    ]
    assert any("What is the weather in Rio?" in text.left.text for text in shown)
    assert not any(MARKS.user in repr(text) for text in shown)
    counted = analyze(COUNTED)
    labels = [e.difference for phase in counted.phases for e in counted.shown_evidence(phase)]
    assert labels
    assert all(label.endswith("in invented words") for label in labels)
