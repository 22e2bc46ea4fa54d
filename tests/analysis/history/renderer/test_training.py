"""Generation markers: those of a template, and those written around one that has none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from transformers.utils.chat_template_utils import render_jinja_template

from autoparser import ChatTemplate, analyze
from autoparser.analysis.history.renderer import Renderer, training_template
from tests.analysis.history.renderer.made import (
    FIXTURES,
    analysed,
    called,
    result,
    said,
    tools,
    user,
)
from tests.analysis.history.renderer.tokenizers_here import small

MARKED = (
    "{% for m in messages %}{% if m.role == 'assistant' %}<|im_start|>a\n{% generation %}"
    "{{ m.content }}<|im_end|>{% endgeneration %}\n{% else %}<|im_start|>{{ m.role }}\n"
    "{{ m.content }}<|im_end|>\n{% endif %}{% endfor %}"
)
ALL_MARKED = MARKED.replace("<|im_start|>a\n{% generation %}", "{% generation %}<|im_start|>a\n")
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
    template = ChatTemplate(ALL_MARKED + "{% if add_generation_prompt %}<|im_start|>a\n{% endif %}")
    found = Renderer(analyze(template), small()).attribute([user(), said("Hi.")])
    sampled = [(s.start, s.end) for s in found.segments if s.sampled]
    assert _joined(sampled, found.text) == ["Hi.<|im_end|>"]


@pytest.mark.parametrize(
    "name",
    [
        "a1-function-parameter",
        "j1-json-in-tags",
        "content-plain",
        "content-dropped-beside-calls",
        "a7-token-pairs",
    ],
)
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


def test_what_a_user_says_is_never_marked() -> None:
    made = training_template(analyze(ChatTemplate(LAST_ENDS)))
    messages = [user(), said("Hi."), user("Well?"), said("Bye.")]
    assert marked_by_transformers(made.template, messages) == ["Hi.", "Bye.<|im_end|>"]


def test_a_template_with_markers_stays_as_it_is() -> None:
    made = training_template(analyze(ChatTemplate(MARKED)))
    assert (made.template.text, made.patched) == (MARKED, False)


def templates() -> list[Path]:
    return sorted((FIXTURES / "templates").glob("*.jinja"))[::30]


@pytest.mark.parametrize("path", templates(), ids=lambda path: path.stem)
def test_the_text_is_the_same_for_every_kind_of_template(path: Path) -> None:
    assert training_template(analysed(path.stem)).proof.conversations > 100
