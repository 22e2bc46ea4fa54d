"""Where a pattern may begin and end: anchors resolved, open ends filled with any text."""

from __future__ import annotations

from .code_points import ANY
from .regex_nodes import Anchor, Character, Regex, RegexChoice, RegexRepeat, RegexSequence
from .regex_parser import PatternError

ANY_TEXT = RegexRepeat(Character(ANY), 0, None)
EMPTY = RegexSequence()


def anchored(regex: Regex) -> Regex:
    """Return the expression of whole texts in which `regex` is found, without anchors.

    Raises PatternError for an anchor that stands elsewhere than at an edge of the pattern.
    """
    options: list[Regex] = []
    for at_start, headed in _edge(regex, start=True):
        for at_end, body in _edge(headed, start=False):
            if _has_anchor(body):
                raise PatternError("it has an anchor inside")
            parts = [body]
            if not at_start:
                parts.insert(0, ANY_TEXT)
            if not at_end:
                parts.append(ANY_TEXT)
            options.append(RegexSequence(tuple(parts)) if len(parts) > 1 else body)
    return options[0] if len(options) == 1 else RegexChoice(tuple(options))


def _edge(regex: Regex, *, start: bool) -> list[tuple[bool, Regex]]:
    """Return the options of a pattern, each with whether it is anchored at this edge.

    The anchors of this edge are gone from the options.
    """
    match regex:
        case Anchor(start=which) if which is start:
            return [(True, EMPTY)]
        case RegexChoice(options) if _has_anchor(regex):
            return [found for option in options for found in _edge(option, start=start)]
        case RegexSequence(parts) if parts and _has_anchor(regex):
            return _sequence_edge(parts, start=start)
        case _:
            return [(False, regex)]


def _sequence_edge(parts: tuple[Regex, ...], *, start: bool) -> list[tuple[bool, Regex]]:
    outer, inner = (parts[0], parts[1:]) if start else (parts[-1], parts[:-1])
    found: list[tuple[bool, Regex]] = []
    for is_anchored, body in _edge(outer, start=start):
        if body == EMPTY:
            rest = _edge(RegexSequence(inner), start=start)
            found += [(is_anchored or deeper, left) for deeper, left in rest]
        else:
            joined = (body, *inner) if start else (*inner, body)
            found.append((is_anchored, RegexSequence(joined)))
    return found


def _has_anchor(regex: Regex) -> bool:
    match regex:
        case Anchor():
            return True
        case RegexSequence(parts) | RegexChoice(parts):
            return any(map(_has_anchor, parts))
        case RegexRepeat(item):
            return _has_anchor(item)
        case Character():
            return False
