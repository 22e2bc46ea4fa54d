from .acceptance import acceptance_report as acceptance_report
from .analysis import (
    SECTIONS as SECTIONS,
    analysis_report as analysis_report,
    phases_report as phases_report,
    saved_report as saved_report,
    section_report as section_report,
)
from .comparison import (
    comparison_markdown as comparison_markdown,
    comparison_page as comparison_page,
    comparison_report as comparison_report,
    format_comparison_markdown as format_comparison_markdown,
    format_comparison_report as format_comparison_report,
)
from .comparison_json import (
    ComparisonDocument as ComparisonDocument,
    comparison_document as comparison_document,
    format_comparison_document as format_comparison_document,
)
from .decode import DecodeSetting as DecodeSetting, decode_report as decode_report
from .decode_json import DecodeDocument as DecodeDocument, decode_document as decode_document
from .demo import demo_report as demo_report
from .engines import engines_document as engines_document, engines_report as engines_report
from .explanation import explanation_report as explanation_report
from .export import export_report as export_report
from .fetch import (
    FetchedDocument as FetchedDocument,
    fetch_report as fetch_report,
    fetched_document as fetched_document,
)
from .fixing import fix_diff as fix_diff, fix_report as fix_report
from .fixing_document import fix_document as fix_document
from .grammar import (
    grammar_report as grammar_report,
    turn_expression as turn_expression,
    turn_report as turn_report,
)
from .grammar_json import (
    AcceptanceDocument as AcceptanceDocument,
    GrammarDocument as GrammarDocument,
    acceptance_document as acceptance_document,
    grammar_document as grammar_document,
)
from .learned import (
    LearnedDocument as LearnedDocument,
    learned_document as learned_document,
    learned_report as learned_report,
)
from .lint_findings import lint_findings_report as lint_findings_report
from .message import (
    all_read as all_read,
    message_report as message_report,
    parsed_report as parsed_report,
    spans_report as spans_report,
)
from .parsed_json import (
    ParsedDocument as ParsedDocument,
    StreamedDocument as StreamedDocument,
    chunk_document as chunk_document,
    end_document as end_document,
    message_document as message_document,
)
from .plugins import (
    PluginsDocument as PluginsDocument,
    plugins_document as plugins_document,
    plugins_report as plugins_report,
)
from .preserving import preserving_report as preserving_report, template_diff as template_diff
from .probe import probe_report as probe_report
from .probe_json import ProbeDocument as ProbeDocument, probe_document as probe_document
from .prompt import prompt_warning as prompt_warning
from .provenance import provenance_words as provenance_words
from .render_trace import render_trace_report as render_trace_report
from .render_trace_json import (
    RenderTraceDocument as RenderTraceDocument,
    render_trace_document as render_trace_document,
)
from .roundtrip import roundtrip_report as roundtrip_report
from .roundtrip_json import (
    RoundTripDocument as RoundTripDocument,
    roundtrip_document as roundtrip_document,
)
from .roundtrip_summary import roundtrip_screen as roundtrip_screen
from .screen import screen_report as screen_report
from .stream import chunk_report as chunk_report, end_report as end_report
from .survey import survey_page as survey_page, survey_report as survey_report
from .template_page import report_page as report_page, saved_page as saved_page
from .tokens import (
    TokensDocument as TokensDocument,
    tokens_document as tokens_document,
    tokens_report as tokens_report,
)
from .traffic import traffic_report as traffic_report
from .traffic_json import TrafficDocument as TrafficDocument, traffic_document as traffic_document
from .training import training_lines as training_lines
from .verdict import check_doubt as check_doubt, check_score as check_score
from .visible import (
    json_text as json_text,
    visible as visible,
    visible_lines as visible_lines,
    xml_text as xml_text,
)
