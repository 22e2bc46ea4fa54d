"""Differences that are alike, put together: one that shows in a hundred renders is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.inference.probing import Setting

from .compared_requests import AXES
from .playing import Round, Sighting
from .stage import ComparisonStage

__all__ = ["RenderChange", "grouped"]

_ALIKE = 6
"""So many characters of what changed tell one way of parting from another."""


@dataclass(frozen=True, slots=True)
class RenderChange:
    """One way in which the renders of the two templates part."""

    under: tuple[Setting, ...]
    """The settings under which it shows; where it shows with nothing set, that alone."""
    conversations: tuple[str, ...]
    """The conversations in which it shows."""
    only: tuple[str, ...]
    """What must be sent beside the messages, in words, where it does not show without."""
    renders: int
    """In how many renders it shows."""
    at: int
    """Characters of the first text before the place, in the first of them."""
    before: str
    """The end of those."""
    left: str | None
    """What the one has from there on; None: it raises."""
    right: str | None
    left_error: str = ""
    """The template's words where it raises."""
    right_error: str = ""
    left_line: int | None = None
    """The line of the first template that wrote what it has there; None: not known."""
    right_line: int | None = None


@dataclass(frozen=True, slots=True)
class _Seen:
    round: Round
    sighting: Sighting


def grouped(
    rounds: Sequence[Round], stages: tuple[ComparisonStage, ComparisonStage]
) -> tuple[RenderChange, ...]:
    """Return the ways in which renders part: those with nothing set first, the frequent first."""
    known: dict[tuple[str, ...], list[_Seen]] = {}
    for round_ in rounds:
        for sighting in round_.sightings:
            known.setdefault(sighting.key, []).append(_Seen(round_, sighting))
    ways: dict[tuple[str, ...], list[_Seen]] = {}
    for seen in known.values():
        ways.setdefault(_way(seen), []).extend(seen)
    first = rounds[0] if rounds else None
    changes = [(seen[0].round is not first, _change(seen, stages)) for seen in ways.values()]
    return tuple(
        change for _, change in sorted(changes, key=lambda each: (each[0], -each[1].renders))
    )


def _way(seen: Sequence[_Seen]) -> tuple[str, ...]:
    """Tell one way of parting from another: a word of a message makes no difference."""
    sighting = seen[0].sighting
    settings = dict.fromkeys(repr(each.round.setting) for each in seen)
    return (
        *settings,
        *sighting.place,
        sighting.difference.left[:_ALIKE],
        sighting.difference.right[:_ALIKE],
        sighting.left_error,
        sighting.right_error,
    )


def _change(seen: Sequence[_Seen], stages: tuple[ComparisonStage, ComparisonStage]) -> RenderChange:
    example = seen[0].sighting
    difference = example.difference
    rounds = {repr(each.round.setting): each.round.setting for each in seen}
    renders = {(repr(each.round.setting), each.sighting.request.key) for each in seen}
    return RenderChange(
        tuple(rounds.values()),
        tuple(dict.fromkeys(each.sighting.request.conversation for each in seen)),
        tuple(_only(seen)),
        len(renders),
        difference.at,
        difference.before,
        None if example.left_error else difference.left_rest,
        None if example.right_error else difference.right_rest,
        example.left_error,
        example.right_error,
        *(
            stage.line_at(example.request, seen[0].round.setting, at)
            for stage, at in zip(stages, (difference.at, difference.right_at), strict=True)
        ),
    )


def _only(seen: Sequence[_Seen]) -> list[str]:
    """Say what is sent beside the messages in all of them, where it was played without, too."""
    found: list[str] = []
    for axis, words in AXES.items():
        values = {getattr(each.sighting.request, axis) for each in seen}
        value = next(iter(values))
        if len(values) > 1 or value is None:
            continue
        if any(_answered_without(each, axis) for each in seen):
            found.append(words[bool(value)])
    return found


def _answered_without(seen: _Seen, axis: str) -> bool:
    """Whether the same request without that, or with it, was rendered."""
    request: Sequence[Json] = seen.sighting.request.key
    other = tuple(
        not value if name == axis else value
        for name, value in zip(("conversation", *AXES), request, strict=True)
    )
    return other in seen.round.marks and other not in seen.round.refused
