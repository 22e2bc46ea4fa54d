"""Reports: a value in, a text or a document out; nothing here writes or prints.

Contract: a report is one `rich.text.Text` whose lines are already broken at the width that was
asked for, so that with styles or without it is the same text. What comes from a template
passes `visible`: it is never read as markup, and nothing in it moves a cursor or hides. A report is
imported when it is first asked for: a command waits for its own alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoparser.lazy_names import lazy_names

# Not later: the function would be hidden by the module of its name.
from .visible import json_text, visible, visible_lines, xml_text

if TYPE_CHECKING:
    from .acceptance import acceptance_report
    from .analysis import SECTIONS, analysis_report, phases_report, saved_report, section_report
    from .comparison import comparison_report, format_comparison_report
    from .comparison_json import (
        ComparisonDocument,
        comparison_document,
        format_comparison_document,
    )
    from .decode import DecodeSetting, decode_report
    from .decode_json import DecodeDocument, decode_document
    from .demo import demo_report
    from .engines import engines_document, engines_report
    from .explanation import explanation_report
    from .export import export_report
    from .fetch import FetchedDocument, fetch_report, fetched_document
    from .fixing import fix_diff, fix_report
    from .fixing_document import fix_document
    from .grammar import grammar_report, turn_expression, turn_report
    from .grammar_json import (
        AcceptanceDocument,
        GrammarDocument,
        acceptance_document,
        grammar_document,
    )
    from .learned import LearnedDocument, learned_document, learned_report
    from .lint_findings import lint_findings_report
    from .markdown_comparison import comparison_markdown, format_comparison_markdown
    from .message import all_read, message_report, parsed_report, spans_report
    from .parsed_json import (
        ParsedDocument,
        StreamedDocument,
        chunk_document,
        end_document,
        message_document,
    )
    from .plugins import PluginsDocument, plugins_document, plugins_report
    from .preserving import preserving_report, template_diff
    from .probe import probe_report
    from .probe_json import ProbeDocument, probe_document
    from .prompt import prompt_warning
    from .provenance import provenance_words
    from .render_trace import render_trace_report
    from .render_trace_json import RenderTraceDocument, render_trace_document
    from .roundtrip import roundtrip_report
    from .roundtrip_json import RoundTripDocument, roundtrip_document
    from .roundtrip_summary import roundtrip_screen
    from .screen import screen_report
    from .stream import chunk_report, end_report
    from .survey import survey_report
    from .tokens import TokensDocument, tokens_document, tokens_report
    from .traffic import traffic_report
    from .traffic_json import TrafficDocument, traffic_document
    from .training import training_lines
    from .verdict import check_doubt, check_score

__all__ = [
    "SECTIONS",
    "AcceptanceDocument",
    "ComparisonDocument",
    "DecodeDocument",
    "DecodeSetting",
    "FetchedDocument",
    "GrammarDocument",
    "LearnedDocument",
    "ParsedDocument",
    "PluginsDocument",
    "ProbeDocument",
    "RenderTraceDocument",
    "RoundTripDocument",
    "StreamedDocument",
    "TokensDocument",
    "TrafficDocument",
    "acceptance_document",
    "acceptance_report",
    "all_read",
    "analysis_report",
    "check_doubt",
    "check_score",
    "chunk_document",
    "chunk_report",
    "comparison_document",
    "comparison_markdown",
    "comparison_report",
    "decode_document",
    "decode_report",
    "demo_report",
    "end_document",
    "end_report",
    "engines_document",
    "engines_report",
    "explanation_report",
    "export_report",
    "fetch_report",
    "fetched_document",
    "fix_diff",
    "fix_document",
    "fix_report",
    "format_comparison_document",
    "format_comparison_markdown",
    "format_comparison_report",
    "grammar_document",
    "grammar_report",
    "json_text",
    "learned_document",
    "learned_report",
    "lint_findings_report",
    "message_document",
    "message_report",
    "parsed_report",
    "phases_report",
    "plugins_document",
    "plugins_report",
    "preserving_report",
    "probe_document",
    "probe_report",
    "prompt_warning",
    "provenance_words",
    "render_trace_document",
    "render_trace_report",
    "roundtrip_document",
    "roundtrip_report",
    "roundtrip_screen",
    "saved_report",
    "screen_report",
    "section_report",
    "spans_report",
    "survey_report",
    "template_diff",
    "tokens_document",
    "tokens_report",
    "traffic_document",
    "traffic_report",
    "training_lines",
    "turn_expression",
    "turn_report",
    "visible",
    "visible_lines",
    "xml_text",
]

_HOMES = {
    "parsed_json": (
        "ParsedDocument",
        "StreamedDocument",
        "chunk_document",
        "end_document",
        "message_document",
    ),
    "grammar_json": (
        "AcceptanceDocument",
        "GrammarDocument",
        "acceptance_document",
        "grammar_document",
    ),
    "decode_json": ("DecodeDocument", "decode_document"),
    "acceptance": ("acceptance_report",),
    "analysis": ("SECTIONS", "analysis_report", "phases_report", "saved_report", "section_report"),
    "comparison": ("comparison_report", "format_comparison_report"),
    "comparison_json": (
        "ComparisonDocument",
        "comparison_document",
        "format_comparison_document",
    ),
    "markdown_comparison": ("comparison_markdown", "format_comparison_markdown"),
    "decode": ("DecodeSetting", "decode_report"),
    "demo": ("demo_report",),
    "engines": ("engines_document", "engines_report"),
    "explanation": ("explanation_report",),
    "export": ("export_report",),
    "fetch": ("FetchedDocument", "fetch_report", "fetched_document"),
    "fixing": ("fix_diff", "fix_report"),
    "fixing_document": ("fix_document",),
    "grammar": ("grammar_report", "turn_expression", "turn_report"),
    "learned": ("LearnedDocument", "learned_document", "learned_report"),
    "lint_findings": ("lint_findings_report",),
    "message": ("all_read", "message_report", "parsed_report", "spans_report"),
    "plugins": ("PluginsDocument", "plugins_document", "plugins_report"),
    "preserving": ("preserving_report", "template_diff"),
    "probe": ("probe_report",),
    "probe_json": ("ProbeDocument", "probe_document"),
    "prompt": ("prompt_warning",),
    "provenance": ("provenance_words",),
    "render_trace": ("render_trace_report",),
    "render_trace_json": ("RenderTraceDocument", "render_trace_document"),
    "roundtrip": ("roundtrip_report",),
    "roundtrip_summary": ("roundtrip_screen",),
    "roundtrip_json": ("RoundTripDocument", "roundtrip_document"),
    "screen": ("screen_report",),
    "stream": ("chunk_report", "end_report"),
    "survey": ("survey_report",),
    "tokens": ("TokensDocument", "tokens_document", "tokens_report"),
    "traffic": ("traffic_report",),
    "traffic_json": ("TrafficDocument", "traffic_document"),
    "training": ("training_lines",),
    "verdict": ("check_doubt", "check_score"),
}
"""Which module each name is in."""

if not TYPE_CHECKING:
    # Hidden from type checkers, to which every misspelt name would otherwise be there.
    __getattr__ = lazy_names(__name__, _HOMES)
