"""The tables of this folder: formats learned from examples, or from outputs.

An output of an `outputs` table has a message only where the learned format reads it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from autoparser import (
    Analysis,
    AutoparserError,
    ChatTemplate,
    analyze,
    learn,
    learn_outputs,
    load_format,
)
from autoparser.analysis.grammar.acceptance import GrammarDialect
from autoparser.analysis.teaching.suggested_labels import read_by_schema
from autoparser.analysis.teaching.taught_analysis import UsedFormat, unwritten_tokens, with_saved
from autoparser.formats import given_examples, given_outputs
from tests.analysis.read_texts import assert_reads, message_in
from tests.case_tables import case_tables, load_cases
from tests.fixture_analyses import analyzed
from tests.lanes import sampled

FOLDER = Path(__file__).parent
SHOWN = FOLDER.parents[2] / "fixtures" / "learning"
CHAT = (SHOWN / "chat-only.jinja").read_text("utf-8")
"""A template that drops calls and reasoning."""
TOOLS = yaml.safe_load((SHOWN / "tools.yaml").read_text("utf-8"))


class Case(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Examples or outputs given with a template, and the expected format."""

    name: str
    template: str = ""
    """A key of `templates` in the same table, or empty for `CHAT`."""
    tools: str = ""
    """A key of `tools`, or empty for the tools of fixtures/learning."""
    examples: list[dict[str, Any]] = []
    """As a file of examples holds them."""
    outputs: list[str] = []
    tokens: list[str] = []
    """Added tokens of the model's tokenizer."""

    used: str = ""
    reason: str = ""
    odd: dict[int, str] | list[int] = []
    """Examples that are not read, by number; for an output, also the reason."""
    misread: list[int] | None = None
    """Examples that the learned format does not read, used or not."""
    exact: bool = False
    """Whether every example is written exactly, too."""
    guesses: str = ""
    """Words of a conclusion that no example shows."""
    shows: str = ""
    """Words that no guess has."""
    stops: list[str] = []
    """The stop strings after calls, as far as they are named."""
    reasoning: list[str | None] = []
    """The reasoning of each output."""
    evidence: dict[str, str] = {}
    """Where the parts of the format are from, as far as they are named."""
    reads: list[dict[str, Any]] = []
    """Texts, and the parsed message of each: content, reasoning, calls."""
    writes: list[dict[str, Any]] = []
    required: list[str] = []
    """Texts that the grammar of a required call allows."""
    error: str = ""


class Table(msgspec.Struct, forbid_unknown_fields=True):
    """A file of cases."""

    cases: list[Case]
    templates: dict[str, str] = {}
    tools: dict[str, list[dict[str, Any]]] = {}


EXAMPLES, OUTPUTS = (
    msgspec.convert(load_cases(__file__, name), Table) for name in ("examples.yaml", "outputs.yaml")
)
"""Every fourth case is asked in the quick lane."""


@cache
def analysis_of(text: str) -> Analysis:
    """Analyze a template once."""
    return analyze(ChatTemplate(text))


@pytest.mark.parametrize("case", sampled(EXAMPLES.cases, 4), ids=lambda case: case.name)
def test_formats_learned_from_examples_match_the_table(case: Case) -> None:
    text = EXAMPLES.templates[case.template] if case.template else CHAT
    found = learn(analysis_of(text), given_examples(case.examples, "examples.yaml"))
    places = [f"examples[{at}]" for at in range(len(case.examples))]
    assert (found.used, found.reason) == (case.used, case.reason)
    assert [reading.example.place for reading in found.odd] == [places[at] for at in case.odd]
    if case.misread is not None:
        assert found.misread == tuple(places[at] for at in case.misread)
    if case.exact:
        assert found.analysis.check.equal == len(case.examples)
    assert not case.guesses or any(case.guesses in guess for guess in found.guesses)
    assert not case.shows or not any(case.shows in guess for guess in found.guesses)
    if case.stops:
        assert [stop.text for stop in found.analysis.stop_texts.after_calls] == case.stops
        assert not any(stop.inside for stop in found.analysis.stop_texts.after_content)
    evidence = {str(part): str(kind) for part, kind in found.analysis.format.evidence.items()}
    assert {part: evidence[part] for part in case.evidence} == case.evidence
    assert_reads(found.analysis, case.reads)
    if case.required:
        grammar = found.analysis.grammar(TOOLS, tool_choice="required")
        assert [text for text in case.required if not grammar.accepts(text).accepted] == []
    for words in case.writes:
        assert found.analysis.format.write(message_in(words["message"])) == words["text"]


@pytest.mark.parametrize("case", sampled(OUTPUTS.cases, 4), ids=lambda case: case.name)
def test_formats_learned_from_outputs_match_the_table(case: Case) -> None:
    text = OUTPUTS.templates[case.template] if case.template else CHAT
    tools = OUTPUTS.tools[case.tools] if case.tools else TOOLS
    if case.error:
        with pytest.raises(AutoparserError, match=case.error):
            learn_outputs(analysis_of(text), case.outputs, tools, case.tokens)
        return
    found = learn_outputs(analysis_of(text), case.outputs, tools, case.tokens)
    assert (found.used, found.reason) == (case.used, case.reason)
    odd = {at: reading.problem for at, reading in enumerate(found.readings) if reading.problem}
    assert odd == (case.odd or {})
    assert found.misread == tuple(f"outputs[{at}]" for at in odd)
    if case.reasoning:
        read = [reading.message and reading.message.reasoning for reading in found.readings]
        assert read == case.reasoning
    evidence = {str(part): str(kind) for part, kind in found.analysis.format.evidence.items()}
    assert {part: evidence[part] for part in case.evidence} == case.evidence
    assert_reads(found.analysis, case.reads, tools)


