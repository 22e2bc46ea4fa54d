"""From one turn to the next: what is kept, what is added, and when there is no bridge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from autoparser import ChatTemplate, analyze
from autoparser.analysis.core.errors import TokenizerError
from autoparser.analysis.history.history_renders import BridgeRefusal, HistoryRenders, Reason
from autoparser.analysis.history.prompt_tokens import RenderedTokens
from autoparser.analysis.history.renderer import Renderer
from autoparser.analysis.sources.tokenizer import EncodedText, TokenText
from tests.analysis.history.made import (
    called,
    renderer,
    result,
    said,
    sampled_ids,
    tools,
    user,
)
from tests.analysis.history.tokenizers_here import deepseek, qwen, small

pytestmark = pytest.mark.slow

XML = "a1-function-parameter"
"""Keeps reasoning in a tool loop and after it."""


def bridged(made: Renderer, prompt: Any, completion: Any, new: Any) -> RenderedTokens:
    found = made.bridge_to_next_turn(prompt, completion, new, tools())
    assert isinstance(found, RenderedTokens), found
    return found


def refusal(made: Renderer, prompt: Any, completion: Any, new: Any) -> Reason:
    found = made.bridge_to_next_turn(prompt, completion, new, tools())
    assert isinstance(found, BridgeRefusal)
    assert not found
    return found.reason


def prompt_of(made: Renderer, messages: list[dict[str, object]]) -> tuple[int, ...]:
    return made.render(messages, tools(), add_generation_prompt=True).token_ids


@pytest.mark.parametrize(
    "vocabulary",
    [
        small,
        pytest.param(qwen, marks=pytest.mark.slow),
        pytest.param(deepseek, marks=pytest.mark.slow),
    ],
    ids=["small", "qwen", "deepseek"],
)
@pytest.mark.parametrize(
    ("before", "turn", "new"),
    [
        ([user()], called(reasoning="I look."), [result()]),
        ([user()], called(content="Let me see.", reasoning="Hm."), [result("two\nlines 🚀")]),
        ([user()], said("Sunny.", "Fine."), [user("Thanks!")]),
        (
            [user(), called(reasoning="I look."), result()],
            said("Sunny.", "Fine."),
            [user("Thanks!")],
        ),
        (
            [user(), called(reasoning="I look."), result()],
            called("Rome", reasoning="More."),
            [result("rain")],
        ),
    ],
    ids=["result", "beside-content", "user", "behind-loop", "in-loop"],
)
def test_a_bridge_is_the_whole_render_where_the_history_stays(
    vocabulary: Any, before: Any, turn: Any, new: Any
) -> None:
    made = renderer(XML, vocabulary())
    prompt, completion = prompt_of(made, before), sampled_ids(made, before, turn)
    found = bridged(made, prompt, completion, new)
    previous = (*prompt, *completion)
    assert found.token_ids[: len(previous)] == previous
    assert found.notes == ()
    assert made.decode(found.token_ids) == made.analysis.template.render(
        [*before, turn, *new], tools(), True
    )


def test_what_is_added_has_its_owners() -> None:
    made = renderer(XML)
    prompt, completion = prompt_of(made, [user()]), sampled_ids(made, [user()], said("Hi.", "Hm."))
    found = bridged(made, prompt, completion, [user("one"), user("two")])
    length = len(prompt) + len(completion)
    assert set(found.message_indices[:length]) == {-1}
    assert found.sampled == (False,) * len(prompt) + (True,) * len(completion) + (False,) * (
        len(found) - length
    )
    runs: list[tuple[int, str]] = []
    for at in range(length, len(found)):
        text = made.decode([found.token_ids[at]])
        owner = found.message_indices[at]
        if runs and runs[-1][0] == owner:
            runs[-1] = (owner, runs[-1][1] + text)
        else:
            runs.append((owner, text))
    assert runs == [
        (-1, "\n"),
        (0, "<|im_start|>user\none<|im_end|>\n"),
        (1, "<|im_start|>user\ntwo<|im_end|>\n"),
        (-1, "<|im_start|>assistant\n<think>\n"),
    ]


@pytest.mark.parametrize(
    ("written", "added"),
    [
        ("Hm.\n</think>\n\nHi.<|im_end|>", "\n"),
        ("Hm.\n</think>\n\nHi.<|im_end|>\n", ""),
        ("Hm.\n</think>\n\nHi.", "<|im_end|>\n"),
        ("Hm.\n</think>\n\nHi. And th", "<|im_end|>\n"),
        ("Hm. But th", "<|im_end|>\n"),
        ("Hm.\n</think>\n\n<tool_call>\n<function=get_wea", "<|im_end|>\n"),
    ],
    ids=["stop", "behind-stop", "swallowed", "cut-content", "cut-reasoning", "cut-call"],
)
def test_the_turn_is_closed_as_far_as_it_is_not(written: str, added: str) -> None:
    made = renderer(XML)
    prompt, completion = prompt_of(made, [user()]), made.encode(written)
    found = bridged(made, prompt, completion, [user("On.")])
    tail = made.decode(found.token_ids[len(prompt) + len(completion) :])
    assert tail == f"{added}<|im_start|>user\nOn.<|im_end|>\n<|im_start|>assistant\n<think>\n"
    assert bool(found.notes) == ("<|im_end|>" not in written)


DROPS = (
    "{% for m in messages %}{% if m.role == 'user' %}<|im_start|>u\n{{ m.content }}<|im_end|>\n"
    "{% elif m.role == 'tool' %}<|im_start|>t\n{{ m.content }}<|im_end|>\n"
    "{% else %}<|im_start|>a\n"
    "{% if m.reasoning_content and loop.index0 > last %}<think>{{ m.reasoning_content }}</think>"
    "{% endif %}{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function|tojson }}</tool_call>{% endfor %}"
    "<|im_end|>\n{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>a\n{% endif %}"
)
LAST_USER = (
    "{% set ns = namespace(last=-1) %}{% for m in messages %}{% if m.role == 'user' %}"
    "{% set ns.last = loop.index0 %}{% endif %}{% endfor %}{% set last = ns.last %}"
)
LAST_MESSAGE = "{% set last = messages|length - 2 %}"


def dropping(rule: str, **options: Any) -> Renderer:
    return Renderer(analyze(ChatTemplate(rule + DROPS)), small(), **options)


DROPPED = Reason.REASONING_DROPPED
LOOP = [user(), called(reasoning="I look."), result()]


@pytest.mark.parametrize(
    ("rule", "retention", "before", "turn", "new", "expected"),
    [
        (LAST_USER, "none", [user()], called(reasoning="Hm."), result(), ""),
        (LAST_USER, "none", [user()], said("Hi."), user(), ""),
        (LAST_USER, "none", [user()], said("Hi.", "Hm."), user(), DROPPED),
        (LAST_USER, "none", LOOP, said("Hi."), user(), DROPPED),
        (LAST_USER, "none", [*LOOP, said("a"), user()], said("Hi."), user(), ""),
        (LAST_USER, "tool_cycle", [user()], said("Hi.", "Hm."), user(), DROPPED),
        (LAST_USER, "all", [user()], said("Hi.", "Hm."), user(), "kept"),
        (LAST_USER, "all", LOOP, said("Hi."), user(), "kept"),
        (
            LAST_MESSAGE,
            "none",
            [user()],
            called(reasoning="Hm."),
            result(),
            Reason.REASONING_DROPPED,
        ),
        (LAST_MESSAGE, "tool_cycle", [user()], called(reasoning="Hm."), result(), "kept"),
    ],
    ids=[
        "tool",
        "no-reasoning",
        "reasoning",
        "reasoning-in-prompt",
        "dropped-before",
        "cycle-user",
        "all",
        "all-in-prompt",
        "always-dropped",
        "cycle-tool",
    ],
)
def test_reasoning_that_the_template_drops(
    rule: str, retention: str, before: Any, turn: Any, new: Any, expected: Any
) -> None:
    made = dropping(rule, thinking_retention=retention)
    prompt, completion = prompt_of(made, before), sampled_ids(made, before, turn)
    found = made.bridge_to_next_turn(prompt, completion, [new], tools())
    if isinstance(expected, Reason):
        assert isinstance(found, BridgeRefusal)
        assert found.reason is expected
    else:
        assert isinstance(found, RenderedTokens)
        assert [note.partition(",")[0] for note in found.notes] == ([expected] if expected else [])


MOVES = (
    "{% for m in messages %}{% if m.role == 'user' %}{% if loop.last and tools %}[T]{% endif %}"
    "[U]{{ m.content }}{% else %}[A]{{ m.content }}<|im_end|>{% endif %}{% endfor %}"
)
COUNTS = (
    "{% for m in messages %}{% if m.role == 'user' %}{{ loop.index }}[U]{{ m.content }}[A]"
    "{% else %}{{ m.content }}<|im_end|>{% endif %}{% endfor %}"
)
EXCHANGES = (
    "{% for m in messages %}{% if m.role == 'user' %}[U]{{ m.content }}[A]{% else %}"
    "{{ m.content }}{% if loop.last %}<|im_end|>{% else %}<|endoftext|>{% endif %}"
    "{% endif %}{% endfor %}"
)
TAKES = EXCHANGES.replace(
    "{% if loop.last %}<|im_end|>{% else %}<|endoftext|>{% endif %}", "<|im_end|>"
)
REFUSES = (
    "{% for m in messages %}{% if m.role == 'user' %}[U]{{ m.content }}[A]{% elif m.role == "
    "'assistant' %}{{ m.content }}<|im_end|>{% else %}{{ raise_exception('no ' + m.role) }}"
    "{% endif %}{% endfor %}"
)


@pytest.mark.parametrize(
    ("source", "written", "new", "reason"),
    [
        (MOVES, "Hi.<|im_end|>", [user()], Reason.HISTORY_REWRITTEN),
        (COUNTS, "Hi.<|im_end|>", [user()], Reason.DEPENDS),
        (EXCHANGES, "Hi.<|im_end|>", [user()], Reason.END_DIFFERS),
        (REFUSES, "Hi.<|im_end|>", [result()], Reason.REFUSED),
        (TAKES, "Hi.<|im_end|>", [result()], Reason.NO_CALL),
        (REFUSES, "Hi.<|im_end|>", [said("More.")], Reason.ASSISTANT),
        (REFUSES, "Hi.<|im_end|>", [], Reason.NOTHING_NEW),
        (REFUSES, "Hi.<|im_end|> And", [user()], Reason.BEHIND_STOP),
    ],
    ids=["moves", "counts", "end", "refuses", "no-call", "assistant", "nothing", "behind-stop"],
)
def test_there_is_no_bridge_and_the_reason_is_said(
    source: str, written: str, new: Any, reason: Reason
) -> None:
    made = Renderer(analyze(ChatTemplate(source)), small("<|im_end|>", "<|endoftext|>"))
    prompt = prompt_of(made, [user()])
    found = made.bridge_to_next_turn(prompt, made.encode(written), new, tools())
    assert isinstance(found, BridgeRefusal)
    assert (found.reason, bool(found)) == (reason, False)


def test_a_template_that_refuses_is_quoted() -> None:
    made = Renderer(analyze(ChatTemplate(REFUSES)), small("<|im_end|>"))
    found = made.bridge_to_next_turn(
        prompt_of(made, [user()]), made.encode("Hi.<|im_end|>"), [result()], tools()
    )
    assert str(found) == "the template refuses the conversation: no tool"


def test_ids_that_the_vocabulary_does_not_have_are_refused_by_place() -> None:
    made = renderer(XML)
    with pytest.raises(TokenizerError, match=r"prev_completion_ids\[1\]: the id 999999 is not in"):
        made.bridge_to_next_turn(prompt_of(made, [user()]), [1, 999999], [user()])


WORDS = st.text(st.sampled_from("ab \n<>/🚀é{}"), min_size=1, max_size=8)


@settings(max_examples=80, deadline=None)
@given(WORDS, WORDS, st.lists(WORDS, min_size=1, max_size=3), st.booleans())
def test_the_previous_ids_are_always_a_prefix(
    asked: str, written: str, new: list[str], stopped: bool
) -> None:
    made = renderer(XML)
    prompt = prompt_of(made, [user(asked)])
    completion = made.encode(written + "<|im_end|>" * stopped)
    found = made.bridge_to_next_turn(prompt, completion, [user(text) for text in new], tools())
    if isinstance(found, RenderedTokens):
        assert found.token_ids[: len(prompt) + len(completion)] == (*prompt, *completion)
        assert made.decode(found.token_ids).endswith("<|im_start|>assistant\n<think>\n")


IN_ONE_TURN = (
    "{% set open = namespace(turn=false) %}{% for m in messages %}"
    "{% if m.role == 'user' %}<|im_start|>user\n{{ m.content }}<|im_end|>\n"
    "{% elif m.role == 'tool' %}<tool_response>{{ m.content }}</tool_response>"
    "{% else %}{% if not open.turn %}<|im_start|>model\n{% endif %}"
    "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>{% endif %}"
    "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function|tojson }}</tool_call>{% endfor %}"
    "{{ m.content }}{{ '<|endoftext|>' if m.tool_calls else '<|im_end|>\n' }}"
    "{% endif %}{% set open.turn = m.role == 'tool' %}{% endfor %}"
    "{% if add_generation_prompt %}{% if not open.turn %}<|im_start|>model\n{% endif %}"
    "<think>\n{% endif %}"
)
"""Results of calls stand in the model's own turn, which goes on after them without a header."""


