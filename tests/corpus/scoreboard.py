"""The neutral scoreboard: the cases of the package canitoolcall, read in place and by its checks.

A case is what a model wrote, the tools that it was offered and what a right reader gives. Each is
read with a template of the corpus, in one piece, by single characters and in random pieces, and the
package's own checks decide. Where the corpus lacks a model's template, `TEMPLATES` says which one
stands for it; where none does, the case is counted as not asked.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import distribution, version
from pathlib import Path

from canitoolcall.checks import case_status, run_checks
from canitoolcall.fixtures import Family, Fixture, load_families, load_fixtures
from canitoolcall.results import Observation, ParsedToolCall, ParseResult, StreamAccumulator

from autoparser import ChatTemplate
from autoparser.analysis.analysis import Analysis, analyze
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import ParsedMessage

from .corpus_templates import corpus_paths

REASONS: Mapping[str, str] = {
    "deepseek/vllm-v3-malformed-missing-call-tokens": (
        "a call of an offered tool whose own opener is missing is read where its arguments are"
        " whole, as other cases want it"
    ),
    "gemma4/vllm-text-before-call": (
        "the template writes nothing before a call, so that a space there is content, as"
        " gemma4/sglang-text-before-call wants it"
    ),
    "gpt-oss/llamacpp-builtin-python-recipient": (
        "a recipient that was not offered is not a call, and its text is given as content,"
        " not dropped"
    ),
    "llama/l4-truncated-missing-close-bracket": (
        "a call that closed before the text was cut is given, as other cases want it"
    ),
    "llama/l4-vllm-pythonic-python-start-end": (
        "the template that stands for this model knows none of these markers"
    ),
}
"""Cases that are read otherwise than their authors want, and why."""


@dataclass(frozen=True, slots=True)
class Stand:
    """The template that a model's cases are read with."""

    name: str
    """The file's stem, in the corpus or in a directory that is given."""
    respelled: tuple[tuple[str, str], ...] = ()
    """What is written otherwise in it, where a model has no Jinja template of its own."""


TEMPLATES: Mapping[str, Stand] = {
    "Qwen/Qwen3-0.6B": Stand("Qwen-Qwen3-0.6B"),
    "Qwen/Qwen3-4B-Instruct-2507": Stand("Qwen-Qwen3-4B-Instruct-2507"),
    "Qwen/Qwen3-4B-Thinking-2507": Stand("Qwen-Qwen3-4B-Thinking-2507"),
    "Qwen/Qwen3-Coder-30B-A3B-Instruct": Stand("Qwen-Qwen3-Coder-30B-A3B-Instruct"),
    "Qwen/Qwen3-Coder-Next": Stand("Qwen-Qwen3-Coder-Next"),
    "Qwen/Qwen3.5-9B": Stand("Qwen3.5-4B"),
    "Qwen/Qwen3.8-27B": Stand("Qwen-Qwen3.6-35B-A3B"),
    "deepseek-ai/DeepSeek-V3-0324": Stand("yujiepan-deepseek-v3-tiny-random"),
    "deepseek-ai/DeepSeek-V3.1": Stand("deepseek-ai-DeepSeek-V3.1"),
    "deepseek-ai/DeepSeek-V3.2": Stand("deepseek-ai-DeepSeek-V3.2"),
    "deepseek-ai/DeepSeek-V4-Flash": Stand("unsloth-DeepSeek-V4-Flash"),
    # Its own renderer is a Python program. It writes as the one before does, in other words.
    "deepseek-ai/DeepSeek-V4.1-Flash": Stand(
        "unsloth-DeepSeek-V4-Flash",
        (
            ("dsml_token + 'tool_calls>", "dsml_token + ' calls>"),
            ("dsml_token + 'invoke", "dsml_token + ' invoke"),
            ("dsml_token + 'parameter", "dsml_token + ' parameter"),
        ),
    ),
    "google/gemma-4-31B-it": Stand("google-gemma-4-31B-it"),
    "meta-llama/Llama-3.3-70B-Instruct": Stand("meta-llama-Llama-3.1-8B-Instruct"),
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": Stand("baseten-Llama-3.2-3B-Instruct-pythonic"),
    "mistralai/Devstral-Small-2507": Stand("unsloth-mistral-Devstral-Small-2507"),
    "mistralai/Magistral-Small-2509": Stand("mistralai-Ministral-3-14B-Reasoning-2512"),
    "mistralai/Ministral-3-14B-Instruct-2512": Stand("mistralai-Ministral-3-14B-Instruct-2512"),
    "mistralai/Ministral-3-14B-Reasoning-2512": Stand("mistralai-Ministral-3-14B-Reasoning-2512"),
    "mistralai/Mistral-7B-Instruct-v0.3": Stand("mistralai-Mistral-7B-Instruct-v0.3"),
    "mistralai/Mistral-Small-3.2-24B-Instruct-2506": Stand("Mistral-Small-3.2-24B-Instruct-2506"),
    "moonshotai/Kimi-K2-Instruct-0905": Stand("moonshotai-Kimi-K2-Instruct-0905"),
    "moonshotai/Kimi-K2.6": Stand("moonshotai-Kimi-K2.6"),
    "moonshotai/Kimi-K3": Stand("Kimi-K3"),
    "openai/gpt-oss-20b": Stand("unsloth-gpt-oss-20b"),
    "zai-org/GLM-4.5": Stand("zai-org-GLM-4.5-Air"),
    "zai-org/GLM-4.7": Stand("GLM-4.7-Flash"),
    "zai-org/GLM-5.3": Stand("zai-org-GLM-5.2"),
}


