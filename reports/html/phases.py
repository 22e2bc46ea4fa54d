"""The phases: what each asked, what it concluded, and the two renders that say so."""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.formats.learned_format import PhaseConclusion
from autoparser.analysis.formats.saved_format import SavedFormat
from autoparser.analysis.learning.prober import Evidence, Finding, Probe
from autoparser.reports.phases import conditions, dialogue_rows
from autoparser.reports.setting_words import UNCONFIRMED
from autoparser.reports.visible import visible

from .element import Element, Node, fragment, h
from .page_parts import definitions, lead, opening
from .signs import inline, shown
from .styled import styled

__all__ = ["conclusions", "difference", "phases"]

CONTEXT = 240
"""Characters of what both renders have that are shown before and after the difference."""
LONGEST = 4000
"""Characters of a difference that are shown."""


def phases(analysis: Analysis) -> Element:
    """List the phases; each opens to its evidence."""
    return fragment(
        lead(
            "Each phase renders two conversations that differ in one thing. Their words are"
            " invented, so that a render shows where each of them went; what only one of the"
            " renders has is coloured."
        ),
        [_phase(analysis, finding) for finding in analysis.phases],
    )


def conclusions(saved: SavedFormat) -> Element:
    """List what the phases concluded; a saved format has no renders of them."""
    return fragment(
        lead("What each phase concluded. The renders that say so are not in a saved format."),
        definitions(
            (h("span", f"{each.phase} {each.title}", id=f"phase-{each.phase}"), _concluded(each))
            for each in saved.phases
        ),
    )


def _concluded(each: PhaseConclusion) -> Node:
    doubt = None if each.confirmed else h("span", f" ({UNCONFIRMED})", class_="doubt")
    return fragment(visible(each.conclusion), doubt)


def _phase(analysis: Analysis, finding: Finding) -> Element:
    doubt = None if finding.confirmed else h("span", f" ({UNCONFIRMED})", class_="doubt")
    known = analysis.markers.items()
    found = [
        h("li", h("code", name), " ", inline(known[name]))
        for name in finding.markers
        if name in known
    ]
    return opening(
        fragment(
            h("b", finding.phase, class_="tag"),
            h("span", finding.title, class_="what"),
            h("span", visible(finding.conclusion), doubt, class_="concludes"),
        ),
        # A link to what is inside opens the box.
        h("ul", found, class_="found", id=f"phase-{finding.phase}"),
        *(_evidence(evidence) for evidence in finding.evidence),
    )


def _evidence(evidence: Evidence) -> Element:
    first, _, second = evidence.difference.partition(" / ")
    split = evidence.split
    same = evidence.left.rendered and evidence.right.rendered and not (split.left or split.right)
    return h(
        "figure",
        h(
            "figcaption",
            visible(evidence.difference),
            " — both render the same text" if same else "",
        ),
        h(
            "div",
            _side(
                first or "the one", evidence.left, split.prefix, split.left, split.suffix, "left"
            ),
            _side(
                second or "the other",
                evidence.right,
                split.prefix,
                split.right,
                split.suffix,
                "right",
            ),
            class_="sides",
        ),
        class_="evidence",
    )


def _side(name: str, probe: Probe, prefix: str, own: str, suffix: str, side: str) -> Element:
    told = definitions(
        ((label, fragment(styled(text))) for label, text in dialogue_rows(probe.dialogue)), "said"
    )
    if probe.error is not None:
        render: Node = h(
            "p", "No text: the template raises ", h("q", visible(probe.error.reason)), class_="bad"
        )
    else:
        render = difference(prefix, own, suffix, side, f"the render of {name}")
    return h(
        "div",
        h("h3", visible(name), h("small", f" {conditions(probe)}")),
        told,
        render,
        class_=f"side {side}",
    )


def difference(prefix: str, own: str, suffix: str, side: str, label: str) -> Element:
    """Show a render: what it has alone between the ends of what both have."""
    return h(
        "pre",
        [*_tail(prefix), *_own(own, side), *_head(suffix)],
        class_="render",
        tabindex="0",
        role="group",
        aria_label=visible(label),
    )


def _own(text: str, side: str) -> Iterator[Node]:
    tag = {"left": "del", "right": "ins"}.get(side, "span")
    if text:
        yield h(tag, shown(text[:LONGEST]))
    if len(text) > LONGEST:
        yield _left_out(len(text) - LONGEST, "more characters")


def _tail(text: str) -> Iterator[Node]:
    if len(text) > CONTEXT:
        yield _left_out(len(text) - CONTEXT, "characters that both have")
        yield "\n"
    yield from shown(text[-CONTEXT:])


def _head(text: str) -> Iterator[Node]:
    yield from shown(text[:CONTEXT])
    if len(text) > CONTEXT:
        yield "\n"
        yield _left_out(len(text) - CONTEXT, "characters that both have")


def _left_out(count: int, what: str) -> Element:
    return h("em", f"… {count} {what}", class_="more")