def test_a_turn_goes_on_behind_the_results_of_its_calls() -> None:
    made = Renderer(analyze(ChatTemplate(IN_ONE_TURN)), small())
    before = [user(), called(reasoning="I look."), result()]
    turn, new = called("Rome", reasoning="More."), [result("rain")]
    prompt, completion = prompt_of(made, before), sampled_ids(made, before, turn)
    assert made.decode(prompt).endswith("</tool_response><think>\n")
    message = made.parse_response(completion, prompt, tools=tools())
    assert (message.reasoning_content, message.content) == ("More.", None)
    assert [call.name for call in message.tool_calls] == ["get_weather"]
    found = bridged(made, prompt, completion, new)
    assert found.notes == ()
    assert made.decode(found.token_ids) == made.decode(prompt_of(made, [*before, turn, *new]))


COUNTED = (
    "{% for m in messages %}{% if m.role == 'user' %}<|im_start|>user\n{{ m.content }}<|im_end|>\n"
    "{% elif m.role == 'tool' %}<tool_response>{{ loop.index }}:{{ m.content }}</tool_response>"
    "{% else %}<|im_start|>model\n{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function|tojson }}</tool_call>{% endfor %}"
    "<|im_end|>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>model\n{% endif %}"
)
"""What is written of a result depends on how much stands before it."""


