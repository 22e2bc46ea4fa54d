"""Whose each character of a render is."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TypeAlias

import pytest
from hypothesis import given, settings, strategies as st

from autoparser import ChatTemplate, analyze
from autoparser.analysis.history.message_attribution import Attributed
from autoparser.analysis.history.renderer import Renderer
from tests.analysis.history.made import (
    analysed,
    called,
    renderer,
    result,
    said,
    tools,
    user,
)
from tests.analysis.history.tokenizers_here import small

Shown: TypeAlias = list[tuple[int, str, str]]


def shown(found: Attributed) -> Shown:
    """Return the segments as message, flags and text."""
    return [
        (
            each.message,
            "T" * each.content + "S" * each.sampled,
            found.text[each.start : each.end],
        )
        for each in found.segments
    ]


def test_a_conversation_with_reasoning_a_call_and_its_result() -> None:
    made = renderer("a1-function-parameter")
    messages = [user(), called(reasoning="I look."), result(), said("Sunny.", "Fine.")]
    found = shown(made.attribute(messages, tools(), add_generation_prompt=True))
    assert found[0][0] == -1
    assert found[1:] == [
        (0, "", "<|im_start|>user\n"),
        (0, "T", "Weather in Paris?"),
        (0, "", "<|im_end|>\n"),
        (1, "", "<|im_start|>assistant\n<think>\n"),
        (1, "TS", "I look."),
        (1, "S", "\n</think>\n\n<tool_call>\n<function="),
        (1, "TS", "get_weather"),
        (1, "S", ">\n<parameter=city>\n"),
        (1, "TS", "Paris"),
        (
            1,
            "S",
            "\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call><|im_end|>",
        ),
        (1, "", "\n"),
        (2, "", "<|im_start|>user\n<tool_response>\n"),
        (2, "T", "sunny"),
        (2, "", "\n</tool_response><|im_end|>\n"),
        (3, "", "<|im_start|>assistant\n<think>\n"),
        (3, "TS", "Fine."),
        (3, "S", "\n</think>\n\n"),
        (3, "TS", "Sunny."),
        (3, "S", "<|im_end|>"),
        (3, "", "\n"),
        (-1, "", "<|im_start|>assistant\n<think>\n"),
    ]


LOOP = (
    "{% for m in messages %}{% if m.role == 'user' %}U:BODY\n"
    "{% else %}A:BODY.\n{% endif %}{% endfor %}{% if add_generation_prompt %}A:{% endif %}"
)


@pytest.mark.parametrize(
    ("body", "text", "written"),
    [
        ("{{ m.content }}", " two \n", " two \n"),
        ("{{ m.content | trim }}", " two \n", "two"),
        ("{{ '\\n' + m.content | trim }}", "\ntwo", "two"),
        ("{{ m.content | upper }}", "two", "TWO"),
        ("{{ m.content | tojson }}", 'a "b"', 'a \\"b\\"'),
        ("{{ 'user' if m.content.startswith('t') else '' }}{{ m.content }}", "two", "two"),
        ("{{ m.content.split('|')[-1] }}", "one|two", "two"),
        ("{{ m.content[:2] }}", "two", None),
    ],
    ids=["kept", "trimmed", "own-newline", "upper", "escaped", "looked-at", "cut", "shortened"],
)
def test_a_text_is_found_as_the_template_writes_it(
    body: str, text: str, written: str | None
) -> None:
    """None: no mark survives, so the text is left out, and nothing is claimed for it."""
    template = ChatTemplate(LOOP.replace("BODY", body))
    plain = analyze(ChatTemplate(LOOP.replace("BODY", "{{ m.content }}")))
    made = Renderer(replace(plain, template=template), small())
    found = shown(made.attribute([user(text), said("yes")]))
    assert [piece for message, kind, piece in found if message == 0 and "T" in kind] == (
        [] if written is None else [written]
    )


def test_texts_that_are_alike_or_like_the_markup_are_told_apart() -> None:
    made = renderer("a1-function-parameter")
    plain = [user("abcd"), said("efghijklm"), user("nopq"), said("rstu")]
    alike = [user("user"), said("assistant"), user("user"), said("user")]
    one, other = (
        [(each.start, each.end, each.message, each.content) for each in found.segments]
        for found in (made.attribute(plain), made.attribute(alike))
    )
    assert one == other


TEXTS = st.text(
    st.sampled_from("ab \n\t<>/|{}\"'\\é日🚀") | st.characters(codec="utf-8"), max_size=12
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4), st.booleans())
def test_every_character_is_in_one_segment_and_every_token_has_one_owner(
    turns: list[tuple[str, str]], generation: bool
) -> None:
    made = renderer("content-plain")
    messages = [message for asked, told in turns for message in (user(asked), said(told))]
    found = made.attribute(messages, add_generation_prompt=generation)
    ends = [0, *(each.end for each in found.segments)]
    assert [each.start for each in found.segments] == ends[:-1]
    assert ends[-1] == len(found.text)
    owners = [each.message for each in found.segments if each.message >= 0]
    assert owners == sorted(owners)
    tokens = made.render(messages, add_generation_prompt=generation)
    assert (
        len(
            {
                len(part)
                for part in (
                    tokens.token_ids,
                    tokens.message_indices,
                    tokens.is_content,
                    tokens.sampled,
                    tokens.loss_mask,
                )
            }
        )
        == 1
    )
    assert made.decode(tokens.token_ids) == found.text


def test_a_turn_is_sampled_from_where_its_prompt_ends() -> None:
    made = renderer("a1-function-parameter")
    messages = [user(), said("Hi.", "Hm."), user("And?"), said("Bye.", "So.")]
    found = made.attribute(messages)
    starts = [
        min(each.start for each in found.segments if each.message == at and each.sampled)
        for at in (1, 3)
    ]
    template = analysed("a1-function-parameter").template
    assert found.text.startswith(template.render(messages[:3], None, True))
    assert starts[1] == len(template.render(messages[:3], None, True))
    assert len(re.findall("<think>\n", found.text[: starts[0]])) == 1


def test_a_prompt_that_only_begins_like_the_turn_takes_no_part_of_a_marker() -> None:
    """After a prompt that opens `<think>`, a turn that begins with `<tool_call>` shares `<t`."""
    template = ChatTemplate(
        "{% for m in messages %}{% if m.role == 'user' %}u:{{ m.content }}\n{% else %}a:"
        "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function|tojson }}</tool_call>"
        "{% endfor %}"
        "{{ m.content }}<|im_end|>\n{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}a:<think>{% endif %}"
    )
    made = Renderer(analyze(template), small())
    found = made.attribute([user(), called()], tools())
    sampled = min(each.start for each in found.segments if each.sampled)
    assert found.text[sampled:].startswith("<tool_call>")


def test_a_name_that_the_result_repeats_is_of_the_result() -> None:
    template = ChatTemplate(
        "{% for m in messages %}{% if m.role == 'user' %}u:{{ m.content }}\n"
        "{% elif m.role == 'tool' %}r:{{ messages[loop.index0 - 1].tool_calls[0].function.name }}"
        "={{ m.content }}\n{% else %}a:{% for c in m.tool_calls or [] %}({{ c.function|tojson }})"
        "{% endfor %}{{ m.content }}<|im_end|>\n{% endif %}{% endfor %}"
    )
    made = Renderer(analyze(template), small())
    found = shown(made.attribute([user(), called(), result()], tools()))
    assert [each for each in found if each[0] == 2] == [
        (2, "", "r:get_weather="),
        (2, "T", "sunny"),
        (2, "", "\n"),
    ]
    assert "".join(text for _, kind, text in found if "S" in kind).endswith("<|im_end|>")
