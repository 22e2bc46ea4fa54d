"""What an engine asks between two steps: is the reasoning over, may there be a call."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.core.turn_format import RefusedMessageError
from autoparser.analysis.parsing.turn_request import RequestError

from .loop import (
    TOOLS,
    analysis_of,
    disagreement,
    fixture_names,
    gaps,
    generated,
    third_of_battery,
    with_ids,
)
from .test_token_ids import TAGS, ids_of, tokenizer_of

JSON, CHANNELS, DELIMITER = "j1-json-in-tags", "t2-recipient-header", "reasoning-delimiter"
OPENED = "<|im_start|>assistant\n<think>\n"


@pytest.mark.parametrize(
    ("fixture", "added", "prompt", "marked", "behind"),
    [
        (JSON, TAGS, OPENED, "Hm.\n</think>\n\nHi.", "\n\nHi."),
        (JSON, TAGS, OPENED, "A \x01</think>\x01 quoted.</think>Hi.", "Hi."),
        (JSON, TAGS, OPENED, "Hm. \x01</think>\x01", None),
        (JSON, TAGS, None, "<think>\nHm.</think>Hi.", "Hi."),
        (JSON, TAGS, None, "\n <think>Hm.</think></think>Hi.", "</think>Hi."),
        (JSON, TAGS, None, "\x01<think>\x01Hm.</think>", "<think>Hm.</think>"),
        (JSON, TAGS, None, "<think>Hm.", None),
        (JSON, TAGS, None, "Hi.", "Hi."),
        (JSON, TAGS, f"{OPENED}\n</think>\n\n", "Hi.", "Hi."),
        (JSON, (), OPENED, "Hm.<</</think>Hi.", "Hi."),
        (JSON, (), None, "<think>Hm.</think>Hi.", "Hi."),
        (JSON, (), None, "<thin", None),
        (
            CHANNELS,
            ("<|channel|>", "<|message|>", "<|end|>", "<|start|>"),
            "<|start|>assistant",
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant",
            "<|start|>assistant",
        ),
        (DELIMITER, (), None, "Hm.\n=== ANSWER ===\nHi.", "\nHi."),
    ],
)
def test_ids_say_where_the_reasoning_ends(
    fixture: str, added: Sequence[str], prompt: str | None, marked: str, behind: str | None
) -> None:
    tokenizer = tokenizer_of(*added)
    end = analysis_of(fixture).parser(prompt=prompt, tokenizer=tokenizer).reasoning_end_by_ids()
    text, ids = ids_of(tokenizer, marked)
    whole = end.after(end.begin, ids)
    state = end.begin
    for id_ in ids:
        state = end.after(state, [id_])
    assert state == whole
    assert whole.over is (behind is not None)
    if behind is not None:
        # The id that holds the end may hold what stands after it, too.
        assert behind.endswith(tokenizer.decode(ids[whole.ids :]))
        assert len(behind) - len(tokenizer.decode(ids[whole.ids :])) <= 1
        assert end.after(whole, [1, 2, 3]) == whole
    assert text


def test_the_states_of_an_output_can_be_gone_back_to() -> None:
    tokenizer = tokenizer_of(*TAGS)
    end = analysis_of(JSON).parser(prompt=OPENED, tokenizer=tokenizer).reasoning_end_by_ids()
    before = end.after(end.begin, tokenizer.encode("Hm."))
    assert end.after(before, tokenizer.encode("</think>")).over
    assert not end.after(before, tokenizer.encode(" So.")).over
    assert len({before, end.begin, end.after(end.begin, tokenizer.encode("Hm."))}) == 2


def test_ids_need_a_tokenizer_and_an_end() -> None:
    with pytest.raises(RequestError, match="tokenizer="):
        analysis_of(JSON).parser().reasoning_end_by_ids()
    plain = ChatTemplate("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}")
    end = analyze(plain).parser(tokenizer=tokenizer_of()).reasoning_end_by_ids()
    assert end.begin.over


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        (None, "<think>\nHm.\n</think>\n\nHi. <think>So.</think>"),
        (OPENED, "Hm.\n</think>\n\nHi."),
        (OPENED, "Hm.</think>Hi."),
        (f"{OPENED}Well", ", hm.\n</think>\n\nHi."),
    ],
)
def test_a_text_whose_reasoning_was_cut_off_is_read_on(prompt: str | None, text: str) -> None:
    analysis = analysis_of(JSON)
    whole = analysis.parser(TOOLS, prompt=prompt).parse(text)
    parser = analysis.parser(TOOLS, prompt=prompt, reasoning_over=True)
    rest = text[whole.reasoning_end :]
    message = parser.parse(rest)
    assert (message.content, message.tool_calls) == (whole.content, whole.tool_calls)
    assert not gaps(message.spans, rest)
    assert not disagreement(parser, rest, list(rest))


@pytest.mark.parametrize("fixture", fixture_names())
def test_where_there_is_a_call_there_may_be_one(fixture: str) -> None:
    format_ = analysis_of(fixture).format
    for case in third_of_battery(fixture):
        try:
            turn = format_.write(with_ids(format_, case.message))
        except RefusedMessageError:
            continue
        text, parser = generated(format_, turn)
        if parser.parse(text).tool_calls:
            assert parser.may_hold_call(text)
        if not parser.may_hold_call(text):
            assert parser.parse(text, complete=False).partial_call is None


@pytest.mark.parametrize(
    ("fixture", "tools", "text", "may"),
    [
        (JSON, TOOLS, "Hi <tool", False),
        (JSON, TOOLS, "Hi <tool_call>", True),
        (JSON, None, "Hi <tool_call>", True),
        (JSON, [], "Hi <tool_call>", False),
        ("j2-bare-object", TOOLS, "Hi.", False),
        ("j2-bare-object", TOOLS, 'Hi {"name"', True),
    ],
)
def test_a_text_without_what_opens_a_call_holds_none(
    fixture: str, tools: Sequence[object] | None, text: str, may: bool
) -> None:
    assert analysis_of(fixture).parser(tools).may_hold_call(text) is may
