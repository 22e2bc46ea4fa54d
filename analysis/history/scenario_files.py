"""Read scenarios from YAML: the shipped ones and a user's.

Contract: an error in a file is an AutoparserError with the place, e.g. `scenarios[2].engine`, and
the expected value.

For example, the entry

    {name: a compact call, next: tool, variation: compact-json, engine: sglang,
     message: {calls: [{name: get_weather, arguments: {city: Oslo}}]}}

is a `Scenario` in which a user asks the usual question, the model calls `get_weather` with the id
"aB3dE6gH1" in JSON without spaces, and the engine stores the call by the habits of `sglang`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from msgspec import Meta, Struct

from autoparser.analysis.core.conversation import (
    Dialogue,
    Entry,
    MediaKind,
    Message,
    Tool,
    ToolCall,
    ToolResult,
    UserMessage,
    tool_function,
)
from autoparser.analysis.core.documents import copy_fields, read_value
from autoparser.analysis.core.error_words import (
    is_list,
    spelling_hint,
)
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.request_files import beyond_json, given_tools

from .client_memory import PLAIN_IDS
from .scenarios import (
    PROFILES,
    Answers,
    ArgumentsAs,
    BesideCalls,
    EngineHabits,
    Ids,
    MessagesAs,
    Next,
    Scenario,
    UnreadCalls,
)
from .turn_variations import VARIATIONS

SHIPPED = Path(__file__).parent / "scenarios.yaml"


class ScenarioError(AutoparserError):
    """A scenario file is invalid."""


@lru_cache(maxsize=1)
def shipped_scenarios() -> tuple[Scenario, ...]:
    """Return the scenarios that the package ships."""
    # libyaml, if available, parses the file in an eighth of the time.
    loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    content = yaml.load(SHIPPED.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 - both safe
    given = read_value(content, _ScenarioFile, file=SHIPPED.name)
    # A test validates the shipped schemas: jsonschema would take longer than a lint.
    return _scenarios(given, tuple(map(tool_function, given.tools or ())), SHIPPED.name)


class _FileMapping(Struct, frozen=True, forbid_unknown_fields=True):
    """A mapping of a file; its fields are the allowed keys."""


class _FileCall(_FileMapping, frozen=True):
    name: Annotated[str, Meta(description="the name of a function")]
    """The function's name, e.g. `get_weather`."""
    arguments: Annotated[dict[str, Any], Meta(description="{name: value}")] = {}
    """The arguments by name, e.g. `{city: Oslo, days: 3}`."""
    id: str | None = None
    """The call's id, or None for one that every template accepts."""


class _FileMessage(_FileMapping, frozen=True):
    reasoning: str | None = None
    """The reasoning, or None to add some if the prompt opens it."""
    content: str | None = None
    """The content."""
    calls: tuple[_FileCall, ...] | None = None
    """The calls, in order."""


class _ScenarioEntry(_FileMapping, frozen=True):
    user: str | None = None
    """The text of a user's message."""
    tool: str | None = None
    """The text of a result of the first call without one."""
    media: Annotated[tuple[MediaKind, ...], Meta(description=", ".join(MediaKind))] = ()
    """The images, videos and sounds of that message."""
    reasoning: str | None = None
    """The reasoning of a model's turn."""
    content: str | None = None
    """The content of a model's turn."""
    calls: tuple[_FileCall, ...] | None = None
    """The calls of a model's turn."""


class _FileEngine(_FileMapping, frozen=True):
    """The habits of an engine, with defaults for missing keys."""

    arguments: ArgumentsAs = ArgumentsAs.TEMPLATE
    ids: Ids = Ids.KEPT
    malformed: UnreadCalls = UnreadCalls.CONTENT
    reasoning: Literal["verbatim", "stripped"] = "verbatim"
    json: Literal["verbatim", "rewritten"] = "verbatim"
    field: str | tuple[str, ...] | None = None
    """The message field that holds reasoning, or several; see `EngineHabits.reasoning_fields`."""
    beside_calls: BesideCalls = BesideCalls.VERBATIM
    messages: MessagesAs = MessagesAs.TEMPLATE


