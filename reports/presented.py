"""Reports on values that present themselves in a shell or a notebook."""

# Each report is imported by the first value that needs it.
# ruff: noqa: PLC0415

from __future__ import annotations

from typing import Any

from rich.text import Text

from autoparser.shown import Shown


def present_value(value: Shown, width: int, *, full: bool) -> Text:
    """Return the report on a value in lines of at most `width` cells; `full` omits nothing."""
    return _report(value.shown_as, value, width, full=full)


def _report(kind: str, value: Any, width: int, *, full: bool) -> Text:
    """Return the report of a value by its kind. Each is imported only when needed."""
    # By name, not by type: the types' modules would be imported for the comparison.
    match kind:
        case "learned":
            return _learned_report(value, width, full=full)
        case "message":
            from .message import parsed_report

            return parsed_report(value, width)
        case "grammar":
            from .request_grammar import turn_report

            return turn_report(value.turn, width)
        case "findings" | "finding":
            from .findings import lint_findings_report

            return lint_findings_report(value.findings if kind == "findings" else [value], width)
        case "round trip":
            from .roundtrip import roundtrip_report, roundtrip_screen

            if full:
                return roundtrip_report(None, value, width, in_full=True)
            return roundtrip_screen(None, value, width)
        case _:
            raise ValueError(f"no report is named {kind!r}")


def _learned_report(value: Any, width: int, *, full: bool) -> Text:
    from autoparser.analysis.formats.saved_format import SavedFormat

    from .analysis import analysis_report, saved_report, screen_report

    if not full:
        return screen_report(value, width)
    if isinstance(value, SavedFormat):
        return saved_report(value, width)
    return analysis_report(value, width)
