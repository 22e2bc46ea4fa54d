"""Generation markers: those of a template, and those written around one that has none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from transformers.utils.chat_template_utils import render_jinja_template

from autoparser import ChatTemplate, analyze
from autoparser.analysis.history.renderer import Renderer
from autoparser.analysis.history.training_template import TrainingTemplateError, training_template
from tests.analysis.history.made import (
    FIXTURES,
    analysed,
    called,
    result,
    said,
    tools,
    user,
)
from tests.analysis.history.test_token_stops import WRAPPED
from tests.analysis.history.tokenizers_here import small
from tests.lanes import sampled

pytestmark = pytest.mark.slow

MARKED = (
    "{% for m in messages %}{% if m.role == 'assistant' %}<|im_start|>a\n{% generation %}"
    "{{ m.content }}<|im_end|>{% endgeneration %}\n{% else %}<|im_start|>{{ m.role }}\n"
    "{{ m.content }}<|im_end|>\n{% endif %}{% endfor %}"
)
ALL_MARKED = MARKED.replace("<|im_start|>a\n{% generation %}", "{% generation %}<|im_start|>a\n")
WITH_HEADER = ALL_MARKED + "{% if add_generation_prompt %}<|im_start|>a\n{% endif %}"
CONVERSATION = [
    user(),
    called(reasoning="I look."),
    result(),
    said("Sunny.", "Fine."),
    user("Thanks!"),
    said("Bye.", "So."),
]


def marked_by_transformers(template: ChatTemplate, messages: Any) -> list[str]:
    """Return the stretches that transformers' own renderer says are the model's."""
    (text,), (ranges,) = render_jinja_template(
        [messages],
        tools=tools(),
        chat_template=template.text,
        return_assistant_tokens_mask=True,
        **template.special_tokens,
    )
    return [text[start:end] for start, end in ranges]


def counted(template: ChatTemplate, messages: Any) -> list[str]:
    """Return the stretches that a loss counts."""
    found = Renderer(analyze(template), small()).attribute(messages, tools())
    return _joined([(each.start, each.end) for each in found.segments if each.loss], found.text)


def _joined(ranges: list[tuple[int, int]], text: str) -> list[str]:
    pieces: list[str] = []
    last = -1
    for start, end in ranges:
        if start == last:
            pieces[-1] += text[start:end]
        else:
            pieces.append(text[start:end])
        last = end
    return pieces


@pytest.mark.parametrize("source", [MARKED, ALL_MARKED], ids=["body", "with-header"])
def test_the_markers_of_a_template_say_what_a_loss_counts(source: str) -> None:
    template = ChatTemplate(source)
    messages = [user(), said("Hi."), user(), said("Bye.")]
    assert counted(template, messages) == marked_by_transformers(template, messages)


def test_what_is_sampled_is_told_whatever_the_markers_say() -> None:
    template = ChatTemplate(WITH_HEADER)
    found = Renderer(analyze(template), small()).attribute([user(), said("Hi.")])
    sampled = [(s.start, s.end) for s in found.segments if s.sampled]
    assert _joined(sampled, found.text) == ["Hi.<|im_end|>"]


PATCHED = (
    *("a1-function-parameter", "j1-json-in-tags", "a7-token-pairs"),
    *("content-dropped-beside-calls", "content-plain"),
)


@pytest.mark.parametrize("name", sampled(PATCHED, 3))
def test_a_training_template_marks_what_is_sampled_and_writes_the_same_text(name: str) -> None:
    analysis = analysed(name)
    made = training_template(analysis)
    assert made.patched
    assert made.proof.conversations > 100
    assert made.proof.masked == made.proof.conversations - made.proof.refused
    messages = CONVERSATION if analysis.format.calls is not None else [user(), said("Hi."), user()]
    assert made.template.render(messages, tools()) == analysis.template.render(messages, tools())
    assert marked_by_transformers(made.template, messages) == counted(analysis.template, messages)


LAST_ENDS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "{% if m.role == 'assistant' and loop.last %}<|im_end|>{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""A turn in the history has no stop of its own."""