IN_A_LIST = (
    "{% if tools %}<|im_start|>tools\n{{ tools | tojson }}"
    "{% if shown is defined %}<call>look#0{}</call>{% endif %}<|im_end|>\n{% endif %}"
    "{% set ns = namespace(count=0, ids=[]) %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.role == 'tool' %}of {{ ns.ids.pop(0) }}: {% endif %}{{ m.content }}"
    "{% for call in m.tool_calls or [] %}"
    "<call>{{ call.function.name }}#{{ ns.count }}{{ call.function.arguments | tojson }}</call>"
    "{% set _ = ns.ids.append(call.function.name ~ '#' ~ ns.count) %}"
    "{% set ns.count = ns.count + 1 %}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""Counts calls through the conversation, in a list that transformers' sandbox does not change."""


@pytest.mark.parametrize("switches", [{}, {"shown": True}], ids=["plain", "example-in-prompt"])
def test_calls_that_are_counted_through_the_conversation_are_bridged(
    switches: dict[str, object],
) -> None:
    made = Renderer(analyze(ChatTemplate(IN_A_LIST)), small(), switches=switches)
    history = [user()]
    for turn, new in (
        (called(), [result()]),
        (called("Rome"), [result("rain")]),
        (said("Rain."), [user("And then?")]),
        (called("Oslo"), [result("snow")]),
    ):
        asked = prompt_of(made, history), sampled_ids(made, history, turn)
        found = bridged(made, *asked, new)
        history += [turn, *new]
        assert found.notes == ()
        assert made.decode(found.token_ids) == made.decode(prompt_of(made, history))


def test_a_call_with_another_number_than_the_template_would_write_is_refused() -> None:
    made = Renderer(analyze(ChatTemplate(IN_A_LIST)), small())
    prompt = prompt_of(made, [user(), called(), result()])
    written = made.encode('<call>get_weather#7{"city": "Rome", "days": 3}</call><|im_end|>')
    assert refusal(made, prompt, written, [result()]) is Reason.HISTORY_REWRITTEN


SPELLS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content | trim }}\n</think>\n{% endif %}"
    "{{ m.content }}{% for call in m.tool_calls or [] %}<tool_call>{{ call.function.name }}"
    "{% for k, v in call.function.arguments.items() %}<arg>{{ k }}={{ v }}</arg>{% endfor %}"
    "</tool_call>{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""Writes booleans and null as Python does, and reasoning without whitespace around it."""
