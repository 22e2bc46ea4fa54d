"""The page on one template."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from autoparser.analysis.core.conversation import Tool
from autoparser.analysis.formats.learned_format import LearntFormat
from autoparser.analysis.formats.saved_format import SavedFormat
from autoparser.analysis.learning.tools_in_prompt import ToolsInPrompt
from autoparser.analysis.overview.portrait import GrammarForms, Portrait
from autoparser.reports.tools_in_prompt import TOOLS_IN_PROMPT

from .element import fragment, h
from .findings import findings, released, self_checks
from .header import name_of, provenance, saved_top, summary, top
from .page_shell import PageSection, document
from .parser import grammar, parser
from .phases import conclusions, phases
from .plots import conversation, masks
from .screen import screen
from .settings import asked_bounds, gate, settings
from .strips import round_trips
from .switch_views import switch_views
from .tables import markers, modes, switches, tools_in_prompt
from .traced_prompt import traced_prompt
from .turn import turn_details

__all__ = ["report_page", "saved_page"]


def report_page(portrait: Portrait, version: str, index: str | None = None) -> str:
    """Write the page: one file that asks for nothing and runs nothing.

    `index` names a page beside it that lists this one among others.
    """
    return document(
        f"{name_of(portrait.analysis)} · autoparser report",
        fragment(
            None if index is None else h("p", h("a", "All templates", href=index), class_="back"),
            top(portrait),
        ),
        list(_folded(_sections(portrait, version))),
        h("p", f"autoparser {version}. This page is one file: it loads nothing and runs nothing."),
    )


def saved_page(
    saved: SavedFormat, grammar_forms: GrammarForms, tools: Sequence[Tool], version: str
) -> str:
    """Write the page on a saved format: all but what takes renders."""
    sections = [
        PageSection("screen", "At a glance", screen(saved)),
        PageSection("summary", "Summary", summary(saved)),
        *_format(saved),
        PageSection("phases", "Phases", conclusions(saved), str(len(saved.phases))),
        PageSection("parser", "The parser", parser(saved)),
        PageSection("grammar", "The grammar", grammar(grammar_forms, tools)),
        *_verdicts(saved),
        PageSection("provenance", "Provenance", provenance(saved, "", version)),
    ]
    return document(
        f"{name_of(saved)} · autoparser report",
        saved_top(saved),
        list(_folded(sections)),
        h("p", f"autoparser {version}. This page is one file: it loads nothing and runs nothing."),
    )


_OPEN = ("screen", "findings")
"""Sections that tell first things; the others unfold."""


def _folded(sections: Iterable[PageSection]) -> Iterator[PageSection]:
    return (replace(each, folded=each.anchor not in _OPEN) for each in sections)


def _format(learnt: LearntFormat) -> Iterator[PageSection]:
    yield PageSection("turn", "The turn, taken apart", turn_details(learnt))
    yield PageSection("markers", "Markers", markers(learnt), str(len(learnt.markers.items())))
    yield PageSection("modes", "Modes", modes(learnt))
    yield PageSection("switches", "Switches", switches(learnt), str(len(learnt.switches)))
    if len(learnt.formats) > 1:
        yield PageSection("settings", "Settings", settings(learnt), str(len(learnt.formats)))


def _verdicts(learnt: LearntFormat) -> Iterator[PageSection]:
    passed = sum(check.passed for check in learnt.checks)
    total = sum(check.total for check in learnt.checks)
    yield PageSection("check", "Self-check", self_checks(learnt), f"{passed}/{total}")
    found = learnt.gate
    yield PageSection("gate", "Gate", gate(learnt), f"{found.passed}/{found.asked}")


def _lost(found: ToolsInPrompt) -> str:
    counts = {"fail": len(found.crashes), "lost": len(found.lost)}
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count)


def _sections(portrait: Portrait, version: str) -> Iterator[PageSection]:
    analysis = portrait.analysis
    rows, talk = portrait.round_trip.rows, portrait.conversation
    held = sum(row.verdict.holds for row in rows)
    yield PageSection("screen", "At a glance", screen(analysis))
    count = len(released(portrait.lint))
    yield PageSection(
        "findings", "Findings", findings(portrait.lint, analysis.template), str(count)
    )
    yield PageSection("summary", "Summary", summary(analysis))
    yield from _format(analysis)
    if portrait.views:
        under = str(len(portrait.views) - 1)
        yield PageSection("views", "A turn per switch", switch_views(portrait.views), under)
    yield PageSection("lines", "Which line wrote what", traced_prompt(portrait.trace))
    told = tools_in_prompt(portrait.tools_in_prompt)
    yield PageSection("tools", TOOLS_IN_PROMPT, told, _lost(portrait.tools_in_prompt))
    yield PageSection("phases", "Phases", phases(analysis), str(len(analysis.phases)))
    yield PageSection("round-trip", "Round trip", round_trips(portrait), f"{held}/{len(rows)}")
    broken = f"{talk.breaks} break{'s' * (talk.breaks != 1)}" if talk.steps else ""
    yield PageSection("conversation", "Ten turns", conversation(talk), broken)
    yield PageSection("parser", "The parser", parser(analysis))
    yield PageSection("grammar", "The grammar", grammar(portrait.grammar, portrait.tools))
    yield PageSection("masks", "Mask cost", masks(portrait.masks))
    yield from _verdicts(analysis)
    yield PageSection("asked", "What was asked", asked_bounds(analysis))
    yield PageSection("provenance", "Provenance", provenance(analysis, portrait.tokenizer, version))
