"""The report on an analysis, put together from its sections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.text import Text

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.inference.check import ToolsInPrompt
from autoparser.analysis.learnt import LearntFormat, SavedFormat

from .findings_section import findings_section
from .layout import Lines, blank, prose, report_text, rows, sentence
from .phases import phase_section, phases_section
from .settings import fault_section, settings_section
from .stops import stops_section
from .summary import summary_section
from .switches import switch_section
from .tables import marker_section
from .token_suggestions import unwritten_rows
from .tools_in_prompt import tools_in_prompt_section
from .turn import call_section, turn_section
from .verdict import failure_section, verdict
from .visible import visible
from .what_was_asked import bounds_section

__all__ = ["SECTIONS", "analysis_report", "phases_report", "saved_report", "section_report"]

RENDERS_SHOWN = "--phase T3 shows the renders behind one, --diffs those behind all."
NO_RENDERS = "The renders behind them are not in a saved format: pass the template for those."

WORDS = (
    "Below, two conversations differ in one thing; - and + are what only one render has. Their"
    " words are invented so that a render shows where each of them went."
)


def analysis_report(
    analysis: Analysis,
    width: int,
    *,
    diffs: bool = False,
    unwritten: Sequence[str] = (),
    tools: ToolsInPrompt | None = None,
) -> Text:
    """Report on an analysis in lines of at most ``width`` cells.

    ``diffs`` adds every phase in full. ``unwritten`` are added tokens of the model's tokenizer that
    no render writes, ``tools`` what becomes of tools that were given. The self-check's smallest
    failure stands at the end.
    """
    told = rows(list(unwritten_rows(analysis, unwritten)), width, indent=0)
    tokens = [*blank(), *told] if told else []
    drawn = [*_format(analysis, width), *tokens, *_phases(analysis, width)]
    drawn += [] if tools is None else tools_in_prompt_section(tools, width)
    drawn += bounds_section(analysis, width)
    if diffs:
        drawn += [*blank(), *prose(WORDS, width, indent=0)]
        drawn += _full(analysis, [finding.phase for finding in analysis.phases], width)
    return _page(drawn + _faults(analysis, width))


def saved_report(saved: SavedFormat, width: int) -> Text:
    """Report on a saved format: all but the renders."""
    return _page([*_format(saved, width), *_phases(saved, width), *_faults(saved, width)])


def section_report(learnt: LearntFormat, name: str, width: int) -> Text:
    """Return one of the `SECTIONS` alone."""
    drawn = SECTIONS[name](learnt, width)
    if not drawn:
        drawn = prose(f"{name}: there is nothing to show", width, indent=0)
    return _page(drawn[1:] if not drawn[0] else drawn)


def _format(learnt: LearntFormat, width: int) -> Lines:
    return [line for name in _OF_FORMAT for line in SECTIONS[name](learnt, width)]


def _faults(learnt: LearntFormat, width: int) -> Lines:
    drawn = [line for check in learnt.checks for line in failure_section(check, width)]
    return drawn + fault_section(learnt.formats, learnt.gate, width)


def _phases(learnt: LearntFormat, width: int) -> Lines:
    renders = NO_RENDERS if isinstance(learnt, SavedFormat) else RENDERS_SHOWN
    return phases_section(learnt, renders, width)


SECTIONS: Mapping[str, Callable[[LearntFormat, int], Lines]] = {
    "summary": summary_section,
    "findings": findings_section,
    "markers": marker_section,
    "switches": switch_section,
    "settings": settings_section,
    "call": call_section,
    "turn": turn_section,
    "stops": stops_section,
    "phases": _phases,
    "asked": bounds_section,
    "faults": _faults,
}
"""What a report is made of, by name, in its order."""

_OF_FORMAT = ("summary", "findings", "markers", "switches", "settings", "call", "turn")
"""Without the stops, which the summary names."""


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
    return report_text(drawn)
