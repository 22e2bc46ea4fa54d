"""Run official clients in an agent's loop: `python -m tests.engines.client_loops MAKER`.

    question -> calls -> results -> answer -> second question -> call -> result -> answer

The clients talk to `serve` in front of llama.cpp, with the answers of a maker in
`answer_table.yaml`, with and without reasoning, whole and streamed. A turn is correct if reasoning,
content and calls are the expected ones and its prompt has as many tokens as the template's render
of the expected conversation; anything lost or changed by a client changes that length.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import anthropic
import openai

from autoparser import Analysis, Message, ToolCall
from autoparser.analysis.core.conversation import Dialogue, ToolResult, UserMessage
from autoparser.analysis.engines.chat_preparer import ChatPreparer

from .answer_table import TABLE, TOOLS, made_by, script_of
from .chats import parrot_of
from .parrot import Parrot
from .running_llama import running_llama
from .running_serve import running_serve


@dataclass(frozen=True)
class ClientTurn:
    """One answer, as a client reads it."""

    ended: str
    reasoning: str
    content: str
    calls: Sequence[tuple[str, object]]
    ids: Sequence[str]
    """The ids of its calls."""
    said: Sequence[Any]
    """The messages that a client adds to the conversation for it."""
    usage: Any


Ask = Callable[..., ClientTurn]
"""Asks an address about a conversation, with a system prompt and tools."""
MOST = 1000
"""Tokens of an answer."""


def ask_chat(
    url: str, said: Sequence[Any], tools: Sequence[Any], system: str = "", *, streamed: bool
) -> ClientTurn:
    """Ask as OpenAI's client of chats does."""
    first = [{"role": "system", "content": system}] if system else []
    fields: Any = {"model": "m", "messages": [*first, *said], "tools": tools, "max_tokens": MOST}
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        if streamed:
            counted: Any = {"stream_options": {"include_usage": True}}
            with client.chat.completions.stream(**fields, **counted) as stream:
                completion: Any = stream.until_done().get_final_completion()
        else:
            completion = client.chat.completions.create(**fields)
    (choice,) = completion.choices
    message, calls = choice.message, choice.message.tool_calls or ()
    return ClientTurn(
        choice.finish_reason,
        getattr(message, "reasoning_content", None) or "",
        message.content or "",
        [(call.function.name, json.loads(call.function.arguments)) for call in calls],
        [call.id for call in calls],
        [message.model_dump()],
        completion.usage,
    )


def chat_results(ids: Sequence[str], texts: Sequence[str]) -> list[Any]:
    """Return the results of calls as OpenAI's chats have them."""
    return [
        {"role": "tool", "tool_call_id": name, "content": text}
        for name, text in zip(ids, texts, strict=True)
    ]


def ask_messages(
    url: str, said: Sequence[Any], tools: Sequence[Any], system: str = "", *, streamed: bool
) -> ClientTurn:
    """Ask as Anthropic's client does."""
    functions = [tool["function"] for tool in tools]
    own = [
        {{"parameters": "input_schema"}.get(name, name): field for name, field in function.items()}
        for function in functions
    ]
    fields: Any = {"max_tokens": MOST, "tools": own, "model": "m", "messages": said}
    if system:
        cached = {"cache_control": {"type": "ephemeral"}}
        fields["system"] = [{"type": "text", "text": system, **cached}]
    with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client:
        if streamed:
            with client.messages.stream(**fields) as stream:
                message: Any = stream.get_final_message()
        else:
            message = client.messages.create(**fields)
    blocks = message.content
    calls = [block for block in blocks if block.type == "tool_use"]
    return ClientTurn(
        message.stop_reason,
        "".join(block.thinking for block in blocks if block.type == "thinking"),
        "".join(block.text for block in blocks if block.type == "text"),
        [(call.name, call.input) for call in calls],
        [call.id for call in calls],
        [{"role": "assistant", "content": [block.model_dump() for block in blocks]}],
        message.usage,
    )


def messages_results(ids: Sequence[str], texts: Sequence[str]) -> list[Any]:
    """Return the results of calls as Anthropic's messages have them."""
    blocks = [
        {"type": "tool_result", "tool_use_id": name, "content": [{"type": "text", "text": text}]}
        for name, text in zip(ids, texts, strict=True)
    ]
    return [{"role": "user", "content": blocks}]