SPELLING_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather.",
            "parameters": {
                "type": "object",
                "properties": {"rain": {"type": "boolean"}, "snow": {"type": "null"}},
            },
        },
    }
]


@pytest.mark.parametrize(
    ("written", "noted"),
    [
        ("<tool_call>get_weather<arg>rain=true</arg></tool_call>", ("=true", "=True")),
        ("<tool_call>get_weather<arg>rain=True</arg></tool_call>", None),
        ("<tool_call>get_weather<arg>snow=null</arg></tool_call>", ("=null", "=None")),
        ("<tool_call>get_weather<arg>snow=None</arg></tool_call>", None),
        ("<think>\n Hm.\n</think>\nSunny.", ("\\n Hm.", "\\nHm.")),
        ("<think>\nHm.\n</think>\nSunny.", None),
    ],
    ids=["true", "True", "null", "None", "space-before-reasoning", "reasoning"],
)
def test_a_bridge_that_keeps_another_spelling_than_the_templates_says_so(
    written: str, noted: tuple[str, str] | None
) -> None:
    made = Renderer(analyze(ChatTemplate(SPELLS)), small())
    prompt = made.render([user()], SPELLING_TOOLS, add_generation_prompt=True).token_ids
    new = [result()] if "tool_call" in written else [user()]
    completion = made.encode(written + "<|im_end|>")
    found = made.bridge_to_next_turn(prompt, completion, new, SPELLING_TOOLS)
    assert isinstance(found, RenderedTokens), found
    assert written in made.decode(found.token_ids)
    if noted is None:
        assert found.notes == ()
    else:
        (note,) = found.notes
        assert note.startswith("kept the model's spelling: ")
        ours, theirs = note.split(", not ")
        assert noted[0] in ours
        assert noted[1] in theirs


LAST_BLOCK = SPELLS.replace(
    "{% if m.reasoning_content %}",
    "{% if m.reasoning_content or loop.last and not m.role == 'user' %}",
).replace("m.reasoning_content | trim", "m.reasoning_content or '' | trim")


@pytest.mark.parametrize("spelled", ["True", "true"])
def test_a_call_without_the_empty_block_that_only_the_last_turn_has_is_bridged(
    spelled: str,
) -> None:
    made = Renderer(analyze(ChatTemplate(LAST_BLOCK)), small())
    prompt = made.render([user()], SPELLING_TOOLS, add_generation_prompt=True).token_ids
    written = f"<tool_call>get_weather<arg>rain={spelled}</arg></tool_call>"
    call = {"function": {"name": "get_weather", "arguments": {"rain": True}}}
    turn = {"role": "assistant", "content": "", "tool_calls": [call]}
    found = made.bridge_to_next_turn(
        prompt, made.encode(f"{written}<|im_end|>"), [result()], SPELLING_TOOLS
    )
    assert isinstance(found, RenderedTokens), found
    again = made.render([user(), turn, result()], SPELLING_TOOLS, add_generation_prompt=True)
    assert (found.token_ids == again.token_ids) == (spelled == "True")
    assert len(found.notes) == (spelled == "true")


SHARED_CLOSE = (
    "{% for m in messages %}{% if m.reasoning_content and loop.index0 + 3 >= messages | length %}"
    "<|im_start|>assistant<think>{{ m.reasoning_content }}<|im_end|>{% endif %}"
    "<|im_start|>{{ m.role }}<say>{{ m.content }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant{% endif %}"
)
"""Ends reasoning with what ends every message, and drops it from all but the last messages."""


