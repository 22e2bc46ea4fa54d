"""Attribution of every character of a render, and templates that mark sampled text."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from autoparser import ChatTemplate, Renderer, analyze
from autoparser.analysis.history.message_attribution import Attributed
from autoparser.analysis.history.training_template import TrainingTemplateError, training_template
from tests.benchmarks import loss_masks
from tests.lanes import sampled

from .renderers import (
    XML,
    analysis_of,
    answer,
    call,
    fixture_analysis,
    fixture_renderer,
    messages_from,
    read_cases,
    result,
    small,
    tools,
    user,
)

TABLE = read_cases("attribution.yaml")
CONVERSATION = [
    user(),
    call(reasoning="I look."),
    result(),
    answer("Sunny.", "Fine."),
    user("Thanks!"),
    answer("Bye.", "So."),
]


def pieces(found: Attributed) -> list[tuple[int, str, str]]:
    """Return the segments as message, flags and text: T for a message's own, S for sampled."""
    return [
        (
            segment.message,
            "T" * segment.content + "S" * segment.sampled,
            found.text[segment.start : segment.end],
        )
        for segment in found.segments
    ]


def stretches(found: Attributed, kind: str) -> list[str]:
    """Return the stretches that are sampled, or that a loss counts, adjacent ones joined."""
    of_kind = itertools.groupby(found.segments, key=lambda segment: getattr(segment, kind))
    return [
        "".join(found.text[segment.start : segment.end] for segment in group)
        for counted, group in of_kind
        if counted
    ]


def marked_by_transformers(template: ChatTemplate, messages: Any) -> list[str]:
    """Return the stretches that transformers' own renderer says are the model's."""
    return [*loss_masks.counted(template.text, template.special_tokens, messages, tooled=True)[1]]


def test_reasoning_call_and_result_are_split_into_segments() -> None:
    messages = CONVERSATION[:4]
    found = fixture_renderer().attribute(messages, tools(), add_generation_prompt=True)
    assert [[*piece] for piece in pieces(found)[1:]] == TABLE["segments"]


LOOP = (
    "{% for m in messages %}{% if m.role == 'user' %}U:BODY\n"
    "{% else %}A:BODY.\n{% endif %}{% endfor %}{% if add_generation_prompt %}A:{% endif %}"
)


@pytest.mark.parametrize("case", TABLE["texts"], ids=lambda case: case["name"])
def test_rendered_text_is_found_after_template_filters(case: dict[str, Any]) -> None:
    template = ChatTemplate(LOOP.replace("BODY", case["body"]))
    plain = analysis_of(LOOP.replace("BODY", "{{ m.content }}"))
    renderer = Renderer(replace(plain, template=template), small())
    found = pieces(renderer.attribute([user(case["text"]), answer("yes")]))
    wanted = [] if case["written"] is None else [case["written"]]
    assert [piece for message, kind, piece in found if message == 0 and "T" in kind] == wanted


def test_user_text_that_looks_like_markup_is_attributed_to_the_user() -> None:
    renderer = fixture_renderer()
    plain = [user("abcd"), answer("efghijklm"), user("nopq"), answer("rstu")]
    alike = [user("user"), answer("assistant"), user("user"), answer("user")]
    one, other = (renderer.attribute(prompt_).segments for prompt_ in (plain, alike))
    assert one == other


def test_result_that_repeats_the_call_name_owns_it() -> None:
    analysis = analysis_of(TABLE["templates"]["result_repeats_name"])
    found = Renderer(analysis, small()).attribute([user(), call(), result()], tools())
    of_result = [(kind, text) for message, kind, text in pieces(found) if message == 2]
    assert of_result == [("", "r:get_weather="), ("T", "sunny"), ("", "\n")]


TEXTS = st.text(
    st.sampled_from("ab \n\t<>/|{}\"'\\é日🚀") | st.characters(codec="utf-8"), max_size=12
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4), st.booleans())
def test_segments_cover_every_character_and_tokens_have_one_owner(
    turns: list[tuple[str, str]], generation: bool
) -> None:
    renderer = fixture_renderer("content-plain")
    messages = [message for one, other in turns for message in (user(one), answer(other))]
    found = renderer.attribute(messages, add_generation_prompt=generation)
    ends = [0, *(segment.end for segment in found.segments)]
    assert [segment.start for segment in found.segments] == ends[:-1]
    assert ends[-1] == len(found.text)
    owners = [segment.message for segment in found.segments if segment.message >= 0]
    assert owners == sorted(owners)
    tokens = renderer.render(messages, add_generation_prompt=generation)
    rows = (tokens.message_indices, tokens.is_content, tokens.sampled, tokens.loss_mask)
    assert {len(row) for row in rows} == {len(tokens.token_ids)}
    assert renderer.decode(tokens.token_ids) == found.text


@pytest.mark.parametrize("case", sampled(TABLE["turns"], 12), ids=lambda case: case["name"])
def test_turn_is_sampled_and_marked_from_its_header_to_its_stop(case: dict[str, Any]) -> None:
    analysis = analysis_of(TABLE["templates"][case["template"]])
    messages = messages_from(case["messages"]) if "messages" in case else CONVERSATION
    marked = case.get("marked", case["turns"])
    found = Renderer(analysis, small()).attribute(messages, tools())
    assert stretches(found, "sampled") == case["turns"]
    assert stretches(found, "loss") == marked
    training = training_template(analysis, briefly=True)
    assert marked_by_transformers(training.template, messages) == marked
    own = analysis.template.marks_generation
    assert (training.patched, training.proof.passed) == (not own, marked == case["turns"])
    if own:
        assert training.template.text == analysis.template.text
    for deviation in training.proof.deviations:
        assert deviation.conversation[deviation.message] == "assistant"
        wanted = case["deviation"]
        assert ([*deviation.left_out], [*deviation.marked_too]) == (
            wanted["left_out"],
            wanted["marked_too"],
        )


PATCHED = (
    "content-plain",
    XML,
    "j1-json-in-tags",
    "a7-token-pairs",
    "content-dropped-beside-calls",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", PATCHED)
def test_training_template_keeps_the_text_and_marks_sampled_spans(name: str) -> None:
    analysis = fixture_analysis(name)
    training = training_template(analysis)
    assert training.proof.conversations > 100
    assert training.proof.passed
    messages = CONVERSATION if analysis.format.calls else [user(), answer("Hi."), user()]
    text = analysis.template.render(messages, tools())
    assert training.template.render(messages, tools()) == text
    found = Renderer(analysis, small()).attribute(messages, tools())
    assert marked_by_transformers(training.template, messages) == stretches(found, "loss")


def test_template_that_raises_everywhere_gets_no_training_template() -> None:
    template = ChatTemplate("{{ bos_token + '' }}" + TABLE["templates"]["goes_on_after_results"])
    with pytest.raises(TrainingTemplateError, match=r"raises on all \d+ test conversations"):
        training_template(analyze(template), briefly=True)
