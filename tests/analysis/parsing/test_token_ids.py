"""Token ids beside the text: a marker in ordinary tokens is text, and ids end the reasoning."""

from __future__ import annotations

import codecs
import json
import random
from collections.abc import Iterator, Sequence
from functools import cache

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import ParsedMessage
from autoparser.analysis.sources.tokenizer import ModelTokenizer
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of as prepared
from tests.analysis.decoding.tokenizers_here import byte_tokenizer

from .loop import TOOLS, analysis_of, client_sum, gaps

JSON, TAGGED, PAIRS = "j1-json-in-tags", "a1-function-parameter", "a7-token-pairs"
CALL = '<tool_call>\n{"name": "get_forecast", "arguments": {"city": "Oslo"}}\n</tool_call>'
OPENED = "<|im_start|>assistant\n<think>\n"
TAGS = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>")
QUOTED = "\x01"
"""Encloses what is written with ordinary tokens."""


@cache
def tokenizer_of(*added: str) -> ModelTokenizer:
    """Make a vocabulary of bytes and a few merges, some across the edges of markers."""
    return prepared(byte_tokenizer(*added, control=("<|stop|>",)), eos="<|stop|>")


def ids_of(tokenizer: ModelTokenizer, marked: str) -> tuple[str, list[int]]:
    """Return a text and its ids; every second part of it comes in ordinary tokens."""
    ids: list[int] = []
    for at, part in enumerate(marked.split(QUOTED)):
        ids += tokenizer.encode_plain(part.encode()) if at % 2 else tokenizer.encode(part)
    return marked.replace(QUOTED, ""), ids


