"""Measure the cost of constraints: `python -m tests.benchmarks.constrained`, from the root.

Qwen's vocabulary; tools of six properties. xgrammar (its structural tag, of the same JSON) and
torch (a tiny model of random weights, on the device that there is) are optional, and are skipped
visibly.
"""

from __future__ import annotations

import gc
import importlib
import json
import statistics
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.metadata import version
from time import process_time, thread_time
from typing import Any, TypeAlias

from llguidance import LLMatcher

from autoparser.analysis.decoding.constraints import Constraint
from autoparser.analysis.decoding.grammar_backend import GrammarBackend
from autoparser.analysis.decoding.mask_sampling import ModelSampler, choose_device, measure_walks
from autoparser.analysis.decoding.matcher_grammar import (
    FreeGrammar,
    GrammarObject,
    ReasoningOpening,
    new_mask,
)
from autoparser.analysis.sources.tokenizer import ModelTokenizer
from tests.analysis.decoding.tokenizers_here import qwen
from tests.benchmarks.measuring import cells, print_lines, timed

RUNS = 9
WIDTH = 34
"""Of the first column."""
MASK_COLUMNS = cells(("median", "p99", "most", "median x", "p99 x"), ">9")
MASK_COLUMNS = f"\n{'mask, µs':<{WIDTH}}{MASK_COLUMNS}"
Spread: TypeAlias = tuple[float, float, float]
"""Median, 99th percentile and most."""
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
    """Return the median of some runs in ms of the process's own time: the machine may be shared."""
    times: list[float] = []
    for _ in range(runs):
        gc.collect()
        times.append(timed(run, process_time)[0] * 1e3)
    return statistics.median(times)


def mask_spread(grammar: GrammarObject, tokens: list[int]) -> Spread:
    """Return median, 99th percentile and most of the masks over the text ``tokens``, in µs.

    Each pass is that of a request: an object that has seen no text yet. Of every mask the least of
    the passes is taken, so that what else runs on the machine does not decide.
    """
    passes: list[list[float]] = []
    for fresh in (grammar.clone() for _ in range(RUNS)):
        mask = new_mask(1, fresh.tokenizer.mask_words)
        passes.append(_mask_us(partial(fresh.fill_vocab_mask, mask), fresh.accept_token, tokens))
    return spread(map(min, zip(*passes, strict=True)))


def _mask_us(
    fill: Callable[[], object], accept: Callable[[int], object], tokens: list[int]
) -> list[float]:
    """Return the time of each mask in µs. Raises ValueError if a token is refused."""
    times: list[float] = []
    for token in tokens:
        times.append(timed(fill, thread_time)[0] * 1e6)
        if accept(token) is False:
            raise ValueError(f"token {token} is refused")
    return times


def spread(found: Iterable[float]) -> Spread:
    """Return median, 99th percentile, most."""
    times = sorted(found)
    return statistics.median(times), times[int(len(times) * 0.99)], times[-1]


def plain_masks(tokenizer: ModelTokenizer) -> Spread:
    """Return the masks of plain JSON, which others are held against."""
    with GrammarBackend(tokenizer) as backend:
        plain = backend.grammar(Constraint.json_schema(schema(0)))
        return mask_spread(plain, tokenizer.encode(arguments(0)))


def mask_row(title: str, times: Spread, base: Spread) -> str:
    ratios = [own / other for own, other in zip(times[:2], base[:2], strict=True)]
    return f"{title:<{WIDTH}}{cells(times, '>9.1f')}{cells(ratios, '>9.2f')}"


def creation(tokenizer: ModelTokenizer) -> Iterator[str]:
    """Return what making a grammar costs, and what it costs the second time."""
    columns = ("schemas", "tag", "ratio", "hit", "clone", "hit-clone", "new/hit")
    yield f"{'create, ms':<{WIDTH}}{cells(columns, '>10')}"
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
            clone = best_ms(backend.grammar(constraint).clone, 99)
            hit = best_ms(partial(backend.grammar, constraint), 99)
        figures = (alone, tag, tag / alone, hit, clone, hit - clone, tag / hit)
        yield f"{f'{count} tools':<{WIDTH}}{cells(figures, '>10.3f')}"


def masks(tokenizer: ModelTokenizer) -> Iterator[str]:
    """Return what masks cost, against those of plain JSON."""
    yield MASK_COLUMNS
    base = plain_masks(tokenizer)
    yield mask_row("plain JSON", base, base)
    with GrammarBackend(tokenizer) as backend:
        for count in COUNTS:
            constraint = Constraint.structural_tag(structural_tag(count))
            tokens = tokenizer.encode(answer(count))
            times = mask_spread(backend.grammar(constraint), tokens)
            yield mask_row(f"structural tag, {count} tools", times, base)
        plain = Constraint.json_schema(schema(0))
        guarded = backend.reasoning_grammar(plain, end="</think>", opening=ReasoningOpening.OPEN)
        tokens = tokenizer.encode(f"{PROSE * 8}</think>{arguments(0)}")
        yield mask_row("thinking, then JSON", mask_spread(guarded, tokens), base)
        yield mask_row("free", mask_spread(FreeGrammar(tokenizer), tokens), base)


def xgrammar_of(tokenizer: ModelTokenizer) -> tuple[Any, Any]:
    """Return the module, and its own information on a vocabulary. Raises ImportError."""
    xgrammar: Any = importlib.import_module("xgrammar")
    return xgrammar, xgrammar.TokenizerInfo(
        list(tokenizer.token_bytes),
        vocab_type=xgrammar.VocabType.RAW,
        stop_token_ids=list(tokenizer.eos_ids),
    )


def xgrammar_beside(tokenizer: ModelTokenizer) -> Iterator[str]:
    """Return xgrammar's figures for the same structural tags."""
    try:
        xgrammar, info = xgrammar_of(tokenizer)
    except ImportError as error:
        yield f"\nxgrammar: skipped ({error})"
        return
    columns = ("compile ms", "median", "p99", "most")
    yield f"\n{'xgrammar ' + version('xgrammar'):<{WIDTH}}{cells(columns, '>11')}"
    for count in COUNTS:
        compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        tag = partial(compiler.compile_structural_tag, structural_tag(count))
        took, compiled = timed(tag, process_time)
        matcher = xgrammar.GrammarMatcher(compiled)
        bitmask = xgrammar.allocate_token_bitmask(1, tokenizer.vocab_size)
        fill = partial(matcher.fill_next_token_bitmask, bitmask)
        times = spread(_mask_us(fill, matcher.accept_token, tokenizer.encode(answer(count))))
        yield f"{f'{count} tools':<{WIDTH}}{cells((took * 1e3, *times), '>11.1f')}"


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
    yield f"\n{f'tokens a second, {name}':<{WIDTH}}{cells(('masked', 'free', 'ratio'), '>9')}"
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
            yield f"{f'batch of {batch}':<{WIDTH}}{fast:>9.0f}{free:>9.0f}{fast / free:>9.2f}"


def load_qwen() -> ModelTokenizer:
    """Load Qwen's vocabulary, and print how long that takes."""
    took, tokenizer = timed(qwen)
    tokenizer.bytes_of(0)
    print_lines([f"loading the tokenizer: {took:.1f} s", ""])
    return tokenizer


def main() -> None:
    """Print the tables."""
    tokenizer = load_qwen()
    for table in (creation, masks, xgrammar_beside, model_beside):
        print_lines(table(tokenizer))


if __name__ == "__main__":
    main()
