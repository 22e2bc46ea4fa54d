"""Check token ids next to the text: spelled markers are text, and ids end reasoning.

The outputs and what is read of them are in token_ids.yaml.
"""

from __future__ import annotations

import codecs
import json
import random
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.sources.tokenizer import ModelTokenizer
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of as prepared
from tests.analysis.decoding.tokenizers_here import byte_tokenizer
from tests.case_tables import load_cases

from .loop import TOOLS, analysis_of, client_sum, gaps

JSON = "j1-json-in-tags"
TABLE: Any = load_cases(__file__, "token_ids.yaml")
CALL, TAGS = TABLE["call"], TABLE["tags"]
OPENED = "<|im_start|>assistant\n<think>\n"
PROMPTS = {"opened": OPENED, "closed": f"{OPENED}\n</think>\n\n"}


@cache
def tokenizer_of(*added: str) -> ModelTokenizer:
    """Make a vocabulary of bytes and a few merges, some across the edges of markers."""
    return prepared(byte_tokenizer(*added, control=("<|stop|>",)), eos="<|stop|>")


def ids_of(tokenizer: ModelTokenizer, marked: str) -> tuple[str, list[int]]:
    """Return a text and its ids; every second part of it comes in ordinary tokens."""
    ids: list[int] = []
    for at, part in enumerate(marked.split("¦")):
        ids += tokenizer.encode_plain(part.encode()) if at % 2 else tokenizer.encode(part)
    return marked.replace("¦", ""), ids


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


@pytest.mark.parametrize("case", TABLE["read"], ids=lambda case: case["point"])
def test_marker_in_ordinary_tokens_is_text(case: dict[str, Any]) -> None:
    tokenizer = tokenizer_of(*case.get("tokens", TAGS))
    fixture = case.get("fixture", JSON)
    prompt = None if fixture == JSON else analysis_of(fixture).format.header
    parser = analysis_of(fixture).parser(TOOLS, prompt=prompt, tokenizer=tokenizer)
    text, ids = ids_of(tokenizer, case["marked"].replace("[CALL]", CALL))
    whole = parser.parse(text, ids=ids)
    content = case.get("content", "").replace("[CALL]", CALL) or None
    assert (whole.reasoning_content, whole.content) == (case.get("reasoning"), content)
    arguments = [json.loads(call.arguments) for call in whole.tool_calls]
    assert arguments == case.get("arguments", [])
    assert not gaps(whole.spans, text)
    for seed in range(8):
        stream = parser.stream()
        pieces = pieces_of(tokenizer, ids, seed)
        deltas = [delta for piece, some in pieces for delta in stream.feed(piece, some)]
        deltas += stream.finish()
        assert stream.message == whole
        assert client_sum(deltas) == stream.message.to_openai_choice()
    # Ids decide: with markers in separate tokens, the text is parsed as it is without ids.
    text, ids = ids_of(tokenizer, text)
    assert parser.parse(text, ids=ids) == parser.parse(text)


def test_marker_without_its_token_is_read_as_text() -> None:
    tokenizer = tokenizer_of("<|im_end|>")
    parser = analysis_of(JSON).parser(TOOLS, tokenizer=tokenizer)
    text, ids = ids_of(tokenizer, f"<think>\nHm.\n</think>\n\n{CALL}<|im_end|>\n")
    assert parser.parse(text, ids=[-1, 10**9, *ids]) == parser.parse(text)
    assert len(parser.parse(text).tool_calls) == 1


def test_text_may_arrive_after_its_ids() -> None:
    tokenizer = tokenizer_of(*TAGS)
    parser = analysis_of(JSON).parser(TOOLS, tokenizer=tokenizer)
    text, ids = ids_of(tokenizer, f"Not ¦{CALL}¦ but {CALL}")
    stream = parser.stream()
    stream.feed("", ids[:30])
    for at, char in enumerate(text):
        stream.feed(char, ids[30:] if not at else [])
    stream.finish()
    assert stream.message == parser.parse(text, ids=ids)
    assert len(stream.message.tool_calls) == 1


def test_piece_without_ids_uses_no_earlier_ids() -> None:
    tokenizer = tokenizer_of(*TAGS)
    parser = analysis_of(JSON).parser(TOOLS, tokenizer=tokenizer)
    stream = parser.stream()
    stream.feed(*ids_of(tokenizer, "¦<think>¦"))
    stream.feed("\n<think>\nHm.</think>")
    stream.feed(*ids_of(tokenizer, "¦</think>¦"))
    stream.finish()
    found = stream.message
    assert (found.reasoning_content, found.content) == ("Hm.", "<think>\n</think>")
    stream = parser.stream()
    stream.feed("", ids_of(tokenizer, "¦<think>¦")[1])
    stream.feed("\n")
    stream.feed(*ids_of(tokenizer, "<think>\nHm.\n</think>\n\nHi."))
    assert (stream.message.reasoning_content, stream.message.content) == ("Hm.", "Hi.")


@pytest.mark.parametrize("case", TABLE["ends"], ids=lambda case: ascii(case["marked"]))
def test_token_of_the_closer_ends_reasoning(case: dict[str, Any]) -> None:
    tokenizer, behind = tokenizer_of(*case["tokens"]), case["behind"]
    prompt = PROMPTS.get(case.get("prompt", ""), case.get("prompt"))
    analysis = analysis_of(case.get("fixture", JSON))
    end = analysis.parser(prompt=prompt, tokenizer=tokenizer).reasoning_end_by_ids()
    _, ids = ids_of(tokenizer, case["marked"])
    whole = end.after(end.begin, ids)
    state = end.begin
    for id_ in ids:
        state = end.after(state, [id_])
    assert state == whole
    assert whole.over is (behind is not None)
    if behind is not None:
        # The token with the end may also contain the beginning of the text after it.
        rest = tokenizer.decode(ids[whole.ids :])
        assert behind.endswith(rest)
        assert len(behind) - len(rest) <= 1
        assert end.after(whole, [1, 2, 3]) == whole


def test_reasoning_end_state_can_be_continued_twice() -> None:
    tokenizer = tokenizer_of(*TAGS)
    end = analysis_of(JSON).parser(prompt=OPENED, tokenizer=tokenizer).reasoning_end_by_ids()
    before = end.after(end.begin, tokenizer.encode("Hm."))
    assert end.after(before, tokenizer.encode("</think>")).over
    assert not end.after(before, tokenizer.encode(" So.")).over
    assert len({before, end.begin, end.after(end.begin, tokenizer.encode("Hm."))}) == 2
    # In a format without reasoning, the reasoning is over from the beginning.
    plain = ChatTemplate("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}")
    assert analyze(plain).parser(tokenizer=tokenizer_of()).reasoning_end_by_ids().begin.over


@pytest.mark.parametrize(("fixture", "offered", "text", "may"), TABLE["may_hold_call"])
def test_text_without_a_call_opener_has_no_calls(
    fixture: str, offered: bool | None, text: str, may: bool
) -> None:
    tools = None if offered is None else TOOLS if offered else []
    assert analysis_of(fixture).parser(tools).may_hold_call(text) is may
