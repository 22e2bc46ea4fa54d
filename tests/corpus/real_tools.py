"""Check calls of real tools in templates of many formats and every form of a grammar.

For each tool, jsonschema decides which arguments are valid, the template renders the call, and each
form of the grammar is asked whether it accepts it: Lark and GBNF in llguidance, the structural tag
in xgrammar. Valid calls must be accepted, invalid ones refused, unless the rendered text is also
that of a valid value or the grammar reports the violated keyword as not enforced. Then all tools
are offered in one request.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from llguidance import grammar_from

from autoparser import Analysis, AutoparserError, Grammar, Json, Message, ToolCall
from autoparser.analysis.core.schema_loosened import without_keyword
from autoparser.analysis.core.text_alignment import common_prefix
from autoparser.analysis.grammar.schema_loosening import GrammarForm
from tests.fuzz.schemas.instances import ArgumentMaker
from tests.fuzz.schemas.trial import FORMATS, JUDGE

from .corpus_templates import Board, analysis_at, corpus_paths
from .grammar_readers import Taking, refused, started, taking_turns
from .rendered_turns import RenderedTurn, Silence, TurnRenderer

FORMS: tuple[GrammarForm, ...] = ("lark", "gbnf", "structural_tag")
EACH = 5
"""Valid values, and as many that are not, for each tool."""
TRIES = 300
"""Candidates that are made for them at most."""
ASKED = (
    "Qwen-Qwen3-0.6B",
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use",
    "meta-llama-Llama-3.1-8B-Instruct",
    "Mistral-Small-3.2-24B-Instruct-2506",
    "Qwen3-Coder",
    "GLM-4.6",
    "MiniMax-M2",
    "google-gemma-4-31B-it",
    "LFM2.5-8B-A1B",
    "deepseek-ai-DeepSeek-V3.2",
    "deepseek-ai-DeepSeek-V4",
    "meetkai-functionary-medium-v3.1",
    "openai-gpt-oss-120b",
    "moonshotai-Kimi-K2-Instruct",
)
"""Templates of the corpus: one of each way of writing calls."""


@dataclass(frozen=True, slots=True)
class RealTool:
    offered: dict[str, Any]
    valid: tuple[dict[str, Json], ...]
    invalid: tuple[dict[str, Json], ...]

    @property
    def name(self) -> str:
        return str(self.offered["function"]["name"])

    @property
    def schema(self) -> Json:
        parameters: Json = self.offered["function"].get("parameters") or {}
        return parameters


@dataclass
class ToolScore:
    counts: Counter[str] = field(default_factory=Counter[str])
    unwritten: dict[str, str] = field(default_factory=dict[str, str])
    loosened: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Keywords that the grammar drops, by reason."""
    wrong: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    """Tool, whether a valid call was refused or another one taken, and the call."""
    together: str = ""


TemplateScores: TypeAlias = tuple[str, Mapping[GrammarForm, ToolScore]]


def real_tools(folder: Path, every: int = 1) -> list[RealTool]:
    """Read every n-th tool of a folder, and make calls of it.

    Each file holds `tools`, as OpenAI wraps them.
    """
    files = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    return [
        with_calls(tool) for tool in [tool for file in files for tool in file["tools"]][::every]
    ]


def with_calls(tool: dict[str, Any]) -> RealTool:
    """Make valid and invalid calls of a tool, the same ones in each run."""
    schema = tool["function"].get("parameters") or {}
    maker = ArgumentMaker(random.Random(f"1 {tool['function']['name']}"), schema)
    judge = JUDGE(schema, format_checker=FORMATS)
    found: dict[bool, dict[str, dict[str, Json]]] = {True: {}, False: {}}
    for _ in range(TRIES):
        value = maker.meeting()
        for instance in (value, maker.missing(value)):
            kept = found[judge.is_valid(instance)]
            if isinstance(instance, dict) and len(kept) < EACH:
                kept[json.dumps(instance, sort_keys=True)] = instance
    return RealTool(tool, *(tuple(found[valid].values()) for valid in (True, False)))


def scores_of(path: Path, tools: Sequence[RealTool]) -> TemplateScores:
    analysis = analysis_at(path)
    scores: dict[GrammarForm, ToolScore] = {form: ToolScore() for form in FORMS}
    for tool in tools:
        _ask_alone(analysis, tool, scores)
    _ask_together(analysis, tools, scores)
    return path.stem, scores


def _turn_renderer(analysis: Analysis, tools: Sequence[RealTool]) -> TurnRenderer:
    """Return the turn renderer with these tools, or with others if the template raises on them."""
    plain = TurnRenderer(analysis, analysis.formats.base)
    given = replace(plain, offer=tuple(tool.offered["function"] for tool in tools))
    return plain if given.prompt is None else given


