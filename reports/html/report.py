"""The page on one template."""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.overview.portrait import Portrait

from .element import h
from .findings import findings, self_checks
from .header import name_of, provenance, summary, top
from .page_shell import PageSection, document
from .parser import grammar, parser
from .phases import phases
from .plots import conversation, masks
from .settings import gate, settings
from .strips import round_trips
from .tables import markers, modes, switches
from .turn import turn

__all__ = ["report_page"]


def report_page(portrait: Portrait, version: str) -> str:
    """Write the page: one file that asks for nothing and runs nothing."""
    return document(
        f"{name_of(portrait.analysis)} · autoparser report",
        top(portrait),
        list(_sections(portrait, version)),
        h("p", f"autoparser {version}. This page is one file: it loads nothing and runs nothing."),
    )


def _sections(portrait: Portrait, version: str) -> Iterator[PageSection]:
    analysis = portrait.analysis
    rows, talk = portrait.round_trip.rows, portrait.conversation
    held = sum(row.verdict.holds for row in rows)
    yield PageSection("summary", "Summary", summary(portrait))
    count = len(portrait.lint.findings)
    yield PageSection(
        "findings", "Findings", findings(portrait.lint, analysis.template.text), str(count)
    )
    yield PageSection("turn", "The turn", turn(analysis))
    yield PageSection("markers", "Markers", markers(analysis), str(len(analysis.markers.items())))
    yield PageSection("modes", "Modes", modes(analysis))
    yield PageSection("switches", "Switches", switches(analysis), str(len(analysis.switches)))
    if len(analysis.formats) > 1:
        yield PageSection("settings", "Settings", settings(analysis), str(len(analysis.formats)))
    yield PageSection("phases", "Phases", phases(analysis), str(len(analysis.phases)))
    yield PageSection("round-trip", "Round trip", round_trips(portrait), f"{held}/{len(rows)}")
    broken = f"{talk.breaks} break{'s' * (talk.breaks != 1)}" if talk.steps else ""
    yield PageSection("conversation", "Ten turns", conversation(talk), broken)
    yield PageSection("parser", "The parser", parser(analysis))
    yield PageSection("grammar", "The grammar", grammar(portrait))
    yield PageSection("masks", "Mask cost", masks(portrait.masks))
    passed = sum(check.passed for check in analysis.checks)
    total = sum(check.total for check in analysis.checks)
    yield PageSection("check", "Self-check", self_checks(analysis), f"{passed}/{total}")
    found = analysis.gate
    yield PageSection("gate", "Gate", gate(found), f"{found.passed}/{found.asked}")
    yield PageSection("provenance", "Provenance", provenance(portrait, version))
