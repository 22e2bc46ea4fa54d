"""Encoders in Python: what a function takes, gives and does, and that all of it is analysed."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from autoparser import AutoparserError, analyze, load_encoder
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.provenance import Provenance, SourceKind

ROOT = Path(__file__).resolve().parents[3]
DASHES = f"{ROOT}/fixtures/encoders/dashes.py"
USER = [{"role": "user", "content": "hi"}]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}


def encoder(tmp_path: Path, code: str, values: str = "") -> Any:
    """Load the function `f` of a module with this code."""
    path = tmp_path / "made.py"
    path.write_text(code)
    return load_encoder(f"{path}:f{values}")


def test_the_format_of_an_encoder_is_found() -> None:
    template = load_encoder(f"{DASHES}:encode_messages")
    analysis = analyze(template)
    assert analysis.check.ok
    markers = analysis.markers
    assert (markers.reasoning_start, markers.reasoning_end) == ("<think>", "</think>")
    assert (markers.tool_section_start, markers.func_name_prefix) == (
        "<-calls>",
        '<-invoke name="',
    )
    assert [(switch.name, switch.values) for switch in analysis.switches] == [
        ("thinking_mode", ("thinking", "chat")),
        ("drop_thinking", (True, False)),
    ]
    assert template.source == Provenance(
        SourceKind.ENCODER, f"{DASHES}:encode_messages?thinking_mode=thinking", ran_code=True
    )
    message = analysis.parser().parse(
        'so</think>yes\n\n<-calls>\n<-invoke name="f">\n<-param name="a" string="true">x</-param>'
        "\n</-invoke>\n</-calls><-end->"
    )
    assert (message.reasoning_content, message.content) == ("so", "yes")
    assert [(call.name, call.arguments) for call in message.tool_calls] == [("f", '{"a": "x"}')]


def test_what_must_be_given_has_the_first_value_that_is_mentioned() -> None:
    template = load_encoder(f"{DASHES}:encode_messages")
    assert template.render(USER, add_generation_prompt=True).endswith("<-model-><think>")
    chat = load_encoder(f"{DASHES}:encode_messages?thinking_mode=chat")
    assert chat.render(USER, add_generation_prompt=True).endswith("<-model-></think>")
    shown = chat.render(USER, None, True, thinking_mode="thinking")
    assert shown.endswith("<-model-><think>")


def test_the_start_of_a_turn_that_is_written_unasked_is_taken_off() -> None:
    template = load_encoder(f"{DASHES}:encode_messages")
    assert template.render(USER) == "<-begin-><-user->hi"


def test_a_prompt_that_begins_like_a_user(tmp_path: Path) -> None:
    code = (
        "def f(messages):\n"
        "    text = ''.join(f\"<|im|>{m['role']}\\n{m['content']}<|e|>\\n\" for m in messages)\n"
        "    return text + '<|im|>assistant\\n' * (messages[-1]['role'] == 'user')\n"
    )
    template = encoder(tmp_path, code)
    assert template.render(USER) == "<|im|>user\nhi<|e|>\n"
    assert template.render(USER, None, True) == "<|im|>user\nhi<|e|>\n<|im|>assistant\n"


@pytest.mark.parametrize(
    ("signature", "values", "options", "given"),
    [
        ("messages", "", {}, {}),
        ("conversation, tools", "", {"tools": [TOOL]}, {"tools": [TOOL]}),
        ("tools, messages", "", {}, {"tools": None}),
        ("m, *, add_generation_prompt", "", {"add_generation_prompt": True}, None),
        ("m, mode='a'", "", {"mode": "b"}, {"mode": "b"}),
        ("m, mode='a'", "?mode=c", {}, {"mode": "c"}),
        ("m, deep=False", "?deep=true", {}, {"deep": True}),
        ("m, mode='a'", "", {"other": 1}, {"mode": "a"}),
        ("m, **others", "", {"other": 1}, {"others": {"other": 1}}),
    ],
)
def test_what_a_function_takes(
    tmp_path: Path,
    signature: str,
    values: str,
    options: dict[str, Any],
    given: dict[str, object] | None,
) -> None:
    code = (
        f"def f({signature}):\n"
        "    seen = dict(locals())\n"
        "    seen.pop('messages', None) or seen.pop('m', None) or seen.pop('conversation')\n"
        "    return repr(seen)\n"
    )
    expected = {"add_generation_prompt": True} if given is None else given
    assert encoder(tmp_path, code, values).render(USER, **options) == repr(expected)


def test_tools_without_a_parameter_are_in_the_system_message(tmp_path: Path) -> None:
    template = encoder(tmp_path, "def f(messages):\n    return repr(messages[0])\n")
    system = {"role": "system", "content": "S"}
    assert template.render([system, *USER], [TOOL]) == repr({**system, "tools": [TOOL]})
    assert template.render(USER, [TOOL]) == repr({"role": "system", "content": "", "tools": [TOOL]})
    assert template.render(USER) == repr(USER[0])


def test_ids_are_read_by_a_tokenizer(tmp_path: Path) -> None:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    # As GPT-2 orders them: printable bytes are their own letters.
    letters = [letter for letter in map(chr, range(256)) if letter in alphabet]
    vocabulary = {letter: ord(letter) for letter in letters}
    spare = [letter for letter in alphabet if ord(letter) > 255]
    missing = [byte for byte in range(256) if chr(byte) not in letters]
    vocabulary |= dict(zip(sorted(spare, key=ord), missing, strict=True))
    tokenizer: Any = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    template = load_encoder(f"{DASHES}:encode_to_ids", tokenizer=tmp_path)
    assert template.render(USER, None, True) == "[user]hi\n[assistant]"
    assert template.render(USER) == "[user]hi\n"


def test_it_works_on_a_copy(tmp_path: Path) -> None:
    code = "def f(m):\n    m[0]['content'] += '!'\n    return m[0]['content']\n"
    template = encoder(tmp_path, code)
    messages = [{"role": "user", "content": "hi"}]
    assert [template.render(messages) for _ in range(2)] == ["hi!", "hi!"]


@pytest.mark.parametrize(
    ("body", "words", "refused", "line"),
    [
        ("raise ValueError('not so')", "not so", True, 2),
        ("assert not m, 'never'", "never", True, 2),
        ("return m[0]['nothing']", "KeyError: 'nothing'", False, 2),
        ("import sys; sys.exit(3)", "SystemExit: 3", False, 2),
        ("return [].x", "AttributeError: 'list' object has no attribute 'x'", False, 2),
        ("return f(m)", "RecursionError: maximum recursion depth exceeded", False, 2),
    ],
)
def test_what_it_raises_is_an_error_of_a_template(
    tmp_path: Path, body: str, words: str, refused: bool, line: int
) -> None:
    template = encoder(tmp_path, f"def f(m):\n    {body}\n")
    with pytest.raises(TemplateRenderError) as caught:
        template.render(USER)
    error = caught.value
    assert (error.reason.startswith(words), error.refused, error.line) == (True, refused, line)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def g(m): pass", "this module has no function 'f'; it has g"),
        ("f = 3", "this module has no function 'f'; it has none"),
        ("def f(): pass", "the function takes nothing"),
        ("def f(m, mode): pass", "the function wants mode, and nothing says what that may be"),
        ("import nothing_of_this_name", "the module cannot be imported (ModuleNotFoundError:"),
        ("1 / 0", "the module cannot be imported (ZeroDivisionError: division by zero)"),
        ("def f(", "the module cannot be imported (SyntaxError:"),
        ("raise SystemExit", "the module cannot be imported (SystemExit: )"),
    ],
)
def test_a_module_that_is_none(tmp_path: Path, code: str, words: str) -> None:
    with pytest.raises(AutoparserError) as caught:
        encoder(tmp_path, code)
    assert words in str(caught.value)
    assert str(caught.value).isprintable()


def test_what_gives_neither_text_nor_ids(tmp_path: Path) -> None:
    template = encoder(tmp_path, "def f(m): return {'text': 1}")
    with pytest.raises(AutoparserError, match="the function gives a dict, neither a text nor"):
        template.render(USER)


def test_it_is_loaded_by_the_name_of_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "made_package").mkdir()
    (tmp_path / "made_package" / "__init__.py").write_text("")
    (tmp_path / "made_package" / "encoding.py").write_text("def f(m): return m[0]['content']\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert load_encoder("made_package.encoding:f").render(USER) == "hi"


def test_a_neighbour_is_found(tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_made.py").write_text("WORD = 'there'\n")
    code = "from neighbour_of_made import WORD\ndef f(m): return WORD\n"
    assert encoder(tmp_path, code).render(USER) == "there"


def test_another_process_makes_its_own() -> None:
    template = load_encoder(f"{DASHES}:encode_messages?thinking_mode=chat")
    copy = pickle.loads(pickle.dumps(template))  # noqa: S301 - made here
    assert copy.render(USER, None, True) == template.render(USER, None, True)


def test_there_is_no_jinja_to_read() -> None:
    tree = load_encoder(f"{DASHES}:encode_messages").syntax_tree
    assert list(tree.iter_child_nodes()) == []
