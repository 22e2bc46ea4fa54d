"""Trying an export out: the target's own parser reads what the template writes of the battery."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast

from autoparser.analysis.core.conversation import Json, Message
from autoparser.analysis.core.format import (
    Part,
    RefusedMessageError,
    Slot,
    TurnFormat,
    Written,
    type_of,
)
from autoparser.analysis.inference.check import BatteryCase, battery, battery_tools

from .export_limits import Export, MessagePiece
from .response_template.joints import written_header

TARGET_PACKAGE = "transformers"
_EARLIER = Message("An earlier answer.")


class Parse(Protocol):
    """transformers' `parse_response`."""

    def __call__(
        self,
        text: str,
        response_template: Mapping[str, Json],
        *,
        prefix: str,
        tools: Sequence[Json],
    ) -> Mapping[str, object]:
        """Parse what a model wrote after a prompt."""
        ...


@dataclass(frozen=True, slots=True)
class ComparedMessage:
    """A message as it can be compared: absent parts are None."""

    reasoning: str | None
    content: str | None
    calls: tuple[tuple[str, str, str | None], ...] = ()
    """Name, arguments as sorted JSON text, and the id where the export gives it."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A message that the target reads otherwise than the export promises."""

    title: str
    prefix: str
    text: str
    expected: ComparedMessage
    found: ComparedMessage | None
    """None: the target raised."""
    error: str = ""


@dataclass(frozen=True, slots=True)
class ExportTrial:
    """How the battery's messages came back."""

    passed: int
    total: int
    """Messages that the export promises to give back."""
    left_out: int
    """Messages with a part that it says it does not express."""
    mismatches: tuple[Mismatch, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the export holds what it promises."""
        return self.passed == self.total


def transformers_parser() -> Parse | None:
    """Return transformers' parser; None where no transformers with one is installed."""
    if find_spec(TARGET_PACKAGE) is None:
        return None
    try:
        module = import_module(f"{TARGET_PACKAGE}.utils.chat_parsing")
    except ImportError:
        # Releases before 5.13 have none, and neither has an installation without `regex`.
        return None
    return cast("Parse", module.parse_response)


def try_out(
    format_: TurnFormat, export: Export, parse: Parse, cases: Sequence[BatteryCase] | None = None
) -> ExportTrial:
    """Parse the messages that the template writes, after every prompt.

    `cases` are the messages; None: the battery.
    """
    passed = left_out = 0
    mismatches: list[Mismatch] = []
    for case in battery() if cases is None else cases:
        message = format_.with_naming_ids(case.message)
        try:
            turn = format_.write(message)
        except RefusedMessageError:
            continue
        if not export.promises(message):
            left_out += 1
            continue
        found = _mismatch(format_, export, parse, message, turn)
        if found is None:
            passed += 1
        else:
            mismatches.append(replace(found, title=case.title))
    return ExportTrial(passed, passed + len(mismatches), left_out, tuple(mismatches))


def _mismatch(
    format_: TurnFormat, export: Export, parse: Parse, message: Message, turn: str
) -> Mismatch | None:
    expected = _surviving(format_, export, message)
    for prefix, text in prompted(format_, message, turn):
        try:
            found = _read(parse(text, export.document, prefix=prefix, tools=tools()), export)
        except (ValueError, KeyError, TypeError) as error:
            return Mismatch("", prefix, text, expected, None, repr(error))
        if found != expected:
            return Mismatch("", prefix, text, expected, found)
    return None


def prompted(format_: TurnFormat, message: Message, turn: str) -> Iterator[tuple[str, str]]:
    """Return every prompt that a turn may follow, an earlier turn in it, and what is left to write.

    A prompt that opens the reasoning, where no turn in the history shows that, is among them.
    """
    try:
        earlier = format_.write(_EARLIER)
    except RefusedMessageError:
        earlier = ""
    texts = dict.fromkeys(opening.text for opening in format_.openings)
    fitting = [text for text in texts if turn.startswith(text)]
    for text in fitting:
        yield earlier + text, turn[len(text) :]
    if not fitting:
        # A prompt that writes what no turn has, or one that opens what this turn lacks.
        strange = (each.text for each in format_.openings if each.written is Written.OTHER)
        yield earlier + next(strange, format_.header), _behind_header(format_, turn)
    layout = format_.layouts[message.presence]
    if layout.parts[:1] != (Part.REASONING,):
        return
    for opening in format_.openings:
        if opening.written is Written.REASONING_OPEN and opening.text not in fitting:
            yield earlier + opening.text, turn[len(layout.literals[0]) :]


def _behind_header(format_: TurnFormat, turn: str) -> str:
    header = written_header(format_)
    if turn.startswith(header) or not turn.startswith(header.rstrip()):
        return turn.removeprefix(header)
    return turn.removeprefix(header.rstrip()).lstrip()


def tools() -> tuple[Json, ...]:
    """Offer the battery's tools; the parameter that it gives null allows null."""
    offered = deepcopy(battery_tools())
    for tool in offered:
        parameters = cast("dict[str, dict[str, Json]]", tool["parameters"])
        if "parent" in parameters["properties"]:
            parameters["properties"]["parent"] = {"type": ["string", "null"]}
    return tuple({"type": "function", "function": tool} for tool in offered)


def _gives_ids(format_: TurnFormat, export: Export) -> bool:
    return (
        format_.calls is not None
        and format_.calls.has(Slot.ID)
        and not export.lacks(MessagePiece.IDS)
        and not export.lacks(MessagePiece.CALLS)
    )


def _surviving(format_: TurnFormat, export: Export, message: Message) -> ComparedMessage:
    """Say what of a message the template writes."""
    layout = format_.layouts[message.presence]
    reasoning = content = ""
    if Part.REASONING in layout.parts:
        reasoning = layout.reasoning.apply(message.reasoning)
    if Part.CONTENT in layout.parts:
        content = layout.content.apply(format_.without_cut(message.content))
    calls: list[tuple[str, str, str | None]] = []
    if Part.CALLS in layout.parts and format_.calls is not None:
        members = format_.calls.arguments.members
        strip = (members.values or format_.calls.arguments.values).string.edges.apply
        for call in format_.calls.written(message.calls):
            arguments = {
                key: strip(value) if isinstance(value, str) else value
                for key, value in call.arguments.items()
                if members.row(type_of(value)) is not None
            }
            given = call.id if _gives_ids(format_, export) else None
            calls.append((call.name, json.dumps(arguments, sort_keys=True), given))
    return ComparedMessage(
        reasoning if reasoning.strip() else None, content if content.strip() else None, tuple(calls)
    )


def _read(message: Mapping[str, object], export: Export) -> ComparedMessage:
    calls: list[tuple[str, str, str | None]] = []
    given = not export.lacks(MessagePiece.IDS)
    for call in cast("Sequence[Mapping[str, object]]", message.get("tool_calls", ())):
        function = cast("Mapping[str, object]", call["function"])
        arguments = json.dumps(function["arguments"], sort_keys=True)
        call_id = cast("str | None", call.get("id")) if given else None
        calls.append((str(function["name"]), arguments, call_id))
    reasoning = cast("str | None", message.get("reasoning_content"))
    return ComparedMessage(reasoning, cast("str | None", message.get("content")), tuple(calls))