@dataclass(frozen=True, slots=True)
class Case:
    """What became of one case."""

    id: str
    family: str
    model: str
    status: str
    """pass, soft_pass (edge whitespace alone differs), fail, or unasked."""
    why: str = ""
    raw: str = ""
    prompt: str | None = None


def cases(families: Sequence[str] = (), directories: Sequence[Path] = ()) -> list[Case]:
    """Read every case of the families, of all where none is named."""
    known = load_families()
    found = load_fixtures(families=families or None)
    return [_case(fixture, known[fixture.family], tuple(directories)) for fixture in found]


def unsound(found: Sequence[Case]) -> list[Case]:
    """The cases that were asked and did not pass, be it by edge whitespace alone."""
    return [case for case in found if case.status not in {"pass", "unasked"}]


def unexplained_cases(found: Sequence[Case]) -> list[Case]:
    """The cases that did not pass without a known reason."""
    return [case for case in unsound(found) if case.id not in REASONS]


def _case(fixture: Fixture, family: Family, directories: tuple[Path, ...]) -> Case:
    analysis = analysis_for(fixture.reference_model, directories)
    case = Case(
        fixture.id,
        fixture.family,
        fixture.reference_model,
        "unasked",
        "no template of the corpus writes as this model does",
        fixture.raw_output,
        fixture.generation_prompt,
    )
    return case if analysis is None else _judged(case, fixture, family, analysis)


def _judged(case: Case, fixture: Fixture, family: Family, analysis: Analysis) -> Case:
    rows = run_checks(fixture, family, observed(analysis, fixture))
    status = case_status(rows)
    bad = [f"{row.check} {row.strategy}: {row.detail}" for row in rows if row.detail]
    return replace(case, status=status.value, why=bad[0] if bad else "")


@cache
def analysis_for(model: str, directories: tuple[Path, ...]) -> Analysis | None:
    stand = TEMPLATES.get(model)
    if stand is None:
        return None
    places = [*corpus_paths(), *(path for each in directories for path in each.glob("*.jinja"))]
    path = next((path for path in places if path.stem == stand.name), None)
    if path is None:
        return None
    text = path.read_text(encoding="utf-8")
    for written, other in stand.respelled:
        text = text.replace(written, other)
    return analyze(ChatTemplate(text, name=stand.name))


