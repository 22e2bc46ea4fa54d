"""What an analysis itself found wrong: counted with the worst on one line, or all of it."""

from __future__ import annotations

from collections import Counter

from rich.text import Text

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.formats.learned_format import LearntFormat

from .blocks import Blocks, heading, joined, prose, rows, sentence
from .own_findings import FindingLevel, OwnFinding, own_findings
from .places import place_of, place_text
from .visible import visible

__all__ = ["findings_section", "findings_words"]

_STYLES = {FindingLevel.ERROR: "red", FindingLevel.WARNING: "yellow", FindingLevel.INFO: "dim"}
NONE = "none by the analysis itself"


def findings_words(learnt: LearntFormat) -> Text:
    """Count the findings by their level, and tell the worst."""
    found = own_findings(learnt)
    if not found:
        return Text(NONE)
    counts = Counter(finding.level for finding in found)
    told = [
        Text(f"{count} {level.word}{'s' * (count != 1 and level is not FindingLevel.INFO)}", style)
        for level, style in _STYLES.items()
        if (count := counts[level])
    ]
    worst = ": " if len(found) == 1 else "; the worst: "
    return sentence(joined(told, ", "), worst, _told(learnt, found[0]))


def findings_section(learnt: LearntFormat) -> Blocks:
    """List the findings; the linter's rules find far more."""
    found = own_findings(learnt)
    told = [(finding.level.word, _told(learnt, finding)) for finding in found]
    origin = visible(learnt.template.origin or "TEMPLATE")
    return [
        *heading("Findings"),
        *(rows(told) if told else prose(NONE)),
        *prose(f"autoparser lint {origin} asks far more."),
    ]


def _told(learnt: LearntFormat, finding: OwnFinding) -> Text:
    if finding.line is None:
        return Text(finding.words)
    text = learnt.template.text if isinstance(learnt, Analysis) else ""
    place = place_of(learnt.template.origin or "a text", finding.line, text)
    return sentence(place_text(place), f" {finding.words}")
