"""Encoders in Python: parameters, results and failures, and their analysis."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models

from autoparser import AutoparserError, analyze, load_encoder
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.provenance import Provenance, SourceKind
from autoparser.analysis.sources.token_bytes import byte_letters
from tests.case_tables import case_tables

DASHES = Path(__file__).resolve().parents[3] / "fixtures/encoders/dashes.py"
USER = [{"role": "user", "content": "hi"}]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}


table = case_tables(__file__, "sources.yaml")


def encoder(tmp_path: Path, code: str, values: str = "") -> Any:
    """Load the function `f` of a module with this code."""
    path = tmp_path / "made.py"
    path.write_text(code)
    return load_encoder(f"{path}:f{values}")


def test_encoder_format_is_learned() -> None:
    template = load_encoder(f"{DASHES}:encode_messages")
    analysis = analyze(template)
    assert analysis.check.ok
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


def test_required_encoder_arguments_get_their_first_mentioned_value() -> None:
    template = load_encoder(f"{DASHES}:encode_messages")
    assert template.render(USER, add_generation_prompt=True).endswith("<-model-><think>")
    chat = load_encoder(f"{DASHES}:encode_messages?thinking_mode=chat")
    assert chat.render(USER, add_generation_prompt=True).endswith("<-model-></think>")
    shown = chat.render(USER, None, True, thinking_mode="thinking")
    assert shown.endswith("<-model-><think>")


def test_unrequested_generation_prompt_is_removed(tmp_path: Path) -> None:
    template: Any = load_encoder(f"{DASHES}:encode_messages")
    assert template.render(USER) == "<-begin-><-user->hi"
    # An encoder whose generation prompt begins like a user's turn.
    code = (
        "def f(messages):\n"
        "    text = ''.join(f\"<|im|>{m['role']}\\n{m['content']}<|e|>\\n\" for m in messages)\n"
        "    return text + '<|im|>assistant\\n' * (messages[-1]['role'] == 'user')\n"
    )
    template = encoder(tmp_path, code)
    assert template.render(USER) == "<|im|>user\nhi<|e|>\n"
    assert template.render(USER, None, True) == "<|im|>user\nhi<|e|>\n<|im|>assistant\n"


@table("signatures")
def test_encoder_gets_only_its_parameters(tmp_path: Path, case: Any) -> None:
    code = (
        f"def f({case['signature']}):\n"
        "    seen = dict(locals())\n"
        "    seen.pop('messages', None) or seen.pop('m', None) or seen.pop('conversation')\n"
        "    return repr(seen)\n"
    )
    text = encoder(tmp_path, code, case["values"]).render(USER, **case["options"])
    assert text == repr(case["given"])


def test_tools_without_a_parameter_go_into_the_system_message(tmp_path: Path) -> None:
    template = encoder(tmp_path, "def f(messages):\n    return repr(messages[0])\n")
    system = {"role": "system", "content": "S"}
    assert template.render([system, *USER], [TOOL]) == repr({**system, "tools": [TOOL]})
    assert template.render(USER, [TOOL]) == repr({"role": "system", "content": "", "tools": [TOOL]})
    assert template.render(USER) == repr(USER[0])


def test_token_ids_from_an_encoder_are_decoded(tmp_path: Path) -> None:
    vocabulary = {letter: byte for byte, letter in enumerate(byte_letters())}
    tokenizer: Any = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    template = load_encoder(f"{DASHES}:encode_to_ids", tokenizer=tmp_path)
    assert template.render(USER, None, True) == "[user]hi\n[assistant]"
    assert template.render(USER) == "[user]hi\n"


def test_encoder_gets_a_copy_and_must_return_text_or_ids(tmp_path: Path) -> None:
    code = "def f(m):\n    m[0]['content'] += '!'\n    return m[0]['content']\n"
    template = encoder(tmp_path, code)
    messages = [{"role": "user", "content": "hi"}]
    assert [template.render(messages) for _ in range(2)] == ["hi!", "hi!"]
    template = encoder(tmp_path, "def f(m): return {'text': 1}")
    with pytest.raises(AutoparserError, match="the function returned a dict, not a string or"):
        template.render(USER)


@table("encoder_failures")
def test_encoder_exception_is_a_template_error(tmp_path: Path, case: Any) -> None:
    template = encoder(tmp_path, f"def f(m):\n    {case['body']}\n")
    with pytest.raises(TemplateRenderError) as caught:
        template.render(USER)
    assert caught.value.reason.startswith(case["words"])
    assert (caught.value.refused, caught.value.line) == (case["refused"], case["line"])


@table("not_encoders")
def test_unloadable_encoder_module_error_is_one_line(tmp_path: Path, case: Any) -> None:
    with pytest.raises(AutoparserError) as caught:
        encoder(tmp_path, case["code"])
    assert case["words"] in str(caught.value)
    assert str(caught.value).isprintable()


def test_encoder_module_is_found_by_package_name_and_imports_neighbors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "made_package").mkdir()
    (tmp_path / "made_package" / "encoding.py").write_text("def f(m): return m[0]['content']\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert load_encoder("made_package.encoding:f").render(USER) == "hi"
    (tmp_path / "neighbor_of_made.py").write_text("WORD = 'there'\n")
    code = "from neighbor_of_made import WORD\ndef f(m): return WORD\n"
    assert encoder(tmp_path, code).render(USER) == "there"


def test_encoder_is_loaded_again_in_another_process() -> None:
    template = load_encoder(f"{DASHES}:encode_messages?thinking_mode=chat")
    copy = pickle.loads(pickle.dumps(template))  # noqa: S301 - made here
    assert copy.render(USER, None, True) == template.render(USER, None, True)
    assert list(template.syntax_tree.iter_child_nodes()) == []
