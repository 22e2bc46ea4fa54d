"""Which parts of tools reach the prompt; the tables are in tools_in_prompt.yaml."""

from __future__ import annotations

from typing import Any

from autoparser import ChatTemplate, analyze
from autoparser.analysis.core.conversation import Json, Tool
from autoparser.analysis.learning.tools_in_prompt import ToolsInPrompt
from tests.case_tables import case_tables

TABLE = case_tables(__file__, "tools_in_prompt.yaml")
TURNS = (
    "{% for m in messages %}{{ m.role }}:{{ m.content }}{% for c in m.tool_calls or [] %}"
    "<call>{{ c.function | tojson }}</call>{% endfor %}.\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
EACH = "{{% for t in tools or [] %}}{{% set f = t.function %}}{}\n{{% endfor %}}"
NAMED = "{{ f.name }}{{ f.description }}"
WORDS = (
    "{{ f.name }} {% for k, v in (f.parameters.properties or {}).items() %}{{ k }}: "
    "{{ v.type }} {{ v.description }} {{ 'needed' if k in (f.parameters.required or []) }}"
    "{% endfor %}"
)
DESCRIBED: dict[str, Json] = {"type": "string", "description": "Which."}


def template_with(tool: str) -> ChatTemplate:
    """Return a template that writes each function, `f`, so."""
    return ChatTemplate(EACH.format(tool) + TURNS)


def function(name: str = "look", **properties: Json) -> Tool:
    schema: dict[str, Json] = {"type": "object", "properties": properties}
    return {"name": name, "description": "Looks.", "parameters": schema}


def asked(tool: str, *tools: Tool) -> ToolsInPrompt:
    return analyze(template_with(tool)).tools_in_prompt(tools)


def lost(found: ToolsInPrompt) -> list[str]:
    return sorted(str(part) for part in found.lost)


def each_property(written: str) -> str:
    properties = "{% for k, v in f.parameters.properties.items() %}"
    return f"{NAMED}{properties} {{{{ k }}}} {written}{{% endfor %}}"


@TABLE("lost")
def test_lost_tool_parts_are_listed(case: dict[str, Any]) -> None:
    found = asked(each_property(case["written"]), function(part=case["schema"]))
    assert (lost(found), found.crashes) == (case["lost"], ())


@TABLE("places")
def test_lost_tool_parts_have_their_pointers(case: dict[str, Any]) -> None:
    found = asked(f"{NAMED}{case['written']}", *case["tools"])
    assert [place.pointer for part in found.lost for place in part.places] == case["lost"]


@TABLE("crashes")
def test_crash_report_has_a_cause_and_a_minimal_tool(case: dict[str, Any]) -> None:
    each = "{% for k, v in f.parameters.properties.items() %}{{ k }} "
    analysis = analyze(template_with(f"{{{{ f.name }}}}{each}{case['written']}{{% endfor %}}"))
    tool: Tool = {"name": "look", "description": "Looks.", "parameters": case["parameters"]}
    (crash,) = analysis.tools_in_prompt([function("sound", whole=DESCRIBED), tool]).crashes
    assert (crash.cause, crash.tools) == (case["cause"], ("look",))
    assert crash.smallest == {"name": "look", "parameters": case["smallest"]}
    (again,) = analysis.tools_in_prompt([crash.smallest]).crashes
    assert again.reason == crash.reason
    assert crash.mended is not None
    assert analysis.tools_in_prompt([crash.mended]).crashes == ()


def test_tool_refusal_is_quoted_and_joint_failure_has_its_cause() -> None:
    refusing = "{{ raise_exception('no such tool') if f.name == 'look' }}{{ f.name }}"
    (crash,) = asked(refusing, function("do", a=DESCRIBED), function(a=DESCRIBED)).crashes
    assert (crash.cause, crash.reason, crash.refused) == ("", "no such tool", True)
    assert (crash.tools, crash.mended) == (("look",), None)
    counting = "{{ 1 // (2 - tools | length) }}{{ f.name }}"
    (crash,) = asked(counting, *[function(a=DESCRIBED)] * 2).crashes
    assert crash.cause == "several tools in one request"


@TABLE("spellings")
def test_spelling_of_tool_texts_is_reported(case: dict[str, Any]) -> None:
    found = asked(case["written"], function(a=DESCRIBED))
    assert [str(text) for text in found.spelled] == case["spelled"]


def test_ignored_tools_are_lost_and_raising_templates_accept_none() -> None:
    ignoring = analyze(ChatTemplate(TURNS)).tools_in_prompt([function(a=DESCRIBED)])
    assert (lost(ignoring), ignoring.ok) == (["tool"], False)
    refusing = ChatTemplate("{{ raise_exception('no tools') if tools }}" + TURNS)
    found = analyze(refusing).tools_in_prompt([function(a=DESCRIBED)])
    assert (found.taken, found.ok, found.tools) == (False, False, 1)


def test_render_count_does_not_grow_with_tools() -> None:
    each: dict[str, Json] = {**DESCRIBED, "default": 1, "maxLength": 9}
    tools = [function(f"look{at}", **{f"p{n}": each for n in range(8)}) for at in range(30)]
    few, many = asked(WORDS, *tools[:2]), asked(WORDS, *tools)
    assert lost(many) == lost(few) == ["default", "maxLength", "tool description"]
    assert many.parts > 10 * few.parts
    assert many.renders == few.renders
