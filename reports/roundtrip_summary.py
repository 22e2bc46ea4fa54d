"""Round trips on one screen: how many hold, why the others break, what mends the first cause."""

from __future__ import annotations

from collections import Counter

from rich.text import Text

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.history.round_trips import RoundTrip
from autoparser.analysis.history.trip_causes import Cause

from .blocks import Blocks, blank, heading, joined, prose, sentence
from .roundtrip import FAULTS, cause_lines, conditions_of, summary_lines, template_lines
from .terminal import report_text

__all__ = ["roundtrip_screen"]

SETTINGS_SHOWN = 3
FULL = "--full shows each scenario, --scenario NAME one of them with its texts."


def roundtrip_screen(analysis: Analysis | None, found: RoundTrip, width: int) -> Text:
    """Report on round trips in few lines of at most ``width`` cells: counts, causes, one example.

    `roundtrip_report` has every scenario. Without the analysis, nothing is said of the template.
    """
    drawn = [
        *([] if analysis is None else template_lines(analysis)),
        *summary_lines(found),
        *_why(found),
        *_settings(found),
        *_weightiest(found),
        *blank(),
        *prose(Text(FULL, style="dim"), indent=0),
    ]
    return report_text(drawn, width)


def _causes_of(found: RoundTrip) -> dict[str, Counter[Cause]]:
    """Count the causes below the words for whose fault they are, the most frequent first."""
    counted: dict[str, Counter[Cause]] = {}
    for fault, words in FAULTS.items():
        verdicts = [row.verdict for row in found.rows if row.verdict.fault is fault]
        causes = Counter(each.cause for each in verdicts if each.cause is not None)
        if causes:
            counted[words] = Counter(dict(causes.most_common()))
    return counted


def _why(found: RoundTrip) -> Blocks:
    drawn: Blocks = []
    for words, causes in _causes_of(found).items():
        named = joined(
            [sentence((f"{count} ", "red"), cause.value) for cause, count in causes.items()], ", "
        )
        drawn += prose(sentence((f"{words}: {causes.total()}", "bold")), indent=0)
        drawn += prose(named)
    return [*blank(), *drawn] if drawn else []


def _settings(found: RoundTrip) -> Blocks:
    """Say under which settings verdicts differ, and for how many scenarios."""
    counted = Counter(words for row in found.rows for words in conditions_of(row, found))
    if not counted:
        return []
    drawn = heading("Under other settings")
    for words, count in counted.most_common(SETTINGS_SHOWN):
        drawn += prose(f"{words}: {count} of {len(found.rows)}", hang=2)
    left_out = len(counted) - SETTINGS_SHOWN
    return drawn + (prose(f"… {left_out} more: --full") if left_out > 0 else [])


def _weightiest(found: RoundTrip) -> Blocks:
    """Show one scenario of the most frequent cause, the template's before others'."""
    for causes in _causes_of(found).values():
        return cause_lines(found, [next(iter(causes))])
    return []
