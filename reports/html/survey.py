"""The page on a corpus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from autoparser.analysis.overview.survey import Record, RecordShare, Summary
from autoparser.reports.survey import percent, shared_folder
from autoparser.reports.visible import visible

from .bars import BarPiece, bar
from .element import Element, Node, fragment, h
from .page_parts import badge, lead, table
from .page_shell import PageScript, PageSection, document
from .signs import inline
from .survey_index import survey_index

__all__ = ["survey_page"]

FAMILIES = 40
SWITCHES = 40


def survey_page(
    summary: Summary,
    records: Sequence[Record],
    version: str,
    pages: Mapping[str, str] | None = None,
) -> str:
    """Write the page: one file that asks for nothing, and runs what sorts and filters its index.

    `pages` has the names of the templates' own pages, which lie beside it, by their sources.
    """
    everything = summary.all
    folder = shared_folder([each.source for each in records])
    return document(
        f"{everything.templates} templates · autoparser survey",
        fragment(
            h("p", "autoparser survey", class_="kind"),
            h("h1", f"{everything.templates} templates"),
            h("p", list(_badges(summary)), class_="badges"),
        ),
        [
            PageSection(
                "templates",
                "All templates",
                survey_index(records, folder, pages or {}),
                str(len(records)),
            ),
            *_sections(summary, folder),
        ],
        h(
            "p",
            f"autoparser {version}. This page is one file: it loads nothing, and runs nothing but"
            " what sorts and filters its templates.",
        ),
        PageScript.SURVEY_INDEX,
    )


def _badges(summary: Summary) -> Iterator[Node]:
    everything, failed = summary.all, len(summary.failed)
    analysed = everything.templates - failed
    yield badge(f"{analysed} analysed", "plain")
    kind = "good" if everything.ok == analysed else "doubt"
    yield badge(f"self-check passes for {everything.ok}", kind)
    yield badge(f"round trips: {percent(everything.held, everything.played)} hold", "doubt")
    if failed:
        yield badge(f"{failed} not analysed", "bad")


def _sections(summary: Summary, folder: str) -> Iterator[PageSection]:
    most = summary.all.templates
    yield PageSection(
        "modes",
        "Modes",
        fragment(
            lead("How templates write a turn, and how many of them do."),
            _shares("Reasoning", summary.reasoning, most),
            _shares("Content", summary.content, most),
            _shares("Tool calls", summary.tools, most),
        ),
    )
    if summary.families:
        yield PageSection(
            "families", "Families", _families(summary, folder), str(len(summary.families))
        )
    if summary.switches:
        yield PageSection("switches", "Switches", _switches(summary), str(len(summary.switches)))
    if summary.causes:
        yield PageSection("round-trips", "Why round trips break", _causes(summary))
    if summary.crashing:
        crashing = [
            (visible(each.source.removeprefix(folder)), visible(each.check.crash or ""))
            for each in summary.crashing
        ]
        body = table("Templates that crash on what agents send", ("template", "why"), crashing)
        yield PageSection("crashing", "Crashing", body, str(len(crashing)))
    if summary.failed:
        failed = [
            (visible(each.source.removeprefix(folder)), visible(each.error or ""))
            for each in summary.failed
        ]
        body = table("Templates that are not analysed", ("template", "why"), failed)
        yield PageSection("failed", "Not analysed", body, str(len(failed)))


_HEADS = ("", "templates", "share", "self-check passes", "round trips hold")


def _shares(title: str, shares: Sequence[RecordShare], most: int) -> Element:
    rows = [(h("code", share.name), *_figures(share, most, share.name)) for share in shares]
    return fragment(h("h3", title), table(title, ("mode", *_HEADS[1:]), rows, "shares"))


def _figures(share: RecordShare, most: int, name: str) -> Sequence[Node]:
    words = f"{share.templates} of {most} templates: {visible(name)}"
    return (
        str(share.templates),
        bar([BarPiece(share.templates, "kept")], most, words),
        percent(share.ok, share.templates),
        percent(share.held, share.played),
    )


def _families(summary: Summary, folder: str) -> Element:
    shown = summary.families[:FAMILIES]
    most = shown[0].share.templates
    rows = [
        (
            fragment(
                inline(family.call),
                h(
                    "small",
                    " such as ",
                    visible(", ".join(each.removeprefix(folder) for each in family.examples)),
                ),
            ),
            *_figures(family.share, most, family.call),
        )
        for family in shown
    ]
    left = len(summary.families) - len(shown)
    return fragment(
        lead("Templates are of one family if they write a call alike: the same text around slots."),
        table("Families", ("one call", *_HEADS[1:]), rows, "shares wide"),
        h("p", f"And {left} more.") if left else None,
    )


def _switches(summary: Summary) -> Element:
    shown = summary.switches[:SWITCHES]
    most = shown[0][1]
    rows = [
        (
            h("code", visible(name)),
            str(count),
            bar([BarPiece(count, "kept")], most, f"{count} templates have {visible(name)}"),
        )
        for name, count in shown
    ]
    left = len(summary.switches) - len(shown)
    return fragment(
        table("Switches", ("switch", "templates", "share"), rows, "shares"),
        h("p", f"And {left} more.") if left else None,
    )


def _causes(summary: Summary) -> Element:
    most = summary.causes[0][1]
    rows = [
        (
            cause,
            str(count),
            bar([BarPiece(count, "again")], most, f"{count} round trips break by {cause}"),
            str(templates),
        )
        for cause, count, templates in summary.causes
    ]
    heads = ("cause", "round trips", "share", "templates")
    return table("Why round trips break", heads, rows, "shares")
