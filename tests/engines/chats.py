"""Chats with known answers: messages as the template renders them after its prompt."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import httpx2
import yaml

from autoparser import Analysis, ChatTemplate, Json, Message, ToolCall, analyze, isolated
from autoparser.analysis.core.reading_judge import ReadMessage
from autoparser.analysis.engines.client_messages import client_message, joined_deltas
from autoparser.analysis.engines.probe_texts import until_end

from .parrot import END, Parrot

ROOT = Path(__file__).parents[2]
TOOLS: list[dict[str, Any]] = yaml.safe_load((ROOT / "fixtures" / "tools.yaml").read_text("utf-8"))
TEMPLATES = (
    "j1-json-in-tags",
    "j3-json-array",
    "j7-5-token-pair",
    "j8-2-python-dict-in-tags",
    "a1-function-parameter",
    "a2-key-value-tags",
    "a3-invoke-parameter",
    "p1-python-lines",
    "t3-fenced-json",
    "t6-function-tag-json",
    "novel-notation",
    "reasoning-forced-open",
)
"""One a style of calls, and reasoning that the prompt opens."""
LAG = 800
ID = "aB3dE6gH1"
TIMEOUT = 120.0
DONE = "data: [DONE]"


@cache
def analysis_of(name: str) -> Analysis:
    """Analyze a fixture, which renders in a worker."""
    text = (ROOT / "fixtures" / "templates" / f"{name}.jinja").read_text("utf-8")
    template = ChatTemplate(text, {"bos_token": "", "eos_token": END}, name=name)
    return analyze(isolated(template))


@cache
def parrot() -> Parrot:
    """Make the parrot that has the markers of all these templates as tokens."""
    return parrot_of(map(analysis_of, TEMPLATES), TOOLS)


def parrot_of(
    analyses: Iterable[Analysis], tools: Sequence[Mapping[str, Any]], ends: Sequence[str] = ()
) -> Parrot:
    """Make the parrot that has the markers of some templates as tokens; `ends` stop it, too."""
    markers: dict[str, bool] = {}
    for analysis in analyses:
        markers.update(dict.fromkeys(analysis.grammar(tools).preserved_tokens, False))
        markers.update(dict.fromkeys(analysis.format.stop_strings, True))
    whole = {text: control for text, control in markers.items() if text == text.strip() != ""}
    whole |= dict.fromkeys(ends, True)
    markers_alone = tuple(item for item in whole.items() if item[0] != END)
    return Parrot(markers_alone, lag=LAG, ends=tuple(ends))


def prompt_renderer(
    analysis: Analysis, tools: Sequence[Any] = (), **setting: Any
) -> Callable[[str], str]:
    """Return a function that renders the prompt of a user's message."""
    shaped = [analysis.shape.tool(tool["function"]) for tool in tools] or None

    def prompt_of(user: str) -> str:
        said = [{"role": "user", "content": user}]
        return analysis.rendering.render(said, shaped, add_generation_prompt=True, **setting)

    return prompt_of


def weather(city: str, days: int) -> ToolCall:
    return ToolCall("get_weather", {"city": city, "days": days}, ID)


def room(note: str) -> ToolCall:
    guest: Json = {"name": "Zoë", "vip": {"since": 2020}}
    tags: Json = [1, "x"]
    arguments: dict[str, Json] = {"room": "A1", "price": 99.5, "note": note}
    arguments |= {"tags": tags, "guest": guest}
    return ToolCall("book_room", arguments, "zY9xW8vU7")


REASONINGS = ("", "Hm.\n\nTwo lines.")
CONTENTS = ("", "It is sunny.", 'A <b> & {"x": [1]}\n- 日本, naïve 🚀')
CALLS: tuple[tuple[ToolCall, ...], ...] = (
    (),
    (weather("Oslo", 3),),
    (weather('a "b" <c> & \\ d\nsecond line', -7),),
    (weather("Malmö 👩🚀", 0),),
    (room("{'not': [json}"),),
    (room(""),),
    (weather("Paris", 1), room("two calls")),
    (weather("Rio", 1), weather("Rio", 1)),
)


