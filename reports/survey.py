"""A corpus of templates, for a terminal and as a page with an index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import sep
from pathlib import PurePath

from rich.text import Text

from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.overview.survey import RecordShare, SurveyRecord, SurveySummary

from .blocks import (
    Blocks,
    Facts,
    Heading,
    Paragraph,
    Picture,
    Table,
    TableColumn,
    badge,
    code,
    link,
    prose,
    sentence,
    small,
)
from .pages import PageScript, PageTop, page
from .terminal import report_text
from .visible import counted_noun, marker_text, visible

MOST = 12
"""Families, switches and failures shown on a terminal."""
MOST_ON_PAGE = 40
"""The same on a page."""


def survey_report(summary: SurveySummary, width: int) -> Text:
    """Report on a corpus in lines of at most `width` cells."""
    everything = summary.all
    analyzed = everything.templates - len(summary.failed)
    words = sentence(
        (f"{everything.templates}", "bold"),
        " template, " if everything.templates == 1 else " templates, ",
        (f"{analyzed}", "bold"),
        " analyzed, parsing works for ",
        (f"{everything.ok}", "bold"),
        " (self-check: all test messages match the template's renders)",
    )
    if everything.trip_count:
        share = _percent(everything.trips_holding, everything.trip_count)
        words.append("; serving and training: ").append(share, style="bold")
        words.append(" of the round trips are exact (the others lose prefix cache or tokens)")
    words.append(".")
    folder = shared_folder([record.source for record in (*summary.failed, *summary.crashing)])
    return report_text([*prose(words, indent=0), *_sections(summary, folder, MOST)], width)


_CLOSING = (
    "This page is one file. It loads nothing; its only script sorts and filters the templates."
)


def survey_page(
    summary: SurveySummary,
    records: Sequence[SurveyRecord],
    version: str,
    pages: Mapping[str, str] | None = None,
) -> str:
    """Return the page: one file without external resources, with a script that sorts the index.

    `pages` maps a template's source to the name of its own page in the same folder.
    """
    many = counted_noun(summary.all.templates, "template")
    folder = shared_folder([record.source for record in records])
    return page(
        PageTop(f"{many} · autoparser survey", "autoparser survey", many, list(_badges(summary))),
        [
            Heading(Text("All templates"), "templates", str(len(records))),
            *_index(records, folder, pages or {}),
            *_sections(summary, folder, MOST_ON_PAGE),
        ],
        version,
        script=PageScript.SURVEY_INDEX,
        closing=_CLOSING,
    )


def shared_folder(sources: Sequence[str]) -> str:
    """Return the folder shared by all sources, with its slash, or an empty text."""
    folders = [PurePath(source).parent.parts for source in sources]
    # Folder by folder, since `commonprefix` would cut inside of a name.
    shared: list[str] = []
    for names in zip(*folders, strict=False):
        if len(set(names)) > 1:
            break
        shared.append(names[0])
    return f"{PurePath(*shared)}{sep}" if shared else ""


def _percent(part: int, whole: int) -> str:
    """Return a share in percent, or a dash if the whole is 0."""
    return f"{part / whole:.0%}" if whole else "–"


def _badges(summary: SurveySummary) -> Iterator[Text]:
    everything, failed = summary.all, len(summary.failed)
    analyzed = everything.templates - failed
    yield badge(f"{analyzed} analyzed", "plain")
    kind = "good" if everything.ok == analyzed else "doubt"
    yield badge(f"self-check passes for {everything.ok}", kind)
    yield badge(
        f"round trips: {_percent(everything.trips_holding, everything.trip_count)} hold", "doubt"
    )
    if failed:
        yield badge(f"{failed} not analyzed", "bad")


def _sections(summary: SurveySummary, folder: str, most: int) -> Blocks:
    """Return the sections: shares of modes, families, switches, causes, crashes and failures."""
    whole = summary.all.templates
    return [
        *_shares("Reasoning", summary.reasoning, whole),
        *_shares("Content", summary.content, whole),
        *_shares("Tool calls", summary.tools, whole),
        *_families(summary, folder, most),
        *_pairs(
            Heading(
                Text("Switches, and how many templates have them"), "switches", short="Switches"
            ),
            [(name, f"{count}") for name, count in summary.switches],
            most,
            [count for _, count in summary.switches],
        ),
        *_pairs(
            Heading(Text("Why round trips break"), "round-trips"),
            [
                (cause, f"{count} in {counted_noun(templates, 'template')}")
                for cause, count, templates in summary.causes
            ],
            len(summary.causes),
            [count for _, count, _ in summary.causes],
        ),
        *_pairs(
            Heading(Text("Crash on what agents send"), "crashing"),
            [
                (record.source.removeprefix(folder), record.check.crash or "")
                for record in summary.crashing
            ],
            most,
        ),
        *_pairs(
            Heading(Text("Not analyzed"), "failed"),
            [(record.source.removeprefix(folder), record.error or "") for record in summary.failed],
            most,
        ),
    ]


def _shares(title: str, shares: Sequence[RecordShare], whole: int) -> Blocks:
    if not shares:
        return []
    anchor = title.lower().replace(" ", "-")
    return [
        Heading(Text(title), anchor),
        _share_table([(share.name, share) for share in shares], whole),
    ]


def _share_table(
    named_shares: Sequence[tuple[str, RecordShare]], whole: int, asides: tuple[str, ...] = ()
) -> Table:
    columns = (
        # Calls of a family may be longer than a line; their beginnings tell them apart.
        TableColumn("", cut=True),
        TableColumn("count", 6, right=True, gap=1, title="templates", bar_of=whole),
        TableColumn("checked", 8, right=True, gap=1, title="self-check passes"),
        TableColumn("trips", 8, right=True, title="round trips hold"),
    )
    shares = (
        (
            code(name),
            Text(str(share.templates)),
            Text(_percent(share.ok, share.templates)),
            Text(_percent(share.trips_holding, share.trip_count)),
        )
        for name, share in named_shares
    )
    look = "shares wide" if asides else "shares"
    return Table(columns, tuple(shares), indent=2, asides=asides, look=look)


def _families(summary: SurveySummary, folder: str, most: int) -> Blocks:
    families = summary.families[:most]
    if not families:
        return []
    ways = "way" if len(summary.families) == 1 else "ways"
    title = f"Families: {len(summary.families)} {ways} to write a call"
    lead = "Templates are of one family if they write a call alike: the same text around slots."
    asides = tuple(
        visible(f"such as {', '.join(name.removeprefix(folder) for name in family.examples)}")
        for family in families
    )
    named = [(marker_text(family.name), family) for family in families]
    return [
        Heading(Text(title), "families", str(len(summary.families)), short="Families", lead=lead),
        # Bars are relative to the largest family, which is the first.
        _share_table(named, families[0].templates, asides),
        *_more(len(summary.families) - len(families)),
    ]


def _pairs(
    title: Heading, pairs: Sequence[tuple[str, str]], most: int, sizes: Sequence[int] = ()
) -> Blocks:
    if not pairs:
        return []
    listed = tuple((visible(name), Text(visible(words))) for name, words in pairs[:most])
    return [title, Facts(listed, sizes=tuple(sizes[:most])), *_more(len(pairs) - most)]


def _more(left_out: int) -> Blocks:
    return prose(Text(f"and {left_out} more", style="dim")) if left_out > 0 else []


# The index of a page. It is complete without the page's script: controls that need the script are
# hidden until it runs.


@dataclass(frozen=True, slots=True)
class ColumnFilter:
    """A filter of the index by one column."""

    name: str
    """The filter's label, e.g. `verdict`."""
    column: int
    """The index of the column in the table, e.g. `1`."""
    options: tuple[tuple[str, str], ...]
    """Values and their labels, e.g. `(("some", "with errors"), ("none", "without errors"))`."""
    counts: bool = False
    """Whether the column is a count, as `errors` is, and the values are `some` and `none`."""


