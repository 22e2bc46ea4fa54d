"""Measure the cost of constraints: `python -m tests.benchmarks.constrained`, from the root.

Qwen's vocabulary; tools of six properties. All figures of one table come from one run on one
machine; ratios can be compared between machines, microseconds cannot. Nothing is written to a file.

xgrammar (its structural tag, of the same JSON) and torch (a tiny model of random weights, on the
device that there is) are optional, and are skipped visibly.
"""

from __future__ import annotations

import gc
import importlib
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from time import perf_counter, process_time, thread_time
from typing import Any

from llguidance import LLMatcher

from autoparser.analysis.decoding.constraints import Constraint
from autoparser.analysis.decoding.grammar_backend import GrammarBackend
from autoparser.analysis.decoding.mask_sampling import ModelSampler, choose_device, measure_walks
from autoparser.analysis.decoding.matcher_grammar import FreeGrammar, GrammarObject, new_mask
from autoparser.analysis.decoding.reasoning_gate import ReasoningOpening
from autoparser.analysis.sources.tokenizer import ModelTokenizer
from tests.analysis.decoding.tokenizers_here import qwen

RUNS = 9
COUNTS = (1, 10, 100)
PROSE = "The quick brown fox, who is < 3 years old, jumps over <b>the lazy dog</b>. "


def schema(number: int) -> dict[str, Any]:
    """Return the arguments of a tool: six properties of several types."""
    return {
        "type": "object",
        "properties": {
            f"path_{number}": {"type": "string"},
            "count": {"type": "integer"},
            "ratio": {"type": "number"},
            "force": {"type": "boolean"},
            "mode": {"enum": ["fast", "safe", "slow"]},
            "labels": {"type": "array", "items": {"type": "string"}},
        },
        "required": [f"path_{number}", "count"],
        "additionalProperties": False,
    }


def arguments(number: int) -> str:
    """Return arguments as JSON, with a string of some length."""
    values = {
        f"path_{number}": PROSE * 8,
        "count": 12,
        "ratio": 0.5,
        "force": True,
        "mode": "safe",
        "labels": ["a", "b"],
    }
    return json.dumps(values)


def structural_tag(count: int) -> dict[str, Any]:
    """Return Hermes' calls of ``count`` tools, in the shape that SGLang and xgrammar share."""
    tags = [
        {
            "type": "tag",
            "begin": f'<tool_call>\n{{"name": "tool_{number}", "arguments": ',
            "content": {"type": "json_schema", "json_schema": schema(number)},
            "end": "}\n</tool_call>",
        }
        for number in range(count)
    ]
    form = {"type": "triggered_tags", "triggers": ["<tool_call>"], "tags": tags}
    return {"type": "structural_tag", "format": form}


def answer(count: int) -> str:
    """Return prose, and two calls of the last tool."""
    number = count - 1
    call = (
        f'<tool_call>\n{{"name": "tool_{number}", "arguments": {arguments(number)}}}\n</tool_call>'
    )
    return f"{PROSE * 8}\n{call}\n{call}"


def schemas_alone(count: int) -> str:
    """Return llguidance's grammar of the arguments of any of ``count`` tools."""
    options = " | ".join(f"%json {json.dumps(schema(number))}" for number in range(count))
    return LLMatcher.grammar_from_lark(f"start: {options}")


def best_ms(run: Callable[[], object], runs: int = RUNS) -> float:
    """Give the median of some runs in ms, of the process's own time: the machine may be shared."""
    times: list[float] = []
    for _ in range(runs):
        gc.collect()
        begun = process_time()
        run()
        times.append((process_time() - begun) * 1e3)
    return statistics.median(times)


def mask_spread(grammar: GrammarObject, tokens: list[int]) -> tuple[float, float, float]:
    """Return median, 99th percentile and most of the masks over the text ``tokens``, in µs.

    Each pass is that of a request: an object that has seen no text yet. Of every mask the least of
    the passes is taken, so that what else runs on the machine does not decide.
    """
    passes = [_mask_us(grammar.clone(), tokens) for _ in range(RUNS)]
    return spread(sorted(map(min, zip(*passes, strict=True))))


def _mask_us(grammar: GrammarObject, tokens: list[int]) -> list[float]:
    """Return the time of each mask in µs."""
    mask = new_mask(1, grammar.tokenizer.mask_words)
    times: list[float] = []
    for token in tokens:
        begun = thread_time()
        grammar.fill_vocab_mask(mask)
        times.append((thread_time() - begun) * 1e6)
        grammar.accept_token(token)
    return times


def spread(times: list[float]) -> tuple[float, float, float]:
    """Return median, 99th percentile, most."""
    return statistics.median(times), times[int(len(times) * 0.99)], times[-1]


def creation(tokenizer: ModelTokenizer) -> Iterator[str]:
    """Return what making a grammar costs, and what it costs the second time."""
    yield (
        f"{'create, ms':<34}{'schemas':>9}{'tag':>9}{'ratio':>7}"
        f"{'hit':>9}{'clone':>9}{'hit-clone':>11}{'new/hit':>9}"
    )
    for count in COUNTS:
        constraint = Constraint.structural_tag(structural_tag(count))
        alone = best_ms(lambda c=count: LLMatcher(tokenizer.ll, schemas_alone(c)))  # type: ignore[misc]

        with GrammarBackend(tokenizer, workers=1) as backend:

            def created(wanted: Constraint = constraint, backend: GrammarBackend = backend) -> None:
                # A text of its own each time, for which there is nothing in the cache.
                text = wanted.text + " " * backend.statistics.misses
                backend.grammar(Constraint(wanted.kind, text))

            tag = best_ms(created)
        with GrammarBackend(tokenizer) as backend:
            kept = backend.grammar(constraint)
            clone = best_ms(kept.clone, 99)
            hit = best_ms(lambda: backend.grammar(constraint), 99)  # noqa: B023 - called at once
        yield (
            f"{f'{count} tools':<34}{alone:>9.2f}{tag:>9.2f}{tag / alone:>7.2f}"
            f"{hit:>9.3f}{clone:>9.3f}{hit - clone:>11.3f}{tag / hit:>9.0f}"
        )


