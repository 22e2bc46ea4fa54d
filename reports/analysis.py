"""The report on an analysis, put together from its sections."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from autoparser.analysis.analysis import Analysis

from .layout import Lines, blank, prose, sentence
from .phases import phase_section, phases_section
from .settings import fault_section, settings_section
from .summary import summary_section
from .tables import marker_section, switch_section
from .turn import call_section, turn_section
from .verdict import failure_section, verdict
from .visible import visible

__all__ = ["analysis_report", "phases_report"]

WORDS = (
    "Below, two conversations differ in one thing; - and + are what only one render has. Their"
    " words are invented so that a render shows where each of them went."
)


def analysis_report(analysis: Analysis, width: int, *, diffs: bool = False) -> Text:
    """Report on an analysis in lines of at most ``width`` cells.

    ``diffs`` adds every phase in full. The self-check's smallest failure stands at the end.
    """
    drawn = [
        *summary_section(analysis, width),
        *marker_section(analysis, width),
        *switch_section(analysis, width),
        *settings_section(analysis, width),
        *call_section(analysis, width),
        *turn_section(analysis, width),
        *phases_section(analysis, width),
    ]
    if diffs:
        drawn += [*blank(), *prose(WORDS, width, indent=0)]
        drawn += _full(analysis, [finding.phase for finding in analysis.phases], width)
    for check in analysis.checks:
        drawn += failure_section(check, width)
    drawn += fault_section(analysis.formats, analysis.gate, width)
    return _page(drawn)


def phases_report(analysis: Analysis, phases: Sequence[str], width: int) -> Text:
    """Show these phases in full, in the order of the phases."""
    origin = visible(analysis.template.origin or "a text")
    return _page(
        [
            *prose(sentence(f"{origin}: ", verdict(analysis.check)), width, indent=0),
            *prose(WORDS, width, indent=0),
            *_full(analysis, phases, width),
        ]
    )


def _full(analysis: Analysis, phases: Sequence[str], width: int) -> Lines:
    return [
        line
        for finding in analysis.phases
        if finding.phase in phases
        for line in phase_section(analysis, finding, width)
    ]


def _page(drawn: Lines) -> Text:
    for line in drawn:
        line.rstrip()
    return Text("\n").join(drawn)
