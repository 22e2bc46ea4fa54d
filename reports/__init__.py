"""Reports: a value in, a text or a document out; nothing here writes or prints.

Contract: a report is one `rich.text.Text` whose lines are already broken at the width that was
asked for, so that with styles or without it is the same text. What comes from a template
passes `visible`: it is never read as markup, and nothing in it moves a cursor or hides.
"""

from .acceptance import acceptance_report
from .analysis import SECTIONS, analysis_report, phases_report, saved_report, section_report
from .comparison import comparison_report, format_comparison_report
from .comparison_document import ComparisonDocument, comparison_document
from .comparison_markdown import comparison_markdown
from .decode import DecodeSetting, decode_report
from .decode_document import DecodeDocument, decode_document
from .engines import engines_document, engines_report
from .explanation import explanation_report
from .export import export_report
from .fetch import FetchedDocument, fetch_report, fetched_document
from .fixing import fix_diff, fix_report
from .fixing_document import fix_document
from .grammar import grammar_report, turn_expression
from .grammar_document import (
    AcceptanceDocument,
    GrammarDocument,
    acceptance_document,
    grammar_document,
)
from .inferred import inferred_report
from .message import all_read, message_report
from .parsed_document import (
    ParsedDocument,
    StreamedDocument,
    chunk_document,
    end_document,
    message_document,
)
from .plugins import PluginsDocument, plugins_document, plugins_report
from .preserving import preserving_report, template_diff
from .probe import probe_report
from .probe_document import ProbeDocument, probe_document
from .prompt import prompt_warning
from .provenance import provenance_words
from .render_trace import render_trace_report
from .render_trace_document import RenderTraceDocument, render_trace_document
from .roundtrip import roundtrip_report
from .roundtrip_document import RoundTripDocument, roundtrip_document
from .screen import screen_report
from .stream import chunk_report, end_report
from .survey import survey_report
from .taught import taught_report
from .tokens import TokensDocument, tokens_document, tokens_report
from .traffic import traffic_report
from .training import training_lines
from .verdict import check_doubt, score as check_score
from .visible import json_text, visible, visible_lines, xml_text

__all__ = [
    "SECTIONS",
    "AcceptanceDocument",
    "ComparisonDocument",
    "DecodeDocument",
    "DecodeSetting",
    "FetchedDocument",
    "GrammarDocument",
    "ParsedDocument",
    "PluginsDocument",
    "ProbeDocument",
    "RenderTraceDocument",
    "RoundTripDocument",
    "StreamedDocument",
    "TokensDocument",
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
    "format_comparison_report",
    "grammar_document",
    "grammar_report",
    "inferred_report",
    "json_text",
    "message_document",
    "message_report",
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
    "saved_report",
    "screen_report",
    "section_report",
    "survey_report",
    "taught_report",
    "template_diff",
    "tokens_document",
    "tokens_report",
    "traffic_report",
    "training_lines",
    "turn_expression",
    "visible",
    "visible_lines",
    "xml_text",
]