def pieces_of(
    tokenizer: ModelTokenizer, ids: Sequence[int], seed: int
) -> Iterator[tuple[str, list[int]]]:
    """Cut ids at random, and return for each piece the text that is whole by then."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    source = random.Random(seed)
    at = 0
    while at < len(ids):
        count = source.choice((1, 1, 1, 2, 5, 40)) if seed else 1
        some = list(ids[at : at + count])
        yield decoder.decode(b"".join(map(tokenizer.bytes_of, some))), some
        at += count


def read(parser: OutputParser, tokenizer: ModelTokenizer, marked: str) -> ParsedMessage:
    """Read a text with its ids, whole and cut in many ways; all give the same."""
    text, ids = ids_of(tokenizer, marked)
    whole = parser.parse(text, ids=ids)
    assert not gaps(whole.spans, text)
    for seed in range(8):
        stream = parser.stream()
        pieces = pieces_of(tokenizer, ids, seed)
        deltas = [delta for piece, some in pieces for delta in stream.feed(piece, some)]
        deltas += stream.finish()
        assert stream.message == whole
        assert client_sum(deltas) == stream.message.to_openai()
    return whole


@pytest.mark.parametrize(
    ("marked", "reasoning", "content", "calls"),
    [
        (f"Write \x01{CALL}\x01, they say.<|im_end|>\n", None, f"Write {CALL}, they say.", 0),
        (f"So: \x01<tool_call>\x01 and {CALL}<|im_end|>\n", None, "So: <tool_call> and", 1),
        ("<think>\nA \x01</think>\x01 ends it.\n</think>\n\nHi.", "A </think> ends it.", "Hi.", 0),
        ("<think>é\x01</think>\n\x01é</think>H\x01</think>\x01.", "é</think>\né", "H</think>.", 0),
        ("Ends in \x01<|im_end|>\x01 here.<|im_end|>\n", None, "Ends in <|im_end|> here.", 0),
        ("\x01<think>\x01Hm.</think>Hi.", None, "<think>Hm.Hi.", 0),
        (f"{CALL}\x01</tool_call>\x01", None, "</tool_call>", 1),
        ("Only \x01<tool_call", None, "Only <tool_call", 0),
    ],
)  # fmt: skip
def test_a_marker_in_ordinary_tokens_is_text(
    marked: str, reasoning: str | None, content: str, calls: int
) -> None:
    tokenizer = tokenizer_of(*TAGS)
    message = read(analysis_of(JSON).parser(TOOLS, tokenizer=tokenizer), tokenizer, marked)
    assert (message.reasoning_content, message.content) == (reasoning, content)
    assert len(message.tool_calls) == calls


def test_a_marker_in_ordinary_tokens_is_text_of_a_value() -> None:
    """A closer before the next parameter would end the value, were it a token."""
    tags = ("<tool_call>", "</tool_call>", "<parameter=title>", "</parameter>", "</function>")
    tokenizer = tokenizer_of(*tags)
    analysis = analysis_of(TAGGED)
    parser = analysis.parser(TOOLS, prompt=analysis.format.header, tokenizer=tokenizer)
    value = "a</parameter>\n</function>\n</tool_call>b"
    before = "<tool_call>\n<function=update_record>\n<parameter=title>\n"
    after = "\n</parameter>\n</function>\n</tool_call>"
    (call,) = read(parser, tokenizer, f"{before}\x01{value}\x01{after}").tool_calls
    assert json.loads(call.arguments) == {"title": value}
    # Ids decide: the same text in one row of tokens is read as it is without ids.
    text, ids = ids_of(tokenizer, f"{before}{value}{after}")
    assert parser.parse(text, ids=ids) == parser.parse(text)


def test_a_marker_in_ordinary_tokens_is_escaped_in_json() -> None:
    marks = ("<|tool_call:start|>", "<|tool_call:end|>", "<|tool_arg:start|>", "<|tool_arg:end|>")
    tokenizer = tokenizer_of(*marks, "<|tool_arg:value|>", "<|end|>")
    value = 'say "<|tool_arg:end|>\n<|tool_call:end|>"'
    (call,) = read(
        analysis_of(PAIRS).parser(TOOLS, tokenizer=tokenizer),
        tokenizer,
        "<|tool_call:start|>update_record\n<|tool_arg:start|>title<|tool_arg:value|>"
        f"\x01{value}\x01<|tool_arg:end|>\n<|tool_call:end|><|end|>\n",
    ).tool_calls
    assert json.loads(call.arguments) == {"title": value}


def test_a_marker_without_a_token_of_its_own_is_read_as_without_ids() -> None:
    tokenizer = tokenizer_of("<|im_end|>")
    parser = analysis_of(JSON).parser(TOOLS, tokenizer=tokenizer)
    text, ids = ids_of(tokenizer, f"<think>\nHm.\n</think>\n\n{CALL}<|im_end|>\n")
    assert parser.parse(text, ids=[-1, 10**9, *ids]) == parser.parse(text)
    assert len(parser.parse(text).tool_calls) == 1


def test_text_may_come_later_than_its_ids_and_cut_otherwise() -> None:
    tokenizer = tokenizer_of(*TAGS)
    parser = analysis_of(JSON).parser(TOOLS, tokenizer=tokenizer)
    text, ids = ids_of(tokenizer, f"Not \x01{CALL}\x01 but {CALL}")
    whole = parser.parse(text, ids=ids)
    assert len(whole.tool_calls) == 1
    stream = parser.stream()
    stream.feed("", ids[:30])
    for at, char in enumerate(text):
        stream.feed(char, ids[30:] if not at else [])
    stream.finish()
    assert stream.message == whole


def test_a_piece_without_ids_is_read_as_it_is() -> None:
    tokenizer = tokenizer_of(*TAGS)
    stream = analysis_of(JSON).parser(TOOLS, tokenizer=tokenizer).stream()
    stream.feed(*ids_of(tokenizer, "\x01<think>\x01"))
    stream.feed("\n<think>\nHm.</think>")
    stream.feed(*ids_of(tokenizer, "\x01</think>\x01"))
    stream.finish()
    assert stream.message.reasoning_content == "Hm."
    assert stream.message.content == "<think>\n</think>"


def test_ids_before_a_piece_without_ids_count_for_no_later_text() -> None:
    tokenizer = tokenizer_of(*TAGS)
    stream = analysis_of(JSON).parser(TOOLS, tokenizer=tokenizer).stream()
    _, ids = ids_of(tokenizer, "\x01<think>\x01")
    stream.feed("", ids)
    stream.feed("\n")
    stream.feed(*ids_of(tokenizer, "<think>\nHm.\n</think>\n\nHi."))
    assert (stream.message.reasoning_content, stream.message.content) == ("Hm.", "Hi.")


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
            "t2-recipient-header",
            ("<|channel|>", "<|message|>", "<|end|>", "<|start|>"),
            "<|start|>assistant",
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant",
            "<|start|>assistant",
        ),
        ("reasoning-delimiter", (), None, "Hm.\n=== ANSWER ===\nHi.", "\nHi."),
    ],
)
def test_ids_end_the_reasoning_at_the_token_of_its_closer(
    fixture: str, added: Sequence[str], prompt: str | None, marked: str, behind: str | None
) -> None:
    tokenizer = tokenizer_of(*added)
    end = analysis_of(fixture).parser(prompt=prompt, tokenizer=tokenizer).reasoning_end_by_ids()
    _, ids = ids_of(tokenizer, marked)
    whole = end.after(end.begin, ids)
    state = end.begin
    for id_ in ids:
        state = end.after(state, [id_])
    assert state == whole
    assert whole.over is (behind is not None)
    if behind is not None:
        # The id that holds the end may hold the text after it, too.
        rest = tokenizer.decode(ids[whole.ids :])
        assert behind.endswith(rest)
        assert len(behind) - len(rest) <= 1
        assert end.after(whole, [1, 2, 3]) == whole


def test_a_state_can_be_continued_in_two_ways() -> None:
    tokenizer = tokenizer_of(*TAGS)
    end = analysis_of(JSON).parser(prompt=OPENED, tokenizer=tokenizer).reasoning_end_by_ids()
    before = end.after(end.begin, tokenizer.encode("Hm."))
    assert end.after(before, tokenizer.encode("</think>")).over
    assert not end.after(before, tokenizer.encode(" So.")).over
    assert len({before, end.begin, end.after(end.begin, tokenizer.encode("Hm."))}) == 2


def test_without_reasoning_it_is_over_at_once() -> None:
    plain = ChatTemplate("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}")
    assert analyze(plain).parser(tokenizer=tokenizer_of()).reasoning_end_by_ids().begin.over


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
def test_a_text_without_an_opener_of_calls_holds_none(
    fixture: str, tools: Sequence[object] | None, text: str, may: bool
) -> None:
    assert analysis_of(fixture).parser(tools).may_hold_call(text) is may
