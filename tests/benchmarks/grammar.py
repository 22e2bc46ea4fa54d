"""Measure the cost of grammars: `python -m tests.benchmarks.grammar`, in the project's root.

The default tables use tools of six properties, Qwen's vocabulary, in which call markers are added
tokens (`</parameter>` is text), and for masks DeepSeek's, in which all markers are. Creation is
writing and loading the grammar, compared with loading the arguments' schemas alone; masks are
compared with those of plain JSON.

    states   the first mask of each kind of state, in six real templates, with a fresh grammar
    tags     structural tags in xgrammar and its built-in ones for the same models: compilation,
             and masks along answers with short texts, prose, code, escapes, lists and objects
    answers  masks of tags along the answers of `tests.engines.answer_table`

`--real-tools FOLDER` measures only the creation in real templates for the tools of a folder;
`tags --real-tools FOLDER` compiles tags, EBNF and Lark of 50 of them and measures masks along two
calls of each. xgrammar is optional, skipped with a message.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import itertools
import json
import multiprocessing
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from itertools import takewhile, zip_longest
from math import inf
from operator import itemgetter
from pathlib import Path
from time import process_time, thread_time
from typing import Any, TypeAlias

import yaml
from llguidance import LLMatcher, LLTokenizer
from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask
from msgspec.structs import replace

from autoparser import Analysis, ChatTemplate, analyze
from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.format_choice import Formats
from autoparser.analysis.core.schema_loosened import without_keyword
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.decoding.constraints import Constraint
from autoparser.analysis.decoding.grammar_backend import GrammarBackend
from autoparser.analysis.decoding.matcher_grammar import GrammarObject, new_mask
from autoparser.analysis.grammar.request_grammar import Grammar, format_slices, make_grammar
from autoparser.analysis.grammar.schema_loosening import GrammarForm
from autoparser.analysis.learning.template_turns import WrittenTurn
from autoparser.analysis.sources.token_bytes import OpaqueTokens
from autoparser.analysis.sources.tokenizer import ModelTokenizer
from tests.analysis.decoding.tokenizers_here import deepseek, qwen
from tests.analysis.grammar.proofs import grammar_for, request_for
from tests.analysis.parsing.loop import analysis_of
from tests.case_tables import load_cases
from tests.corpus.corpus_templates import FIXTURES, analysis_at
from tests.corpus.grammar_readers import vocabulary_of
from tests.corpus.real_tools import with_calls
from tests.engines.answer_table import TABLE, fitted, script_of, tools_of
from tests.offers import tool

from .measuring import cells, corpus, print_lines, timed

TABLES = load_cases(__file__, "grammar.yaml")
RUNS = 9
WIDTH = 34
"""Of the first column."""
COUNTS = (1, 10, 100)
PROSE = "The quick brown fox, who is < 3 years old, jumps over <b>the lazy dog</b>. "

Spread: TypeAlias = tuple[float, float, float]
"""Median, 99th percentile and most."""

FORMATS = TABLES["formats"]
"""The fixture of each format."""
TAGGED = TABLES["tagged"]
"""More formats whose arguments are closed by text instead of a token."""
REAL = {
    "Qwen-Qwen3-0.6B": qwen,
    "Qwen-Qwen3-Coder-30B-A3B-Instruct": qwen,
    "openai-gpt-oss-120b": qwen,
    "MiniMaxAI-MiniMax-M2": qwen,
    "google-gemma-4-31B-it": qwen,
    "deepseek-ai-DeepSeek-V3.2": deepseek,
    "GLM-4.6": qwen,
    "moonshotai-Kimi-K2-Instruct": qwen,
}
"""Templates of the corpus, and the vocabulary that their grammars are loaded with."""
TAGGED_MODELS = TABLES["tagged_models"]
"""Templates of the corpus, and the names of xgrammar's own tags for their models."""
AGENT_TOOLS = yaml.safe_load((FIXTURES / "tools.yaml").read_text("utf-8"))
"""Three tools of texts, numbers, choices, lists and objects."""
REAL_COUNTS = (1, 10, 50, 100)


def tools(count: int, run: int = 0) -> list[dict[str, Any]]:
    """Return tools with six properties each; each run has other names."""
    return [_tool(at) for at in range(run * count, (run + 1) * count)]


