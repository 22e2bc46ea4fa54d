"""Public values show themselves: one line, a report, rich, a notebook."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from html import unescape
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from tokenizers import Tokenizer, models

from autoparser import (
    Analysis,
    ChatTemplate,
    Example,
    Message,
    Renderer,
    analyze,
    learn,
    load_format,
    round_trip,
)
from autoparser.analysis.lint.linting import lint
from autoparser.analysis.lint.registry import rules_of
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.sources.token_bytes import byte_tokenizer
from autoparser.errors import TemplateNotFoundError
from autoparser.reports.analysis import screen_report
from autoparser.roundtrip import shipped_scenarios
from autoparser.shown import Shown

ROOT = Path(__file__).parent.parent
FILE = ROOT / "fixtures/templates/j1-json-in-tags.jinja"
TOOLS = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]
ASKED = [{"role": "user", "content": "Hello."}]
HOSTILE = "<b>&amp; [red]x[/red]\x1b[31m"


@cache
def analysis() -> Analysis:
    return analyze(FILE)


@cache
def shown_values() -> dict[str, Shown]:
    found = lint(Subject(analysis().template, analysis=analysis()), rules_of("AP503"))
    assert found.findings
    return {
        "analysis": analysis(),
        "message": analysis().parser().parse(f"{HOSTILE} Hello. {'so ' * 30}"),
        "grammar": analysis().grammar(TOOLS, tool_choice="required"),
        "findings": found,
        "finding": found.findings[0],
        "round trip": round_trip(analysis(), shipped_scenarios()[:2]),
    }


@pytest.mark.parametrize("name", ["analysis", "message", "grammar", "findings", "round trip"])
def test_value_has_a_short_repr_and_one_report_everywhere(name: str) -> None:
    value = shown_values()[name]
    line = repr(value)
    assert line.startswith(f"<{type(value).__name__}")
    assert "\n" not in line
    assert len(line) < 200
    report = value.report()
    for width in (80, 60):
        lines = value.report(width=width).splitlines()
        # The next command is never cut, so that it can be pasted.
        assert all(len(line) <= width for line in lines if not line.startswith("Next"))
    assert words_of(value._repr_html_()) == report.split()
    console = Console(file=StringIO(), width=80, record=True)
    console.print(value)
    assert console.export_text().split() == report.split()


def test_values_of_an_analysis_have_one_line_reprs() -> None:
    of, parser = analysis(), analysis().parser(TOOLS)
    renderer = Renderer(of, byte_tokenizer(()))
    stream = parser.stream()
    stream.feed("Hello.")
    taught = learn(of, [Example("Hello.<|im_end|>", Message("Hello."))])
    values = [
        *(of.template, of.format, of.formats, of.view, parser, stream, renderer),
        *(renderer.render(ASKED), taught, of.markers, of.phases[0], of.phases[0].evidence[0]),
    ]
    turn = "<TurnFormat: '<|im_start|>assistant\\n' reasoning, content, calls until '<|im_end|>'>"
    assert [repr(value) for value in values] == [
        f"<ChatTemplate of {FILE}: 57 lines>",
        turn,
        f"<Formats: 1, by default {turn}>",
        "<FormatView: reasoning TAG_BASED, content PLAIN, tools JSON_NATIVE>",
        "<OutputParser of 'look_up'>",
        "<StreamParser: <ParsedMessage ok: content 'Hello.'>>",
        f"<Renderer by {of!r}>",
        "<RenderedTokens: 34, 0 in the loss mask>",
        "<TaughtFormat: uses template, reads 1 of 1 examples>",
        "<MarkerRegistry: reasoning_start '<think>', reasoning_end '</think>',"
        " per_call_start '<tool_call>', per_call_end '</tool_call>'>",
        "<Finding R1 reasoning: reasoning is written before the content (field reasoning_content)>",
        "<Evidence: no reasoning / reasoning>",
    ]


def words_of(page: str) -> list[str]:
    """Return the words of HTML, as a browser reads them; only `pre` and `span` may be in it."""
    text = re.sub("</?(?:pre|span)[^<>]*>", "", page)
    assert not {"<", ">"} & {*text}
    return unescape(text).split()


def test_message_reports_escape_hostile_text() -> None:
    message = shown_values()["message"]
    for text in (message.report(), message._repr_html_(), repr(message)):
        assert "\x1b" not in text
    assert "[red]x[/red]" in message.report()


def test_analysis_report_is_one_screen_unless_full() -> None:
    assert analysis().report() == screen_report(analysis(), 80).plain
    assert "Phase" not in analysis().report()
    assert "R1" in analysis().report(full=True)


def test_saved_format_shows_itself(tmp_path: Path) -> None:
    analysis().save(tmp_path / "model.json")
    saved = load_format(tmp_path / "model.json")
    assert repr(saved).startswith("<SavedFormat of ")
    assert "read from the saved format" in " ".join(saved.report().split())
    assert saved.report().splitlines()[-1] == analysis().report().splitlines()[-1]
    assert saved.report(full=True)


def test_message_report_does_not_import_jinja(tmp_path: Path) -> None:
    analysis().save(tmp_path / "model.json")
    code = (
        "import sys; sys.modules['jinja2'] = None; from autoparser import load_format;"
        f" saved = load_format({str(tmp_path / 'model.json')!r});"
        " print(saved.parser().parse('Hello.').report())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert "Hello." in done.stdout


def holder(chat_template: object) -> Any:
    """Return a stand-in for a tokenizer of transformers."""
    return SimpleNamespace(
        chat_template=chat_template,
        name_or_path="org/model",
        special_tokens_map={"bos_token": "<s>", "extra": ["<a>"]},
    )


def test_analyze_accepts_text_template_path_and_tokenizer() -> None:
    text = FILE.read_text("utf-8")
    held = analyze(holder(text))
    for found in (analyze(text), analyze(ChatTemplate(text)), analyze(str(FILE)), held):
        assert found.to_dict()["format"] == analysis().to_dict()["format"]
    assert held.template.special_tokens == {"bos_token": "<s>"}
    assert held.template.origin == "org/model"


def test_analyze_picks_the_named_template_or_raises() -> None:
    held = holder({"default": "no {{ Jinja", "tool_use": FILE.read_text("utf-8")})
    assert analyze(held, name="tool_use").template.name == "tool_use"
    with pytest.raises(TemplateNotFoundError, match="no template named 'tools'"):
        analyze(held, name="tools")


@pytest.mark.parametrize("given", [None, holder(None), Tokenizer(models.BPE())])
def test_value_without_a_template_raises_with_a_hint(given: Any) -> None:
    with pytest.raises(TemplateNotFoundError, match="holds no chat template; pass a template file"):
        analyze(given)


def test_transformers_tokenizer_gives_its_special_tokens() -> None:
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.BPE()), bos_token="<s>"
    )
    tokenizer.chat_template = "{{ bos_token }}" + FILE.read_text("utf-8")
    found = analyze(tokenizer)
    told = tokenizer.apply_chat_template(ASKED, tokenize=False, add_generation_prompt=True)
    assert told.startswith("<s>")
    assert found.template.render(ASKED, add_generation_prompt=True) == told
