"""Texts whose meaning is known: messages, as the template itself writes them after its prompt."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import (
    Dialogue,
    Json,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
    function_of,
)
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.message_battery import (
    CITY_TOOL,
    BatteryCase,
    battery_messages,
    loose_tools,
)
from autoparser.analysis.core.message_shape import MessageShape, offered_tools
from autoparser.analysis.core.schema_document import schema_validator
from autoparser.analysis.core.text_alignment import prefix_length
from autoparser.analysis.learning.template_turns import QUESTION, TemplateTurns

from .engine_server import EngineServer, KnownText, ProbedChat, TextRefusedError

# Conversations whose prompts are compared: what the template renders, and what a server makes.


PROMPT_QUESTION = "Will it rain in Oslo?"
SYSTEM = "Answer in one sentence."
ID = "aB3dE6gH1"
"""Nine letters and digits, which the strictest templates want."""
CALL = ToolCall(CITY_TOOL, {"city": "Oslo", "days": 3}, ID)
DIALOGUES: Mapping[str, tuple[str, Dialogue, bool]] = {
    "a question": ("", (UserMessage(PROMPT_QUESTION),), False),
    "a question and tools": ("", (UserMessage(PROMPT_QUESTION),), True),
    "a system message and an earlier turn": (
        SYSTEM,
        (UserMessage("Hello."), Message("Good morning."), UserMessage(PROMPT_QUESTION)),
        False,
    ),
    "a call and its result": (
        "",
        (UserMessage(PROMPT_QUESTION), Message(calls=(CALL,)), ToolResult("rain", CITY_TOOL, ID)),
        True,
    ),
}
"""By their titles: the system message, the rest, whether tools are offered."""


@dataclass(frozen=True, slots=True)
class ComparedPrompt:
    """One prompt, as the template renders it and as the server makes it."""

    title: str
    rendered: str
    served: str | None
    """None: the server refuses."""
    refusal: str = ""

    @property
    def same(self) -> bool:
        """Whether both are the same text."""
        return self.served == self.rendered

    @property
    def parting(self) -> int:
        """The character at which they part."""
        return prefix_length(self.rendered, self.served or "")


def compared_prompts(
    analysis: Analysis, server: EngineServer, settings: Mapping[str, Json]
) -> tuple[tuple[ComparedPrompt, ...], tuple[str, ...]]:
    """Compare the prompts, and name the conversations that the template refuses.

    The text that begins every sequence is left out of both: some servers leave it to the tokenizer.
    """
    begin = analysis.template.special_tokens.get("bos_token", "")
    found: list[ComparedPrompt] = []
    refused: list[str] = []
    for title, (system, dialogue, tools) in DIALOGUES.items():
        rendered = _rendered(analysis, dialogue, system, settings, tools=tools)
        if rendered is None:
            refused.append(title)
            continue
        wire = MessageShape(arguments_as_string=True, system=bool(system))
        chat = ProbedChat(wire.messages(dialogue, system), loose_tools() if tools else (), settings)
        try:
            served, refusal = server.prompt(chat).removeprefix(begin), ""
        except TextRefusedError as error:
            served, refusal = None, str(error)
        found.append(ComparedPrompt(title, rendered.removeprefix(begin), served, refusal))
    return tuple(found), tuple(refused)


def _rendered(
    analysis: Analysis,
    dialogue: Dialogue,
    system: str,
    settings: Mapping[str, Json],
    *,
    tools: bool,
) -> str | None:
    """Return the template's prompt; None where it refuses, or crashes."""
    shape = replace(analysis.shape, system=bool(system))
    functions = [*map(function_of, loose_tools())] if tools else []
    given: Mapping[str, Any] = settings
    try:
        return analysis.rendering.render(
            shape.messages(dialogue, system),
            offered_tools(functions, shape) if tools else None,
            add_generation_prompt=True,
            **given,
        )
    except TemplateRenderError:
        return None


ASKED = (
    "content",
    "reasoning and content",
    "1 call",
    "content and 1 call",
    "reasoning and 1 call",
    "reasoning and content and 2 calls",
    "an argument of every type",
    "an argument that is quotes and backslashes",
    "an argument that is digits in a string",
    "an argument that is JSON in a string",
    "a call without arguments",
    "content with markup",
)
"""Of the messages of every self-check; more are asked below."""


