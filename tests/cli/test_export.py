"""The command ``export``: the document, what it lacks, the check, and every way to ask wrongly."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers.utils.chat_parsing import parse_response

from autoparser.analysis.export import response_template as export_trial

Run = Callable[..., Any]
WHOLE = "fixtures/templates/j1-json-in-tags.jinja"
IN_PART = "fixtures/templates/a1-8-indented.jinja"


def test_the_document_is_printed_alone(autoparser: Run) -> None:
    ran = autoparser("export", WHOLE)
    document = json.loads(ran.out)
    assert ran.code == 0
    assert ran.out.isascii()
    message = parse_response("Hello.<|im_end|>", document, prefix="<|im_start|>assistant\n")
    assert message == {"role": "assistant", "content": "Hello."}
    assert ran.err.splitlines() == [
        "The whole format is expressed.",
        "The target's own parser gives back 47 of 47 messages: 13 with content, 11 with",
        "reasoning, 39 with calls, 8 with several calls.",
    ]


def test_what_is_not_expressed_is_said_by_part(autoparser: Run) -> None:
    ran = autoparser("export", IN_PART)
    assert ran.code == 1
    assert json.loads(ran.out)["version"] == 1
    assert ran.err.splitlines() == [
        "Parts of the format are not expressed:",
        "  typed arguments  array, object: not written as JSON, nor as a word that the",
        "                   target knows",
        "Arguments are typed by the tools' schemas: without the tools, they are texts.",
        "The target's own parser gives back 40 of 40 messages: 13 with content, 11 with",
        "reasoning, 32 with calls, 8 with several calls.",
        "7 more have parts that are not expressed, and were left out.",
    ]


def test_a_document_goes_to_a_file(autoparser: Run, tmp_path: Path) -> None:
    file = tmp_path / "response_template.json"
    ran = autoparser("export", WHOLE, "-o", file)
    assert (ran.code, ran.out) == (0, "")
    assert file.read_text("utf-8") == autoparser("export", WHOLE).out


def test_the_check_can_be_left_out(autoparser: Run) -> None:
    ran = autoparser("export", WHOLE, "--no-check")
    assert ran.code == 0
    assert ran.err.splitlines()[1:] == ["Not checked with the target's own parser."]


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--check",), 2)])
def test_without_transformers_only_a_check_that_is_asked_for_fails(
    autoparser: Run, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], code: int
) -> None:
    monkeypatch.setattr(export_trial, "TARGET_PACKAGE", "no_such_package")
    ran = autoparser("export", WHOLE, *options)
    assert ran.code == code
    if code:
        assert ran.err.count("\n") == 1
        assert "there is no transformers whose parser could check the export" in ran.err
    else:
        assert "Not checked" in ran.err


def test_a_token_that_is_not_known_is_no_part_of_a_document(
    autoparser: Run, tmp_path: Path
) -> None:
    template = tmp_path / "chat_template.jinja"
    template.write_text(
        "{% for m in messages %}{{ bos_token }}{{ m.role }}\n{{ m.content }}{{ eos_token }}"
        "{% endfor %}{% if add_generation_prompt %}{{ bos_token }}assistant\n{% endif %}",
        "utf-8",
    )
    ran = autoparser("export", template)
    assert ran.code == 1
    assert "warning: the bos_token is not known, and <bos_token> stands for it" in ran.err
    (tmp_path / "tokenizer_config.json").write_text(
        '{"bos_token": "<s>", "eos_token": "</s>"}', "utf-8"
    )
    ran = autoparser("export", tmp_path)
    assert ran.code == 0
    assert "warning" not in ran.err
    assert json.loads(ran.out)["start_anchor"] == "<s>assistant\n"


def test_the_models_own_end_is_no_content_where_the_template_writes_another(
    autoparser: Run, tmp_path: Path
) -> None:
    template = Path(WHOLE).read_text("utf-8")
    (tmp_path / "chat_template.jinja").write_text(template, "utf-8")
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<|the-end|>"}', "utf-8")
    document = json.loads(autoparser("export", tmp_path, "--no-check").out)
    said = 'Well.\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    read = [
        parse_response(f"{said}{end}", document, prefix="<|im_start|>assistant\n")
        for end in ("", "<|im_end|>", "<|the-end|>")
    ]
    assert [message["content"] for message in read] == ["Well."] * 3
    assert read[0] == read[1] == read[2]


WRONG = [
    # options, words of the error
    ((WHOLE, "--format", "gbnf"), "'gbnf' is not one of 'response-template'"),
    (("fixtures/broken/raises-always.jinja",), "raises-always.jinja"),
    (("no/such.jinja",), "no/such.jinja"),
    (("fixtures/broken/renders-nothing.jinja",), "renders-nothing.jinja"),
    ((WHOLE, "-o", WHOLE), "--output would overwrite the template"),
    ((WHOLE, "-o", "no/such/folder/file.json"), "cannot be written"),
]


@pytest.mark.parametrize(("options", "words"), WRONG)
def test_a_wrong_use_is_one_line(autoparser: Run, options: tuple[str, ...], words: str) -> None:
    ran = autoparser("export", *options)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert words in ran.err
