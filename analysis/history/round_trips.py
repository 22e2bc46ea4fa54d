"""Play all scenarios under all settings of switches and next roles, and advise how to fix breaks.

`round_trip` gives each scenario with each next role a `TripRow` of verdicts, one for each setting
of `trip_settings`; `advice_of` returns how to fix a row: by the template, the engine, or the
caller.

For a template that writes reasoning only in the last message, the row of the scenario "reasoning +
answer" with a user message next is

    verdict   breaks by "reasoning dropped", the template's fault
    advice    template author: keep reasoning by default in tool loops, and offer a switch …
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import yaml

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.message_shape import Setting
from autoparser.analysis.core.switches import Switch, SwitchEffect
from autoparser.analysis.parsing.parsed_message import Status
from autoparser.shown import Shown

from .conversation_replay import ReplayStage
from .scenarios import EngineProfile, Next, Scenario, UnreadCalls
from .trip_causes import Cause, Culprit
from .trip_verdict import Encoder, Outcome, Verdict, judge_scenario

if TYPE_CHECKING:
    from tokenizers import Tokenizer


MOST_SETTINGS = 12
"""The most settings of switches that are tried; the report shows how many were left out."""

Progress = Callable[[int, int], None]
"""Called with the number of scenarios done and of all."""


@dataclass(frozen=True, slots=True)
class TripRow:
    """One scenario with one next role: the usual verdict, and those under other settings."""

    scenario: Scenario
    """The scenario, such as `"reasoning + answer"`, whose engine a profile replaces."""
    verdict: Verdict
    """The verdict under the first applicable setting, such as one with `Outcome.HOLDS`, which is
    the default if that applies."""
    others: tuple[Verdict, ...] = ()
    """The verdicts under the other applicable settings, such as that under
    `{"preserve_thinking": True}`."""

    @property
    def next(self) -> Next:
        """The sender of the next message."""
        return self.verdict.next

    @property
    def differing(self) -> tuple[Verdict, ...]:
        """The verdicts that are not the usual one."""
        usual = self.verdict
        return tuple(
            other
            for other in self.others
            if (other.outcome, other.holds, other.cause)
            != (usual.outcome, usual.holds, usual.cause)
        )


@dataclass(frozen=True, slots=True, repr=False)
class RoundTrip(Shown):
    """The round trips of one template, e.g. `<RoundTrip: 42 holds, 14 breaks>`."""

    shown_as: ClassVar[str] = "round trip"
    """The name of its report: `"round trip"`."""

    rows: tuple[TripRow, ...]
    """Scenarios that apply, in their order, such as `"answer"`."""
    left_out: tuple[tuple[Scenario, Next, str], ...]
    """The scenarios that do not apply, such as `"spaced JSON"`, with the reason, such as
    `"the variation changes nothing"`."""
    settings: tuple[Setting, ...]
    """The settings of the switches that were tried, the usual one first, such as
    `({}, {"enable_thinking": False})`."""
    untried: int
    """The number of settings beyond `MOST_SETTINGS`."""
    tokenized: bool
    """Whether there was a tokenizer, so that verdicts have a `TokenVerdict`."""
    split_stops: tuple[tuple[str, int], ...] = ()
    """Stop strings that the tokenizer takes for several tokens, such as `(("<|im_end|>", 10),)`: it
    may not be the model's."""
    profile: EngineProfile | None = None
    """The engine that was played, such as `"vLLM"`, or None if each scenario has habits of its own.
    """
    beyond: int = 0
    """The number of renders that ran into a limit, usually 0, the analysis's included; their
    results are missing."""

    def __repr__(self) -> str:
        """Count the outcomes, in one line."""
        counts = Counter(row.verdict.outcome.value for row in self.rows)
        summary = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        return f"<{type(self).__name__}: {summary or 'no scenario applies'}>"


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

        found = round_trip(analysis, shipped_scenarios())

    With `profile`, scenarios are played as on that engine, and those about the habits of other
    engines are skipped. With `setting`, only this one is tried, on top of the template's defaults.
    Raises AutoparserError for a tokenizer that cannot encode.
    """
    stage = ReplayStage(analysis)
    encoder = None if tokenizer is None else Encoder(tokenizer)
    usual = analysis.formats.base
    every = [{**usual, **setting}] if setting else list(trip_settings(analysis))
    chosen = tuple(every[:MOST_SETTINGS])
    rows: list[TripRow] = []
    left_out: list[tuple[Scenario, Next, str]] = []
    for at, given in enumerate(scenarios):
        scenario = given if profile is None else replace(given, engine=profile.engine)
        for coming in given.next:
            if profile is not None and given.about_engine:
                # The profile would replace the habit that the scenario tests.
                reason = f"{profile.name} overrides the habit that it tests"
                left_out.append((given, coming, reason))
                continue
            verdicts = [judge_scenario(stage, scenario, coming, tried, encoder) for tried in chosen]
            applying = [verdict for verdict in verdicts if verdict.applies]
            if applying:
                # The usual setting may not apply, such as reasoning where the prompt closes it by
                # default.
                rows.append(TripRow(scenario, applying[0], tuple(applying[1:])))
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
        () if encoder is None else tuple(_split_stops(analysis, encoder)),
        profile,
        analysis.beyond + stage.beyond,
    )


def _split_stops(analysis: Analysis, encoder: Encoder) -> Iterator[tuple[str, int]]:
    for stop in dict.fromkeys(
        stop for format_ in analysis.formats for stop in format_.stop_strings
    ):
        size = encoder.size(stop)
        if size > 1:
            yield stop, size


_MATTERING = frozenset(
    {
        SwitchEffect.GENERATION_PROMPT,
        SwitchEffect.HISTORY_REASONING,
        SwitchEffect.TURN,
        SwitchEffect.CALLS,
    }
)


def trip_settings(analysis: Analysis) -> Iterator[Setting]:
    """Yield the settings of the switches that may matter, the template's usual one first.

    These are the values that change the generation prompt, the turn or the treatment of earlier
    reasoning, and pairs of a value that changes the prompt and one that changes the history. A
    switch that changes only the text before the turn is not tried.
    """
    usual = analysis.formats.base
    single = [
        (switch, value, set(effects))
        for switch in analysis.switches
        for value, effects in _switch_values(switch)
        if set(effects) & _MATTERING
    ]
    seen: list[Setting] = [usual]
    yield usual
    # A template that needs variables to render is also played without them.
    changes: list[dict[str, Json]] = [{}] if usual else []
    changes += [{switch.name: value} for switch, value, _ in single]
    changes += [
        {one.name: left, other.name: right}
        for one, left, effects in single
        for other, right, others in single
        # Two values of one switch exclude each other.
        if one is not other
        and SwitchEffect.GENERATION_PROMPT in effects
        and SwitchEffect.HISTORY_REASONING in others
        and SwitchEffect.GENERATION_PROMPT not in others
    ]
    for change in changes:
        setting = {**usual, **change} if change else {}
        if setting not in seen:
            seen.append(setting)
            yield setting


def _switch_values(switch: Switch) -> Iterator[tuple[Json, tuple[SwitchEffect, ...]]]:
    if not switch.inserted:
        for value, effects in zip(switch.values, switch.effects, strict=True):
            # A value on which the template raises has no prompt to play.
            if SwitchEffect.RAISES not in effects:
                yield value, effects


def failing_rows(rows: Sequence[TripRow], wanted: Sequence[str]) -> list[TripRow]:
    """Return the rows whose usual verdict is one of these: `any`, `string`, `tokens`, causes."""
    return [row for row in rows if _verdict_kinds(row.verdict) & set(wanted)]


def _verdict_kinds(verdict: Verdict) -> set[str]:
    kinds: set[str] = set()
    if not verdict.holds:
        kinds.add("any")
        kinds |= {"string"} if verdict.outcome is not Outcome.HOLDS else set()
        # Texts that differ have tokens that differ, so a verdict without tokens counts as both.
        kinds |= {"tokens"} if verdict.tokens is None or not verdict.tokens.holds else set()
    if verdict.cause is not None:
        kinds.add(cause_code(verdict.cause))
    return kinds


def cause_code(cause: Cause) -> str:
    """Return a cause as one word for a command line."""
    return cause.value.lower().replace(" ", "-")


# Advice: how to fix a round trip, for the template's writer, the engine's operator or the caller.


class AdviceReader(StrEnum):
    """The reader that an advice addresses."""

    TEMPLATE = "template author"
    ENGINE = "engine"
    CALLER = "caller"


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to do."""

    reader: AdviceReader
    """The reader whom it addresses, such as `AdviceReader.TEMPLATE`."""
    text: str
    """The advice, such as `"decode the arguments before rendering"`."""


