"""The history of a template: its revisions, for a terminal, as Markdown, as JSON and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import JsonDocument, document_json
from autoparser.analysis.overview.comparison import Comparison
from autoparser.analysis.overview.template_history import RevisionChange

from .blocks import Block, Blocks, Heading, badge, lead, prose, rows
from .comparison import (
    comparison_blocks,
    difference_counts,
    first_differences,
    verdict_sentence,
)
from .comparison_json import comparison_document
from .markdown import markdown_text
from .pages import PageTop, page
from .terminal import report_text
from .visible import counted_noun, visible

SHORT_HASH = 8
"""Digits of a commit's hash on a screen."""


def history_report(
    changes: Sequence[RevisionChange], source: str, width: int, *, in_full: bool = False
) -> Text:
    """Report on a template's revisions in lines of at most `width` cells.

    The verdicts come first. Without `in_full`, each revision has a line for each kind of
    difference.
    """
    words = prose(Text(_lead_words(changes, source)), indent=0)
    # A history of many revisions would scroll its verdicts away.
    drawn = [*words, *_verdicts(changes), *_revisions(changes, in_full=in_full)]
    return report_text(drawn, width)


def history_markdown(changes: Sequence[RevisionChange], source: str) -> str:
    """Write a template's revisions as Markdown."""
    # A comment has limits of length, and a page shows all.
    drawn = [*_verdicts(changes), *_revisions(changes, in_full=False)]
    return markdown_text(visible(_lead_words(changes, source)), drawn)


def history_page(changes: Sequence[RevisionChange], source: str, version: str) -> str:
    """Write the page: one file that loads nothing and runs nothing."""
    name = visible(source)
    badges = [badge(counted_noun(len(changes), "revision"), "good")]
    top = PageTop(f"{name} · autoparser compare", "autoparser compare --history", name, badges)
    return page(top, [*_verdicts(changes), *_revisions(changes, in_full=True)], version)


def _verdicts(changes: Sequence[RevisionChange]) -> Blocks:
    """List the verdict of each revision, if there are several."""
    if len(changes) < 2:  # noqa: PLR2004 - the only one is shown below
        return []
    pairs = [
        (f"{_short_hash(change)}  {visible(change.revision.date)}", _verdict_text(change))
        for change in changes
    ]
    return [Heading(Text("Verdicts"), "verdicts"), *rows(pairs)]


def _lead_words(changes: Sequence[RevisionChange], source: str) -> str:
    return f"{source}: {counted_noun(len(changes), 'revision')} of the template, newest first"


def _revisions(changes: Sequence[RevisionChange], *, in_full: bool) -> Iterator[Block]:
    for number, change in enumerate(changes, 1):
        revision = change.revision
        words = (_short_hash(change), revision.date, revision.author, revision.subject)
        title = "  ".join(visible(word) for word in words if word)
        yield Heading(Text(title), f"revision-{number}", revision.date)
        for block in _revision_blocks(change, in_full=in_full):
            # One level below the heading of the revision, whose section this is.
            if isinstance(block, Heading):
                yield from lead(Text(block.title.plain, style="bold"))
            else:
                yield block


def _short_hash(change: RevisionChange) -> str:
    return visible(change.revision.commit[:SHORT_HASH]) or "uncommitted"


def _verdict_text(change: RevisionChange) -> Text:
    """Return the effect of a revision as a sentence."""
    if change.problem:
        return Text(f"no analysis: {visible(change.problem)}", style="red")
    # The first revision, or one after a revision that has no analysis.
    if change.comparison is None:
        return Text("no earlier revision to compare with", style="dim")
    if change.comparison.equal:
        return Text("no difference in behavior", style="green")
    return verdict_sentence(change.comparison)


def _revision_blocks(change: RevisionChange, *, in_full: bool) -> Blocks:
    comparison, verdict = change.comparison, prose(_verdict_text(change))
    if change.problem or comparison is None or comparison.equal:
        return verdict
    counted = [*verdict, *prose(difference_counts(comparison))]
    if in_full:
        return [*counted, *comparison_blocks(comparison)]
    # In full, each difference names its line.
    lines = _template_lines(comparison)
    where = ("line" if len(lines) == 1 else "lines", Text(", ".join(map(str, lines))))
    return [*counted, *first_differences(comparison), *(rows([where]) if lines else [])]


def _template_lines(comparison: Comparison) -> list[int]:
    """Return the lines of the newer template that wrote text that differs."""
    lines = {change.right_line for change in comparison.renders.changed}
    return sorted(line for line in lines if line is not None)


class RevisionDocument(JsonDocument, frozen=True):
    """A revision of a template."""

    commit: str | None
    """The full hash, e.g. `"b7f4723dd19d171102b63dcbb80392aaeb9eb945"`; null for changes that are
    not committed."""
    date: str | None
    """The day of the commit, e.g. `"2026-11-21"`; null if there is none."""
    author: str | None
    """The author's name, e.g. `"Ada Lovelace"`; null if there is no commit."""
    subject: str
    """The first line of the message, e.g. `"Found the format of a template by rendering it"`."""
    problem: str | None
    """The reason if the revision has no analysis, e.g. `"line 3: unexpected '}'"`."""
    comparison: dict[str, Json] | None
    """The difference from the revision before, as `autoparser.compare/3`, e.g. `{"equal": true,
    …}`; null for the first, and if one of the two has no analysis."""


class HistoryDocument(JsonDocument, frozen=True):
    """The revisions that changed a template, the newest first."""

    schema: Literal["autoparser.history/1"]
    """Name and version, `"autoparser.history/1"`, which grows with each incompatible change."""
    source: str
    """The file, directory or model, e.g. `"chat_template.jinja"`."""
    revisions: tuple[RevisionDocument, ...]
    """The revisions, e.g. first that of `"2026-11-21"`."""


def history_document(changes: Sequence[RevisionChange], source: str) -> dict[str, Json]:
    """Return a template's revisions as JSON."""
    return document_json(
        HistoryDocument("autoparser.history/1", source, tuple(_revision_documents(changes)))
    )


def _revision_documents(changes: Sequence[RevisionChange]) -> Iterator[RevisionDocument]:
    for change in changes:
        revision, comparison = change.revision, change.comparison
        yield RevisionDocument(
            revision.commit or None,
            revision.date or None,
            revision.author or None,
            revision.subject,
            change.problem or None,
            None if comparison is None else comparison_document(comparison),
        )
