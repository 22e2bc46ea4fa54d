"""What a template makes of a message again, and where that is other text than was written."""

from __future__ import annotations

import pytest

from autoparser.analysis.decoding.message_rendering import AnswerFault, MessageRendering

from .trials import TOOLS, trial_of

JSON = "j1-json-in-tags"
TAGS = "a1-function-parameter"


def call(city: str, days: str) -> str:
    arguments = f'{{"city": {city}, "days": {days}}}'
    return f'<tool_call>\n{{"name": "get_weather", "arguments": {arguments}}}\n</tool_call>'


def priced(price: str) -> str:
    return f'<tool_call>\n{{"name": "buy", "arguments": {{"price": {price}}}}}\n</tool_call>'


PRICED: list[object] = [
    {"name": "buy", "parameters": {"type": "object", "properties": {"price": {"type": "number"}}}}
]
ACCEPTED = [
    (JSON, call('"Rio"', "3"), MessageRendering.SAME),
    (JSON, call('"Rio"', "3") + "<|im_end|>", MessageRendering.SAME),
    (JSON, "Look.\n" + call('"Rio"', "3"), MessageRendering.SAME),
    (JSON, priced("25.0"), MessageRendering.SAME),
    (JSON, priced("2.50E1"), MessageRendering.SPELLING),
    (JSON, priced("1e999"), MessageRendering.UNWRITTEN),
    ("reasoning-forced-open", "Hm.\n</muse>\n\nYes.", MessageRendering.SAME),
]


@pytest.mark.parametrize(("name", "text", "rendering"), ACCEPTED)
def test_what_the_grammar_accepts(name: str, text: str, rendering: MessageRendering) -> None:
    trial = trial_of(name, [*TOOLS, *PRICED])
    judgement = trial.judge.judge(text, trial.tokenizer.encode(text))
    assert judgement.complaints == ()
    assert judgement.rendering is rendering


NOT_WRITTEN_SO = [
    # What a reader forgives and a template does not write: whitespace, order, a lost line.
    (call('"Rio"', "3").replace("\n", ""), MessageRendering.WHITESPACE),
    (call("'Rio'", "3"), MessageRendering.SPELLING),
    (call('"Rio"', "3").removesuffix("\n</tool_call>"), MessageRendering.OTHER),
]


@pytest.mark.parametrize(("text", "rendering"), NOT_WRITTEN_SO)
def test_what_only_a_reader_forgives(text: str, rendering: MessageRendering) -> None:
    trial = trial_of(JSON)
    found = trial.judge._rewriter.compare(text, trial.parser.parse(text))
    assert found.rendering is rendering, found.difference
    assert found.difference


def test_another_text_is_a_fault_and_shows_where_they_part() -> None:
    """Nothing opens this reasoning, so that content alone is read as reasoning."""
    trial = trial_of("reasoning-delimiter")
    judgement = trial.judge.judge("Hello.", trial.tokenizer.encode("Hello."))
    (complaint,) = judgement.complaints
    assert complaint.fault is AnswerFault.RENDERING
    assert complaint.detail == ("after 'Hello.' stands '', rendered '\\n=== ANSWER ===\\n<|eot|>'")
