from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from jinja2 import nodes

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import Render, show_render
from autoparser.analysis.lint.other_environments import ordinary_conversations
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

_MARKER = re.compile(r"<[^<>\s\"'=]{2,40}>|\[/?[A-Z][A-Z_]{2,30}\]")


@rule("AP909")
def check(subject: Subject) -> Iterator[Hit]:
    """Search the texts of the source for the markers of ordinary prompts."""
    tree = subject.template.syntax_tree
    source = "\0".join(
        [
            *subject.suggestions.constants,
            *(node.data for node in tree.find_all(nodes.TemplateData)),
            *subject.tokens.values(),
        ]
    )
    found: dict[str, tuple[str, Render]] = {}
    for chat, render, _ in ordinary_conversations(subject):
        given = {word.lower() for message in render.messages for word in _marker_words(message)}
        given |= {
            word.lower() for tool in subject.usual_tools or () for word in _marker_words(tool)
        }
        for marker in _MARKER.findall(render.text):
            if marker not in source and not any(word in marker.lower() for word in given):
                found.setdefault(marker, (chat, render))
    for chat, render in [*found.values()][:1]:
        yield Hit(
            f"the prompt contains {', '.join(found)}, which the source does not",
            (show_render(render, chat),),
        )


def _marker_words(value: Json | Mapping[str, Json]) -> Iterator[str]:
    """Return the strings of a message or a tool that may be parts of markers, such as a role."""
    if isinstance(value, str):
        yield from re.findall(r"\w{2,}", value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _marker_words(key)
            yield from _marker_words(item)
    elif isinstance(value, list):
        for item in value:
            yield from _marker_words(item)
