"""Requests to a parser: invalid ones, ids of calls, names of fields."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any, Literal, get_type_hints
from unittest import mock

import pytest
from pydantic import create_model

from autoparser import analyze
from autoparser.analysis.core.errors import TokenizerError
from autoparser.analysis.core.schema_validation import schema_breaches
from autoparser.analysis.parsing.message_collector import CallIds
from autoparser.analysis.parsing.parsed_message import DeltaKind, ParsedCall, Status
from autoparser.analysis.parsing.turn_request import (
    IdentityCache,
    ParserFields,
    ParserOptions,
    RequestError,
    RequestFields,
    RequestOptions,
)
from tests.analysis.tiny import CONTENT, JSON_CALL, calls, turn
from tests.case_tables import case_tables

from .loop import TOOLS, analysis_of, streamed
from .test_growth import calls_of

table = case_tables(__file__, "requests.yaml")
JSON = "j1-json-in-tags"
LATEST = "https://json-schema.org/draft/2020-12/schema"
CALL = '<tool_call>\n{"name": "get_forecast", "arguments": {"city": "Oslo"}}\n</tool_call>'
END = "<|im_end|>"


@pytest.mark.parametrize(
    ("tools", "choice", "error"),
    [
        (["f"], "auto", "invalid tool"),
        ([{"function": {}}], "auto", "invalid tool"),
        ([{"type": "function"}], "auto", "invalid tool"),
        ([create_model("Find")()], "auto", r"invalid tool; give its model_dump\(\)"),
        ([{"name": "f", "parameters": 3}], "auto", "schema"),
        (TOOLS, "nothing_such", "unknown tool_choice"),
        (TOOLS, 3, "unknown tool_choice"),
        ([], "f", r"choose from auto, none, required \(no tools are offered\)"),
    ],
)
def test_invalid_tools_or_tool_choice_are_refused(
    tools: list[object], choice: object, error: str
) -> None:
    with pytest.raises(RequestError, match=error):
        analysis_of(JSON).parser(tools, tool_choice=choice)


@pytest.mark.parametrize("key", ["inputSchema", "input_schema"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_mcp_and_anthropic_tools_parse_like_openai_tools(key: str, wrapped: bool) -> None:
    schema: Any = {"type": "object", "properties": {"zip": {"type": "string"}}}
    shaped: Any = {"name": "f", key: schema}
    tools = [{"type": "function", "function": shaped} if wrapped else shaped]
    analysis = analysis_of("a1-function-parameter")
    text = "<tool_call>\n<function=f>\n<parameter=zip>\n01\n</parameter>\n</function>\n</tool_call>"
    (call,) = analysis.parser(tools).parse(text).tool_calls
    assert call.arguments == '{"zip": "01"}'
    plain: list[Any] = [{"name": "f", "parameters": schema}]
    grammars = [analysis.grammar(given).gbnf() for given in (tools, plain, [{"name": "f"}])]
    assert grammars[0] == grammars[1] != grammars[2]


@pytest.mark.parametrize(
    ("option", "value", "error"),
    [
        ("tool", TOOLS, "did you mean tools"),
        ("parallel_tool_call", False, "did you mean parallel_tool_calls"),
        ("parallel_tool_calls", "yes", "parallel_tool_calls: must be a boolean, got a string"),
        ("prompt", 5, "prompt: must be a string, got a number"),
        ("json_schema", "text", "json_schema: must be an object, got a string"),
        ("chat_template_kwargs", "x", "chat_template_kwargs: must be an object, got a string"),
        ("tools", "get_forecast", "tools: must be an array, got a string"),
        ("tools", TOOLS[0], "tools: must be an array, got an object"),
        ("tools", {"tools": TOOLS}, "got an object; give the list that is its `tools`"),
        ("tools", b"[]", "tools: must be an array, got bytes"),
    ],
)
def test_wrong_option_is_a_one_line_error_of_parser_and_grammar(
    option: str, value: object, error: str
) -> None:
    for make in (analysis_of(JSON).parser, analysis_of(JSON).grammar):
        options: dict[str, Any] = {option: value}
        with pytest.raises(RequestError, match=error) as raised:
            make(**options)
        assert "\n" not in str(raised.value)


def test_misspelled_switch_warns_at_the_callers_line() -> None:
    analysis = analysis_of(JSON)
    setting = {"enable_thinkin": False}
    words = r"never reads the variable 'enable_thinkin'; did you mean enable_thinking\?"
    for make in (analysis.parser, analysis.grammar):
        with pytest.warns(UserWarning, match=words) as warned:
            make(TOOLS, chat_template_kwargs=setting)
        assert [one.filename for one in warned] == [__file__]
        make(TOOLS, chat_template_kwargs={"enable_thinking": False})


def test_wrong_parser_option_lists_its_choices() -> None:
    options: dict[str, Any] = {"call_deltas": "whol"}
    with pytest.raises(RequestError, match="did you mean whole"):
        analysis_of(JSON).parser(**options)


def test_option_none_equals_a_missing_option() -> None:
    text = f"<think>\nHm.\n</think>\n\n{CALL}\n{CALL}{END}"
    names = [*ParserOptions.__annotations__, *RequestOptions.__annotations__]
    for name in names:
        options: dict[str, Any] = {name: None}
        assert analysis_of(JSON).parser(TOOLS, **options).parse(text) == (
            analysis_of(JSON).parser(TOOLS).parse(text)
        )
    for name in RequestOptions.__annotations__:
        options = {name: None}
        assert analysis_of(JSON).grammar(TOOLS, **options).gbnf() == (
            analysis_of(JSON).grammar(TOOLS).gbnf()
        )


def test_parser_options_equal_the_documented_ones() -> None:
    for options, fields in ((RequestOptions, RequestFields), (ParserOptions, ParserFields)):
        assert {"tools", *get_type_hints(options)} == {*fields.__struct_fields__}


@pytest.mark.parametrize("text", [b"Hi.", None, 5, ["Hi."]])
@pytest.mark.parametrize("before", ["", "So it", "<think>\nHm, so it"])
def test_non_text_output_is_refused(text: Any, before: str) -> None:
    stream = analysis_of(JSON).parser(TOOLS).stream()
    stream.feed(before)
    stream.feed(before)
    with pytest.raises(RequestError, match="an output must be a string, got"):
        stream.feed(text)


@pytest.mark.parametrize("text", ["Hi.", f"{CALL}{END}", CALL[:50], "<think>\nHm"])
def test_text_after_finish_is_refused(text: str) -> None:
    stream = analysis_of(JSON).parser(TOOLS).stream()
    stream.feed(text)
    stream.finish()
    before = stream.message
    for later in ("y", f"{CALL}{END}"):
        with pytest.raises(RequestError, match="has been finished"):
            stream.feed(later)
    assert (stream.feed(""), stream.finish(), stream.message) == ([], [], before)


def test_ids_without_a_tokenizer_are_refused() -> None:
    parser = analysis_of(JSON).parser(TOOLS)
    with pytest.raises(RequestError, match="tokenizer="):
        parser.parse("Hi.", ids=[1])
    with pytest.raises(RequestError, match="tokenizer="):
        parser.reasoning_end_by_ids()
    with pytest.raises(TokenizerError):
        analysis_of(JSON).parser(TOOLS, tokenizer="nowhere")


@pytest.mark.parametrize("call_deltas", ["incremental", "whole"])
def test_generated_call_ids_differ_across_turns(
    call_deltas: Literal["incremental", "whole"],
) -> None:
    parser = analysis_of(JSON).parser(TOOLS, call_deltas=call_deltas)
    ids: list[str] = []
    for _ in range(3):
        found = streamed(parser, list(f"{CALL}\n{CALL}"))
        sent = [delta.id for delta in found.deltas if delta.kind is DeltaKind.CALL]
        assert [(call.sent_id, call.id) for call in found.message.tool_calls] == [
            (message, "") for message in sent
        ]
        ids += sent
    assert len(set(ids)) == 6
    assert all(re.fullmatch("[A-Za-z0-9]{9}", call_id) for call_id in ids)


FORKED = """
import os
from autoparser.analysis.parsing.message_collector import CallIds
CallIds()("f", 0)
child = os.fork()
os.write(1, CallIds()("f", 1).encode() + b" ")
if child:
    os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process is forked here")
