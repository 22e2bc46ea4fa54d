"""The messages of the self-check: fixed, and the same for every template."""

from __future__ import annotations

from functools import lru_cache
from itertools import count, product
from typing import NamedTuple

from .conversation import Json, Message, Tool, ToolCall, tool_for, with_properties


class BatteryCase(NamedTuple):
    """One message of the battery, with its title."""

    title: str
    """The message in words, e.g. `"content and 1 call"`."""
    message: Message
    """The message, such as `Message("Here is what I found.")`."""
    parts: tuple[BatteryCase, ...] = ()
    """Smaller messages with one feature of this one each, such as `"an emoji in content"`. They are
    only asked if this one fails, to show which feature is to blame."""


CITY_TOOL = "get_forecast"
MIXED_TOOL = "update_record"
EDGE_TOOL = "1Find-Town_2"
"""A name with all that requests allow: a capital, a hyphen, an underscore and digits."""
EDGE_KEY = "Post-Code_2"
STRANGE_KEY = "naïve'&<\\key"
"""A key with the characters that notations escape, except the double quote: many formats put
quotes around a key without escaping it, so that no parser could find its end."""

_SIGNS = '(#1) $2 + 3 * 4 = ~5; a|b, c/d - me@e.x: ^ no_one `c` \\ it\'s "so"!?'
"""With the brackets of `markup`, all punctuation of ASCII, since a template may escape any."""

LONG_TEXT_SIZE = 4000


def long_text(subject: str) -> str:
    """Return a text of `LONG_TEXT_SIZE` characters in paragraphs, all sentences different.

    If a template cuts it, the last sentence's number shows where.
    """
    sentences = (
        f"Sentence {at} is about {subject}.{' ' if at % 5 else chr(10) * 2}" for at in count(1)
    )
    text = ""
    while len(text) < LONG_TEXT_SIZE:
        text += next(sentences)
    return f"{text[: LONG_TEXT_SIZE - 5].rstrip():.<{LONG_TEXT_SIZE - 5}} End."


_REASONING = "The user wants facts.\nA lookup is due."
_CONTENT = "Here is what I found."
# Some templates raise on an id that is not nine letters and digits.
_IDS = ("aB3dE6gH1", "kL5mN7pQ2", "rS8tU4vW9")

_CALLS = (
    ToolCall(CITY_TOOL, {"city": "Oslo", "days": 3}, _IDS[0]),
    ToolCall(MIXED_TOOL, {"title": "Notes", "active": True}, _IDS[1]),
    ToolCall(CITY_TOOL, {"city": "Quito", "days": 11}, _IDS[2]),
)

_VALUES: tuple[tuple[str, str, Json], ...] = (
    ("a string", "title", "plain words"),
    ("an empty string", "title", ""),
    ("quotes and backslashes", "title", 'say "hi", it\'s C:\\new\\table'),
    ("lines and tabs", "title", "first\n\tsecond\n\nlast"),
    ("markup", "title", f"<b>bold</b> & <br/> [x] {{y}} %}} {_SIGNS}"),
    ("letters beyond ASCII", "title", "naïve 日本語 – 🚀"),
    # Strings that look like values of other types: without quotes, no parser can tell.
    ("digits in a string", "title", "007"),
    ("JSON in a string", "title", '{"inner": [1, true, null]}'),
    ("whitespace at a string's edges", "title", "  padded\n"),
    ("signs and letters beyond ASCII in a name", STRANGE_KEY, "plain words"),
    ("an integer", "count", 42),
    ("a negative integer", "count", -7),
    ("a fraction", "ratio", 2.5),
    # Python and JSON write this number with an exponent.
    ("a small number", "ratio", 1e-07),
    ("true", "active", True),
    ("false", "active", False),
    ("null", "parent", None),
    ("an empty array", "labels", []),
    ("an array", "labels", ["a", 'it\'s "b"', "<c>"]),
    ("an array of everything", "labels", [1, -2.5, True, None, "x", [], ["y", 2], {"k": "v"}]),
    ("an empty object", "options", {}),
    ("an object", "options", {"mode": "fast", "depth": 3, "dry": False, "base": None}),
    ("nested objects", "options", {"a": {"b": {"c": ["d", {"e": 'f "g"\nh'}]}}}),
)

_EDGE_ARGUMENTS: tuple[tuple[str, str, Json], ...] = (
    ("a capital, a hyphen or a digit in an argument's name", EDGE_KEY, "plain words"),
    # Large numbers show thousands separators and lost digits.
    ("an integer of seven digits", "people", 1234567),
    ("a negative integer of seven digits", "balance", -7654321),
    ("a fraction of ten digits", "area", 1234567.875),
    ("an argument of 4,000 characters", "history", long_text("the town")),
)
_EDGE_NAMES = (
    ("a capital in a tool's name", "FindTown"),
    ("a hyphen in a tool's name", "find-town"),
    ("a digit in a tool's name", "findtown2"),
    ("a digit that begins a tool's name", "1findtown"),
    ("an underscore in a tool's name", "find_town"),
)

