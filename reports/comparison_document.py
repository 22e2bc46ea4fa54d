"""A comparison as JSON; ``docs/compare.schema.json`` describes it."""

from __future__ import annotations

import hashlib

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.describing.document import check_counts
from autoparser.analysis.overview.comparison import AskedRenders, Comparison, RenderChange

__all__ = ["COMPARISON_SCHEMA", "comparison_document"]

COMPARISON_SCHEMA = "autoparser.compare/2"
"""Name and version of the document's schema; a change that is not a mere addition counts it up."""


def comparison_document(found: Comparison) -> dict[str, Json]:
    """Return all that differs."""
    return {
        "schema": COMPARISON_SCHEMA,
        "equal": found.equal,
        "same_text": found.same_text,
        "left": _side(found.left),
        "right": _side(found.right),
        "format": [
            {
                "aspect": change.aspect,
                "name": change.name,
                "turns": list(change.turns),
                "left": change.left,
                "right": change.right,
            }
            for change in found.facts
        ],
        "renders": {
            "total": found.asked.renders,
            "differing": found.asked.differing,
            "under_switches": {
                "total": found.asked.switched,
                "differing": found.asked.switched_differing,
            },
            "changed": [_change(change) for change in found.renders],
        },
        "asked": _asked(found.asked),
        "round_trips": {
            "total": found.played,
            "changed": [
                {
                    "scenario": change.scenario,
                    "next": change.next,
                    "left": change.left,
                    "right": change.right,
                }
                for change in found.trips
            ],
        },
        "findings": [
            {
                "change": "appeared" if change.appeared else "vanished",
                "code": change.finding.code,
                "severity": change.finding.severity.value,
                "message": change.finding.message,
                "line": change.finding.line,
            }
            for change in found.findings
        ],
    }


def _change(change: RenderChange) -> dict[str, Json]:
    return {
        "under": [dict(setting) for setting in change.under],
        "conversations": list(change.conversations),
        "only": list(change.only),
        "renders": change.renders,
        "at": change.at,
        "before": change.before,
        "left": change.left,
        "right": change.right,
        "left_error": change.left_error or None,
        "right_error": change.right_error or None,
    }


def _asked(asked: AskedRenders) -> dict[str, Json]:
    return {
        "usual": dict(asked.usual),
        "settings": [dict(setting) for setting in asked.settings],
        "pairs": asked.pairs,
        "content": list(asked.parts),
        "refused_by_both": {
            "renders": asked.refused,
            "conversations": list(asked.refused_conversations),
            "settings": [dict(setting) for setting in asked.refused_settings],
        },
        "left_out": {
            "settings": [dict(setting) for setting in asked.left_out],
            "pairs": asked.left_out_pairs,
            "renders": asked.unanswered,
        },
    }


def _side(analysis: Analysis) -> dict[str, Json]:
    template, check = analysis.template, analysis.check
    return {
        "name": template.name,
        "origin": template.origin,
        "sha256": hashlib.sha256(template.text.encode("utf-8", "surrogatepass")).hexdigest(),
        "check": check_counts(check),
    }
