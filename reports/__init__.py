"""Reports: a value in, a text or a document out; nothing here writes or prints.

Contract: a report is one `rich.text.Text` whose lines are already broken at the width that was
asked for, so that with styles or without it is the same text. What comes from a template
passes `visible`: it is never read as markup, and nothing in it moves a cursor or hides. A report is
imported when it is first used: a command waits for its own alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoparser.lazy_names import lazy_imports

# Not later: the module of the same name would hide the function.
from .visible import visible as visible

if TYPE_CHECKING:
    from .analysis import (
        SECTIONS as SECTIONS,
        analysis_report as analysis_report,
        phases_report as phases_report,
        saved_report as saved_report,
        screen_report as screen_report,
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
    from .decode import (
        DecodeDocument as DecodeDocument,
        DecodeSetting as DecodeSetting,
        decode_document as decode_document,
        decode_report as decode_report,
    )
    from .engines import (
        PluginsDocument as PluginsDocument,
        engines_document as engines_document,
        engines_report as engines_report,
        plugins_document as plugins_document,
        plugins_report as plugins_report,
    )
    from .explanation import explanation_report as explanation_report
    from .files import (
        demo_report as demo_report,
        export_report as export_report,
        fetch_report as fetch_report,
    )
    from .findings import lint_findings_report as lint_findings_report
    from .fixing import (
        fix_diff as fix_diff,
        fix_document as fix_document,
        fix_report as fix_report,
        preserving_report as preserving_report,
        template_diff as template_diff,
        training_lines as training_lines,
    )
    from .learned import (
        LearnedDocument as LearnedDocument,
        learned_document as learned_document,
        learned_report as learned_report,
    )
    from .message import (
        ParsedDocument as ParsedDocument,
        StreamedDocument as StreamedDocument,
        all_read as all_read,
        chunk_document as chunk_document,
        chunk_report as chunk_report,
        end_document as end_document,
        end_report as end_report,
        message_document as message_document,
        message_report as message_report,
        parsed_report as parsed_report,
    )
    from .places import provenance_words as provenance_words
    from .probe import (
        ProbeDocument as ProbeDocument,
        probe_document as probe_document,
        probe_report as probe_report,
    )
    from .render_trace import (
        RenderTraceDocument as RenderTraceDocument,
        render_trace_document as render_trace_document,
        render_trace_report as render_trace_report,
    )
    from .request_grammar import (
        AcceptanceDocument as AcceptanceDocument,
        GrammarDocument as GrammarDocument,
        acceptance_document as acceptance_document,
        acceptance_report as acceptance_report,
        grammar_document as grammar_document,
        grammar_report as grammar_report,
        turn_expression as turn_expression,
        turn_report as turn_report,
    )
    from .roundtrip import (
        RoundTripDocument as RoundTripDocument,
        roundtrip_document as roundtrip_document,
        roundtrip_report as roundtrip_report,
        roundtrip_screen as roundtrip_screen,
    )
    from .settings import prompt_warning as prompt_warning
    from .survey import survey_page as survey_page, survey_report as survey_report
    from .template_page import report_page as report_page, saved_page as saved_page
    from .tokens import (
        TokensDocument as TokensDocument,
        tokens_document as tokens_document,
        tokens_report as tokens_report,
    )
    from .traffic import (
        TrafficDocument as TrafficDocument,
        traffic_document as traffic_document,
        traffic_report as traffic_report,
    )
    from .verdict import check_doubt as check_doubt, check_score as check_score
    from .visible import (
        json_text as json_text,
        number_of as number_of,
        visible as visible,
        visible_lines as visible_lines,
    )
else:
    __getattr__, __dir__ = lazy_imports(__name__)
