"""Collect prompts and texts of known meaning for a probe, and judge a server's readings.

- `compared_prompts`: conversations, as the template renders them and as the server makes them.
- `known_texts`: messages, as the template itself writes them after its prompt.
- `ProbedText`: one text, and how far it was read as it is meant, at once and streamed.
- `rank_served_parsers`: every parser that SGLang's server has, by the texts that it reads so.

For example, of a template that writes calls as `<call>JSON</call>`, one text of `known_texts` is

    KnownText("1 call", Message(calls=(ToolCall("get_forecast", {"city": "Oslo", "days": 3}, …),)),
              '<call>{"name": "get_forecast", "arguments": {"city": "Oslo", "days": 3}}</call>')
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

import yaml
from msgspec.structs import replace

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import (
    Dialogue,
    Json,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
    tool_function,
)
from autoparser.analysis.core.documents import Count
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.message_battery import (
    CITY_TOOL,
    BatteryCase,
    battery_messages,
    loose_tools,
)
from autoparser.analysis.core.message_shape import MessageShape, offered_tools
from autoparser.analysis.core.reading_judge import ReadMessage
from autoparser.analysis.core.schema_validation import schema_validator
from autoparser.analysis.core.text_alignment import prefix_length
from autoparser.analysis.learning import continuations
from autoparser.analysis.learning.template_turns import QUESTION, TemplateTurns

from .client_messages import (
    PartDifference,
    PartLikeness,
    ReadPart,
    message_differences,
    nearest_reading,
)
from .probe_base import EngineServer, KnownText, ParserEndpoints, ProbedChat
from .probe_client import TextRefusedError

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
"""By title: the system message, the other messages, and whether tools are offered."""


@dataclass(frozen=True, slots=True)
class ComparedPrompt:
    """A prompt as the template and as the server render it."""

    title: str
    """The conversation, e.g. `"a call and its result"`."""
    rendered: str
    """The prompt that the template renders, e.g.
    `"<|user|>Will it rain in Oslo?<|end|><|assistant|>"`."""
    served: str | None
    """The prompt of the server, e.g. `"<|user|>Will it rain in Oslo? <|end|><|assistant|>"`, or
    None if it refuses."""
    refusal: str = ""
    """Why the server refuses, in its words, e.g. `"500: tools param requires --jinja flag"`; else
    empty."""
    in_parts: bool = False
    """Whether it is the template's prompt of the same messages, their content as parts,
    `[{"type": "text", "text": …}]`."""

    @property
    def same(self) -> bool:
        """Whether both are the same text."""
        return self.served == self.rendered

    @property
    def parting(self) -> int:
        """The offset of the first difference."""
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
        # In OpenAI's form: reshaping for the template is the server's task.
        wire = MessageShape(arguments_as_string=True, system=bool(system))
        chat = ProbedChat(wire.messages(dialogue, system), loose_tools() if tools else (), settings)
        try:
            served, refusal = server.prompt(chat).removeprefix(begin), ""
        except TextRefusedError as error:
            served, refusal = None, str(error)
        rendered = rendered.removeprefix(begin)
        in_parts = served not in (None, rendered) and served == (
            _rendered(analysis, dialogue, system, settings, tools=tools, parts=True) or ""
        ).removeprefix(begin)
        found.append(ComparedPrompt(title, rendered, served, refusal, in_parts))
    return tuple(found), tuple(refused)


def _rendered(
    analysis: Analysis,
    dialogue: Dialogue,
    system: str,
    settings: Mapping[str, Json],
    *,
    tools: bool,
    parts: bool = False,
) -> str | None:
    """Return the template's prompt, or None if it raises; with `parts` each text is one."""
    shape = replace(analysis.shape, system=bool(system))
    messages = shape.messages(dialogue, system)
    if parts:
        for message in messages:
            if isinstance(text := message.get("content"), str):
                message["content"] = [{"type": "text", "text": text}]
    functions = [*map(tool_function, loose_tools())] if tools else []
    given: Mapping[str, Any] = settings
    try:
        return analysis.rendering.render(
            messages,
            offered_tools(functions, shape) if tools else None,
            add_generation_prompt=True,
            **given,
        )
    except TemplateRenderError:
        return None


ASKED = (
    *continuations.ASKED,
    "an argument that is quotes and backslashes",
    "an argument that is digits in a string",
    "an argument that is JSON in a string",
    "a call without arguments",
)
"""Cases of the self-check; `_cases` adds more."""


@dataclass(frozen=True)
class KnownTexts:
    """Texts of known meaning, and the chat that they answer."""

    chat: ProbedChat
    """The request that the texts answer, e.g. one user message and the tools of the battery, such
    as `get_forecast`."""
    texts: tuple[KnownText, ...]
    """Texts with their meanings, e.g. `"Here is what I found."`."""
    not_asked: tuple[str, ...]
    """The messages that the template refuses, or does not write after its prompt, e.g.
    `("reasoning and content", …)`."""