GIVEN = case_tables(__file__, "given.yaml")


@GIVEN("widened")
def test_grammar_of_a_widened_format_allows_both_forms(
    case: dict[str, Any], tmp_path: Path
) -> None:
    opener, outputs, learned, mistyped = case.values()
    analysis = analysis_of(OUTPUTS.templates["calls by name"])
    found = learn_outputs(analysis, outputs, TOOLS)
    assert found.used is UsedFormat.BOTH
    found.analysis.save(tmp_path / "widened.json")
    own = '<call>look {"city": "Oslo"}</call>'
    for widened in (found.analysis, load_format(tmp_path / "widened.json")):
        for choice in ("auto", "required", "look"):
            grammar = widened.grammar(TOOLS, tool_choice=choice)
            alone = analysis.grammar(TOOLS, tool_choice=choice)
            for text in (own, learned, *outputs):
                assert grammar.accepts(text).accepted, (choice, text)
                assert grammar.parser().parse(text).tool_calls, text
            assert grammar.accepts(learned, dialect=GrammarDialect.GBNF).accepted
            assert set(alone.preserved_tokens) <= set(grammar.preserved_tokens)
            # To the template's own grammar, calls that begin otherwise are free text.
            assert alone.accepts(learned).accepted is (choice == "auto" and opener != "<call>")
            assert not grammar.accepts(mistyped).accepted
            if choice != "auto" or opener == "<call>":
                assert not grammar.accepts(learned.replace("look", "nook")).accepted
            assert grammar.accepts("Hello.").accepted is (choice == "auto")
            # No content holds a call of the other notation, whose arguments nothing would check.
            strange = '<call>nook {"city": 5}</call>'
            for text in (f"Well. {strange}{learned}", f"{learned}{strange}", f"{strange}{own}"):
                for dialect in GrammarDialect:
                    assert not grammar.accepts(text, dialect=dialect).accepted, (choice, text)
        lazy = widened.grammar(TOOLS, lazy=True)
        assert set(lazy.triggers) == {"<call>", opener}
        assert lazy.accepts(learned).accepted
        assert lazy.accepts(own).accepted
        none = widened.grammar(TOOLS, tool_choice="none")
        assert none.accepts("Hello.").accepted


def test_saved_format_is_refused_for_another_template(tmp_path: Path) -> None:
    file = tmp_path / "model.format.json"
    examples = yaml.safe_load((SHOWN / "examples.yaml").read_text("utf-8"))
    learn(analysis_of(CHAT), given_examples(examples, "examples.yaml")).analysis.save(file)
    served = with_saved(analysis_of(CHAT), load_format(file))
    read = served.parser().parse("[do look(city='Lima', days=2)]")
    assert [call.arguments for call in read.tool_calls] == ['{"city": "Lima", "days": 2}']
    with pytest.raises(AutoparserError, match="learned from a different template"):
        with_saved(analyze(ChatTemplate(f"{CHAT} ")), load_format(file))


@GIVEN("wrong_examples")
def test_invalid_example_is_an_error_with_its_place(case: dict[str, Any]) -> None:
    with pytest.raises(AutoparserError, match=case["words"]):
        learn(analysis_of(CHAT), given_examples(case["value"], "examples.yaml"))


@GIVEN("log_lines")
def test_log_line_gives_an_output(case: dict[str, str]) -> None:
    assert [output.text for output in given_outputs(case["line"], "log")] == [case["text"]]


def test_log_without_lines_is_an_error() -> None:
    with pytest.raises(AutoparserError, match="no outputs"):
        given_outputs("\n\n", "log")


SCHEMAS = case_tables(__file__, "response_schemas.yaml")


@SCHEMAS("read")
def test_output_is_parsed_by_its_response_schema(case: dict[str, Any]) -> None:
    assert repr(read_by_schema(case["text"], case["schema"])) == repr(case["read"])


@SCHEMAS("unread")
def test_output_that_does_not_fit_its_schema_is_an_error(case: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_by_schema(case["text"], case["schema"])


@GIVEN("added_tokens")
def test_added_tokens_that_nothing_renders_are_listed(case: dict[str, Any]) -> None:
    chat = f"{CHAT}{{% if muse %}}{{{{ '(muse on)' }}}}{{% endif %}}"
    analysis = analyze(ChatTemplate(chat, {"pad_token": "(pad)"}))
    assert [*unwritten_tokens(analysis, case["tokens"])] == case["named"]


def test_template_with_all_parts_needs_no_special_tokens() -> None:
    assert unwritten_tokens(analyzed("a7-token-pairs"), ["(never)"]) == ()
