"""How turns are laid out, what they begin with, and what becomes of them later."""

from __future__ import annotations

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.text_format import EdgeStrip, StrippedEdges, TurnPart
from autoparser.analysis.core.turn_shape import ReasoningRetention
from autoparser.analysis.learning.call_frame import prompt_text
from autoparser.analysis.learning.prompt_words import historic_opening, learn_retention
from autoparser.analysis.learning.suggestions import suggest_values
from autoparser.analysis.learning.turn_layouts import find_cut, learn_layout
from tests.analysis.tiny import CONTENT, REASONING, calls, negotiated, observer_of, turn

CALLED = calls("<{{ f.name }} {{ f.arguments|tojson }}>")
WHOLE = turn(REASONING, CONTENT, CALLED)
PLAIN, TOLD = Presence(content=True), Presence(reasoning=True, content=True)
BOTH = Presence(content=True, calls=True)


@pytest.mark.parametrize(
    ("template", "presence", "parts", "reason"),
    [
        (WHOLE, PLAIN, (TurnPart.CONTENT,), "content alone"),
        (WHOLE, Presence(), (), "nothing"),
        (WHOLE, TOLD, (TurnPart.REASONING, TurnPart.CONTENT), "reasoning first"),
        (WHOLE, BOTH, (TurnPart.CONTENT, TurnPart.CALLS), "content before calls"),
        (turn(CALLED, CONTENT), BOTH, (TurnPart.CALLS, TurnPart.CONTENT), "calls before content"),
        (
            turn(f"{{% if m.tool_calls %}}{CALLED}{{% else %}}{CONTENT}{{% endif %}}"),
            BOTH,
            (TurnPart.CALLS,),
            "content is dropped beside calls",
        ),
        (turn(CONTENT, "|", CONTENT), PLAIN, (TurnPart.CONTENT, TurnPart.CONTENT), "written twice"),
    ],
)
def test_parts(
    template: ChatTemplate, presence: Presence, parts: tuple[TurnPart, ...], reason: str
) -> None:
    layout = learn_layout(observer_of(template), presence)
    assert layout.parts == parts, reason
    assert len(layout.literals) == len(parts) + 1
    assert layout.literals[0].startswith("A:")
    assert layout.literals[-1].endswith(".\n")


def test_literals_stand_between_the_parts() -> None:
    layout = learn_layout(observer_of(WHOLE), TOLD)
    assert layout.literals == ("A:(r)", "(/r)", ".\n")


def test_a_refused_layout_has_the_template_s_words() -> None:
    refusing = "{% if m.tool_calls and m.content %}{{ raise_exception('one of them') }}{% endif %}"
    layout = learn_layout(observer_of(turn(refusing, CONTENT, CALLED)), BOTH)
    assert layout.refusal == "one of them"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("{{ m.content }}", StrippedEdges()),
        ("{{ m.content|trim }}", StrippedEdges(EdgeStrip.WHITESPACE, EdgeStrip.WHITESPACE)),
        ("{{ m.content.lstrip('\\n') }}", StrippedEdges(EdgeStrip.NEWLINES, EdgeStrip.NOTHING)),
        ("{{ m.content.rstrip() }}", StrippedEdges(EdgeStrip.NOTHING, EdgeStrip.WHITESPACE)),
    ],
)
def test_edges(expression: str, expected: StrippedEdges) -> None:
    assert learn_layout(observer_of(turn(expression)), PLAIN).content == expected


def test_the_reasoning_has_edges_of_its_own() -> None:
    layout = learn_layout(
        observer_of(turn(REASONING.replace("content }", "content|trim }"), CONTENT)), TOLD
    )
    assert layout.reasoning == StrippedEdges(EdgeStrip.WHITESPACE, EdgeStrip.WHITESPACE)
    assert layout.content == StrippedEdges()


@pytest.mark.parametrize(
    ("template", "setting", "expected", "reason"),
    [
        (turn(CONTENT), {}, "A:", "the header"),
        (turn(CONTENT, prompt=""), {}, "", "no prompt"),
        (turn(CONTENT, prompt="A:{% if deep %}(r){% endif %}"), {}, "A:", "unset"),
        (turn(CONTENT, prompt="A:{% if deep %}(r){% endif %}"), {"deep": True}, "A:(r)", "set"),
        (
            turn(CONTENT, prompt="{{ raise_exception('no') }}"),
            {},
            None,
            "a prompt that cannot be rendered",
        ),
    ],
)
def test_prompts(
    template: ChatTemplate, setting: dict[str, bool], expected: str | None, reason: str
) -> None:
    assert prompt_text(negotiated(template).prober, {**setting}) == expected, reason


ONLY_LAST = f"{{% if loop.last %}}{REASONING}{{% endif %}}"
WITH_TOOLS = f"{{% if tools or loop.last %}}{REASONING}{{% endif %}}"
TO_LAST_USER = (
    "{% set ns = namespace(u=0) %}{% for x in messages %}{% if x.role == 'user' %}"
    "{% set ns.u = loop.index0 %}{% endif %}{% endfor %}"
    f"{{% if loop.index0 > ns.u %}}{REASONING}{{% endif %}}"
)


@pytest.mark.parametrize(
    ("part", "expected", "reason"),
    [
        (REASONING, ReasoningRetention(True, True, True, True), "always kept"),
        (ONLY_LAST, ReasoningRetention(False, False, False, False), "only in the last message"),
        (
            WITH_TOOLS,
            ReasoningRetention(True, True, True, False),
            "tools keep it: without any it is only in the last message",
        ),
        (
            WITH_TOOLS.replace("tools or", "not tools or"),
            ReasoningRetention(False, False, False, True),
            "tools drop it",
        ),
        (
            WITH_TOOLS.replace("tools or loop.last", "tools"),
            ReasoningRetention(True, True, True, None),
            "no turn shows it without tools: nothing to observe",
        ),
        (
            TO_LAST_USER.replace("loop.index0 > ns.u", "outer > ns.u"),
            ReasoningRetention(True, False, False, False),
            "until the next user message",
        ),
    ],
)
def test_retention(part: str, expected: ReasoningRetention, reason: str) -> None:
    template = turn("{% set outer = loop.index0 %}", part, CONTENT, CALLED)
    found = learn_retention(observer_of(template), reasoning=True, calls=True)
    assert found == expected, reason


def test_retention_without_reasoning() -> None:
    assert learn_retention(observer_of(turn(CONTENT)), reasoning=False, calls=False) == (
        ReasoningRetention()
    )


def test_the_opening_of_an_earlier_turn() -> None:
    template = turn(CONTENT, opening="A:{% if loop.last %}(now){% endif %}")
    assert historic_opening(observer_of(template)) == "A:"


@pytest.mark.parametrize(
    ("expression", "expected", "reason"),
    [
        ("{{ m.content.split('</why>')[-1] }}", "</why>", "split"),
        ("{{ m.content.split('@@')[-1] }}", None, "too short to be sure of"),
        ("{{ m.content.split('word')[-1] }}", None, "a word is not a marker"),
        ("{{ m.content }}", None, "nothing is lost"),
        ("{{ m.content.replace('</why>', '') }}", None, "only the marker is lost"),
        ("{% if '</why>' in m.content %}!{% endif %}{{ m.content }}", None, "only asked for"),
    ],
)
def test_cut(expression: str, expected: str | None, reason: str) -> None:
    template = turn(expression)
    found = find_cut(observer_of(template), suggest_values(template.syntax_tree))
    assert (None if found is None else found.text) == expected, reason