def observed(analysis: Analysis, fixture: Fixture) -> Observation:
    parser = analysis.parser(list(fixture.tools), prompt=fixture.generation_prompt)
    whole = not fixture.truncated
    text = fixture.raw_output
    return Observation(
        nonstream=_result(parser.parse(text, complete=whole)),
        streams={
            "one": _streamed(parser, [text], whole),
            "token": _streamed(parser, list(text), whole),
            "rand:1:8": _streamed(parser, list(_pieces(text)), whole),
        },
    )


def _result(message: ParsedMessage) -> ParseResult:
    calls = tuple(ParsedToolCall(call.name, call.arguments) for call in message.tool_calls)
    return ParseResult(message.content, message.reasoning_content, calls)


def _streamed(parser: OutputParser, pieces: Sequence[str], complete: bool) -> ParseResult:
    """Add the deltas up, as a client does; calls that never closed are left out."""
    stream = parser.stream()
    heard = StreamAccumulator()
    deltas = [delta for piece in pieces for delta in stream.feed(piece)]
    for delta in [*deltas, *stream.finish(complete=complete)]:
        heard.add_openai_delta(delta.to_openai())
    result = heard.result()
    return replace(result, tool_calls=result.tool_calls[: len(stream.message.tool_calls)])


def _pieces(text: str) -> Iterator[str]:
    chance = random.Random(1)
    at = 0
    while at < len(text):
        size = chance.randint(1, 24)
        yield text[at : at + size]
        at += size


STATUSES = ("pass", "soft_pass", "fail", "unasked")

ALL = len(load_fixtures())
"""How many cases the package has."""

PUBLISHED = re.compile(
    r"^\| (?P<engine>[^|]+) \| (?P<version>[^|]+)(?: \| (?P<asked>\d+))"
    r" \| (?P<good>\d+) \| (?P<soft>\d+) \| (?P<bad>\d+) \|",
    re.MULTILINE,
)
"""A row of the table of engines in the package's own description."""


def score_table(found: Sequence[Case], *, failing: bool = False) -> str:
    """Count by family, then name what is not right; `failing` shows each text and difference."""
    return "\n".join(_lines(found, failing)) + "\n"


def _lines(found: Sequence[Case], failing: bool) -> Iterator[str]:
    yield f"canitoolcall {version('canitoolcall')}: {len(found)} cases"
    yield f"{'':24}{'pass':>6}{'soft':>6}{'fail':>6}{'not asked':>11}"
    for family in dict.fromkeys(case.family for case in found):
        yield table_row(family, [case for case in found if case.family == family])
    yield table_row("autoparser", found)
    yield ""
    yield "what the package publishes of engines, by its own replay (not asked: not supported)"
    yield from published_rows()
    yield ""
    for case in found:
        if case.status != "pass":
            yield from _named(case, failing)


def published_rows() -> list[str]:
    """Return what the package's own description tells of engines, a row each."""
    rows: list[str] = []
    for row in PUBLISHED.finditer(distribution("canitoolcall").read_text("METADATA") or ""):
        good, soft, bad, asked = (int(row[name]) for name in ("good", "soft", "bad", "asked"))
        title = f"{row['engine'].strip()} {row['version'].strip(' `')}"
        rows.append(f"{title:24}{good:>6}{soft:>6}{bad:>6}{ALL - asked:>11}")
    return rows


def _named(case: Case, failing: bool) -> Iterator[str]:
    if case.status == "unasked" and not failing:
        return
    yield f"{case.status:9} {case.id}"
    if case.id in REASONS:
        yield f"{'':10}{REASONS[case.id]}"
    if failing:
        yield f"{'':10}{case.model}, behind {case.prompt!r}"
        yield f"{'':10}{case.raw!r}"
        yield f"{'':10}{case.why}"


def table_row(title: str, found: Sequence[Case]) -> str:
    """Count cases by their status, in the columns of the table."""
    counted = Counter(case.status for case in found)
    good, soft, bad, unasked = (counted[status] for status in STATUSES)
    return f"{title:24}{good:>6}{soft:>6}{bad:>6}{unasked:>11}"