@pytest.mark.parametrize(
    ("thought", "reason"), [("", None), ("Hm.", Reason.REASONING_DROPPED)], ids=["none", "some"]
)
def test_what_ends_messages_too_is_not_taken_for_reasoning_that_is_dropped(
    thought: str, reason: Reason | None
) -> None:
    made = Renderer(analyze(ChatTemplate(SHARED_CLOSE)), small())
    history, turn, new = [user(), said("Sunny.", thought), user("So?")], said("Rain."), [user()]
    asked = prompt_of(made, history), sampled_ids(made, history, turn)
    if reason is None:
        whole = prompt_of(made, [*history, turn, *new])
        assert made.decode(bridged(made, *asked, new).token_ids) == made.decode(whole)
    else:
        assert refusal(made, *asked, new) is reason


SHARED_RETURN = (
    "{% for m in messages %}<|start|>{{ m.role }}"
    "{% if m.reasoning_content and loop.index0 + 3 >= messages | length %}"
    "<think>{{ m.reasoning_content }}<|end|><|start|>assistant{% endif %}"
    "<say>{{ m.content }}{% if loop.last and m.role == 'assistant' %}<|return|>{% else %}<|end|>"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}"
)
"""Ends reasoning as every message of the history ends, and the last answer in another way."""


@pytest.mark.parametrize(
    ("thought", "words"),
    [
        ("", f"{Reason.END_DIFFERS.value}: '<|return|>', not '<|end|>'"),
        ("Hm.", f"{Reason.REASONING_DROPPED.value}: of an earlier turn"),
    ],
    ids=["none", "some"],
)
def test_refusal_names_what_differs_where_all_ends_as_reasoning_does(
    thought: str, words: str
) -> None:
    vocabulary = small("<|start|>", "<|end|>", "<|return|>")
    made = Renderer(analyze(ChatTemplate(SHARED_RETURN)), vocabulary)
    history = [user(), said("Sunny.", thought), user("So?")]
    completion = made.encode("<say>Rain.<|return|>")
    found = made.bridge_to_next_turn(prompt_of(made, history), completion, [user()])
    assert str(found) == words


def test_where_no_turn_stands_before_there_is_no_longer_history_to_ask_of() -> None:
    made = Renderer(analyze(ChatTemplate(COUNTED)), small())
    first, turn, new = [user()], called(), [result()]
    found = bridged(made, prompt_of(made, first), sampled_ids(made, first, turn), new)
    assert made.decode(found.token_ids) == made.decode(prompt_of(made, [*first, turn, *new]))
    second = [*first, turn, *new]
    asked = prompt_of(made, second), sampled_ids(made, second, turn)
    assert refusal(made, *asked, new) is Reason.DEPENDS


ANSWERS = (
    "{% for m in messages %}{% if m.role == 'assistant' %}<|start|>a:{{ m.content }}"
    "{{ '<|return|>' if loop.last else '<|end|>' }}{% else %}"
    "<|start|>{{ m.role }}:{{ m.content }}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|start|>a:{% endif %}"
)
"""An answer ends in one way where it is the last, in another in the history."""


@pytest.mark.parametrize("options", [{"thinking_retention": "all"}, {"force": True}])
def test_the_end_that_the_model_wrote_stands_for_that_of_the_history(options: Any) -> None:
    vocabulary = small("<|start|>", "<|end|>", "<|return|>")
    force = bool(options.pop("force", False))
    made = Renderer(analyze(ChatTemplate(ANSWERS)), vocabulary, **options)
    prompt = prompt_of(made, [user("Hi?")])
    completion = made.encode("Hello.<|return|>")
    found = made.bridge_to_next_turn(prompt, completion, [user("And?")], force=force)
    assert isinstance(found, RenderedTokens), found
    assert made.decode(found.token_ids).endswith(
        "a:Hello.<|return|><|start|>user:And?<|end|><|start|>a:"
    )
    assert [note.partition(":")[0] for note in found.notes] == [
        f"kept, although {Reason.END_DIFFERS.value}"
    ]
    plain = Renderer(analyze(ChatTemplate(ANSWERS)), vocabulary)
    assert refusal(plain, prompt, completion, [user("And?")]) is Reason.END_DIFFERS


@pytest.mark.parametrize(
    ("source", "reason"), [(MOVES, Reason.HISTORY_REWRITTEN), (COUNTS, Reason.DEPENDS)]
)
def test_by_force_what_is_new_is_appended_with_a_note(source: str, reason: Reason) -> None:
    made = Renderer(analyze(ChatTemplate(source)), small("<|im_end|>", "<|endoftext|>"))
    prompt, completion = prompt_of(made, [user()]), made.encode("Hi.<|im_end|>")
    found = made.bridge_to_next_turn(prompt, completion, [user("On.")], tools(), force=True)
    assert isinstance(found, RenderedTokens), found
    previous = (*prompt, *completion)
    assert found.token_ids[: len(previous)] == previous
    assert "On." in made.decode(found.token_ids[len(previous) :])
    assert f"kept, although {reason.value}" in "".join(found.notes)


CLOSER_ENDS = (
    "{% for m in messages %}{% if m.role == 'assistant' %}{% if m.tool_calls %}"
    "<|start|>a to={{ m.tool_calls[0].function.name }}:"
    "{{ m.tool_calls[0].function.arguments|tojson }}<|call|>"
    "{% else %}<|start|>a:{{ m.content }}<|end|>{% endif %}{% else %}"
    "<|start|>{{ m.role }}:{{ m.content }}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|start|>a{% endif %}"
)
"""A call's own closer ends the turn: nothing else stands after it."""