def test_generated_call_ids_differ_after_fork() -> None:
    ran = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=True)  # noqa: S603
    assert len(set(ran.stdout.split())) == 2


def made_ids(call_ids: CallIds | int | Callable[[str, int], str]) -> list[str]:
    message = analysis_of(JSON).parser(TOOLS, call_ids=call_ids).parse(f"{CALL}\n{CALL}")
    calls: Any = message.to_openai()["tool_calls"]
    return [call["id"] for call in calls]


def test_call_ids_come_from_seed_function_or_message_else_index() -> None:
    maker = CallIds(7)
    first, second = made_ids(maker), made_ids(maker)
    assert made_ids(7) == first
    assert not {*first} & {*second}
    named = made_ids(lambda name, index: f"{name}:{index}")
    assert named == ["get_forecast:0", "get_forecast:1"]
    assert made_ids(lambda *_: "") == ["call_0", "call_1"]


def test_reasoning_goes_to_the_requested_field() -> None:
    parser = analysis_of(JSON).parser()
    found = streamed(parser, ["<think>\nHm.\n</think>\n\nHi."])
    assert found.message.to_openai(reasoning_field="reasoning")["reasoning"] == "Hm."
    assert found.deltas[0].to_openai(reasoning_field="reasoning") == {"reasoning": "Hm."}
    assert found.deltas[0].to_openai() == {"reasoning_content": "Hm."}


