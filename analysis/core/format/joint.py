"""What stands between two neighbours of a turn, over all layouts in which they are neighbours."""

from __future__ import annotations

from dataclasses import dataclass

from autoparser.analysis.core.conversation import Presence

from .turn import TurnFormat

START = "start"
END = "end"


@dataclass(frozen=True, slots=True)
class Joint:
    """A literal between two neighbours, and the turns that have it there."""

    before: str
    """A part's name, or `start`."""
    after: str
    """A part's name, or `end`."""
    text: str
    presences: tuple[Presence, ...]


def joints_of(format_: TurnFormat) -> tuple[Joint, ...]:
    """Return the joints, those of one pair of neighbours together."""
    seen: dict[tuple[str, str], dict[str, list[Presence]]] = {}
    for presence, layout in sorted(format_.layouts.items()):
        if layout.refusal:
            continue
        stations = [START, *(part.value for part in layout.parts), END]
        for at, literal in enumerate(layout.literals):
            texts = seen.setdefault((stations[at], stations[at + 1]), {})
            texts.setdefault(literal, []).append(presence)
    return tuple(
        Joint(before, after, text, tuple(presences))
        for (before, after), texts in seen.items()
        for text, presences in texts.items()
    )