@pytest.mark.parametrize("written", ["<|call|>", ""], ids=["stop", "cut"])
def test_the_closer_of_a_call_ends_the_turn(written: str) -> None:
    vocabulary = small("<|start|>", "<|end|>", "<|call|>")
    made = Renderer(analyze(ChatTemplate(CLOSER_ENDS)), vocabulary)
    before, turn, new = [user()], called(), [result()]
    prompt = prompt_of(made, before)
    completion = made.encode(' to=get_weather:{"city": "Paris", "days": 3}' + written)
    found = bridged(made, prompt, completion, new)
    assert made.decode(found.token_ids) == made.decode(prompt_of(made, [*before, turn, *new]))
    assert bool(found.notes) is not bool(written)


BLANKS = (LAST_USER + DROPS).replace(
    "{% if m.reasoning_content and loop.index0 > last %}<think>{{ m.reasoning_content }}</think>",
    "{% if m.reasoning_content or loop.index0 > last %}<think>{{ m.reasoning_content }}</think>",
)
"""A block without reasoning is dropped once a user says something new; reasoning stays."""


@pytest.mark.parametrize(("reasoning", "dropped"), [("Hm.", False), ("", True)])
def test_blocks_without_reasoning_are_dropped_and_others_stay(
    reasoning: str, dropped: bool
) -> None:
    made = Renderer(analyze(ChatTemplate(BLANKS)), small())
    before = [user(), called(reasoning=reasoning), result()]
    turn, new = said("Sunny.", "So."), [user("On.")]
    asked = prompt_of(made, before), sampled_ids(made, before, turn)
    if dropped:
        assert refusal(made, *asked, new) is Reason.REASONING_DROPPED
        return
    found = bridged(made, *asked, new)
    assert made.decode(found.token_ids) == made.decode(prompt_of(made, [*before, turn, *new]))


LAST_RESULT = (
    "{% for m in messages %}{% if m.role == 'assistant' %}<|im_start|>a\n{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function|tojson }}</tool_call>{% endfor %}"
    "<|im_end|>\n{% else %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "{% if m.role == 'tool' %}[R]{% if not loop.last %}{{ '\n' }}{% endif %}{% endif %}"
    "<|im_end|>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>a\n{% endif %}"
)
"""A result is written in one way where it is the last message, in another where more follows."""


def test_what_becomes_of_a_result_is_asked_where_the_prompt_ends_with_one() -> None:
    made = Renderer(analyze(ChatTemplate(LAST_RESULT)), small())
    first = [user(), called(), result(), said("Sunny."), user("And Rome?")]
    turn, new = called("Rome"), [result()]
    prompt, completion = prompt_of(made, first), sampled_ids(made, first, turn)
    found = bridged(made, prompt, completion, new)
    assert made.decode(found.token_ids) == made.decode(prompt_of(made, [*first, turn, *new]))
    second = prompt_of(made, [*first, turn, *new])
    assert refusal(made, second, completion, new) is Reason.HISTORY_REWRITTEN


TWO_ENDS = (
    "{% for m in messages %}<|start|>{{ m.role }}:{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function|tojson }}</tool_call>{% endfor %}"
    "<|end|>{% if m.tool_calls %}<|stop|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant:{% endif %}"
)
"""After calls the end has another marker more than after content."""


@pytest.mark.parametrize("written", ["<|end|>", "<|end|><|stop|>"], ids=["first", "both"])
def test_of_an_end_of_two_markers_a_model_may_write_the_first(written: str) -> None:
    vocabulary = small("<|start|>", "<|end|>", "<|stop|>")
    made = Renderer(analyze(ChatTemplate(TWO_ENDS)), vocabulary)
    before, turn, new = [user()], called(), [result()]
    prompt = prompt_of(made, before)
    call = '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}'
    completion = made.encode(f"{call}</tool_call>{written}")
    found = bridged(made, prompt, completion, new)
    assert found.token_ids[: len(prompt) + len(completion)] == (*prompt, *completion)
    assert made.decode(found.token_ids) == made.decode(prompt_of(made, [*before, turn, *new]))
    assert found.notes == ()


NUMBERED = (
    "{% set n = namespace(calls=0) %}{% for m in messages %}{% if m.role == 'assistant' %}"
    "<a>{{ m.content }}{% for c in m.tool_calls or [] %}"
    '<tool_call>{"id": "c{{ n.calls }}", "name": {{ c.function.name|tojson }},'
    ' "arguments": {{ c.function.arguments|tojson }}}</tool_call>'
    "{% set n.calls = n.calls + 1 %}{% endfor %}<|im_end|>"
    "{% else %}<{{ m.role }}>{{ m.content }}<|im_end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<a>{% endif %}"
)
"""Calls are numbered through the conversation."""


def test_the_first_numbered_call_has_none_before_it() -> None:
    made = Renderer(analyze(ChatTemplate(NUMBERED)), small())
    before, turn, new = [user()], called(), [result()]
    prompt, completion = prompt_of(made, before), sampled_ids(made, before, turn)
    found = bridged(made, prompt, completion, new)
    assert made.decode(found.token_ids) == made.decode(prompt_of(made, [*before, turn, *new]))


