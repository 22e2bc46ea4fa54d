"""Find the offered tools on which a template crashes, and the cause in them.

A tool that crashes alone is mended in one way after another: keywords that real tools may omit are
added, then schemas that templates do not expect are simplified, then one keyword is removed. The
first mend after which the template renders names the cause, and every other tool that it mends has
the same cause. The tool is reported reduced to the parts without which the crash changes:

    {"name": "look", "description": …, "parameters": {"properties": {"city": {"enum": …}, …}}}
    crashes; with a type for every parameter it renders: "a parameter without type"
    {"name": "look", "parameters": {"properties": {"city": {}}}}            the smallest such tool
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from autoparser.analysis.core.conversation import Json, Tool
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.schema_keywords import Schema, map_schemas, without_keywords

MOST_CAUSES = 6
MOST_TRIALS = 300
"""At most this many renders are used to find the smallest tool."""


class RenderedTools(NamedTuple):
    """The text that a template writes with tools, or the error."""

    text: str
    r"""The prompt with these tools, e.g. `"lookLooks. part stringuser:pkvrbnwj.\nassistant:"`;
    empty on an error."""
    error: TemplateRenderError | None = None
    """The template's refusal or crash, e.g. of `"no such tool"`, or None."""


RenderTools: TypeAlias = Callable[[Sequence[Tool]], RenderedTools]
"""Renders a question with functions, which are given without wrappers."""


class ToolCrash(Struct, frozen=True):
    """A cause for which a template raises on tools."""

    cause: str
    """The property that these tools have or lack, such as ``a parameter without description``;
    empty if no change that was tried makes the template render."""
    reason: str
    """The template's own words if it refuses them, such as ``no such tool``, else the error's type
    and words, such as ``UndefinedError: 'dict object' has no attribute 'type'``."""
    line: int | None
    """The template's line, from 1, or None if it is unknown."""
    refused: bool
    """Whether the template raises on purpose, by ``raise_exception``."""
    tools: tuple[str, ...]
    """The names of the tools that raise for this cause, such as ``get_weather``."""
    smallest: dict[str, Json]
    """A function from which nothing can be removed without changing the crash, such as ``{"name":
    "look", "parameters": {"properties": {"a": {"default": 3}}}}``; empty if tools raise only
    together."""
    mended: dict[str, Json] | None
    """The same function without the cause, such as ``{"name": "look", "parameters": {"properties":
    {"a": {}}}}``, which renders, or None if none was found."""


class _ToolMend(NamedTuple):
    cause: str
    """E.g. `"a parameter without description"`."""
    apply: Callable[[Tool], Tool]
    """Returns the tool without the cause, e.g. with the description `"What it is."` of each
    parameter, or unchanged if it has none."""


def find_crashes(
    render: RenderTools, tools: Sequence[Tool]
) -> tuple[dict[int, Tool], tuple[ToolCrash, ...]]:
    """Return the tools that render, by place and mended if necessary, and the causes."""
    whole = render(tools).error
    if whole is None:
        return dict(enumerate(tools)), ()
    failing: dict[int, TemplateRenderError] = {
        at: error for at, tool in enumerate(tools) if (error := render([tool]).error)
    }
    # Every tool renders alone, so the template rejects their number, or two with one name.
    if not failing:
        together = _ToolMend("several tools in one request", _unchanged_tool)
        return {}, (_tool_crash(together, whole, tools, {}, None),)
    sound = {at: tool for at, tool in enumerate(tools) if at not in failing}
    crashes: list[ToolCrash] = []
    while failing:
        # The shortest tool has the fewest possible causes.
        at = min(failing, key=lambda place: len(json.dumps(tools[place], default=str)))
        error = failing[at]
        mend = _first_mend(render, tools[at]) if len(crashes) < MOST_CAUSES else None
        if mend is None:
            # Without a mend to test on other tools, only an equal error indicates an equal cause.
            alike = [place for place in failing if _same_error(failing[place], error)]
            crashes.append(
                _tool_crash(None, error, [tools[place] for place in alike], tools[at], None)
            )
        else:
            mended = {place: mend.apply(tools[place]) for place in failing}
            alike = [place for place, tool in mended.items() if render([tool]).error is None]
            # Mended tools render, so their other parts can be searched for in the prompt.
            sound |= {place: mended[place] for place in alike}
            smallest = _smallest_tool(render, tools[at], error, mend)
            named = [tools[place] for place in alike]
            crashes.append(_tool_crash(mend, error, named, smallest, mend.apply(smallest)))
        failing = {place: failing[place] for place in failing if place not in alike}
    return dict(sorted(sound.items())), tuple(crashes)


