"""A round: requests played through both templates under one setting, and where the texts part."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.inference.probing import Setting

from .compared_requests import ComparedRequest, RequestKey
from .stage import ComparisonStage, Outcome
from .text_differences import CONTEXT, TextDifference, differences

__all__ = ["Round", "Sighting", "played"]

SightingKey: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sighting:
    """One difference, seen in one request."""

    request: ComparedRequest
    difference: TextDifference
    left_error: str = ""
    """The first template's words where it raises."""
    right_error: str = ""

    @property
    def key(self) -> SightingKey:
        """What tells one difference from another."""
        change = self.difference
        return (*self.place, change.left, change.right, self.left_error, self.right_error)

    @property
    def place(self) -> tuple[str]:
        """The unit before a change of whitespace and signs, which is not known by itself."""
        change = self.difference
        if any(map(str.isalnum, change.left + change.right)):
            return ("",)
        # Any word stands for all words, since those are the messages' own.
        return ("word" if change.unit_before.isalnum() else change.unit_before,)


@dataclass(frozen=True, slots=True)
class Round:
    """What came of requests under one setting."""

    setting: Setting
    marks: dict[RequestKey, int]
    """The two outcomes of each request as one number, equal where both are."""
    sightings: tuple[Sighting, ...]
    """The differences that were not told before."""
    differing: int
    """Requests whose outcomes differ in a way that was not told before."""
    refused: frozenset[RequestKey]
    """Requests that both refuse."""
    unanswered: int
    """Requests that one of the two was not asked any more."""

    @property
    def keys(self) -> frozenset[SightingKey]:
        """What the differences are known by."""
        return frozenset(sighting.key for sighting in self.sightings)

    @property
    def compared(self) -> int:
        """Requests that at least one of the two rendered."""
        return len(self.marks) - len(self.refused) - self.unanswered


def played(
    stages: tuple[ComparisonStage, ComparisonStage],
    setting: Setting,
    requests: Sequence[ComparedRequest],
    told: Collection[SightingKey] = (),
) -> Round:
    """Play requests under a setting; differences whose keys are `told` are left out."""
    marks: dict[RequestKey, int] = {}
    found: list[Sighting] = []
    refused: set[RequestKey] = set()
    differing = unanswered = 0
    for request in requests:
        left, right = (stage.play(request, setting) for stage in stages)
        marks[request.key] = hash((_text(left), _text(right)))
        if left is None or right is None:
            unanswered += 1
        elif isinstance(left, TemplateRenderError) and isinstance(right, TemplateRenderError):
            refused.add(request.key)
        elif left != right:
            new = [each for each in _sightings(request, left, right) if each.key not in told]
            differing += bool(new)
            found += new
    return Round(setting, marks, tuple(found), differing, frozenset(refused), unanswered)


def _text(outcome: Outcome) -> str | None:
    return None if isinstance(outcome, TemplateRenderError) else outcome


def _sightings(request: ComparedRequest, left: Outcome, right: Outcome) -> Iterator[Sighting]:
    if isinstance(left, str) and isinstance(right, str):
        for difference in differences(left, right):
            yield Sighting(request, difference)
        return
    ours, theirs = ((text or "")[:CONTEXT] for text in (_text(left), _text(right)))
    # That one raises is the difference, whatever the other writes there.
    yield Sighting(
        request, TextDifference(0, "", "", "", ours, theirs), _reason(left), _reason(right)
    )


def _reason(outcome: Outcome) -> str:
    return outcome.reason if isinstance(outcome, TemplateRenderError) else ""
