"""Measure the cost of parsing: `python -m tests.benchmarks.parse`.

A text of 4k and one of 64k characters are streamed in chunks of 4 characters; the time of each
chunk is taken. All figures of one table come from one run on one machine; ratios can be compared
between machines, microseconds cannot. Nothing is written to a file.

Of the kinds of text the last three are content that is dense in signs which could begin a marker.

`growth` is the mean at 64k over that at 4k, `ratio` the median at 64k over ours.

`--short` measures 4k alone. `--beside CHECKOUT` measures 64k with another checkout of this project,
with this one and with transformers' parser, by turns: process time of whole streams, so that it
holds on a machine that others use too.

The peers are optional, and are skipped visibly: ResponseParser of transformers, vLLM's parsers from
an installed vLLM, and SGLang's parsers, from an installed SGLang or, where there is none, from the
copy that the package llm-router-utils holds: `pip install '.[benchmark]'`, in an environment of its
own, since that package asks for another transformers than the tests. It also asks for an xgrammar,
and through it for torch, neither of which its parsers need: `pip install --no-deps
llm-router-utils` and what its import then asks for is enough.
"""

from __future__ import annotations

import gc
import importlib
import json
import logging
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter, perf_counter_ns, process_time_ns
from typing import Any, NamedTuple, TypeAlias

from autoparser import ChatTemplate
from autoparser.analysis.analysis import Analysis, analyze

TEMPLATES = Path(__file__).parents[2] / "fixtures" / "templates"
CHUNK = 4
SHORT, LONG = 4_000, 64_000
RUNS = 3
WORDS = "The quick brown fox jumps over the lazy dog and does not look back. "

Feed: TypeAlias = Callable[[str], object]
Start: TypeAlias = Callable[[], Feed]
"""Makes a fresh parser of one stream."""

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": f"write_{at}",
            "description": "Writes.",
            "parameters": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "count": {"type": "integer"},
                    "labels": {"type": "array", "items": {"type": "string"}},
                },
            },
        },
    }
    for at in range(10)
]