def masks(tokenizer: ModelTokenizer) -> Iterator[str]:
    """Return what masks cost, against those of plain JSON."""
    yield f"\n{'mask, µs':<34}{'median':>9}{'p99':>9}{'most':>9}{'median x':>10}{'p99 x':>8}"
    with GrammarBackend(tokenizer) as backend:
        plain = Constraint.json_schema(schema(0))
        base = mask_spread(backend.grammar(plain), tokenizer.encode(arguments(0)))
        yield _mask_row("plain JSON", base, base)
        for count in COUNTS:
            constraint = Constraint.structural_tag(structural_tag(count))
            tokens = tokenizer.encode(answer(count))
            times = mask_spread(backend.grammar(constraint), tokens)
            yield _mask_row(f"structural tag, {count} tools", times, base)
        guarded = backend.reasoning_grammar(plain, end="</think>", opening=ReasoningOpening.OPEN)
        tokens = tokenizer.encode(f"{PROSE * 8}</think>{arguments(0)}")
        yield _mask_row("thinking, then JSON", mask_spread(guarded, tokens), base)
        yield _mask_row("free", mask_spread(FreeGrammar(tokenizer), tokens), base)


def _mask_row(
    name: str, times: tuple[float, float, float], base: tuple[float, float, float]
) -> str:
    median, high, most = times
    ratios = f"{median / base[0]:>10.2f}{high / base[1]:>8.2f}"
    return f"{name:<34}{median:>9.1f}{high:>9.1f}{most:>9.0f}{ratios}"


def xgrammar_beside(tokenizer: ModelTokenizer) -> Iterator[str]:
    """Return xgrammar's figures for the same structural tags."""
    try:
        xgrammar: Any = importlib.import_module("xgrammar")
    except ImportError as error:
        yield f"\nxgrammar: skipped ({error})"
        return
    name = f"xgrammar {version('xgrammar')}"
    yield f"\n{name:<34}{'compile ms':>11}{'median':>9}{'p99':>9}{'most':>9}"
    info = xgrammar.TokenizerInfo(
        list(tokenizer.token_bytes),
        vocab_type=xgrammar.VocabType.RAW,
        stop_token_ids=list(tokenizer.eos_ids),
    )
    for count in COUNTS:
        compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        begun = process_time()
        compiled = compiler.compile_structural_tag(structural_tag(count))
        milliseconds = (process_time() - begun) * 1e3
        matcher = xgrammar.GrammarMatcher(compiled)
        bitmask = xgrammar.allocate_token_bitmask(1, tokenizer.vocab_size)
        times: list[float] = []
        for token in tokenizer.encode(answer(count)):
            begun = thread_time()
            matcher.fill_next_token_bitmask(bitmask)
            times.append((thread_time() - begun) * 1e6)
            if not matcher.accept_token(token):
                yield f"{count} tools: xgrammar refuses token {token}"
                return
        median, high, most = spread(sorted(times))
        yield f"{f'{count} tools':<34}{milliseconds:>11.1f}{median:>9.1f}{high:>9.1f}{most:>9.0f}"


def model_beside(tokenizer: ModelTokenizer) -> Iterator[str]:
    """Return tokens a second with and without a mask."""
    try:
        torch: Any = importlib.import_module("torch")
        transformers: Any = importlib.import_module("transformers")
    except ImportError as error:
        yield f"\ntokens a second: skipped ({error})"
        return
    device = choose_device("auto")
    config = transformers.Qwen2Config(
        vocab_size=tokenizer.vocab_size,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    model = transformers.Qwen2ForCausalLM(config).eval().to(device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    yield f"\n{f'tokens a second, {name}':<34}{'masked':>9}{'free':>9}{'ratio':>7}"
    limit = 16
    with GrammarBackend(tokenizer) as backend:
        constraint = Constraint.json_schema(schema(0), whitespace="compact")
        for batch in (1, 8):
            prompts = [tokenizer.encode("Hello.")] * batch

            def speed(masked: bool, prompts: list[list[int]] = prompts) -> Any:
                free: list[GrammarObject] = [FreeGrammar(tokenizer) for _ in prompts]
                bound: list[GrammarObject] = [backend.grammar(constraint) for _ in prompts]
                sampler = ModelSampler(model, prompts, masked=masked)
                return measure_walks(bound if masked else free, tokenizer, sampler, limit)

            speed(masked=True)
            with_mask, without = speed(masked=True), speed(masked=False)
            fast, free = with_mask.tokens_per_second, without.tokens_per_second
            yield f"{f'batch of {batch}':<34}{fast:>9.0f}{free:>9.0f}{fast / free:>7.2f}"


def main() -> None:
    """Print the tables."""
    begun = perf_counter()
    tokenizer = qwen()
    tokenizer.bytes_of(0)
    sys.stdout.write(f"loading the tokenizer: {perf_counter() - begun:.1f} s\n\n")
    for table in (creation, masks, xgrammar_beside, model_beside):
        for line in table(tokenizer):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
