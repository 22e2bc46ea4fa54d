"""The prober: one render for one question, refusals as answers, a clock that stands still."""

from __future__ import annotations

from autoparser import ChatTemplate
from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.message_shape import MessageShape, ToolForm
from tests.analysis.tiny import CONTENT, prober_of, turn


def test_a_question_is_rendered_once() -> None:
    prober = prober_of(turn(CONTENT))
    dialogue = (prober.user, Message("Hi"))
    first, again = prober.probe(dialogue), prober.probe(dialogue)
    assert first is again
    assert first.text == f"U:{prober.sentinels.user}\nA:Hi.\n"
    assert prober.meter.renders == 1
    assert prober.meter.characters == len(first.text)


def test_probers_in_other_shapes_share_the_meter() -> None:
    prober = prober_of(turn(CONTENT))
    other = prober.using(shape=MessageShape(tools=ToolForm.NONE))
    prober.probe((prober.user,))
    other.probe((prober.user,))
    other.probe((prober.user,), generation=True)
    assert prober.meter.renders == other.meter.renders == 3


def test_a_refusal_is_an_answer() -> None:
    prober = prober_of(ChatTemplate("{{ raise_exception('no users') }}"))
    probe = prober.probe((prober.user,))
    assert not probe.rendered
    assert probe.text == ""
    assert probe.error is not None
    assert probe.error.refused
    assert probe.error.reason == "no users"


def test_a_crash_is_an_answer() -> None:
    prober = prober_of(ChatTemplate("{{ nothing.at.all }}"))
    probe = prober.probe((prober.user,))
    assert probe.error is not None
    assert not probe.error.refused


def test_the_clock_stands_still() -> None:
    prober = prober_of(ChatTemplate("{{ strftime_now('%Y-%m-%d %H:%M:%S') }}"))
    texts = {prober.using().probe((prober.user,)).text for _ in range(3)}
    assert texts == {"2025-07-16 12:34:56"}


def test_what_a_template_is_given() -> None:
    text = "{{ tools is none }} {{ documents is none }} {{ add_generation_prompt }} {{ loud }}"
    prober = prober_of(ChatTemplate(text))
    probe = prober.probe((prober.user,), tools=False, generation=True, setting={"loud": 1})
    assert probe.text == "True True True 1"


def test_values_that_are_equal_and_written_otherwise_are_rendered_each() -> None:
    values: tuple[Json, ...] = (1, True, 1.0, "1", [1], [True], None)
    prober = prober_of(ChatTemplate("{{ messages[1].tool_calls[0].function.arguments.x }}"))
    texts = [
        prober.probe((prober.user, Message(calls=(ToolCall("f", {"x": each}),)))).text
        for each in values
    ]
    assert texts == [str(each) for each in values]