def ask_responses(
    url: str, said: Sequence[Any], tools: Sequence[Any], system: str = "", *, streamed: bool
) -> ClientTurn:
    """Ask as OpenAI's client of responses does."""
    own = [{"type": "function", **tool["function"], "strict": False} for tool in tools]
    fields: Any = {"model": "m", "input": said, "tools": own, "max_output_tokens": MOST}
    if system:
        fields["instructions"] = system
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        if streamed:
            with client.responses.stream(**fields) as stream:
                response: Any = stream.until_done().get_final_response()
        else:
            response = client.responses.create(**fields)
    items = response.output
    texts = [part.text for item in items if item.type == "message" for part in item.content]
    assert "".join(texts) == response.output_text
    calls = [item for item in items if item.type == "function_call"]
    return ClientTurn(
        response.status,
        "".join(item.content[0].text for item in items if item.type == "reasoning"),
        response.output_text,
        [(call.name, json.loads(call.arguments)) for call in calls],
        [call.call_id for call in calls],
        [item.model_dump(exclude_none=True) for item in items],
        response.usage,
    )


def responses_results(ids: Sequence[str], texts: Sequence[str]) -> list[Any]:
    """Return the results of calls as OpenAI's responses have them."""
    return [
        {"type": "function_call_output", "call_id": name, "output": text}
        for name, text in zip(ids, texts, strict=True)
    ]


@dataclass(frozen=True)
class ClientApi:
    """One API of an official client."""

    name: str
    ask: Ask
    results: Callable[[Sequence[str], Sequence[str]], list[Any]]
    called: str
    """Why an answer with calls has ended."""
    ended: str
    """Why an answer without calls has ended."""


CHAT = ClientApi("OpenAI, chats", ask_chat, chat_results, "tool_calls", "stop")
MESSAGES = ClientApi("Anthropic", ask_messages, messages_results, "tool_use", "end_turn")
RESPONSES = ClientApi(
    "OpenAI, responses", ask_responses, responses_results, "completed", "completed"
)
APIS = (CHAT, MESSAGES, RESPONSES)

TURNS: Sequence[Mapping[str, Any]] = (
    {"content": "Let me see.", "calls": ["get_weather", "Search-Web_2"]},
    {"content": "It is <b>sunny</b> in 日本.", "calls": []},
    {"content": "", "calls": ["list_rooms"]},
    {"content": "Two rooms.", "calls": []},
)
THOUGHT = "I must look."
BEHIND = 150
"""Tokens that a prompt may have behind its last message."""


def prompt_tokens(usage: Any) -> int:
    """Return how many tokens a prompt had, by the words of each API."""
    found = usage.model_dump()
    if "prompt_tokens" in found:
        return int(found["prompt_tokens"])
    return int(found["input_tokens"]) + int(found.get("cache_read_input_tokens") or 0)


