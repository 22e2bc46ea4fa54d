"""Whole reports: hostile texts, narrow terminals, and what must be said."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from autoparser import ChatTemplate, analyze
from autoparser.reports import analysis_report, phases_report
from autoparser.reports.summary import default_mode
from tests.analysis.tiny import CONTENT, turn
from tests.fixture_analyses import analysed

FOLDER = Path(__file__).parents[2] / "fixtures" / "templates"
NAMES = sorted(path.stem for path in FOLDER.glob("*.jinja"))

HOSTILE = {
    "console markup": ("[bold red]", "[/bold red]"),
    "brackets of a real template": ("[INST]", "[/TOOL_CALLS]"),
    "terminal escapes": ("\\x1b[31m\\x1b]0;title\\x07", "\\x1b[2J"),
    "C1 controls": ("<\\x9b31m>", "<\\x9b0m>"),
    "writing direction": ("<\\u202ea>", "<\\u2066b>"),
    "invisible": ("<\\u200b\\ufeff>", "<\\u2060>"),
    "carriage return": ("<a>\\r", "<b>\\x0b\\x0c"),
    "emoji codes and links": (":smile:", "[link=file:///etc/passwd]x[/link]"),
}


@pytest.mark.parametrize("marks", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_are_inert(marks: tuple[str, str]) -> None:
    opening, close = marks
    analysis = analyze(
        ChatTemplate(
            "{% for m in messages %}{{ '" + opening + "' + m.role + '|' + m.content + '"
            "' + '" + close + "' }}{% endfor %}"
            "{% if add_generation_prompt %}{{ '" + opening + "assistant|' }}{% endif %}",
            origin=f"{opening}\x1b[31m[bold].jinja",
        )
    )
    report = analysis_report(analysis, 80, diffs=True)
    assert all(line.isprintable() for line in report.plain.split("\n"))
    screen = io.StringIO()
    Console(file=screen, color_system=None, width=80).print(report, soft_wrap=True)
    assert screen.getvalue() == f"{report.plain}\n"
    header = opening if opening.startswith((":", "[")) else opening.replace("\\x0b", "")
    assert header in report.plain


# The narrowest breaks every kind of line; the others, where lines stay whole, are sampled.
WIDTHS = [(40, name) for name in NAMES] + [
    (width, name) for width in (80, 120) for name in NAMES[:: len(NAMES) // 12]
]


@pytest.mark.parametrize(("width", "name"), WIDTHS)
def test_every_line_fits(name: str, width: int) -> None:
    report = analysis_report(analysed(name), width, diffs=True).plain
    wide = [line for line in report.split("\n") if cell_len(line) > width]
    assert wide == []


@pytest.mark.parametrize("width", [1, 10, 20])
def test_no_width_is_too_narrow(width: int) -> None:
    assert "self-check" in analysis_report(analysed("t8-recipient-lines"), width).plain


def test_diffs_adds_every_phase_in_full() -> None:
    analysis = analysed("a1-function-parameter")
    short = analysis_report(analysis, 80).plain
    full = analysis_report(analysis, 80, diffs=True).plain
    assert full.startswith(short)
    for finding in analysis.phases:
        assert f"\nPhase {finding.phase} " in full


def test_a_phase_shows_both_conversations_and_what_differs() -> None:
    shown = phases_report(analysed("a1-function-parameter"), ["T1"], 80).plain
    assert "  - no call: with tools\n" in shown
    assert "  + a call: with tools\n" in shown
    assert "  + <tool_call>↵\n" in shown
    assert "</tool_call>\n    <|im_end|>↵" in shown


def test_what_no_render_confirms_says_so() -> None:
    shown = analysis_report(analysed("calls-in-prompt-words"), 200).plain
    assert "not confirmed: only the prompt's words say so" in shown
    assert "A call, as the prompt's words tell the model to write it" in shown
    assert "per_call_start  <invoke_tool>  not confirmed" in shown


def test_an_unknown_special_token_is_named() -> None:
    template = ChatTemplate(
        "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n{% endfor %}"
    )
    shown = analysis_report(analyze(template), 80).plain
    assert "bos_token: shown as <bos_token>" in shown


@pytest.mark.parametrize(
    ("kept_if", "words"),
    [
        ("true", "given as reasoning_content; earlier turns keep theirs"),
        ("loop.last", "dropped once the next user message comes"),
        (
            "tools or loop.last",
            "earlier turns keep theirs where tools are offered, else it is dropped once",
        ),
        (
            "not tools or loop.last",
            "earlier turns keep theirs where no tools are offered, else it is dropped once",
        ),
    ],
)
def test_what_becomes_of_earlier_reasoning(kept_if: str, words: str) -> None:
    template = ChatTemplate(
        "{% for m in messages %}<{{ m.role }}>"
        f"{{% if m.reasoning_content and ({kept_if}) %}}"
        "<why>{{ m.reasoning_content }}</why>{% endif %}{{ m.content }}<end>{% endfor %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    report = analysis_report(analyze(template), 200).plain
    line = next(line for line in report.splitlines() if line.startswith("Reasoning"))
    assert words in line


@pytest.mark.parametrize(
    ("test", "badge", "words"),
    [
        ("deep is not defined or deep", "FORCED_OPEN", "opens it by default"),
        ("deep is defined and deep", "FORCED_CLOSED", "writes an empty block by default"),
    ],
)
def test_what_the_default_prompt_does_with_reasoning(test: str, badge: str, words: str) -> None:
    template = turn(
        "{% if m.reasoning_content %}(r){{ m.reasoning_content }}(/r){% endif %}",
        CONTENT,
        prompt=f"A:(r){{% if not ({test}) %}}(/r){{% endif %}}",
    )
    analysis = analyze(template)
    assert default_mode(analysis) == badge
    assert words in " ".join(analysis_report(analysis, 80).plain.split())
