"""A corpus at a glance, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from os import sep
from pathlib import PurePath

from rich.cells import cell_len
from rich.text import Text

from autoparser.analysis.overview.survey import RecordShare, Summary

from .layout import Lines, Row, heading, prose, report_text, rows, sentence
from .visible import shown, visible

__all__ = ["percent", "shared_folder", "survey_report"]

FAMILIES = 12
SWITCHES = 12
FAILED = 12
"""So many are shown."""
_FIGURES = (6, 8, 8)
"""Cells of templates, self-check, round trips."""


def survey_report(summary: Summary, width: int) -> Text:
    """Report on a corpus in lines of at most `width` cells."""
    everything = summary.all
    analysed = everything.templates - len(summary.failed)
    folder = shared_folder([each.source for each in (*summary.failed, *summary.crashing)])
    drawn: Lines = [
        *prose(
            sentence(
                (f"{everything.templates}", "bold"),
                " templates, ",
                (f"{analysed}", "bold"),
                " analysed, the whole self-check passes for ",
                (f"{everything.ok}", "bold"),
                "; of the round trips ",
                (percent(everything.held, everything.played), "bold"),
                " hold.",
            ),
            width,
            indent=0,
        ),
        *_shares("Reasoning", summary.reasoning, width),
        *_shares("Content", summary.content, width),
        *_shares("Tool calls", summary.tools, width),
        *_families(summary, width),
        *_pairs(
            "Switches, and how many templates have them",
            [(name, f"{count}") for name, count in summary.switches],
            SWITCHES,
            width,
        ),
        *_pairs(
            "Why round trips break",
            [
                (cause, f"{count} in {templates} templates")
                for cause, count, templates in summary.causes
            ],
            len(summary.causes),
            width,
        ),
        *_pairs(
            "Crash on what agents send",
            [
                (each.source.removeprefix(folder), each.check.crash or "")
                for each in summary.crashing
            ],
            FAILED,
            width,
        ),
        *_pairs(
            "Not analysed",
            [(each.source.removeprefix(folder), each.error or "") for each in summary.failed],
            FAILED,
            width,
        ),
    ]
    return report_text(drawn)


def shared_folder(sources: Sequence[str]) -> str:
    """Return the folder that all sources lie in, its slash included; empty where there is none."""
    folders = [PurePath(source).parent.parts for source in sources]
    shared: list[str] = []
    for names in zip(*folders, strict=False):
        if len(set(names)) > 1:
            break
        shared.append(names[0])
    return f"{PurePath(*shared)}{sep}" if shared else ""


def percent(part: int, whole: int) -> str:
    """Return a share in percent; a dash where there is nothing to share."""
    return f"{part / whole:.0%}" if whole else "–"


def _shares(title: str, shares: Sequence[RecordShare], width: int) -> Lines:
    if not shares:
        return []
    named = [(share.name, share) for share in shares]
    return [*heading(title, width), *_table(named, width)]


def _table(named: Sequence[tuple[str, RecordShare]], width: int) -> Lines:
    room = max(width - sum(_FIGURES) - 8, 12)
    name = min(max(cell_len(each) for each, _ in named), room)
    heads = _figures("count", "checked", "trips")
    drawn = [Text(f"  {' ' * name}  {heads}", style="dim")]
    for each, share in named:
        cut = _fitting(each, name)
        figures = _figures(
            str(share.templates),
            percent(share.ok, share.templates),
            percent(share.held, share.played),
        )
        drawn.append(Text(f"  {cut}{' ' * (name - cell_len(cut))}  {figures}"))
    return drawn


def _figures(*cells: str) -> str:
    return " ".join(f"{cell:>{size}}" for cell, size in zip(cells, _FIGURES, strict=True))


def _fitting(text: str, cells: int) -> str:
    while cell_len(text) > cells:
        text = f"{text[: cells - 2]}…" if len(text) > cells else f"{text[:-2]}…"
    return text


def _families(summary: Summary, width: int) -> Lines:
    families = summary.families[:FAMILIES]
    if not families:
        return []
    left = len(summary.families) - len(families)
    named = [(shown(family.call), family.share) for family in families]
    title = f"Families: {len(summary.families)} ways to write a call"
    drawn = [*heading(title, width), *_table(named, width)]
    if left:
        drawn += prose(Text(f"and {left} more", style="dim"), width)
    return drawn


def _pairs(title: str, pairs: Sequence[tuple[str, str]], most: int, width: int) -> Lines:
    if not pairs:
        return []
    listed: list[Row] = [(visible(name), Text(visible(words))) for name, words in pairs[:most]]
    drawn = [*heading(title, width), *rows(listed, width)]
    left = len(pairs) - most
    if left > 0:
        drawn += prose(Text(f"and {left} more", style="dim"), width)
    return drawn