def messages() -> list[Message]:
    """Return 46 messages: every reasoning with every content and all calls, unless none."""
    every = itertools.starmap(Message, product(CONTENTS, REASONINGS, CALLS))
    return [message for message in every if message.content or message.calls]


@dataclass(frozen=True)
class ScriptedChat:
    """A request, and the text that the parrot writes to it."""

    message: Message
    script: str
    """As the template writes it, without the end that a stop takes away."""
    body: Mapping[str, Any]
    parsed: Mapping[str, Any]
    """The script, parsed by the request's parser."""


def chats_of(name: str) -> Iterator[ScriptedChat]:
    """Return the chats in which a template writes the messages, the tool choices in turn.

    Left out are messages that the template does not write after its prompt, such as those without
    reasoning where the prompt opens it.
    """
    analysis = analysis_of(name)
    turns = analysis.turns(TOOLS)
    prompt_of = prompt_renderer(analysis, TOOLS)
    for at, message in enumerate(messages()):
        text = turns.written_turn(message).continuation
        if text is None:
            continue
        script = until_end(text, analysis.format.stop_strings)
        user = parrot().padded_message(f"{script}{END}", prompt_of)
        choices = choices_for(message)
        choice = choices[at % len(choices)]
        said = [{"role": "user", "content": user}]
        parser = analysis.parser(TOOLS, prompt=prompt_of(user), tool_choice=choice)
        body = {"messages": said, "tools": TOOLS, "tool_choice": choice, "max_tokens": 1000}
        parsed = said_in(parser.parse(script).to_openai_choice())
        yield ScriptedChat(message, script, body, parsed)


def choices_for(message: Message) -> list[Any]:
    """Return the tool choices that allow a message."""
    names = {call.name for call in message.calls}
    if not names:
        return ["auto"]
    named = [{"type": "function", "function": {"name": name}} for name in names]
    return ["auto", "required", *(named if len(named) == 1 else ())]


def answered(url: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Ask for a message at once, and return what of it is compared."""
    answer = httpx2.post(f"{url}/v1/chat/completions", json=body, timeout=TIMEOUT)
    assert answer.status_code == httpx2.codes.OK, answer.text
    return said_in(answer.json()["choices"][0])


def streamed(url: str, body: Mapping[str, Any], *, says_done: bool = True) -> dict[str, Any]:
    """Ask for a stream, and put together what of its message is compared, as a client does.

    `says_done` is whether the last event has to be OpenAI's end.
    """
    asked = {**body, "stream": True}
    with httpx2.stream("POST", f"{url}/v1/chat/completions", json=asked, timeout=TIMEOUT) as answer:
        lines = [line for line in answer.iter_lines() if line]
    assert (lines[-1] == DONE) is says_done, lines[-1]
    told = lines[:-1] if says_done else lines
    return joined(json.loads(line.removeprefix("data: ")) for line in told)


def said_in(choice: Mapping[str, Any]) -> dict[str, Any]:
    """Return the compared fields of a choice."""
    return _plain(client_message(choice["message"]), choice["finish_reason"])


def joined(chunks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the compared fields of the message in the chunks of a stream."""
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    # transformers has no such key before the last chunk.
    reasons = [choice["finish_reason"] for choice in choices if choice.get("finish_reason")]
    return _plain(joined_deltas([choice["delta"] for choice in choices]), *reasons[-1:])


def _plain(message: ReadMessage, reason: str | None = None) -> dict[str, Any]:
    return {
        "content": message.content or None,
        "reasoning": message.reasoning or None,
        "calls": [(call.name, call.arguments) for call in message.calls],
        "finish_reason": reason,
    }


def with_values(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message with the values of its arguments, in place of their text."""
    calls = [(name, json.loads(arguments)) for name, arguments in message["calls"]]
    return {**message, "calls": calls}
