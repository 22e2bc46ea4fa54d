"""Load every fixture's export in each engine's own parser.

An engine has its own Python: `AUTOPARSER_VLLM_PYTHON=/path/to/python`, and the like for SGLang.
Without one, the tests are skipped; the tests of the export parse every fixture with transformers.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from autoparser.analysis.core.message_battery import battery_messages
from autoparser.analysis.export.export_limits import TemplateDialect
from autoparser.analysis.export.response_template import response_template, try_out
from tests.analysis.parsing.loop import analysis_of, fixture_names

from .export_reader import ExportReader, RefusedExportError
from .running_engine import SGLANG, VLLM

pytestmark = [pytest.mark.slow, pytest.mark.engine]

TWICE_READ = "sglang"
"""Its first parser passes on a text without markup, so the second one loses a call that the text
after it closes. A null written as `None` stays that text."""
PRESENT = {engine.name: engine.python for engine in (VLLM, SGLANG) if engine.python}


@pytest.fixture(scope="module", params=PRESENT)
def engine(request: pytest.FixtureRequest) -> Generator[tuple[str, ExportReader]]:
    with ExportReader(request.param, PRESENT[request.param]) as reader:
        yield request.param, reader


@pytest.mark.parametrize("name", fixture_names() if PRESENT else ())
def test_exports_load_and_parse_every_promised_message(
    engine: tuple[str, ExportReader], name: str
) -> None:
    called, reader = engine
    analysis = analysis_of(name)
    format_ = analysis.formats.united
    promised = reader.load(format_, response_template(format_))
    trial = try_out(format_, promised, reader, analysis.prober())
    calling = {case.title for case in battery_messages() if case.message.calls}
    known = calling if called == TWICE_READ else set[str]()
    strange = [mismatch for mismatch in trial.mismatches if mismatch.title not in known]
    assert not strange, strange[0]


def test_serving_engines_refuse_exports_in_the_transformers_dialect(
    engine: tuple[str, ExportReader],
) -> None:
    _, reader = engine
    format_ = analysis_of("j1-json-in-tags").formats.united
    export = response_template(format_, TemplateDialect.TRANSFORMERS)
    with pytest.raises(RefusedExportError, match="reasoning_content"):
        reader.load(format_, export)
