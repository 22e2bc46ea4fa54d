"""The command ``parse``: the message, the stream, the exit codes, and every way to ask wrongly."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

Run = Callable[..., Any]
ROOT = Path(__file__).parents[2]
TEMPLATE = "fixtures/templates/j1-json-in-tags.jinja"
TOOLS = "fixtures/tools.yaml"
OUTPUT = "fixtures/outputs/weather.txt"
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rio"}}\n</tool_call>'


@pytest.fixture
def parse(tmp_path: Path, autoparser: Run) -> Run:
    """Parse a text with the tools offered."""

    def parsed(text: str, *options: str | Path) -> Any:
        given = tmp_path / "output.txt"
        given.write_bytes(text.encode())
        return autoparser("parse", TEMPLATE, "--tools", TOOLS, "--input", given, *options)

    return parsed


def test_a_message_is_shown_with_the_parts_of_its_text(autoparser: Run) -> None:
    ran = autoparser("parse", TEMPLATE, "--tools", TOOLS, "--input", OUTPUT)
    assert (ran.code, ran.err) == (0, "")
    said, parts = ran.out.split("\n\nWhich part of the text was what\n")
    assert said.splitlines() == [
        "Status     ok: all was read",
        "Reasoning  The forecast, then the rooms.",
        "Content    Let me look.",
        "Call 1     get_weather",
        "           {",
        '             "city": "Rio",',
        '             "days": 3',
        "           }",
    ]
    assert "  markup     <think>↵\n  reasoning  The forecast, then the rooms.\n" in parts
    assert '  arguments  {"city": "Rio", "days": 3}\n' in parts


def test_standard_input_is_the_output(process: Run) -> None:
    stdin = (ROOT / OUTPUT).read_bytes()
    ran = process("parse", TEMPLATE, "--tools", TOOLS, "--json", stdin=stdin)
    assert (ran.code, ran.err) == (0, "")
    message = json.loads(ran.out)
    assert message["content"] == "Let me look."
    assert message["reasoning_content"] == "The forecast, then the rooms."
    (call,) = message["tool_calls"]
    assert call["function"]["name"] == "get_weather"
    assert json.loads(call["function"]["arguments"]) == {"city": "Rio", "days": 3}
    assert (message["status"], message["partial_call"]) == ("ok", None)
    assert message["call_statuses"] == ["ok"]


def test_the_spans_give_the_text_back(parse: Run) -> None:
    text = f"Hi. {CALL}\r\n \x1b[31m<|im_end|> rest"
    spans = json.loads(parse(text, "--json").out)["spans"]
    assert "".join(span["text"] for span in spans) == text
    assert [span["start"] for span in spans[1:]] == [span["end"] for span in spans[:-1]]
    assert spans[-1]["kind"] == "junk"


OUTCOMES = [
    # text, options, exit code, status
    ("Hello.<|im_end|>", (), 0, "ok"),
    ("", (), 0, "unfinished"),
    ("Hello.", (), 0, "unfinished"),
    (CALL, (), 0, "unfinished"),
    ("I think so</think>Hello.<|im_end|>", (), 1, "stray markup"),
    (f"{CALL}</tool_call><|im_end|>", (), 1, "stray markup"),
    (CALL[:-13], (), 0, "repaired"),
    ("Hello.", ("--cut",), 1, "cut"),
    (CALL[:-25], (), 1, "cut"),
    (CALL.replace("get_weather", "get_time"), (), 1, "unknown tool"),
    ("<tool_call>\n[]\n</tool_call>", (), 1, "malformed"),
]


@pytest.mark.parametrize(("text", "options", "code", "status"), OUTCOMES)
def test_the_exit_code_says_whether_all_was_read(
    text: str, options: tuple[str, ...], code: int, status: str, parse: Run
) -> None:
    ran = parse(text, *options)
    assert (ran.code, ran.err) == (code, "")
    assert ran.out.startswith(f"Status     {status}: ")
    assert json.loads(parse(text, *options, "--json").out)["status"] == status


def test_what_is_not_as_written_is_explained(parse: Run) -> None:
    ran = parse("I think so</think>\x1b Hello.<|im_end|>", "--explain")
    assert (ran.code, ran.err) == (1, "")
    said, parts = ran.out.split("\n\nWhat is not as the template writes it\n")[1].split("\n\n")
    assert parts.startswith("Which part of the text was what\n"), "the answer comes first"
    assert said.splitlines() == [
        "  line 1, column 11: A closer stands where nothing that it closes is open; it is",
        "  left out.",
        "    1 | I think so</think>\\x1b Hello.<|im_end|>",
        "      |           ^",
        "    expected  nothing",
        "    found     `</think>`",
    ]


def test_nothing_is_explained_where_all_is_as_written(parse: Run) -> None:
    out = parse(f"{CALL}<|im_end|>", "--explain").out
    assert "\n  Nothing: all was read as the template writes it.\n\nWhich part of" in out
    assert "What is not" not in parse(f"{CALL}<|im_end|>").out


def test_stripped_markers_are_explained_as_json(parse: Run) -> None:
    text = "Let me look.\n\n" + CALL.split("\n", 1)[1].rsplit("\n", 1)[0] + "\n"
    ran = parse(text, "--explain", "--json")
    assert ran.code == 0
    first, second, end = json.loads(ran.out)["explanations"]
    markers = ["<|im_end|>", "<tool_call>", "</tool_call>"]
    assert first == {
        "what": "missing text",
        "expected": "<tool_call>",
        "found": "",
        "offset": 13,
        "line": 2,
        "column": 1,
        "more": 0,
        "cause": {
            "kind": "special tokens stripped",
            "markers": markers,
            "setting": {},
            "words": first["cause"]["words"],
        },
    }
    assert "ask the engine to keep special tokens" in first["cause"]["words"]
    assert (second["expected"], second["line"]) == ("</tool_call>", 4)
    assert (end["what"], end["offset"]) == ("no end of the turn", len(text))


def test_a_stream_is_explained_at_its_end(parse: Run) -> None:
    ran = parse("a</think>b", "--explain", "--stream")
    assert "Status  stray markup: " in ran.out
    assert ran.out.count("line 1, column") == 2
    *_, last = parse("a</think>b", "--explain", "--stream", "--json").out.splitlines()
    whats = [each["what"] for each in json.loads(last)["explanations"]]
    assert whats == ["stray closer", "no end of the turn"]


def test_a_prompt_of_another_setting_is_named(tmp_path: Path, autoparser: Run) -> None:
    given = tmp_path / "output.txt"
    given.write_text("Hello.<turn|>", encoding="utf-8")
    template = "fixtures/templates/reasoning-forced-closed.jinja"
    out = autoparser("parse", template, "-i", given, "--explain").out
    assert "after the template's prompt for enable_thinking=false" in " ".join(out.split())


def test_a_cut_call_is_apart(parse: Run) -> None:
    text = CALL[: CALL.index("Rio") + 2]
    assert "Cut call   get_weather  cut" in parse(text).out
    message = json.loads(parse(text, "--json").out)
    assert "tool_calls" not in message
    assert message["partial_call"]["name"] == "get_weather"
    assert message["partial_call"]["arguments"].startswith('{"city": "Ri')


def test_a_stream_is_a_line_for_each_chunk(parse: Run) -> None:
    lines = parse(f"Hi there{CALL}", "--stream").out.splitlines()
    assert lines[:3] == ["Hi t  → content `Hi t`", "here  → content `here`", "<too  → -"]
    assert any("→ call 1 get_weather" in line for line in lines)
    words = "all was read, but no end of the turn (`<|im_end|>`) was seen"
    assert lines[-2:] == ["", f"Status  unfinished: {words}"]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_streams_json_lines_add_up_to_the_message(size: int, parse: Run) -> None:
    text = (ROOT / OUTPUT).read_text("utf-8")
    ran = parse(text, "--stream", "--chunk", str(size), "--json")
    *chunks, end = map(json.loads, ran.out.splitlines())
    assert "".join(each["chunk"] for each in chunks) == text
    assert all(len(each["chunk"]) <= size for each in chunks)
    assert (end["chunk"], end["status"], end["partial_call"]) == (None, "ok", None)
    deltas = [delta for each in (*chunks, end) for delta in each["deltas"]]
    assert "".join(delta.get("content", "") for delta in deltas) == "Let me look."
    calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
    assert calls[0]["function"] == {"name": "get_weather", "arguments": ""}
    arguments = "".join(call["function"]["arguments"] for call in calls)
    assert json.loads(arguments) == {"city": "Rio", "days": 3}


def test_whole_calls_come_once_they_closed(parse: Run) -> None:
    ran = parse(CALL, "--stream", "--chunk", "1", "--whole-calls")
    (line,) = [line for line in ran.out.splitlines() if "arguments 1" in line]
    assert "call 1 get_weather" in line


def test_reasoning_can_stay_in_the_content(parse: Run) -> None:
    message = json.loads(
        parse("<think>\nWhy.\n</think>\n\nSo.", "--reasoning", "inline", "--json").out
    )
    assert "reasoning_content" not in message
    assert "Why." in message["content"]
    assert "So." in message["content"]


def test_an_answer_by_a_schema_is_text(tmp_path: Path, parse: Run) -> None:
    schema = tmp_path / "schema.yaml"
    schema.write_text("json_schema: {name: s, schema: {type: object}}", encoding="utf-8")
    answer = json.dumps({"note": CALL})
    message = json.loads(parse(answer, "--json", "--json-schema", schema).out)
    assert message["content"] == answer
    assert "tool_calls" not in message


def test_raw_reasoning_is_as_it_came(parse: Run) -> None:
    text = "<think>\nWhy.\n</think>\n\nSo."
    message = json.loads(parse(text, "--reasoning", "raw", "--json").out)
    assert message["content"] == text


def test_a_call_in_reasoning_that_nothing_closes_is_a_call_unless_reasoning_is_kept(
    parse: Run,
) -> None:
    call = '{"name": "list_rooms", "arguments": {}}'
    text = f"<think>\nI look.\n<tool_call>\n{call}\n</tool_call>"
    tools = ("--tools", "fixtures/tools.yaml", "--json")
    read = json.loads(parse(text, *tools).out)
    assert [each["function"]["name"] for each in read["tool_calls"]] == ["list_rooms"]
    assert read["reasoning_content"].strip() == "I look."
    kept = json.loads(parse(text, *tools, "--keep-reasoning").out)
    assert "tool_calls" not in kept
    assert kept["reasoning_content"] == text.removeprefix("<think>\n")


def test_the_fence_of_an_answer_is_left_out(tmp_path: Path, parse: Run) -> None:
    schema = tmp_path / "schema.yaml"
    schema.write_text("{type: object}", encoding="utf-8")
    answer = '```json\n{"a": 1}\n```\n'
    options = ("--json-schema", schema, "--strip-code-fence")
    assert json.loads(parse(answer, "--json", *options).out)["content"] == '{"a": 1}'
    ran = parse(answer, "--strip-code-fence")
    assert (ran.code, ran.out) == (2, "")
    assert "--json-schema" in ran.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- 1", "this is a list, not an object; write an object such as"),
        (
            "{type: objekt}",
            "schema.type: this is not a valid JSON schema: 'objekt' is not a type of JSON Schema",
        ),
        ("{schema: 3}", "schema: this is a number, not an object"),
    ],
)
def test_a_schema_of_the_answer_that_is_none_is_one_line(
    text: str, words: str, tmp_path: Path, parse: Run
) -> None:
    schema = tmp_path / "schema.yaml"
    schema.write_text(text, encoding="utf-8")
    ran = parse("Hi.", "--json-schema", schema)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert ran.err.startswith(f"{schema}: ")
    assert ran.err.count("\n") == 1


def test_a_call_that_broke_behind_its_name_is_named(parse: Run) -> None:
    ran = parse(CALL.replace('"Rio"', f'"{"Rio " * 8}", ]'), "--json")
    assert ran.code == 1
    message = json.loads(ran.out)
    assert (message["status"], message["call_statuses"]) == ("malformed", ["malformed"])
    assert message["malformed_calls"] == [
        {"id": None, "name": "get_weather", "arguments": f'{{"city": "{"Rio " * 8}"}}'}
    ]
    assert message["content"].startswith("]")


def test_no_tool_is_called_where_the_choice_is_none(parse: Run) -> None:
    ran = parse(CALL, "--tool-choice", "none", "--json")
    assert ran.code == 0
    assert "tool_calls" not in json.loads(ran.out)


def test_without_tools_any_function_may_be_called(tmp_path: Path, autoparser: Run) -> None:
    given = tmp_path / "output.txt"
    given.write_text(CALL.replace("get_weather", "get_time"), encoding="utf-8")
    ran = autoparser("parse", TEMPLATE, "-i", given)
    assert (ran.code, ran.err) == (0, "")


def test_tools_come_as_json_and_below_a_key(tmp_path: Path, autoparser: Run) -> None:
    listed = yaml.safe_load((ROOT / TOOLS).read_text("utf-8"))
    for at, value in enumerate((listed, {"tools": listed})):
        file = tmp_path / f"tools{at}.json"
        file.write_text("\ufeff" + json.dumps(value), encoding="utf-8")
        assert autoparser("parse", TEMPLATE, "--tools", file, "--input", OUTPUT).code == 0


def test_nothing_of_a_text_is_markup_or_moves_the_cursor(parse: Run) -> None:
    for options in ((), ("--stream",), ("--json",), ("--stream", "--json")):
        out = parse("[bold]\x1b[31mred\u202e\r[/]<|im_end|>\x07", *options).out
        assert out.replace("\n", "").isprintable()
    assert "Content    [bold]\\x1b[31mred\\u202e\\r[/]" in parse("[bold]\x1b[31mred\u202e\r[/]").out


PROMPTS = [
    ("<|im_start|>assistant\n", False),
    ("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n\n", False),
    ("<|im_start|>assistant\n<think>\n\n</think>\n\n", False),
    ("<|im_start|>user\nHi<|im_end|>\n", True),
    ("", True),
]


@pytest.mark.parametrize(("prompt", "warned"), PROMPTS)
def test_a_prompt_that_ends_otherwise_is_warned_of(
    prompt: str, warned: bool, tmp_path: Path, parse: Run
) -> None:
    file = tmp_path / "prompt.txt"
    file.write_text(prompt, encoding="utf-8", newline="")
    ran = parse("Hello.<|im_end|>", "--prompt", file)
    assert ran.code == 0
    assert bool(ran.err) is warned
    if warned:
        assert ran.err.startswith(f"{file}: warning: the prompt ")
        assert (
            "prompts end with `<|im_start|>assistant↵` or `<|im_start|>assistant↵<think>" in ran.err
        )
        assert ran.err.count("\n") == 1


def test_what_a_prompt_has_begun_is_not_in_the_message(tmp_path: Path, parse: Run) -> None:
    file = tmp_path / "prompt.txt"
    file.write_text("<|im_start|>assistant\nOnce upon", encoding="utf-8")
    ran = parse(" a time.<|im_end|>", "--prompt", file, "--json")
    assert "taken for the beginning of the message" in ran.err
    message = json.loads(ran.out)
    assert message["content"] == " a time."
    assert "".join(span["text"] for span in message["spans"]) == " a time.<|im_end|>"


def test_tools_for_a_template_without_calls_are_warned_of(autoparser: Run) -> None:
    plain = "fixtures/templates/reasoning-in-prompt-words.jinja"
    ran = autoparser("parse", plain, "--tools", TOOLS, "--input", OUTPUT)
    assert ran.err == f"{plain}: warning: this template writes no tool calls, so none is found\n"


BAD_TOOLS = [
    # the file's name and text, what the line says of the place, the cause, what was expected
    ("t.yaml", "- {name: f}\n- 3\n", "tools[1]: this is a number, not an object", "write {"),
    ("t.yaml", "- {name: f}\n- {type: function}\n", "tools[1]: this has no name", "add {"),
    ("t.json", '[{"function": 1}]', "tools[0].function: this is a number", "write {"),
    ("t.yaml", "name: f\n", "this has no tools", "add a list"),
    ("t.yaml", "", "tools: this is empty, not a list", "write a list"),
    ("t.json", '{"tools": "f"}', "tools: this is a text, not a list", "write a list"),
    ("t.json", '[{"name": "f",}\n]', "line 1, column ", "broken JSON"),
    ("t.yaml", "- name: f\n  x: [1\n", "line 3, column 1: broken YAML", "correct the YAML"),
    ("t.yaml", "- name: f\x00\n", "line 1, column 10: broken YAML", "correct the YAML"),
    ("t.yaml", "- &a [*a]\n", "tools[0]: this is a list, not an object", "write {"),
    ("t.yaml", "- {name: f, parameters: &a {items: *a}}\n", "tools[0].parameters.items", "deep"),
    ("t.yaml", "- {nme: f}\n", "tools[0]: this has no name", "did you mean name for nme?"),
    ("t.yaml", "- {name: f, params: {}}\n", "no key 'params'", "did you mean parameters?"),
    ("t.json", "[" * 100_000, "nested too deep", "simpler"),
]

BAD_PARAMETERS = [
    # the parameters, where they are wrong, what the line says
    (3, "", "expected an object such as"),
    ([], "", "expected an object such as"),
    ({"type": "strnig"}, ".type", "did you mean string?"),
    ({"type": ["string", 3]}, ".type", "the types are string, integer"),
    ({"properties": {"a": 1}}, ".properties.a", "this is not a valid schema"),
    ({"properties": ["a"]}, ".properties", "expected schemas by name"),
    ({"anyOf": [{}, 2]}, ".anyOf[1]", "this is not a valid schema"),
    ({"oneOf": {}}, ".oneOf", "expected a list of schemas"),
    ({"items": {"type": "int"}}, ".items.type", "did you mean integer?"),
    ({"items": [{"type": "text"}]}, ".items", "name an older draft"),
    (
        {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "text"}]},
        ".items[0].type",
        "'text' is not a type of JSON Schema",
    ),
    ({"properties": {"type": 3}}, ".properties.type", "this is not a valid schema"),
    ({"properties": {"a": {"required": True}}}, ".properties.a.required", "a list of names"),
    ({"minimum": "3"}, ".minimum", "'3' is not of type 'number'"),
    ({"$schema": 5}, ".$schema", "5 is not of type 'string'"),
    ({"required": "a"}, ".required", "expected a list of names"),
    ({"enum": "a"}, ".enum", "expected a list of values"),
]


@pytest.mark.parametrize(("name", "text", "place", "words"), BAD_TOOLS)
def test_bad_tools_are_one_line_that_says_where(
    name: str, text: str, place: str, words: str, tmp_path: Path, autoparser: Run
) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    ran = autoparser("parse", TEMPLATE, "--tools", file, "--input", OUTPUT)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"{file}: ")
    assert place in ran.err
    assert words in ran.err
    assert ran.err.count("\n") == 1
    assert ran.err.rstrip("\n").isprintable()


@pytest.mark.parametrize(("parameters", "place", "words"), BAD_PARAMETERS)
def test_a_schema_that_is_none_is_one_line(
    parameters: object, place: str, words: str, tmp_path: Path, autoparser: Run
) -> None:
    file = tmp_path / "tools.json"
    tools = [{"name": "f"}, {"function": {"name": "g", "parameters": parameters}}]
    file.write_text(json.dumps(tools), encoding="utf-8")
    ran = autoparser("parse", TEMPLATE, "--tools", file, "--input", OUTPUT)
    assert (ran.code, ran.out) == (2, "")
    start = f"{file}: tools[1].function.parameters{place}: the parameters of g are not a valid"
    assert ran.err.startswith(start)
    assert words in ran.err
    assert ran.err.count("\n") == 1


USES = [
    (("--tools", "nowhere.yaml"), "nowhere.yaml: there is no such file"),
    (("--tools", "fixtures"), "fixtures: cannot be read"),
    (("--prompt", "nowhere.txt"), "nowhere.txt: there is no such file"),
    (("--input", "nowhere.txt"), "nowhere.txt: there is no such file"),
    (("--input", "fixtures/broken/invalid-utf8.jinja"), "byte 42: this is not UTF-8"),
    (("--tools", TOOLS, "--tool-choice", "get_wether"), "did you mean get_weather?"),
    (("--tools", TOOLS, "--tool-choice", "nnoe"), "did you mean none?"),
    (("--tool-choice", "get_weather"), "or a tool of --tools"),
    (("--chunk", "3"), "add --stream"),
    (("--stream", "--chunk", "0"), "--chunk"),
    (("--nmae",), "--nmae"),
]


@pytest.mark.parametrize(("options", "words"), USES)
def test_a_wrong_use_is_one_line(options: tuple[str, ...], words: str, autoparser: Run) -> None:
    given = () if "--input" in options else ("--input", OUTPUT)
    ran = autoparser("parse", TEMPLATE, *given, *options)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert ran.err.count("\n") == 1


def test_standard_input_is_not_read_twice(autoparser: Run) -> None:
    ran = autoparser("parse", "-")
    assert (ran.code, ran.out) == (2, "")
    assert "--input FILE" in ran.err


def test_a_bad_template_is_one_line(autoparser: Run) -> None:
    ran = autoparser("parse", "nowhere.jinja", "--input", OUTPUT)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("nowhere.jinja: there is no file")


def test_help_names_every_option(autoparser: Run) -> None:
    out = autoparser("parse", "--help").out
    for option in (
        *("--tools", "--input", "--prompt", "--tool-choice", "--no-parallel", "--cut", "--json"),
        *("--reasoning", "--strip-code-fence", "--whole-calls", "--stream", "--chunk", "--name"),
        "--keep-reasoning",
    ):
        assert option in out


def test_the_grammar_is_shown(autoparser: Run) -> None:
    ran = autoparser("analyze", TEMPLATE, "--show", "parser")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("The parser, as a grammar\n")
    assert "  reasoning      `<think>↵` text `↵</think>↵↵`\n" in ran.out


@pytest.mark.parametrize("options", [("--show", "grammar"), ("--show", "parser", "--json")])
def test_nothing_else_is_shown(options: tuple[str, ...], autoparser: Run) -> None:
    ran = autoparser("analyze", TEMPLATE, *options)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    "name", ["j1-json-in-tags", "a1-function-parameter", "reasoning-in-prompt-words"]
)
def test_the_json_of_an_analysis_has_the_parser(name: str, autoparser: Run) -> None:
    ran = autoparser("analyze", f"fixtures/templates/{name}.jinja", "--json")
    document = json.loads(ran.out)
    schema = json.loads((ROOT / "docs/analysis.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(document)
    assert (document["parser"]["calls"] is None) is (name == "reasoning-in-prompt-words")