@dataclass(frozen=True)
class Loop:
    """One conversation of a client with a maker's model."""

    api: ClientApi
    analysis: Analysis
    parrot: Parrot
    maker: Mapping[str, Any]
    thinking: str

    def played(self, url: str, *, streamed: bool) -> Iterator[str]:
        """Play it, and yield the fault of each turn, or empty; stop at the first wrong one."""
        dialogue: list[Any] = []
        said: list[Any] = []
        waiting: list[tuple[str, str]] = []
        for kind in self.turns():
            script = script_of(self.maker, self.thinking, kind, THOUGHT)
            assert script is not None
            entries = self._asking(script, tuple(dialogue), waiting)
            dialogue += entries
            texts = [entry.text for entry in entries]
            if waiting:
                said += self.api.results([name for name, _ in waiting], texts)
            else:
                said += [{"role": "user", "content": text} for text in texts]
            try:
                turn = self.api.ask(url, said, TOOLS, streamed=streamed)
            except (openai.OpenAIError, anthropic.AnthropicError) as error:
                yield f"{type(error).__name__}: {error}"
                return
            calls = [(name, dict(TABLE["calls"][name])) for name in kind["calls"]]
            thought = THOUGHT if self.thinking == "on" else ""
            ended = self.api.called if calls else self.api.ended
            meant = (ended, thought, kind["content"], calls)
            got = (turn.ended, turn.reasoning, turn.content, turn.calls)
            prompt = self._prompt(tuple(dialogue))
            tokens = len(self.parrot.tokenizer.encode(prompt).ids)
            wrong = "" if got == meant else f"truth {meant}\n  got   {got}\n  "
            if tokens != prompt_tokens(turn.usage):
                wrong += f"{prompt_tokens(turn.usage)} tokens of a prompt, not {tokens}"
            yield wrong
            if wrong:
                return
            named = zip(calls, turn.ids, strict=True)
            made = tuple(ToolCall(name, arguments, id_) for (name, arguments), id_ in named)
            refused = thought and made and self.maker.get("refuses") == "content"
            dialogue.append(Message("" if refused else kind["content"], thought, made))
            said += turn.said
            waiting = [(call.id, call.name) for call in made]

    def turns(self) -> Iterator[Mapping[str, Any]]:
        """Return its turns, with as many calls as the model writes in one."""
        most = self.maker.get("most", 2)
        return ({**kind, "calls": kind["calls"][:most]} for kind in TURNS)

    def _asking(
        self, script: str, dialogue: Dialogue, waiting: Sequence[tuple[str, str]]
    ) -> list[UserMessage | ToolResult]:
        """Return the messages before an answer, so that the parrot writes the script."""

        def entries(text: str) -> list[UserMessage | ToolResult]:
            if not waiting:
                return [UserMessage(text)]
            texts = ["7 degrees, rain"] * (len(waiting) - 1) + [text]
            named = zip(texts, waiting, strict=True)
            return [ToolResult(result, name, id_) for result, (id_, name) in named]

        def prompt_of(text: str) -> str:
            return self._prompt((*dialogue, *entries(text)))

        return entries(self.parrot.padded_message(script, prompt_of))

    def _prompt(self, dialogue: Dialogue) -> str:
        shape = self.analysis.shape
        tools = [shape.tool(tool["function"]) for tool in TOOLS]
        setting = self.maker[self.thinking]
        return self.analysis.rendering.render(
            shape.messages(dialogue), tools, add_generation_prompt=True, **setting
        )


def _parrot_of(analysis: Analysis, maker: Mapping[str, Any]) -> Parrot:
    """Make the parrot with the smallest lag: behind 4,400 tokens llama.cpp's cache blurs places."""
    made = parrot_of([analysis], TOOLS, [*dict.fromkeys(maker["ends"].values())])
    scripts = [script_of(maker, "on", kind, THOUGHT) for kind in TURNS]
    longest = max(len(made.tokenizer.encode(script).ids) for script in scripts if script)
    return replace(made, lag=longest + BEHIND)


def main() -> None:
    """Play the loops of a maker, and print what differs and how many turns are right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("maker", choices=TABLE["makers"])
    options = parser.parse_args()
    maker = TABLE["makers"][options.maker]
    analysis = made_by(maker)
    parrot = _parrot_of(analysis, maker)
    every = 0
    with tempfile.TemporaryDirectory() as name, running_llama(parrot, Path(name)) as llama:
        rights = dict.fromkeys((api.name for api in APIS), 0)
        for thinking in ("on", "off"):
            if maker[thinking] is None or thinking not in maker["thought"]:
                continue
            preparer = ChatPreparer(analysis, switches=maker[thinking])
            with running_serve(preparer, llama.url) as url:
                for api, streamed in product(APIS, (False, True)):
                    loop = Loop(api, analysis, parrot, maker, thinking)
                    found = list(loop.played(url, streamed=streamed))
                    rights[api.name] += found.count("")
                    mode = "streamed" if streamed else "whole"
                    for at, wrong in enumerate(found):
                        if wrong:
                            row = f"{api.name}, reasoning {thinking}, {mode}, turn {at + 1}"
                            sys.stdout.write(f"{row}\n  {wrong}\n")
                every += 2 * len(TURNS)
    counts = ", ".join(f"{name} {right} of {every}" for name, right in rights.items())
    sys.stdout.write(f"{options.maker}: {counts}\n")
    sys.exit(any(right != every for right in rights.values()))


if __name__ == "__main__":
    main()
