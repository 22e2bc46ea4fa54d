"""Parsers with the faces of SGLang's: good ones, and each kind of bad one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from tests.analysis.engines.tag_reading import Calls, careful, quick


def raising(text: str) -> tuple[str, Calls]:
    raise ValueError(f"no idea what {text[:5]} is")


def looping(text: str) -> tuple[str, Calls]:
    while text:
        pass
    return text, []


def sleeping(text: str) -> tuple[str, Calls]:
    time.sleep(float(os.environ.get("FAKE_SLEEP", "60")))
    return careful(text)


def dying(text: str) -> tuple[str, Calls]:
    print(f"whatever it prints of {text[:5]} is not an answer", flush=True)  # noqa: T201
    os._exit(3)


class FunctionCallParser:
    ToolCallParserEnum: dict[str, Callable[[str], tuple[str, Calls]]] = {  # noqa: RUF012
        "blind": lambda text: (text, []),
        "careful": careful,
        "dying": dying,
        "echo": lambda text: (text, []),
        "looping": looping,
        "quick": quick,
        "quick_too": quick,
        "raising": raising,
        "sleeping": sleeping,
    }

    def __init__(self, tools: Any, name: str, tokenizer: Any = None, tool_choice: Any = None):
        del tools, tokenizer, tool_choice
        if name in os.environ.get("FAKE_WITHOUT", "").split():
            raise ValueError(f"{name} is not here")
        self.detector = SimpleNamespace(eot_token="<end>" if name == "echo" else "")
        self._read = self.ToolCallParserEnum[name]
        self._held = ""

    def has_tool_call(self, text: str) -> bool:
        return "<tool_call>" in text

    def parse_non_stream(self, text: str) -> tuple[str, list[Any]]:
        content, calls = self._read(text)
        return content, [
            SimpleNamespace(tool_index=at, name=name, parameters=given)
            for at, (name, given) in enumerate(calls)
        ]

    def parse_stream_chunk(self, text: str) -> tuple[str, list[Any]]:
        self._held += text
        return "", []

    def parse_stream_end(self) -> tuple[str, list[Any]]:
        return self.parse_non_stream(self._held)
