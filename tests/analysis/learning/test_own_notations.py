"""Arguments in notations that no program writes: keys, words and containers of a format's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autoparser.analysis.analysis import Analysis, analyze
from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.learning.examples import Example
from autoparser.analysis.parsing.parsed_message import message_of
from autoparser.analysis.teaching.example_learning import learn
from autoparser.analysis.templates.chat_template import ChatTemplate

CHAT = Path(__file__).parents[3] / "fixtures" / "learning" / "chat-only.jinja"


@pytest.fixture(scope="module")
def chat() -> Analysis:
    """A template that drops calls and reasoning."""
    return analyze(ChatTemplate(CHAT.read_text("utf-8")))


_TYPES = {
    "place": {"type": "string"},
    "count": {"type": "integer"},
    "open": {"type": "boolean"},
    "tags": {"type": "array"},
    "size": {"type": "object"},
}
TOOLS = [{"function": {"name": "find", "parameters": {"type": "object", "properties": _TYPES}}}]


def _closed_by_key(key: str, value: Json) -> str:
    return f"<{key}>{value}</{key}>"


def _tag_by_type(key: str, value: Json) -> str:
    tag = "text" if isinstance(value, str) else "number"
    return f"<{tag} {key}>{value}</{tag}>"


def _wrapped_if_marked(key: str, value: Json) -> str:
    marked = isinstance(value, str) and "<" in value
    return f"<p {key}>{f'<<raw>>{value}<</raw>>' if marked else value}</p>"


def _own_words(key: str, value: Json) -> str:
    words = {True: "aye", False: "nay"}
    return f"{key} ~ {words[value] if isinstance(value, bool) else value};"


def _inside(value: Json) -> str:
    if isinstance(value, list):
        return f"({' / '.join(map(_inside, value))})"
    if isinstance(value, dict):
        return "{| " + " ; ".join(f"{key} ~ {_inside(held)}" for key, held in value.items()) + " |}"
    return f"%{value}%" if isinstance(value, str) else str(value)


def _own_containers(key: str, value: Json) -> str:
    return f"{key} ~ {_inside(value)};"


_Writer = Callable[[str, Json], str]
NOTATIONS: dict[str, tuple[_Writer, tuple[dict[str, Json], ...], dict[str, Json]]] = {
    "closers that repeat the key": (
        _closed_by_key,
        ({"place": "Oslo", "count": 3}, {"count": 4}),
        {"place": "a </b> c", "count": 12},
    ),
    "tags by the type of the value": (
        _tag_by_type,
        ({"place": "Oslo", "count": 3}, {"place": "Rome", "count": 12}),
        {"count": 7, "place": "New York"},
    ),
    "a wrapper around some strings": (
        _wrapped_if_marked,
        ({"place": "Oslo", "count": 3}, {"place": "a < b"}),
        {"place": "x <y> z", "count": 9},
    ),
    "words for true and false": (
        _own_words,
        ({"place": "Oslo", "count": 3}, {"open": True, "count": 1}, {"open": False}),
        {"open": False, "place": "Lima"},
    ),
    "arrays and objects": (
        _own_containers,
        (
            {"place": "Oslo", "count": 3},
            {"tags": ["a", "b"], "count": 1},
            {"size": {"x": 1, "y": {"z": ["c"]}}},
        ),
        {"size": {"w": ["d", "e"], "v": {"u": 5, "t": "s"}}, "tags": [1, ["f"]]},
    ),
}
"""Each with the arguments of examples, and others that the learnt format has to read."""


def _written(write: _Writer, arguments: dict[str, Json]) -> str:
    return f"#find#{''.join(write(key, value) for key, value in arguments.items())}#end#"


@pytest.mark.parametrize("notation", NOTATIONS.values(), ids=NOTATIONS)
def test_a_notation_of_its_own_is_learnt(
    chat: Analysis,
    notation: tuple[_Writer, tuple[dict[str, Json], ...], dict[str, Json]],
) -> None:
    write, shown, held_out = notation
    examples = [
        Example(_written(write, each), Message(calls=(ToolCall("find", each),))) for each in shown
    ]
    taught = learn(chat, examples)
    assert taught.ok
    meant = Message(calls=(ToolCall("find", held_out),))
    text = _written(write, held_out)
    assert taught.analysis.format.write(meant) == f"<|asst|>{text}<|eot|>"
    assert message_of(taught.analysis.parser(TOOLS).parse(text)) == meant


def test_line_breaks_that_reasoning_loses_are_not_markup(chat: Analysis) -> None:
    call = ToolCall("find", {"place": "Oslo", "count": 3})
    text = '<do find {"place": "Oslo", "count": 3}>'
    taught = learn(
        chat,
        [
            Example(f"[r]\nHm.\n[/r]\n{text}", Message("", "Hm.", (call,))),
            Example(f"[r]\nSo. \n[/r]\nOh.{text}", Message("Oh.", "\nSo. \n\n", (call,))),
        ],
    )
    assert taught.ok
    read = message_of(taught.analysis.parser(TOOLS).parse(f"[r]\nWell.\n[/r]\nYes.{text}"))
    assert (read.reasoning, read.content) == ("Well.", "Yes.")