def known_texts(analysis: Analysis, settings: Mapping[str, Json]) -> KnownTexts:
    """Render the messages in reply to one question, under the settings of the request."""
    tools = loose_tools()
    turns = analysis.turns(tools, chat_template_kwargs=settings or None)
    texts: dict[str, KnownText] = {}
    missing: list[str] = []
    for title, message, _ in _cases(analysis, turns):
        written = turns.written_turn(message).continuation if turns.prompted.rendered else None
        text = "" if written is None else until_end(written, analysis.format.stop_strings)
        # An empty answer gives a parser nothing to read.
        if text.strip():
            other = _other(turns, message, tools)
            # If this text is also the render of an earlier message, it has two meanings.
            texts.setdefault(text, KnownText(title, turns.shown_message(message), text, other))
        else:
            missing.append(title)
    question: Mapping[str, Json] = {"role": "user", "content": QUESTION}
    chat = ProbedChat([question], tools, settings)
    return KnownTexts(chat, tuple(texts.values()), tuple(missing))


def _cases(analysis: Analysis, turns: TemplateTurns) -> Iterator[BatteryCase]:
    yield from (case for case in battery_messages() if case.title in ASKED)
    call = ToolCall(CITY_TOOL, {"city": "Oslo", "days": 3})
    yield BatteryCase("the same call twice", Message(calls=(call, call)))
    # The text after each call, or else the text that closes all calls.
    markers = analysis.markers
    closer = markers.per_call_end.strip() or markers.tool_section_end.strip()
    if closer:
        # Put words on both sides, since a template may strip the edges of a value.
        quoting_call = ToolCall(CITY_TOOL, {"city": f"Os {closer} lo", "days": 3})
        yield BatteryCase(
            "an argument that holds what closes a call", Message(calls=(quoting_call,))
        )
    calls = analysis.format.calls
    quoted = "" if calls is None else calls.write((call,)).strip()
    # Only a quote that equals a real call can deceive a parser.
    if quoted and quoted in (turns.written_turn(Message(calls=(call,))).continuation or ""):
        thought = Message("Here it is.", f"I could write {quoted} and stop.")
        yield BatteryCase("reasoning that quotes a call", thought)


def _other(turns: TemplateTurns, message: Message, tools: Sequence[Json]) -> Message | None:
    """Return the message with texts in place of other values, if the template writes it alike.

    Where texts stand bare and the schema allows a text or null, `null` is either.
    """
    functions = map(tool_function, tools)
    schemas = {function["name"]: function["parameters"]["properties"] for function in functions}

    def as_text(call: ToolCall, key: str, value: Json) -> Json:
        refuses_texts = schema_validator(dict(schemas[call.name][key]))
        return value if isinstance(value, str) or refuses_texts("text") else json.dumps(value)

    calls = tuple(
        replace(
            call,
            arguments={key: as_text(call, key, value) for key, value in call.arguments.items()},
        )
        for call in message.calls
    )
    other = replace(message, calls=calls)
    same = other != message and turns.written_turn(other).whole == turns.written_turn(message).whole
    return turns.shown_message(other) if same else None


def until_end(text: str, stops: Sequence[str]) -> str:
    """Return a turn up to the ends behind it, of which no answer of a server has any.

    `</call><|eom|><|eot|>` with both as stops gives `</call>`.
    """
    ends = "|".join(re.escape(stop) for stop in stops if stop)
    last = [run.start() for run in re.finditer(rf"(?:(?:{ends})\s*)+", text)] if ends else []
    return text[: last[-1]] if last else text


class ReadVerdict(StrEnum):
    """How a server reads a text."""

    EXACT = "exact"
    """As the known message."""
    EDGES = "edges"
    """As the known message, except for whitespace at the edges of a part."""
    DIFFERENT = "different"
    """As another message."""
    REFUSED = "refused"
    """Not at all: the server answers with an error."""


@dataclass(frozen=True, slots=True)
class ProbedText:
    """A text and the server's readings of it."""

    known_text: KnownText
    """The text and its meaning, e.g. the one of the case `"1 call"`."""
    reading: ReadMessage | None
    """The server's reading of the whole text, e.g. `ReadMessage("Here is what I found.", …)`, or
    None if it refuses."""
    refusal: str = ""
    """Why the server refuses, in its words, e.g. `"500: no such thing"`; else empty."""
    differences: tuple[PartDifference, ...] = ()
    r"""The parts in which the reading differs from the meaning, e.g. a content of
    `"\n\nHere it is."`."""
    streamed: ReadMessage | None = None
    """The message that a client joins from the stream, e.g.
    `ReadMessage("Here is what I found.", …)`, or None if there was no stream."""
    stream_refusal: str = ""
    """Why the stream failed, e.g. `"in the middle of the stream: …"`; else empty."""

    @property
    def verdict(self) -> ReadVerdict:
        """The verdict on the whole answer."""
        return ReadVerdict.REFUSED if self.reading is None else _verdict(self.differences)

    @property
    def stream_verdict(self) -> ReadVerdict | None:
        """The verdict on the stream compared with the whole answer, or None without a stream."""
        if self.stream_refusal:
            return ReadVerdict.REFUSED
        return None if self.streamed is None else _verdict(self.stream_differences)

    @property
    def stream_differences(self) -> tuple[PartDifference, ...]:
        """The differences between the stream and the whole answer."""
        if self.reading is None or self.streamed is None:
            return ()
        return message_differences(self.reading, self.streamed)


