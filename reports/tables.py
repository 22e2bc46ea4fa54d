"""The markers."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.formats.learned_format import LearntFormat

from .blocks import Blocks, heading, prose, rows, sentence
from .setting_words import DOUBT_STYLE
from .visible import LEGEND, literal

__all__ = ["marker_rows", "marker_section"]


def marker_section(analysis: LearntFormat) -> Blocks:
    """List every marker by its name, with the phase that found it."""
    if not analysis.markers.items():
        return [*heading("Markers"), *prose("none: nothing stands around any part")]
    pairs = [(f"{phase:2}  {name}", text) for phase, name, text in marker_rows(analysis)]
    return [*heading("Markers"), *prose(LEGEND), *rows(pairs, words=False)]


def marker_rows(analysis: LearntFormat) -> Iterator[tuple[str, str, Text]]:
    """Return each marker: the phase that found it, its name, its text."""
    sources = {name: finding.phase for finding in analysis.phases for name in finding.markers}
    for name, text in analysis.markers.items().items():
        yield sources.get(name, ""), name, _doubted(analysis, name, literal(text))


_PARTS = {"reasoning": TurnPart.REASONING, "content": TurnPart.CONTENT}


def _doubted(analysis: LearntFormat, name: str, text: Text) -> Text:
    part = _PARTS.get(name.partition("_")[0], TurnPart.CALLS)
    if part not in analysis.formats.united.unconfirmed:
        return text
    return sentence(text, ("  not confirmed", DOUBT_STYLE))
