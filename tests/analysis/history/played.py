"""Playing scenarios through fixtures and through small templates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tokenizers import Tokenizer

from autoparser import Analysis, ChatTemplate, analyze
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.history.round_trips import Row, round_trip
from autoparser.analysis.history.scenario_files import shipped_scenarios
from autoparser.analysis.history.scenarios import Next, Scenario
from autoparser.analysis.history.trip_verdict import Verdict

TEMPLATES = Path(__file__).parents[3] / "fixtures" / "templates"
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


@cache
def fixture(name: str) -> Analysis:
    """Analyse a fixture, once."""
    text = (TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8")
    return analyze(ChatTemplate(text, TOKENS, name))


def shipped(name: str) -> Scenario:
    """Return a scenario of the package."""
    return next(each for each in shipped_scenarios() if each.name == name)


def rows(
    analysis: Analysis,
    scenarios: Sequence[Scenario],
    *,
    tokenizer: Tokenizer | None = None,
    setting: dict[str, Json] | None = None,
) -> tuple[Row, ...]:
    """Play scenarios."""
    return round_trip(analysis, scenarios, tokenizer=tokenizer, setting=setting).rows


def verdict(
    analysis: Analysis,
    name: str | Scenario,
    coming: Next,
    *,
    tokenizer: Tokenizer | None = None,
    setting: dict[str, Json] | None = None,
) -> Verdict:
    """Play one scenario with one next role, under the usual setting and `setting`."""
    scenario = shipped(name) if isinstance(name, str) else name
    found = rows(analysis, [scenario], tokenizer=tokenizer, setting=setting)
    return next(row.verdict for row in found if row.next is coming)