def _verdict(differences: Sequence[PartDifference]) -> ReadVerdict:
    if not differences:
        return ReadVerdict.EXACT
    edges = all(difference.likeness is PartLikeness.EDGES for difference in differences)
    return ReadVerdict.EDGES if edges else ReadVerdict.DIFFERENT


@dataclass(frozen=True, slots=True)
class NotAsked:
    """A message whose text the server did not read."""

    title: str
    """The case of the battery, e.g. `"2 calls"`."""
    reason: str
    """E.g. `"its model did not write the text"`."""


PATIENCE = 3
"""Failures after which a parser is given up, if all texts so far failed."""


@dataclass(frozen=True, slots=True)
class ParserScore:
    """The verdicts on one parser, counted."""

    name: str
    """E.g. `"qwen25"`."""
    exact: Count
    """Texts read as they are meant, e.g. 11."""
    edges: Count
    """Texts that differ only in whitespace at the edges of a part, e.g. 4."""
    different: Count
    """Texts read as another message, e.g. 1."""
    refused: Count
    """Texts that it fails to read, e.g. 12."""

    @property
    def right(self) -> int:
        """Texts read right, up to whitespace at the edges."""
        return self.exact + self.edges


@dataclass(frozen=True)
class ParserRanking:
    """The parsers of a server, the best first."""

    reasoning: tuple[ParserScore, ...]
    """Reasoning parsers, e.g. `qwen3` before `kimi`, by the reasoning alone."""
    calls: tuple[ParserScore, ...]
    """Tool parsers, e.g. `qwen` before `hermes`, by content and calls of the text without its
    reasoning."""
    unknown: tuple[str, ...]
    """Names that the server refuses for every text, e.g. `("gpt-oss", …)`."""

    @property
    def best(self) -> tuple[ParserScore | None, ParserScore | None]:
        """The best reasoning parser and the best tool parser."""
        return next(iter(self.reasoning), None), next(iter(self.calls), None)


def rank_served_parsers(
    server: ParserEndpoints, texts: Sequence[KnownText], tools: Sequence[Json]
) -> ParserRanking:
    """Rank the parsers of a server by their readings. Raises ProbeError."""
    served = server.served
    listed: Mapping[str, Sequence[str]] = yaml.safe_load(server.listed.read_text("utf-8"))

    def read_reasoning(known_text: KnownText, parser: str) -> ReadMessage:
        return ReadMessage(reasoning=server.separate_reasoning(known_text.text, parser)[0])

    thinkers = (served.reasoning_parser, *listed["reasoning_parsers"])
    known, unknown = _ranked(thinkers, texts, read_reasoning, [ReadPart.REASONING])

    # One text is separated once, not once for each parser of calls.
    @cache
    def rest(text: str) -> str:
        # As in the server, call parsers get the text that the best reasoning parser leaves.
        return server.separate_reasoning(text, known[0].name)[1] if known else text

    def read_calls(known_text: KnownText, parser: str) -> ReadMessage:
        content, calls = server.parse_calls(rest(known_text.text), tools, parser)
        return ReadMessage(content, calls=calls)

    callers = (served.tool_parser, *listed["tool_call_parsers"])
    able, unable = _ranked(callers, texts, read_calls, [ReadPart.CONTENT, ReadPart.CALLS])
    return ParserRanking(tuple(known), tuple(able), (*unknown, *unable))


Reading = Callable[[KnownText, str], ReadMessage]
"""Returns the reading of a text by the parser of this name."""


def _ranked(
    names: Iterable[str | None],
    texts: Sequence[KnownText],
    read: Reading,
    parts: Sequence[ReadPart],
) -> tuple[list[ParserScore], list[str]]:
    """Return the scores, best first, and the names that the server does not have."""
    every = [_score(name, texts, read, parts) for name in dict.fromkeys(filter(None, names))]
    # A name that the server does not know is refused for every text.
    known = [score for score in every if score.right or score.different]
    # Ties go to the parser given first, with which the server was started.
    known.sort(key=lambda score: (-score.right, -score.exact, score.refused))
    return known, [score.name for score in every if score not in known]


def _score(
    name: str, texts: Sequence[KnownText], read: Reading, parts: Sequence[ReadPart]
) -> ParserScore:
    count = dict.fromkeys(ReadVerdict, 0)
    for known in texts:
        try:
            found = nearest_reading(known.meanings, read(known, name), parts)
        except TextRefusedError:
            count[ReadVerdict.REFUSED] += 1
            # The two counts are equal only if every text so far was refused.
            if count[ReadVerdict.REFUSED] == PATIENCE == sum(count.values()):
                break
        else:
            count[_verdict(found)] += 1
    return ParserScore(name, *count.values())