_SEVERITIES = {Severity.ERROR: "errors", Severity.WARNING: "warnings", Severity.INFO: "notes"}
_WORDS = {"passes": "good", "fails": "bad", "not analyzed": "bad"}
"""Verdicts of the self-check, and the style of each."""


def _index(records: Sequence[SurveyRecord], folder: str, pages: Mapping[str, str]) -> Blocks:
    """List all templates; `pages` maps a source to the name of its own page."""
    # Records of several runs may be mixed, some of them without lint.
    linted = any(record.findings is not None for record in records)
    heads = ["template", "verdict", "round trips"]
    heads += [*_SEVERITIES.values()] if linted else []
    heads += ["reasoning", "calls", "switches"]
    lead = (
        "The verdict is the self-check's: whether the format renders all test messages like the"
        " template, so that parsing works. Round trips that break matter for serving (prefix cache)"
        " and training (other tokens than sampled)."
    )
    lead += "" if linted else " Lint was not run; --lint adds its findings."
    cells = tuple(
        (_record_link(record, folder, pages), *_cells(record, linted=linted), *_modes(record))
        for record in records
    )
    columns = tuple(TableColumn(head) for head in heads)
    return [
        Paragraph(Text(lead), look="lead"),
        Picture("controls", list(_choices(records, heads, linted=linted)), []),
        Table(columns, cells, caption="All templates", look="all index"),
    ]


def _record_link(record: SurveyRecord, folder: str, pages: Mapping[str, str]) -> Text:
    name = visible(record.source.removeprefix(folder))
    own = pages.get(record.source)
    return Text(name) if own is None else link(name, own)


def _record_verdict(record: SurveyRecord) -> str:
    return "not analyzed" if record.error else "passes" if record.ok else "fails"


def _cells(record: SurveyRecord, *, linted: bool) -> Iterator[Text]:
    verdict = _record_verdict(record)
    # A template that was not analyzed has no score, not a score of 0.
    figure = "" if record.error else small(f"{record.check.passed}/{record.check.total}")
    yield sentence(badge(verdict, _WORDS[verdict]), " " if figure else "", figure)
    yield Text(f"{record.trips_holding}/{record.trip_count}" if record.trip_count else "")
    if linted:
        found = record.findings
        # Empty if lint was not run on this one; 0 would be a result.
        yield from (
            Text("" if found is None else str(found.get(severity, 0))) for severity in _SEVERITIES
        )


def _modes(record: SurveyRecord) -> Iterator[Text]:
    yield code(record.reasoning or "")
    yield code(record.tools or "")
    yield Text(visible(", ".join(record.switches)))


def _choices(
    records: Sequence[SurveyRecord], heads: Sequence[str], *, linted: bool
) -> Iterator[ColumnFilter]:
    def column_filter(column: str, values: Sequence[str]) -> ColumnFilter:
        options = tuple((value, value) for value in sorted(set(values)) if value)
        return ColumnFilter(column, heads.index(column), options)

    yield column_filter("verdict", [_record_verdict(record) for record in records])
    if linted:
        errors = _SEVERITIES[Severity.ERROR]
        error_options = (("some", "with errors"), ("none", "without errors"))
        yield ColumnFilter(errors, heads.index(errors), error_options, counts=True)
    yield column_filter("reasoning", [record.reasoning or "" for record in records])
    yield column_filter("calls", [record.tools or "" for record in records])
