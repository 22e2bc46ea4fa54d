"""Examples that a person gives, in a file: a list, or a mapping with it as `examples`.

- output: <call>look(city="Oslo", days=3)</call>
message:
tool_calls: [{name: look, arguments: {city: Oslo, days: 3}}]
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.core.given import place_in, read
from autoparser.analysis.core.value_kind import is_mapping

from .example import Example, ExampleError

__all__ = ["given_examples"]

_EXAMPLE = "{output: …, message: {content: …, reasoning: …, tool_calls: […]}}"
_CALL = "{name: …, arguments: {…}}, or with both in function"


class _FunctionOfCall(Struct, frozen=True):
    name: Annotated[str, Meta(min_length=1, description="a name")]
    arguments: dict[str, Any] | str = ""


class _CallMeant(Struct, frozen=True):
    function: Annotated[_FunctionOfCall | None, Meta(description=_CALL)] = None
    name: str = ""
    arguments: dict[str, Any] | str = ""
    id: str | None = None


class _MessageMeant(Struct, frozen=True):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: Annotated[
        tuple[Annotated[_CallMeant, Meta(description=_CALL)], ...] | None,
        Meta(description=f"a list of {_CALL}"),
    ] = None
    calls: Annotated[
        tuple[Annotated[_CallMeant, Meta(description=_CALL)], ...] | None,
        Meta(description=f"a list of {_CALL}"),
    ] = None


class _ExampleGiven(Struct, frozen=True):
    output: str
    message: _MessageMeant
    prompt: str = ""


class _ExampleFile(Struct, frozen=True):
    examples: Annotated[
        tuple[Annotated[dict[str, Any], Meta(description=_EXAMPLE)], ...],
        Meta(min_length=1, description=f"a list of {_EXAMPLE}"),
    ]


def given_examples(value: object, file: str) -> tuple[Example, ...]:
    """Read examples. Raises ExampleError, which names the place and what was expected there."""
    listed = value if is_mapping(value) else {"examples": value}
    hint = f"write a list of {_EXAMPLE}"
    examples = read(listed, _ExampleFile, file=file, hint=hint, wrong=ExampleError).examples
    return tuple(_example(each, file, place_in("examples", at)) for at, each in enumerate(examples))


def _example(value: object, file: str, place: str) -> Example:
    hint = f"write {_EXAMPLE}"
    given = read(value, _ExampleGiven, file=file, place=place, hint=hint, wrong=ExampleError)
    meant = given.message
    calls = meant.tool_calls if meant.tool_calls is not None else meant.calls or ()
    message = Message(
        meant.content or "",
        meant.reasoning_content or meant.reasoning or "",
        tuple(
            _call(each, file, f"{place}.message.tool_calls[{at}]") for at, each in enumerate(calls)
        ),
    )
    return Example(given.output, message, given.prompt, place)


def _call(given: _CallMeant, file: str, place: str) -> ToolCall:
    name = given.name if given.function is None else given.function.name
    arguments: Mapping[str, Any] | str
    arguments = given.arguments if given.function is None else given.function.arguments
    if not name:
        raise ExampleError("there is no name", file=file, place=place, hint=f"write {_CALL}")
    if isinstance(arguments, str):
        arguments = _decoded(arguments or "{}", file, place)
    return ToolCall(name, arguments, given.id or "")


def _decoded(text: str, file: str, place: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not is_mapping(value):
        hint = "write an object, or the JSON text of one"
        words = "the arguments are not an object"
        raise ExampleError(words, file=file, place=f"{place}.arguments", hint=hint)
    return value
