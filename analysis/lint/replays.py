"""A few steps of a conversation, played under the template's usual setting."""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.history.roundtrip import Next, Scenario, Verdict, shipped_scenarios
from autoparser.analysis.history.roundtrip.replay import ReplayStage
from autoparser.analysis.history.roundtrip.token_level import Encoder
from autoparser.analysis.history.roundtrip.verdict import judge

from .subject import Subject

PLAYED = (
    ("answer", Next.USER),
    ("tool call", Next.TOOL),
    ("tool call + content", Next.TOOL),
    ("several calls", Next.TOOL),
    ("many parameters", Next.TOOL),
    ("quotes in values", Next.TOOL),
    ("padded values", Next.TOOL),
)
"""The usual steps; the command for round trips plays all there are."""


def replays(subject: Subject, encoder: Encoder | None = None) -> Iterator[tuple[Scenario, Verdict]]:
    """Play the usual steps, as far as they apply."""
    stage = ReplayStage(subject.analysis)
    known = {each.name: each for each in shipped_scenarios()}
    for name, coming in PLAYED:
        verdict = judge(stage, known[name], coming, subject.usual_setting, encoder)
        if verdict.applies:
            yield known[name], verdict