def test_ended_marks_a_message_as_ended_by_a_stop_token() -> None:
    parser = analysis_of(JSON).parser()
    assert parser.parse("Hello.").missing_end == END
    message = parser.parse("Hello.").ended()
    assert (message.status, message.missing_end) == (Status.OK, "")
    assert parser.parse("a</think>").ended().status is Status.STRAY


def test_message_repr_shows_its_parts() -> None:
    message = analysis_of(JSON).parser(TOOLS).parse(f"{'Long. ' * 9}{CALL}")
    shown = "Long. Long. Long. Long. Long. Long. Lon…"
    assert repr(message) == f"<ParsedMessage unfinished: content {shown!r}; calls 'get_forecast'>"


# Arguments are validated against the schema of the offered tool; an invalid call is still a call.


def call_of(schema: Any, arguments: str) -> ParsedCall:
    tools = [{"name": "f", "parameters": schema}]
    text = f'<tool_call>\n{{"name": "f", "arguments": {arguments}}}\n</tool_call>'
    return analysis_of(JSON).parser(tools).parse(text + END).tool_calls[0]


DAYS = {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["city"]}


@table("schema_errors")
def test_schema_errors_do_not_change_the_call(
    schema: Any, arguments: str, errors: list[str]
) -> None:
    call = call_of(schema, arguments)
    assert (call.status, call.arguments) == (Status.OK, arguments)
    assert all(
        str(breach).startswith(error)
        for breach, error in zip(call.schema_errors, errors, strict=True)
    )


def test_equal_tool_names_use_the_schema_of_their_request() -> None:
    make = analysis_of("a1-function-parameter").parser
    text = "<tool_call>\n<function=f>\n<parameter=a>\n3\n</parameter>\n</function>\n</tool_call>"
    read: list[str] = []
    for kind in ("string", "integer", "string"):
        properties = {"a": {"type": kind}}
        tools = [{"name": "f", "parameters": {"type": "object", "properties": properties}}]
        read.append(make(tools).parse(text).tool_calls[0].arguments)
    assert read == ['{"a": "3"}', '{"a": 3}', '{"a": "3"}']


def test_schema_is_read_only_if_errors_are_requested() -> None:
    checks = "autoparser.analysis.core.schema_validation.schema_breaches"
    with mock.patch(checks, side_effect=schema_breaches) as asked:
        call = call_of(DAYS, '{"days": "three"}')
        assert asked.call_count == 0
        assert [breach.keyword for breach in call.schema_errors] == [
            "properties.days.type",
            "required",
        ]
        assert asked.call_count == 1


