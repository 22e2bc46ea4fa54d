"""What a request asks for decides the grammar."""

from __future__ import annotations

import importlib
import json
from copy import deepcopy
from typing import Any

import pytest

from autoparser import AutoparserError
from autoparser.analysis.core.schema_keywords import SchemaError
from autoparser.analysis.core.turn_format import Formats
from autoparser.analysis.grammar import lark_writer as lark, text_stretches as stretches, turn_rules
from autoparser.analysis.grammar.call_writer import CallWriter, GrammarError
from autoparser.analysis.grammar.request_grammar import Grammar, grammar_of
from autoparser.analysis.sources.token_bytes import OpaqueTokens
from tests.analysis.parsing.loop import analysis_of

from .offers import BATTERY, STRICT
from .tokens import byte_tokenizer, guidance
from .walks import decoder, refusal

HERMES, XML, FORCED = "j1-json-in-tags", "a1-function-parameter", "reasoning-forced-open"
CALL = '<tool_call>\n{"name": "list_rooms", "arguments": {}}\n</tool_call>'
OTHER = CALL.replace("list_rooms", "get_weather").replace("{}", '{"city": "x", "unit": "celsius"}')
THOUGHT = "<think>\nWell.\n</think>\n\n"
CLOSED = "<|im_start|>assistant\n<think>\n\n</think>\n\n"


def judged(grammar: Grammar, text: str) -> str:
    loaded = decoder(grammar, byte_tokenizer(), guidance())
    return refusal(loaded, text)


@pytest.mark.parametrize(
    ("options", "text", "accepted"),
    [
        ({}, "Hello.", True),
        ({}, "Hello.<|im_end|>\n", True),
        ({}, CALL, True),
        ({}, f"{CALL}\n{CALL}", True),
        ({}, f"Look.\n{CALL}", True),
        ({}, f"{THOUGHT}Look.\n{CALL}", True),
        ({}, f"Look.{CALL}", False),
        ({}, f"{CALL}{CALL}", False),
        ({}, CALL.replace(": {}", ":{}"), False),
        ({}, CALL.replace("list_rooms", "no_tool"), False),
        ({}, OTHER.replace("celsius", "kelvin"), False),
        ({"tool_choice": "none"}, "Hello.", True),
        ({"tool_choice": "none"}, CALL, False),
        ({"tool_choice": "required"}, "Hello.", False),
        ({"tool_choice": "required"}, CALL, True),
        ({"tool_choice": "required"}, f"{THOUGHT}{CALL}", True),
        ({"tool_choice": {"function": {"name": "list_rooms"}}}, CALL, True),
        ({"tool_choice": {"function": {"name": "list_rooms"}}}, OTHER, False),
        ({"tool_choice": {"function": {"name": "list_rooms"}}}, "Hello.", False),
        ({"parallel_tool_calls": False}, CALL, True),
        ({"parallel_tool_calls": False}, f"{CALL}\n{CALL}", False),
        ({"prompt": CLOSED}, "Hello.", True),
        ({"prompt": CLOSED}, f"{THOUGHT}Hello.", False),
        ({"prompt": "<|im_start|>assistant\n<think>\n"}, "Well.\n</think>\n\nHello.", True),
        ({"prompt": "<|im_start|>assistant\n<think>\n"}, "Well.\n</think>\n\n" + CALL, True),
        ({"lazy": True}, CALL, True),
        ({"lazy": True}, "Hello.", False),
        ({"json_schema": {"type": "integer"}}, "42", True),
        ({"json_schema": {"type": "integer"}}, f"{THOUGHT}42", True),
        ({"json_schema": {"type": "integer"}}, "forty", False),
        ({"json_schema": {"type": "integer"}}, CALL, True),
    ],
)
def test_a_request_decides(options: dict[str, Any], text: str, accepted: bool) -> None:
    grammar = grammar_of(analysis_of(HERMES).formats, STRICT, **options)
    assert (judged(grammar, text) == "") is accepted


def test_without_tools_nothing_is_called() -> None:
    grammar = analysis_of(HERMES).grammar()
    assert judged(grammar, "Hello.") == ""
    assert judged(grammar, CALL)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tools": [], "tool_choice": "required"}, "no tool is offered"),
        ({"tools": STRICT, "tool_choice": "no_tool"}, "names no tool that is offered"),
        (
            {"tools": STRICT, "tool_choice": "required", "json_schema": {"type": "integer"}},
            "json_schema asks for content",
        ),
        ({"tools": [{"name": "f", "parameters": "text"}]}, "not a valid JSON schema"),
    ],
)
def test_a_request_that_contradicts_itself_is_an_error(options: dict[str, Any], words: str) -> None:
    with pytest.raises(AutoparserError, match=words):
        analysis_of(HERMES).grammar(**options)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "text"}, "'text' is not a type of JSON Schema"),
        ({"$ref": "#/$defs/none"}, "leads nowhere"),
        ({"$ref": "https://example.org/schema"}, "leaves the schema"),
        ({"$ref": "#/properties/value"}, "leads back to itself"),
        ({"anyOf": [{"$ref": "#/properties/value"}]}, "leads back to itself"),
        ({"type": "string", "oneOf": [{"$ref": "#/properties/value"}, {}]}, "leads back to itself"),
    ],
)
def test_a_schema_that_cannot_be_read_is_an_error(schema: dict[str, Any], words: str) -> None:
    parameters = {"type": "object", "properties": {"value": schema}}
    tool = {"name": "f", "parameters": parameters}
    grammar = analysis_of(XML).grammar([tool])
    with pytest.raises(SchemaError, match=words) as caught:
        grammar.lark(byte_tokenizer())
    assert caught.value.place == "the parameters of f"


