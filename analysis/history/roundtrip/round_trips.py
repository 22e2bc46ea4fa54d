"""All scenarios, times the switches that the analysis found, times the next role."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.switches import Effect, Switch
from autoparser.analysis.inference.probing import Setting
from autoparser.shown import Shown

from .cause import Cause
from .profiles import EngineProfile, engine_decides, played_by
from .replay import ReplayStage
from .scenario import Next, Scenario
from .token_level import Encoder
from .verdict import Outcome, Verdict, judge

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MOST_SETTINGS = 12
"""So many settings of the switches are tried; the report says how many were left out."""

Progress = Callable[[int, int], None]
"""Told how many scenarios of how many are done."""


@dataclass(frozen=True, slots=True)
class Row:
    """One scenario with one next role: the usual verdict, and those under other settings."""

    scenario: Scenario
    verdict: Verdict
    """Under the first setting to which it applies: the template's usual one, where that does."""
    others: tuple[Verdict, ...] = ()
    """Under the further settings to which it applies."""

    @property
    def next(self) -> Next:
        """Whose message comes next."""
        return self.verdict.next

    @property
    def differing(self) -> tuple[Verdict, ...]:
        """The verdicts that are not the usual one."""
        usual = self.verdict
        return tuple(
            each
            for each in self.others
            if (each.outcome, each.holds, each.cause) != (usual.outcome, usual.holds, usual.cause)
        )


@dataclass(frozen=True, slots=True, repr=False)
class RoundTrip(Shown):
    """The verdicts on one template."""

    shown_as: ClassVar[str] = "round trip"

    rows: tuple[Row, ...]
    """Scenarios that apply, in their order."""
    left_out: tuple[tuple[Scenario, Next, str], ...]
    """Those that do not, and why."""
    settings: tuple[Setting, ...]
    """The settings of the switches that were tried, the usual one first."""
    untried: int
    """How many more settings there are."""
    tokenized: bool
    """Whether there was a tokenizer."""
    split_stops: tuple[tuple[str, int], ...] = ()
    """Stop strings that the tokenizer takes for several tokens: it may not be the model's."""
    profile: EngineProfile | None = None
    """The engine that was played; None where each scenario has habits of its own."""
    beyond: int = 0
    """Renders that a limit ended, of the analysis too: what they would have shown is missing."""

    def __repr__(self) -> str:
        """Count the outcomes, in one line."""
        counts = Counter(row.verdict.outcome.value for row in self.rows)
        told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        return f"<{type(self).__name__}: {told or 'no scenario applies'}>"


def round_trip(
    analysis: Analysis,
    scenarios: Sequence[Scenario],
    *,
    tokenizer: Tokenizer | None = None,
    setting: Setting | None = None,
    profile: EngineProfile | None = None,
    progress: Progress | None = None,
) -> RoundTrip:
    """Play every scenario under every setting that may matter.

    With `profile` the engine is that one, and scenarios about another engine's habits are left
    out. With `setting` only that one, on top of the template's usual one, is tried. Raises
    AutoparserError for a tokenizer that cannot encode.
    """
    stage = ReplayStage(analysis)
    encoder = None if tokenizer is None else Encoder(tokenizer)
    usual = analysis.formats.base
    every = [{**usual, **setting}] if setting else list(settings_of(analysis))
    chosen = tuple(every[:MOST_SETTINGS])
    rows: list[Row] = []
    left_out: list[tuple[Scenario, Next, str]] = []
    for at, given in enumerate(scenarios):
        scenario = given if profile is None else played_by(given, profile)
        for coming in given.next:
            if profile is not None and engine_decides(given):
                reason = f"{profile.engine.name} decides what it is about"
                left_out.append((given, coming, reason))
                continue
            verdicts = [judge(stage, scenario, coming, each, encoder) for each in chosen]
            applying = [verdict for verdict in verdicts if verdict.applies]
            if applying:
                rows.append(Row(scenario, applying[0], tuple(applying[1:])))
            else:
                left_out.append((scenario, coming, verdicts[0].reason))
        if progress is not None:
            progress(at + 1, len(scenarios))
    return RoundTrip(
        tuple(rows),
        tuple(left_out),
        chosen,
        len(every) - len(chosen),
        encoder is not None,
        () if encoder is None else tuple(_split(analysis, encoder)),
        profile,
        analysis.beyond + stage.beyond,
    )


def _split(analysis: Analysis, encoder: Encoder) -> Iterator[tuple[str, int]]:
    for stop in dict.fromkeys(stop for each in analysis.formats for stop in each.stop_strings):
        size = encoder.size(stop)
        if size > 1:
            yield stop, size


_MATTERING = frozenset(
    {Effect.GENERATION_PROMPT, Effect.HISTORY_REASONING, Effect.TURN, Effect.CALLS}
)


def settings_of(analysis: Analysis) -> Iterator[Setting]:
    """Return the settings of the switches that may matter, the template's usual one first.

    Those are the values that change the generation prompt, the turn or what becomes of earlier
    reasoning, and the pairs of a value that changes the prompt and one that changes the history.
    A switch that only changes the text before the turn is not tried.
    """
    usual = analysis.formats.base
    single = [
        (switch, value, set(effects))
        for switch in analysis.switches
        for value, effects in _values(switch)
        if set(effects) & _MATTERING
    ]
    seen: list[Setting] = [usual]
    yield usual
    changes: list[dict[str, Json]] = [{}] if usual else []
    changes += [{switch.name: value} for switch, value, _ in single]
    changes += [
        {one.name: left, other.name: right}
        for one, left, effects in single
        for other, right, others in single
        if one is not other
        and Effect.GENERATION_PROMPT in effects
        and Effect.HISTORY_REASONING in others
        and Effect.GENERATION_PROMPT not in others
    ]
    for change in changes:
        setting = {**usual, **change} if change else {}
        if setting not in seen:
            seen.append(setting)
            yield setting


def _values(switch: Switch) -> Iterator[tuple[Json, tuple[Effect, ...]]]:
    if not switch.inserted:
        for value, effects in zip(switch.values, switch.effects, strict=True):
            if Effect.RAISES not in effects:
                yield value, effects


def failing(rows: Sequence[Row], wanted: Sequence[str]) -> list[Row]:
    """Return the rows whose usual verdict is one of these: `any`, `string`, `tokens`, causes."""
    return [row for row in rows if _kinds(row.verdict) & set(wanted)]


def _kinds(verdict: Verdict) -> set[str]:
    kinds: set[str] = set()
    if not verdict.holds:
        kinds.add("any")
        kinds |= {"string"} if verdict.outcome is not Outcome.HOLDS else set()
        kinds |= {"tokens"} if verdict.tokens is None or not verdict.tokens.holds else set()
    if verdict.cause is not None:
        kinds.add(code_of(verdict.cause))
    return kinds


def code_of(cause: Cause) -> str:
    """Return a cause as one word for a command line."""
    return cause.value.lower().replace(" ", "-")