def _unchanged_tool(tool: Tool) -> Tool:
    return tool


def _same_error(one: TemplateRenderError | None, other: TemplateRenderError) -> bool:
    return one is not None and (one.line, one.reason) == (other.line, other.reason)


def _tool_crash(
    mend: _ToolMend | None,
    error: TemplateRenderError,
    tools: Sequence[Tool],
    smallest: Tool,
    mended: Tool | None,
) -> ToolCrash:
    cause = "" if mend is None else mend.cause
    names = tuple(str(tool.get("name", "")) for tool in tools)
    return ToolCrash(cause, error.reason, error.line, error.refused, names, smallest, mended)


def _first_mend(render: RenderTools, tool: Tool) -> _ToolMend | None:
    """Return the first mend after which the tool renders; last, several additions together."""
    additions = [addition for addition in _ADDITIONS if addition.apply(tool) != tool]
    plainer = [mend for mend in _PLAINER if mend.apply(tool) != tool]
    ways = [[addition] for addition in additions] + [additions] + [[mend] for mend in plainer]
    # Additions first: a template that expects a description does not expect its absence.
    for way in (*ways, [*additions, *plainer], *([removal] for removal in _keyword_removals(tool))):
        if way and render([_joined_mends(way).apply(tool)]).error is None:
            return _joined_mends(_needed_mends(render, tool, way))
    return None


def _needed_mends(render: RenderTools, tool: Tool, way: Sequence[_ToolMend]) -> list[_ToolMend]:
    """Return the mends of several together that are needed for the tool to render."""
    needed = [*way]
    for mend in way:
        # Drop each mend that the others make unnecessary, so that the cause is not overstated.
        rest = [other for other in needed if other is not mend]
        if rest and render([_joined_mends(rest).apply(tool)]).error is None:
            needed = rest
    return needed


def _joined_mends(mends: Sequence[_ToolMend]) -> _ToolMend:
    """Return one mend that applies all of these in order."""
    if len(mends) == 1:
        return mends[0]

    def apply(tool: Tool) -> Tool:
        return reduce(lambda mended, step: step.apply(mended), mends, tool)

    return _ToolMend(" and ".join(mend.cause for mend in mends), apply)


def _smallest_tool(
    render: RenderTools, tool: Tool, error: TemplateRenderError, mend: _ToolMend
) -> Tool:
    """Remove the parts of a tool that its crash and its mend do not need."""
    trials = 0
    for path in [*_part_paths(tool)]:
        less = _without_part(tool, path)
        if not isinstance(less, dict) or trials >= MOST_TRIALS:
            continue
        trials += 1
        # The smaller tool has the same error and the same mend, so the cause is the same.
        if _same_error(render([less]).error, error) and render([mend.apply(less)]).error is None:
            tool = less
    return tool