def _tool(number: int) -> dict[str, Any]:
    properties = {
        f"path_{number}": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "force": {"type": "boolean"},
        "mode": {"enum": ["fast", "safe", "slow"]},
        "labels": {"type": "array", "items": {"type": "string"}},
    }
    needed = [f"path_{number}", "count"]
    return tool(f"tool_{number}", properties, *needed, closed=True)


def _parameters(tool: Mapping[str, Any]) -> dict[str, Any]:
    parameters: dict[str, Any] = tool["function"]["parameters"]
    return parameters


def arguments(number: int) -> dict[str, Json]:
    """Return the arguments of a call, with a string of some length."""
    text: dict[str, Json] = {f"path_{number}": PROSE * 8}
    return text | {"count": 12, "ratio": 0.5, "force": True, "mode": "safe", "labels": ["a", "b"]}


def turn(format_: TurnFormat, count: int) -> str:
    """Return a turn of prose, and of two calls of the last tool."""
    call = ToolCall(f"tool_{count - 1}", arguments(count - 1))
    return format_.write(Message((PROSE * 8).strip(), calls=(call, call)))


def best_ms(run: Callable[[], object], runs: int = RUNS) -> float:
    """Return the median of some runs in ms of the process's own time: the machine may be shared."""
    times: list[float] = []
    for _ in range(runs):
        gc.collect()
        times.append(timed(run, process_time)[0] * 1e3)
    return statistics.median(times)


def creation(tokenizer: ModelTokenizer) -> Iterator[str]:
    """Return the costs of making a grammar: its text, its load, and both against the schemas.

    Every run offers tools that were never offered before. `first` is the writing of the very first
    grammar of a format, of which nothing is known, nor of the vocabulary's tokens; `further` that
    of any later request to the same format, which an engine pays; `ratio` is of each with the load.
    """
    vocabulary = tokenizer.opaque
    columns = ("schemas", "load", "first", "ratio", "further", "ratio", "gbnf")
    yield f"{'create, ms':<{WIDTH}}{cells(columns, '>9')}"
    for title, name in FORMATS.items():
        format_ = analysis_of(name).format
        for count in COUNTS:
            offers = map(partial(tools, count), itertools.count(1))
            unknown = iter([(deepcopy(format_), OpaqueTokens(vocabulary.ids)) for _ in range(RUNS)])
            known = itertools.repeat((format_, vocabulary))

            def written(
                formats: Iterator[tuple[TurnFormat, OpaqueTokens]],
                offers: Iterator[list[dict[str, Any]]] = offers,
            ) -> str:
                format_, vocabulary = next(formats)
                return make_grammar(Formats.of(format_), next(offers)).lark(vocabulary)

            def gbnf(format_: TurnFormat, offers: Iterator[list[dict[str, Any]]] = offers) -> str:
                return make_grammar(Formats.of(format_), next(offers)).gbnf()

            lark = make_grammar(Formats.of(format_), tools(count)).lark(vocabulary)
            alone = [json.dumps(_parameters(tool)) for tool in tools(count)]
            grammars = (_any_of(alone), LLMatcher.grammar_from_lark(lark))
            schemas, load = (
                best_ms(partial(LLMatcher, tokenizer.ll, grammar)) for grammar in grammars
            )
            first, further = (best_ms(partial(written, tools)) for tools in (unknown, known))
            ratios = [(writing + load) / schemas for writing in (first, further)]
            figures = (schemas, load, first, ratios[0], further, ratios[1])
            row = f"{f'{title}, {count} tools':<{WIDTH}}{cells(figures, '>9.2f')}"
            yield f"{row}{best_ms(partial(gbnf, format_), 3):>9.2f}"


def masks(tokenizer: ModelTokenizer) -> Iterator[str]:
    """Return the costs of masks along a turn, against plain JSON in the same vocabulary."""
    columns = ("median", "p99", "most", "median x", "p99 x")
    yield f"\n{'mask, µs':<{WIDTH}}{cells(columns, '>9')}"
    for fixtures, counts in ((FORMATS, COUNTS), (TAGGED, (1,))):
        formats = {title: analysis_of(name).format for title, name in fixtures.items()}
        yield from _masks_of(tokenizer, formats, counts)
    yield f"with {deepseek().vocab_size} tokens"
    yield from _masks_of(deepseek(), {"DeepSeek JSON": _deepseek_format()})


