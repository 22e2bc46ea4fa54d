"""One format for every setting: the phases run once for all settings that write turns alike."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from autoparser.analysis.core.alignment import diff_split
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.format import Begun, Formats, TurnFormat, share, written_alike
from autoparser.analysis.inference.assembly import assemble
from autoparser.analysis.inference.learning.observer import Observer
from autoparser.analysis.inference.learning.openings import (
    PromptText,
    describe_openings,
    prompts_under,
)
from autoparser.analysis.inference.learning.settings_to_learn import settings_to_learn, turns_under
from autoparser.analysis.inference.phases import Draft, Finding, run_phases
from autoparser.analysis.inference.probing import Prober, Setting


@dataclass(frozen=True, slots=True)
class Learnt:
    """All formats, and how the one was found that shows most."""

    formats: Formats
    draft: Draft
    """What the phases found under the setting of the fullest format."""
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class _Group:
    """Settings under which turns are written alike."""

    settings: tuple[Setting, ...]
    turns: tuple[str, ...]

    def shows(self, words: tuple[str, ...]) -> bool:
        return any(word in text for word in words for text in self.turns)


def learn_formats(prober: Prober, draft: Draft, showing: Setting) -> Learnt:
    """Learn the format of every setting; `prober` has nothing set but what a render needs.

    The phases tell of the format under `showing`, the setting that brings reasoning into the text:
    with it in sight, what the others leave out of a turn can be named.
    """
    settings = settings_to_learn(prober.setting, showing, draft.switches)
    groups = _groups(prober, settings.each)
    turns = [turn for group in groups for turn in group.turns]
    draft = replace(
        draft,
        settings=settings.each,
        prompts=_signed(prober, groups, prompts_under(prober, settings.each)),
        beginnings=tuple(dict.fromkeys(_beginning(prober, turn) for turn in turns)),
    )
    main = next(group for group in groups if _holds(group, showing))
    observer = Observer(prober.using(setting=showing))
    concluded, findings = run_phases(observer, draft)
    fullest = assemble(observer, concluded, main.settings)
    formats = [
        fullest if group is main else _under(prober, draft, group, fullest) for group in groups
    ]
    shared = share(formats)
    # Sharing leaves the order, but may have put the fullest one into an equal one before it.
    full = next(each for each in shared if written_alike(each, fullest))
    together = Formats(tuple(shared), dict(prober.setting), fullest=full, untried=settings.untried)
    return Learnt(together, concluded, findings)


def format_under(
    prober: Prober, draft: Draft, formats: Formats, setting: Setting, *, tools: bool = True
) -> Begun:
    """Find what belongs to any setting, by renders where it is none of those that were learnt.

    `draft` is what is known before the phases. Raises AutoparserError where the template raises
    on the setting itself.
    """
    known = formats.under(setting, tools=tools)
    if known is not None:
        return known
    asked, setting = setting, {**formats.base, **setting}
    error = prober.probe((prober.user,), setting=setting).error
    if error is not None and prober.probe((prober.user,)).rendered:
        words = ", ".join(f"{name}={json.dumps(value)}" for name, value in asked.items())
        raise AutoparserError(
            f"the template raises under {words}: {error.reason}",
            file=prober.template.origin,
            place=None if error.line is None else f"line {error.line}",
            hint="give values that it takes",
        ) from error
    turns = turns_under(prober, setting)
    alike = (each for each in formats if turns_under(prober, each.setting) == turns)
    format_ = next(alike, None)
    if format_ is None:
        group = _Group((setting,), turns)
        known_settings = (*_settings(formats), setting)
        draft = replace(
            draft, settings=known_settings, prompts=prompts_under(prober, known_settings)
        )
        format_ = _under(prober, draft, group, formats.fullest)
        return Begun(format_, next(iter(format_.openings), None))
    prompts = prompts_under(prober, (setting,))
    openings = describe_openings(prompts, format_.header, format_.reasoning)
    fitting = (opening for opening in openings if opening.tools is tools)
    opening = next(fitting, None) or next(iter(openings), None)
    return Begun(format_, opening)


def _settings(formats: Formats) -> tuple[Setting, ...]:
    return tuple(opening.setting for opening in formats.openings)


def _beginning(prober: Prober, turn: str) -> str:
    """Return a turn's text up to its first part."""
    marks = prober.sentinels
    words = (marks.reasoning, marks.content, *marks.names, *marks.ids)
    return turn[: min((at for word in words if (at := turn.find(word)) >= 0), default=0)]


def _holds(group: _Group, setting: Setting) -> bool:
    return any(repr(each) == repr(dict(setting)) for each in group.settings)


def _groups(prober: Prober, settings: tuple[Setting, ...]) -> list[_Group]:
    """Put the settings together under which turns are written alike, the default's first."""
    if len(settings) == 1:
        return [_Group(settings, ())]
    found: dict[tuple[str, ...], list[Setting]] = {}
    for setting in settings:
        found.setdefault(turns_under(prober, setting), []).append(setting)
    return [_Group(tuple(alike), turns) for turns, alike in found.items()]


def _signed(
    prober: Prober, groups: Sequence[_Group], prompts: Sequence[PromptText]
) -> tuple[PromptText, ...]:
    """Add to each prompt the texts by which it is told from those of other groups.

    Such as the words on how to write calls, where a value changes these together with the calls.
    """
    words = prober.sentinels.words()
    shown = [prober.probe((prober.user,), setting=group.settings[0]) for group in groups]
    before = [each.text.partition(prober.sentinels.user)[0] for each in shown]
    signs: dict[str, tuple[str, ...]] = {}
    for group, text in zip(groups, before, strict=True):
        found = [_sign(text, other, words) for other in before]
        for setting in group.settings:
            signs[repr(dict(setting))] = tuple(filter(None, found))
    return tuple(each._replace(signs=signs[repr(dict(each.setting))]) for each in prompts)


SHORTEST_SIGN = 8
"""Characters; shorter texts may stand in any prompt."""


def _sign(text: str, other: str, words: Sequence[str]) -> str:
    """Return what one text has where the other has something else; empty where it tells nothing."""
    split = diff_split(text, other)
    # A word that differs is known by those of its line before it, unless a tool is among them.
    line = split.prefix.rpartition("\n")[2]
    for sign in (f"{line}{split.left}".strip(), split.left.strip()):
        usable = len(sign) >= SHORTEST_SIGN and sign not in other
        if usable and not any(word in sign for word in words):
            return sign
    return ""


def _under(prober: Prober, draft: Draft, group: _Group, fullest: TurnFormat) -> TurnFormat:
    """Learn the format of a group of settings, knowing the one that shows most."""
    marks = prober.sentinels
    draft = replace(
        draft,
        shows_reasoning=draft.shows_reasoning and group.shows((marks.reasoning,)),
        shows_calls=draft.shows_calls and group.shows((*marks.names, *marks.ids)),
        fullest=fullest,
    )
    observer = Observer(prober.using(setting=group.settings[0]))
    concluded, _ = run_phases(observer, draft)
    return assemble(observer, concluded, group.settings)
