"""The formats of a template's settings, the gate of their prompts, and what was asked."""

from __future__ import annotations

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.formats.learned_format import LearntFormat
from autoparser.reports.setting_words import setting_words
from autoparser.reports.settings import gate_words, setting_rows, settings_words
from autoparser.reports.visible import visible
from autoparser.reports.what_was_asked import bounds_rows

from .element import Element, fragment, h
from .page_parts import definitions, lead, table
from .styled import styled

__all__ = ["asked_bounds", "gate", "settings"]


def settings(analysis: LearntFormat) -> Element:
    """List the formats: under what each is so, what it writes, whether it holds."""
    rows = [(setting, fragment(styled(words))) for setting, words in setting_rows(analysis)]
    return fragment(
        lead(settings_words(analysis.formats)),
        table("Settings", ("chat_template_kwargs", "how turns begin, and the self-check"), rows),
    )


def gate(learnt: LearntFormat) -> Element:
    """Say what became of the texts that the template writes after its prompts."""
    rows = [
        (
            visible(fault.title),
            setting_words(fault.setting) or "nothing set",
            f"not {fault.question.value}: {visible(fault.detail)}",
        )
        for fault in learnt.gate.faults
    ]
    return fragment(
        h("p", styled(gate_words(learnt))),
        table("Gate", ("message", "chat_template_kwargs", "what is wrong"), rows) if rows else None,
    )


def asked_bounds(analysis: Analysis) -> Element:
    """List over what the analysis says what it says."""
    pairs = [("renders", str(analysis.renders)), *bounds_rows(analysis.asked)]
    return definitions([(label.capitalize(), words) for label, words in pairs])
