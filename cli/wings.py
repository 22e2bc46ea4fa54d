"""The commands' names from the engine and the reports, each imported on first use.

A command that prints its help, or reads its options, imports none of it:

    from . import wings

    outlet.report(wings.message_report(message, text, outlet.width))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoparser.lazy_names import lazy_imports

# pyright: reportUnusedImport=false
# The commands use these names.
if TYPE_CHECKING:
    from importlib.metadata import PackageNotFoundError, metadata

    from platformdirs import user_cache_path
    from rich.console import Console
    from rich.progress import Progress
    from rich.style import Style
    from rich.text import Text
    from tokenizers import Tokenizer

    from autoparser.analysis.analysis import Analysis, analyze
    from autoparser.analysis.core.conversation import Json, Tool, tool_function
    from autoparser.analysis.core.documents import document_json, json_text, read_value, text_digest
    from autoparser.analysis.core.provenance import NamedTemplate
    from autoparser.analysis.core.request_files import given_messages, given_schema, given_tools
    from autoparser.analysis.core.server_engines import ServerEngine
    from autoparser.analysis.core.switches import unread_variables
    from autoparser.analysis.core.turn_format import TurnFormat
    from autoparser.analysis.core.verdicts import EvidenceKind
    from autoparser.analysis.decoding.answer_judge import (
        DecodingReport,
        DecodingTrial,
        MarkerFit,
        judge_answers,
        made_tokenizer,
    )
    from autoparser.analysis.decoding.answer_writers import (
        CompletionServer,
        LoadedModel,
        ModelFigures,
        ModelWriter,
        load_model,
        server_answers,
    )
    from autoparser.analysis.decoding.message_rendering import NoTurns
    from autoparser.analysis.editing.edit_proof import EditProof, ProvenEdit
    from autoparser.analysis.editing.lint_fixes import FixRun, fix_sources
    from autoparser.analysis.editing.preserving_edits import preserving_template
    from autoparser.analysis.editing.survey_fixes import try_fix, untried_examples
    from autoparser.analysis.engines.bounded_server import bounded_server
    from autoparser.analysis.engines.chat_application import AnsweredChat, ChatEndpoint
    from autoparser.analysis.engines.chat_preparer import ChatPreparer
    from autoparser.analysis.engines.chat_request import ServingLimits
    from autoparser.analysis.engines.completion_backend import CompletionBackend
    from autoparser.analysis.engines.engine_process import ENGINES, ParserPair, installed_engines
    from autoparser.analysis.engines.engine_ranking import try_engines
    from autoparser.analysis.engines.output_reading import (
        ExplainedOutput,
        OutputQuestion,
        read_by_engines,
    )
    from autoparser.analysis.engines.plugin_check import plugin_check
    from autoparser.analysis.engines.probe_base import ServedModel, TextRoute
    from autoparser.analysis.engines.probe_client import ProbeClient, checked_address
    from autoparser.analysis.engines.server_probe import (
        InstalledParsers,
        ServerProbe,
        probe_server,
        server_at,
    )
    from autoparser.analysis.export.export_limits import Export, TemplateDialect
    from autoparser.analysis.export.response_template import (
        ExportTrial,
        response_template,
        transformers_parser,
        try_out,
    )
    from autoparser.analysis.formats.format_file import file_text
    from autoparser.analysis.formats.learned_format import LearnedFormat
    from autoparser.analysis.formats.lost_calls import (
        LossReason,
        loss_cause,
        same_departure,
        smallest_part,
    )
    from autoparser.analysis.formats.output_explanation import (
        OutputReading,
        call_in_reasoning,
        compare_output,
    )
    from autoparser.analysis.formats.saved_format import (
        SavedFormat,
        load_format,
        template_of_format,
    )
    from autoparser.analysis.formats.text_restoring import PromptedParser
    from autoparser.analysis.grammar.acceptance import GrammarDialect
    from autoparser.analysis.grammar.request_grammar import Grammar
    from autoparser.analysis.grammar.schema_loosening import GrammarForm, Loosening
    from autoparser.analysis.history.openai_messages import unrendered_field
    from autoparser.analysis.history.renderer import Renderer
    from autoparser.analysis.history.round_trips import (
        cause_code,
        failing_rows,
        fixing_settings,
        round_trip,
    )
    from autoparser.analysis.history.scenario_files import scenarios_of, shipped_scenarios
    from autoparser.analysis.history.scenarios import PROFILES, EngineProfile, Scenario
    from autoparser.analysis.history.traffic import prefix_losses, read_traffic
    from autoparser.analysis.history.training_template import TrainingTemplate, training_template
    from autoparser.analysis.history.trip_causes import Cause
    from autoparser.analysis.learning.examples import Example, given_examples
    from autoparser.analysis.learning.outputs import LoggedOutput, OutputError, given_outputs
    from autoparser.analysis.learning.suggestions import (
        rendering_tokens,
        stand_in_tokens,
        template_suggestions,
    )
    from autoparser.analysis.learning.template_turns import TemplateTurns
    from autoparser.analysis.learning.tools_in_prompt import ToolsInPrompt
    from autoparser.analysis.lint.baselines import read_baseline
    from autoparser.analysis.lint.hit import Confidence, Severity
    from autoparser.analysis.lint.inspection import LintRun
    from autoparser.analysis.lint.linting import FindingFilter
    from autoparser.analysis.lint.other_renders import OtherJinja, installed_jinjas
    from autoparser.analysis.lint.project_run import (
        LintRequest,
        lint_project,
        make_baseline,
        watched_places,
    )
    from autoparser.analysis.lint.project_settings import (
        FailOn,
        ProjectSettings,
        RuleChoice,
        find_settings,
        read_settings,
        selected_codes,
    )
    from autoparser.analysis.lint.project_sources import InputProblem
    from autoparser.analysis.lint.registry import all_rules, find_rule, rules_for
    from autoparser.analysis.lint.rule import Profile, RuleNeed
    from autoparser.analysis.lint.subject import Subject
    from autoparser.analysis.overview.comparison import Comparison, compare_templates
    from autoparser.analysis.overview.debugged_prompts import (
        DebuggedConversation,
        shipped_conversations,
        switched_renders,
    )
    from autoparser.analysis.overview.engine_readings import engine_processes
    from autoparser.analysis.overview.format_facts import FormatComparison, compare_formats
    from autoparser.analysis.overview.portrait import (
        example_tools,
        portray_template,
        written_grammar,
    )
    from autoparser.analysis.overview.survey import (
        SurveyJournal,
        SurveyLook,
        SurveyRecord,
        SurveySummary,
        add_readings,
        joined_texts,
        read_journal,
        record_at,
        record_line,
        start_survey,
        summarize_records,
        templates_in,
    )
    from autoparser.analysis.overview.template_history import RevisionChange, compare_history
    from autoparser.analysis.overview.template_state import count_state
    from autoparser.analysis.parsing.output_parser import OutputParser
    from autoparser.analysis.parsing.parsed_message import ParsedMessage, Status, all_read
    from autoparser.analysis.parsing.turn_request import RequestOptions, read_request
    from autoparser.analysis.sources.encoders import load_encoder
    from autoparser.analysis.sources.hub_requests import hub_name
    from autoparser.analysis.sources.local_files import (
        binary_kind,
        is_saved_format,
        pipe_seconds,
        read_files,
        read_path,
        read_standard_input,
    )
    from autoparser.analysis.sources.template_loading import fetch, load_template
    from autoparser.analysis.sources.template_revisions import template_history
    from autoparser.analysis.sources.token_bytes import OpaqueTokens
    from autoparser.analysis.sources.tokenizer import ModelTokenizer
    from autoparser.analysis.sources.tokenizer_loading import (
        load_tokenizer,
        read_tokenizer,
        tokenizer_beside,
        tokenizer_of,
    )
    from autoparser.analysis.sources.written_files import (
        open_log,
        write_named_file,
        write_whole,
        writing,
    )
    from autoparser.analysis.teaching.example_learning import TaughtFormat, learn
    from autoparser.analysis.teaching.output_learning import InferredFormat, learn_outputs
    from autoparser.analysis.teaching.suggested_labels import SuggestedReader, suggested_reader
    from autoparser.analysis.teaching.taught_analysis import (
        unwritten_tokens,
        with_saved,
    )
    from autoparser.analysis.templates.chat_template import ChatTemplate
    from autoparser.analysis.templates.isolated_template import isolated
    from autoparser.analysis.templates.source_text import PASSED, variable_value
    from autoparser.analysis.templates.worker_limits import Limits, usual_jobs
    from autoparser.analysis.templates.worker_pool import run_task
    from autoparser.reports.analysis import (
        SECTIONS,
        analysis_report,
        phases_report,
        saved_report,
        screen_report,
        section_report,
    )
    from autoparser.reports.comparison import (
        comparison_markdown,
        comparison_page,
        comparison_report,
    )
    from autoparser.reports.comparison_json import comparison_document
    from autoparser.reports.decode import DecodeSetting, decode_document, decode_report
    from autoparser.reports.engines import (
        engines_document,
        engines_report,
        plugins_document,
        plugins_report,
    )
    from autoparser.reports.explanation import explanation_report
    from autoparser.reports.export import export_report
    from autoparser.reports.files import demo_report, fetch_report
    from autoparser.reports.fixing import (
        fix_diff,
        fix_document,
        fix_report,
        preserving_report,
        template_diff,
        training_lines,
    )
    from autoparser.reports.issue import ReportedOutput, issue_markdown
    from autoparser.reports.learned import learned_document, learned_report
    from autoparser.reports.lint.ci_forms import github_report, junit_report
    from autoparser.reports.lint.document import lint_document
    from autoparser.reports.lint.markdown import badge_image, card_table, markdown_report
    from autoparser.reports.lint.page import page_markdown, rule_page, rule_table, rules_index
    from autoparser.reports.lint.sarif import sarif_report
    from autoparser.reports.lint.text import concise_report, lint_report, statistics_report
    from autoparser.reports.lint.words import problem_words
    from autoparser.reports.message import chunk_report, end_report, message_report
    from autoparser.reports.message_document import chunk_document, end_document, parsed_document
    from autoparser.reports.places import provenance_words
    from autoparser.reports.probe import probe_document, probe_report
    from autoparser.reports.render_trace import render_trace_document, render_trace_report
    from autoparser.reports.request_grammar import (
        acceptance_document,
        acceptance_report,
        grammar_document,
        grammar_report,
    )
    from autoparser.reports.roundtrip import roundtrip_document, roundtrip_report, roundtrip_screen
    from autoparser.reports.settings import prompt_warning
    from autoparser.reports.survey import survey_page, survey_report
    from autoparser.reports.template_history import (
        history_document,
        history_markdown,
        history_page,
        history_report,
    )
    from autoparser.reports.template_page import report_page, saved_page
    from autoparser.reports.template_state import state_page
    from autoparser.reports.tokens import tokens_document, tokens_report
    from autoparser.reports.traffic import traffic_document, traffic_report
    from autoparser.reports.verdict import check_doubt, check_score
    from autoparser.reports.visible import (
        counted_noun,
        shell_word,
        template_word,
        visible,
        visible_lines,
    )
else:
    # It reads the imports above as text, so that no name is written twice.
    __getattr__, __dir__ = lazy_imports(__name__)
