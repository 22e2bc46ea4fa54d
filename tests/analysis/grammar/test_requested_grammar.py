"""Check how a request changes its grammar: tools, number of calls, prompt and form."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from string import Template
from typing import Any
from unittest import mock

import pytest

from autoparser import AutoparserError, Json, Message, ToolCall, analyze
from autoparser.analysis.core.format_choice import Formats
from autoparser.analysis.grammar.acceptance import GrammarDialect
from autoparser.analysis.grammar.call_writer import GrammarError
from autoparser.analysis.grammar.request_grammar import Grammar, make_grammar
from autoparser.analysis.grammar.structural_tag import write_structural_tag
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from tests.analysis.parsing.loop import analysis_of
from tests.case_tables import case_tables, load_cases
from tests.corpus.corpus_templates import corpus_paths
from tests.corpus.grammar_readers import read_by_xgrammar
from tests.fixture_analyses import analyzed
from tests.lanes import sampled
from tests.offers import BATTERY, STRICT, tool

from .judge import EOS, byte_tokenizer

table = case_tables(__file__, "requests.yaml")


HERMES, XML = "j1-json-in-tags", "a1-function-parameter"
INSIDE = ("<tool_call>", "</tool_call>", "<think>", "</think>")
TABLE = load_cases(__file__, "requests.yaml")
SLOW_FORMS = [pytest.param(form, marks=pytest.mark.slow) for form in ("gbnf", "structural_tag")]


def reader(grammar: Grammar, form: str) -> Callable[[str], bool]:
    """Return the acceptance of one form: as llguidance reads it, a tag as xgrammar does."""
    if form != "structural_tag":
        return lambda text: grammar.accepts(text, dialect=GrammarDialect(form)).accepted
    pytest.importorskip("xgrammar", reason="xgrammar is not installed")
    return read_by_xgrammar(grammar.structural_tag())


@pytest.mark.parametrize("form", ["lark", *SLOW_FORMS])
@pytest.mark.parametrize("request_", TABLE["requests"], ids=lambda request: request["name"])
def test_request_options_decide_acceptance(request_: dict[str, Any], form: str) -> None:
    if form not in request_.get("forms", ["lark", "gbnf", "structural_tag"]):
        return
    accepts = reader(analysis_of(HERMES).grammar(STRICT, **request_["options"]), form)
    for expected in (True, False):
        for text in request_.get("accepted" if expected else "refused", []):
            written = Template(text).substitute(TABLE["texts"])
            assert accepts(written) is expected, written


@pytest.mark.parametrize("case", TABLE["errors"], ids=lambda case: case["says"])
def test_contradictory_request_is_an_error(case: dict[str, Any]) -> None:
    with pytest.raises(AutoparserError, match=case["says"]):
        analysis_of(HERMES).grammar(**{"tools": STRICT, **case["options"]})


def test_required_call_needs_a_template_with_calls() -> None:
    grammar = analysis_of("reasoning-none").grammar(BATTERY, tool_choice="required")
    for write in (grammar.rules, grammar.gbnf, grammar.structural_tag):
        with pytest.raises(GrammarError, match="writes no message that this request allows"):
            write()


@table("without_markers")
def test_call_without_its_first_marker_is_refused_as_content(
    added: list[str], accepted: bool
) -> None:
    text = "Well.\n</think>\n\nLook. <function=list_rooms>\n</function>\n"
    grammar = analysis_of(XML).grammar(STRICT)
    known = tokenizer_of(byte_tokenizer(tuple(added)), eos=EOS)
    assert grammar.accepts(text, known).accepted is accepted


@pytest.mark.parametrize("form", ["lark", *SLOW_FORMS])
def test_turn_with_one_call_keeps_whitespace_before_its_end(form: str) -> None:
    analysis = analyzed("j3-json-array")
    call = Message(reasoning="Well.", calls=(ToolCall("list_rooms"),))
    turn = analysis.turns(STRICT).written_turn(call).continuation
    assert turn is not None
    text, _, _ = turn.partition("<SPECIAL_3>")
    assert text.endswith("\n")
    accepts = reader(analysis.grammar(STRICT, parallel_tool_calls=False), form)
    assert accepts(text)
    assert accepts(text.removesuffix("\n"))
    assert not accepts(f"{text}Done.")


REQUESTS: list[dict[str, Any]] = [
    {"tools": BATTERY},
    {"tools": STRICT},
    {"tools": STRICT, "parallel_tool_calls": False},
    {"tools": STRICT, "tool_choice": "required"},
    {"tools": STRICT, "lazy": True},
    {"tools": STRICT, "prompt": "<|im_start|>assistant\n<think>\n\n</think>\n\n"},
    {"tools": STRICT, "strict": False},
    {"tools": None},
    {"tools": deepcopy(STRICT)},
]


# In the last, lists and objects are written in parts, by rules that refer to others.
@pytest.mark.parametrize("name", sampled([HERMES, XML, "a1-8-indented"], 3))
def test_earlier_requests_change_no_grammar(name: str) -> None:
    known = Formats.of(deepcopy(analysis_of(name).format))
    larks: list[str] = []
    for request in REQUESTS:
        fresh = Formats.of(deepcopy(analysis_of(name).format))
        first, again = (make_grammar(tool_, **request) for tool_ in (known, fresh))
        assert first.gbnf() == again.gbnf()
        for added in ((), ("<tool_call>", "</tool_call>")):
            larks.append(first.lark(byte_tokenizer(added)))
            assert larks[-1] == again.lark(byte_tokenizer(added))
    assert larks[2:4] == larks[-2:]
    assert len({*larks[::2]}) >= len(REQUESTS) - 2, "another request has another grammar"


def test_strict_forbids_extra_members_of_objects_only() -> None:
    sample: Json = {"properties": {"a": 1}}
    schema: dict[str, Json] = {"type": "object", "properties": {"a": {"const": sample}}}
    tool = {"name": "f", "parameters": schema}
    other = '<tool_call>\n{"name": "f", "arguments": {"b": 1}}\n</tool_call>'
    wrong = other.replace('"b": 1', '"a": 1')
    analysis = analysis_of(HERMES)
    assert analysis.grammar([tool]).accepts(other).accepted
    assert not analysis.grammar([tool]).accepts(wrong).accepted
    assert not analysis.grammar([tool], strict=True).accepts(other).accepted
    strict = analysis.grammar([{**tool, "strict": True}])
    assert not strict.accepts(other).accepted
    assert strict.tools["f"] == {**schema, "additionalProperties": False}
    assert analysis.grammar([tool], strict=False).accepts(wrong).accepted


def test_grammar_lists_triggers_stops_and_preserved_tokens() -> None:
    grammar = analysis_of(HERMES).grammar(STRICT)
    assert grammar.triggers == ("<tool_call>",)
    assert grammar.stop_strings == ("<|im_end|>",)
    assert {"<think>", "</think>", "<tool_call>", "</tool_call>"} <= set(grammar.preserved_tokens)


@pytest.mark.slow
def test_marker_before_any_tool_name_is_a_trigger() -> None:
    paths = {path.stem: path for path in corpus_paths()}
    template = paths["CohereForAI-c4ai-command-r7b-12-2024-tool_use"].read_text("utf-8")
    grammar = analyze(template).grammar(STRICT)
    assert grammar.triggers == ("<|START_ACTION|>",)


def test_text_inside_turns_is_not_a_stop_string() -> None:
    """There it closes reasoning, and turns of the history: a server would cut the answer there."""
    grammar = analyzed("t2-recipient-header").grammar([])
    assert grammar.stop_strings == ("<|return|>", "<|call|>")
    assert "<|end|>" in grammar.preserved_tokens


def test_equal_requests_write_a_tag_once_and_share_no_object() -> None:
    analysis = analysis_of("a1-function-parameter")

    def tag(choice: str) -> dict[str, Json]:
        offered = [tool("look_around", {"place": {"type": "string"}})]
        return analysis.grammar(offered, tool_choice=choice).structural_tag()

    written = "autoparser.analysis.grammar.request_grammar.write_structural_tag"
    with mock.patch(written, wraps=write_structural_tag) as wrote:
        first = tag("required")
        first["format"] = None
        second, free, third = tag("required"), tag("auto"), tag("required")
    assert wrote.call_count == 2
    assert second == third != free
    assert second is not third
