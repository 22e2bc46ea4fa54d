"""What an answer is held to: exactly one of JSON schema, regex, grammar, structural tag."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from autoparser.analysis.constraining.grammar import Grammar
from autoparser.analysis.core.value_kind import is_mapping
from autoparser.analysis.loading.tokens import ModelTokenizer

from .constraint_errors import ConstraintError
from .schema_constraint import ANY_JSON, Whitespace, read_schema, schema_text, with_whitespace

__all__ = ["Constraint", "ConstraintKind", "one_constraint"]


class ConstraintKind(Enum):
    """The four kinds; the value is the name of the request's field."""

    JSON_SCHEMA = "json_schema"
    REGEX = "regex"
    EBNF = "ebnf"
    """A grammar in Lark (as llguidance reads it) or GBNF; the text itself tells which."""
    STRUCTURAL_TAG = "structural_tag"


@dataclass(frozen=True, slots=True)
class Constraint:
    """One constraint in normal form: equal ones need one compilation."""

    kind: ConstraintKind
    text: str
    """JSON of the schema or the structural tag, the regex, or the grammar."""

    @classmethod
    def json_schema(cls, schema: object, *, whitespace: Whitespace = "flexible") -> Constraint:
        """Hold the answer to a JSON schema (see ``read_schema`` for what it may be)."""
        made = with_whitespace(read_schema(schema), whitespace)
        return cls(ConstraintKind.JSON_SCHEMA, schema_text(made))

    @classmethod
    def regex(cls, pattern: str) -> Constraint:
        """Hold the whole answer to a regex (of Rust's syntax: no look-around)."""
        return cls(ConstraintKind.REGEX, _text(pattern, "regex"))

    @classmethod
    def ebnf(cls, grammar: str) -> Constraint:
        """Hold the whole answer to a grammar in Lark or in GBNF."""
        return cls(ConstraintKind.EBNF, _text(grammar, "ebnf"))

    @classmethod
    def of_request(cls, grammar: Grammar, tokenizer: ModelTokenizer) -> Constraint:
        """Hold the whole answer to what a template would write; raises as ``Grammar.lark`` does."""
        return cls.ebnf(grammar.lark(tokenizer))

    @classmethod
    def structural_tag(cls, tag: object, *, whitespace: Whitespace = "flexible") -> Constraint:
        """Leave the answer free but for what stands in tags.

        ``tag`` is SGLang's ``{"structures", "triggers"}`` or ``{"type": "structural_tag",
        "format"}``, as an object or as JSON. ``whitespace`` is that of its JSON.
        """
        if isinstance(tag, str):
            try:
                tag = json.loads(tag)
            except ValueError as error:
                raise ConstraintError(
                    f"the structural tag is not valid JSON: {error}", place="structural_tag"
                ) from error
        if not is_mapping(tag):
            raise ConstraintError(
                f"a structural tag is an object, not {type(tag).__name__}", place="structural_tag"
            )
        document = {"whitespace": whitespace, "tag": dict(tag)}
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        return cls(ConstraintKind.STRUCTURAL_TAG, text)


def one_constraint(
    *,
    json_schema: object | None = None,
    regex: str | None = None,
    ebnf: str | None = None,
    structural_tag: object | None = None,
    response_format: Mapping[str, Any] | None = None,
    tool_choice: object = None,
    whitespace: Whitespace = "flexible",
) -> Constraint | None:
    """Read a request's fields: at most one constraint; None where the answer is free.

    ``response_format`` is the API's object. ``tool_choice`` is given where the request's tools
    make a constraint of their own (``required``, or one tool by name); that excludes all others.
    Raises ``ConstraintError``, which names the two that contradict each other.
    """
    given: dict[str, object] = {
        name: value
        for name, value in (
            ("json_schema", json_schema),
            ("regex", regex),
            ("ebnf", ebnf),
            ("structural_tag", structural_tag),
        )
        if value is not None
    }
    answer = _response_format(response_format)
    if tool_choice not in (None, "auto", "none"):
        if answer is not None:
            raise ConstraintError("Tool calling conflicts with explicit response_format")
        for name in given:
            raise ConstraintError(f"Tool calling conflicts with explicit {name}")
    if answer is not None:
        given = {**given, "response_format": None} if given else {answer[0]: answer[1]}
    if len(given) > 1:
        first, second = list(given)[:2]
        raise ConstraintError(
            f"Cannot specify both '{first}' and '{second}' in the same request",
            hint="an answer is held to one constraint",
        )
    return next(
        (_constraint(name, value, whitespace) for name, value in given.items()),
        None,
    )


def _constraint(name: str, value: object, whitespace: Whitespace) -> Constraint:
    match ConstraintKind(name):
        case ConstraintKind.JSON_SCHEMA:
            return Constraint.json_schema(value, whitespace=whitespace)
        case ConstraintKind.REGEX:
            return Constraint.regex(_text(value, name))
        case ConstraintKind.EBNF:
            return Constraint.ebnf(_text(value, name))
        case ConstraintKind.STRUCTURAL_TAG:
            return Constraint.structural_tag(value, whitespace=whitespace)


def _response_format(given: Mapping[str, Any] | None) -> tuple[str, object] | None:
    """Read the API's ``response_format``: the constraint's field and its value."""
    if given is None:
        return None
    match given.get("type"):
        case "text":
            return None
        case "json_object":
            return "json_schema", {"type": "object"}
        case "json_schema":
            inner = given.get("json_schema")
            if not is_mapping(inner):
                raise ConstraintError("has no object json_schema", place="response_format")
            return "json_schema", inner.get("schema", ANY_JSON)
        case "regex" | "ebnf" as kind:
            return kind, given.get(kind)
        case "structural_tag":
            # What is not the tag's, such as the API's own fields, does no harm there.
            return "structural_tag", given
        case other:
            raise ConstraintError(
                f"there is no type {other!r}",
                place="response_format",
                hint="text, json_object, json_schema, regex, ebnf and structural_tag are known",
            )


def _text(value: object, place: str) -> str:
    if not isinstance(value, str) or not value:
        raise ConstraintError("is not text, or empty", place=place)
    return value
