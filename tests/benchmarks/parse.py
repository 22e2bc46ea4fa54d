"""Measure the cost of parsing: `python -m tests.benchmarks.parse`.

A text of 4k and one of 64k characters are streamed in chunks of 4 characters; the time of each
chunk is taken. `growth` is the mean at 64k over that at 4k, `ratio` the median at 64k over ours.
Of the kinds of text the last three are content that is dense in signs which could begin a marker.

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
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter_ns, process_time_ns
from typing import Any, NamedTuple, TypeAlias

from autoparser import Analysis, ChatTemplate, analyze
from tests.benchmarks.measuring import (
    ROOT,
    TEMPLATE,
    cells,
    collector_off,
    function_tool,
    print_lines,
)

CHUNK = 4
SHORT, LONG = 4_000, 64_000
RUNS = 3
WORDS = "The quick brown fox jumps over the lazy dog and does not look back. "
TRANSFORMERS = "transformers ResponseParser"

Feed: TypeAlias = Callable[[str], object]
Start: TypeAlias = Callable[[], Feed]
"""Makes a fresh parser of one stream."""

PROPERTIES = {
    "text": {"type": "string"},
    "count": {"type": "integer"},
    "labels": {"type": "array", "items": {"type": "string"}},
}
TOOLS = [function_tool(f"write_{at}", PROPERTIES) for at in range(10)]


class Stream(NamedTuple):
    """A kind of text, and where its long part stands."""

    name: str
    before: str = ""
    after: str = ""
    words: str = WORDS

    def text(self, size: int) -> str:
        prose = (self.words * (size // len(self.words) + 1))[:size]
        return f"{self.before}{prose}{self.after}"

    def chunks(self, size: int) -> list[str]:
        text = self.text(size)
        return [text[at : at + CHUNK] for at in range(0, len(text), CHUNK)]


REASONING = Stream("reasoning", "<think>\n", "\n</think>\n\n")
CONTENT = Stream("content")
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
BACKTICKS = Stream("backticks", words="Use `foo` and `bar()` or `x.y` with `z`, then `a`. ")
FENCES = Stream("fences", words="Try:\n```python\nx = 1\nprint(x)\n```\nand\n```\nls\n```\n")
TAGS = Stream("tags", words="if a < b and <b>c</b> <d x='1'/> then a<b<c. ")
STREAMS = (REASONING, CONTENT, JSON, TAGGED, BACKTICKS, FENCES, TAGS)


def chunk_times(start: Start, chunks: list[str]) -> list[float]:
    """Stream chunks some times; return the least microseconds of each."""
    best = [math.inf] * len(chunks)
    for _ in range(RUNS):
        feed = start()
        gc.collect()
        with collector_off():
            for at, chunk in enumerate(chunks):
                begun = perf_counter_ns()
                feed(chunk)
                best[at] = min(best[at], perf_counter_ns() - begun)
    return [each / 1e3 for each in best]


def analysis_of(name: str) -> Analysis:
    return analyze(ChatTemplate(TEMPLATE.with_stem(name).read_text(encoding="utf-8")))


def own(kind: Stream) -> Start:
    """Make parsers of this project."""
    if kind is TAGGED:
        analysis = analysis_of("a1-function-parameter")
        parser = analysis.parser(TOOLS, prompt=analysis.format.header)
    else:
        parser = analysis_of(TEMPLATE.stem).parser(TOOLS)
    return lambda: parser.stream().feed


def transformers_start(kind: Stream) -> Start:
    """Make parsers of transformers; tagged arguments come without a parser of theirs."""
    parsing = importlib.import_module("transformers.utils.chat_parsing")
    calls = {"open": "<tool_call>\n", "close": "\n</tool_call>", "repeats": True}
    template: dict[str, Any] = {
        "defaults": {"role": "assistant"},
        "start_anchor": "<|im_start|>assistant\n",
        "fields": {
            "thinking": {"open": "<think>\n", "close": "\n</think>\n\n"},
            "tool_calls": {**calls, "content": "text" if kind is TAGGED else "json"},
            "content": {"close": "<|im_end|>"},
        },
    }
    return lambda: parsing.ResponseParser(template, prefix="<|im_start|>assistant\n").feed


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
        detector = importlib.import_module(f"{root}.parser.reasoning_parser").Qwen3Detector
        return lambda: detector(stream_reasoning=True).parse_streaming_increment
    protocol = importlib.import_module(f"{root}.entrypoints.openai.protocol")
    name, module = ("Qwen25Detector", "qwen25")
    if kind is TAGGED:
        name, module = ("Qwen3CoderDetector", "qwen3_coder")
    calls = getattr(importlib.import_module(f"{root}.function_call.{module}_detector"), name)
    tools = [protocol.Tool(**tool) for tool in TOOLS]
    return lambda: partial(calls().parse_streaming_increment, tools=tools)


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
    (TRANSFORMERS, transformers_start, "transformers"),
    ("SGLang", sglang_start, "sglang"),
    ("vLLM", vllm_start, "vllm"),
)


def rows(kind: Stream, *, short: bool) -> Iterator[str]:
    """Measure one kind of text with every parser that is there; `short` leaves out 64k."""
    own_median: float | None = None
    for name, make, package in PEERS:
        row = f"{kind.name:<18}{name:<30}"
        try:
            start = make(kind)
            start()(kind.before)
        except Exception as error:  # noqa: BLE001 - whatever keeps a peer from starting is shown
            yield f"{row}skipped, {package}: {error!r}"[:110]
            continue
        taken = [chunk_times(start, kind.chunks(size)) for size in (SHORT, LONG)[: 2 - short]]
        medians, means = [*map(statistics.median, taken)], [*map(statistics.fmean, taken)]
        own_median = own_median or medians[-1]
        figures = [*medians, *means]
        if not short:
            figures += [max(taken[-1]), means[1] / means[0]]
        yield f"{row}{cells(figures, '>9.2f')}{medians[-1] / own_median:>8.1f}x"


def process_times() -> dict[str, float]:
    """Measure each kind of text, in microseconds of process time a delta, and of transformers."""
    makers = {"": own}
    if find_spec("transformers") is not None:
        makers[TRANSFORMERS] = transformers_start
    return {
        f"{kind.name}{peer}": min(_stream_time(make(kind), kind.chunks(LONG)) for _ in range(RUNS))
        for kind in STREAMS
        for peer, make in makers.items()
    }


def _stream_time(start: Start, chunks: list[str]) -> float:
    feed = start()
    gc.collect()
    with collector_off():
        begun = process_time_ns()
        for chunk in chunks:
            feed(chunk)
        return (process_time_ns() - begun) / len(chunks) / 1e3


def beside(checkout: Path) -> Iterator[str]:
    """Compare with another checkout: the best of some processes each, by turns."""
    runs = [(_times_of(checkout.resolve()), _times_of(ROOT)) for _ in range(RUNS)]
    columns = f"{cells(('there', 'here', 'ratio'), '>9')}{'transformers':>14}{'ratio':>9}"
    yield f"{'process µs a delta':<20}{columns}"
    for stream in STREAMS:
        old, ours = (min(times[stream.name] for times in each) for each in zip(*runs, strict=True))
        peer = min(here.get(f"{stream.name}{TRANSFORMERS}", math.nan) for _, here in runs)
        figures = f"{old:>9.2f}{ours:>9.2f}{old / ours:>8.1f}x{peer:>14.2f}{peer / ours:>8.1f}x"
        yield f"{stream.name:<20}{figures}"


def _times_of(root: Path) -> dict[str, float]:
    """Measure by this file in a process that imports the package from a checkout."""
    # Modules of tests that the checkout does not have are those of this one.
    env = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{ROOT}"}
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
            print_lines(beside(Path(checkout)))
            return
        case options:
            short = options == ["--short"]
    columns = ["med 4k", "med 64k", "mean 4k", "mean 64k", "max 64k", "growth", "ratio"]
    if short:
        columns = ["med 4k", "mean 4k", "ratio"]
    print_lines([f"{f'µs a delta of {CHUNK}':<48}{cells(columns, '>9')}"])
    for kind in STREAMS:
        print_lines(rows(kind, short=short))


if __name__ == "__main__":
    main()
