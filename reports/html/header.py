"""The head of a report: what it is about, the verdict, where it comes from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.overview.portrait import Portrait
from autoparser.reports.summary import summary_rows
from autoparser.reports.verdict import score
from autoparser.reports.visible import visible

from .element import Element, Node, fragment, h
from .page_parts import badge, definitions
from .styled import styled

__all__ = ["name_of", "provenance", "summary", "top"]


def name_of(analysis: Analysis) -> str:
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
    analysis = portrait.analysis
    check, view = analysis.check, analysis.view
    yield badge(score(check), "good" if check.ok else "bad")
    gate = analysis.gate
    if gate.asked:
        yield badge(f"gate {gate.passed}/{gate.asked}", "good" if gate.ok else "bad")
    rows = portrait.round_trip.rows
    if rows:
        held = sum(row.verdict.holds for row in rows)
        kind = "good" if held == len(rows) else "doubt"
        yield badge(f"round trip {held}/{len(rows)}", kind)
    count = len(portrait.lint.findings)
    yield badge(f"{count} finding{'s' * (count != 1)}", "doubt" if count else "good")
    for name, mode in (
        ("reasoning", view.reasoning),
        ("content", view.content),
        ("calls", view.tools),
    ):
        yield badge(f"{name} {mode.value}", "plain")


def summary(portrait: Portrait) -> Element:
    """Say what the format is, in words."""
    rows = [row for row in summary_rows(portrait.analysis) if row[0] != "Template"]
    return definitions((label, fragment(styled(text))) for label, text in rows)


def provenance(portrait: Portrait, version: str) -> Element:
    """Say what was looked at, and by what."""
    analysis = portrait.analysis
    template = analysis.template
    digest = hashlib.sha256(template.text.encode("utf-8", "surrogatepass")).hexdigest()
    pairs: list[tuple[Node, Node]] = [
        ("Template", visible(template.origin or "a text")),
        ("Text", f"{len(template.text)} characters"),
        ("SHA-256", h("code", digest)),
        ("Renders", f"{analysis.renders} for the analysis"),
        ("Tokenizer", visible(portrait.tokenizer) or "none: --tokenizer PATH gives one"),
        ("Made by", f"autoparser {version}"),
    ]
    if template.name not in (None, "default"):
        pairs.insert(1, ("Named", visible(str(template.name))))
    return definitions(pairs, "small")
