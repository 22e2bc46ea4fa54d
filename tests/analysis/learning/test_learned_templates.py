"""The tables in templates/: small templates, and the expected analysis of each.

A template is a whole one, one of the `frames` of its table with the places in «» filled, or the
usual frame: a turn of [reasoning], [content] and [calls] between `opening` and `end`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from autoparser import Analysis, AutoparserError, ChatTemplate, Message, ToolCall, analyze
from tests.analysis.parsing.loop import difference
from tests.analysis.read_texts import assert_reads
from tests.analysis.tiny import CONTENT, JSON_CALL, REASONING, calls, turn
from tests.lanes import sampled

FOLDER = Path(__file__).parent / "templates"
GIVEN: Any = {"b": 'say "hi"\n', "A": [1, "é", None], "c": {"d": True}}
STRANGE = Message(
    calls=(ToolCall("update_record", {"a&b <c>": "plain words", "title": "b"}, "aB3dE6gH1"),)
)


class Case(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A template, and its expected analysis."""

    name: str
    template: str | None = None
    frame: str = ""
    """A key of `frames` in the same table."""
    fill: dict[str, str] = {}
    """The values of its places; the others are empty."""
    turn: str | None = None
    """The assistant's turn, or None for its content, and its calls if there is a `call`."""
    call: str | None = None
    """One call, of the function `f` and the call `c`; [json] is the usual object."""
    call_opening: str = ""
    call_separator: str = ""
    call_close: str = ""
    opening: str = "A:"
    end: str = ".\n"
    prompt: str = "A:"
    front: str = ""
    """The text before all messages."""

    expected: dict[str, Any] = {}
    """By their paths in the JSON of an analysis: values, of mappings as far as they are named.

    Rows are texts with «slots», layouts stand under their parts, switches under their names.
    """
    phases: dict[str, str | list[str]] = {}
    """Words in the conclusions of phases."""
    shape: dict[str, Any] | None = None
    """All in which the shape of messages departs from OpenAI's."""
    arguments: str | None = None
    """How a call writes `GIVEN`."""
    loops: bool = False
    """Whether the self-check passes, and a call with a strange key is read back."""
    reads: list[dict[str, Any]] = []
    """Texts, and the parsed message of each: content, reasoning, calls, status."""
    fails: str | None = None
    """Words in the reason of the smallest failure of the self-check."""
    unusable: str | None = None
    """Words of the error in which the analysis ends."""

    def source(self, frames: Mapping[str, str]) -> str:
        """Return the template's text."""
        if self.template is not None:
            return self.template
        if self.frame:
            return re.sub("«(.*?)»", lambda place: self.fill.get(place[1], ""), frames[self.frame])
        written = calls(
            self.call or "",
            opening=self.call_opening,
            separator=self.call_separator,
            close=self.call_close,
        )
        parts = {"reasoning": REASONING, "content": CONTENT, "calls": written, "json": JSON_CALL}
        body = self.turn or ("[content]" if self.call is None else "[content][calls]")
        for place, text in parts.items():
            body = body.replace(f"[{place}]", text)
        return self.front + turn(body, opening=self.opening, end=self.end, prompt=self.prompt).text


class Table(msgspec.Struct, forbid_unknown_fields=True):
    """A file of cases about one subject."""

    cases: list[Case]
    frames: dict[str, str] = {}


def all_cases() -> dict[str, tuple[Case, str]]:
    """Return the cases of all tables and their templates by table and name."""
    found: dict[str, tuple[Case, str]] = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        table = msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), Table)
        named = {
            f"{path.stem}: {case.name}": (case, case.source(table.frames)) for case in table.cases
        }
        assert len(named) == len(table.cases), "a name stands twice"
        found |= named
    return found


CASES = all_cases()


@pytest.mark.parametrize("name", sampled(CASES, 4))
def test_analyses_match_the_tables(name: str) -> None:
    case, source = CASES[name]
    if case.unusable is not None:
        with pytest.raises(AutoparserError, match=case.unusable) as error:
            analyze(ChatTemplate(source))
        assert error.value.hint
        return
    analysis, found = analysis_of(source)
    expected = {**case.expected, "phases": case.phases}
    if case.shape is not None:
        plain = analysis_of(turn(CONTENT).text)[1]["shape"]
        assert case.shape == {
            key: value for key, value in found["shape"].items() if value != plain[key]
        }
    assert not [
        difference for path in expected for difference in differing(found, path, expected[path])
    ]
    if case.arguments is not None:
        written = analysis.format.calls
        assert written is not None
        assert written.arguments.write(GIVEN).strip() == case.arguments.strip()
    if case.arguments is not None or case.loops:
        assert analysis.check.ok, analysis.check.smallest
    assert not case.loops or not difference(analysis.format, STRANGE)
    assert_reads(analysis, case.reads)
    if case.fails is not None:
        smallest = analysis.check.smallest
        assert smallest is not None
        assert case.fails in f"{smallest.title}: {smallest.reason}"


@cache
def analysis_of(source: str) -> tuple[Analysis, dict[str, Any]]:
    """Analyze a template; return its JSON, too, as the tables write it."""
    analysis = analyze(ChatTemplate(source))
    whole: dict[str, Any] = json.loads(json.dumps(analysis.to_dict()))
    whole["phases"] = {phase["phase"]: phase["conclusion"] for phase in whole["phases"]}
    whole["switches"] = {switch["name"]: switch for switch in whole["switches"]}
    layouts = whole["format"]["layouts"]
    whole["format"]["layouts"] = {
        " + ".join(part for part, there in layout["presence"].items() if there) or "nothing": layout
        for layout in layouts
    }
    return analysis, {key: simplified(part) for key, part in whole.items() if key != "parser"}


def simplified(value: Any) -> Any:
    """Write rows as texts."""
    if isinstance(value, dict):
        return {key: simplified(item) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    if value and all(isinstance(item, dict) and {*item} <= {"literal", "slot"} for item in value):
        return "".join(item.get("literal", f"«{item.get('slot')}»") for item in value)
    return [simplified(item) for item in value]


def differing(found: Any, path: str, expected: Any) -> Iterator[str]:
    """Yield how a value differs from the expected one."""
    if path == "phases":
        for phase, words in expected.items():
            concluded = found["phases"][phase]
            if any(
                word not in concluded for word in ([words] if isinstance(words, str) else words)
            ):
                yield f"{phase} concludes {concluded!r}, not {words!r}"
        return
    for step in path.split("."):
        found = found[step]
    yield from _departures(path, found, expected)


def _departures(path: str, found: Any, expected: Any) -> Iterator[str]:
    if isinstance(expected, dict) and expected and isinstance(found, dict):
        for key, item in expected.items():
            yield from _departures(f"{path}.{key}", found.get(key), item)
    elif isinstance(expected, list) and isinstance(found, list) and len(found) == len(expected) > 0:
        for at, item in enumerate(expected):
            yield from _departures(f"{path}[{at}]", found[at], item)
    elif repr(found) != repr(expected):
        # Compared by `repr`, since `True == 1` in Python.
        yield f"{path} is {found!r}, not {expected!r}"
