"""The head of a report: what it is about, the verdict, where it comes from."""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.formats.learned_format import LearntFormat
from autoparser.analysis.formats.saved_format import SavedFormat
from autoparser.analysis.overview.portrait import Portrait
from autoparser.reports.settings import gate_score
from autoparser.reports.summary import default_mode, summary_rows
from autoparser.reports.verdict import check_score
from autoparser.reports.visible import visible

from .element import Element, Node, fragment, h
from .findings import released
from .page_parts import badge, definitions
from .styled import styled

__all__ = ["name_of", "provenance", "saved_top", "summary", "top"]


def name_of(analysis: LearntFormat) -> str:
    """Return the short name of a template: the last part of where it came from."""
    template = analysis.template
    origin = template.origin or template.name or "a template"
    return visible(origin.replace("\\", "/").rstrip("/").rpartition("/")[2] or origin)


def top(portrait: Portrait) -> Element:
    """Name the template and give the verdicts in a line."""
    analysis = portrait.analysis
    return fragment(
        h("p", "autoparser report", class_="kind"),
        h("h1", name_of(analysis)),
        h("p", list(_badges(portrait)), class_="badges"),
    )


def _badges(portrait: Portrait) -> Iterator[Node]:
    yield from _verdicts(portrait.analysis)
    rows = portrait.round_trip.rows
    if rows:
        held = sum(row.verdict.holds for row in rows)
        kind = "good" if held == len(rows) else "doubt"
        yield badge(f"round trip {held}/{len(rows)}", kind)
    count = len(released(portrait.lint))
    yield badge(f"{count} finding{'s' * (count != 1)}", "doubt" if count else "good")
    yield from _modes(portrait.analysis)


def _verdicts(learnt: LearntFormat) -> Iterator[Node]:
    check, gate = learnt.check, learnt.gate
    yield badge(check_score(check), "good" if check.ok else "bad")
    if gate.asked:
        kind = "bad" if not gate.ok else "plain" if learnt.spoiled else "good"
        yield badge(gate_score(gate), kind)


def _modes(learnt: LearntFormat) -> Iterator[Node]:
    view = learnt.view
    for name, mode in (
        ("reasoning", default_mode(learnt)),
        ("content", view.content),
        ("calls", view.tools),
    ):
        yield badge(f"{name} {mode.value}", "plain")


def saved_top(saved: SavedFormat) -> Element:
    """Name the template that it was learnt from, and give the verdicts in a line."""
    return fragment(
        h("p", "autoparser report on a saved format", class_="kind"),
        h("h1", name_of(saved)),
        h("p", [*_verdicts(saved), *_modes(saved)], class_="badges"),
    )


def summary(learnt: LearntFormat) -> Element:
    """Say what the format is, in words."""
    rows = [row for row in summary_rows(learnt) if row[0] != "Template"]
    return definitions((label, fragment(styled(text))) for label, text in rows)


def provenance(learnt: LearntFormat, tokenizer: str, version: str) -> Element:
    """Say what was looked at, and by what; `tokenizer` is its file, empty where there is none."""
    template = learnt.template
    pairs: list[tuple[Node, Node]] = [
        ("Template", visible(template.origin or "a text")),
        ("Text", f"{learnt.characters} characters"),
        ("SHA-256", h("code", learnt.sha256)),
        ("Renders", f"{learnt.renders} for the analysis"),
        ("Tokenizer", visible(tokenizer) or "none: --tokenizer PATH gives one"),
        ("Made by", f"autoparser {version}"),
    ]
    if template.name not in (None, "default"):
        pairs.insert(1, ("Named", visible(str(template.name))))
    return definitions(pairs, "small")
