"""The parsers compared in the parsing benchmark: this project's, and its peers'.

A peer that is not installed is skipped with a message: ResponseParser of transformers, the parsers
of SGLang and vLLM, and openai-harmony for gpt-oss. For SGLang and vLLM, `pip install --no-deps` and
the packages that their parsers import are enough; openai-harmony loads its vocabulary, which the
package tml-renderers also has.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from autoparser import Analysis, ChatTemplate, analyze
from tests.benchmarks.measuring import corpus
from tests.case_tables import load_cases
from tests.offers import tool

Feed: TypeAlias = Callable[[str], object]
Start: TypeAlias = Callable[[], Feed]
"""Makes the parser of one request, whose tools are known, and begins an answer."""
Tools: TypeAlias = Sequence[dict[str, Any]]

SENTENCE = "The user wants the weather in Oslo, so I call the tool."
PROPERTIES: Mapping[str, object] = load_cases(__file__, "parser_peers.yaml")["properties"]


def tools(count: int, run: int = 0) -> list[dict[str, Any]]:
    """Return tools; except for the first one, each run has other names."""
    return [
        tool(f"get_weather_{run}_{at}" if at else "get_weather", PROPERTIES) for at in range(count)
    ]


@dataclass(frozen=True)
class ModelFormat:
    """The format of a model, an answer in it, and which parsers of engines read it."""

    name: str
    template: str
    """The model's template in the corpus."""
    before: str
    """The text before the arguments of a call."""
    entries: tuple[str, str, str]
    """The texts around the city and around the days."""
    after: str
    sglang: tuple[str, str, str]
    """SGLang's detectors: of reasoning, and the module and name of the one of calls."""
    vllm: tuple[str, str | None]
    """vLLM's names of the parsers: of calls, and of reasoning."""
    thinks: tuple[str, str] = ("", "\n\n")
    """The texts around reasoning, or around content for a model that writes none."""

    @property
    def call(self) -> str:
        """A call with two short arguments."""
        city, days, end = self.entries
        return f"{self.before}{city}Oslo{days}3{end}{self.after}"

    @property
    def answer(self) -> str:
        """A short answer: one sentence of reasoning, and a call."""
        opening, close = self.thinks
        return f"{opening}{SENTENCE}{close}{self.call}"

    def long_call(self, words: str, size: int) -> str:
        """Return a call whose city is a text of `size` characters of these words."""
        city, days, end = self.entries
        text = (words * (size // len(words) + 1))[:size]
        text = json.dumps(text)[1:-1] if self.is_json else text
        return f"{self.before}{city}{text}{days}3{end}{self.after}"

    @property
    def is_json(self) -> bool:
        """Whether arguments are JSON."""
        return self.entries[0].endswith('"')


FORMATS = msgspec.convert(
    load_cases(__file__, "parser_peers.yaml")["formats"], tuple[ModelFormat, ...]
)
QWEN3, CODER, GPT_OSS, *_ = FORMATS

_ANALYSES: dict[str, Analysis] = {}


def analysis_of(model: ModelFormat) -> Analysis:
    """Analyze a model's template, once."""
    if model.template not in _ANALYSES:
        text = corpus()[model.template].read_text(encoding="utf-8")
        _ANALYSES[model.template] = analyze(ChatTemplate(text, name=model.template))
    return _ANALYSES[model.template]


def own(model: ModelFormat, offered: Tools) -> Start:
    """Make this project's parser for each request."""
    analysis = analysis_of(model)
    return lambda: analysis.parser(offered).stream().feed


def own_kept(model: ModelFormat, offered: Tools) -> Start:
    """Make this project's parser once."""
    parser = analysis_of(model).parser(offered)
    return lambda: parser.stream().feed


def transformers_start(model: ModelFormat, offered: Tools) -> Start:
    """Make transformers' parser; arguments in tags come without a parser of theirs."""
    del offered
    parsing = importlib.import_module("transformers.utils.chat_parsing")
    if model not in (QWEN3, CODER):
        raise LookupError("no response template is known")
    calls = {"open": "<tool_call>\n", "close": "\n</tool_call>", "repeats": True}
    template: dict[str, Any] = {
        "defaults": {"role": "assistant"},
        "start_anchor": "<|im_start|>assistant\n",
        "fields": {
            "thinking": {"open": "<think>\n", "close": "\n</think>\n\n"},
            "tool_calls": {**calls, "content": "json" if model.is_json else "text"},
            "content": {"close": "<|im_end|>"},
        },
    }
    return lambda: parsing.ResponseParser(template, prefix="<|im_start|>assistant\n").feed


def sglang_start(model: ModelFormat, offered: Tools) -> Start:
    """Make SGLang's parsers, the ones that its users choose for a model."""
    thinking, module, name = model.sglang
    reasons = importlib.import_module("sglang.srt.parser.reasoning_parser")
    protocol = importlib.import_module("sglang.srt.entrypoints.openai.protocol")
    calls = getattr(importlib.import_module(f"sglang.srt.function_call.{module}"), name)
    known = [protocol.Tool(**tool) for tool in offered]

    def start() -> Feed:
        read_calls = partial(calls().parse_streaming_increment, tools=known)
        if not thinking:
            return read_calls
        detector = getattr(reasons, thinking)(force_reasoning=not model.thinks[0])
        read_reasoning = detector.parse_streaming_increment

        def feed(chunk: str) -> object:
            found = read_reasoning(chunk)
            return read_calls(found.normal_text) if found.normal_text else found

        return feed

    return start


def vllm_start(model: ModelFormat, offered: Tools) -> Start:
    """Make vLLM's parsers as its server does; what ids a chunk has is looked up, not measured."""
    manager = importlib.import_module("vllm.parser").ParserManager
    protocol = importlib.import_module("vllm.entrypoints.openai.chat_completion.protocol")
    tokens = importlib.import_module("autoparser.analysis.engines.engine_worker.__main__")
    tokenizer = tokens.LookedUpTokens()
    calls, thinking = model.vllm
    served = manager.get_parser(
        tool_parser_name=calls,
        reasoning_parser_name=thinking,
        enable_auto_tools=True,
        tokenizer=tokenizer,
    )
    messages = [{"role": "user", "content": "Hello."}]
    prompt = tokenizer.encode("<|im_start|>assistant\n")
    known: dict[str, Any] = {}
    request = protocol.ChatCompletionRequest(model="m", messages=messages, tools=offered)

    def start() -> Feed:
        parser = served(tokenizer, request.tools)
        asked = parser.adjust_request(request) or request

        def feed(chunk: str) -> object:
            if chunk not in known:
                known[chunk] = tokenizer.encode(chunk)
            return parser.parse_delta(chunk, known[chunk], asked, prompt, finished=False)

        return feed

    return start


@cache
def _harmony_encoding() -> Any:
    """Load the vocabulary of gpt-oss, from an installed package if there is one."""
    found = find_spec("tml_renderers")
    if found is not None and found.origin is not None:
        folder = Path(found.origin).parent / "data"
        os.environ.setdefault("TIKTOKEN_ENCODINGS_BASE", str(folder))
    harmony = importlib.import_module("openai_harmony")
    return harmony.load_harmony_encoding(harmony.HarmonyEncodingName.HARMONY_GPT_OSS)


def harmony_start(model: ModelFormat, offered: Tools) -> Start:
    """Make OpenAI's parser of tokens: those that end in a chunk are read, encoding not measured."""
    del offered
    if model is not GPT_OSS:
        raise LookupError("harmony alone")
    harmony, encoding = importlib.import_module("openai_harmony"), _harmony_encoding()
    ids: list[int] = encoding.encode(model.answer, allowed_special="all")
    ends = [*accumulate(len(encoding.decode([token])) for token in ids)]

    def start() -> Feed:
        parser = harmony.StreamableParser(encoding, harmony.Role.ASSISTANT)
        read = count = 0

        def feed(chunk: str) -> object:
            nonlocal read, count
            read += len(chunk)
            found: list[object] = []
            while count < len(ids) and ends[count] <= read:
                parser.process(ids[count])
                found.append(parser.last_content_delta)
                count += 1
            return found

        return feed

    return start


PEERS: Mapping[str, Callable[[ModelFormat, Tools], Start]] = {
    "autoparser": own,
    "kept": own_kept,
    "transformers": transformers_start,
    "SGLang": sglang_start,
    "vLLM": vllm_start,
    "harmony": harmony_start,
}
