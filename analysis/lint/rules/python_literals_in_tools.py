from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from autoparser.analysis.core.conversation import Json, with_properties
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import list_words
from autoparser.analysis.lint.lint_renders import Render, compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

EXTRA: Mapping[str, Json] = {"default": None, "nullable": True, "deprecated": False}
"""Keywords of JSON Schema whose values Python and JSON spell differently."""


@rule("AP308")
def check(subject: Subject) -> Iterator[Hit]:
    """Render tools, then the same with a null and two booleans in their schemas."""
    if subject.usual_tools is None:
        return
    plain = _render_tools(subject, subject.usual_tools)
    extended = _render_tools(subject, [_extend_tool(tool) for tool in subject.usual_tools])
    if not plain.rendered or not extended.rendered:
        return
    # The words may be in the prompt anyway, so only additional ones count.
    words = [
        repr(value)
        for value in EXTRA.values()
        if extended.text.count(repr(value)) > plain.text.count(repr(value))
    ]
    if words:
        yield Hit(
            f"values in tool schemas are rendered as Python literals: {list_words(words)}",
            (compare_renders(extended, "null and booleans in a schema", plain, "without"),),
            line=extended.line_of(words[0]),
        )


def _render_tools(subject: Subject, tools: Sequence[Json]) -> Render:
    messages = subject.shape.messages((subject.user,), subject.marks.system)
    return subject.render(messages, tools=tools)


def _extend_tool(tool: Json) -> Json:
    """Return the tool with additional keywords in the schemas of its parameters."""
    if not isinstance(tool, dict):
        return tool
    if "function" in tool:
        return {**tool, "function": _extend_tool(tool["function"])}
    return with_properties(tool, lambda _, schema: {**schema, **EXTRA})
