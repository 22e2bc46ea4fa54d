"""The tables of this folder: what an output says, however it comes.

Each case is read in one piece, by single characters, and in pieces cut at random; all give the
message of the table, and the deltas of a stream put together are that message.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import pytest
import yaml

from autoparser import Analysis, Delta, Json, OutputParser, ParsedCall, ParsedMessage, analyze
from tests.fixture_analyses import analysed

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

FOLDER = Path(__file__).parent
LONGEST_PIECES = (3, 8, 30)
"""Of an output that is cut at random, once for each; what is cut how is the same in every run."""

Tool = dict[str, Any]


class Call(msgspec.Struct, forbid_unknown_fields=True):
    """A call that was read."""

    name: str
    arguments: Any
    """Values; text where it counts how they are spelled, and where they are not whole."""
    id: str = ""
    """As the output says it; empty where it says none."""
    status: str = "ok"

    @property
    def written(self) -> str:
        """The arguments as text, since to Python true and 1 are the same; their order counts."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


class Case(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An output, the request that it answers, and the message."""

    name: str
    template: str
    """The stem of a file in fixtures/templates, or a key of `templates` in the same table."""
    output: str
    prompt: str | None = None
    """The end of the rendered prompt; None: the template's usual one."""
    tools: list[Tool | str] | Literal["any"] | None = None
    """Names of tools.yaml, or tools; None: all of them; any: the request offers no list."""
    request: dict[str, Any] = {}
    """What else is asked of `Analysis.parser`."""
    complete: bool = True
    """False: a limit cut the output."""
    content: str | None = None
    reasoning: str | None = None
    calls: list[Call] = []
    cut_call: Call | None = None
    """The call in which the output was cut."""
    junk: list[str] = []
    """The pieces of the output that belong to nothing."""
    behind_reasoning: str | None = None
    """What follows the end of the reasoning; None: it is not looked at, as those below."""
    missing_end: str | None = None
    finish_reason: str | None = None
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
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@cache
def tools() -> dict[str, Tool]:
    """Read the tools that most cases offer, by name."""
    found = [*_read(FOLDER / "tools.yaml"), *_read(FOLDER.parents[1] / "fixtures" / "tools.yaml")]
    return {tool.get("function", tool)["name"]: tool for tool in found}


def cases() -> list[ParameterSet]:
    """Return all cases; a case's id is its file and its name."""
    return [
        pytest.param(stem, case, id=f"{stem}: {case.name}")
        for stem, table in tables().items()
        for case in table.cases
    ]


def parser_of(stem: str, case: Case) -> OutputParser:
    """Make the parser of a case's request."""
    own = _own_analysis(stem, case.template)
    analysis = analysed(case.template) if own is None else own
    return analysis.parser(_offered(case), prompt=case.prompt, **case.request)


@cache
def _own_analysis(stem: str, template: str) -> Analysis | None:
    """Analyze a template that stands in the table itself; None for one that does not."""
    text = tables()[stem].templates.get(template)
    return None if text is None else analyze(text)


def _offered(case: Case) -> list[Tool] | None:
    if case.tools == "any":
        return None
    if case.tools is None:
        return [*tools().values()]
    return [tools()[each] if isinstance(each, str) else each for each in case.tools]


@pytest.mark.parametrize(("stem", "case"), cases())
def test_an_output_is_read_as_its_table_says_however_it_comes(stem: str, case: Case) -> None:
    parser, text = parser_of(stem, case), case.output
    whole = parser.parse(text, complete=case.complete)
    assert whole.content == case.content
    assert whole.reasoning_content == case.reasoning
    assert [call.name for call in whole.tool_calls] == [call.name for call in case.calls]
    for call, expected in zip(whole.tool_calls, case.calls, strict=True):
        assert (call.id, call.status.value) == (expected.id, expected.status)
        assert _arguments(call, expected) == expected.written
    cut, cut_call = whole.partial_call, case.cut_call
    assert (cut and cut.name) == (cut_call and cut_call.name)
    assert (cut and cut.arguments) == (cut_call and cut_call.written)
    assert _junk(whole, text) == case.junk
    assert whole.status.value == case.status
    if case.behind_reasoning is not None:
        assert text[whole.reasoning_end :] == case.behind_reasoning
    if case.missing_end is not None:
        assert whole.missing_end == case.missing_end
    if case.finish_reason is not None:
        assert whole.finish_reason == case.finish_reason
    for pieces in ([text], list(text), *_random_cuts(text)):
        message, deltas = _streamed(parser, pieces, complete=case.complete)
        assert message == whole, pieces
        assert _sum(deltas) == message.to_openai(), pieces


def test_the_cases_of_a_table_have_names_of_their_own() -> None:
    for stem, table in tables().items():
        names = [case.name for case in table.cases]
        assert len(names) == len(set(names)), stem


def _arguments(call: ParsedCall, expected: Call) -> str:
    """Return the arguments of a call, spelled as those of the table are."""
    if isinstance(expected.arguments, str):
        return call.arguments
    return json.dumps(json.loads(call.arguments))


def _junk(message: ParsedMessage, text: str) -> list[str]:
    """Return the pieces that are junk; every character of the text is in exactly one span."""
    pieces = [(span.kind.name, text[span.start : span.end]) for span in message.spans]
    assert "".join(piece for _, piece in pieces) == text
    return [piece for kind, piece in pieces if kind == "JUNK"]


def _random_cuts(text: str) -> Iterator[list[str]]:
    source = random.Random(text)
    for longest in LONGEST_PIECES:
        cuts = [0]
        while cuts[-1] < len(text):
            cuts.append(cuts[-1] + source.randint(1, longest))
        yield [text[start:end] for start, end in pairwise(cuts)]


def _streamed(
    parser: OutputParser, pieces: Sequence[str], *, complete: bool
) -> tuple[ParsedMessage, list[Delta]]:
    stream = parser.stream()
    deltas = [delta for piece in pieces for delta in stream.feed(piece)]
    deltas += stream.finish(complete=complete)
    return stream.message, deltas


def _sum(deltas: Sequence[Delta]) -> dict[str, Json]:
    """Put deltas together as a client of OpenAI does: texts by their keys, calls by their index."""
    message: dict[str, Any] = {"role": "assistant", "content": None}
    calls: list[dict[str, Any]] = []
    for delta in deltas:
        sent: dict[str, Any] = delta.to_openai()
        for key, value in sent.items():
            if key != "tool_calls":
                message[key] = f"{message.get(key) or ''}{value}"
                continue
            for piece in value:
                if piece["index"] == len(calls):
                    calls.append(
                        {
                            "id": piece["id"],
                            "type": piece["type"],
                            "function": {**piece["function"]},
                        }
                    )
                else:
                    assert piece["index"] == len(calls) - 1
                    assert [*piece["function"]] == ["arguments"]
                    calls[-1]["function"]["arguments"] += piece["function"]["arguments"]
    if calls:
        message["tool_calls"] = calls
    return message