def _ask_alone(analysis: Analysis, tool: RealTool, scores: Mapping[GrammarForm, ToolScore]) -> None:
    asked = _turn_renderer(analysis, [tool])
    every = [(True, entry) for entry in tool.valid] + [(False, entry) for entry in tool.invalid]
    turns = [(valid, value, _turn(asked, tool, value)) for valid, value in every]
    rendered = [turn for turn in turns if turn[2].silence is None]
    grammar = analysis.grammar([tool.offered], prompt=asked.prompt)
    judge = JUDGE(tool.schema, format_checker=FORMATS)
    for form, score in scores.items():
        score.counts["tools"] += 1
        score.counts["unrendered"] += len(turns) - len(rendered)
        try:
            taking = _loaded(grammar, form)
        except Exception as error:  # noqa: BLE001 - an engine reads no such grammar
            kind = "" if isinstance(error, AutoparserError) else f"{type(error).__name__}: "
            score.unwritten[tool.name] = f"{kind}{error}".strip()[:300]
            continue
        score.counts["written"] += 1
        # Compare with the schema without the keywords that the grammar drops.
        schema, told = tool.schema, grammar.loosened(form)
        score.counts["loosened"] += bool(told)
        for loosening in told:
            where = f"{loosening.tool} {loosening.pointer}"
            score.loosened.setdefault(loosening.reason, []).append(where)
            schema = without_keyword(schema, loosening.pointer)
        held = JUDGE(schema, format_checker=FORMATS)
        for valid, value, turn in rendered:
            score.counts["valid" if valid else "invalid"] += 1
            taken = taking(turn)
            alike = [value] if taken is valid else [value, *_read_alike(asked, tool, grammar, turn)]
            if valid and taken:
                score.counts["taken"] += 1
            elif valid and not all(map(judge.is_valid, alike)):
                score.counts["altered"] += 1
            elif not (valid or taken):
                score.counts["kept out"] += 1
            elif not valid and any(map(judge.is_valid, alike)):
                score.counts["ambiguous"] += 1
            elif not valid and any(map(held.is_valid, alike)):
                score.counts["not held"] += 1
            else:
                score.wrong.append((tool.name, "taken" if taken else "refused", turn.text))


def _read_alike(
    asked: TurnRenderer, tool: RealTool, grammar: Grammar, turn: RenderedTurn
) -> Iterator[dict[str, Json]]:
    """Return the parsed message of a turn, if the template renders it to the same text."""
    calls = grammar.parser().parse(turn.text).tool_calls
    try:
        read = json.loads(calls[0].arguments) if len(calls) == 1 else None
    except ValueError:
        return
    if isinstance(read, dict) and _turn(asked, tool, read).text == turn.text:
        yield read


def _turn(asked: TurnRenderer, tool: RealTool, value: dict[str, Json]) -> RenderedTurn:
    """Return the template's text of a call after its prompt.

    Where the prompt has opened reasoning that no turn without any has, the call is reasoned about.
    Where it has closed it, the turn goes on from what both have.
    """
    call = ToolCall(tool.name, value, "abcDEF123")
    plain = asked.turn(tool.name, Message(calls=(call,)))
    if plain.silence is not Silence.OTHERWISE:
        return plain
    reasoned = asked.turn(tool.name, Message("", "This one.", (call,)))
    if reasoned.silence is None:
        return reasoned
    prompt = asked.prompt or ""
    text = plain.whole[len(common_prefix(plain.whole, prompt)) :]
    # The text may begin with the end of the prompt, which has opened a part that this turn lacks:
    # remove the overlap.
    again = max(at for at in range(len(text) + 1) if prompt.endswith(text[:at]))
    text = text[again:]
    least = len(text.encode()) - (len(asked.closing) if text.endswith(asked.closing) else 0)
    return replace(plain, text=text, least=least, silence=None)


def _loaded(grammar: Grammar, form: GrammarForm) -> Taking:
    if form == "structural_tag":
        return taking_turns(grammar.structural_tag())
    start = started(grammar if form == "lark" else grammar_from("gbnf", grammar.gbnf()))
    return lambda turn: not refused(start, turn.text, turn.least)


def _ask_together(
    analysis: Analysis, tools: Sequence[RealTool], scores: Mapping[GrammarForm, ToolScore]
) -> None:
    asked = _turn_renderer(analysis, tools)
    grammar = analysis.grammar([tool.offered for tool in tools], prompt=asked.prompt)
    turns = [
        turn
        for tool in tools
        for value in tool.valid[:1]
        if (turn := _turn(asked, tool, value)).silence is None
    ]
    for form, score in scores.items():
        try:
            taking = _loaded(grammar, form)
            taken = sum(map(taking, turns))
            loosened = len(grammar.loosened(form))
        except Exception as error:  # noqa: BLE001 - an engine reads no such grammar
            score.together = f"{type(error).__name__}: {str(error)[:200]}"
            continue
        score.together = f"{taken}/{len(turns)}, {loosened} left out"


_COLUMNS = (
    *("tools", "written", "loosened", "unrendered", "valid", "taken", "altered"),
    *("invalid", "kept out", "ambiguous", "not held"),
)


def _lines(found: Sequence[TemplateScores], *, failing: bool) -> Iterator[str]:
    columns = "".join(f"{name:>11}" for name in (*_COLUMNS, "wrong"))
    yield f"{'':46}{columns}  together"
    for name, scores in found:
        for form, score in scores.items():
            counts = "".join(f"{score.counts[column]:>11}" for column in _COLUMNS)
            yield f"{name[:30]:31}{form:15}{counts}{len(score.wrong):>11}  {score.together}"
    for name, scores in found:
        for form, score in scores.items():
            for tool, why in score.unwritten.items():
                yield f"unwritten {name} {form} {tool}: {why}"
            for reason, places in score.loosened.items():
                yield f"left out {name} {form}, {len(places)} such as {places[0]}: {reason}"
            wrong = score.wrong if failing else score.wrong[:3]
            for tool, way, text in wrong:
                yield f"{way} {name} {form} {tool}: {text[-300:]!r}"


def asked_paths() -> list[Path]:
    known = {path.stem: path for path in corpus_paths()}
    return [known[name] for name in ASKED if name in known]


def tools_board(tools: Sequence[RealTool], *, failing: bool = False) -> Board[Path, TemplateScores]:
    """Return the board of these tools; `failing` shows each call that came out wrong."""
    ask, lines = partial(scores_of, tools=tools), partial(_lines, failing=failing)
    return Board(
        ask,
        lines,
        lambda found: not any(score.wrong or score.unwritten for score in found[1].values()),
        chunk=1,
    )
