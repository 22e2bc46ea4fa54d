"""The page on two templates: what changed in behaviour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.overview.compared_texts import RenderChange
from autoparser.analysis.overview.comparison import Comparison
from autoparser.analysis.overview.format_facts import FactChange, FormatComparison
from autoparser.reports.comparison import (
    NOT_RENDERED,
    counted,
    formats_words,
    origin_of,
    side_words,
    ways_shown,
    where_words,
)
from autoparser.reports.verdict import basis, check_score
from autoparser.reports.visible import visible
from autoparser.reports.what_was_asked import asked_rows, equal_words

from .element import Element, Node, fragment, h
from .header import name_of
from .page_parts import badge, definitions, lead, opening, table
from .page_shell import PageSection, document
from .signs import literal, shown

__all__ = ["comparison_page"]


def comparison_page(found: Comparison | FormatComparison, version: str) -> str:
    """Write the page: one file that asks for nothing and runs nothing."""
    names = f"{name_of(found.left)} → {name_of(found.right)}"
    return document(
        f"{names} · autoparser compare",
        _top(found),
        list(_learnt_sections(found) if isinstance(found, FormatComparison) else _sections(found)),
        h("p", f"autoparser {version}. This page is one file: it loads nothing and runs nothing."),
    )


def _top(found: Comparison | FormatComparison) -> Element:
    word = badge("equal", "good") if found.equal else badge("they differ", "doubt")
    checks = [
        badge(
            f"{side} {check_score(each.check)}",
            "good" if each.check.ok else "bad",
        )
        for side, each in (("before", found.left), ("after", found.right))
    ]
    return fragment(
        h("p", "autoparser compare", class_="kind"),
        h("h1", name_of(found.left), " → ", name_of(found.right)),
        h("p", word, " ", checks, class_="badges"),
        [
            h("p", f"{side}: {basis(each.check)}.")
            for side, each in (("Before", found.left), ("After", found.right))
            if each.check.equal != each.check.total
        ],
    )


def _sections(found: Comparison) -> Iterator[PageSection]:
    yield PageSection("summary", "Summary", _summary(found))
    if found.findings:
        yield PageSection("findings", "Findings", _findings(found), str(len(found.findings)))
    if found.facts:
        yield PageSection("format", "The format", _facts(found), str(len(found.facts)))
    if found.renders:
        asked = found.asked
        differing = asked.differing + asked.switched_differing
        note = f"{differing}/{asked.renders + asked.switched}"
        yield PageSection("renders", "Renders", _renders(found), note)
    if found.trips:
        note = f"{len(found.trips)}/{found.played}"
        yield PageSection("round-trips", "Round trips", _trips(found), note)
    yield PageSection("asked", "What was asked", _asked(found))


def _learnt_sections(found: FormatComparison) -> Iterator[PageSection]:
    """Show what differs in what was learnt, nothing being rendered."""
    told = fragment(lead(formats_words(found)), _sides_named(found), h("p", NOT_RENDERED))
    yield PageSection("summary", "Summary", told)
    if found.facts:
        yield PageSection("format", "The format", _facts(found), str(len(found.facts)))


def _summary(found: Comparison) -> Element:
    words = equal_words(found)
    if not found.equal:
        words = f"They differ: {', '.join(counted(found))}."
    return fragment(
        lead(words),
        _sides_named(found),
    )


def _sides_named(found: Comparison | FormatComparison) -> Element:
    return definitions([("Before", origin_of(found.left)), ("After", origin_of(found.right))])


def _facts(found: Comparison | FormatComparison) -> Element:
    drawn: list[Node] = []
    for aspect, changes in groupby(found.facts, key=lambda change: change.aspect):
        drawn.append(h("h3", visible(aspect)))
        drawn.append(
            table(
                f"What differs: {visible(aspect)}",
                ("fact", "before", "after"),
                [_fact(change) for change in changes],
                "sides-2",
            )
        )
    return fragment(drawn)


def _fact(change: FactChange) -> Sequence[Node]:
    turns = h("small", f" in turns of {'; '.join(change.turns)}") if change.turns else None
    return (
        fragment(visible(change.name), turns),
        _value(change.left, "del"),
        _value(change.right, "ins"),
    )


def _value(value: Json, tag: str) -> Node:
    if isinstance(value, str) and value:
        return h("code", h(tag, literal(value, breaks=False)))
    return h("small", visible(side_words(value)))


def _renders(found: Comparison) -> Element:
    return fragment(
        lead(
            "Each conversation is rendered by both, in the shape that each takes, with nothing set"
            " and under every value of a switch. What differs in the same way stands together;"
            " what is shown begins a little before that place."
        ),
        [
            fragment(
                h("h3", visible(ways.title)),
                [_change(each, found) for each in ways.shown],
                h("p", ways.left_out) if ways.left_out else None,
            )
            for ways in ways_shown(found)
        ],
    )


def _change(change: RenderChange, found: Comparison) -> Element:
    names = change.conversations
    where = where_words(change, found.asked)
    some = f"{change.renders} render{'s' * (change.renders != 1)}{', ' * bool(where)}{where}"
    return h(
        "figure",
        h("figcaption", h("b", visible(f"{some}: {names[0]}" if len(names) == 1 else some))),
        h(
            "div",
            _side(
                _written_by("before", change.left_line),
                change,
                change.left,
                change.left_error,
                "left",
            ),
            _side(
                _written_by("after", change.right_line),
                change,
                change.right,
                change.right_error,
                "right",
            ),
            class_="sides",
        ),
        opening("Which", h("ul", [h("li", visible(name)) for name in names]), printed=False)
        if len(names) > 1
        else None,
        class_="evidence",
    )


def _asked(found: Comparison) -> Element:
    return definitions([(label.capitalize(), words) for label, words in asked_rows(found)])


def _written_by(side: str, line: int | None) -> str:
    return side if line is None else f"{side}, written by line {line}"


def _side(name: str, change: RenderChange, text: str | None, error: str, side: str) -> Element:
    render: Node = h("p", "It raises ", h("q", visible(error)), class_="bad")
    if text is not None:
        tag = "del" if side == "left" else "ins"
        render = h("pre", shown(change.before), h(tag, shown(text) if text else "(the end)"))
    return h("div", h("h3", name), render, class_=f"side {side}")


def _trips(found: Comparison) -> Element:
    rows = [
        (visible(change.scenario), change.next, _verdict(change.left), _verdict(change.right))
        for change in found.trips
    ]
    return fragment(
        lead("Whether a sampled turn comes back in the next prompt, and if not, why."),
        table("Round trips that differ", ("scenario", "next", "before", "after"), rows),
    )


def _verdict(words: str) -> Element:
    kinds = {"holds": "good", "does not apply": "plain"}
    return badge(words, kinds.get(words, "bad"))


def _findings(found: Comparison) -> Element:
    rows = [
        (
            badge("new", "bad") if change.appeared else badge("gone", "good"),
            h("code", visible(change.finding.code)),
            "" if change.finding.line is None else str(change.finding.line),
            visible(change.finding.message),
        )
        for change in sorted(found.findings, key=lambda change: not change.appeared)
    ]
    heads = ("change", "rule", "line", "message")
    return table("Findings that appeared or vanished", heads, rows, "all")
