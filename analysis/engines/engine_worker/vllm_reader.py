"""vLLM's parsers, put together by its own manager as its server does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from .asked_engine import STEPS, USER, Reading, message
from .marker_tokens import LookedUpTokens


class Vllm:
    """vLLM's parsers, put together by its own manager as its server does."""

    name = "vllm"
    steps = STEPS

    def __init__(self) -> None:
        self._protocol = import_module("vllm.entrypoints.openai.chat_completion.protocol")
        self._manager = import_module("vllm.parser").ParserManager
        self._tools: Sequence[Any] = ()

    def parsers(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the registered names."""
        tools = import_module("vllm.tool_parsers").ToolParserManager
        reasoning = import_module("vllm.reasoning").ReasoningParserManager
        return tools.list_registered(), reasoning.list_registered()

    def load(self, loaded: Mapping[str, Any]) -> Reading | None:
        """Take the tools; vLLM has no `auto`."""
        self._tools = loaded["tools"]
        return None

    def left_out(self, loaded: Mapping[str, Any]) -> Mapping[int, str]:
        """Return nothing: any text can be given to a parser."""
        del loaded
        return {}

    def reader(
        self, tool: str | None, reasoning: str | None
    ) -> Callable[[Mapping[str, Any], int], Reading]:
        """Make the parser of each answer anew, since it has a state."""
        tokenizer = LookedUpTokens()
        served = None
        if tool or reasoning:
            served = self._manager.get_parser(
                tool_parser_name=tool,
                reasoning_parser_name=reasoning,
                enable_auto_tools=True,
                tokenizer=tokenizer,
            )

        def read(asked: Mapping[str, Any], step: int) -> Reading:
            text, setting = asked["text"], dict(asked["setting"])
            if served is None:
                return message(None, text, [])
            tools = list(self._tools) if asked["tools"] else None
            request = self._protocol.ChatCompletionRequest(
                model="m", messages=[USER], tools=tools, chat_template_kwargs=setting
            )
            parser = served(tokenizer, request.tools, chat_template_kwargs=setting)
            request = parser.adjust_request(request) or request
            prompt = tokenizer.encode(asked["prompt"])
            if step:
                return streamed(parser, request, prompt, text, step)
            parser.set_prompt_token_ids(prompt)
            ids = [*tokenizer.encode(text), tokenizer.eos_token_id]
            thought, said, calls = parser.parse(text, request, True, ids)
            return message(thought, said, [(each.name, each.arguments) for each in calls or ()])

        def streamed(parser: Any, request: Any, prompt: Any, text: str, step: int) -> Reading:
            thought = said = ""
            calls: dict[int, list[str]] = {}
            ids = tokenizer.encode(text)
            deltas = [ids[at : at + step] for at in range(0, len(ids), step)]
            for at, given in enumerate([*deltas, [tokenizer.eos_token_id]]):
                last = at == len(deltas)
                piece = "" if last else tokenizer.decode(given)
                delta = parser.parse_delta(piece, given, request, prompt, finished=last)
                if delta is None:
                    continue
                thought += delta.reasoning or ""
                said += delta.content or ""
                for each in delta.tool_calls or ():
                    call = calls.setdefault(each.index, ["", ""])
                    call[0] += (each.function and each.function.name) or ""
                    call[1] += (each.function and each.function.arguments) or ""
            return message(thought, said, [(name, given) for name, given in calls.values()])

        return read
