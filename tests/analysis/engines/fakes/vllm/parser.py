"""A manager with the face of vLLM's; its parsers look at tokens, as some of vLLM's do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.analysis.engines.tag_reading import careful, thoughts


class Parser:
    tool: str | None
    reasoning: str | None

    def __init__(self, tokenizer: Any, tools: Any, *, chat_template_kwargs: Any) -> None:
        del tools, chat_template_kwargs
        self._tokenizer = tokenizer
        self._marker = tokenizer.get_vocab().get("<tool_call>")
        self._held = ""

    def adjust_request(self, request: Any) -> Any:
        return request

    def set_prompt_token_ids(self, ids: list[int]) -> None:
        assert self._tokenizer.decode(ids).endswith(("assistant\n", "</think>\n\n"))

    def parse(
        self, text: str, request: Any, auto: bool, ids: list[int]
    ) -> tuple[str, str, list[Any]]:
        del request
        assert auto
        thought, rest = thoughts(text) if self.reasoning else ("", text)
        called = self.tool and self._marker in ids
        content, calls = careful(rest) if called else (rest, [])
        return thought, content, [SimpleNamespace(name=one, arguments=two) for one, two in calls]

    def parse_delta(
        self, text: str, ids: list[int], request: Any, prompt: list[int], *, finished: bool
    ) -> Any:
        del prompt
        assert self._tokenizer.decode(ids) == text or finished
        self._held += text
        if not finished:
            return None
        all_ids = self._tokenizer.encode(self._held)
        thought, content, calls = self.parse(self._held, request, True, all_ids)
        deltas = [SimpleNamespace(index=at, function=call) for at, call in enumerate(calls)]
        return SimpleNamespace(reasoning=thought, content=content, tool_calls=deltas)


class ParserManager:
    @staticmethod
    def get_parser(
        *,
        tool_parser_name: str | None,
        reasoning_parser_name: str | None,
        enable_auto_tools: bool,
        tokenizer: Any,
    ) -> type[Parser]:
        del tokenizer
        assert enable_auto_tools
        if tool_parser_name == "particular":
            raise ImportError("something is not installed")
        names = {"tool": tool_parser_name, "reasoning": reasoning_parser_name}
        return type("Made", (Parser,), names)
