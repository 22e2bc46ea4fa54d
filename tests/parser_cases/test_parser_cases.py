"""Parse the outputs of this folder's tables, in every chunking.

Each case is read in one piece, by single characters, and in pieces cut at random; all give the
message of the table, and the deltas of a stream put together are that message.
"""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
import yaml

from autoparser import Analysis, analyze
from tests.analysis.parsing.loop import disagreement
from tests.fixture_analyses import analyzed
from tests.fuzz.edits import cut

FOLDER = Path(__file__).parent
Tool = dict[str, Any]


class Call(msgspec.Struct, forbid_unknown_fields=True):
    """A call that was read."""

    name: str
    arguments: Any
    """Values; text where it counts how they are spelled, and where they are not whole."""
    id: str = ""
    """As it is written; empty where none is."""
    status: str = "ok"

    @property
    def written(self) -> str:
        """The arguments as text, since true and 1 are equal in Python; their order counts."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


class Case(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An output, the request that it answers, and the message."""

    name: str
    template: str
    """The stem of a file in fixtures/templates, or a key of `templates` in the same table."""
    output: str
    prompt: str | None = None
    """The end of the rendered prompt, or None for the template's default one."""
    tools: list[Tool | str] | Literal["any"] | None = None
    """Names from tools.yaml, or tools; None for all of them, `any` for a request without a list."""
    request: dict[str, Any] = {}
    """Other options of `Analysis.parser`."""
    complete: bool = True
    """False if a limit cut the output."""
    content: str | None = None
    reasoning: str | None = None
    calls: list[Call] = []
    cut_call: Call | None = None
    """The call in which the output was cut."""
    junk: list[str] = []
    """The pieces of the output that belong to nothing."""
    behind_reasoning: str | None = None
    """The text after the end of the reasoning; None here and below if not compared."""
    missing_end: str | None = None
    finish_reason: str | None = None
    accepted: bool | None = None
    """Whether the grammar of the same request accepts the output."""
    status: str


class Table(msgspec.Struct, forbid_unknown_fields=True):
    """A file of cases about one subject."""

    cases: list[Case]
    templates: dict[str, str] = {}
    """Templates of its own, by name."""


@cache
def tables() -> dict[str, Table]:
    """Read the tables by the stems of their files."""
    paths = sorted(path for path in FOLDER.glob("*.yaml") if path.name != "tools.yaml")
    return {path.stem: msgspec.convert(_read(path), Table) for path in paths}


def _read(path: Path) -> Any:
    # The C loader reads these tables in a tenth of the second that the Python one takes.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return loader(path.read_text(encoding="utf-8")).get_single_data()


@cache
def tools() -> dict[str, Tool]:
    """Read the tools that most cases offer, by name."""
    found = [*_read(FOLDER / "tools.yaml"), *_read(FOLDER.parents[1] / "fixtures" / "tools.yaml")]
    return {tool.get("function", tool)["name"]: tool for tool in found}


@cache
def analysis_of(stem: str, template: str) -> Analysis:
    """Analyze a template of the table itself, or a fixture."""
    text = tables()[stem].templates.get(template)
    return analyzed(template) if text is None else analyze(text)


def _offered(case: Case) -> list[Tool] | None:
    if case.tools == "any":
        return None
    offered: list[Tool | str] = [*tools()] if case.tools is None else case.tools
    return [tools()[tool] if isinstance(tool, str) else tool for tool in offered]


CASES = [
    pytest.param(stem, case, id=f"{stem}: {case.name}")
    for stem, table in tables().items()
    for case in table.cases
]


@pytest.mark.parametrize(("stem", "case"), CASES)
def test_output_parses_as_its_table_in_every_chunking(stem: str, case: Case) -> None:
    analysis, tools_, text = analysis_of(stem, case.template), _offered(case), case.output
    parser = analysis.parser(tools_, prompt=case.prompt, **case.request)
    whole = parser.parse(text, complete=case.complete)
    assert whole.content == case.content
    assert whole.reasoning_content == case.reasoning
    assert [call.name for call in whole.tool_calls] == [call.name for call in case.calls]
    for call, expected in zip(whole.tool_calls, case.calls, strict=True):
        assert (call.id, call.status.value) == (expected.id, expected.status)
        spelled = isinstance(expected.arguments, str)
        found = call.arguments if spelled else json.dumps(json.loads(call.arguments))
        assert found == expected.written
    partial, cut_call = whole.partial_call, case.cut_call
    assert (partial and partial.name) == (cut_call and cut_call.name)
    assert (partial and partial.arguments) == (cut_call and cut_call.written)
    junk = [span for span in whole.spans if span.kind.name == "JUNK"]
    assert [text[span.start : span.end] for span in junk] == case.junk
    assert whole.status.value == case.status
    if case.behind_reasoning is not None:
        assert text[whole.reasoning_end :] == case.behind_reasoning
    assert case.missing_end in (None, whole.missing_end)
    assert case.finish_reason in (None, whole.finish_reason)
    if case.accepted is not None:
        grammar = analysis.grammar(tools_ or [], prompt=case.prompt, **case.request)
        assert grammar.accepts(text).accepted is case.accepted
    assert not disagreement(
        parser, text, text, cut(random.Random(text), text), complete=case.complete
    )


def test_case_names_in_a_table_are_unique() -> None:
    for stem, table in tables().items():
        names = [case.name for case in table.cases]
        assert len(names) == len(set(names)), stem
