"""The command ``grammar``: every form, what decides it, and every way to ask wrongly."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llguidance import LLMatcher, grammar_from
from tokenizers import Tokenizer

from tests.analysis.grammar.tokens import byte_tokenizer, guidance, ids

Run = Callable[..., Any]
TEMPLATE = "fixtures/templates/j1-json-in-tags.jinja"
FORCED = "fixtures/templates/reasoning-forced-closed.jinja"
TOOLS = "fixtures/tools.yaml"
CALL = '<tool_call>\n{"name": "list_rooms", "arguments": {}}\n</tool_call>'
MARKERS = ("<tool_call>", "</tool_call>", "<think>", "</think>", "<|im_end|>")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a tokenizer that has the template's markers."""
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    made: Tokenizer = byte_tokenizer(MARKERS)
    made.save(str(path))
    return path


def accepts(grammar: str, text: str) -> bool:
    matcher = LLMatcher(guidance(), grammar_from("gbnf", grammar), log_level=0)
    assert not matcher.is_error(), matcher.get_error()
    tokens = ids(byte_tokenizer(), text)
    whole = matcher.validate_tokens(tokens) == len(tokens)
    return whole and matcher.consume_tokens(tokens) and matcher.is_accepting()


@pytest.mark.parametrize(
    ("options", "text", "accepted"),
    [
        ((), "Hi.", True),
        ((), f"Hi.\n{CALL}", True),
        ((), f"Hi.\n{CALL}\n{CALL}", True),
        (("--no-parallel",), f"{CALL}\n{CALL}", False),
        (("--no-parallel",), CALL, True),
        (("--tool-choice", "none"), f"Hi.\n{CALL}", False),
        (("--tool-choice", "required"), "Hi.", False),
        (("--tool-choice", "required"), CALL, True),
        (("--tool-choice", "get_weather"), CALL, False),
        (("--tool-choice", "list_rooms"), CALL, True),
        (("--lazy",), "Hi.", False),
        (("--lazy",), CALL, True),
    ],
)
@pytest.mark.parametrize("form", ["gbnf", "ebnf"])
def test_the_request_decides_the_grammar(
    form: str, options: tuple[str, ...], text: str, accepted: bool, autoparser: Run
) -> None:
    ran = autoparser("grammar", TEMPLATE, "--tools", TOOLS, "--format", form, *options)
    assert (ran.code, ran.err) == (0, "")
    assert accepts(ran.out, text) is accepted


def test_without_tools_nothing_is_called(autoparser: Run) -> None:
    grammar = autoparser("grammar", TEMPLATE).out
    assert accepts(grammar, "Hi.")
    assert not accepts(grammar, f"Hi.\n{CALL}")


@pytest.mark.parametrize(
    ("setting", "text", "accepted"),
    [
        ("true", "Hm.</muse>Hi.", True),
        ("false", "Hm.</muse>Hi.", False),
        ("false", "Hi.", True),
    ],
)
def test_a_switch_of_the_prompt_decides_the_grammar(
    setting: str, text: str, accepted: bool, autoparser: Run
) -> None:
    ran = autoparser("grammar", FORCED, "--switch", f"enable_thinking={setting}")
    assert ran.code == 0
    assert accepts(ran.out, text) is accepted


def test_an_answer_by_a_schema(tmp_path: Path, autoparser: Run) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "object", "properties": {}, "additionalProperties": false}')
    grammar = autoparser("grammar", TEMPLATE, "--json-schema", schema).out
    assert accepts(grammar, "{}")
    assert not accepts(grammar, "Hi.")


def test_lark_is_made_for_a_tokenizer(tokenizer: Path, autoparser: Run) -> None:
    asked = ("grammar", TEMPLATE, "--tools", TOOLS, "-f", "lark", "--tokenizer")
    ran = autoparser(*asked, tokenizer)
    assert (ran.code, ran.err) == (0, "")
    number = Tokenizer.from_file(str(tokenizer)).token_to_id("<tool_call>")
    assert f"<[{number}]>" in ran.out
    assert autoparser(*asked, tokenizer.parent).out == ran.out


