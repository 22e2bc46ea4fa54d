"""Requests rendered by both templates, under every value of a switch, and how the texts differ.

A difference that shows with nothing set is told once, not again under every value; one that shows
under single values is not told again for two of them at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.asked_bounds import AskedBounds, AskedTally
from autoparser.analysis.inference.probing import Setting

from .compared_requests import brief, changing, every
from .grouping import RenderChange, grouped
from .playing import Round, played
from .stage import ComparisonStage
from .switch_values import ANY_TEXT, asked_values, usual_setting

__all__ = ["MOST_PAIRS", "AskedRenders", "changed_renders"]

MOST_PAIRS = 100
"""So many pairs of values are played at once; those first that change something alone."""


@dataclass(frozen=True, slots=True)
class AskedRenders:
    """What the renders were asked: all that "nothing differs" is said over."""

    renders: int
    """Conversations that at least one of the two rendered with nothing set."""
    bounds: AskedBounds
    """What the conversations held at most."""
    differing: int
    """How many of those differ."""
    switched: int
    """Conversations under a value of a switch, or two, that at least one of the two rendered."""
    switched_differing: int
    """How many of those differ in another way than with nothing set; of values under which all
    comes out alike, one counts."""
    usual: Setting
    """What is set: what must be for both to render at all, and what was asked; mostly nothing."""
    settings: tuple[Setting, ...]
    """The values that were played, each alone."""
    pairs: int
    """Pairs of values of two switches that were played at once."""
    parts: tuple[str, ...]
    """The kinds of content that were sent and that at least one of the two takes."""
    refused: int
    """Conversations under a setting that both refuse; their words are not compared."""
    refused_conversations: tuple[str, ...]
    """Those that both refuse with nothing set, whatever is sent beside them."""
    refused_settings: tuple[Setting, ...]
    """Those under which both refuse everything."""
    left_out: tuple[Setting, ...]
    """Values beyond the most that are played."""
    left_out_pairs: int
    """Pairs beyond the most that are played."""
    unanswered: int
    """Conversations that were not asked since too many before them ran into a limit."""


def changed_renders(
    left: Analysis, right: Analysis, setting: Setting | None = None
) -> tuple[tuple[RenderChange, ...], AskedRenders]:
    """Play everything through both; return how the renders differ, and what was asked.

    Each template gets the messages in the shape that it takes, and one that reads a special token
    which only the other's files name gets it from there. What `setting` sets stays as it is.
    """
    stages = ComparisonStage(left, right), ComparisonStage(right, left)
    asked = setting or {}
    usual = {**usual_setting(left, right), **asked}
    first = played(stages, usual, every())
    values = asked_values((left, right), stages, usual=asked)
    told = first.keys
    bare = [played(stages, asked, changing(), told)] if usual != asked else []
    singles = [played(stages, {**usual, **value}, changing(), told) for value in values.settings]
    distinct = _distinct(first, [*bare, *singles])
    pairs = _pairs(singles, distinct, usual)
    twos = [
        played(stages, _both(one, other, usual), brief(), told | one.keys | other.keys)
        for one, other in pairs[:MOST_PAIRS]
    ]
    under = [*bare, *singles, *twos]
    rounds = [first, *under]
    asked_of = AskedTally()
    for stage in stages:
        asked_of.merge(stage.asked)
    return grouped([first, *distinct, *twos], stages), AskedRenders(
        renders=first.compared,
        bounds=asked_of.bounds,
        differing=first.differing,
        switched=sum(each.compared for each in under),
        switched_differing=sum(each.differing for each in [*distinct, *twos]),
        usual=usual,
        settings=values.settings,
        pairs=len(twos),
        parts=tuple(_taken(first)),
        refused=sum(len(each.refused) for each in rounds),
        refused_conversations=tuple(_refused(first)),
        refused_settings=tuple(each.setting for each in [*bare, *singles] if not each.compared),
        left_out=values.left_out,
        left_out_pairs=len(pairs) - len(twos),
        unanswered=sum(each.unanswered for each in rounds),
    )


def _distinct(first: Round, rounds: Sequence[Round]) -> list[Round]:
    """Give one round of those that come out alike, and none that comes out as with nothing set."""
    usual = {request.key: first.marks[request.key] for request in changing()}
    found: dict[frozenset[tuple[object, int]], Round] = {}
    for each in rounds:
        if each.marks != usual:
            found.setdefault(frozenset(each.marks.items()), each)
    return list(found.values())


def _pairs(
    singles: Sequence[Round], distinct: Sequence[Round], usual: Setting
) -> list[tuple[Round, Round]]:
    """Return the rounds two by two whose settings name different switches beside the usual ones.

    Values that change nothing alone may do so with another; pairs of such come last.
    """
    named = [
        (each, _names(each.setting, usual), any(each is one for one in distinct))
        for each in singles
        if each.compared and not _is_text(each, singles)
    ]
    pairs = [
        (-(effective + also), (one, other))
        for (one, names, effective), (other, others, also) in combinations(named, 2)
        if names and others and not names & others
    ]
    return [pair for _, pair in sorted(pairs, key=lambda each: each[0])]


def _both(one: Round, other: Round, usual: Setting) -> Setting:
    named = _names(other.setting, usual)
    return {**one.setting, **{name: other.setting[name] for name in sorted(named)}}


def _names(setting: Setting, usual: Setting) -> frozenset[str]:
    # By their texts, since to Python true is 1.
    return frozenset(
        name for name, value in setting.items() if repr(value) != repr(usual.get(name, ...))
    )


def _is_text(round_: Round, singles: Sequence[Round]) -> bool:
    """Whether a value is any text, and comes out like true, which is played in its place."""
    names = [name for name, value in round_.setting.items() if value == ANY_TEXT]
    return any(
        each.marks == round_.marks and all(each.setting.get(name) is True for name in names)
        for each in singles
        if names
    )


def _taken(first: Round) -> Iterator[str]:
    """Return the kinds of content that at least one of the two rendered."""
    yield from dict.fromkeys(
        request.conversation
        for request in every()
        if request.content is not None and request.key not in first.refused
    )


def _refused(first: Round) -> Iterator[str]:
    """Return the conversations that both refuse in every request."""
    taken = {request.conversation for request in every() if request.key not in first.refused}
    names = dict.fromkeys(key[0] for key in first.marks)
    yield from (name for name in names if name not in taken)