def _deepseek_format() -> TurnFormat:
    """Return a format of which every marker is a token of DeepSeek's vocabulary, its end too."""
    template = analysis_of("t3-2-fenced-json-closed").template
    text = template.text.replace("<｜end▁of▁turn｜>", "<｜end▁of▁sentence｜>")
    return analyze(ChatTemplate(text, template.special_tokens)).format


def _masks_of(
    tokenizer: ModelTokenizer, formats: Mapping[str, TurnFormat], counts: Sequence[int] = COUNTS
) -> Iterator[str]:
    """Return the masks of formats, each in the slices that are its own; JSON has the usual ones."""
    vocabulary, base = tokenizer.opaque, plain_masks(tokenizer)
    yield mask_row("plain JSON", base, base)
    for title, format_ in formats.items():
        slices = format_slices(Formats.of(format_), vocabulary)
        with GrammarBackend(tokenizer, slices=slices) as backend:
            for count in counts:
                whole = turn(format_, count)
                request, written = request_for(format_, whole, tools(count))
                lark = grammar_for(format_, request).lark(vocabulary)
                grammar = backend.grammar(Constraint.ebnf(lark))
                tokens = tokenizer.encode(whole[written:])
                # If the turn ends with the token that ends an answer, nothing follows it.
                answer = list(takewhile(lambda token: token not in tokenizer.eos_ids, tokens))
                times = mask_spread(grammar, answer)
                yield mask_row(f"{title}, {count} tools", times, base)


def mask_spread(grammar: GrammarObject, tokens: Sequence[int]) -> Spread:
    """Return median, 99th percentile and most of the masks over the text ``tokens``, in µs.

    Each pass is that of a request: an object that has seen no text yet. Of every mask the least of
    the passes is taken, so that what else runs on the machine does not decide.
    """

    def fresh() -> _Walk:
        walked = grammar.clone()
        mask = new_mask(1, walked.tokenizer.mask_words)
        return partial(walked.fill_vocab_mask, mask), walked.accept_token

    return _least_masks(fresh, [tokens], RUNS)[:3]


def plain_masks(tokenizer: ModelTokenizer) -> Spread:
    """Return the masks of plain JSON, which others are held against."""
    with GrammarBackend(tokenizer) as backend:
        plain = backend.grammar(Constraint.json_schema(_parameters(_tool(0))))
        return mask_spread(plain, tokenizer.encode(json.dumps(arguments(0))))


def mask_row(title: str, times: Spread, base: Spread) -> str:
    ratios = [own / other for own, other in zip(times[:2], base[:2], strict=True)]
    return f"{title:<{WIDTH}}{cells(times, '>9.1f')}{cells(ratios, '>9.2f')}"


def real_creation(folder: Path) -> Iterator[str]:
    """Return the costs of grammars of real tools, against their schemas alone, in real templates.

    `new` is the writing for tools that the process never saw, where the format is known, `again`
    that of a later request with the same tools. A fork copies each page of memory that it changes,
    which no server pays for, so others are written before it. In `schemas` stands each schema
    without the keywords that the grammar leaves out; what llguidance does not know in it, it is
    told to ignore.
    """
    offered = _real_tools(folder)
    others = [_opened(tool) for tool in offered[REAL_COUNTS[-1] :]]
    known = corpus()
    columns = ("schemas", "load", "ratio", "new", "ratio", "again", "ratio", "kB")
    yield f"{'create, ms':<52}{cells(columns, '>9')}"
    for name, tokenizer in REAL.items():
        analysis = analysis_at(known[name])
        analysis.grammar(offered[REAL_COUNTS[-1] :]).lark(tokenizer())
        for count in REAL_COUNTS:
            some = offered[:count]

            def write(some: Sequence[dict[str, Any]] = some, analysis: Analysis = analysis) -> str:
                return analysis.grammar(some).lark(tokenizer())  # noqa: B023 - called in this turn

            def write_first(write: Callable[[], str] = write) -> tuple[float]:
                analysis.grammar(others).lark(tokenizer())  # noqa: B023 - called in this turn
                return (best_ms(write, 1),)

            new = statistics.median(_in_child(write_first)[0] for _ in range(3))
            schemas, load, again, size = _in_child(
                partial(_loads, analysis, some, tokenizer(), write)
            )
            ratios = (load / schemas, (load + new) / schemas, (load + again) / schemas)
            figures = (schemas, load, ratios[0], new, ratios[1], again, ratios[2], size)
            yield f"{f'{name}, {count} tools':<52}{cells(figures, '>9.2f')}"


