"""The report on an analysis, put together from its sections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.text import Text

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.formats.learned_format import LearnedFormat
from autoparser.analysis.formats.saved_format import SavedFormat
from autoparser.analysis.learning.tools_in_prompt import ToolsInPrompt

from .blocks import Blocks, blank, entry_blocks, prose, rows, sentence
from .example import call_section, turn_section
from .findings import findings_section, unwritten_rows
from .phases import PAIRS, marker_section, phase_entries, phases_section
from .settings import settings_section, stops_section
from .summary import summary_section
from .switches import switch_section
from .terminal import report_text
from .verdict import check_section, gate_section, verdict_text
from .visible import visible
from .what_was_asked import bounds_section, tools_in_prompt_section


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
    no render writes, ``tools`` what becomes of tools that were given. What does not pass stands at
    the end.
    """
    token_rows = rows(list(unwritten_rows(analysis, unwritten)), indent=0)
    tokens = [*blank(), *token_rows] if token_rows else []
    opened = [finding.phase for finding in analysis.phases] if diffs else []
    drawn = [*_format(analysis), *tokens, *phases_section(analysis, opened)]
    drawn += [] if tools is None else tools_in_prompt_section(tools)
    return report_text([*drawn, *bounds_section(analysis), *_faults(analysis)], width)


def saved_report(saved: SavedFormat, width: int) -> Text:
    """Report on a saved format: all but the renders."""
    return report_text([*_format(saved), *phases_section(saved), *_faults(saved)], width)


def section_report(learned: LearnedFormat, name: str, width: int) -> Text:
    """Return one of the `SECTIONS` alone."""
    drawn = SECTIONS[name](learned)
    if not drawn:
        drawn = prose(f"{name}: there is nothing to show", indent=0)
    return report_text(drawn, width, first_gap=False)


def _format(learned: LearnedFormat) -> Blocks:
    return [block for name in _OF_FORMAT for block in SECTIONS[name](learned)]


def _faults(learned: LearnedFormat) -> Blocks:
    gate = [] if learned.gate.ok else gate_section(learned)
    return [*check_section(learned, passing=False), *gate]


SECTIONS: Mapping[str, Callable[[LearnedFormat], Blocks]] = {
    "summary": summary_section,
    "findings": findings_section,
    "markers": marker_section,
    "switches": switch_section,
    "settings": settings_section,
    "call": call_section,
    "turn": turn_section,
    "stops": stops_section,
    "phases": phases_section,
    "asked": bounds_section,
    "faults": _faults,
}
"""What a report is made of, by name, in its order."""

_OF_FORMAT = ("summary", "findings", "markers", "switches", "settings", "call", "turn")
"""Without the stops, which the summary names."""


def phases_report(analysis: Analysis, phases: Sequence[str], width: int) -> Text:
    """Show these phases in full, in the order of the phases."""
    origin = visible(analysis.template.origin or "a text")
    drawn = [
        *prose(sentence(f"{origin}: ", verdict_text(analysis.check)), indent=0),
        *prose(PAIRS, indent=0),
    ]
    for entry in phase_entries(analysis, phases):
        drawn += entry_blocks(entry, "Phase") if entry.opened else []
    return report_text(drawn, width)
