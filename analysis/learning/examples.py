"""Read labeled examples: an output of a model, and the message that it means.

For example, in a file with a list of them,

    - output: "[do look(city='Oslo', days=3)]"
      message: {tool_calls: [{name: look, arguments: {city: Oslo, days: 3}}]}

is `Example("[do look(…)]", Message(calls=(ToolCall("look", {"city": "Oslo", "days": 3}),)))`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import replace

from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.core.documents import place_in, read_value
from autoparser.analysis.core.error_words import is_mapping
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.turn_format import TurnFormat


class ExampleError(AutoparserError):
    """Examples cannot be read, or no format explains them."""


@dataclass(frozen=True, slots=True)
class Example:
    """An output with the message that it should parse to.

        Example("[do look(city='Oslo')]", Message(calls=(ToolCall("look", {"city": "Oslo"}),)))

    `learn` takes a list of examples.
    """

    output: str
    r"""The text after the prompt, with or without the end of the turn, e.g.
    `"<call>look(city=\"Oslo\")</call>"`."""
    message: Message
    """The meaning of the output: content, reasoning and calls, e.g.
    `Message(calls=(ToolCall("look", {"city": "Oslo"}),))`."""
    prompt: str = ""
    r"""The rendered prompt, or any tail of it, e.g. `"<|assistant|>\n<think>\n"`; empty: the
    template's default one."""
    place: str = ""
    """Its location in the input, e.g. `examples[2]`."""


# Examples in a file: a list, or a mapping with it as `examples`.
#
# An item has `output: <call>look(city="Oslo", days=3)</call>` and
# `message: {tool_calls: [{name: look, arguments: {city: Oslo, days: 3}}]}`.


_EXAMPLE = "{output: …, message: {content: …, reasoning: …, tool_calls: […]}}"
_CALL = "{name: …, arguments: {…}}, or with both in function"


class _FunctionOfCall(Struct, frozen=True):
    name: Annotated[str, Meta(min_length=1, description="a name")]
    """E.g. `look`."""
    arguments: dict[str, Any] | str = ""
    """An object, or its JSON text, e.g. `{"city": "Oslo"}`."""


class _CallMeant(Struct, frozen=True):
    function: Annotated[_FunctionOfCall | None, Meta(description=_CALL)] = None
    """OpenAI's wrapper around name and arguments, or None if the call has them itself, as in
    `{name: look, arguments: {city: Oslo}}`."""
    name: str = ""
    """E.g. `look`; empty beside a `function`."""
    arguments: dict[str, Any] | str = ""
    """An object, or its JSON text, e.g. `{"city": "Oslo", "days": 3}`."""
    id: str | None = None
    """E.g. `call_1`."""


_Calls: TypeAlias = Annotated[
    tuple[Annotated[_CallMeant, Meta(description=_CALL)], ...] | None,
    Meta(description=f"a list of {_CALL}"),
]


class _MessageMeant(Struct, frozen=True):
    content: str | None = None
    """E.g. `"Let me see."`."""
    reasoning_content: str | None = None
    """E.g. `"The user wants the weather."`."""
    reasoning: str | None = None
    """Another name of the same, e.g. in `{reasoning: Nothing to look up.}`."""
    tool_calls: _Calls = None
    """The calls, each with name and arguments, e.g.
    `[{name: look, arguments: {city: Oslo, days: 3}}]`."""
    calls: _Calls = None
    """Another name of the same, as in `calls: [{name: look, …}]`."""


class _ExampleGiven(Struct, frozen=True):
    output: str
    """The text after the prompt, e.g. `"[do look(city='Bergen', days=1)]"`."""
    message: _MessageMeant
    """The meaning of the output, e.g. `{content: You are welcome.}`."""
    prompt: str = ""
    """The rendered prompt, or any tail of it, e.g. `"<|asst|>"`."""


class _ExampleFile(Struct, frozen=True):
    examples: Annotated[
        tuple[Annotated[dict[str, Any], Meta(description=_EXAMPLE)], ...],
        Meta(min_length=1, description=f"a list of {_EXAMPLE}"),
    ]
    """Each with output and message, e.g. `{output: …, message: {tool_calls: […]}}`; read one by
    one, so that errors name the place."""


def given_examples(value: object, file: str) -> tuple[Example, ...]:
    """Read examples. Raises ExampleError, which names the place and the expected value."""
    listed = value if is_mapping(value) else {"examples": value}
    hint = f"write a list of {_EXAMPLE}"
    examples = read_value(listed, _ExampleFile, file=file, hint=hint, wrong=ExampleError).examples
    return tuple(
        _example_given(example, file, place_in("examples", at))
        for at, example in enumerate(examples)
    )


def _example_given(value: object, file: str, place: str) -> Example:
    hint = f"write {_EXAMPLE}"
    given = read_value(value, _ExampleGiven, file=file, place=place, hint=hint, wrong=ExampleError)
    meant = given.message
    calls = meant.tool_calls if meant.tool_calls is not None else meant.calls or ()
    message = Message(
        meant.content or "",
        meant.reasoning_content or meant.reasoning or "",
        tuple(
            _call_meant(call, file, f"{place}.message.tool_calls[{at}]")
            for at, call in enumerate(calls)
        ),
    )
    return Example(given.output, message, given.prompt, place)


def _call_meant(meant_call: _CallMeant, file: str, place: str) -> ToolCall:
    name = meant_call.name if meant_call.function is None else meant_call.function.name
    arguments: Mapping[str, Any] | str
    arguments = (
        meant_call.arguments if meant_call.function is None else meant_call.function.arguments
    )
    if not name:
        raise ExampleError("missing name", file=file, place=place, hint=f"write {_CALL}")
    if isinstance(arguments, str):
        arguments = _decoded_arguments(arguments or "{}", file, place)
    return ToolCall(name, arguments, meant_call.id or "")


def _decoded_arguments(text: str, file: str, place: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not is_mapping(value):
        hint = "write an object, or the JSON text of one"
        words = "the arguments are not an object"
        raise ExampleError(words, file=file, place=f"{place}.arguments", hint=hint)
    return value


NAME_MARK, ID_MARK, ARGUMENTS_MARK, KEY_MARK = "\ue001", "\ue002", "\ue003", "\ue004"


def with_word_mark(literal: str, word: str, mark: str) -> str:
    """Replace a whole word in a literal, so that literals of different calls compare equal."""
    return re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", mark, literal)


def with_own_words(literal: str, call: ToolCall) -> str:
    """Replace the name and the id of its call in a literal by marks."""
    for word, mark in ((call.id, ID_MARK), (call.name, NAME_MARK)):
        if word and word in literal:
            literal = with_word_mark(literal, word, mark)
    return literal


def with_key_mark(literal: str, key: str) -> str:
    """Replace the key of its argument in a literal by a mark, as in `</city>`."""
    return with_word_mark(literal, key, KEY_MARK) if key in literal else literal


def fill_marks(literal: str, words: Mapping[str, str]) -> str:
    """Replace marks by their words."""
    for mark, word in words.items():
        literal = literal.replace(mark, word)
    return literal


def without_calls(format_: TurnFormat) -> TurnFormat:
    """Return the format with content and reasoning only."""
    return replace(
        format_,
        layouts={
            presence: layout
            for presence, layout in format_.layouts.items()
            if not presence.calls and not layout.refusal
        },
        calls=None,
        not_rendered={},
        elsewhere=frozenset(),
    )