def test_a_template_without_calls_cannot_be_made_to_call() -> None:
    grammar = analysis_of("reasoning-none").grammar(BATTERY, tool_choice="required")
    for write in (grammar.rules, grammar.gbnf, grammar.structural_tag):
        with pytest.raises(GrammarError, match="writes no message that this request asks for"):
            write()


BARE = "<function=list_rooms>\n</function>\n"


@pytest.mark.parametrize(
    ("added", "accepted"),
    [
        # Where its first marker is a token, content stays free, as that is quicker.
        (
            ("<tool_call>", "</tool_call>", "<think>", "</think>", "<|im_start|>", "<|im_end|>"),
            True,
        ),
        ((), False),
    ],
)
def test_a_call_without_its_first_marker_is_no_content(
    added: tuple[str, ...], accepted: bool
) -> None:
    grammar = analysis_of(XML).grammar(STRICT)
    loaded = decoder(grammar, byte_tokenizer(added), guidance(added))
    assert (refusal(loaded, f"Well.\n</think>\n\nLook. {BARE}") == "") is accepted


@pytest.mark.parametrize("first", [STRICT, BATTERY])
def test_what_is_kept_of_a_format_is_that_of_no_other_request(first: Any) -> None:
    """Grammars come out the same, whatever was asked of the format before."""
    for name in (HERMES, XML):
        known = analysis_of(name)
        requests: list[dict[str, Any]] = [
            {"tools": first},
            {"tools": STRICT},
            {"tools": STRICT, "parallel_tool_calls": False},
            {"tools": STRICT, "tool_choice": "required"},
            {"tools": STRICT, "lazy": True},
            {"tools": STRICT, "prompt": CLOSED},
            {"tools": None},
            {"tools": STRICT},
        ]
        for request in requests:
            fresh = deepcopy(known.formats)
            for added in ((), ("<tool_call>", "</tool_call>")):
                tokenizer = byte_tokenizer(added)
                again = grammar_of(fresh, **request).lark(tokenizer)
                assert known.grammar(**request).lark(tokenizer) == again
            assert known.grammar(**request).gbnf() == grammar_of(fresh, **request).gbnf()


def test_strict_closes_what_the_schema_leaves_open() -> None:
    tool = {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "null"}}}}
    text = '<tool_call>\n{"name": "f", "arguments": {"b": 1}}\n</tool_call>'
    analysis = analysis_of(HERMES)
    assert judged(analysis.grammar([tool]), text) == ""
    assert judged(analysis.grammar([tool], strict=True), text)
    assert judged(analysis.grammar([{**tool, "strict": True}]), text)
    wrong = text.replace('"b": 1', '"a": 1')
    assert judged(analysis.grammar([tool]), wrong)
    assert judged(analysis.grammar([tool], strict=False), wrong) == ""


def test_what_an_engine_needs_beside_the_rules() -> None:
    grammar = analysis_of(HERMES).grammar(STRICT)
    assert grammar.triggers == ("<tool_call>",)
    assert grammar.stop_strings == ("<|im_end|>",)
    assert {"<think>", "</think>", "<tool_call>", "</tool_call>"} <= set(grammar.preserved_tokens)


def tag_of(name: str, **options: Any) -> dict[str, Any]:
    tag = analysis_of(name).grammar(STRICT, **options).structural_tag()
    json.dumps(tag)
    return tag


def test_a_structural_tag_has_one_tag_for_all_tools_that_begin_alike() -> None:
    found = tag_of(HERMES)["format"]["elements"][-1]
    assert found["triggers"] == ["<tool_call>"]
    (only,) = found["tags"]
    assert (only["begin"], only["content"]["type"], only["end"]) == (
        '<tool_call>\n{"name": "',
        "grammar",
        "",
    )


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        (HERMES, {"grammar"}),
        (XML, {"grammar"}),
        # An id that differs from call to call.
        ("call-id-pre-func-name", {"grammar"}),
        ("a2-key-value-tags", {"grammar"}),
    ],
)
def test_what_stands_in_a_tag_is_as_the_format_writes_it(name: str, kinds: set[str]) -> None:
    text = json.dumps(tag_of(name))
    assert {
        kind for kind in ("json_schema", "grammar", "regex") if f'"type": "{kind}"' in text
    } == kinds