def _real_tools(folder: Path) -> list[dict[str, Any]]:
    """Return the tools of a folder, one of each file in turn, and none of a name twice."""
    lists: list[list[dict[str, Any]]] = [
        json.loads(path.read_text(encoding="utf-8"))["tools"]
        for path in sorted(folder.glob("*.json"))
    ]
    found: dict[str, dict[str, Any]] = {}
    for row in zip_longest(*lists):
        for asked in filter(None, row):
            found.setdefault(asked["function"]["name"], asked)
    return list(found.values())


def _loads(
    analysis: Analysis,
    some: Sequence[dict[str, Any]],
    tokenizer: ModelTokenizer,
    write: Callable[[], str],
) -> tuple[float, ...]:
    """Return the load times of the schemas and of the grammar, and the time to write it again.

    The last figure is the size of the grammar in kB.
    """
    alone: list[str] = []
    for schema_ in map(_parameters, _without_loosened(analysis.grammar(some), "lark", some)):
        text = json.dumps(schema_)
        if LLMatcher.validate_grammar(_any_of([text]), tokenizer.ll):
            text = json.dumps({**schema_, "x-guidance": {"lenient": True}})
        alone.append(text)
    lark = write()
    grammars = (_any_of(alone), LLMatcher.grammar_from_lark(lark))
    for grammar in grammars:
        if LLMatcher.validate_grammar(grammar, tokenizer.ll):
            raise ValueError("llguidance does not load what is measured")
    loads = [best_ms(partial(LLMatcher, tokenizer.ll, grammar)) for grammar in grammars]
    return (*loads, best_ms(write, 3), len(lark) / 1000)


def _any_of(schemas: Sequence[str]) -> str:
    return LLMatcher.grammar_from_lark(
        "start: " + " | ".join(f"%json {schema}" for schema in schemas)
    )


def _in_child(measure: Callable[[], tuple[float, ...]]) -> tuple[float, ...]:
    """Measure in a fork, whose caches of tools are lost with it."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=lambda: there.send(measure()))
    child.start()
    there.close()
    found: tuple[float, ...] = here.recv()
    child.join()
    return found


STATES = {
    "Qwen-Qwen3-0.6B": qwen,
    "Qwen3-Coder": qwen,
    "Qwen3.5-4B": qwen,
    "deepseek-ai-DeepSeek-V3.1": deepseek,
    "deepseek-ai-DeepSeek-V3.2": deepseek,
    "deepseek-ai-DeepSeek-V4": deepseek,
}
"""Templates of the corpus, and the vocabulary of each family."""
PLACES = TABLES["places"]
"""Where a mask is asked for: so many characters into a text of the turn."""


def states(_: ModelTokenizer) -> Iterator[str]:
    """Return the cost of the first mask in each kind of state, in µs, with ten tools.

    Each is the least of five grammars, which are loaded anew: nothing of an earlier mask is known.
    """
    states_ = (*PLACES, "end")
    yield f"{'first mask, µs':<{WIDTH}}{cells(('p99', *states_), '>10')}"
    known = corpus()
    for name, vocabulary in STATES.items():
        tokenizer = vocabulary()
        first = _first_masks(analysis_at(known[name]), tokenizer)
        first["p99"] = plain_masks(tokenizer)[1]
        figures = (f"{first[state]:.0f}" if state in first else "" for state in ("p99", *states_))
        yield f"{name:<{WIDTH}}{cells(figures, '>10')}"


def _first_masks(analysis: Analysis, tokenizer: ModelTokenizer) -> dict[str, float]:
    texts = [text for text, _ in PLACES.values()]
    values: dict[str, Json] = {"text": texts[5], "note": texts[6], "count": int(texts[7])}
    call = ToolCall("look_up_9", values)
    properties = {
        "text": {"type": "string"},
        "note": {"type": "string", "maxLength": 1000},
        "count": {"type": "integer"},
    }
    offered = [tool(f"look_up_{at}", properties, *properties) for at in range(10)]
    turns = analysis.turns(offered)
    written = turns.written_turn(Message(texts[2], texts[0], (call,)))
    if written.continuation is None:
        written = turns.written_turn(Message(texts[2], "", (call,)))
    turn = _behind_prompt(written)
    places = {name: turn.find(text) + at for name, (text, at) in PLACES.items() if text in turn}
    stops = (stop for stop in analysis.format.stop_strings if turn.rstrip().endswith(stop))
    places["end"] = len(turn.rstrip()) - len(next(stops, ""))
    grammar = analysis.grammar(offered, prompt=written.prompt)
    lark = LLMatcher.grammar_from_lark(grammar.lark(tokenizer))
    loaded = tokenizer.ll_with(grammar.slices(tokenizer))
    mask = allocate_token_bitmask(1, tokenizer.vocab_size)
    least: dict[str, float] = {}
    for _ in range(5):
        matcher, written_to = LLMatcher(loaded, lark, log_level=0), 0
        for name, place in sorted(places.items(), key=lambda item: item[1]):
            tokens = tokenizer.encode(turn[written_to:place])
            if matcher.try_consume_tokens(tokens) != len(tokens):
                raise ValueError(f"refused before {name}: {turn[written_to:place]!r}")
            written_to = place
            took, _ = timed(partial(fill_next_token_bitmask, matcher, mask), thread_time)
            least[name] = min(least.get(name, inf), took * 1e6)
    return least


CODE = (
    'def f(x):\n\treturn "a\\\\b" + x  # \\d\n\n'
    'if x > 3:\n    print("hello", [1, {"a": 3}])\n</div>\n'
)
WALKED: dict[str, list[dict[str, Json]]] = TABLES["walked"]
"""Arguments of the calls that masks are measured along, by their tools."""


def _behind_prompt(written: WrittenTurn) -> str:
    """Return the model's part of a turn: the prompt may end with its beginning."""
    prompt, turn = written.prompt, written.rest
    if written.continuation is not None:
        return turn
    return turn[max(at for at in range(len(turn) + 1) if prompt.endswith(turn[:at])) :]