@lru_cache(maxsize=1)
def _advice_texts() -> Mapping[str, tuple[Advice, ...]]:
    """Return the advice of the package by the cause, and for calls that could not be read."""
    file = Path(__file__).with_name("advice.yaml")
    listed: Mapping[str, Mapping[str, str]] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return {
        cause: tuple(Advice(AdviceReader(reader), text) for reader, text in texts.items())
        for cause, texts in listed.items()
    }


_READ_STATUSES = (Status.OK, Status.UNFINISHED, Status.STRAY)
"""The statuses of a turn that was parsed without losing a call."""


def cause_advice(cause: Cause | str, setting: Setting | None = None) -> tuple[Advice, ...]:
    """Return the advice for a cause in any row; `setting` is one that is known to fix it."""
    advice = _advice_texts()[cause]
    if setting is None:
        return advice
    words = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in setting.items()
    )
    # The last advice of each cause is for the caller; a setting known to help replaces it.
    return (*advice[:-1], Advice(AdviceReader.CALLER, f"set {words}"))


def fixing_settings(rows: Iterable[TripRow], causes: Collection[Cause]) -> dict[Cause, Setting]:
    """Return for each cause the setting under which most of the rows hold that break by it."""
    seen: dict[Cause, Counter[str]] = {cause: Counter() for cause in causes}
    settings: dict[str, Setting] = {}
    for row in rows:
        cause, setting = row.verdict.cause, fixing_setting(row)
        if setting is not None and cause is not None and cause in seen:
            # Settings are dictionaries, which cannot be counted.
            name = json.dumps(setting, sort_keys=True)
            settings[name] = setting
            seen[cause][name] += 1
    return {cause: settings[found.most_common(1)[0][0]] for cause, found in seen.items() if found}


