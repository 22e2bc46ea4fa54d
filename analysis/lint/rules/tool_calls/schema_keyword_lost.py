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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.inference.probing import ToolForm
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import Render, compared
from autoparser.analysis.lint.parting_line import parting_line
from autoparser.analysis.lint.quoting import failed, listed
from autoparser.analysis.lint.raising_hit import raising_hit
from autoparser.analysis.lint.rule import NoFix, Rule
from autoparser.analysis.lint.subject import Subject


@dataclass(frozen=True, slots=True)
class ProbedKeyword:
    """A keyword as an argument's schema has it, and what of it must reach the model."""

    name: str
    schema: Mapping[str, Json]
    sign: str
    """A text that only this keyword holds."""


def check(subject: Subject) -> Iterator[Hit]:
    """Offer a tool whose arguments have a keyword each; where not all is written, one by one."""
    if subject.shape.tools is ToolForm.NONE:
        return
    keywords = _keywords(subject)
    together = _offering(subject, [each.schema for each in keywords])
    if all(each.sign in together.text for each in keywords):
        return
    usual = _offering(subject, [{"type": "string"}])
    if subject.marks.names[0] not in usual.text:
        return
    lost: list[tuple[ProbedKeyword, Render]] = []
    for keyword in keywords:
        render = _offering(subject, [keyword.schema])
        if render.error is not None:
            yield raising_hit(
                f"requests fail that offer a tool whose schema has {keyword.name}:"
                f" it {failed(render)}",
                render,
                f"with {keyword.name}",
                usual,
                "with a type alone",
                crashed=Severity.ERROR,
                refused=Severity.ERROR,
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
            line=parting_line(lost[0][1], usual),
        )


def _keywords(subject: Subject) -> tuple[ProbedKeyword, ...]:
    marks = subject.marks

    def with_sign(at: int, name: str, schema: Callable[[str], Mapping[str, Json]]) -> ProbedKeyword:
        sign = f"{marks.values[2]}{at}"
        return ProbedKeyword(name, schema(sign), sign)

    def described(sign: str) -> dict[str, Json]:
        return {"type": "string", "description": sign}

    number = marks.integer
    return (
        with_sign(1, "enum", lambda sign: {"type": "string", "enum": [sign]}),
        with_sign(2, "const", lambda sign: {"const": sign}),
        with_sign(3, "anyOf", lambda sign: {"anyOf": [described(sign), {"type": "null"}]}),
        ProbedKeyword("$ref", {"$ref": f"#/$defs/{marks.values[1]}"}, marks.values[0]),
        with_sign(4, "items", lambda sign: {"type": "array", "items": described(sign)}),
        with_sign(
            5,
            "properties",
            lambda sign: {"type": "object", "properties": {"part": described(sign)}},
        ),
        ProbedKeyword("minimum", {"type": "integer", "minimum": number}, str(number)),
        with_sign(6, "pattern", lambda sign: {"type": "string", "pattern": sign}),
        with_sign(
            7, "a list of types", lambda sign: {"type": ["string", "null"], "description": sign}
        ),
    )


def _offering(subject: Subject, schemas: Sequence[Mapping[str, Json]]) -> Render:
    """Offer a tool whose arguments have these schemas, with a definition to refer to."""
    marks = subject.marks
    keys = [f"{marks.keys[0]}{at or ''}" for at in range(len(schemas))]
    properties: dict[str, Json] = {
        key: {"description": "What it is.", **schema}
        for key, schema in zip(keys, schemas, strict=True)
    }
    parameters: dict[str, Json] = {
        "type": "object",
        "properties": properties,
        "required": list(keys),
    }
    if any("$ref" in schema for schema in schemas):
        parameters["$defs"] = {marks.values[1]: {"type": "string", "description": marks.values[0]}}
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
    unfixed=NoFix.NOTATION,
)