def _part_paths(value: Json, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the places of all removable parts, the widest first, lists from their end."""
    inner: list[tuple[str | int, Json]] = []
    if isinstance(value, dict):
        inner += [
            (key, inner_value) for key, inner_value in value.items() if (*path, key) != ("name",)
        ]
    elif isinstance(value, list):
        inner += [*enumerate(value)][::-1]
    # Whole parts before their members: a removed object takes its members with it.
    for key, _ in inner:
        yield (*path, key)
    for key, inner_value in inner:
        yield from _part_paths(inner_value, (*path, key))


def _without_part(value: Json, path: tuple[str | int, ...]) -> Json:
    """Return a value without the part at a place, or None if nothing is there any more."""
    key, *rest = path
    if isinstance(value, dict):
        if key not in value:
            return None
        if not rest:
            return {name: inner for name, inner in value.items() if name != key}
        inner = _without_part(value[key], tuple(rest))
        return None if inner is None else {**value, key: inner}
    if not isinstance(value, list) or not isinstance(key, int) or key >= len(value):
        return None
    if not rest:
        return [*value[:key], *value[key + 1 :]]
    inner = _without_part(value[key], tuple(rest))
    return None if inner is None else [*value[:key], inner, *value[key + 1 :]]


# Mends of a tool.

_SAID = "What it is."


def _in_parameters(change: Callable[[Schema], Json]) -> Callable[[Tool], Tool]:
    """Apply a change to every schema of a function."""

    def apply(tool: Tool) -> Tool:
        return (
            {**tool, "parameters": map_schemas(tool["parameters"], change)}
            if "parameters" in tool
            else tool
        )

    return apply


def _in_properties(change: Callable[[Schema], Schema]) -> Callable[[Tool], Tool]:
    """Apply a change to the schema of every parameter, and of every member of one."""

    def inner(schema: Schema) -> Json:
        members = schema.get("properties")
        if not isinstance(members, dict):
            return schema
        changed: Schema = {
            key: change(member) if isinstance(member, dict) else member
            for key, member in members.items()
        }
        return {**schema, "properties": changed}

    return _in_parameters(inner)


def _with_missing_keyword(key: str, value: Json, of: str = "") -> Callable[[Schema], Schema]:
    """Add a keyword to schemas without it, of one type where that is named."""

    def change(schema: Schema) -> Schema:
        fits = not of or of == schema.get("type") or of in _listed_values(schema.get("type"))
        return {**schema, key: value} if fits and key not in schema else schema

    return change


def _listed_values(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _with_one_type(schema: Schema) -> Json:
    kinds = [kind for kind in _listed_values(schema.get("type")) if kind != "null"]
    return {**schema, "type": kinds[0]} if kinds else schema


def _without_null_default(schema: Schema) -> Json:
    return without_keywords(schema, "default") if schema.get("default", "") is None else schema


def _with_text_enum(schema: Schema) -> Json:
    values: list[Json] = [*map(str, _listed_values(schema.get("enum")))]
    return {**schema, "enum": values} if values else schema


def _with_properties(schema: Schema) -> Json:
    return {**schema, "properties": _MEMBERS} if schema.get("properties") == {} else schema


_MEMBERS: Schema = {"value": {"type": "string", "description": _SAID}}
_PARAMETERS: Schema = {"type": "object", "properties": _MEMBERS}
_ADDITIONS = (
    _ToolMend("no description", _with_missing_keyword("description", _SAID)),
    _ToolMend("no parameters", _with_missing_keyword("parameters", _PARAMETERS)),
    _ToolMend(
        "a parameter without description",
        _in_properties(_with_missing_keyword("description", _SAID)),
    ),
    _ToolMend("a parameter without type", _in_properties(_with_missing_keyword("type", "string"))),
    _ToolMend(
        "an object without properties",
        _in_parameters(_with_missing_keyword("properties", {}, "object")),
    ),
    _ToolMend(
        "an object without required",
        _in_parameters(_with_missing_keyword("required", [], "object")),
    ),
    _ToolMend(
        "an object without additionalProperties",
        _in_parameters(_with_missing_keyword("additionalProperties", {"type": "string"}, "object")),
    ),
    _ToolMend(
        "an array without items",
        _in_parameters(_with_missing_keyword("items", {"type": "string"}, "array")),
    ),
)
_PLAINER = (
    _ToolMend("an object with no properties", _in_parameters(_with_properties)),
    _ToolMend("a type that is a list", _in_parameters(_with_one_type)),
    _ToolMend("a default that is null", _in_parameters(_without_null_default)),
    _ToolMend("an enum with values other than strings", _in_parameters(_with_text_enum)),
)


def _keyword_removals(tool: Tool) -> list[_ToolMend]:
    """Return mends that each remove one keyword everywhere, the least informative first."""
    sizes: dict[str, int] = {}

    def note(schema: Schema) -> Json:
        for keyword, value in schema.items():
            # The length of its values measures how informative a keyword is.
            sizes[keyword] = sizes.get(keyword, 0) + len(json.dumps(value))
        return schema

    # A change that returns its input visits every schema.
    _in_parameters(note)(tool)
    return [
        _keyword_removal(keyword) for keyword in sorted(sizes, key=lambda keyword: sizes[keyword])
    ]


def _keyword_removal(keyword: str) -> _ToolMend:
    return _ToolMend(
        f"the keyword {keyword}", _in_parameters(lambda schema: without_keywords(schema, keyword))
    )
