"""Check that the examples below fields of `analysis/core` are values of fixtures.

An example is a text in backquotes in the string below a field. After `e.g.`, each is a Python value
that equals one of the field's; elsewhere, at least one occurs in a value of the field, or in a call
that a format of a fixture writes. Private fields, and conditions of true or false, show no values.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec import Struct

from autoparser import Json, Message, ToolCall, analyze
from autoparser.analysis.core.call_format import CallFormat
from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.media_parts import MEDIA_FORMS
from autoparser.analysis.core.message_battery import battery_messages
from autoparser.analysis.core.message_shape import form_departures
from autoparser.analysis.core.reading_judge import ReadingJudge, ReadMessage
from autoparser.analysis.core.server_engines import ServerEngine
from autoparser.analysis.core.text_alignment import diff_split, find_slots, split_repetition
from autoparser.analysis.core.turn_parts import TurnPart
from tests.analysis.learning.test_learned_templates import all_cases, analysis_of
from tests.case_tables import load_cases
from tests.fixture_analyses import TEMPLATES, analyzed

TABLES = load_cases(__file__, "field_examples.yaml")
CORE = Path(__file__).parents[3] / "analysis" / "core"
MODULES = tuple(sorted(path.stem for path in CORE.glob("[a-z]*.py")))
SHOWN = TABLES["shown"]
"""Templates whose formats have the values."""
CASES = TABLES["cases"]
"""Templates of the tables in tests/analysis/learning/templates whose formats have the values."""
PARTS = ("counted", "apart", "inline", "numbered", "strict")
"""Templates of fixtures/parts."""
UNSEEN = TABLES["unseen"]
"""Classes and fields whose examples are not looked for, by the origin of their values."""
DERIVED = ("reasoning", "content", "end_literals", "json_fields", "naming", "default", "split")
"""Properties of formats whose values have fields of their own."""
NOTATIONS = (
    *("ArgumentFormat", "CallFormat", "ContainerNotation", "JsonFieldsDocument", "TurnShape"),
    "ValueNotation",
)
"""Classes that say how a call is written: their examples may be parts of one."""
WRITTEN: tuple[dict[str, Json], ...] = TABLES["written"]
"""The arguments of these calls."""
WORDS: dict[str, Any] = {}
for core_module in (import_module(f"autoparser.analysis.core.{module}") for module in MODULES):
    WORDS |= {name: kind for name, kind in vars(core_module).items() if isinstance(kind, type)}
for plain in (RowSlot, TurnPart, JsonType):
    WORDS |= dict(plain.__members__)


def field_strings(module: str) -> Iterator[tuple[str, str, str]]:
    """Yield the class, the name and the string of each public field of a module."""
    tree = ast.parse((CORE / f"{module}.py").read_text(encoding="utf-8"))
    for owner in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        for field, text in pairwise(owner.body):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(ast.Constant(str(words))):
                    if not (owner.name.startswith("_") or name.startswith("_")):
                        yield owner.name, name, words
                case _:
                    pass


def shown_fields() -> Iterator[tuple[str, str, str]]:
    """Yield the class, the name and the string of each field whose examples are looked for."""
    unseen = {entry for entries in UNSEEN.values() for entry in entries}
    for module in MODULES:
        for owner, name, words in field_strings(module):
            if not {owner, f"{owner}.{name}"} & unseen:
                yield owner, name, words


def examples() -> Iterator[tuple[str, str, str]]:
    """Yield the class and the name of a field with each of its examples after `e.g.`."""
    for owner, name, words in shown_fields():
        for given in re.finditer(r"e\.g\.\s+(`[^`]+`(?: or `[^`]+`)*)", words):
            for text in re.findall(r"`([^`]+)`", given[1]):
                yield owner, name, text


def inner_values(value: object) -> Iterator[object]:
    """Yield the values inside a value."""
    names = field_names(value)
    if names:
        yield from (getattr(value, name, None) for name in names)
    elif isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, tuple | list | frozenset):
        yield from value


def field_names(value: object) -> tuple[str, ...]:
    """Return the names of the fields of a value, and of its properties with values."""
    names = getattr(value, "__struct_fields__", getattr(value, "_fields", ()))
    return (*names, *DERIVED) if isinstance(value, Struct | tuple) and names else ()


def made_values() -> Iterator[object]:
    """Yield what no analysis keeps: battery, media forms, engines, verdicts, splits."""
    yield from (MEDIA_FORMS, [engine.record for engine in ServerEngine])
    for case in battery_messages():
        yield from (case, ReadMessage.of(case.message))
    judge = ReadingJudge(lambda *_: False, lambda _: True)
    yield judge.judge(Message("Hi."), ReadMessage("Hi.\n"))
    yield diff_split("A: find.", "A: stop.")
    yield split_repetition("<calls><do>", "</do>, <do>", "</do></calls>")
    yield find_slots("<do>find</do>", {"find": RowSlot.NAME})


@cache
def field_values() -> Mapping[tuple[str, str], list[object]]:
    """Return the values of each field of the classes of core in the analyses."""
    found: dict[tuple[str, str], list[object]] = defaultdict(list)
    analyses = [analyzed(stem) for stem in SHOWN]
    analyses += [analysis_of(all_cases()[name][1])[0] for name in CASES]
    analyses += [analyze(TEMPLATES.parent / "parts" / f"{stem}.jinja") for stem in PARTS]
    parts = ("formats", "shape", "switches", "checks", "gate", "asked", "stop_texts", "unmoved")
    waiting = [getattr(analysis, part) for analysis in analyses for part in parts]
    waiting += [analysis.content_parts for analysis in analyses]
    waiting += [form_departures(analysis.shape) for analysis in analyses]
    waiting += made_values()
    seen: dict[int, object] = {}
    for value in waiting:
        if id(value) in seen or isinstance(value, str | Enum):
            continue
        seen[id(value)] = value
        waiting += inner_values(value)
        for name in field_names(value):
            for kind in type(value).__mro__:
                found[kind.__name__, name].append(getattr(value, name, None))
        if isinstance(value, CallFormat):
            calls = [ToolCall("get_forecast", given, "aB3dE6gH1") for given in WRITTEN]
            found["", "written"] += [value.write((call,)) for call in calls]
    return found


def equals(shown: object, value: object) -> bool:
    """Whether a value is the shown one; of a mapping, some members are shown."""
    if isinstance(shown, Mapping) and isinstance(value, Mapping):
        return shown.items() <= value.items() if shown else not value
    return shown == value and isinstance(shown, bool) is isinstance(value, bool)


def occurs(text: str, value: object, depth: int = 6) -> bool:
    """Whether a value is the one that a text shows, or has it inside."""
    try:
        shown = eval(text, WORDS)  # noqa: S307 - our own text
    except (NameError, SyntaxError):
        shown = None
        if text in repr(value) or (isinstance(value, str) and text in value):
            return True
    if isinstance(shown, str) and isinstance(value, str) and shown in value:
        return True
    if shown is not None and equals(shown, value):
        return True
    inner = () if depth == 0 or isinstance(value, str) else inner_values(value)
    return any(occurs(text, part, depth - 1) for part in inner)


def test_core_field_examples_occur_in_analyses() -> None:
    given = [*examples()]
    missing = [
        (owner, name, text)
        for owner, name, text in given
        if not any(equals(eval(text, WORDS), value) for value in field_values()[owner, name])  # noqa: S307 - our own text
    ]
    assert len(given) > 90
    assert missing == []


def test_backticked_values_in_field_docs_occur_in_fixtures() -> None:
    values = field_values()
    fields = [
        (owner, name, texts)
        for owner, name, words in shown_fields()
        if (texts := re.findall(r"`([^`]+)`", words))
    ]
    missing = [
        (owner, name, texts)
        for owner, name, texts in fields
        if not all(isinstance(value, bool) for value in values[owner, name] or [None])
        if not any(occurs(text, value) for text in texts for value in values[owner, name])
        if owner not in NOTATIONS
        or not any(
            text.replace("\\n", "\n") in written
            for text in texts
            for written in map(str, values["", "written"])
        )
    ]
    assert len(fields) > 200
    assert missing == []


def test_format_fields_have_docstrings() -> None:
    with_strings = {(owner, name) for module in MODULES for owner, name, _ in field_strings(module)}
    formats = {"CallFormat", "ContainerNotation", "TurnShape", "TurnLayout", "StringText"}
    fields = {(owner, name) for owner, name in field_values() if owner in formats}
    derived = {(owner, name) for owner, name in fields if name in DERIVED}
    assert fields - derived <= with_strings
