"""The page on a corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autoparser.analysis.overview.survey import Record, RecordShare, Summary
from autoparser.reports.survey import percent, shared_folder
from autoparser.reports.visible import visible

from .bars import BarPiece, bar
from .element import Element, Node, fragment, h
from .page_parts import badge, lead, opening, table
from .page_shell import PageSection, document
from .signs import inline

__all__ = ["survey_page"]

FAMILIES = 40
SWITCHES = 40


def survey_page(summary: Summary, records: Sequence[Record], version: str) -> str:
    """Write the page: one file that asks for nothing and runs nothing."""
    everything = summary.all
    return document(
        f"{everything.templates} templates · autoparser survey",
        fragment(
            h("p", "autoparser survey", class_="kind"),
            h("h1", f"{everything.templates} templates"),
            h("p", list(_badges(summary)), class_="badges"),
        ),
        list(_sections(summary, records, shared_folder([each.source for each in records]))),
        h("p", f"autoparser {version}. This page is one file: it loads nothing and runs nothing."),
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


def _sections(summary: Summary, records: Sequence[Record], folder: str) -> Iterator[PageSection]:
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
    yield PageSection("templates", "All templates", _templates(records, folder), str(len(records)))


_HEADS = ("", "templates", "", "self-check passes", "round trips hold")


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
        table("Switches", ("switch", "templates", ""), rows, "shares"),
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
    heads = ("cause", "round trips", "", "templates")
    return table("Why round trips break", heads, rows, "shares")


def _templates(records: Sequence[Record], folder: str) -> Element:
    rows = [_template(record, record.source.removeprefix(folder)) for record in records]
    heads = ("template", "self-check", "reasoning", "calls", "round trips", "switches")
    return opening(
        "Every template with its verdicts",
        table("All templates", heads, rows, "all"),
        printed=False,
    )


def _template(record: Record, name: str) -> Sequence[Node]:
    if record.error:
        return (visible(name), badge("not analysed", "bad"), "", "", "", "")
    return (
        visible(name),
        badge(f"{record.check.passed}/{record.check.total}", "good" if record.ok else "bad"),
        h("code", record.reasoning or ""),
        h("code", record.tools or ""),
        f"{record.held}/{record.played}",
        visible(", ".join(record.switches)),
    )
