"""Scenarios from YAML: those of the package, and those of a person.

Contract: what is wrong with a file is an AutoparserError with the place in it, such as
`scenarios[2].engine`, and what was expected there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import TypeVar, cast

import yaml

from autoparser.analysis.core.conversation import (
    Answer,
    Dialogue,
    Entry,
    Json,
    Message,
    Tool,
    ToolCall,
    User,
    beyond_json,
)
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.spelling import nearest, suggest

from .remembering import PLAIN_IDS
from .scenario import Answers, ArgumentsAs, Engine, Ids, Kept, Next, Scenario
from .variations import VARIATIONS

SHIPPED = Path(__file__).parent / "scenarios.yaml"


class ScenarioError(AutoparserError):
    """A scenario file is not what it should be."""


@lru_cache(maxsize=1)
def shipped_scenarios() -> tuple[Scenario, ...]:
    """Give the scenarios that come with the package."""
    return scenarios_of(yaml.safe_load(SHIPPED.read_text(encoding="utf-8")), SHIPPED.name)


def scenarios_of(value: object, file: str) -> tuple[Scenario, ...]:
    """Read scenarios: `{scenarios: […], tools: […]}`, or the list alone.

    Without tools those of the package are offered. Raises ScenarioError.
    """
    reader = _Reader(file)
    if value is None:
        raise reader.wrong("", "this is empty", "give a list of scenarios")
    if isinstance(value, list):
        value = {"scenarios": cast("list[object]", value)}
    top = reader.mapping(value, "", ("scenarios", "tools"))
    given = top.get("tools")
    tools = shipped_scenarios()[0].tools if given is None else reader.tools(given)
    listed = reader.sequence(top.get("scenarios"), "scenarios")
    if not listed:
        raise reader.wrong("scenarios", "there is no scenario", "give a list of scenarios")
    found = tuple(
        reader.scenario(each, f"scenarios[{at}]", tools) for at, each in enumerate(listed)
    )
    names: set[str] = set()
    for at, scenario in enumerate(found):
        if scenario.name in names:
            raise reader.wrong(
                f"scenarios[{at}].name", f"there are two scenarios {scenario.name!r}", "rename one"
            )
        names.add(scenario.name)
    return found


_Choice = TypeVar("_Choice", bound=StrEnum)

_KEYS = (
    "name",
    "about",
    "history",
    "message",
    "variation",
    "sampled",
    "cut",
    "next",
    "answers",
    "engine",
    "tools",
)


class _Reader:
    """Reads the parts of one file."""

    def __init__(self, file: str) -> None:
        self.file = file

    def wrong(self, place: str, words: str, hint: str) -> ScenarioError:
        return ScenarioError(words, file=self.file, place=place or None, hint=hint)

    def mapping(self, value: object, place: str, keys: Sequence[str]) -> Mapping[str, object]:
        """Give a mapping that has none but these keys."""
        if not isinstance(value, Mapping):
            raise self.wrong(place, "this is no mapping", f"expected {', '.join(keys)}")
        members = cast("Mapping[object, object]", value)
        for key in members:
            if key not in keys:
                raise self._unknown(place, "key", str(key), keys)
        return cast("Mapping[str, object]", members)

    def _unknown(self, place: str, what: str, given: str, known: Sequence[str]) -> ScenarioError:
        hint = suggest(given, known, f"there are {', '.join(known)}")
        return self.wrong(place, f"there is no {what} {given!r}", hint)

    def sequence(self, value: object, place: str) -> Sequence[object]:
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self.wrong(place, "this is no list", "expected a list")
        return cast("list[object]", value)

    def several(self, value: object) -> Sequence[object]:
        """Give a list, where one thing stands for a list of one."""
        return cast("list[object]", value) if isinstance(value, list) else (value,)

    def text(self, value: object, place: str) -> str:
        if not isinstance(value, str):
            raise self.wrong(place, "this is no text", "put it in quotes")
        return value

    def flag(self, value: object, place: str) -> bool:
        if not isinstance(value, bool):
            raise self.wrong(place, "this is neither true nor false", "give true or false")
        return value

    def choice(self, value: object, place: str, kind: type[_Choice]) -> _Choice:
        known = [each.value for each in kind]
        given = self.text(value, place)
        if given not in known:
            raise self._unknown(place, "choice", given, known)
        return kind(given)

    def scenario(self, value: object, place: str, tools: tuple[Tool, ...]) -> Scenario:
        members = self.mapping(value, place, _KEYS)
        if not members.get("name"):
            raise self.wrong(place, "this scenario has no name", "add a name")
        sampled = members.get("sampled")
        if sampled is None and "message" not in members:
            raise self.wrong(place, "there is nothing to write", "add message, or sampled")
        if sampled is not None and ("message" in members or "variation" in members):
            raise self.wrong(place, "sampled is the text itself", "leave out message and variation")
        history = members.get("history")
        message = members.get("message", {})
        offered = tools if self.flag(members.get("tools", True), f"{place}.tools") else ()
        silent = "reasoning" in _members(message)
        usual = Scenario("")
        return Scenario(
            name=self.text(members["name"], f"{place}.name"),
            about=self.text(members.get("about", ""), f"{place}.about"),
            message=self.called(self.message(message, f"{place}.message"), place, offered),
            silent=silent,
            variations=self.variations(members.get("variation"), f"{place}.variation"),
            sampled=None if sampled is None else self.text(sampled, f"{place}.sampled"),
            cut=self.flag(members.get("cut", False), f"{place}.cut"),
            history=usual.history if history is None else self.history(history, f"{place}.history"),
            tools=offered,
            next=self.next(members.get("next", "user"), f"{place}.next"),
            answers=self.choice(members.get("answers", "all"), f"{place}.answers", Answers),
            engine=self.engine(members.get("engine", {}), f"{place}.engine"),
        )

    def variations(self, value: object, place: str) -> tuple[str, ...]:
        if value is None:
            return ()
        given = self.several(value)
        names = tuple(self.text(each, place) for each in given)
        for name in names:
            if name not in VARIATIONS:
                raise self._unknown(place, "variation", name, list(VARIATIONS))
        return names

    def next(self, value: object, place: str) -> tuple[Next, ...]:
        given = self.several(value)
        if not given:
            raise self.wrong(place, "nobody comes next", f"give {', '.join(Next)}")
        return tuple(self.choice(each, place, Next) for each in given)

    def engine(self, value: object, place: str) -> Engine:
        members = self.mapping(value, place, ("arguments", "ids", "malformed", "reasoning", "json"))
        return Engine(
            arguments=self.choice(
                members.get("arguments", "template"), f"{place}.arguments", ArgumentsAs
            ),
            ids=self.choice(members.get("ids", "kept"), f"{place}.ids", Ids),
            malformed=self.choice(members.get("malformed", "content"), f"{place}.malformed", Kept),
            strips_reasoning=self._habit(members, "reasoning", "stripped", place),
            rewrites_json=self._habit(members, "json", "rewritten", place),
        )

    def _habit(self, members: Mapping[str, object], key: str, habit: str, place: str) -> bool:
        given = self.text(members.get(key, "verbatim"), f"{place}.{key}")
        if given not in ("verbatim", habit):
            raise self._unknown(f"{place}.{key}", "choice", given, ("verbatim", habit))
        return given == habit

    def message(self, value: object, place: str) -> Message:
        members = self.mapping(value, place, ("reasoning", "content", "calls"))
        calls = self.sequence(members.get("calls"), f"{place}.calls")
        return Message(
            self.text(members.get("content", ""), f"{place}.content"),
            self.text(members.get("reasoning", ""), f"{place}.reasoning"),
            tuple(self.call(call, f"{place}.calls[{at}]", at) for at, call in enumerate(calls)),
        )

    def called(self, message: Message, place: str, tools: tuple[Tool, ...]) -> Message:
        """Give a message whose calls are of tools that are offered, if any are."""
        known = [str(tool.get("name")) for tool in tools]
        for at, call in enumerate(message.calls):
            if known and call.name not in known:
                raise self._unknown(f"{place}.message.calls[{at}]", "tool", call.name, known)
        return message

    def call(self, value: object, place: str, at: int) -> ToolCall:
        members = self.mapping(value, place, ("name", "arguments", "id"))
        if "name" not in members:
            raise self.wrong(place, "this call has no name", "add the name of a function")
        arguments = members.get("arguments", {})
        if not isinstance(arguments, Mapping):
            raise self.wrong(f"{place}.arguments", "this is no mapping", "give {name: value}")
        for where, what in beyond_json(cast("object", arguments), f"{place}.arguments"):
            raise self.wrong(where, f"{what} is nothing that JSON has", "put it in quotes")
        return ToolCall(
            self.text(members["name"], f"{place}.name"),
            cast("Mapping[str, Json]", arguments),
            self.text(members.get("id", PLAIN_IDS[at % len(PLAIN_IDS)]), f"{place}.id"),
        )

    def history(self, value: object, place: str) -> Dialogue:
        entries: list[Entry] = []
        waiting: list[ToolCall] = []
        for at, each in enumerate(self.sequence(value, place)):
            here = f"{place}[{at}]"
            keys = ("user", "tool", "reasoning", "content", "calls")
            members = self.mapping(each, here, keys)
            if len(members) > 1 and ("user" in members or "tool" in members):
                raise self.wrong(here, "this is of two speakers", "make two entries of it")
            if "user" in members:
                entries.append(User(self.text(members["user"], f"{here}.user")))
            elif "tool" in members:
                if not waiting:
                    raise self.wrong(here, "this answers no call", "put a call before it")
                call = waiting.pop(0)
                text = self.text(members["tool"], f"{here}.tool")
                entries.append(Answer(text, call.name, call.id))
            else:
                message = self.message(each, here)
                waiting = list(message.calls)
                entries.append(message)
        if not entries or isinstance(entries[-1], Message):
            raise self.wrong(place, "this history ends with the model", "end it with user or tool")
        return tuple(entries)

    def tools(self, value: object) -> tuple[Tool, ...]:
        found: list[Tool] = []
        for at, each in enumerate(self.sequence(value, "tools")):
            function = _members(_members(each).get("function", each))
            if not isinstance(function.get("name"), str):
                raise self.wrong(f"tools[{at}]", "this is no tool", "give {name: …, parameters: …}")
            close = nearest("parameters", function)
            if close is not None and close != "parameters":
                raise self._unknown(f"tools[{at}]", "key", close, ("parameters",))
            if not isinstance(function.get("parameters", {}), Mapping):
                raise self.wrong(f"tools[{at}].parameters", "this is no mapping", "give a schema")
            found.append(dict(cast("Mapping[str, Json]", function)))
        return tuple(found)


def _members(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
