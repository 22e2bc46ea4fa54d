"""``autoparser render``: the prompt, its tokens, the training template, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from autoparser import load_template
from tests.analysis.history.vocabularies import small

from .conftest import Run

XML = "fixtures/templates/a1-function-parameter.jinja"
MESSAGES = """
- {role: user, content: "Weather?"}
- role: assistant
  reasoning_content: Hm.
  content: "Sunny 🚀."
- {role: user, content: "Thanks!"}
"""


@pytest.fixture
def messages(tmp_path: Path) -> Path:
    file = tmp_path / "messages.yaml"
    file.write_text(MESSAGES, encoding="utf-8")
    return file


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    file = tmp_path / "tokenizer.json"
    small().save(str(file))
    return file


def test_the_prompt_is_what_the_template_renders_and_nothing_more(
    autoparser: Run, messages: Path
) -> None:
    ran = autoparser("render", XML, "--messages", messages)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "<|im_start|>user\nWeather?<|im_end|>\n"
        "<|im_start|>assistant\n<think>\nHm.\n</think>\n\nSunny 🚀.<|im_end|>\n"
        "<|im_start|>user\nThanks!<|im_end|>\n"
        "<|im_start|>assistant\n<think>\n"
    )


def test_a_switch_and_the_end_of_the_prompt_are_asked_for(autoparser: Run, messages: Path) -> None:
    off = autoparser("render", XML, "--messages", messages, "--switch", "enable_thinking=false")
    assert off.out.endswith("assistant\n<think>\n\n</think>\n\n")
    none = autoparser("render", XML, "--messages", messages, "--no-generation-prompt")
    assert none.out.endswith("Thanks!<|im_end|>\n")


def test_a_conversation_of_an_assistant_has_no_prompt_behind_it(
    autoparser: Run, tmp_path: Path
) -> None:
    file = tmp_path / "messages.json"
    file.write_text(
        json.dumps(
            {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
        )
    )
    ran = autoparser("render", XML, "--messages", file)
    assert ran.out.endswith("b<|im_end|>\n")


def test_tokens_are_shown_under_their_messages_with_the_loss_mask(
    autoparser: Run, messages: Path, tokenizer: Path
) -> None:
    ran = autoparser("render", XML, "--messages", messages, "--tokens", "--tokenizer", tokenizer)
    assert (ran.code, ran.err) == (0, "")
    assert all(len(line) <= 80 for line in ran.out.splitlines())
    assert ran.out == SHOWN


SHOWN = """\
74 tokens, 18 in the loss mask, 27 of the messages' own text
  · stands between two tokens, ‥ for a token that goes on in a character; loss:
  the model writes it; text: the message brought it
  ↵ is a newline

0 user                   <|im_start|>·u·s·e·r·↵
                   text  W·e·a·the·r·?
                         <|im_end|>·↵
1 assistant              <|im_start|>·a·s·s·i·s·t·a·n·t·↵·<think>·↵
              loss text  H·m·.
              loss       ↵·</think>·↵↵
              loss text  S·u·n·n·y· ·🚀·‥·‥·‥·.
              loss       <|im_end|>
                         ↵
2 user                   <|im_start|>·u·s·e·r·↵
                   text  T·h·a·n·k·s·!
                         <|im_end|>·↵