FIRST_ANSWER = (
    "{% set n = namespace(calls=0, last=-1) %}{% for m in messages %}"
    "{% if m.role == 'assistant' and not m.tool_calls and n.last < 0 %}"
    "{% set n.last = loop.index0 %}{% endif %}{% endfor %}"
    "{% for m in messages %}{% if m.role == 'assistant' %}"
    "<|im_start|>a\n<think>{{ m.reasoning_content if loop.index0 > n.last }}</think>"
    "{{ m.content }}{% for c in m.tool_calls or [] %}"
    "<tool_call>{{ NAMED }}{{ c.function.arguments|tojson }}</tool_call>"
    "{% set n.calls = n.calls + 1 %}{% endfor %}<|im_end|>\n"
    "{% else %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>a\n{% endif %}"
)
"""What stands before the first answer loses its reasoning, and nothing after it does."""


@pytest.mark.parametrize(
    "named", ["c.function.name ~ '#' ~ n.calls", "c.function.name ~ ' '"], ids=["counted", "plain"]
)
@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (LOOP, DROPPED),
        ([user(), said("Hi."), *LOOP], ""),
        ([user(), called(), result()], ""),
    ],
    ids=["first", "later", "no-reasoning"],
)
def test_reasoning_of_calls_that_the_first_answer_drops_is_not_kept_in_silence(
    named: str, before: Any, expected: Any
) -> None:
    analysis = analyze(ChatTemplate(FIRST_ANSWER.replace("NAMED", named)))
    turn, new = said("Done."), user("More?")
    for retention in ("none", "all"):
        made = Renderer(analysis, small(), thinking_retention=retention)
        prompt, completion = prompt_of(made, before), sampled_ids(made, before, turn)
        found = made.bridge_to_next_turn(prompt, completion, [new], tools())
        if expected and retention == "none":
            assert isinstance(found, BridgeRefusal)
            assert found.reason is expected
            continue
        assert isinstance(found, RenderedTokens)
        whole = made.decode(prompt_of(made, [*before, turn, new]))
        # A note wherever the render is another; where calls are not counted, one too many.
        assert bool(found.notes) >= (made.decode(found.token_ids) != whole)
        assert bool(found.notes) == bool(expected)


@pytest.mark.parametrize("retention", ["none", "all"])
@pytest.mark.parametrize(
    ("before", "stays"),
    [([user(), said("Hi."), user()], True), ([user(), said("Hi."), *LOOP], True), (LOOP, False)],
    ids=["answer", "loop-after-answer", "loop"],
)
def test_reasoning_that_the_first_answer_alone_loses_stays_in_a_later_one(
    before: Any, *, stays: bool, retention: Any
) -> None:
    source = FIRST_ANSWER.replace("NAMED", "c.function.name ~ ' '")
    made = Renderer(analyze(ChatTemplate(source)), small(), thinking_retention=retention)
    turn, new = said("Done.", "Then I think."), user("More?")
    prompt, completion = prompt_of(made, before), sampled_ids(made, before, turn)
    found = made.bridge_to_next_turn(prompt, completion, [new], tools())
    if stays:
        assert isinstance(found, RenderedTokens)
        assert found.notes == ()
        whole = prompt_of(made, [*before, turn, new])
        assert made.decode(found.token_ids) == made.decode(whole)
    elif retention == "none":
        assert isinstance(found, BridgeRefusal)
        assert found.reason is DROPPED
    else:
        assert isinstance(found, RenderedTokens)
        assert found.notes