def advice_of(row: TripRow) -> tuple[Advice, ...]:
    """Return the advice that would fix a row, empty if it holds.

    A setting under which it was seen to hold replaces the advice for the caller.
    """
    cause = row.verdict.cause
    if cause is None:
        return ()
    # No template can render a call that the parser could not read, so the advice differs.
    unread = cause is Cause.CALL_LOST and row.verdict.status not in _READ_STATUSES
    setting = fixing_setting(row)
    by_template = cause is Cause.REASONING_DROPPED and row.verdict.fault is Culprit.TEMPLATE
    if by_template and setting is None:
        # The caller already returned the reasoning, and no switch keeps it.
        return cause_advice("reasoning dropped by the template")
    if not unread:
        return cause_advice(cause, setting)
    kept = row.scenario.engine.malformed is UnreadCalls.CONTENT
    return cause_advice("call unread, text kept" if kept else "call unread", setting)


def fixing_setting(row: TripRow) -> Setting | None:
    """Return the setting nearest to the usual one under which the row holds."""
    usual = row.verdict.setting
    holding = [other.setting for other in row.others if other.holds]
    # The fewest switches to set, since each may have other effects.
    best = min(holding, key=lambda held: len(changed_switches(usual, held)), default=None)
    return None if best is None else changed_switches(usual, best)


def changed_switches(usual: Setting, setting: Setting) -> Setting:
    """Return the switches that differ between two settings; None unsets a switch."""
    return {
        name: setting.get(name)
        for name in {**usual, **setting}
        if setting.get(name) != usual.get(name)
    }
