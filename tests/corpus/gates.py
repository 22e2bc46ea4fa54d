"""Formats per setting, over a corpus: the analysis' own gate, and beside it the second judge.

What the gate counts is the analysis' word; what `gate_judge` finds is asked without it. Where the
two differ, the template is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autoparser import AutoparserError
from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.switches import SwitchEffect
from autoparser.analysis.core.turn_format import Formats

from .each_template import of_each
from .gate_judge import Verdict, Way, default_differs, verdicts
from .outcomes import PROCESSES, analysis_at

FIXTURES = Path(__file__).parents[2] / "fixtures"


def own_paths() -> list[Path]:
    """Return the project's own templates."""
    return [path for name in ("templates", "novel") for path in templates_in(FIXTURES / name)]


def templates_in(place: Path) -> list[Path]:
    """Return the templates in a directory, or the one that is named."""
    return sorted(place.glob("*.jinja")) if place.is_dir() else [place]


@dataclass(frozen=True, slots=True)
class Counts:
    """How much there is of everything in an analysis."""

    formats: int = 0
    settings: int = 0
    untried: int = 0
    """Settings beyond the number that is tried."""
    prompts: int = 0
    """Different texts that `add_generation_prompt` adds."""
    unprompted: int = 0
    """Settings under which it adds nothing."""
    asked: int = 0
    passed: int = 0
    not_asked: int = 0
    usual_asked: int = 0
    """The same messages as users send them, where the template takes another form."""
    usual_passed: int = 0
    failed_checks: int = 0


@dataclass(frozen=True, slots=True)
class Alike:
    """Formats that one generation prompt's text does not tell apart."""

    formats: int
    asked: bool
    """Something was asked under the settings of more than one of them."""
    read: bool
    """Told the prompt alone, the parser reads all that it reads when it is told the setting."""
    accepted: bool
    """So does the grammar accept."""


@dataclass(frozen=True, slots=True)
class TurnWord:
    """A word that changes a turn as the value of a switch, and what came of it alone."""

    switch: str
    value: str
    checked: bool
    """The self-check of its format passes."""
    gated: bool
    """No continuation under it fails the gate."""
    asked: int
    """What the second judge could ask, told this setting."""
    misread: int
    refused: int
    """Of them: by the parser, by the grammar."""

    @property
    def ok(self) -> bool:
        return self.checked and self.gated and not self.misread and not self.refused


@dataclass(frozen=True, slots=True)
class Gated:
    """What came of one template."""

    name: str
    error: str = ""
    """Why there is no analysis."""
    crash: str = ""
    counts: Counts = field(default_factory=Counts)
    faults: tuple[str, ...] = ()
    """Of the analysis' own gate, each with its message, in the form that the template takes."""
    usual_faults: tuple[str, ...] = ()
    """And as users send them."""
    spoiled: str = ""
    """What users send and the template spoils in silence, by the self-check."""
    silent: tuple[str, ...] = ()
    """For each prompt that the gate finds no continuation of: why, and what the prompt has
    written."""
    alike: tuple[Alike, ...] = ()
    differs: str = ""
    """How the default's format differs from a render with nothing set."""
    judged: tuple[Verdict, ...] = ()
    words: tuple[TurnWord, ...] = ()

    @property
    def analysed(self) -> bool:
        return not self.error and not self.crash

    @property
    def asked(self) -> list[Verdict]:
        """What the second judge could ask."""
        return [each for each in self.judged if each.silence is None]

    @property
    def failed(self) -> list[Verdict]:
        """What did not pass with the second judge."""
        return [each for each in self.judged if each.faults]


def gated(path: Path) -> Gated:
    """Analyse a template, and ask both judges."""
    try:
        analysis = analysis_at(path)
    except AutoparserError as error:
        return Gated(path.stem, error=str(error))
    try:
        return _gated(path.stem, analysis)
    except Exception as error:  # noqa: BLE001 - a crash is what the survey looks for
        return Gated(path.stem, crash=repr(error))


