r"""Find the parts of offered tools that reach the prompt, their spelling, and those that crash.

A part is anything that can be changed alone: a name, a description, the value of a keyword, a
member of an ``enum``. All texts and numbers are changed at once, each to a distinct word, and
searched for in one render. Parts that are not found are changed again, those of one keyword
together: if the text stays the same, the model cannot distinguish their values. A group is divided
only if the text changes.

    >>> from autoparser import analyze
    >>> source = "{% for t in tools %}{{ t.function.name }} {% endfor %}{{ messages[0].content }}"
    >>> tool = {"name": "look", "description": "Look.", "parameters": {"type": "object"}}
    >>> [(str(loss), len(loss.places)) for loss in analyze(source).tools_in_prompt([tool]).lost]
    [('tool description', 1)]
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import chain, count, pairwise
from typing import Any, NamedTuple, TypeAlias, cast

from msgspec import Struct

from autoparser.analysis.core.conversation import Json, Tool
from autoparser.analysis.core.error_words import is_mapping
from autoparser.analysis.core.message_shape import ToolForm
from autoparser.analysis.core.schema_errors import pointer_below
from autoparser.analysis.core.schema_keywords import BY_NAME, VALUES

from .prober import Prober
from .tool_crashes import RenderedTools, RenderTools, ToolCrash, find_crashes

PartPath: TypeAlias = tuple[str | int, ...]

MOST_RENDERS = 400
"""Parts that are undecided after this many renders are not reported."""


class ToolSpelling(StrEnum):
    """The notation of a tool's texts, if it is neither verbatim nor JSON."""

    HTML = "as HTML entities"
    TWICE = "as JSON within JSON"
    LETTERS = r"with letters beyond ASCII as \u escapes"
    SIGNS = r"with < and & as \u escapes"
    PYTHON = "as Python writes them, not as JSON"


_SIGNS = " é \"q\" < & 'p'"
"""The end of changed descriptions; every notation escapes some of its characters."""
_SPELLINGS: Mapping[ToolSpelling, re.Pattern[str]] = {
    ToolSpelling.HTML: re.compile(r"&(#34|quot|lt);"),
    ToolSpelling.TWICE: re.compile(r"\\\\"),
    ToolSpelling.LETTERS: re.compile(r"\\u00e9"),
    ToolSpelling.SIGNS: re.compile(r"\\u003c"),
    ToolSpelling.PYTHON: re.compile(re.escape(repr(_SIGNS)[1:-1])),
}


class PartPlace(Struct, frozen=True):
    """The place of a part."""

    tool: str
    """The function's name, such as ``get_weather``."""
    pointer: str
    """A JSON pointer in the function, such as ``#/parameters/properties/city/default``."""


