"""A tokenizer that is named, or lies beside the template: what commands do with it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import jsonschema
import pytest
from tokenizers import Tokenizer

from tests.analysis.history.vocabularies import small, tiny

from .conftest import ROOT, Run

XML = "fixtures/templates/a1-function-parameter.jinja"
J1 = "fixtures/templates/j1-json-in-tags.jinja"
GOOD = "fixtures/templates/history-last-query.jinja"
MESSAGES = """
- {role: user, content: "Weather?"}
- role: assistant
  reasoning_content: Hm.
  content: "Sunny 🚀."
- {role: user, content: "Thanks!"}
"""
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


@pytest.fixture
def messages(tmp_path: Path) -> Path:
    file = tmp_path / "messages.yaml"
    file.write_text(MESSAGES, encoding="utf-8")
    return file


def saved(tokenizer: Tokenizer, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def model_of(template: str, tokenizer: Tokenizer, folder: Path) -> Path:
    """Make a directory of a model: a template, and a tokenizer beside it."""
    saved(tokenizer, folder)
    shutil.copy(ROOT / template, folder / "chat_template.jinja")
    return folder


def test_tokens_are_shown_under_their_messages_with_the_loss_mask(
    autoparser: Run, messages: Path, tmp_path: Path
) -> None:
    file = saved(small(), tmp_path) / "tokenizer.json"
    asked = ("render", XML, "--messages", messages, "--tokens")
    named = autoparser(*asked, "--tokenizer", file)
    assert (named.code, named.err, named.out) == (0, "", SHOWN)
    model = model_of(XML, small(), tmp_path / "model")
    assert autoparser("render", model, *asked[2:]).out == SHOWN


def test_tokens_as_json_are_the_prompt_with_the_loss_mask(
    autoparser: Run, messages: Path, tmp_path: Path
) -> None:
    asked = ("render", XML, "--messages", messages)
    tokenizer = saved(small(), tmp_path)
    ran = autoparser(*asked, "--tokens", "--tokenizer", tokenizer, "-f", "json")
    document = json.loads(ran.out)
    jsonschema.validate(document, json.loads(Path("docs/tokens.schema.json").read_text("utf-8")))
    tokens = document["tokens"]
    assert "".join(token["text"] for token in tokens) == autoparser(*asked).out
    stop = [token for token in tokens if token["text"] == "<|im_end|>"]
    assert [(token["role"], token["loss"]) for token in stop] == [
        ("user", False),
        ("assistant", True),
        ("user", False),
    ]


def test_a_tokenizer_of_another_model_is_warned_of(
    autoparser: Run, messages: Path, tmp_path: Path
) -> None:
    file = saved(small("<think>"), tmp_path) / "tokenizer.json"
    ran = autoparser("render", XML, "--messages", messages, "--tokens", "--tokenizer", file)
    words = "the stop string <|im_end|> is 10 tokens: is this the model's own tokenizer?"
    assert (ran.code, ran.err) == (0, f"{file}: warning: {words}\n")
    ran = autoparser("roundtrip", GOOD, "--tokenizer", file, "--scenario", "answer")
    assert "is this the model's own tokenizer?" in " ".join(ran.out.split())


def test_reused_tokens_are_counted_by_the_tokenizer_beside_the_template(
    tmp_path: Path, autoparser: Run
) -> None:
    choice = ("--scenario", "many parameters")
    model = model_of(GOOD, tiny("<|im_start|>", "<|im_end|>"), tmp_path / "model")
    for arguments in ((model,), (GOOD, "--tokenizer", model)):
        ran = autoparser("roundtrip", *arguments, *choice)
        row = next(line for line in ran.out.splitlines() if line.startswith("many parameters"))
        reused, _, sampled = row.split()[4].partition("/")
        assert int(reused) == int(sampled) > 0


@pytest.mark.slow
def test_a_report_plots_the_masks_of_its_tokenizer(tmp_path: Path, autoparser: Run) -> None:
    folder = saved(tiny("<|im_start|>", "<|im_end|>"), tmp_path)
    ran = autoparser("report", J1, "--tokenizer", folder)
    assert (ran.code, ran.err) == (0, "")
    assert "masks: median" in ran.out