_NextRoles = Annotated[tuple[Next, ...], Meta(min_length=1)]


class _FileScenario(_FileMapping, frozen=True):
    name: Annotated[str, Meta(min_length=1, description="a name")]
    """The name, which no other scenario has."""
    about: str = ""
    """Its purpose, in words."""
    history: tuple[_ScenarioEntry, ...] | None = None
    """The conversation before the turn, or None for a question about the weather."""
    message: _FileMessage | None = None
    """The model's message."""
    variation: str | tuple[str, ...] | None = None
    """The names of deviations from the format's text, e.g. `compact-json`."""
    sampled: str | None = None
    """The model's output itself, in place of a message."""
    cut: bool = False
    """Whether that output was truncated."""
    next: Annotated[Next | _NextRoles, Meta(description=", ".join(Next))] = Next.USER
    """The messages after the turn, or a list to play each."""
    answers: Answers = Answers.ALL
    """The calls that get results."""
    engine: Annotated[str | _FileEngine, Meta(description="habits, or the name of an engine")] = (
        _FileEngine()
    )
    """The habits of the engine, or the name of a profile, e.g. `vllm`."""
    tools: bool = True
    """Whether tools are offered."""


_TOOL = "{name: …, parameters: …}"


class _ScenarioFile(_FileMapping, frozen=True):
    scenarios: Annotated[
        tuple[_FileScenario, ...], Meta(min_length=1, description="a list of them")
    ]
    """The scenarios, in the order in which they are played."""
    tools: Annotated[tuple[dict[str, Any], ...] | None, Meta(description=_TOOL)] = None
    """The offered functions, or None to offer those of the shipped scenarios."""


def scenarios_of(value: object, file: str) -> tuple[Scenario, ...]:
    """Read scenarios: `{scenarios: […], tools: […]}`, or the list alone.

    Without tools, the shipped ones are offered. Raises ScenarioError.
    """
    reader = _ScenarioReader(file)
    if value is None:
        raise reader.wrong("", "must not be empty", "write a list of scenarios")
    if is_list(value):
        value = {"scenarios": value}
    given = read_value(value, _ScenarioFile, file=file, wrong=ScenarioError)
    if given.tools is None:
        tools = shipped_scenarios()[0].tools
    else:
        offered = given_tools(list(given.tools), file, ScenarioError)
        tools = tuple(map(tool_function, offered))
    return _scenarios(given, tools, file)


def _scenarios(
    scenario_file: _ScenarioFile, tools: tuple[Tool, ...], file: str
) -> tuple[Scenario, ...]:
    reader = _ScenarioReader(file)
    found: dict[str, Scenario] = {}
    for at, entry in enumerate(scenario_file.scenarios):
        place = f"scenarios[{at}]"
        if entry.name in found:
            words = f"duplicate scenario {entry.name!r}"
            raise reader.wrong(f"{place}.name", words, "rename one")
        found[entry.name] = reader.scenario(entry, place, tools)
    return tuple(found.values())