def test_a_tokenizer_without_the_markers_is_warned_of(tmp_path: Path, autoparser: Run) -> None:
    byte_tokenizer(MARKERS[:2]).save(str(tmp_path / "tokenizer.json"))
    ran = autoparser("grammar", TEMPLATE, "--tools", TOOLS, "-f", "lark", "--tokenizer", tmp_path)
    assert ran.code == 0
    assert ran.err.startswith(f"{TEMPLATE}: warning: ")
    assert "<think> </think>" in ran.err
    assert "<tool_call>" not in ran.err


def test_the_tokenizer_beside_the_template_is_taken(
    tokenizer: Path, tmp_path: Path, autoparser: Run
) -> None:
    (tmp_path / "chat_template.jinja").write_bytes(Path(TEMPLATE).read_bytes())
    (tmp_path / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    ran = autoparser("grammar", tmp_path, "--tools", TOOLS, "-f", "lark")
    assert (ran.code, ran.err) == (0, "")


def test_the_structural_tag_begins_where_the_tools_differ(autoparser: Run) -> None:
    asked = ("grammar", TEMPLATE, "--tools", TOOLS, "-f", "structural-tag")
    tag = json.loads(autoparser(*asked).out)
    triggered = tag["format"]["elements"][-1]
    assert triggered["type"] == "triggered_tags"
    (tag,) = triggered["tags"]
    assert tag["begin"] == '<tool_call>\n{"name": "'
    assert 'get_weather\\", \\"arguments\\": ' in tag["content"]["grammar"]
    assert triggered["triggers"] == ["<tool_call>"]
    required = autoparser(*asked, "--tool-choice", "required").out
    assert "triggered_tags" not in required


def test_json_holds_all_and_says_what_is_missing(tokenizer: Path, autoparser: Run) -> None:
    made = json.loads(autoparser("grammar", TEMPLATE, "--tools", TOOLS, "-f", "json").out)
    assert accepts(made["gbnf"], CALL)
    assert made["lark"] is None
    assert "--tokenizer" in made["not_written"]["lark"]
    assert made["triggers"] == ["<tool_call>"]
    assert made["grammar_triggers"] == [{"type": 1, "value": "<tool_call>"}]
    assert made["stop_strings"] == ["<|im_end|>"]
    assert "</think>" in made["preserved_tokens"]
    tagged = "fixtures/templates/a1-function-parameter.jinja"
    options = ("--tools", TOOLS, "-f", "json", "--tokenizer", tokenizer)
    made = json.loads(autoparser("grammar", tagged, *options).out)
    assert made["lark"]
    assert "<parameter=" in json.dumps(made["structural_tag"])
    assert made["not_written"] == {}
    plain = "fixtures/templates/reasoning-none.jinja"
    made = json.loads(autoparser("grammar", plain, *options).out)
    assert "triggered_tags" not in json.dumps(made["structural_tag"])
    assert made["not_written"] == {}


def test_a_grammar_goes_to_a_file(tmp_path: Path, autoparser: Run) -> None:
    path = tmp_path / "out.gbnf"
    ran = autoparser("grammar", TEMPLATE, "-o", path)
    assert (ran.code, ran.out) == (0, "")
    assert accepts(path.read_text(encoding="utf-8"), "Hi.")


UNIQUE = {"type": "array", "uniqueItems": True}
BAD: list[tuple[tuple[str, ...], str]] = [
    (("-f", "lark"), "Lark is made for a tokenizer"),
    (("-f", "lark", "--tokenizer", "nowhere"), "nowhere"),
    (("-f", "lark", "--tokenizer", TOOLS), TOOLS),
    (("-f", "gbfn"), "'gbfn' is not one of"),
    (("--tool-choice", "required"), "no tool is offered"),
    (("--tools", TOOLS, "--tool-choice", "get_wether"), "did you mean get_weather?"),
    (("--switch", "enable_thinking"), "give --switch NAME=VALUE"),
    (("--switch", "messages=[]"), "messages is not a switch"),
]


@pytest.mark.parametrize(("options", "words"), BAD)
def test_a_wrong_use_is_one_line(options: tuple[str, ...], words: str, autoparser: Run) -> None:
    ran = autoparser("grammar", TEMPLATE, *options)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert ran.err.count("\n") == 1


def test_a_schema_that_no_grammar_can_hold_to_is_named(tmp_path: Path, autoparser: Run) -> None:
    tools = tmp_path / "tools.json"
    parameters = {"type": "object", "properties": {"labels": UNIQUE}}
    tools.write_text(json.dumps([{"name": "f", "parameters": parameters}]), encoding="utf-8")
    ran = autoparser("grammar", TEMPLATE, "--tools", tools)
    assert (ran.code, ran.out) == (2, "")
    assert "#/properties/labels/uniqueItems" in ran.err
    assert ran.err.count("\n") == 1


WRONG = "fixtures/outputs/wrong-type.txt"


@pytest.mark.parametrize("form", [(), ("-f", "lark"), ("-f", "gbnf")])
def test_a_refused_text_is_shown_with_what_was_allowed(
    form: tuple[str, ...], autoparser: Run
) -> None:
    ran = autoparser("grammar", TEMPLATE, "--tools", TOOLS, "--accepts", WRONG, *form)
    assert (ran.code, ran.err) == (1, "")
    head, line, caret, *_ = ran.out.splitlines()
    assert head == "refused: line 2, column 47, byte 59 of 74"
    assert line[caret.index("^")] == "5"
    assert "in the argument `city` of `get_weather`" in ran.out
    assert 'Allowed  `"`' in ran.out


@pytest.mark.parametrize(
    ("output", "options", "shown"),
    [
        (CALL, ("--tool-choice", "none"), "Refused  `>`, which completes `<tool_call>`"),
        ("<think>", ("--tool-choice", "required"), "where the text ends"),
        (
            '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": x',
            (),
            "Allowed  `-` or `0` to `9`",
        ),
    ],
)
def test_a_refused_text_says_why(
    output: str, options: tuple[str, ...], shown: str, tmp_path: Path, autoparser: Run
) -> None:
    file = tmp_path / "output.txt"
    file.write_text(output, encoding="utf-8")
    ran = autoparser("grammar", TEMPLATE, "--tools", TOOLS, "--accepts", file, *options)
    assert ran.code == 1
    assert shown in ran.out


def test_an_accepted_text_is_shown_as_a_message(
    tokenizer: Path, tmp_path: Path, autoparser: Run
) -> None:
    answer = tmp_path / "answer.txt"
    answer.write_text(CALL, encoding="utf-8")
    asked = ("grammar", TEMPLATE, "--tools", TOOLS, "--accepts", answer)
    ran = autoparser(*asked)
    assert ran.code == 0
    assert ran.out.startswith(f"accepted: {len(CALL)} bytes\n")
    assert "list_rooms" in ran.out
    by_tokens = json.loads(autoparser(*asked, "--tokenizer", tokenizer, "-f", "json").out)
    assert (by_tokens["accepted"], by_tokens["unit"]) == (True, "token")
    assert by_tokens["taken"] == by_tokens["count"] < len(CALL)
    assert by_tokens["message"]["tool_calls"]


def test_a_structural_tag_refuses_no_text(autoparser: Run) -> None:
    ran = autoparser("grammar", TEMPLATE, "--accepts", WRONG, "-f", "structural-tag")
    assert (ran.code, ran.out) == (2, "")
    assert "give --format lark" in ran.err
