"""The examples below the fields of a format are values from formats of fixtures/templates.

An example is the Python text after `e.g.`, in backquotes, in the string below a field of a class
of `analysis/core`. Texts without `e.g.` show values that no fixture has.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec import Struct

from autoparser.analysis.core.call_format import ArgumentForm, CallLimit
from autoparser.analysis.core.call_notation import MemberOrder, RowSlot
from autoparser.analysis.core.message_shape import (
    CallForm,
    ContentForm,
    EmptyContent,
    ReasoningForm,
    ToolForm,
)
from autoparser.analysis.core.schema_keywords import JsonType
from autoparser.analysis.core.text_format import EdgeStrip, StringEscape, TurnPart
from autoparser.analysis.core.verdicts import EvidenceKind
from tests.fixture_analyses import analyzed

CORE = Path(__file__).parents[3] / "analysis" / "core"
MODULES = (
    *("call_format", "call_notation", "conversation", "message_shape", "question_bounds"),
    *("switches", "text_alignment", "text_format", "turn_format", "turn_shape", "verdicts"),
)
SHOWN = (
    *("a1-function-parameter", "a2-5-section-and-separator", "a4-type-flags"),
    *("a5-cdata-when-needed", "a7-2-typed-arguments", "arguments-as-string"),
    *("arguments-null-dropped", "arguments-sorted", "calls-in-prompt-words"),
    *("calls-must-be-answered", "calls-two-raise", "content-parts-required", "g1-pseudo-json"),
    *("history-content-stripped", "history-kept-with-tools", "history-tool-cycle"),
    *("j3-4-tagged-array", "j4-pasted-message", "list-changed", "reasoning-content-parts"),
    *("reasoning-cut-from-content", "reasoning-in-prompt-words", "switch-reasoning-effort"),
    *("tools-bare",),
)
"""Templates whose formats have the values."""
ENUMS = (
    *(ArgumentForm, CallForm, CallLimit, ContentForm, EdgeStrip, EmptyContent, EvidenceKind),
    *(MemberOrder, ReasoningForm, StringEscape, ToolForm),
)
DERIVED = ("reasoning", "content", "end_literals", "json_fields")
"""Properties of formats whose values have fields of their own."""
WORDS: dict[str, Any] = {kind.__name__: kind for kind in ENUMS}
for plain in (RowSlot, TurnPart, JsonType):
    WORDS |= dict(plain.__members__)


def field_strings(module: str) -> Iterator[tuple[str, str, str]]:
    """Yield the class, the name and the string of each field of a module."""
    tree = ast.parse((CORE / f"{module}.py").read_text(encoding="utf-8"))
    for owner in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        for field, text in pairwise(owner.body):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(ast.Constant(str(words))):
                    yield owner.name, name, words


def examples() -> Iterator[tuple[str, str, str]]:
    """Yield the class and the name of a field with each of its examples."""
    for module in MODULES:
        for owner, name, words in field_strings(module):
            for given in re.finditer(r"e\.g\.\s+(`[^`]+`(?: or `[^`]+`)*)", words):
                for text in re.findall(r"`([^`]+)`", given[1]):
                    yield owner, name, text


def inner_values(value: object) -> Iterator[object]:
    """Yield the values inside a value."""
    match value:
        case Struct():
            yield from (getattr(value, name, None) for name in field_names(value))
        case Mapping():
            yield from value.items()
        case tuple() | list() | frozenset():
            yield from value
        case _:
            pass


def field_names(value: Struct) -> tuple[str, ...]:
    """Return the names of the fields of a value, and of its properties with values."""
    return (*value.__struct_fields__, *DERIVED)


@cache
def field_values() -> Mapping[tuple[str, str], list[object]]:
    """Return the values of each field of the classes of core in the analyses."""
    found: dict[tuple[str, str], list[object]] = defaultdict(list)
    analyses = [analyzed(stem) for stem in SHOWN]
    waiting = [
        getattr(analysis, part)
        for analysis in analyses
        for part in ("formats", "shape", "switches", "check", "gate", "asked")
    ]
    seen: dict[int, object] = {}
    for value in waiting:
        if id(value) in seen or isinstance(value, str | Enum):
            continue
        seen[id(value)] = value
        waiting += inner_values(value)
        if isinstance(value, Struct):
            for name in field_names(value):
                for kind in type(value).__mro__:
                    found[kind.__name__, name].append(getattr(value, name, None))
    return found


def test_each_example_of_a_field_occurs_in_an_analysis() -> None:
    given = [*examples()]
    missing = [
        (owner, name, text)
        for owner, name, text in given
        if eval(text, WORDS) not in field_values()[owner, name]  # noqa: S307 - our own text
    ]
    assert len(given) > 90
    assert missing == []


def test_each_field_of_a_format_has_a_string() -> None:
    with_strings = {(owner, name) for module in MODULES for owner, name, _ in field_strings(module)}
    formats = {"CallFormat", "ContainerNotation", "TurnShape", "TurnLayout", "StringText"}
    fields = {(owner, name) for owner, name in field_values() if owner in formats}
    derived = {(owner, name) for owner, name in fields if name in DERIVED}
    assert fields - derived <= with_strings
