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
from typing import NamedTuple

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
    other: Mapping[str, Json]
    """The schema with another value of the keyword: a template may write it in words of its own,
    such as ``string[]`` for an array whose items are strings."""


class Loss(NamedTuple):
    """A keyword that does not reach the model, and two renders that show it."""

    name: str
    render: Render
    usual: Render
    label: str
    """What the second render is of."""


PLAIN: Mapping[str, Json] = {"type": "string"}


def check(subject: Subject) -> Iterator[Hit]:
    """Offer a tool whose arguments have a keyword each; where not all is written, one by one."""
    if subject.shape.tools is ToolForm.NONE:
        return
    keywords = _keywords(subject)
    schemas = [each.schema for each in keywords]
    together = _offering(subject, schemas)
    if all(each.sign in together.text for each in keywords):
        optional = _offering(subject, schemas, required=False)
        if together.text == optional.text:
            yield _hit_of([Loss("required", together, optional, "without required")])
        return
    usual = _offering(subject, [PLAIN])
    if subject.marks.names[0] not in usual.text:
        return
    lost: list[Loss] = []
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
        elif keyword.sign not in render.text and render.text == _otherwise(subject, keyword).text:
            lost.append(Loss(keyword.name, render, usual, "with a type alone"))
    optional = _offering(subject, [PLAIN], required=False)
    if usual.text == optional.text:
        lost.append(Loss("required", usual, optional, "without required"))
    if lost and subject.marks.keys[0] in usual.text:
        yield _hit_of(lost)


def _hit_of(lost: Sequence[Loss]) -> Hit:
    return Hit(
        f"the model is not told of {listed([each.name for each in lost])} in the schemas of tools",
        tuple(compared(each.render, f"with {each.name}", each.usual, each.label) for each in lost),
        line=parting_line(lost[0].render, lost[0].usual),
    )


def _keywords(subject: Subject) -> tuple[ProbedKeyword, ...]:
    marks = subject.marks

    def with_sign(
        at: int, name: str, schema: Callable[[str, str], Mapping[str, Json]]
    ) -> ProbedKeyword:
        sign, other = f"{marks.values[2]}{at}", f"{marks.values[1]}{at}"
        return ProbedKeyword(name, schema(sign, "string"), sign, schema(other, "integer"))

    def described(sign: str, kind: str) -> dict[str, Json]:
        return {"type": kind, "description": sign}

    number = marks.integer
    return (
        with_sign(1, "enum", lambda sign, _: {"type": "string", "enum": [sign]}),
        with_sign(2, "const", lambda sign, _: {"const": sign}),
        with_sign(
            3, "anyOf", lambda sign, kind: {"anyOf": [described(sign, kind), {"type": "null"}]}
        ),
        ProbedKeyword(
            "$ref",
            {"$ref": f"#/$defs/{marks.values[1]}"},
            marks.values[0],
            # The way is the same; `_otherwise` defines something else there.
            {"$ref": f"#/$defs/{marks.values[1]}"},
        ),
        with_sign(4, "items", lambda sign, kind: {"type": "array", "items": described(sign, kind)}),
        with_sign(
            5,
            "properties",
            lambda sign, kind: {
                "type": "object",
                "properties": {f"part_{kind}": described(sign, kind)},
            },
        ),
        ProbedKeyword(
            "minimum",
            {"type": "integer", "minimum": number},
            str(number),
            {"type": "integer", "minimum": number - 1},
        ),
        with_sign(6, "pattern", lambda sign, _: {"type": "string", "pattern": sign}),
        with_sign(
            7, "a list of types", lambda sign, kind: {"type": [kind, "null"], "description": sign}
        ),
    )


def _otherwise(subject: Subject, keyword: ProbedKeyword) -> Render:
    """Offer the tool with another value of a keyword, and with another definition."""
    return _offering(subject, [keyword.other], defined=subject.marks.values[2])


def _offering(
    subject: Subject,
    schemas: Sequence[Mapping[str, Json]],
    *,
    required: bool = True,
    defined: str | None = None,
) -> Render:
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
        "required": list(keys) if required else [],
    }
    if any("$ref" in schema for schema in schemas):
        definition: dict[str, Json] = {"type": "string", "description": defined or marks.values[0]}
        parameters["$defs"] = {marks.values[1]: definition}
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
