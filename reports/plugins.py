"""Whether engines find the plugins, for a terminal and as JSON."""

from __future__ import annotations

from typing import Literal

from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import JsonDocument, json_of
from autoparser.analysis.engines.plugin_check import CheckedPoint, CheckState, PluginCheck

from .blocks import Blocks, prose, rows, sentence
from .terminal import report_text
from .visible import visible

__all__ = ["PluginsDocument", "plugins_document", "plugins_report"]

_SIGNS = {
    CheckState.YES: ("yes", "green"),
    CheckState.NO: ("no", "red"),
    CheckState.UNKNOWN: ("–", "dim"),
}


class CheckedPointDocument(JsonDocument, frozen=True):
    """One question about an environment, and its answer."""

    what: str
    state: CheckState
    found: str
    way_out: str
    """What to do about a no; else empty."""


class PluginsDocument(JsonDocument, frozen=True):
    """All questions about one environment."""

    schema: Literal["autoparser.plugins/1"]
    python: str
    """Its interpreter."""
    ok: bool
    """Whether nothing is a no."""
    points: tuple[CheckedPointDocument, ...]


def plugins_report(check: PluginCheck, width: int) -> Text:
    """Show each answer, and below a no what to do about it."""
    drawn: Blocks = prose(visible(check.python), indent=0)
    for each in check.points:
        drawn += _point(each)
    return report_text(drawn, width)


def _point(point: CheckedPoint) -> Blocks:
    told = sentence(visible(point.what), ": ", visible(point.found))
    if point.way_out:
        told.append("; ").append(visible(point.way_out), style="cyan")
    word, style = _SIGNS[point.state]
    return rows([(Text(word, f"dim {style}"), told)], label=3)


def plugins_document(check: PluginCheck) -> dict[str, Json]:
    """Return all of it as values that JSON can hold."""
    points = tuple(
        CheckedPointDocument(each.what, each.state, each.found, each.way_out)
        for each in check.points
    )
    return json_of(PluginsDocument("autoparser.plugins/1", check.python, check.ok, points))