NAMED = {"type": "function", "function": {"name": "list_rooms"}}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "taken", "refused"),
    [
        ({}, ["Hello.", CALL, f"Look.\n{CALL}\n{CALL}", THOUGHT + CALL], ["<tool_call>"]),
        (
            {"tool_choice": "required"},
            [CALL, f"Look.\n{CALL}", f"{THOUGHT}{CALL}\n{OTHER}"],
            ["Hello."],
        ),
        ({"parallel_tool_calls": False}, ["Hello.", CALL, f"Look.\n{CALL}"], [f"{CALL}\n{CALL}"]),
        ({"tool_choice": NAMED}, [CALL, f"{CALL}\n{CALL}"], [OTHER, "Hello.", f"{CALL}\n{OTHER}"]),
        (
            {"json_schema": CITY},
            ['{"city": "Oslo"}', THOUGHT + '{"city": "Oslo"}', CALL],
            ["Oslo", "{}"],
        ),
        ({"prompt": CLOSED, "tool_choice": "required"}, [CALL], [THOUGHT + CALL]),
        ({"tool_choice": "none"}, ["Hello.", f"{THOUGHT}Hello."], [CALL, f"Look.\n{CALL}"]),
    ],
)
def test_xgrammar_holds_what_is_asked(
    options: dict[str, Any], taken: list[str], refused: list[str]
) -> None:
    xgrammar = pytest.importorskip("xgrammar", reason="xgrammar is not installed")
    accepts = importlib.import_module("xgrammar.testing")._is_grammar_accept_string
    compiled = xgrammar.Grammar.from_structural_tag(json.dumps(tag_of(HERMES, **options)))
    assert [text for text in taken if not accepts(compiled, text)] == []
    assert [text for text in taken if not accepts(compiled, f"{text}<|im_end|>\n")] == []
    assert [text for text in refused if accepts(compiled, text)] == []


def test_where_nothing_may_be_called_a_structural_tag_leaves_text_without_calls() -> None:
    excluded = [
        each["excludes"]
        for each in _formats(tag_of(HERMES, tool_choice="none")["format"])
        if each["type"] == "any_text"
    ]
    assert any("<tool_call>" in texts for texts in excluded)
    found = {each["type"] for each in _formats(tag_of("reasoning-none")["format"])}
    assert "any_text" in found


def _formats(tag: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a format and all those within it."""
    within = [*tag.get("elements", ()), *([tag["content"]] if "content" in tag else [])]
    return [tag, *(each for part in within for each in _formats(part))]


@pytest.mark.parametrize("name", [HERMES, XML])
def test_what_tools_do_not_change_is_made_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    whole, written = turn_rules.TurnRules.frame, stretches.text_until

    def frame(rules: turn_rules.TurnRules, *, lazy: bool) -> Any:
        made.append("frame")
        return whole(rules, lazy=lazy)

    def stretched(*texts: Any, **asked: Any) -> Any:
        made.append("text")
        return written(*texts, **asked)

    monkeypatch.setattr(turn_rules.TurnRules, "frame", frame)
    monkeypatch.setattr(lark, "text_until", stretched)
    first, second = (Formats.of(deepcopy(analysis_of(name).format)) for _ in range(2))
    opaque = OpaqueTokens()
    for tools in (BATTERY, STRICT):
        grammar_of(first, tools).lark(opaque)
    assert made.count("frame") == 1
    texts = made.count("text")
    known = grammar_of(first, [*STRICT, *BATTERY]).lark(opaque)
    assert (made.count("frame"), made.count("text")) == (1, texts)
    assert known == grammar_of(second, [*STRICT, *BATTERY]).lark(opaque)


def test_the_first_request_has_the_text_of_later_ones() -> None:
    # Lists and objects are written in parts here, by rules that refer to others.
    formats = Formats.of(deepcopy(analysis_of("a1-8-indented").format))
    first, later = (grammar_of(formats, BATTERY).gbnf() for _ in range(2))
    assert first == later


def test_the_same_tools_are_written_once_and_others_or_another_choice_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    filled: list[int] = []
    fill = CallWriter.fill

    def counted(writer: CallWriter, name: str, *, first: bool) -> None:
        filled.append(len(writer.tools))
        fill(writer, name, first=first)

    monkeypatch.setattr(CallWriter, "fill", counted)
    formats, opaque = Formats.of(deepcopy(analysis_of(HERMES).format)), OpaqueTokens()
    first = grammar_of(formats, BATTERY).lark(opaque)
    once = len(filled)
    assert once
    assert grammar_of(formats, deepcopy(BATTERY)).lark(opaque) == first
    assert len(filled) == once
    others = [
        grammar_of(formats, BATTERY[:1]),
        grammar_of(formats, BATTERY, parallel_tool_calls=False),
        grammar_of(formats, BATTERY, tool_choice="required"),
        grammar_of(formats, BATTERY, strict=True),
        grammar_of(formats, BATTERY, lazy=True),
    ]
    written = {grammar.lark(opaque) for grammar in others}
    assert len(written) == len(others)
    assert first not in written
    assert len(filled) == (1 + len(others)) * once