def doubling(depth: int) -> dict[str, Any]:
    """Return a schema that is looked at 2 to the power of `depth` times."""
    parts: dict[str, Any] = {
        f"a{at}": {"allOf": [{"$ref": f"#/$defs/a{at + 1}"}] * 2} for at in range(depth)
    }
    return {"$defs": {**parts, f"a{depth}": {"type": "string"}}, "$ref": "#/$defs/a0"}


@pytest.mark.parametrize(
    ("schema", "value", "keywords"),
    [
        (doubling(3), 1, ["type"] * 8),
        (doubling(60), "x", []),
        ({"pattern": "(a+)+$"}, "a" * 60 + "b", []),
        ({"patternProperties": {"(a+)+$": {}}, "additionalProperties": False}, {"a" * 60: 1}, []),
        (
            {"items": {**doubling(60), "$schema": "http://json-schema.org/draft-07/schema"}},
            ["x"],
            [],
        ),
        ({"additionalProperties": False}, {"a": 1}, ["additionalProperties"]),
    ],
)
def test_untrusted_schema_takes_no_exponential_time(
    schema: Any, value: Any, keywords: list[str]
) -> None:
    found = schema_breaches({"$schema": LATEST, **schema}, value, trusted=False)
    assert [breach.keyword.rpartition(".")[2] for breach in found] == keywords


# Values made of a format are cached by its identity.


def test_object_cache_builds_once_and_drops_the_oldest() -> None:
    cache: IdentityCache[int | None] = IdentityCache(2)
    make = count().__next__
    # Equal but distinct objects: a format cannot be compared quickly, or hashed.
    one, other = {"a": 1}, {"a": 1}
    asked = [((one,), "x"), ((one,), "x"), ((one,), "y"), ((one,), "x"), ((other,), "x")]
    assert [cache.of(*given, make) for given in asked] == [0, 0, 1, 0, 2]
    # The least recently used value is gone.
    assert [cache.of(*given, make) for given in (((one,), "x"), ((one,), "y"))] == [0, 3]
    assert cache.of((one, other), "", lambda: None) is None
    assert cache.of((one, other), "", make) is None


def test_cache_keeps_its_key_objects_alive() -> None:
    cache: IdentityCache[int] = IdentityCache(64)
    make = count().__next__
    # If the cache did not hold its keys, each list would reuse the address of the one before.
    assert [cache.of(([at],), "", make) for at in range(50)] == list(range(50))


def test_threads_get_the_same_cached_value() -> None:
    cache: IdentityCache[object] = IdentityCache(4)
    owner = object()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: cache.of((owner,), "", object), range(200)))
    assert len(set(map(id, found))) == 1


MOST_CALLS = 2000
"""Calls and returns for a parser of 100 new tools: some 1,000, and 60,000 if names are compiled."""


@pytest.mark.parametrize("fixture", ["a1-function-parameter", JSON])
def test_parser_of_new_tools_compiles_no_names(fixture: str) -> None:
    make = analysis_of(fixture).parser
    known, new = (
        [{"type": "function", "function": {"name": f"look_up_{run}_{at}"}} for at in range(100)]
        for run in range(2)
    )
    make(known)
    assert calls_of(lambda: make(new)) < MOST_CALLS


@pytest.mark.parametrize(
    ("closer", "status"),
    [
        ("{% if m.content %}</why>{% endif %}", Status.OK),
        ("</why>", Status.REPAIRED),
    ],
)
def test_call_in_open_reasoning_is_ok_only_if_the_template_writes_it_there(
    closer: str, status: Status
) -> None:
    reasoning = (
        "{% if m.reasoning_content %}<why>{{ m.reasoning_content }}" + closer + "{% endif %}"
    )
    template = turn(reasoning, CONTENT, calls(f"<use>{JSON_CALL}</use>"), prompt="A:<why>")
    message = (
        analyze(template)
        .parser(prompt="A:<why>")
        .parse('Hm.<use>{"name": "f", "arguments": {"a": 1}}</use>.\n')
    )
    assert (message.reasoning_content, message.status) == ("Hm.", status)
    assert [call.arguments for call in message.tool_calls] == ['{"a": 1}']