template                 <|im_start|>·a·s·s·i·s·t·a·n·t·↵·<think>·↵
"""


def test_tokens_as_json(autoparser: Run, messages: Path, tokenizer: Path) -> None:
    ran = autoparser(
        "render", XML, "--messages", messages, "--tokens", "--tokenizer", tokenizer, "-f", "json"
    )
    document = json.loads(ran.out)
    tokens = document["tokens"]
    jsonschema.validate(document, json.loads(Path("docs/tokens.schema.json").read_text("utf-8")))
    template = load_template(XML)
    text = "".join(token["text"] for token in tokens)
    assert autoparser("render", XML, "--messages", messages).out == text
    assert template.render([{"role": "user", "content": "x"}])
    stop = [token for token in tokens if token["text"] == "<|im_end|>"]
    assert [(token["role"], token["loss"]) for token in stop] == [
        ("user", False),
        ("assistant", True),
        ("user", False),
    ]


def test_a_tokenizer_beside_the_template_is_taken(
    autoparser: Run, messages: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "chat_template.jinja").write_text(Path(XML).read_text("utf-8"), encoding="utf-8")
    small().save(str(model / "tokenizer.json"))
    assert autoparser("render", model, "--messages", messages, "--tokens").out == SHOWN


def test_a_tokenizer_of_another_model_is_warned_of(
    autoparser: Run, messages: Path, tmp_path: Path
) -> None:
    file = tmp_path / "other.json"
    small("<think>").save(str(file))
    ran = autoparser("render", XML, "--messages", messages, "--tokens", "--tokenizer", file)
    assert ran.code == 0
    assert ran.err == (
        f"{file}: warning: the stop string <|im_end|> is 10 tokens:"
        " is this the model's own tokenizer?\n"
    )


def test_a_training_template_is_written_and_its_proof_told(autoparser: Run, tmp_path: Path) -> None:
    file = tmp_path / "training.jinja"
    ran = autoparser("render", XML, "--format", "training-template", "--output", file)
    assert (ran.code, ran.out) == (0, "")
    masked, same = ran.err.splitlines()
    assert masked == (
        f"{XML}: with markers around the same template: the same text in 266 conversations"
        " (0 refused by both), the markers as autoparser's loss mask in 266 of 266"
    )
    assert "none raises that did not. Of them" in same
    assert all(kind in same for kind in ("with tools", "with reasoning", "with several turns"))
    assert load_template(str(file)).marks_generation


def test_turns_that_a_template_marks_otherwise_are_named(autoparser: Run, tmp_path: Path) -> None:
    marked = tmp_path / "marked.jinja"
    marked.write_text(
        "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}[a]{{ m.content }}[e]"
        "{% endgeneration %}{% else %}[u]{{ m.content }}[e]{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}[a]{% endif %}"
    )
    ran = autoparser("render", marked, "--format", "training-template")
    assert (ran.code, ran.out) == (1, marked.read_text())
    first, named, *_ = ran.err.splitlines()
    assert first.startswith(f"{marked}: it has markers itself: the same text in")
    assert "a turn of calls (message 2 of user, assistant, tool, and 11 more) is not" in named
    assert named.endswith("is not marked as the model writes it: marked: «[a]»")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("mesages: []", "this has no messages; did you mean messages for mesages? add a list"),
        ("[]", "messages: this is empty; write a list of {role: user"),
        ("text", "messages: this is a text, not a list; write a list of"),
        ("- text", "messages[0]: this is a text, not an object; write {role: user"),
        ("- {rol: user}", "messages[0]: this has no role; did you mean role for rol? add one"),
        ("- {role: user", "line 1, column 14: broken YAML: "),
        (
            "- {role: user, contnt: a}",
            "messages[0]: this message says nothing; did you mean content for contnt? add",
        ),
        ("- {role: user, content: 5}", "messages[0].content: this is a number, not a text or"),
        (
            "- {role: user, content: 2025-01-01}",
            "messages[0].content: this is a date, not a text or a list or an object; put it in",
        ),
        (
            "- {role: assistant, tool_calls: {name: f}}",
            "messages[0].tool_calls: this is an object, not a list; write a list of {type: ",
        ),
        (
            "- {role: assistant, tool_calls: [{function: {arguments: {}}}]}",
            "messages[0].tool_calls[0].function: this has no name; add a name, as in {type",
        ),
    ],
    ids=[
        "key",
        "empty",
        "text",
        "item",
        "role",
        "broken",
        "contnt",
        "number",
        "date",
        "calls",
        "call",
    ],
)
def test_messages_that_are_none_are_refused_in_one_line(
    autoparser: Run, tmp_path: Path, content: str, said: str
) -> None:
    file = tmp_path / "messages.yaml"
    file.write_text(content)
    ran = autoparser("render", XML, "--messages", file)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert f"{file}: {said}" in ran.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "there is no conversation to render; give --messages FILE"),
        (("--format", "yaml"), "'yaml' is not one of 'text', 'json', 'training-template'"),
        (
            ("--format", "training-template", "--messages", "M", "--switch", "a=1"),
            "--format training-template writes the template, not a conversation; leave out"
            " --messages, --switch",
        ),
        (("--messages", "M", "-f", "json"), "--format json is about tokens or a trace"),
        (("--messages", "M", "--tokenizer", "x"), "--tokenizer is about tokens; add --tokens"),
        (
            ("--messages", "M", "--tokens"),
            "--tokens needs a tokenizer, and there is none beside the template; name it",
        ),
        (
            ("--messages", "M", "--tokens", "--tokenizer", "x.json"),
            "x.json: there is no tokenizer here",
        ),
        (("--messages", "M", "--switch", "thinking"), "'thinking' sets no variable; give --switch"),
        (("--messages", "M", "--switch", "tools=1"), "tools is not a switch; "),
    ],
    ids=["nothing", "form", "to", "json", "tokenizer", "needed", "missing", "switch", "passed"],
)
def test_uses_that_make_no_sense_are_refused_in_one_line(
    autoparser: Run, messages: Path, options: tuple[str, ...], said: str
) -> None:
    ran = autoparser("render", XML, *(messages if each == "M" else each for each in options))
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert said in ran.err


def test_a_template_that_refuses_is_quoted(autoparser: Run, tmp_path: Path) -> None:
    template, file = tmp_path / "t.jinja", tmp_path / "messages.yaml"
    template.write_text("{{ raise_exception('roles must alternate') }}")
    file.write_text("- {role: user, content: a}")
    ran = autoparser("render", template, "--messages", file)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (f"{template}: line 1: refuses the conversation: roles must alternate\n")


def test_a_switch_that_the_template_never_reads_is_warned_of(
    autoparser: Run, messages: Path
) -> None:
    ran = autoparser("render", XML, "--messages", messages, "--switch", "enable_thinkin=true")
    assert ran.code == 0
    assert ran.err == (
        f"{XML}: warning: this template reads no variable 'enable_thinkin';"
        " did you mean enable_thinking?\n"
    )


DEBUGGING = Path("fixtures/debugging")


def traced(document: Any) -> list[tuple[str, int]]:
    """Return the pieces of the prompt with the lines that wrote them."""
    return [
        (piece["text"], document["sites"][piece["site"]]["line"]) for piece in document["pieces"]
    ]


def test_a_trace_as_json_is_by_its_schema_and_holds_the_prompt(
    autoparser: Run, messages: Path
) -> None:
    ran = autoparser("render", XML, "--messages", messages, "--trace", "-f", "json")
    document = json.loads(ran.out)
    schema = json.loads(Path("docs/trace.schema.json").read_text("utf-8"))
    jsonschema.validate(document, schema)
    prompt = autoparser("render", XML, "--messages", messages).out
    assert document["prompt"] == "".join(text for text, _ in traced(document)) == prompt
    source = Path(XML).read_text("utf-8").split("\n")
    for text, line in traced(document):
        assert "{{" in source[line - 1] or text.split("\n")[0] in source[line - 1]
    tests = {step["held"] for step in document["steps"] if step["kind"] == "test"}
    assert tests == {True, False}


def test_a_trace_goes_up_to_where_the_template_fails(autoparser: Run, tmp_path: Path) -> None:
    failing = ("render", DEBUGGING / "adds-a-list.jinja", "--messages", DEBUGGING / "parts.yaml")
    plain, text = autoparser(*failing), autoparser(*failing, "--trace")
    assert (text.code, text.err) == (plain.code, plain.err)
    assert text.code == 2
    assert text.out in Path("docs/render.md").read_text("utf-8")
    file = tmp_path / "trace.json"
    assert autoparser(*failing, "--trace", "-f", "json", "-o", file).code == 2
    document = json.loads(file.read_text("utf-8"))
    assert document["prompt"] == "<user>Hello.</user>\n"
    assert document["failure"]["line"] == 3
    (ended,) = document["failure"]["ended_in"]
    assert ended["seen"][0]["name"] == "message.content"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--trace", "--tokens"], "leave one of them out"),
        (["-f", "json"], "add --tokens or --trace"),
        (["--trace", "--tokenizer", "x"], "add --tokens"),
    ],
)
def test_a_trace_is_not_of_tokens(
    autoparser: Run, messages: Path, options: list[str], words: str
) -> None:
    ran = autoparser("render", XML, "--messages", messages, *options)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err


def test_a_trace_of_an_encoder_knows_no_lines(autoparser: Run, messages: Path) -> None:
    encoder = "fixtures/encoders/dashes.py:encode_messages"
    ran = autoparser("render", "--encoder", encoder, "--messages", messages, "--trace")
    plain = autoparser("render", "--encoder", encoder, "--messages", messages)
    assert ran.code == plain.code
    assert "written by code" in ran.out
    assert "     ?  " in ran.out


def test_a_special_token_that_is_missing_is_named_with_the_way_to_give_it(
    autoparser: Run, messages: Path, tmp_path: Path
) -> None:
    template = tmp_path / "chat.jinja"
    template.write_text("{{ bos_token + messages[0].content }}", encoding="utf-8")
    ran = autoparser("render", template, "--messages", messages)
    assert ran.code == 2
    assert "'bos_token' is undefined; name the model's directory" in ran.err
    given = autoparser("render", template, "--messages", messages, "--switch", "bos_token=<s>")
    assert given.code == 0
    assert given.out.startswith("<s>")