class Stream(NamedTuple):
    """A kind of text, and where its long part stands."""

    name: str
    before: str
    after: str
    words: str = WORDS

    def text(self, size: int) -> str:
        prose = (self.words * (size // len(self.words) + 1))[:size]
        return f"{self.before}{prose}{self.after}"


REASONING = Stream("reasoning", "<think>\n", "\n</think>\n\n")
CONTENT = Stream("content", "", "")
JSON = Stream(
    "JSON arguments",
    '<tool_call>\n{"name": "write_0", "arguments": {"text": "',
    '"}}\n</tool_call>',
)
TAGGED = Stream(
    "tagged arguments",
    "<tool_call>\n<function=write_0>\n<parameter=text>\n",
    "\n</parameter>\n</function>\n</tool_call>",
)
BACKTICKS = Stream("backticks", "", "", "Use `foo` and `bar()` or `x.y` with `z`, then `a`. ")
FENCES = Stream("fences", "", "", "Try:\n```python\nx = 1\nprint(x)\n```\nand\n```\nls\n```\n")
TAGS = Stream("tags", "", "", "if a < b and <b>c</b> <d x='1'/> then a<b<c. ")
STREAMS = (REASONING, CONTENT, JSON, TAGGED, BACKTICKS, FENCES, TAGS)


class Cost(NamedTuple):
    """Microseconds a delta."""

    median: float
    mean: float
    most: float


def cost_of(start: Start, text: str) -> Cost:
    """Stream a text some times; each chunk counts with its quickest time."""
    chunks = [text[at : at + CHUNK] for at in range(0, len(text), CHUNK)]
    best = [float("inf")] * len(chunks)
    for _ in range(RUNS):
        feed = start()
        gc.collect()
        gc.disable()
        try:
            for at, chunk in enumerate(chunks):
                begun = perf_counter_ns()
                feed(chunk)
                best[at] = min(best[at], perf_counter_ns() - begun)
        finally:
            gc.enable()
    times = [each / 1e3 for each in best]
    return Cost(statistics.median(times), statistics.fmean(times), max(times))


def analysis_of(name: str) -> Analysis:
    return analyze(ChatTemplate((TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8")))


def own(kind: Stream) -> Start:
    """Make parsers of this project."""
    if kind is TAGGED:
        analysis = analysis_of("a1-function-parameter")
        parser = analysis.parser(TOOLS, prompt=analysis.format.header)
    else:
        parser = analysis_of("j1-json-in-tags").parser(TOOLS)
    return lambda: parser.stream().feed


RESPONSE_TEMPLATE: dict[str, Any] = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "thinking": {"open": "<think>\n", "close": "\n</think>\n\n"},
        "tool_calls": {
            "open": "<tool_call>\n",
            "close": "\n</tool_call>",
            "content": "json",
            "repeats": True,
        },
        "content": {"close": "<|im_end|>"},
    },
}


def transformers_start(kind: Stream) -> Start:
    """Make parsers of transformers; tagged arguments come without a parser of theirs."""
    parsing = importlib.import_module("transformers.utils.chat_parsing")
    template = {**RESPONSE_TEMPLATE, "fields": dict(RESPONSE_TEMPLATE["fields"])}
    if kind is TAGGED:
        template["fields"]["tool_calls"] = {
            **template["fields"]["tool_calls"],
            "content": "text",
        }

    def start() -> Feed:
        feed: Feed = parsing.ResponseParser(template, prefix="<|im_start|>assistant\n").feed
        return feed

    return start


SGLANG = ("sglang.srt", "llm_router_utils.sglang.srt")
"""Where SGLang's parsers may be: its own package, and a copy."""


def _importable(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ImportError:
        return False


def sglang_start(kind: Stream) -> Start:
    """Make SGLang's parsers, the ones that its users choose for these formats."""
    root = next(filter(_importable, SGLANG), SGLANG[-1])
    if kind is REASONING:
        reasoning = importlib.import_module(f"{root}.parser.reasoning_parser")

        def thinks() -> Feed:
            feed: Feed = reasoning.Qwen3Detector(stream_reasoning=True).parse_streaming_increment
            return feed

        return thinks
    protocol = importlib.import_module(f"{root}.entrypoints.openai.protocol")
    name, module = (
        ("Qwen3CoderDetector", "qwen3_coder")
        if kind is TAGGED
        else (
            "Qwen25Detector",
            "qwen25",
        )
    )
    detectors = importlib.import_module(f"{root}.function_call.{module}_detector")
    tools = [protocol.Tool(**tool) for tool in TOOLS]

    def calls() -> Feed:
        detector = getattr(detectors, name)()
        return lambda chunk: detector.parse_streaming_increment(chunk, tools)

    return calls


def vllm_start(kind: Stream) -> Start:
    """Make vLLM's parsers as its server does; what ids a chunk has is looked up, not measured."""
    manager = importlib.import_module("vllm.parser").ParserManager
    protocol = importlib.import_module("vllm.entrypoints.openai.chat_completion.protocol")
    tokens = importlib.import_module("autoparser.analysis.engines.engine_worker.__main__")
    tokenizer = tokens.LookedUpTokens()
    served = manager.get_parser(
        tool_parser_name="qwen3_coder" if kind is TAGGED else "hermes",
        reasoning_parser_name="qwen3" if kind is REASONING else None,
        enable_auto_tools=True,
        tokenizer=tokenizer,
    )
    messages = [{"role": "user", "content": "Hello."}]
    prompt = tokenizer.encode("<|im_start|>assistant\n")
    known: dict[str, Any] = {}

    def start() -> Feed:
        request = protocol.ChatCompletionRequest(model="m", messages=messages, tools=TOOLS)
        parser = served(tokenizer, request.tools)
        request = parser.adjust_request(request) or request

        def feed(chunk: str) -> object:
            if chunk not in known:
                known[chunk] = tokenizer.encode(chunk)
            return parser.parse_delta(chunk, known[chunk], request, prompt, finished=False)

        return feed

    return start


PEERS: tuple[tuple[str, Callable[[Stream], Start], str], ...] = (
    ("autoparser", own, ""),
    ("transformers ResponseParser", transformers_start, "transformers"),
    ("SGLang", sglang_start, "sglang"),
    ("vLLM", vllm_start, "vllm"),
)


def rows(kind: Stream) -> list[str]:
    """Measure one kind of text with every parser that is there."""
    lines: list[str] = []
    own_median: float | None = None
    for name, make, package in PEERS:
        try:
            start = make(kind)
            start()(kind.before)
        except Exception as error:  # noqa: BLE001 - whatever keeps a peer from starting is shown
            lines.append(f"{kind.name:<18}{name:<30}skipped, {package}: {error!r}"[:110])
            continue
        short, long = (cost_of(start, kind.text(size)) for size in (SHORT, LONG))
        figures = (short.median, long.median, short.mean, long.mean, long.most)
        own_median = own_median or long.median
        lines.append(
            f"{kind.name:<18}{name:<30}"
            + "".join(f"{figure:>9.2f}" for figure in figures)
            + f"{long.mean / short.mean:>9.2f}{long.median / own_median:>8.1f}x"
        )
    return lines


def one_shot() -> str:
    """Say how fast a long content is read whole."""
    parser = analysis_of("j1-json-in-tags").parser(TOOLS)
    text = CONTENT.text(4_000_000)
    best = min(_seconds(lambda: parser.parse(text)) for _ in range(RUNS))
    return f"one shot, {len(text) / 1e6:.0f} MB of content: {len(text) / best / 1e6:.0f} MB/s"


def building() -> Sequence[str]:
    """Say what making a parser for ten tools costs."""
    lines: list[str] = []
    for name in ("j1-json-in-tags", "a1-function-parameter", "t2-recipient-header"):
        analysis = analysis_of(name)
        times = [_seconds(lambda a=analysis: a.parser(TOOLS)) * 1e3 for _ in range(50)]  # type: ignore[misc]
        lines.append(
            f"a parser for {len(TOOLS)} tools, {name}: median {statistics.median(times):.2f} ms, "
            f"most {max(times):.2f} ms"
        )
    return lines


def _seconds(run: Callable[[], object]) -> float:
    begun = perf_counter()
    run()
    return perf_counter() - begun


def short_rows(kind: Stream) -> list[str]:
    """Measure one kind of text at 4k alone, for peers that 64k takes too long."""
    lines: list[str] = []
    own_median: float | None = None
    for name, make, package in PEERS:
        try:
            cost = cost_of(make(kind), kind.text(SHORT))
        except Exception as error:  # noqa: BLE001 - whatever keeps a peer from starting is shown
            lines.append(f"{kind.name:<18}{name:<30}skipped, {package}: {error!r}"[:110])
            continue
        own_median = own_median or cost.median
        figures = f"{cost.median:>9.2f}{cost.mean:>9.2f}{cost.median / own_median:>8.1f}x"
        lines.append(f"{kind.name:<18}{name:<30}{figures}")
    return lines


def process_times() -> dict[str, float]:
    """Measure each kind of text, in microseconds of process time a delta, and of transformers."""
    times: dict[str, float] = {}
    for kind in STREAMS:
        text = kind.text(LONG)
        times[kind.name] = _process_time(own(kind), text)
        if find_spec("transformers") is not None:
            times[f"{kind.name} {TRANSFORMERS}"] = _process_time(transformers_start(kind), text)
    return times


TRANSFORMERS = "(transformers)"


def _process_time(start: Start, text: str) -> float:
    chunks = [text[at : at + CHUNK] for at in range(0, len(text), CHUNK)]
    best = float("inf")
    for _ in range(RUNS):
        feed = start()
        gc.collect()
        gc.disable()
        try:
            begun = process_time_ns()
            for chunk in chunks:
                feed(chunk)
            best = min(best, process_time_ns() - begun)
        finally:
            gc.enable()
    return best / len(chunks) / 1e3


def beside(checkout: Path) -> Sequence[str]:
    """Compare with another checkout: the best of some processes each, by turns."""
    roots = {"there": checkout.resolve(), "here": Path(__file__).parents[2]}
    best: dict[str, dict[str, float]] = {name: {} for name in roots}
    for _ in range(RUNS):
        for name, root in roots.items():
            for kind, time in _times_of(root).items():
                best[name][kind] = min(time, best[name].get(kind, time))
    here, there = best["here"], best["there"]
    columns = f"{'there':>9}{'here':>9}{'ratio':>9}{'transformers':>14}{'ratio':>9}"
    lines = [f"{'process µs a delta':<20}{columns}"]
    for stream in STREAMS:
        ours, peer = here[stream.name], here.get(f"{stream.name} {TRANSFORMERS}", math.nan)
        old = there[stream.name]
        figures = f"{old:>9.2f}{ours:>9.2f}{old / ours:>8.1f}x{peer:>14.2f}{peer / ours:>8.1f}x"
        lines.append(f"{stream.name:<20}{figures}")
    return lines


def _times_of(root: Path) -> dict[str, float]:
    """Measure in a process that imports the package from a checkout."""
    env = {**os.environ, "PYTHONPATH": f"{root}"}
    command = [sys.executable, __file__, "--process-times"]
    ran = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=True)  # noqa: S603
    found = json.loads(ran.stdout)
    if not Path(found.pop("package")).resolve().is_relative_to(root):
        raise SystemExit(f"{root}: the package is imported from elsewhere")
    times: dict[str, float] = found
    return times


def main() -> None:
    """Print the table; with `--short` the one of 4,000 characters."""
    logging.disable(logging.WARNING)
    match sys.argv[1:]:
        case ["--process-times"]:
            package = str(sys.modules[analyze.__module__].__file__)
            sys.stdout.write(json.dumps({**process_times(), "package": package}))
            return
        case ["--beside", checkout]:
            sys.stdout.write("\n".join(beside(Path(checkout))) + "\n")
            return
        case _:
            short = sys.argv[1:] == ["--short"]
    columns = ["med 4k", "med 64k", "mean 4k", "mean 64k", "max 64k", "growth", "ratio"]
    if short:
        columns = ["med 4k", "mean 4k", "ratio"]
    sys.stdout.write(f"{f'µs a delta of {CHUNK}':<48}{''.join(f'{c:>9}' for c in columns)}\n")
    for kind in STREAMS:
        sys.stdout.write("\n".join(short_rows(kind) if short else rows(kind)) + "\n")
        sys.stdout.flush()
    if not short:
        sys.stdout.write("\n" + "\n".join([one_shot(), *building()]) + "\n")


if __name__ == "__main__":
    main()