def tags(tokenizer: ModelTokenizer) -> Iterator[str]:
    """Return the costs of structural tags in xgrammar beside its own tags for the same models.

    Compile times are the least of three in one thread; masks are those along each answer that a tag
    takes. xgrammar's own tags take another spacing of some formats: `walked` are the masks of each.
    """
    try:
        xgrammar: Any = importlib.import_module("xgrammar")
    except ImportError as error:
        yield f"xgrammar: skipped ({error})"
        return
    asked = _TagCosts(xgrammar, tokenizer)
    columns = ("compile ms", "its own", "median µs", "its own", "p99", "its own", "most", "its own")
    yield f"{'structural tags':<44}{cells(columns, '>11')}{'walked':>12}"
    paths = corpus()
    for name, model in TAGGED_MODELS.items():
        analysis = analysis_at(paths[name])
        calls = [ToolCall(tool, entry) for tool, some in WALKED.items() for entry in some]
        turns = analysis.turns(AGENT_TOOLS)
        written = [turns.written_turn(Message("", calls=(call,))) for call in calls]
        texts = [*map(_behind_prompt, written)]
        for choice in ("auto", "required"):
            grammar = analysis.grammar(AGENT_TOOLS, tool_choice=choice, prompt=written[0].prompt)
            own = json.dumps(grammar.structural_tag())
            its = xgrammar.get_model_structural_tag(
                model, tools=AGENT_TOOLS, tool_choice=choice, reasoning=False
            ).model_dump_json()
            ours = asked.of(own, texts)
            # Some of xgrammar's tags cover the calls alone.
            alone = [_from_first(grammar.triggers, text) for text in texts]
            theirs = max((asked.of(its, given) for given in (texts, alone)), key=itemgetter(-1))
            figures = [f"{cost:.0f}" for pair in zip(ours, theirs, strict=True) for cost in pair]
            walked = "/".join(figures[-2:])
            yield f"{f'{name}, {choice}':<44}{cells(figures[:-2], '>11')}{walked:>12}"


