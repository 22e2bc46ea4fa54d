"""The commands' names from the engine and the reports, each imported on first use.

A command that prints its help, or reads its options, imports none of it:

    from . import wings

    outlet.report(wings.message_report(message, text, outlet.width))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoparser.lazy_names import lazy_imports

if TYPE_CHECKING:
    from importlib.metadata import (
        PackageNotFoundError as PackageNotFoundError,
        metadata as metadata,
    )

    from platformdirs import user_cache_path as user_cache_path
    from rich.console import Console as Console
    from rich.progress import Progress as Progress
    from rich.style import Style as Style
    from rich.text import Text as Text
    from tokenizers import Tokenizer as Tokenizer

    from autoparser.analysis.analysis import Analysis as Analysis, analyze as analyze
    from autoparser.analysis.core.conversation import (
        Json as Json,
        Tool as Tool,
        function_of as function_of,
    )
    from autoparser.analysis.core.documents import (
        json_of as json_of,
        json_text as json_text,
        read_value as read_value,
        text_digest as text_digest,
    )
    from autoparser.analysis.core.provenance import NamedTemplate as NamedTemplate
    from autoparser.analysis.core.request_files import (
        given_messages as given_messages,
        given_schema as given_schema,
        given_tools as given_tools,
    )
    from autoparser.analysis.core.turn_format import TurnFormat as TurnFormat
    from autoparser.analysis.core.verdicts import EvidenceKind as EvidenceKind
    from autoparser.analysis.decoding.answer_judge import (
        DecodingReport as DecodingReport,
        DecodingTrial as DecodingTrial,
        MarkerFit as MarkerFit,
        judge_answers as judge_answers,
        made_tokenizer as made_tokenizer,
    )
    from autoparser.analysis.decoding.answer_writers import (
        CompletionServer as CompletionServer,
        LoadedModel as LoadedModel,
        ModelFigures as ModelFigures,
        ModelWriter as ModelWriter,
        load_model as load_model,
        server_answers as server_answers,
    )
    from autoparser.analysis.decoding.message_rendering import NoTurns as NoTurns
    from autoparser.analysis.editing.edit_proof import (
        EditProof as EditProof,
        ProvenEdit as ProvenEdit,
    )
    from autoparser.analysis.editing.lint_fixes import FixRun as FixRun, fix_sources as fix_sources
    from autoparser.analysis.editing.preserving_edits import (
        preserving_template as preserving_template,
    )
    from autoparser.analysis.editing.survey_fixes import (
        try_fix as try_fix,
        untried_examples as untried_examples,
    )
    from autoparser.analysis.engines.bounded_server import bounded_server as bounded_server
    from autoparser.analysis.engines.chat_application import (
        AnsweredChat as AnsweredChat,
        ChatEndpoint as ChatEndpoint,
    )
    from autoparser.analysis.engines.chat_preparer import ChatPreparer as ChatPreparer
    from autoparser.analysis.engines.chat_request import ServingLimits as ServingLimits
    from autoparser.analysis.engines.completion_backend import (
        CompletionBackend as CompletionBackend,
    )
    from autoparser.analysis.engines.engine_process import (
        ENGINES as ENGINES,
        ParserPair as ParserPair,
        installed_engines as installed_engines,
    )
    from autoparser.analysis.engines.engine_ranking import try_engines as try_engines
    from autoparser.analysis.engines.engine_server import (
        ProbeClient as ProbeClient,
        ServedModel as ServedModel,
        TextRoute as TextRoute,
        checked_address as checked_address,
    )
    from autoparser.analysis.engines.output_reading import (
        ExplainedOutput as ExplainedOutput,
        OutputQuestion as OutputQuestion,
        read_by_engines as read_by_engines,
    )
    from autoparser.analysis.engines.plugin_check import plugin_check as plugin_check
    from autoparser.analysis.engines.server_probe import (
        InstalledParsers as InstalledParsers,
        ServerProbe as ServerProbe,
        probe_server as probe_server,
        server_at as server_at,
    )
    from autoparser.analysis.export.export_limits import (
        Export as Export,
        TemplateDialect as TemplateDialect,
    )
    from autoparser.analysis.export.response_template import (
        ExportTrial as ExportTrial,
        response_template as response_template,
        transformers_parser as transformers_parser,
        try_out as try_out,
    )
    from autoparser.analysis.formats.format_file import (
        file_text as file_text,
    )
    from autoparser.analysis.formats.learned_format import LearnedFormat as LearnedFormat
    from autoparser.analysis.formats.lost_calls import (
        loss_cause as loss_cause,
        same_departure as same_departure,
        smallest_part as smallest_part,
    )
    from autoparser.analysis.formats.output_explanation import (
        OutputReading as OutputReading,
        explain_output as explain_output,
    )
    from autoparser.analysis.formats.saved_format import (
        SavedFormat as SavedFormat,
        load_format as load_format,
        template_of_format as template_of_format,
    )
    from autoparser.analysis.formats.text_restoring import PromptedParser as PromptedParser
    from autoparser.analysis.grammar.acceptance import GrammarDialect as GrammarDialect
    from autoparser.analysis.grammar.request_grammar import Grammar as Grammar
    from autoparser.analysis.grammar.schema_loosening import (
        GrammarForm as GrammarForm,
        Loosening as Loosening,
    )
    from autoparser.analysis.history.renderer import Renderer as Renderer
    from autoparser.analysis.history.round_trips import (
        code_of as code_of,
        failing_rows as failing_rows,
        fixing_settings as fixing_settings,
        round_trip as round_trip,
    )
    from autoparser.analysis.history.scenario_files import (
        scenarios_of as scenarios_of,
        shipped_scenarios as shipped_scenarios,
    )
    from autoparser.analysis.history.scenarios import (
        PROFILES as PROFILES,
        EngineProfile as EngineProfile,
        Scenario as Scenario,
    )
    from autoparser.analysis.history.traffic import (
        prefix_losses as prefix_losses,
        traffic_of as traffic_of,
    )
    from autoparser.analysis.history.training_template import (
        TrainingTemplate as TrainingTemplate,
        training_template as training_template,
    )
    from autoparser.analysis.history.trip_causes import Cause as Cause
    from autoparser.analysis.learning.examples import (
        Example as Example,
        given_examples as given_examples,
    )
    from autoparser.analysis.learning.outputs import (
        LoggedOutput as LoggedOutput,
        OutputError as OutputError,
        given_outputs as given_outputs,
    )
    from autoparser.analysis.learning.suggestions import (
        rendering_tokens as rendering_tokens,
        stand_in_tokens as stand_in_tokens,
        template_suggestions as template_suggestions,
    )
    from autoparser.analysis.learning.template_turns import TemplateTurns as TemplateTurns
    from autoparser.analysis.learning.tools_in_prompt import ToolsInPrompt as ToolsInPrompt
    from autoparser.analysis.lint.baselines import read_baseline as read_baseline
    from autoparser.analysis.lint.hit import Confidence as Confidence, Severity as Severity
    from autoparser.analysis.lint.inspection import LintRun as LintRun
    from autoparser.analysis.lint.linting import FindingFilter as FindingFilter
    from autoparser.analysis.lint.other_renders import (
        OtherJinja as OtherJinja,
        installed_jinjas as installed_jinjas,
    )
    from autoparser.analysis.lint.project_run import (
        LintRequest as LintRequest,
        baseline_of as baseline_of,
        lint_project as lint_project,
        places_of as places_of,
    )
    from autoparser.analysis.lint.project_settings import (
        FailOn as FailOn,
        ProjectSettings as ProjectSettings,
        RuleChoice as RuleChoice,
        codes_of as codes_of,
        find_settings as find_settings,
        read_settings as read_settings,
    )
    from autoparser.analysis.lint.project_sources import InputProblem as InputProblem
    from autoparser.analysis.lint.registry import (
        all_rules as all_rules,
        rule_of as rule_of,
        rules_for as rules_for,
    )
    from autoparser.analysis.lint.rule import Profile as Profile, RuleNeed as RuleNeed
    from autoparser.analysis.lint.subject import Subject as Subject
    from autoparser.analysis.overview.comparison import (
        Comparison as Comparison,
        compare_templates as compare_templates,
    )
    from autoparser.analysis.overview.debugged_prompts import (
        DebuggedConversation as DebuggedConversation,
        shipped_conversations as shipped_conversations,
        switched_renders as switched_renders,
    )
    from autoparser.analysis.overview.engine_readings import engine_processes as engine_processes
    from autoparser.analysis.overview.format_facts import (
        FormatComparison as FormatComparison,
        compare_formats as compare_formats,
    )
    from autoparser.analysis.overview.portrait import (
        example_tools as example_tools,
        portray_template as portray_template,
        written_grammar as written_grammar,
    )
    from autoparser.analysis.overview.survey import (
        SurveyJournal as SurveyJournal,
        SurveyLook as SurveyLook,
        SurveyRecord as SurveyRecord,
        SurveySummary as SurveySummary,
        add_readings as add_readings,
        joined_texts as joined_texts,
        journal_of as journal_of,
        line_of as line_of,
        record_at as record_at,
        start_survey as start_survey,
        summary_of as summary_of,
        templates_in as templates_in,
    )
    from autoparser.analysis.overview.template_history import (
        RevisionChange as RevisionChange,
        compare_history as compare_history,
    )
    from autoparser.analysis.overview.template_state import state_of as state_of
    from autoparser.analysis.parsing.output_parser import OutputParser as OutputParser
    from autoparser.analysis.parsing.parsed_message import (
        ParsedMessage as ParsedMessage,
        all_read as all_read,
    )
    from autoparser.analysis.parsing.turn_request import (
        ReadingChoices as ReadingChoices,
        RequestOptions as RequestOptions,
        request_of as request_of,
    )
    from autoparser.analysis.sources.encoders import load_encoder as load_encoder
    from autoparser.analysis.sources.hub_requests import hub_name as hub_name
    from autoparser.analysis.sources.local_files import (
        binary_kind as binary_kind,
        is_saved_format as is_saved_format,
        pipe_seconds as pipe_seconds,
        read_files as read_files,
        read_path as read_path,
        read_standard_input as read_standard_input,
    )
    from autoparser.analysis.sources.template_loading import (
        fetch as fetch,
        load_template as load_template,
    )
    from autoparser.analysis.sources.template_revisions import template_history as template_history
    from autoparser.analysis.sources.token_bytes import OpaqueTokens as OpaqueTokens
    from autoparser.analysis.sources.tokenizer import ModelTokenizer as ModelTokenizer
    from autoparser.analysis.sources.tokenizer_loading import (
        load_tokenizer as load_tokenizer,
        read_tokenizer as read_tokenizer,
        tokenizer_beside as tokenizer_beside,
        tokenizer_of as tokenizer_of,
    )
    from autoparser.analysis.sources.written_files import (
        open_log as open_log,
        write_named_file as write_named_file,
        write_whole as write_whole,
        writing as writing,
    )
    from autoparser.analysis.teaching.example_learning import (
        TaughtFormat as TaughtFormat,
        learn as learn,
    )
    from autoparser.analysis.teaching.output_learning import (
        InferredFormat as InferredFormat,
        learn_outputs as learn_outputs,
    )
    from autoparser.analysis.teaching.suggested_labels import (
        SuggestedReader as SuggestedReader,
        suggested_reader as suggested_reader,
    )
    from autoparser.analysis.teaching.taught_analysis import (
        asks_for_tokens as asks_for_tokens,
        unwritten_tokens as unwritten_tokens,
        with_saved as with_saved,
    )
    from autoparser.analysis.templates.chat_template import ChatTemplate as ChatTemplate
    from autoparser.analysis.templates.encoded_template import isolated as isolated
    from autoparser.analysis.templates.source_text import (
        PASSED as PASSED,
        variable_value as variable_value,
    )
    from autoparser.analysis.templates.worker_limits import (
        Limits as Limits,
        usual_jobs as usual_jobs,
    )
    from autoparser.analysis.templates.worker_pool import run_task as run_task
    from autoparser.reports.analysis import (
        SECTIONS as SECTIONS,
        analysis_report as analysis_report,
        phases_report as phases_report,
        saved_report as saved_report,
        screen_report as screen_report,
        section_report as section_report,
    )
    from autoparser.reports.comparison import (
        comparison_markdown as comparison_markdown,
        comparison_page as comparison_page,
        comparison_report as comparison_report,
        format_comparison_markdown as format_comparison_markdown,
        format_comparison_report as format_comparison_report,
    )
    from autoparser.reports.comparison_json import (
        comparison_document as comparison_document,
        format_comparison_document as format_comparison_document,
    )
    from autoparser.reports.decode import (
        DecodeSetting as DecodeSetting,
        decode_document as decode_document,
        decode_report as decode_report,
    )
    from autoparser.reports.engines import (
        engines_document as engines_document,
        engines_report as engines_report,
        plugins_document as plugins_document,
        plugins_report as plugins_report,
    )
    from autoparser.reports.explanation import explanation_report as explanation_report
    from autoparser.reports.files import (
        demo_report as demo_report,
        export_report as export_report,
        fetch_report as fetch_report,
    )
    from autoparser.reports.fixing import (
        fix_diff as fix_diff,
        fix_document as fix_document,
        fix_report as fix_report,
        preserving_report as preserving_report,
        template_diff as template_diff,
        training_lines as training_lines,
    )
    from autoparser.reports.issue import (
        ReportedOutput as ReportedOutput,
        issue_markdown as issue_markdown,
    )
    from autoparser.reports.learned import (
        learned_document as learned_document,
        learned_report as learned_report,
    )
    from autoparser.reports.lint.ci_forms import (
        github_report as github_report,
        junit_report as junit_report,
    )
    from autoparser.reports.lint.document import lint_document as lint_document
    from autoparser.reports.lint.markdown import (
        badge_image as badge_image,
        card_table as card_table,
        markdown_report as markdown_report,
    )
    from autoparser.reports.lint.page import (
        page_markdown as page_markdown,
        rule_page as rule_page,
        rule_table as rule_table,
        rules_index as rules_index,
    )
    from autoparser.reports.lint.sarif import sarif_report as sarif_report
    from autoparser.reports.lint.text import (
        concise_report as concise_report,
        lint_report as lint_report,
        statistics_report as statistics_report,
    )
    from autoparser.reports.lint.words import problem_words as problem_words
    from autoparser.reports.message import (
        chunk_report as chunk_report,
        end_report as end_report,
        message_report as message_report,
    )
    from autoparser.reports.message_document import (
        chunk_document as chunk_document,
        end_document as end_document,
        message_document as message_document,
    )
    from autoparser.reports.places import provenance_words as provenance_words
    from autoparser.reports.probe import (
        probe_document as probe_document,
        probe_report as probe_report,
    )
    from autoparser.reports.render_trace import (
        render_trace_document as render_trace_document,
        render_trace_report as render_trace_report,
    )
    from autoparser.reports.request_grammar import (
        acceptance_document as acceptance_document,
        acceptance_report as acceptance_report,
        grammar_document as grammar_document,
        grammar_report as grammar_report,
    )
    from autoparser.reports.roundtrip import (
        roundtrip_document as roundtrip_document,
        roundtrip_report as roundtrip_report,
        roundtrip_screen as roundtrip_screen,
    )
    from autoparser.reports.settings import prompt_warning as prompt_warning
    from autoparser.reports.survey import survey_page as survey_page, survey_report as survey_report
    from autoparser.reports.template_history import (
        history_document as history_document,
        history_markdown as history_markdown,
        history_page as history_page,
        history_report as history_report,
    )
    from autoparser.reports.template_page import (
        report_page as report_page,
        saved_page as saved_page,
    )
    from autoparser.reports.template_state import state_page as state_page
    from autoparser.reports.tokens import (
        tokens_document as tokens_document,
        tokens_report as tokens_report,
    )
    from autoparser.reports.traffic import (
        traffic_document as traffic_document,
        traffic_report as traffic_report,
    )
    from autoparser.reports.verdict import check_doubt as check_doubt, check_score as check_score
    from autoparser.reports.visible import (
        number_of as number_of,
        visible as visible,
        visible_lines as visible_lines,
    )
else:
    __getattr__, __dir__ = lazy_imports(__name__)
