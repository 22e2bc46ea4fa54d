"""A comparison as Markdown, for a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from autoparser.analysis.overview.compared_texts import RenderChange
from autoparser.analysis.overview.comparison import Comparison
from autoparser.analysis.overview.format_facts import FactChange, FormatComparison

from .comparison import (
    NOT_RENDERED,
    counted,
    formats_words,
    origin_of,
    side_words,
    way_words,
    ways_shown,
)
from .verdict import basis, check_score
from .visible import visible
from .what_was_asked import asked_rows, equal_words

__all__ = ["comparison_markdown", "format_comparison_markdown"]

_RUNS = re.compile("`+")


def comparison_markdown(found: Comparison) -> str:
    """Write headings and tables; what comes from a template stands in code and is inert."""
    return "\n".join(_lines(found)) + "\n"


def format_comparison_markdown(found: FormatComparison) -> str:
    """Write what differs in what was learnt, nothing being rendered."""
    verdict = "nothing that was learnt differs" if found.equal else "they differ"
    lines = (
        f"### Formats compared: {verdict}",
        "",
        *_compared_sides(found),
        "",
        formats_words(found),
        *_facts(found),
        "",
        NOT_RENDERED,
    )
    return "\n".join(lines) + "\n"


def _lines(found: Comparison) -> Iterator[str]:
    verdict = "no difference in behaviour" if found.equal else "they differ"
    yield f"### Templates compared: {verdict}"
    yield ""
    yield from _compared_sides(found)
    yield ""
    if found.equal:
        yield equal_words(found)
    else:
        yield f"{', '.join(counted(found))}."
    yield from _facts(found)
    yield from _renders(found)
    yield from _trips(found)
    yield from _findings(found)
    yield from _asked(found)


def _compared_sides(found: Comparison | FormatComparison) -> Iterator[str]:
    for sign, analysis in (("−", found.left), ("+", found.right)):
        check = analysis.check
        rests = "" if check.equal == check.total else f": {code(basis(check))}"
        yield f"- {sign} {code(origin_of(analysis))}: {check_score(check)}{rests}"


def _facts(found: Comparison | FormatComparison) -> Iterator[str]:
    if not found.facts:
        return
    yield from ("", "#### The format", "", "| | before | after |", "|---|---|---|")
    for aspect, changes in groupby(found.facts, key=lambda change: change.aspect):
        yield f"| **{plain(aspect)}** | | |"
        for change in changes:
            turns = f" (turns of {'; '.join(change.turns)})" if change.turns else ""
            sides = " | ".join(cell(side_words(side)) for side in (change.left, change.right))
            yield f"| {_named(change)}{plain(turns)} | {sides} |"


_OF_THE_TEMPLATE = frozenset({"switches", "generation prompt"})
"""Aspects whose names the template chooses: they stand in code, where nothing is a mention."""


def _named(change: FactChange) -> str:
    return cell(change.name) if change.aspect in _OF_THE_TEMPLATE else plain(change.name)


def _renders(found: Comparison) -> Iterator[str]:
    for ways in ways_shown(found):
        yield from ("", f"#### {ways.title}")
        for change in ways.shown:
            yield from ("", plain(way_words(change, found.asked)), "")
            for side in _sides(change):
                yield f"- {side}"
        if ways.left_out:
            yield from ("", plain(ways.left_out))


def _asked(found: Comparison) -> Iterator[str]:
    yield from ("", "#### What was asked", "")
    for label, words in asked_rows(found):
        yield f"- {label}: {plain(words)}"


def _sides(change: RenderChange) -> Iterator[str]:
    for sign, text, error in (
        ("−", change.left, change.left_error),
        ("+", change.right, change.right_error),
    ):
        if text is None:
            yield f"{sign} raises {code(visible(error))}"
        else:
            yield f"{sign} {code(visible(change.before[-20:] + text))}"


def _trips(found: Comparison) -> Iterator[str]:
    if not found.trips:
        return
    yield ""
    yield f"#### Round trips: {len(found.trips)} of {found.played} verdicts differ"
    yield from ("", "| scenario | next | before | after |", "|---|---|---|---|")
    for change in found.trips:
        yield f"| {plain(change.scenario)} | {change.next} | {change.left} | {change.right} |"


def _findings(found: Comparison) -> Iterator[str]:
    if not found.findings:
        return
    yield from ("", "#### Findings", "")
    for change in found.findings:
        word = "new" if change.appeared else "gone"
        yield f"- {word}: {change.finding.code} {code(change.finding.message)}"


def plain(text: str) -> str:
    """Return a text that Markdown takes as it is."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~&@-])", r"\\\1", visible(text))


def cell(text: str) -> str:
    """Return a code span for a table, whose columns end at any bar that is not escaped."""
    return code(text).replace("|", "\\|")


def code(text: str) -> str:
    """Put one line of text into a code span that nothing in it closes."""
    inside = visible(text)
    longest = max((len(run) for run in _RUNS.findall(inside)), default=0)
    fence = "`" * (longest + 1)
    space = " " if inside[:1] == "`" or inside[-1:] == "`" or not inside.strip() else ""
    return f"{fence}{space}{inside}{space}{fence}"