@dataclass(frozen=True)
class KnownTexts:
    """What a server is asked to read, and the chat in reply to which it is written."""

    chat: ProbedChat
    prompt: str
    """The template's own prompt of that chat."""
    texts: tuple[KnownText, ...]
    not_asked: tuple[str, ...]
    """The messages that the template refuses, or does not write after its prompt."""


def known_texts(analysis: Analysis, settings: Mapping[str, Json]) -> KnownTexts:
    """Render the messages in reply to one question, under the settings of the request."""
    tools = loose_tools()
    turns = analysis.turns(tools, chat_template_kwargs=settings or None)
    texts: list[KnownText] = []
    missing: list[str] = []
    for title, message, _ in _cases(analysis, turns):
        written = turns.written(message).continuation if turns.prompted.rendered else None
        text = "" if written is None else _until_end(written, analysis.format.stop_strings)
        if text.strip():
            other = _other(turns, message, tools)
            texts.append(KnownText(title, turns.shown(message), text, other))
        else:
            missing.append(title)
    said = [{"role": "user", "content": QUESTION}]
    chat = ProbedChat([dict(each) for each in said], tools, settings)
    return KnownTexts(chat, turns.prompt, _different(texts), tuple(missing))


def _cases(analysis: Analysis, turns: TemplateTurns) -> Iterator[BatteryCase]:
    yield from (case for case in battery_messages() if case.title in ASKED)
    call = ToolCall(CITY_TOOL, {"city": "Oslo", "days": 3})
    yield BatteryCase("the same call twice", Message(calls=(call, call)))
    closer = _closer(analysis)
    if closer:
        # Words on both sides: a template may strip what stands at the edges of a value.
        said = ToolCall(CITY_TOOL, {"city": f"Os {closer} lo", "days": 3})
        yield BatteryCase("an argument that holds what closes a call", Message(calls=(said,)))
    calls = analysis.format.calls
    quoted = "" if calls is None else calls.write((call,)).strip()
    if quoted and quoted in (turns.written(Message(calls=(call,))).continuation or ""):
        thought = Message("Here it is.", f"I could write {quoted} and stop.")
        yield BatteryCase("reasoning that quotes a call", thought)


def _other(turns: TemplateTurns, message: Message, tools: Sequence[Json]) -> Message | None:
    """Return the message with texts for other values, where the template writes it the same.

    Where texts stand bare and the schema allows a text or null, `null` is either.
    """
    functions = map(function_of, tools)
    schemas = {each["name"]: each["parameters"]["properties"] for each in functions}

    def as_text(call: ToolCall, key: str, value: Json) -> Json:
        text = json.dumps(value)
        return text if not isinstance(value, str) and _allows(schemas[call.name][key]) else value

    calls = tuple(
        replace(
            call, arguments={key: as_text(call, key, each) for key, each in call.arguments.items()}
        )
        for call in message.calls
    )
    other = replace(message, calls=calls)
    same = other != message and turns.written(other).whole == turns.written(message).whole
    return turns.shown(other) if same else None


def _allows(schema: Mapping[str, Json]) -> bool:
    """Whether any text is valid."""
    return not schema_validator(dict(schema))("text")


def _closer(analysis: Analysis) -> str:
    """Return what stands after a call; where nothing does, what closes all of them."""
    markers = analysis.markers
    return markers.per_call_end.strip() or markers.tool_section_end.strip()


def _until_end(text: str, stops: Sequence[str]) -> str:
    """Return a turn up to the text that ends it, which no answer of a server has."""
    at = max((text.rfind(stop) for stop in stops if stop), default=-1)
    return text if at < 0 else text[:at]


def _different(texts: Sequence[KnownText]) -> tuple[KnownText, ...]:
    """Leave out what the template writes as it writes an earlier message: it has two meanings."""
    found: dict[str, KnownText] = {}
    for each in texts:
        found.setdefault(each.text, each)
    return tuple(found.values())