@dataclass
class Asked:
    """What one bridge asked of the template and of the tokenizer."""

    tools: list[int] = field(default_factory=list[int])
    """Of each render: how many tools it was given."""
    encodes: int = 0
    decoded: int = 0
    """Ids that were decoded."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    found = Asked()
    text, encode, decode = HistoryRenders.text, TokenText.encode, TokenText.decode

    def rendered(self: HistoryRenders, *args: Any, **options: Any) -> str:
        found.tools.append(len(self.tools or ()))
        return text(self, *args, **options)

    def encoded(self: TokenText, *args: Any) -> EncodedText:
        found.encodes += 1
        return encode(self, *args)

    def decoded(self: TokenText, ids: Sequence[int], *args: Any) -> str:
        found.decoded += len(ids)
        return decode(self, ids, *args)

    monkeypatch.setattr(TokenText, "decode", decoded)
    monkeypatch.setattr(HistoryRenders, "text", rendered)
    monkeypatch.setattr(TokenText, "encode", encoded)
    return found


def each_bridge(made: Renderer, asked: Asked, turns: int = 4) -> Iterator[Asked]:
    """Have a conversation of calls and results, judge each prompt, and tell what it took."""
    before: list[dict[str, object]] = [user()]
    prompt = prompt_of(made, before)
    for at in range(turns):
        turn = called(id_=f"call_{at}")
        new = [result(f'sunny "{at}" 🚀', id_=f"call_{at}")]
        completion = sampled_ids(made, before, turn)
        asked.tools.clear()
        asked.encodes = asked.decoded = 0
        prompt = bridged(made, prompt, completion, new).token_ids
        yield Asked(asked.tools[:], asked.encodes, asked.decoded)
        before = [*before, turn, *new]
        assert made.decode(prompt) == made.analysis.template.render(before, tools(), True)


@pytest.mark.parametrize("name", ["call-id-pre-func-name", "call-id-post-args", XML])
def test_in_the_steady_state_a_bridge_renders_and_encodes_once(name: str, asked: Asked) -> None:
    first, *_, last = each_bridge(renderer(name), asked)
    assert (last.tools, last.encodes) == ([0], 1)
    assert len(first.tools) > 1


def test_what_a_bridge_takes_does_not_grow_with_the_conversation(asked: Asked) -> None:
    *_, early, _, _, late = each_bridge(renderer(XML), asked, turns=8)
    assert (early.tools, early.encodes) == ([0], 1)
    assert late == early


def test_what_stands_before_is_read_once_where_conversations_take_turns(asked: Asked) -> None:
    made = dropping(LAST_USER)
    prompts = [prompt_of(made, [user(each)]) for each in ("How?", "What?")]
    completion = made.encode("Hi.<|im_end|>")
    read: list[int] = []
    for _ in range(6):
        for at, prompt in enumerate(prompts):
            asked.decoded = 0
            prompts[at] = bridged(made, prompt, completion, [user("And now?")]).token_ids
            read.append(asked.decoded)
    assert len({*read[-6:]}) == 1


def test_whose_the_tokens_are_is_listed_when_it_is_asked_for() -> None:
    made = renderer(XML)
    found = bridged(
        made, prompt_of(made, [user()]), sampled_ids(made, [user()], called()), [result()]
    )
    assert "message_indices" not in vars(found)
    assert len(found.message_indices) == len(found.loss_mask) == len(found)
    assert sum(each.length for each in found.owners) == len(found)


def test_a_turn_that_is_kept_on_purpose_is_asked_about_once(asked: Asked) -> None:
    made = dropping(LAST_MESSAGE, thinking_retention="all")
    prompt = prompt_of(made, [user()])
    counts: list[int] = []
    for _ in range(4):
        completion = made.encode("<think>Hm.</think>Hi.<|im_end|>")
        asked.tools.clear()
        found = bridged(made, prompt, completion, [user()])
        assert [note.partition(",")[0] for note in found.notes] == ["kept"]
        prompt = found.token_ids
        counts.append(len(asked.tools))
    assert counts[-1] == 1


COUNTS_TOOLS = (
    "{% for m in messages %}{% if m.role == 'user' %}[U]{{ m.content }}"
    "{% elif m.role == 'tool' %}[T of {{ tools|length }}]{{ m.content }}"
    "{% else %}[A]{{ m.content }}{% for c in m.tool_calls or [] %}"
    "<tool_call>{{ c.function|tojson }}</tool_call>{% endfor %}<|im_end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}[A]{% endif %}"
)
"""What it writes of a result depends on tools that were not called."""


NEEDS_TOOLS = COUNTS_TOOLS.replace(
    "[T of {{ tools|length }}]",
    "{% if 'all' in m.content %}[T of {{ tools|length }}]{% else %}[T]{% endif %}",
)
"""The tools only matter to some results."""


def test_a_turn_that_needs_more_than_those_before_it_has_all_of_it(asked: Asked) -> None:
    made = Renderer(analyze(ChatTemplate(NEEDS_TOOLS)), small())
    before = [user()]
    prompt = prompt_of(made, before)
    asked_of: list[list[int]] = []
    for content in ("one", "two", "three", "four", "all", "five"):
        completion = sampled_ids(made, before, called())
        asked.tools.clear()
        prompt = bridged(made, prompt, completion, [result(content)]).token_ids
        asked_of.append(asked.tools[:])
        before = [*before, called(), result(content)]
        assert made.decode(prompt) == made.analysis.template.render(before, tools(), True)
    *_, known, (first, second, *_), after = asked_of
    assert (known, first, second, after) == ([0], 0, len(tools()), [len(tools())])


def test_tools_that_what_is_new_depends_on_are_rendered_every_turn(asked: Asked) -> None:
    made = Renderer(analyze(ChatTemplate(COUNTS_TOOLS)), small())
    for each in each_bridge(made, asked):
        assert len(tools()) in each.tools


EMPTY_BLOCK_WHILE_LAST = (
    "{% for m in messages %}<|im_start|>{{ m.role }}:{% if m.role == 'assistant' and loop.last %}"
    "<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant:{% endif %}"
)
"""A turn has a block of reasoning while it is the last one; the prompt writes nothing of it."""


def test_a_block_that_the_model_left_out_is_not_dropped() -> None:
    template = ChatTemplate(EMPTY_BLOCK_WHILE_LAST)
    made = Renderer(analyze(template), small())
    messages = [user(), said("Hi."), user("And?")]
    prompt = prompt_of(made, messages[:1])
    found = bridged(made, prompt, made.encode("Hi.<|im_end|>"), messages[2:])
    # The template's own render of the conversation goes on from what the model wrote.
    text = template.render(messages, tools(), add_generation_prompt=True)
    assert (made.decode(found.token_ids), found.notes) == (text, ())
    messages[1] = said("")
    found = bridged(made, prompt, [], messages[2:])
    assert made.decode(found.token_ids) == template.render(
        messages, tools(), add_generation_prompt=True
    )
    for thought, words in (("", "an empty block of the turn"), ("Hm.", ": of the turn")):
        written = f"<think>{thought}</think>Hi.<|im_end|>"
        refused = made.bridge_to_next_turn(prompt, made.encode(written), messages[2:], tools())
        assert f"{words} that the model wrote" in str(refused)
        reason = refusal(made, prompt, made.encode(written), messages[2:])
        assert reason is Reason.REASONING_DROPPED
