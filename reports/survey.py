"""A corpus at a glance, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from os import sep
from pathlib import PurePath

from rich.text import Text

from autoparser.analysis.overview.survey import RecordShare, Summary

from .blocks import Blocks, Row, Table, TableColumn, heading, prose, rows, sentence
from .terminal import report_text
from .visible import shown, visible

__all__ = ["percent", "shared_folder", "survey_report"]

FAMILIES = 12
SWITCHES = 12
FAILED = 12
"""So many are shown."""
_COLUMNS = (
    TableColumn("", cut=True),
    TableColumn("count", 6, right=True, gap=1),
    TableColumn("checked", 8, right=True, gap=1),
    TableColumn("trips", 8, right=True),
)


def survey_report(summary: Summary, width: int) -> Text:
    """Report on a corpus in lines of at most `width` cells."""
    everything = summary.all
    analysed = everything.templates - len(summary.failed)
    folder = shared_folder([each.source for each in (*summary.failed, *summary.crashing)])
    drawn: Blocks = [
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
            indent=0,
        ),
        *_shares("Reasoning", summary.reasoning),
        *_shares("Content", summary.content),
        *_shares("Tool calls", summary.tools),
        *_families(summary),
        *_pairs(
            "Switches, and how many templates have them",
            [(name, f"{count}") for name, count in summary.switches],
            SWITCHES,
        ),
        *_pairs(
            "Why round trips break",
            [
                (cause, f"{count} in {templates} templates")
                for cause, count, templates in summary.causes
            ],
            len(summary.causes),
        ),
        *_pairs(
            "Crash on what agents send",
            [
                (each.source.removeprefix(folder), each.check.crash or "")
                for each in summary.crashing
            ],
            FAILED,
        ),
        *_pairs(
            "Not analysed",
            [(each.source.removeprefix(folder), each.error or "") for each in summary.failed],
            FAILED,
        ),
    ]
    return report_text(drawn, width)


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


def _shares(title: str, shares: Sequence[RecordShare]) -> Blocks:
    if not shares:
        return []
    named = [(share.name, share) for share in shares]
    return [*heading(title), *_table(named)]


def _table(named: Sequence[tuple[str, RecordShare]]) -> Blocks:
    shares = (
        (
            Text(name),
            Text(str(share.templates)),
            Text(percent(share.ok, share.templates)),
            Text(percent(share.held, share.played)),
        )
        for name, share in named
    )
    return [Table(_COLUMNS, tuple(shares), indent=2)]


def _families(summary: Summary) -> Blocks:
    families = summary.families[:FAMILIES]
    if not families:
        return []
    left = len(summary.families) - len(families)
    named = [(shown(family.call), family.share) for family in families]
    title = f"Families: {len(summary.families)} ways to write a call"
    drawn = [*heading(title), *_table(named)]
    if left:
        drawn += prose(Text(f"and {left} more", style="dim"))
    return drawn


def _pairs(title: str, pairs: Sequence[tuple[str, str]], most: int) -> Blocks:
    if not pairs:
        return []
    listed: list[Row] = [(visible(name), Text(visible(words))) for name, words in pairs[:most]]
    drawn = [*heading(title), *rows(listed)]
    left = len(pairs) - most
    if left > 0:
        drawn += prose(Text(f"and {left} more", style="dim"))
    return drawn
