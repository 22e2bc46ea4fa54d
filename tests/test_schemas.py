"""The schemas in docs/ match the documents' classes; UPDATE_DOCS=1 updates them."""

from __future__ import annotations

import json
import os

import pytest
from jsonschema import Draft202012Validator

from autoparser.analysis.core.documents import JsonDocument, document_json
from autoparser.analysis.formats.analysis_document import AnalysisDocument
from autoparser.analysis.formats.format_file import FormatFile
from autoparser.analysis.overview.survey import SurveyRecord
from autoparser.analysis.sources.template_loading import FetchedFiles
from autoparser.reports.comparison_json import ComparisonDocument
from autoparser.reports.decode import DecodeDocument
from autoparser.reports.engines import PluginsDocument
from autoparser.reports.fixing import FixDocument
from autoparser.reports.learned import LearnedDocument
from autoparser.reports.lint.document import LintDocument
from autoparser.reports.message_document import ParsedDocument, StreamedDocument
from autoparser.reports.probe import ProbeDocument
from autoparser.reports.render_trace import RenderTraceDocument
from autoparser.reports.request_grammar import AcceptanceDocument, GrammarDocument
from autoparser.reports.roundtrip import RoundTripDocument
from autoparser.reports.template_history import HistoryDocument
from autoparser.reports.tokens import TokensDocument
from autoparser.reports.traffic import TrafficDocument

from .schemas import DOCS, Published

PUBLISHED = (
    Published(AcceptanceDocument, "accepts", "What a grammar makes of an output"),
    Published(AnalysisDocument, "analysis", "An analysis of a chat template"),
    Published(ComparisonDocument, "compare", "What changed between two chat templates"),
    Published(DecodeDocument, "decode", "Answers under a grammar"),
    Published(FetchedFiles, "fetch", "What was fetched of a model"),
    Published(FixDocument, "fix", "What autoparser fix did"),
    Published(FormatFile, "format", "A saved format: what was learned of a chat template"),
    Published(GrammarDocument, "grammar", "A grammar in every form"),
    Published(HistoryDocument, "history", "What each revision of a chat template changed"),
    Published(LearnedDocument, "learn", "What autoparser learn found"),
    Published(LintDocument, "lint", "Findings of autoparser lint"),
    Published(ParsedDocument, "parse", "A model's output, parsed"),
    Published(PluginsDocument, "plugins", "Whether engines find the plugins"),
    Published(ProbeDocument, "probe", "A probe of a running server"),
    Published(RoundTripDocument, "roundtrip", "Round trips through a chat template"),
    Published(StreamedDocument, "stream", "One line of a parsed stream"),
    Published(SurveyRecord, "survey", "One line of a survey: one chat template"),
    Published(TokensDocument, "tokens", "A rendered conversation as tokens"),
    Published(RenderTraceDocument, "trace", "A render of a chat template, step by step"),
    Published(TrafficDocument, "traffic", "What an engine's traffic lost of its prefix cache"),
)


@pytest.mark.parametrize("schema", PUBLISHED, ids=lambda schema: schema.name)
def test_published_schemas_match_the_classes(schema: Published) -> None:
    if os.environ.get("UPDATE_DOCS"):
        schema.file.write_text(schema.text(), encoding="utf-8", newline="\n")
    assert schema.file.read_text(encoding="utf-8") == schema.text(), "nox -s schemas writes it anew"


def test_docs_have_no_other_schema() -> None:
    assert sorted(DOCS.glob("*.schema.json")) == [schema.file for schema in PUBLISHED]


@pytest.mark.slow
@pytest.mark.parametrize("schema", PUBLISHED, ids=lambda schema: schema.name)
def test_published_schema_is_valid(schema: Published) -> None:
    Draft202012Validator.check_schema(json.loads(schema.file.read_text(encoding="utf-8")))


class PartDocument(JsonDocument, frozen=True, omit_defaults=True):
    name: str = ""


class WholeDocument(JsonDocument, frozen=True):
    parts: tuple[PartDocument, ...]
    size: int = 1


def test_only_classes_that_omit_defaults_leave_them_out() -> None:
    whole = WholeDocument((PartDocument(), PartDocument("a")))
    assert document_json(whole) == {"parts": [{}, {"name": "a"}], "size": 1}
