"""Which parts of tools reach the prompt, with templates that write one thing and not the other."""

from __future__ import annotations

from typing import Any

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.core.conversation import Json, Tool
from autoparser.analysis.learning.tools_in_prompt import ToolsInPrompt, ToolSpelling

TURNS = (
    "{% for m in messages %}{{ m.role }}:{{ m.content }}{% for c in m.tool_calls or [] %}"
    "<call>{{ c.function | tojson }}</call>{% endfor %}.\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
EACH = "{{% for t in tools or [] %}}{{% set f = t.function %}}{}\n{{% endfor %}}"
WORDS = (
    "{{ f.name }} {% for k, v in (f.parameters.properties or {}).items() %}{{ k }}: "
    "{{ v.type }} {{ v.description }} {{ 'needed' if k in (f.parameters.required or []) }}"
    "{% endfor %}"
)
AS_JSON = "{{ f | tojson }}"


def written(tool: str) -> ChatTemplate:
    """Return a template that writes each function, `f`, so."""
    return ChatTemplate(EACH.format(tool) + TURNS)


def function(*, required: list[Json] | None = None, **properties: Json) -> Tool:
    schema: dict[str, Json] = {"type": "object", "properties": properties}
    if required is not None:
        schema["required"] = required
    return {"name": "look", "description": "Looks.", "parameters": schema}


def asked(tool: str, *tools: Tool) -> ToolsInPrompt:
    return analyze(written(tool)).tools_in_prompt(tools)


def lost(found: ToolsInPrompt) -> list[str]:
    return sorted(str(part) for part in found.lost)


SAID: dict[str, Json] = {"type": "string", "description": "Which."}
ROOM: dict[str, Json] = {
    "type": "object",
    "description": "Where.",
    "properties": {"floor": {"type": "integer", "description": "n"}},
    "required": ["floor"],
}
LOST = [
    # what the template writes of each parameter, the parameter's schema, what is lost
    ("{{ v.type }}", {"type": "string"}, []),
    ("{{ v.type }}", {"type": "string", "default": "x"}, ["default"]),
    ("{{ v.type }}", {"type": "string", "enum": ["a", "b"]}, ["enum"]),
    ("{{ v.enum }}", {"type": "string", "enum": ["a", "b"]}, ["type"]),
    ("{{ v.type }}", {"type": "number", "minimum": 1, "maximum": 2.5}, ["maximum", "minimum"]),
    ("{{ v.type }}{{ v.maximum }}", {"type": "number", "minimum": 1, "maximum": 2}, ["minimum"]),
    ("{{ v.type }}", {"type": "array", "items": {"type": "string", "minLength": 1}}, ["items"]),
    ("{{ v['items'].type }}", {"items": {"type": "string", "minLength": 1}}, ["nested minLength"]),
    ("{{ v.type }}", {"type": ["string", "null"]}, []),
    (
        "{{ v.description }}",
        {"type": ["string", "null"], "description": "d"},
        ["list of types"],
    ),
    ("{{ v.type }}", {"anyOf": [{"type": "string"}, {"type": "null"}]}, ["anyOf"]),
    (
        "{{ (v.anyOf or [])[:1] }}",
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        ["nested type"],
    ),
    ("{{ v.type }}", {**ROOM}, ["description", "nested properties", "nested required"]),
    ("{{ (v.properties or {}) | tojson }}", {**ROOM}, ["description", "nested required", "type"]),
    ("{{ v | tojson }}", {**ROOM}, []),
    ("{{ v.format | upper }}", {"format": "date"}, []),
    ("{{ v.minimum is defined }}", {"minimum": 3}, ["minimum"]),
    ("{{ v.additionalProperties }}", {"additionalProperties": False}, []),
    ("{{ v.type }}", {"additionalProperties": {"type": "string"}}, ["nested additionalProperties"]),
]


@pytest.mark.parametrize(("value", "schema", "names"), LOST)
def test_lost_parts_are_named(value: str, schema: dict[str, Json], names: list[str]) -> None:
    shown = "{{ f.name }}{{ f.description }}{% for k, v in f.parameters.properties.items() %}"
    found = asked(f"{shown} {{{{ k }}}} {value}{{% endfor %}}", function(part=schema))
    assert lost(found) == names
    assert found.crashes == ()


@pytest.mark.parametrize("described", ["", "{{ f.parameters['$defs'] | tojson }}"])
def test_a_reference_is_lost_where_its_definition_is(described: str) -> None:
    tool = function(end={"$ref": "#/$defs/point"})
    tool["parameters"] = {**tool["parameters"], "$defs": {"point": ROOM}}  # type: ignore[dict-item]
    shown = "{{ f.name }}{{ f.description }}{{ f.parameters.properties | tojson }}"
    assert lost(asked(shown + described, tool)) == ([] if described else ["$ref"])


def test_places_and_an_example_tell_where_a_part_is_lost() -> None:
    tools = [
        function(a=SAID, b={**SAID, "default": "x"}),
        {**function(c={"default": 1}), "name": "do"},
    ]
    found = asked(WORDS + "{{ f.description }}", *tools)
    (part,) = found.lost
    assert [(each.tool, each.pointer) for each in part.places] == [
        ("look", "#/parameters/properties/b/default"),
        ("do", "#/parameters/properties/c/default"),
    ]
    template = written(WORDS + "{{ f.description }}")
    one, other = (
        template.render(
            [{"role": "user", "content": "?"}], tools=[{"type": "function", "function": each}]
        )
        for each in (part.offered, part.changed)
    )
    assert one == other
    assert part.offered != part.changed


def test_one_schema_in_two_places_is_two_places() -> None:
    """YAML makes one object of what has an anchor and an alias."""
    shown = "{{ f.name }}{{ f.description }}{% for pair in f.parameters.properties.items() %}"
    first = shown + "{{ pair | tojson if loop.first }}{% endfor %}"
    found = asked(first, function(one=ROOM, two=ROOM))
    assert [each.pointer for part in found.lost for each in part.places] == [
        "#/parameters/properties/two"
    ]


def test_a_parameter_with_the_name_of_a_keyword_is_asked_for_itself() -> None:
    shown = (
        "{{ f.name }}{{ f.description }}{% for k, v in f.parameters.properties.items() %} {{ k }}"
    )
    skipping = shown + "{% if k != 'type' %}{{ v.type }}{% endif %}{% endfor %}"
    found = asked(
        skipping, function(a={"type": "string"}, b={"type": "string"}, type={"type": "string"})
    )
    assert [each.pointer for part in found.lost for each in part.places] == [
        "#/parameters/properties/type/type"
    ]


VALUES = "{{ f.name }}{% for k, v in f.parameters.properties.items() %}{{ k }} "
CRASHES: list[tuple[str, Json, str, Json]] = [
    # how a parameter is written, the tool's parameters, the cause, the smallest that crash so
    (
        "{{ v.type + v.description }}",
        {"properties": {"a": {"type": "string", "enum": ["a"]}, "b": SAID}},
        "a parameter without description",
        {"properties": {"a": {"type": "string"}}},
    ),
    (
        "{{ v.type }}",
        {"type": "object", "additionalProperties": False},
        "an object without properties",
        {"type": "object"},
    ),
    (
        "{{ 'type ' + v.type }}",
        {"properties": {"a": {"type": ["string", "null"], "description": "?"}}},
        "a type that is a list",
        {"properties": {"a": {"type": ["string"]}}},
    ),
    (
        "{{ 'is ' + v.default if 'default' in v }}{{ v.type }}",
        {"properties": {"a": {"type": "integer", "default": 3, "minimum": 1}}},
        "the keyword default",
        {"properties": {"a": {"default": 3}}},
    ),
    (
        "{{ v.type + v.description }}",
        {"properties": {"a": {"title": "A"}}},
        "a parameter without description and a parameter without type",
        {"properties": {"a": {}}},
    ),
]


@pytest.mark.parametrize(("shown", "given", "cause", "smallest"), CRASHES)
def test_a_crash_has_a_cause_and_a_smallest_tool(
    shown: str, given: Json, cause: str, smallest: Json
) -> None:
    analysis = analyze(written(VALUES + shown + "{% endfor %}"))
    tool: Tool = {"name": "look", "description": "Looks.", "parameters": given}
    sound = {**function(whole=SAID), "name": "sound"}
    (crash,) = analysis.tools_in_prompt([sound, tool]).crashes
    assert (crash.cause, crash.tools) == (cause, ("look",))
    assert crash.smallest == {"name": "look", "parameters": smallest}
    (again,) = analysis.tools_in_prompt([crash.smallest]).crashes
    assert again.reason == crash.reason
    assert crash.mended is not None
    assert analysis.tools_in_prompt([crash.mended]).crashes == ()


def test_what_no_change_mends_is_told_with_its_error() -> None:
    refusing = "{{ raise_exception('no such tool') if f.name == 'look' }}{{ f.name }}"
    (crash,) = asked(refusing, {**function(a=SAID), "name": "do"}, function(a=SAID)).crashes
    assert (crash.cause, crash.reason, crash.refused, crash.tools) == (
        "", "no such tool", True, ("look",),
    )  # fmt: skip
    assert crash.mended is None


def test_tools_that_fail_together_alone_are_told() -> None:
    found = asked("{{ 1 // (2 - tools | length) }}{{ f.name }}", *[function(a=SAID)] * 2)
    (crash,) = found.crashes
    assert crash.cause == "several tools in one request"


SPELLINGS = [
    (AS_JSON, ()),
    ("{{ f.name }} {{ f.description }}", ()),
    ("{{ f | tojson | escape }}", (ToolSpelling.HTML,)),
    ("{{ f.name }} {{ f.description | e }}", (ToolSpelling.HTML,)),
    ("{{ f | tojson(ensure_ascii=true) }}", (ToolSpelling.LETTERS,)),
    ("{{ f | tojson | tojson }}", (ToolSpelling.TWICE,)),
    ("{{ f }}", (ToolSpelling.PYTHON,)),
]


@pytest.mark.parametrize(("shown", "spelled"), SPELLINGS)
def test_the_spelling_of_texts_is_named(shown: str, spelled: tuple[ToolSpelling, ...]) -> None:
    assert asked(shown, function(a=SAID)).spelled == spelled


def test_a_template_that_ignores_tools_loses_them_whole() -> None:
    found = analyze(ChatTemplate(TURNS)).tools_in_prompt([function(a=SAID)])
    assert (lost(found), found.ok) == (["tool"], False)


def test_a_template_that_raises_on_tools_takes_none() -> None:
    refusing = "{{ raise_exception('no tools') if tools }}" + TURNS
    found = analyze(ChatTemplate(refusing)).tools_in_prompt([function(a=SAID)])
    assert (found.taken, found.ok, found.tools) == (False, False, 1)


def test_many_tools_take_few_renders() -> None:
    """Parts of one keyword are asked together, so that tools cost no renders of their own."""
    properties: dict[str, Any] = {
        f"p{at}": {**SAID, "default": at, "maxLength": 9} for at in range(20)
    }
    few, many = (
        asked(WORDS, *[{**function(**properties), "name": f"look{at}"} for at in range(count)])
        for count in (2, 60)
    )
    assert lost(many) == lost(few) == ["default", "maxLength", "tool description"]
    assert many.parts > 20 * few.parts
    assert many.renders == few.renders