def _gated(name: str, analysis: Analysis) -> Gated:
    judged = tuple(verdicts(analysis))
    faults = [
        f"{fault.question}, {dict(fault.setting)}, {fault.title}: {fault.detail}"
        for fault in analysis.gate.faults
    ]
    own = sum("as users send it" not in fault.title for fault in analysis.gate.faults)
    return Gated(
        name,
        counts=_counts(analysis),
        faults=tuple(faults[:own]),
        usual_faults=tuple(faults[own:]),
        spoiled="" if analysis.spoiled is None else analysis.spoiled.usual,
        silent=tuple(_silent(analysis, judged)),
        alike=tuple(_alike(analysis.formats, judged)),
        differs=default_differs(analysis),
        judged=judged,
        words=tuple(_words(analysis, judged)),
    )


def _words(analysis: Analysis, judged: Sequence[Verdict]) -> Iterator[TurnWord]:
    turns = {SwitchEffect.TURN, SwitchEffect.CALLS}
    for switch in analysis.switches:
        for value, effects in zip(switch.values, switch.effects, strict=True):
            if not isinstance(value, str) or not turns & {*effects}:
                continue
            setting = {**analysis.formats.base, switch.name: value}
            under = [each for each in judged if each.setting == setting and each.silence is None]
            yield TurnWord(
                switch.name,
                value,
                all(each.checked for each in under),
                not any(fault.setting == setting for fault in analysis.gate.faults),
                len(under),
                sum(each.faulty(Way.SETTING, read=True) for each in under),
                sum(each.faulty(Way.SETTING, read=False) for each in under),
            )


def _counts(analysis: Analysis) -> Counts:
    gate, formats = analysis.gate, analysis.formats
    return Counts(
        formats=len(formats),
        settings=len({repr(opening.setting) for opening in formats.openings}),
        untried=formats.untried,
        prompts=len({opening.text for opening in formats.openings if opening.text.strip()}),
        unprompted=sum(not opening.text.strip() for opening in formats.openings),
        asked=gate.asked,
        passed=gate.passed,
        not_asked=gate.not_asked,
        usual_asked=gate.usual_asked,
        usual_passed=gate.usual_passed,
        failed_checks=sum(bool(check.failures) for check in analysis.checks),
    )


def _silent(analysis: Analysis, judged: Sequence[Verdict]) -> Iterator[str]:
    """Say of each prompt that nothing goes on from why, by the second judge's renders."""
    found = analysis.continuations
    openings = {id(each.opening): each.opening for each in found}
    spoken = {id(each.opening) for each in found if each.text is not None and each.form is None}
    for key, opening in openings.items():
        if key in spoken:
            continue
        causes = {
            str(each.silence or "the second judge does find continuations")
            for each in judged
            if repr(each.setting) == repr(opening.setting) and each.tools is opening.tools
        }
        yield f"{' / '.join(sorted(causes))}: {opening.written}"


def _alike(formats: Formats, judged: Sequence[Verdict]) -> Iterator[Alike]:
    for group in formats.alike:
        texts = {begun.opening.text.rstrip() for begun in group if begun.opening is not None}
        rows = [
            {repr(one.setting) for one in begun.format.openings if one.text.rstrip() in texts}
            for begun in group
        ]
        asked = [
            [each for each in judged if repr(each.setting) in row and each.silence is None]
            for row in rows
        ]
        yield Alike(
            len(group),
            sum(bool(row) for row in asked) > 1,
            *(
                not any(
                    each.faulty(Way.PROMPT, read=read) and not each.faulty(Way.SETTING, read=read)
                    for row in asked
                    for each in row
                )
                for read in (True, False)
            ),
        )


def gates(paths: Sequence[Path], processes: int = PROCESSES) -> list[Gated]:
    """Ask of every template."""
    return of_each(gated, paths, processes, chunk=8)