def answers(tokenizer: ModelTokenizer) -> Iterator[str]:
    """Return the costs of structural tags along the answers of `tests.engines.answer_table`.

    An answer is walked up to its first refused token: under `required` in gpt-oss's own notation,
    of which the tag has the template's alone.
    """
    asked = _TagCosts(importlib.import_module("xgrammar"), tokenizer)
    columns = ("compile ms", "median µs", "p99", "most", "walked", "of")
    yield f"{'answers of makers':<44}{cells(columns, '>11')}"
    for name, maker in TABLE["makers"].items():
        analysis = analysis_at(corpus()[maker["template"]])
        for kind in ("auto", "required", "strict"):
            given = fitted(TABLE["answers"][kind], maker.get("most", 2))
            script = script_of(maker, "on", given) or ""
            for end in set(maker["ends"].values()):
                script = script.removesuffix(end)
            grammar = analysis.grammar(
                tools_of(given), tool_choice=given["choice"], chat_template_kwargs=maker["on"]
            )
            figures = asked.of(json.dumps(grammar.structural_tag()), [script])
            row = [*(f"{cost:.0f}" for cost in figures), str(len(tokenizer.encode(script)))]
            yield f"{f'{name}, {kind}':<44}{cells(row, '>11')}"


def _from_first(marks: Sequence[str], text: str) -> str:
    """Return a text from the first of some marks in it on."""
    return text[min((text.find(mark) for mark in marks if mark in text), default=0) :]


class _TagCosts:
    """Compiles tags in xgrammar, and measures their masks."""

    def __init__(self, xgrammar: Any, tokenizer: ModelTokenizer) -> None:
        self.xgrammar, self.tokenizer = xgrammar, tokenizer
        self.info = vocabulary_of(tokenizer)

    def of(self, tag: str, texts: Sequence[str], *, is_ebnf: bool = False) -> tuple[float, ...]:
        """Return compile time in ms, median, p99 and most of the masks in µs, and their number."""
        made = [timed(partial(self._compiled, tag, is_ebnf), process_time) for _ in range(3)]
        compiled = made[0][1]
        mask = self.xgrammar.allocate_token_bitmask(1, self.info.vocab_size)

        def fresh() -> _Walk:
            matcher = self.xgrammar.GrammarMatcher(compiled)
            return (
                partial(matcher.fill_next_token_bitmask, mask),
                lambda token: matcher.accept_token(token) and not matcher.is_terminated(),
            )

        masks_ = _least_masks(fresh, map(self.tokenizer.encode, texts))
        return (min(took for took, _ in made) * 1e3, *masks_)

    def _compiled(self, grammar: str, is_ebnf: bool) -> Any:
        compiler = self.xgrammar.GrammarCompiler(self.info, max_threads=1, cache_enabled=False)
        compiles = compiler.compile_grammar if is_ebnf else compiler.compile_structural_tag
        return compiles(grammar)


_Walk: TypeAlias = tuple[Callable[[], object], Callable[[int], object]]
"""Fills the next mask of an answer, and accepts a token of it, or returns False."""


def _least_masks(
    fresh: Callable[[], _Walk], answers: Iterable[Sequence[int]], passes: int = 3
) -> tuple[float, float, float, int]:
    """Return median, p99 and most of the masks in µs along answers, and their number.

    Each mask is the least of some passes, and an answer is walked until a token is refused.
    """
    masks_: list[float] = []
    for tokens in answers:
        least: list[float] = []
        for _ in range(passes):
            fill, accept = fresh()
            for at, token in enumerate(tokens):
                took, _ = timed(fill, thread_time)
                if at == len(least):
                    least.append(took * 1e6)
                least[at] = min(least[at], took * 1e6)
                if accept(token) is False:
                    break
        masks_ += least
    masks_.sort()
    return statistics.median(masks_), masks_[int(len(masks_) * 0.99)], masks_[-1], len(masks_)


