"""Parse with an export in an engine's own Python, as JSON lines on standard input and output.

    python response_template_worker.py vllm

`{"load": DOCUMENT, "tools": TOOLS}` loads a `response_template` as the engine does at start, and is
answered with `{}`, or with `{"error": WHY}` if the engine refuses it. `{"prefix": PROMPT, "text":
TEXT, "step": N}` parses an output after a prompt, N characters at a time, or whole if N is 0, and
is answered with `{"message": MESSAGE}` or an error. Besides the standard library and the engine, it
imports only the package's program for engines' Pythons, which needs no other part of the package.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2] / "analysis" / "engines"))
worker: Any = import_module("engine_worker.__main__")

Read = Callable[[str, str, int], Mapping[str, Any]]
Load = Callable[[Mapping[str, Any], Sequence[Any]], Read]


def pieces(text: str, step: int) -> Iterator[str]:
    """Cut a text as it comes in a stream."""
    for at in range(0, len(text), step):
        yield text[at : at + step]


class CodePoints:
    """A tokenizer whose tokens are characters, as far as vLLM's parser asks one."""

    def get_vocab(self) -> dict[str, int]:
        """A vocabulary without tokens: the parser looks up the tokens of markers."""
        return {}

    def encode(self, text: str, **_: object) -> list[int]:
        """Return the characters' numbers."""
        return [ord(char) for char in text]

    def decode(self, token_ids: Sequence[int], **_: object) -> str:
        """Return the text of numbers."""
        return "".join(map(chr, token_ids))


def vllm(document: Mapping[str, Any], tools: Sequence[Any]) -> Read:
    """Read as `--tool-call-parser hf --reasoning-parser hf` does."""
    module = import_module("vllm.parser.response_template")
    protocol = import_module("vllm.entrypoints.openai.chat_completion.protocol")
    fields = module.validate_response_template_for_serving(document).fields
    request = protocol.ChatCompletionRequest(
        model="m", messages=[{"role": "user", "content": "Hi."}], tools=list(tools)
    )
    # The server rejects the flag at start-up if the document lacks the flag's field.
    unified = module.ResponseTemplateParser
    given = {
        "reasoning_parser_cls": unified.reasoning_parser_cls if "thinking" in fields else None,
        "tool_parser_cls": unified.tool_parser_cls if "tool_calls" in fields else None,
    }
    served = type("Served", (unified,), given)
    tokenizer = CodePoints()

    def read(prefix: str, text: str, step: int) -> Mapping[str, Any]:
        parser = served(
            tokenizer, request.tools, response_template=document, enable_auto_tools=True
        )
        parser.set_prompt_token_ids(tokenizer.encode(prefix))
        if not step:
            reasoning, content, found = parser.parse(text, request, enable_auto_tools=True)
            calls = [[call.name, call.arguments] for call in found or ()]
            return message({"reasoning": reasoning, "content": content, "calls": calls})
        return message(
            worker.joined_vllm_deltas(
                *(
                    parser.parse_delta(piece, tokenizer.encode(piece), request, finished=not piece)
                    for piece in (*pieces(text, step), "")
                )
            )
        )

    return read


def sglang(document: Mapping[str, Any], tools: Sequence[Any]) -> Read:
    """Read as `--tool-call-parser response_template --reasoning-parser response_template` does.

    What the one parser takes for content and calls is read by the other.
    """
    module = import_module("sglang.srt.parser.response_template")
    reasoning = import_module("sglang.srt.parser.reasoning_parser").ReasoningParser
    calling = import_module("sglang.srt.function_call.function_call_parser").FunctionCallParser
    tool = import_module("sglang.srt.entrypoints.openai.protocol").Tool
    fields = module.validate_response_template_for_serving(document).fields
    offered = [tool.model_validate(given) for given in tools]

    class Tokenizer:
        response_template = document

    def read(prefix: str, text: str, step: int) -> Mapping[str, Any]:
        name = "response_template"
        thinks = reasoning(name, tokenizer=Tokenizer(), prefix=prefix)
        calls = None
        if "tool_calls" in fields:
            calls = calling(offered, name, tokenizer=Tokenizer(), prefix=prefix)
        if step:
            return message(worker.read_streamed(thinks, calls, pieces(text, step)))
        return message(worker.read_whole(thinks, calls, text))

    return read


def message(reading: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message as transformers' parser would; absent parts are left out."""
    called = [
        {"type": "function", "function": {"name": name, "arguments": json.loads(given)}}
        for name, given in reading["calls"]
    ]
    parts = {"thinking": reading["reasoning"], "content": reading["content"], "tool_calls": called}
    return {name: part for name, part in parts.items() if part}


ENGINES: Mapping[str, Load] = {"vllm": vllm, "sglang": sglang}


def main() -> None:
    """Answer until nothing more comes."""
    logging.disable(logging.CRITICAL)
    answers, sys.stdout = sys.stdout, sys.stderr
    load = ENGINES[sys.argv[1]]
    read: Read | None = None
    for line in sys.stdin:
        asked = json.loads(line)
        answer: dict[str, Any] = {}
        try:
            if "load" in asked:
                read = load(asked["load"], asked["tools"])
            elif read is not None:
                answer["message"] = read(asked["prefix"], asked["text"], asked["step"])
        except Exception as error:  # noqa: BLE001 - whatever an engine raises is its answer
            answer["error"] = repr(error)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