class LostPart(Struct, frozen=True):
    """A kind of parts, some of which do not reach the prompt."""

    keyword: str
    """The keyword, such as ``default``, or ``tool`` if no part of a tool is written."""
    nested: bool
    """Whether it is inside a parameter: in an object, a list or a choice, such as
    ``#/parameters/properties/part/items/minLength``."""
    heavy: bool
    """Whether without it, such as ``enum`` or ``required``, the model does not know which function
    to call, or with which arguments; the other keywords, such as ``default``, bound or explain
    values."""
    places: tuple[PartPlace, ...]
    """The places of the lost parts, such as ``#/parameters/properties/part/enum`` of ``look``."""
    offered: dict[str, Json]
    """A function with such a part, such as ``{"name": "look", "parameters": {"properties": {"part":
    {"default": "x"}}}}``."""
    changed: dict[str, Json]
    """The same function with another value there, such as ``qovarz4x`` for ``x``: both are written
    alike."""

    def __str__(self) -> str:
        """Return it in words, such as ``nested required``."""
        return f"nested {self.keyword}" if self.nested else self.keyword

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that lose it, each once."""
        return tuple(dict.fromkeys(place.tool for place in self.places))


_HEAVY = frozenset(
    {"tool", "tool name", "tool description", "description", "parameters", "properties", "required"}
) | {
    *(
        "type",
        "list of types",
        "enum",
        "const",
        "items",
        "prefixItems",
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
    )
}
_SILENT = frozenset({"$schema", "$id", "$comment", "$anchor", "$dynamicAnchor"})
"""Keywords without meaning for a model."""
_SCHEMAS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems", "items", "not", "if", "then"}) | {
    *("else", "contains", "propertyNames", "additionalProperties", "unevaluatedProperties")
}
"""Keywords that hold a schema, or a list of them."""
_LISTING = _SCHEMAS | VALUES
"""Keywords that are reported instead of their members if all of these are lost."""
_OF_OBJECTS = BY_NAME | {"required", "additionalProperties", "propertyNames"}
"""Keywords of the parameters object itself; below a parameter they count as nested."""
_KEYWORDS = _HEAVY | _SCHEMAS | BY_NAME | _SILENT
_DEFINITIONS = ("$defs", "definitions")


class ToolsInPrompt(Struct, frozen=True):
    """The parts of offered tools that reach the prompt, and those that do not."""

    tools: int
    """The number of tools offered, such as 2."""
    taken: bool = True
    """Whether the template renders any request with tools."""
    parts: int = 0
    """The number of their parts that were changed, such as 6."""
    crashes: tuple[ToolCrash, ...] = ()
    """The causes for which it raises, such as ``a parameter without description``."""
    lost: tuple[LostPart, ...] = ()
    """The kinds of parts that are lost, such as ``enum`` or ``default``, first those without which
    the model has to guess."""
    spelled: tuple[ToolSpelling, ...] = ()
    """The notation of their texts, such as ``as HTML entities``, unless these are verbatim or
    JSON."""
    renders: int = 0
    """The number of renders that were needed, such as 6."""

    @property
    def ok(self) -> bool:
        """Whether all of the tools is written, as it is or as JSON."""
        return self.taken and not (self.crashes or self.lost or self.spelled)


def find_tools_in_prompt(prober: Prober, tools: Sequence[Tool]) -> ToolsInPrompt:
    """Find the parts of functions that reach the generation prompt rendered with them."""
    if prober.shape.tools is ToolForm.NONE:
        return ToolsInPrompt(len(tools), taken=False)
    # Counts renders; `next` returns the number so far.
    counter = count()

    def render_offered(offered: Sequence[Tool]) -> RenderedTools:
        next(counter)
        asking = prober.using(tools=offered)
        probe = asking.probe((prober.user,), generation=True)
        return RenderedTools(probe.text, probe.error)

    sound, crashes = find_crashes(render_offered, tools)
    # No tool renders, so no part can be searched for.
    if not sound:
        return ToolsInPrompt(len(tools), crashes=crashes, renders=next(counter))
    # The probing words must not occur in the template.
    avoided = prober.template.text
    asking = _PartSearch(render_offered, [*sound.values()], [tools[at] for at in sound], avoided)
    lost, spelled = asking.answers()
    return ToolsInPrompt(len(tools), True, len(asking.parts), crashes, lost, spelled, next(counter))


class _ToolPart(NamedTuple):
    """A part of a tool, and its changed value."""

    tool: int
    """The number of the tool, from 0."""
    path: PartPath
    """E.g. `("parameters", "properties", "city", "description")`."""
    other: Json
    """The changed value, e.g. `"qovarz1x"`."""
    word: str = ""
    """The text by which it is found, e.g. `qovarz1x`; empty if the changed value has no distinct
    text."""
    renames: bool = False
    """Whether its key, e.g. `city` of a parameter, is changed instead of its value."""

    @property
    def label(self) -> tuple[str, bool]:
        """Its keyword, and whether it is inside a parameter."""
        keyword, nested = _part_label(self.path)
        return "list of types" if keyword == "type" and isinstance(
            self.other, list
        ) else keyword, nested

    @property
    def around(self) -> Iterator[tuple[int, PartPath]]:
        """Its enclosing places, the whole tool first, itself last."""
        return ((self.tool, self.path[:end]) for end in range(len(self.path) + 1))


class _UnusedWords:
    """Words and numbers that occur nowhere else."""

    def __init__(self, avoided: str) -> None:
        folded = avoided.lower()
        self._counter = count(1)
        self._stem = next(stem for stem in _stems("qovarz") if stem not in folded)
        self._base = (
            next(number for number in range(731, 999) if str(number) not in folded) * 10_000
        )

    def word(self) -> str:
        return f"{self._stem}{next(self._counter)}x"

    def number(self) -> int:
        return self._base + next(self._counter)


def _stems(first: str) -> Iterator[str]:
    return (first + "uvwe"[at % 4] * (at // 4 + at % 4) for at in count())


class _PartSearch:
    """Searches renders for the parts of tools on which the template does not raise."""

    def __init__(
        self, render: RenderTools, tools: Sequence[Tool], user_tools: Sequence[Tool], avoided: str
    ) -> None:
        """Search for parts of `tools` that stand in `user_tools`, not added to make them render."""
        self._render = render
        self._tools = tools
        self._texts: dict[tuple[int, ...], RenderedTools] = {}
        self._unnamed: set[tuple[int, PartPath]] = set()
        """Parameters whose names were not found: nothing about them may be written."""
        self._left = MOST_RENDERS
        self._words = _UnusedWords(f"{avoided}{json.dumps(tools)}")
        self.parts = [
            part
            for at, tool in enumerate(tools)
            for part in self._tool_parts(at, tool)
            if _has_path(user_tools[at], part.path)
        ]

    def answers(self) -> tuple[tuple[LostPart, ...], tuple[ToolSpelling, ...]]:
        """Return the lost parts, and the spellings of the others."""
        sign = next(
            (part.word for part in self.parts if part[:2] == (0, ("description",))),
            self._words.word(),
        )
        # One render finds most parts: each has a word of its own by now.
        worded = self._change_parts([part for part in self.parts if part.word])
        # One description with every character that some notation escapes identifies the notation.
        worded[0] = {**worded[0], "description": sign + _SIGNS}
        text = self._render(worded).text
        folded = text.lower()
        keywords: dict[tuple[str, bool], list[_ToolPart]] = {}
        for part in self.parts:
            # Templates may capitalize or lower names, so letters are folded.
            if not part.word or part.word not in folded:
                if part.renames:
                    self._unnamed.add((part.tool, part.path))
                keywords.setdefault(part.label, []).append(part)
        lost = [part for parts in keywords.values() for part in self._unread_in(parts)]
        _, _, behind = text.partition(sign)
        written = behind[: 3 * len(_SIGNS)]
        spelled = (spelling for spelling, pattern in _SPELLINGS.items() if pattern.search(written))
        found = sorted(
            self._merge_parts(lost), key=lambda lost_part: (not lost_part.heavy, lost_part.nested)
        )
        return tuple(found), tuple(spelled)[:1]

    def _kind(self, part: _ToolPart) -> object:
        """Return a key shared by parts that a template is likely to treat alike.

        A parameter may have the name of a keyword, and templates confuse the two.
        """
        owner: Any = self._tools[part.tool]
        for step in part.path[:-1]:
            owner = owner[step]
        beside: frozenset[str] = frozenset(owner if is_mapping(owner) else ())
        kind = repr(owner.get("type")) if is_mapping(owner) else ""
        names = frozenset(_names_on_path(part.path)) & _KEYWORDS
        way = tuple(
            step
            for outer, step in pairwise(part.path)
            if step in _KEYWORDS or (isinstance(step, int) and outer in _SCHEMAS)
        )
        unnamed = any(place in self._unnamed for place in part.around)
        return names, unnamed, way, () if part.renames else (kind, beside)

    def _unread_in(self, parts: Sequence[_ToolPart]) -> Iterator[_ToolPart]:
        """Yield the parts of one keyword whose value changes nothing."""
        if self._written_alike(parts):
            return iter(parts)
        kinds: dict[object, list[_ToolPart]] = {}
        for part in parts:
            kinds.setdefault(self._kind(part), []).append(part)
        return chain.from_iterable(map(self._unread_of_kind, kinds.values()))

    def _unread_of_kind(self, parts: Sequence[_ToolPart]) -> Iterator[_ToolPart]:
        """Yield the parts of one kind whose value changes nothing: one is tried, then all.

        If the first one is written, the others are assumed to be written, too.
        """
        first = [*self._unread_parts(parts[:1])]
        return chain(first, self._unread_parts(parts[1:])) if first else iter(())

    def _unread_parts(self, parts: Sequence[_ToolPart]) -> Iterator[_ToolPart]:
        """Yield the parts whose value changes nothing."""
        if not parts or self._left <= 0:
            return
        self._left -= 1
        if self._written_alike(parts):
            yield from parts
        elif len(parts) > 1:
            # As in a binary search: halves without an effect are not divided further.
            half = len(parts) // 2
            yield from self._unread_parts(parts[:half])
            yield from self._unread_parts(parts[half:])

    def _written_alike(self, parts: Sequence[_ToolPart]) -> bool:
        """Whether the render stays the same with other values in these parts."""
        changed = self._change_parts(parts)
        among = tuple(sorted({part.tool for part in parts}))
        # Render the unchanged text of the same tools only once.
        if among not in self._texts:
            self._texts[among] = self._render([self._tools[at] for at in among])
        return self._render([changed[at] for at in among]) == self._texts[among]

    def _merge_parts(self, lost: Sequence[_ToolPart]) -> Iterator[LostPart]:
        """Merge parts of one kind, and parts in a place that is lost as a whole."""
        # A place is lost as a whole if all parts below it are.
        every = Counter(place for part in self.parts for place in part.around)
        lost_places = Counter(place for part in lost for place in part.around)
        named = {
            place
            for part in lost
            if part.path == ("name",) or part.renames
            for place in part.around
        }

        def whole(place: tuple[int, PartPath]) -> bool:
            """Whether to report a place instead of its members."""
            outer, last = ("", "", *place[1])[-2:]
            holds = last in _LISTING or outer in _DEFINITIONS or place in named
            return lost_places[place] == every[place] and holds

        kinds: dict[tuple[str, bool], dict[tuple[int, PartPath], list[_ToolPart]]] = {}
        for part in lost:
            # Report the widest place that is lost, not each part of it.
            top = next(filter(whole, part.around), (part.tool, part.path))
            label = part.label if top[1] == part.path else _part_label(top[1])
            kinds.setdefault(label, {}).setdefault(top, []).append(part)
        for (keyword, nested), tops in kinds.items():
            (at, _), parts = next(iter(tops.items()))
            places = (
                PartPlace(str(self._tools[tool].get("name", "")), _pointer(path))
                for tool, path in tops
            )
            given, other = self._tools[at], _with_changed_parts(self._tools[at], parts)
            heavy = keyword in _HEAVY
            yield LostPart(keyword, nested, heavy, tuple(places), given, other)

    def _change_parts(self, parts: Sequence[_ToolPart]) -> list[Tool]:
        changes: dict[int, list[_ToolPart]] = {}
        for part in parts:
            changes.setdefault(part.tool, []).append(part)
        return [
            _with_changed_parts(tool, changes[at]) if at in changes else tool
            for at, tool in enumerate(self._tools)
        ]

    def _tool_parts(self, at: int, tool: Tool) -> Iterator[_ToolPart]:
        for key in ("name", "description"):
            if key in tool:
                yield from self._value_parts(at, tool[key], (key,))
        yield from self._schema_parts(at, tool.get("parameters", {}), ("parameters",))

    def _schema_parts(self, at: int, schema: Json, path: PartPath) -> Iterator[_ToolPart]:
        if isinstance(schema, list):
            for number, inner in enumerate(schema):
                yield from self._schema_parts(at, inner, (*path, number))
        elif not isinstance(schema, dict):
            yield from self._value_parts(at, schema, path)
        else:
            for keyword, value in schema.items():
                yield from self._keyword_parts(at, keyword, value, (*path, keyword))

    def _keyword_parts(
        self, at: int, keyword: str, value: Json, path: PartPath
    ) -> Iterator[_ToolPart]:
        if keyword in BY_NAME and isinstance(value, dict):
            for name, schema in value.items():
                # Only references use a definition's name, and renaming it would break them.
                if keyword not in _DEFINITIONS:
                    word = self._words.word()
                    yield _ToolPart(at, (*path, name), word, word, renames=True)
                yield from self._schema_parts(at, schema, (*path, name))
        elif keyword in _SCHEMAS:
            yield from self._schema_parts(at, value, path)
        elif keyword in ("type", "required", "$ref"):
            # `"type": "object"` of the parameters, and an empty list of names, are implied.
            if value not in ([], "object") or path[1:] != (keyword,):
                # These accept no invented word to search for: they are changed and compared.
                yield _ToolPart(at, path, self._other(keyword, value))
        elif keyword not in _SILENT:
            yield from self._value_parts(at, value, path)

    def _other(self, keyword: str, value: Json) -> Json:
        """Return another value of a keyword that does not accept arbitrary text."""
        if keyword == "type":
            return _other_type(value)
        return [] if keyword == "required" else f"#/$defs/{self._words.word()}"

    def _value_parts(self, at: int, value: Json, path: PartPath) -> Iterator[_ToolPart]:
        match value:
            case dict() if value:
                for key, inner in value.items():
                    yield from self._value_parts(at, inner, (*path, key))
            case list() if value:
                for number, inner in enumerate(value):
                    yield from self._value_parts(at, inner, (*path, number))
            # The only other value of a boolean may occur elsewhere, so a search proves nothing.
            case bool():
                yield _ToolPart(at, path, not value)
            case int() | float():
                number = self._words.number()
                yield _ToolPart(at, path, number, str(number))
            case _:
                word = self._words.word()
                # Replace an empty list or object by one that contains a word.
                empty = isinstance(value, list | dict)
                yield _ToolPart(at, path, [word] if empty else word, word)


def _other_type(kind: Json) -> Json:
    if isinstance(kind, list):
        return [_other_type(inner) for inner in kind]
    return "integer" if kind in ("string", "null") else "string"


def _with_changed_parts(tool: Tool, parts: Sequence[_ToolPart]) -> Tool:
    """Return a tool with other values; keys are changed last, innermost first."""
    # Not `deepcopy`, which preserves the shared objects of YAML: each place changes by itself.
    found: Any = _copy_json(tool)
    for part in sorted(parts, key=lambda part: (part.renames, -len(part.path))):
        *outer, last = part.path
        owner = found
        for step in outer[:-1] if part.renames else outer:
            owner = owner[step]
        if not part.renames:
            owner[last] = part.other
            continue
        keyword = outer[-1]
        owner[keyword] = {
            part.word if key == last else key: owner[keyword][key] for key in owner[keyword]
        }
        # A template may look up names in `required`, so rename the property there, too.
        if keyword == "properties" and isinstance(owner.get("required"), list):
            owner["required"] = [part.word if key == last else key for key in owner["required"]]
    return cast("Tool", found)


def _copy_json(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _copy_json(inner) for key, inner in value.items()}
    return [_copy_json(inner) for inner in value] if isinstance(value, list) else value


def _part_label(path: PartPath) -> tuple[str, bool]:
    """Return the keyword that a place belongs to, and whether it is inside a parameter."""
    if path in (("name",), ("description",)):
        return f"tool {path[0]}", False
    keyword, around, inside = "tool", 0, 0
    steps = iter(path)
    for step in steps:
        if isinstance(step, int):
            continue
        keyword, around = step, inside
        if step in BY_NAME:
            inside += next(steps, None) is not None
        elif step in _SCHEMAS:
            inside += 1
        elif step != "parameters":
            break
    # References and their definitions are kept or lost together.
    if keyword in (*_DEFINITIONS, "$ref"):
        return "$ref", False
    return keyword, around > (0 if keyword in _OF_OBJECTS else 1)


def _has_path(value: Any, path: PartPath) -> bool:
    for step in path:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return False
    return True


def _names_on_path(path: PartPath) -> Iterator[str]:
    """Yield the names on the path to a place."""
    for step, inner in pairwise(path):
        if step in BY_NAME and isinstance(inner, str):
            yield inner


def _pointer(path: PartPath) -> str:
    pointer = "#"
    for step in path:
        pointer = pointer_below(pointer, step)
    return pointer
