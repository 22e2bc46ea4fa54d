"""A keyword of a tool's schema is not in the prompt, or fails the request.

What values an argument may have the model knows from the schema alone. Templates that write types
in a form of their own know `type` and `description`; a choice of types, a reference or a bound is
left out without a word, and the model guesses.

Before:

    {{- name + ': ' + its.type }}

After:

    {{- name + ': ' + its | tojson }}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.inference.probing import ToolForm
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.quoting import failed, listed
from autoparser.analysis.lint.renders import Render, compared
from autoparser.analysis.lint.rule import Rule
from autoparser.analysis.lint.subject import Subject


@dataclass(frozen=True, slots=True)
class ProbedKeyword:
    """A keyword as an argument's schema has it, and what of it must reach the model."""

    name: str
    schema: Mapping[str, Json]
    sign: str
    """A text that only this keyword holds."""


def check(subject: Subject) -> Iterator[Hit]:
    """Offer a tool whose arguments have a keyword each; one that fails, with one alone."""
    usual = _offering(subject, {"type": "string"})
    name = subject.marks.names[0]
    if subject.shape.tools is ToolForm.NONE or name not in usual.text:
        return
    lost: list[tuple[ProbedKeyword, Render]] = []
    for keyword in _keywords(subject):
        render = _offering(subject, keyword.schema)
        if render.error is not None:
            yield Hit(
                f"requests fail that offer a tool whose schema has {keyword.name}:"
                f" it {failed(render)}",
                (compared(render, f"with {keyword.name}", usual, "with a type alone"),),
                line=render.error.line,
                severity=Severity.ERROR,
                cause=render.cause,
            )
        elif keyword.sign not in render.text:
            lost.append((keyword, render))
    if lost and subject.marks.keys[0] in usual.text:
        yield Hit(
            f"the model is not told of {listed([each.name for each, _ in lost])}"
            " in the schemas of tools",
            tuple(
                compared(render, f"with {each.name}", usual, "with a type alone")
                for each, render in lost
            ),
        )


def _keywords(subject: Subject) -> tuple[ProbedKeyword, ...]:
    marks = subject.marks
    word, number = marks.values[2], marks.integer
    of_word: dict[str, Json] = {"type": "string", "description": word}
    return (
        ProbedKeyword("enum", {"type": "string", "enum": [word]}, word),
        ProbedKeyword("const", {"const": word}, word),
        ProbedKeyword("anyOf", {"anyOf": [of_word, {"type": "null"}]}, word),
        ProbedKeyword("$ref", {"$ref": f"#/$defs/{marks.values[1]}"}, word),
        ProbedKeyword("items", {"type": "array", "items": of_word}, word),
        ProbedKeyword("properties", {"type": "object", "properties": {word: of_word}}, word),
        ProbedKeyword("minimum", {"type": "integer", "minimum": number}, str(number)),
        ProbedKeyword("pattern", {"type": "string", "pattern": word}, word),
        ProbedKeyword("a list of types", {"type": ["string", "null"], "description": word}, word),
    )


def _offering(subject: Subject, schema: Mapping[str, Json]) -> Render:
    """Offer a tool whose argument has a schema, with a definition where that refers to one."""
    marks = subject.marks
    key, name = marks.keys[0], marks.values[1]
    parameters: dict[str, Json] = {
        "type": "object",
        "properties": {key: {"description": "What it is.", **schema}},
        "required": [key],
    }
    if "$ref" in schema:
        described: Json = {"type": "string", "description": marks.values[2]}
        parameters["$defs"] = {name: described}
    function: dict[str, Json] = {
        "name": marks.names[0],
        "description": "Does what it says.",
        "parameters": parameters,
    }
    question = subject.play((subject.user,), tools=True, generation=True)
    return subject.render(
        question.messages,
        tools=[subject.shape.tool(function)],
        generation=True,
        setting=subject.usual_setting,
    )


RULE = Rule(
    "AP534",
    "schema-keyword-lost",
    __doc__,
    Severity.WARNING,
    check,
    fix="write the schema as JSON, or every keyword of it",
)