class _ScenarioReader(Struct, frozen=True):
    """Converts the values of one file, and checks what their types do not."""

    file: str
    """The name of the file, such as `"scenarios.yaml"`, for errors."""

    def wrong(self, place: str, words: str, hint: str) -> ScenarioError:
        return ScenarioError(words, file=self.file, place=place or None, hint=hint)

    def check_name(self, place: str, what: str, name: str, known_names: Iterable[str]) -> None:
        """Raise an error if a name is not among the known ones."""
        names = list(known_names)
        if name not in names:
            hint = spelling_hint(name, names, f"choose from {', '.join(names)}")
            raise self.wrong(place, f"unknown {what} {name!r}", hint)

    def scenario(self, entry: _FileScenario, place: str, tools: tuple[Tool, ...]) -> Scenario:
        """Convert an entry of a file. Raises an error at its place if it is contradictory."""
        message_entry, sampled = entry.message, entry.sampled
        if sampled is None and message_entry is None:
            raise self.wrong(place, "nothing to write", "add message, or sampled")
        # Reject keys that would have no effect, since an author expects one.
        if sampled is not None and (message_entry is not None or entry.variation is not None):
            raise self.wrong(
                place, "sampled already is the whole text", "leave out message and variation"
            )
        offered = tools if entry.tools else ()
        message = self.message(message_entry or _FileMessage(), f"{place}.message")
        for at, call in enumerate(message.calls if offered else ()):
            # A call of a tool that is not offered is usually a misspelled name.
            names = (str(tool.get("name")) for tool in offered)
            self.check_name(f"{place}.message.calls[{at}]", "tool", call.name, names)
        variations = (
            (entry.variation,) if isinstance(entry.variation, str) else entry.variation or ()
        )
        for name in variations:
            self.check_name(f"{place}.variation", "variation", name, VARIATIONS)
        usual = Scenario("").history
        return Scenario(
            name=entry.name,
            about=entry.about,
            message=message,
            # Explicit reasoning, even if empty, is the author's choice; else the prompt decides.
            silent=message_entry is not None and message_entry.reasoning is not None,
            variations=variations,
            sampled=sampled,
            cut=entry.cut,
            history=usual if entry.history is None else self.history(entry.history, place),
            tools=offered,
            next=(entry.next,) if isinstance(entry.next, Next) else entry.next,
            answers=entry.answers,
            engine=self.engine(entry.engine, place),
        )

    def engine(self, value: str | _FileEngine, place: str) -> EngineHabits:
        if isinstance(value, _FileEngine):
            fields = (value.field,) if isinstance(value.field, str) else value.field
            return copy_fields(EngineHabits, value, reasoning_fields=fields)
        self.check_name(f"{place}.engine", "engine", value, PROFILES)
        return PROFILES[value].engine

    def message(self, entry: _FileMessage | _ScenarioEntry, place: str) -> Message:
        calls = (
            self.call(call, f"{place}.calls[{at}]", at) for at, call in enumerate(entry.calls or ())
        )
        return Message(entry.content or "", entry.reasoning or "", tuple(calls))

    def call(self, entry: _FileCall, place: str, at: int) -> ToolCall:
        for where, words, hint in beyond_json(entry.arguments, f"{place}.arguments"):
            raise self.wrong(where, words, hint)
        # Ids in a form that all templates accept, as most scenarios are not about ids.
        plain = PLAIN_IDS[at % len(PLAIN_IDS)] if entry.id is None else entry.id
        return ToolCall(entry.name, entry.arguments, plain)

    def history(self, history_entries: tuple[_ScenarioEntry, ...], place: str) -> Dialogue:
        entries: list[Entry] = []
        waiting: list[ToolCall] = []
        for at, entry in enumerate(history_entries):
            here = f"{place}.history[{at}]"
            spoken = (entry.reasoning, entry.content, entry.calls)
            speakers = (entry.user, entry.tool, next((e for e in spoken if e is not None), None))
            if sum(speaker is not None for speaker in speakers) > 1:
                raise self.wrong(here, "one entry has two speakers", "split it in two")
            if entry.user is not None:
                entries.append(UserMessage(entry.user, entry.media))
            elif entry.tool is None:
                if entry.media:
                    words, hint = "a model cannot send media", "move it to user or tool"
                    raise self.wrong(f"{here}.media", words, hint)
                message = self.message(entry, here)
                waiting = list(message.calls)
                entries.append(message)
            elif waiting:
                # A result answers the first call that has none yet, so that a file names no ids.
                call = waiting.pop(0)
                entries.append(ToolResult(entry.tool, call.name, call.id, entry.media))
            else:
                raise self.wrong(here, "a tool result without a call", "put a call before it")
        # The scenario's own message follows, and a model does not answer itself.
        if not entries or isinstance(entries[-1], Message):
            words, hint = "the history ends with the model", "end it with user or tool"
            raise self.wrong(f"{place}.history", words, hint)
        return tuple(entries)
