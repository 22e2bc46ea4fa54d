"""Reports on values that present themselves in a shell or a notebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rich.text import Text

import autoparser.reports
from autoparser.analysis.formats.saved_format import SavedFormat
from autoparser.shown import Shown


def presented(value: Shown, width: int, *, full: bool) -> Text:
    """Return the report on a value in lines of at most `width` cells; `full` omits nothing."""
    return _PRESENTERS[value.shown_as](value, width, full)


def _learned(value: Any, width: int, full: bool) -> Text:
    if not full:
        return autoparser.reports.screen_report(value, width)
    if isinstance(value, SavedFormat):
        return autoparser.reports.saved_report(value, width)
    return autoparser.reports.analysis_report(value, width)


_PRESENTERS: Mapping[str, Callable[[Any, int, bool], Text]] = {
    # Each is imported by the face of the reports when it is first asked for.
    "learned": _learned,
    "message": lambda value, width, _: autoparser.reports.parsed_report(value, width),
    "grammar": lambda value, width, _: autoparser.reports.turn_report(value.turn, width),
    "findings": lambda value, width, _: autoparser.reports.lint_findings_report(
        value.findings, width
    ),
    "finding": lambda value, width, _: autoparser.reports.lint_findings_report([value], width),
    "round trip": lambda value, width, full: (
        autoparser.reports.roundtrip_report(None, value, width, in_full=True)
        if full
        else autoparser.reports.roundtrip_screen(None, value, width)
    ),
}
