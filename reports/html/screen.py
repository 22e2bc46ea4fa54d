"""What the page on a template begins with: what the first screen of `analyze` tells."""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.formats.learned_format import LearntFormat
from autoparser.reports.blocks import Row
from autoparser.reports.screen import screen_rows
from autoparser.reports.switches import NO_EFFECT, switch_sentences, unmoved_words

from .element import Element, Node, fragment, h
from .page_parts import definitions
from .styled import styled
from .turn import drawn_turn

__all__ = ["screen"]

OWN_FINDINGS = "Findings"
"""On a page the rules have looked, which find these, too."""


def screen(learnt: LearntFormat) -> Element:
    """Draw a turn, and say what it does not show: what each switch does, where turns stop."""
    rows = (row for row in screen_rows(learnt) if row[0] != OWN_FINDINGS)
    switches = [*_pairs(switch_sentences(learnt), code=True)]
    if learnt.unmoved:
        switches.append((NO_EFFECT, fragment(styled(unmoved_words(learnt.unmoved)))))
    return fragment(
        drawn_turn(learnt),
        definitions(_pairs(rows, code=False)),
        fragment(h("h3", "Switches, set as chat_template_kwargs"), definitions(switches))
        if switches
        else None,
    )


def _pairs(rows: Iterator[Row], *, code: bool) -> Iterator[tuple[Node, Node]]:
    return ((h("code", name) if code else name, fragment(styled(text))) for name, text in rows)