def real_masks(folder: Path) -> Iterator[str]:
    """Return compile times and masks of real tools under each form, beside the library's own.

    The tools are `MASKED` of a folder, and the answers two valid calls of each. The library's own
    tags and schemas are of the same tools without the keywords that the form beside them omits.
    """
    xgrammar: Any = importlib.import_module("xgrammar")
    offered, known = _real_tools(folder)[:MASKED], corpus()
    calls = [
        ToolCall(tool.name, arguments_, "abcDEF123")
        for tool in map(with_calls, offered)
        for arguments_ in tool.valid[:2]
    ]
    columns = ("compile ms", "median µs", "p99", "most", "walked")
    yield f"{f'{len(calls)} calls of {len(offered)} tools':<52}{cells(columns, '>11')}"
    for name, vocabulary in REAL.items():
        tokenizer, analysis = vocabulary(), analysis_at(known[name])
        # A template may raise on the definition of a tool, but not on calls of it.
        turns, notation = analysis.turns(AGENT_TOOLS), analysis.format.calls
        naming = None if notation is None else notation.naming
        named = [
            call if naming is None else replace(call, id=naming.write(call.name, 0))
            for call in calls
        ]
        written = [turns.written_turn(Message("", calls=(call,))) for call in named]
        texts = [text for text in map(_behind_prompt, written) if text]
        grammar = analysis.grammar(offered, tool_choice="required", prompt=written[0].prompt)
        asked = _TagCosts(xgrammar, tokenizer)
        rows = {
            "tag": asked.of(json.dumps(grammar.structural_tag()), texts),
            "EBNF": asked.of(grammar.ebnf(), texts, is_ebnf=True),
        }
        if name in TAGGED_MODELS:
            its = xgrammar.get_model_structural_tag(
                TAGGED_MODELS[name],
                tools=_without_loosened(grammar, "structural_tag", offered),
                tool_choice="required",
                reasoning=False,
            ).model_dump_json()
            alone = [_from_first(grammar.triggers, text) for text in texts]
            rows["xgrammar's own tag"] = max(
                (asked.of(its, given) for given in (texts, alone)), key=itemgetter(-1)
            )
        opened = analysis.grammar(
            [_opened(tool) for tool in offered], tool_choice="required", prompt=written[0].prompt
        )
        for title, made in (("Lark", grammar), ("Lark, undeclared parameters allowed", opened)):
            rows[title] = _llguidance_costs(
                tokenizer.ll_with(made.slices(tokenizer)),
                LLMatcher.grammar_from_lark(made.lark(tokenizer)),
                map(tokenizer.encode, texts),
            )
        schemas = [*map(_parameters, _without_loosened(grammar, "lark", offered))]
        rows["llguidance's own schemas"] = _llguidance_costs(
            tokenizer.ll,
            _any_of([json.dumps({**schema, "x-guidance": _LENIENT}) for schema in schemas]),
            (tokenizer.encode(json.dumps(call.arguments)) for call in calls),
        )
        for title, costs in rows.items():
            yield f"{f'{name}, {title}':<52}{cells((f'{cost:.0f}' for cost in costs), '>11')}"


def _opened(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool that allows undeclared parameters."""
    parameters = {**_parameters(tool), "additionalProperties": True}
    return {**tool, "function": {**tool["function"], "parameters": parameters}}


MASKED = 50
_LENIENT = {"lenient": True}


def _without_loosened(
    grammar: Grammar, form: GrammarForm, offered: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return tools without the keywords that a form of their grammar omits."""
    found = {tool["function"]["name"]: deepcopy(tool) for tool in offered}
    for loosening in grammar.loosened(form):
        function = found[loosening.tool]["function"]
        function["parameters"] = without_keyword(function["parameters"], loosening.pointer)
    return [*found.values()]


def _llguidance_costs(
    loaded: LLTokenizer, grammar: str, answers: Iterable[Sequence[int]]
) -> tuple[float, ...]:
    """Return load time in ms, median, p99 and most of the masks in µs, and their number."""
    least = min(timed(partial(LLMatcher, loaded, grammar), process_time)[0] for _ in range(3))
    first = LLMatcher(loaded, grammar, log_level=0)
    if first.is_error():
        raise ValueError(first.get_error())
    mask = allocate_token_bitmask(1, loaded.vocab_size)

    def fresh() -> _Walk:
        matcher = first.deep_copy()
        return (
            partial(fill_next_token_bitmask, matcher, mask),
            lambda token: bool(matcher.consume_token(token)),
        )

    return (least * 1e3, *_least_masks(fresh, answers))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    named = {"states": states, "tags": tags, "answers": answers}
    parser.add_argument("table", nargs="?", choices=[*named], help="this table alone")
    parser.add_argument("--real-tools", metavar="FOLDER", type=Path)
    options = parser.parse_args()
    if options.real_tools is not None:
        of_real = real_masks if options.table == "tags" else real_creation
        print_lines(of_real(options.real_tools))
        return
    took, tokenizer = timed(qwen)
    tokenizer.bytes_of(0)
    print_lines([f"loading the tokenizer: {took:.1f} s", ""])
    tables = (named[options.table],) if options.table else (creation, masks, tags)
    for table in tables:
        print_lines(table(tokenizer))


if __name__ == "__main__":
    main()
