"""Check probes: sentinel words, the syntax tree's suggestions, media, and tools in the prompt."""

from __future__ import annotations

import html
import json
import re
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2 import meta

from autoparser import Analysis, ChatTemplate, analyze
from autoparser.analysis.core.conversation import Json, Tool
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.media_parts import MEDIA_FORMS, media_kind
from autoparser.analysis.learning.prober import choose_sentinels
from autoparser.analysis.learning.suggestions import template_suggestions
from autoparser.analysis.learning.tools_in_prompt import ToolsInPrompt
from autoparser.analysis.templates.environment import chat_environment, undeclared_names
from autoparser.reports.summary import content_parts_words
from tests.case_tables import case_tables, load_cases

MARKS = choose_sentinels("")


def test_sentinels_survive_template_filters() -> None:
    for word in MARKS.words():
        changed = {
            word.strip(),
            word.lower(),
            json.dumps(word).strip('"'),
            html.escape(word, quote=True),
            repr(word).strip("'"),
            word.encode("unicode_escape").decode(),
            word.split()[0],
            re.sub(r"[^\w.]", "", word),
        }
        assert changed == {word}
    # Some templates require ids of nine letters and digits, some sort the keys.
    assert all(re.fullmatch(r"[a-z0-9]{9}", word) for word in MARKS.ids)
    assert list(MARKS.keys) == sorted(MARKS.keys, reverse=True)
    assert {*MARKS.typed_keys} == {*JsonType}


def test_sentinels_have_distinct_first_and_last_characters() -> None:
    words = MARKS.words()
    assert len({*words}) == len(words) - 1, "a string's key is the first key"
    assert not any(one in other for one, other in permutations({*words}, 2))
    beside = [MARKS.user, MARKS.content, MARKS.reasoning, MARKS.system, *MARKS.names, *MARKS.values]
    for one, other in permutations(beside, 2):
        assert one[0] != other[0]
        assert one[-1] != other[-1]


@pytest.mark.parametrize("taken", [MARKS.user, MARKS.content, MARKS.reasoning])
def test_template_word_is_not_a_sentinel(taken: str) -> None:
    chosen = choose_sentinels(f"{{# {taken.upper()} #}}")
    assert taken not in chosen.words()
    assert choose_sentinels("{{ messages }}") == choose_sentinels("{{ tools }}") == MARKS


TABLE = load_cases(__file__, "suggestions.yaml")


@pytest.mark.parametrize("case", TABLE["suggested"], ids=lambda case: case["name"])
def test_syntax_tree_suggestions_match_the_table(case: dict[str, Any]) -> None:
    found = template_suggestions(ChatTemplate(case["text"]))
    for field in case.keys() - {"name", "text"}:
        seen = getattr(found, field)
        if isinstance(seen, dict):
            seen = {name: list(names) for name, names in seen.items()}
        elif isinstance(seen, frozenset):
            seen = sorted(seen)
        else:
            seen = list(seen)
        assert repr(seen) == repr(case[field])


@pytest.mark.parametrize("text", TABLE["undeclared"])
def test_undeclared_names_equal_jinjas(text: str) -> None:
    parsed = chat_environment().parse(text)
    expected = meta.find_undeclared_variables(parsed)
    assert undeclared_names(ChatTemplate(text).syntax_tree) == expected
    assert undeclared_names(parsed) == expected
    assert expected, "a template without such names would show nothing"


FOLDER = Path(__file__).parents[3] / "fixtures" / "parts"
NAMES = sorted(file.stem for file in FOLDER.glob("*.jinja"))


def analysis_of(name: str) -> Analysis:
    return analyze(ChatTemplate((FOLDER / f"{name}.jinja").read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", NAMES)
def test_media_placeholders_follow_the_processor_file(name: str) -> None:
    expected: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text("utf-8"))
    analysis = analysis_of(name)
    before = analysis.renders
    parts = analysis.content_parts
    assert parts.renders > 0
    assert analysis.renders == before, "parts cost no render until they are asked for"
    assert content_parts_words(parts).plain == expected["words"]
    found = {medium.kind.value: medium for medium in parts.media}
    assert {kind: [*found[kind].roles] for kind in expected["roles"]} == expected["roles"]
    numbers = expected.get("first_number", {})
    assert {kind: found[kind].first_number for kind in numbers} == numbers


def test_media_kind_is_found_with_and_without_a_type() -> None:
    for form in MEDIA_FORMS:
        assert media_kind(form.part("data")) is form.kind
    assert media_kind({"image": "cat.png"}) is not None
    assert media_kind({"type": "text", "text": "image"}) is None
    assert media_kind("image") is None


TABLES = load_cases(__file__, "tools_in_prompt.yaml")
PROMPT_TABLE = case_tables(__file__, "tools_in_prompt.yaml")
TURNS = TABLES["turns"]
EACH = "{{% for t in tools or [] %}}{{% set f = t.function %}}{}\n{{% endfor %}}"
NAMED = "{{ f.name }}{{ f.description }}"
WORDS = TABLES["words"]
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


@PROMPT_TABLE("lost")
def test_lost_tool_parts_are_listed(case: dict[str, Any]) -> None:
    found = asked(each_property(case["written"]), function(part=case["schema"]))
    assert (lost(found), found.crashes) == (case["lost"], ())


@PROMPT_TABLE("places")
def test_lost_tool_parts_have_their_pointers(case: dict[str, Any]) -> None:
    found = asked(f"{NAMED}{case['written']}", *case["tools"])
    assert [place.pointer for part in found.lost for place in part.places] == case["lost"]


@PROMPT_TABLE("crashes")
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


@PROMPT_TABLE("spellings")
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