HEADERS_STOP = (
    "{% for m in messages %}{% if m.role == 'assistant' %}<|bot|>{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<call>{{ c.function|tojson }}</call>{% endfor %}"
    "{% else %}<|{{ m.role }}|>{{ m.content }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|bot|>{% endif %}"
)
"""Nothing closes a turn but the next header, which the model writes."""
NAMES_RESULTS = (
    "{% for m in messages %}{% if m.role == 'user' %}[u]{{ m.content }}[/]"
    "{% elif m.role == 'tool' %}[{{ called.name }}]{{ m.content }}[/]"
    "{% else %}[a]{{ m.content }}{% for c in m.tool_calls or [] %}"
    "{% set called.name = c.function.name %}"
    "<{{ c.function.name }}>{{ c.function.arguments|tojson }}[call]"
    "{% else %}[end]{% endfor %}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}[a]{% endif %}"
)
"""A result repeats the name of the call before it."""
ONE_FIELD = (
    "{% for m in messages %}{% if m.role == 'assistant' %}"
    "{% if m.tool_calls and m.content and m.reasoning_content %}"
    "{{ raise_exception('either of them') }}{% endif %}"
    "<s>a{{ '<r>' ~ m.reasoning_content ~ '</r>' if m.reasoning_content }}{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<call>{{ c.function|tojson }}</call>{% endfor %}<e>"
    "{% else %}<s>{{ m.role }}:{{ m.content }}<e>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<s>a{% endif %}"
)
"""It refuses what none of the messages is."""
LAST_CALLS_LEFT_OUT = (
    "{% for m in messages %}{% if m.role == 'assistant' %}[a]{{ m.content }}"
    "{% if not loop.last %}{% for c in m.tool_calls or [] %}<call>{{ c.function|tojson }}</call>"
    "{% endfor %}{% endif %}[e]{% else %}[{{ m.role }}]{{ m.content }}[e]{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}[a]{% endif %}"
)
"""Calls are written once something follows them."""
CALL = '{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}'
GOES_ON = (
    "{% for m in messages %}{% if m.role == 'assistant' %}"
    "[a]{{ m.content }}{% for c in m.tool_calls or [] %}<call>{{ c.function|tojson }}</call>"
    "{% endfor %}[e]{% else %}[{{ m.role }}]{{ m.content }}[e]{% endif %}{% endfor %}"
    "{% if add_generation_prompt and messages[-1].role != 'tool' %}[a]{% endif %}"
)
"""The prompt after a result has no header, and the history has one."""


@pytest.mark.parametrize(
    ("source", "turns"),
    [
        (HEADERS_STOP, [f"<call>{CALL}</call><|tool|>", "Sunny.<|user|>", "Bye."]),
        (
            "{% set called = namespace(name='') %}" + NAMES_RESULTS,
            ['<get_weather>{"city": "Paris", "days": 3}[call]', "Sunny.[end]", "Bye.[end]"],
        ),
        (
            ONE_FIELD,
            [
                f"<r>I look.</r><call>{CALL}</call><e>",
                "<r>Fine.</r>Sunny.<e>",
                "<r>So.</r>Bye.<e>",
            ],
        ),
        (GOES_ON, [f"<call>{CALL}</call>[e]", "Sunny.[e]", "Bye.[e]"]),
        (LAST_CALLS_LEFT_OUT, [f"<call>{CALL}</call>[e]", "Sunny.[e]", "Bye.[e]"]),
    ],
    ids=["next-header", "name-in-result", "one-field", "no-header-after-results", "last-calls"],
)
def test_a_turn_is_marked_from_its_header_to_its_stop(source: str, turns: list[str]) -> None:
    analysis = analyze(ChatTemplate(source))
    made = training_template(analysis)
    assert marked_by_transformers(made.template, CONVERSATION) == turns
    assert counted(analysis.template, CONVERSATION) == turns
    assert made.proof.passed


def test_a_stop_of_several_markers_counts_to_its_last() -> None:
    analysis = analyze(WRAPPED)
    messages = [user(), said("Hi."), user(), said("Bye.")]
    closed = "<close>say<end><close>msg<end><fin>"
    turns = [f"<do>say<end>{text}{closed}" for text in ("Hi.", "Bye.")]
    assert marked_by_transformers(training_template(analysis).template, messages) == turns
    assert counted(analysis.template, messages) == turns
    # The token at which an engine stops is the last one that counts.
    (stop,) = analysis.stop_texts.after_content
    assert stop.text.endswith("<fin>")


def test_a_template_that_refuses_every_conversation_proves_nothing() -> None:
    template = ChatTemplate("{{ bos_token + '' }}" + GOES_ON)
    with pytest.raises(TrainingTemplateError, match=r"refuses each of the \d+ conversations"):
        training_template(analyze(template))


def test_a_turn_that_is_marked_otherwise_is_named() -> None:
    proof = training_template(analyze(ChatTemplate(WITH_HEADER))).proof
    assert not proof.passed
    first = proof.deviations[0]
    assert (first.conversation[first.message], first.left_out) == ("assistant", ())
    assert first.marked_too == ("<|im_start|>a\n",)


def test_a_header_that_no_prompt_writes_is_the_models() -> None:
    assert training_template(analyze(ChatTemplate(ALL_MARKED))).proof.passed


def test_what_a_user_says_is_never_marked() -> None:
    made = training_template(analyze(ChatTemplate(LAST_ENDS)))
    messages = [user(), said("Hi."), user("Well?"), said("Bye.")]
    assert marked_by_transformers(made.template, messages) == ["Hi.", "Bye.<|im_end|>"]


def test_a_template_with_markers_stays_as_it_is() -> None:
    made = training_template(analyze(ChatTemplate(MARKED)))
    assert (made.template.text, made.patched) == (MARKED, False)


def templates() -> list[Path]:
    return sorted((FIXTURES / "templates").glob("*.jinja"))[::30]


@pytest.mark.parametrize("path", sampled(templates(), 3), ids=lambda path: path.stem)
def test_the_text_is_the_same_for_every_kind_of_template(path: Path) -> None:
    assert training_template(analysed(path.stem)).proof.conversations > 100
