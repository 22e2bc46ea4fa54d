"""What ends a turn, by its place, as a person reads it."""

from __future__ import annotations

from autoparser import ChatTemplate, analyze
from autoparser.reports import section_report
from autoparser.reports.settings import INSIDE_WORDS, stops_told, stops_words

CHANNELS = (
    "{% for m in messages %}{% if m.role == 'assistant' %}"
    "{% if m.reasoning_content %}<|open|>thought<|body|>{{ m.reasoning_content }}<|end|>{% endif %}"
    "{% if m.content %}<|open|>said<|body|>{{ m.content }}<|end|>{% endif %}"
    "{% if m.tool_calls %}<|open|>call<|body|>{{ m.tool_calls[0].function|tojson }}<|act|>"
    "{% endif %}{% else %}<|open|>{{ m.role }}<|body|>{{ m.content }}<|end|>{% endif %}"
    "{% endfor %}"
)
PLAIN = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)


def text_of(source: str) -> str:
    return section_report(analyze(ChatTemplate(source)), "stops", 80).plain


def test_each_place_has_its_end_and_what_stands_inside_is_said() -> None:
    shown = text_of(CHANNELS)
    assert "after content  `<|end|>` (inside turns, too)" in shown
    assert "after calls    `<|act|>`" in shown
    assert INSIDE_WORDS.split(",", maxsplit=1)[0] in shown
    learnt = analyze(ChatTemplate(CHANNELS))
    assert str(stops_words(learnt)) == "`<|end|>` after content, `<|act|>` after calls"
    told = str(stops_told(learnt))
    assert told.startswith("`<|end|>` (inside turns, too) after content, `<|act|>` after calls. ")
    assert told.endswith(INSIDE_WORDS)


def test_where_nothing_calls_there_is_one_end() -> None:
    assert text_of(PLAIN).strip().splitlines() == [
        "Where a turn ends",
        "  after content  `<|end|>`",
    ]
    assert str(stops_words(analyze(ChatTemplate(PLAIN)))) == "`<|end|>`"
