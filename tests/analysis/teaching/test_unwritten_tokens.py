"""Added tokens that no render writes: renders decide, not the name of a token."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoparser import Analysis, ChatTemplate, analyze
from autoparser.analysis.teaching.taught_analysis import unwritten_tokens

ROOT = Path(__file__).parents[3]
CHAT = (ROOT / "fixtures" / "learning" / "chat-only.jinja").read_text("utf-8")
MUSING = "{% if muse %}{{ '(muse on)' }}{% endif %}"


@pytest.fixture(scope="module")
def chat() -> Analysis:
    return analyze(ChatTemplate(CHAT + MUSING, {"pad_token": "(pad)"}))


@pytest.mark.parametrize(
    ("tokens", "named"),
    [
        (["<|asst|>", "<|eot|>"], []),
        (["(pad)", " ", "\n\n"], []),
        (["(spare 0)", "(spare 1)", "(spare 2)"], []),
        (["(muse on)"], []),
        (["(do)", "x1", "(done)", "<|asst|>"], ["(do)", "x1", "(done)"]),
    ],
    ids=["rendered", "special or blank", "spare", "under a switch", "never rendered"],
)
def test_only_tokens_that_nothing_renders_are_named(
    chat: Analysis, tokens: list[str], named: list[str]
) -> None:
    assert [*unwritten_tokens(chat, tokens)] == named


def test_a_template_that_shows_all_parts_is_not_asked() -> None:
    template = ROOT / "fixtures" / "templates" / "a7-token-pairs.jinja"
    analysis = analyze(ChatTemplate(template.read_text("utf-8")))
    assert analysis.formats.united.reasoning is not None
    assert analysis.formats.united.calls is not None
    assert unwritten_tokens(analysis, ["(never)"]) == ()