_MIXED: dict[str, Json] = {
    "title": "Report <1>",
    "count": 5,
    "ratio": 0.25,
    "active": False,
    "parent": None,
    "labels": ["x", "y"],
    "options": {"Zeta": 1, "alpha": {"beta": [True]}},
}


@lru_cache(maxsize=1)
def battery_messages() -> tuple[BatteryCase, ...]:
    """Return the messages: all combinations of parts, values of every type, hostile texts."""
    cases: list[BatteryCase] = []
    # Up to three calls: a middle one has a separator on both sides.
    for calls, reasoning, content in product(range(4), (False, True), (False, True)):
        names = ["reasoning"] * reasoning + ["content"] * content
        names += [f"{calls} call{'s' * (calls > 1)}"] * (calls > 0)
        cases.append(
            BatteryCase(
                " and ".join(names) or "an empty message",
                Message(
                    _CONTENT if content else "", _REASONING if reasoning else "", _CALLS[:calls]
                ),
            )
        )
    cases += [
        BatteryCase(f"an argument that is {kind}", _one_call({key: value}))
        for kind, key, value in _VALUES
    ]
    cases += [
        BatteryCase("a call without arguments", _one_call({})),
        BatteryCase("an argument of every type", _one_call(_MIXED)),
        BatteryCase(
            "content with whitespace at its edges", Message("\n  Indented, then blank. \n\n")
        ),
        BatteryCase(
            "content with markup",
            Message(f"Use <b> & [x], {{y}} or {_SIGNS}:\n\n```\ncode - 100%\n```"),
        ),
        BatteryCase(
            "reasoning with whitespace at its edges",
            Message(_CONTENT, "\n\n  So far so good. \n"),
        ),
        BatteryCase(
            "padded texts beside a call",
            Message(" \nLooking. \n\n", "\nHm. \n\n", _CALLS[:1]),
        ),
        _edges_of_calls(),
        _edges_of_texts(),
    ]
    return tuple(cases)


def _one_call(arguments: dict[str, Json], name: str = MIXED_TOOL) -> Message:
    return Message(calls=(ToolCall(name, arguments, _IDS[0]),))


def _edges_of_calls() -> BatteryCase:
    arguments = {key: value for _, key, value in _EDGE_ARGUMENTS}
    named = (
        BatteryCase(title, _one_call({"history": "plain words"}, name))
        for title, name in _EDGE_NAMES
    )
    valued = (
        BatteryCase(title, _one_call({key: value}, "findtown"))
        for title, key, value in _EDGE_ARGUMENTS
    )
    # All edges in one message cost one render; their parts are asked only if it fails.
    return BatteryCase(
        "a call with unusual names, large numbers and a long text",
        _one_call(arguments, EDGE_TOOL),
        (*named, *valued),
    )


def _edges_of_texts() -> BatteryCase:
    content, reasoning = long_text("the answer"), long_text("the question")
    return BatteryCase(
        "long content and reasoning with emoji",
        Message(f"🚀 {content} 🚀", f"🚀 {reasoning} 🚀"),
        (
            BatteryCase("an emoji in content", Message(f"{_CONTENT} 🚀")),
            BatteryCase("content of 4,000 characters", Message(content)),
            BatteryCase("an emoji in reasoning", Message(_CONTENT, f"{_REASONING} 🚀")),
            BatteryCase("reasoning of 4,000 characters", Message(_CONTENT, reasoning)),
        ),
    )


@lru_cache(maxsize=1)
def battery_tools() -> tuple[Tool, ...]:
    """Return the tools that the messages call."""
    return (
        tool_for(CITY_TOOL, "Look up the weather.", {"city": "string", "days": "integer"}),
        tool_for(
            MIXED_TOOL,
            "Change a record.",
            {
                "title": "string",
                "count": "integer",
                "ratio": "number",
                "active": "boolean",
                "parent": "string",
                "labels": "array",
                "options": "object",
                STRANGE_KEY: "string",
            },
        ),
        tool_for(
            EDGE_TOOL,
            "Look up a town.",
            {
                EDGE_KEY: "string",
                "people": "integer",
                "balance": "integer",
                "area": "number",
                "history": "string",
            },
        ),
    )


@lru_cache(maxsize=1)
def loose_tools() -> tuple[Json, ...]:
    """Return the tools in OpenAI's form, with schemas that allow all arguments of the battery."""
    # `battery_tools` declares `parent` a string, but messages also set it to null.
    loose: dict[str, Json] = {
        "parent": {"type": ["string", "null"]},
        "labels": {"type": "array"},
        "options": {"type": "object"},
    }
    functions = [with_properties(tool, loose.get, required=[]) for tool in battery_tools()]
    return tuple({"type": "function", "function": function} for function in functions)
