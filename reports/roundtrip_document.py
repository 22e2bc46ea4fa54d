"""Round trips as JSON; ``docs/roundtrip.schema.json`` describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import cast

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.describing.document import check_counts, template_document
from autoparser.analysis.history.roundtrip import (
    RoundTrip,
    Row,
    Scenario,
    Verdict,
    advice_of,
    code_of,
    fixing,
)

__all__ = ["ROUNDTRIP_SCHEMA", "roundtrip_document"]

ROUNDTRIP_SCHEMA = "autoparser.roundtrip/2"
"""Name and version of the document's schema; a change that is not a mere addition counts it up."""


def roundtrip_document(analysis: Analysis, found: RoundTrip) -> dict[str, Json]:
    """Return every verdict under every setting, with its conditions."""
    check = analysis.check
    split: list[Json] = [{"text": text, "tokens": size} for text, size in found.split_stops]
    return {
        "schema": ROUNDTRIP_SCHEMA,
        "template": template_document(analysis.template),
        "check": check_counts(check),
        "tokenizer": found.tokenized,
        "split_stop_strings": split,
        "engine": None
        if found.profile is None
        else {"name": found.profile.engine.name, "version": found.profile.version},
        "settings": [dict(setting) for setting in found.settings],
        "untried_settings": found.untried,
        "scenarios": [_row(row) for row in found.rows],
        "not_applicable": [
            {"scenario": scenario.name, "next": coming.value, "reason": reason}
            for scenario, coming, reason in found.left_out
        ],
    }


def _row(row: Row) -> Json:
    advice: list[Json] = [
        {"reader": each.reader.value, "text": each.text} for each in advice_of(row)
    ]
    fixed = fixing(row)
    return {
        **_scenario(row.scenario),
        "next": row.next.value,
        "verdict": _verdict(row.verdict),
        "others": [_verdict(each) for each in row.others],
        "fixed_by": None if fixed is None or row.verdict.holds else dict(fixed),
        "advice": advice,
    }


def _scenario(scenario: Scenario) -> Mapping[str, Json]:
    engine = scenario.engine
    return {
        "scenario": scenario.name,
        "about": scenario.about,
        "variations": list(scenario.variations),
        "answers": scenario.answers.value,
        "engine": {
            "arguments": engine.arguments.value,
            "ids": engine.ids.value,
            "malformed": engine.malformed.value,
            "reasoning": "stripped" if engine.strips_reasoning else "verbatim",
            "json": "rewritten" if engine.rewrites_json else "verbatim",
            "reasoning_fields": None
            if engine.reasoning_fields is None
            else list(engine.reasoning_fields),
            "beside_calls": engine.beside_calls.value,
        },
    }


def _verdict(verdict: Verdict) -> Json:
    tokens = verdict.tokens
    difference = verdict.difference
    return {
        "setting": dict(verdict.setting),
        "string": verdict.outcome.value,
        "tokens": None if tokens is None else cast("Json", asdict(tokens)),
        "cause": None if verdict.cause is None else code_of(verdict.cause),
        "fault": None if verdict.fault is None else verdict.fault.value,
        "difference": None if difference is None else cast("Json", asdict(difference)),
        "reason": verdict.reason,
        "sampled": verdict.sampled,
        "parsed": None if verdict.status is None else verdict.status.value,
    }
