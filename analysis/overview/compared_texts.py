r"""Find the differences of two texts, and group those that are alike in many renders.

Each difference has the text before it. Lines are aligned first, then the units of the lines that
differ, so that a change far back is not hidden by another before it:

    left   <s>system\nBe kind.</s>\n<s>user\nHi</s>\n
    right  [s]system\nBe kind.[/s]\n[s]user\nHi[/s]\n

differ at `<s>` and `[s]`, at `</s>` and `[/s]`, each twice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import accumulate
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import Count, Positive, SettingValues
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.message_shape import Setting
from autoparser.analysis.core.text_alignment import (
    common_suffix,
    edge_units,
    is_unit,
    prefix_length,
)

from .compared_requests import AXES, ComparedRequest, ComparisonStage, Outcome, RequestKey

CONTEXT = 60
"""Characters kept on either side of a difference."""

MOST_UNITS = 4000
"""Longer blocks are not aligned: the time grows with the square of their length."""

_COINCIDENCE = 2
"""Differences with at most this many equal characters between, none of a word, are merged."""


class TextDifference(Struct, frozen=True):
    """One place at which two texts differ."""

    at: int
    """The offset in the first text, such as `2366`."""
    before: str
    r"""The text before it in both, from the difference before on, such as
    `"3}}\n</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\n"`."""
    left: str
    """The text found only in the first, such as `""` if the second adds a text."""
    right: str
    """The text found only in the second, such as `"{'sky': 'clear'}"`."""
    left_rest: str
    r"""The first text from the difference on, such as
    `"\n</tool_response><|im_end|>\n<|im_start|>assistant\n"`."""
    right_rest: str
    r"""The second text from the difference on, such as
    `"{'sky': 'clear'}\n</tool_response><|im_end|>\n…"`."""
    right_at: int = 0
    """The offset in the second text, such as `2366`."""

    @property
    def unit_before(self) -> str:
        """The last unit before it, or an empty text at the beginning."""
        line = self.before.splitlines(keepends=True)[-1:]
        return _text_units(line[0])[-1] if line else ""


@lru_cache(maxsize=4096)
def text_differences(left: str, right: str) -> tuple[TextDifference, ...]:
    """Return all differences, in the order of the texts."""
    places = [*_difference_places(left, right)]
    ends = [(start, other_start) for start, _, other_start, _ in places[1:]]
    ends.append((len(left), len(right)))
    return tuple(
        TextDifference(
            start,
            common_suffix(
                left[max(0, start - CONTEXT) : start],
                right[max(0, other_start - CONTEXT) : other_start],
            ),
            left[start:end],
            right[other_start:other_end],
            left[start : start + CONTEXT],
            right[other_start : other_start + CONTEXT],
            other_start,
        )
        for place, following in zip(places, ends, strict=True)
        for start, end, other_start, other_end in [
            _moved_to_departure(left, right, place, following)
        ]
    )


_Place = tuple[int, int, int, int]


def _moved_to_departure(left: str, right: str, place: _Place, following: tuple[int, int]) -> _Place:
    """Move an added text behind its own repetition, or the excerpts of both texts are equal.

    A turn that is added before a turn of the same words departs only where that one ends.
    """
    start, end, other_start, other_end = place
    if start < end and other_start < other_end:
        return place
    most = min(following[0] - end, following[1] - other_end)
    alike = prefix_length(left[start : start + most], right[other_start : other_start + most])
    if alike <= CONTEXT // 3:
        return place
    return start + alike, end + alike, other_start + alike, other_end + alike


def _difference_places(left: str, right: str) -> Iterator[_Place]:
    # Lines first, as aligning units takes time by the square of their number.
    ours, theirs = left.splitlines(keepends=True), right.splitlines(keepends=True)
    begins, other_begins = _piece_offsets(ours), _piece_offsets(theirs)
    for start, end, other_start, other_end in _changed_places(ours, theirs):
        at, other_at = begins[start], other_begins[other_start]
        block = left[at : begins[end]]
        other = right[other_at : other_begins[other_end]]
        for place in _places_in_block(block, other):
            yield place[0] + at, place[1] + at, place[2] + other_at, place[3] + other_at


@lru_cache(maxsize=4096)
def _places_in_block(left: str, right: str) -> tuple[_Place, ...]:
    ours, theirs = _text_units(left), _text_units(right)
    if max(len(ours), len(theirs)) > MOST_UNITS:
        return ((0, len(left), 0, len(right)),)
    begins, other_begins = _piece_offsets(ours), _piece_offsets(theirs)
    found: list[_Place] = []
    for start, end, other_start, other_end in _changed_places(ours, theirs):
        place = (begins[start], begins[end], other_begins[other_start], other_begins[other_end])
        # Otherwise two words that share a character by chance would give several small differences.
        if found and _is_coincidence(left[found[-1][1] : place[0]]):
            place = (found[-1][0], place[1], found[-1][2], place[3])
            found.pop()
        found.append(place)
    return tuple(found)


def _text_units(text: str) -> list[str]:
    """Cut a text into tags, words, runs of whitespace and single signs."""
    units: list[str] = []
    for piece in edge_units(text):
        # All text between two units is one piece.
        whole = piece.isalnum() or is_unit(piece)
        units += [piece] if whole else _BETWEEN.findall(piece)
    return units


_BETWEEN = re.compile(r"\n+|[^\S\n]+|\w+|[^\w\s]")


def _is_coincidence(between: str) -> bool:
    return len(between) <= _COINCIDENCE and not any(map(str.isalnum, between))


def _piece_offsets(pieces: Sequence[str]) -> list[int]:
    return [*accumulate(map(len, pieces), initial=0)]


def _changed_places(left: Sequence[str], right: Sequence[str]) -> Iterator[_Place]:
    # Frequent units, such as quotes, begin no match in a long block, which would be quadratic.
    matcher = SequenceMatcher(None, left, right)
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag != "equal":
            yield start, end, other_start, other_end


# A round: requests rendered by both templates under one setting, and where the texts differ.


SightingKey: TypeAlias = tuple[str, ...]


class DifferenceSighting(Struct, frozen=True):
    """One difference, seen in one request."""

    request: ComparedRequest
    """The request in which it was seen, as in the conversation `"user parts: text"`."""
    difference: TextDifference
    """The difference of the two renders, such as
    `TextDifference(at=2366, right="{'sky': 'clear'}", …)`."""
    left_error: str = ""
    """The first template's error message if it raises, as in `right_error`."""
    right_error: str = ""
    """The second template's error message if it raises, such as
    `"UndefinedError: 'list object' has no attribute 'startswith'"`."""

    @property
    def key(self) -> SightingKey:
        """The identity of a difference; sightings that share it are merged."""
        change = self.difference
        return (*self.place, change.left, change.right, self.left_error, self.right_error)

    @property
    def place(self) -> tuple[str]:
        """The unit before; a change of whitespace or punctuation alone identifies nothing."""
        change = self.difference
        if any(map(str.isalnum, change.left + change.right)):
            return ("",)
        # Count any word as the same, since words come from the messages.
        return ("word" if change.unit_before.isalnum() else change.unit_before,)


class ComparedRound(Struct, frozen=True):
    """The results of requests under one setting."""

    setting: Setting
    """The variables of all its renders, e.g. `{"enable_thinking": False}`."""
    marks: dict[RequestKey, int]
    """The two outcomes of each request as one number, equal where both are, by keys such as
    `("a question", False, False, True)`."""
    sightings: tuple[DifferenceSighting, ...]
    """The differences that no earlier round has shown, as in `"user parts: text"`."""
    differing: int
    """The number of requests with a difference that no earlier round has shown, such as `48`."""
    refused: frozenset[RequestKey]
    """Requests on which both raise, such as
    `frozenset({("system parts: text", False, True, True)})`."""
    unanswered: int
    """The number of requests that one of the two did not render, after too many limit errors."""

    @property
    def keys(self) -> frozenset[SightingKey]:
        """The keys of the differences."""
        return frozenset(sighting.key for sighting in self.sightings)

    @property
    def compared(self) -> int:
        """The number of requests that at least one of the two rendered."""
        return len(self.marks) - len(self.refused) - self.unanswered


def play_requests(
    stages: tuple[ComparisonStage, ComparisonStage],
    setting: Setting,
    requests: Sequence[ComparedRequest],
    known_keys: Collection[SightingKey] = (),
) -> ComparedRound:
    """Play requests under a setting; differences whose keys are `known_keys` are left out."""
    marks: dict[RequestKey, int] = {}
    found: list[DifferenceSighting] = []
    refused: set[RequestKey] = set()
    differing = unanswered = 0
    for request in requests:
        left, right = (stage.play(request, setting) for stage in stages)
        # A hash is enough, since marks are only compared.
        marks[request.key] = hash((_outcome_text(left), _outcome_text(right)))
        if left is None or right is None:
            unanswered += 1
        elif isinstance(left, TemplateRenderError) and isinstance(right, TemplateRenderError):
            refused.add(request.key)
        elif left != right:
            new = [
                sighting
                for sighting in _find_sightings(request, left, right)
                if sighting.key not in known_keys
            ]
            differing += bool(new)
            found += new
    return ComparedRound(setting, marks, tuple(found), differing, frozenset(refused), unanswered)


def _outcome_text(outcome: Outcome) -> str | None:
    return None if isinstance(outcome, TemplateRenderError) else outcome


def _find_sightings(
    request: ComparedRequest, left: Outcome, right: Outcome
) -> Iterator[DifferenceSighting]:
    if isinstance(left, str) and isinstance(right, str):
        for difference in text_differences(left, right):
            yield DifferenceSighting(request, difference)
        return
    ours, theirs = ((text or "")[:CONTEXT] for text in (_outcome_text(left), _outcome_text(right)))
    # The difference is that one of them raises, whatever text the other renders.
    yield DifferenceSighting(
        request,
        TextDifference(0, "", "", "", ours, theirs),
        _outcome_reason(left),
        _outcome_reason(right),
    )


def _outcome_reason(outcome: Outcome) -> str:
    return outcome.reason if isinstance(outcome, TemplateRenderError) else ""


_TELLING_LENGTH = 6
"""Differences are grouped by this many characters of the changed text."""


class RenderChange(Struct, frozen=True):
    """One difference between the templates, with all renders that show it."""

    under: Annotated[tuple[SettingValues, ...], Meta(min_length=1)]
    """The settings under which it shows, such as `[{}]`, the defaults; of settings with equal
    renders, one."""
    conversations: Annotated[tuple[str, ...], Meta(min_length=1)]
    """The conversations in which it shows, such as `["tool result content: an object"]`."""
    only: tuple[str, ...]
    """The arguments that must be sent, or left out, for it to show, e.g. `with tools`."""
    renders: Positive
    """The number of renders that show it, such as `38`."""
    at: Count
    """The offset in the first text, in the first of these renders, such as `2366`."""
    before: str
    """The text before that offset in both, at most 60 characters."""
    left: str | None
    """The text from that offset on, at most 60 characters; null if the template raises."""
    right: str | None
    r"""The same of the second template, such as
    `"{'sky': 'clear'}\n</tool_response><|im_end|>\n<|im_start|>assi"`."""
    left_error: str | None
    """The template's error message if it raises, as in `right_error`."""
    right_error: str | None
    """The same of the second template, such as
    `"UndefinedError: 'list object' has no attribute 'startswith'"`."""
    left_line: Positive | None
    """The line of the first template that wrote the text, such as `78`; null if unknown."""
    right_line: Positive | None
    """The line of the second template, such as `73`; null if unknown."""


class _SeenDifference(Struct, frozen=True):
    round: ComparedRound
    """The round in which it was seen."""
    sighting: DifferenceSighting
    """The difference and its request."""


def group_differences_by_cause(
    rounds: Sequence[ComparedRound], stages: tuple[ComparisonStage, ComparisonStage]
) -> tuple[RenderChange, ...]:
    """Return the differences: those under the defaults first, the most frequent first."""
    known: dict[tuple[str, ...], list[_SeenDifference]] = {}
    for round_ in rounds:
        for sighting in round_.sightings:
            known.setdefault(sighting.key, []).append(_SeenDifference(round_, sighting))
    ways: dict[tuple[object, ...], list[_SeenDifference]] = {}
    for differences in known.values():
        key = _way_key(differences)
        for seen in differences:
            # One change, such as of a marker's name, may be written by several lines. A side that
            # lacks the text has none.
            change = seen.sighting.difference
            left, right = _written_lines(seen, stages)
            lines = (left if change.left else None, right if change.right else None)
            ways.setdefault((*key, *lines), []).append(seen)
    first = rounds[0] if rounds else None
    changes = [
        (seen[0].round is not first, change)
        for seen, change in _without_repetitions([*ways.values()], stages)
    ]
    return tuple(
        change for _, change in sorted(changes, key=lambda pair: (pair[0], -pair[1].renders))
    )


def _written_lines(
    seen: _SeenDifference, stages: tuple[ComparisonStage, ComparisonStage]
) -> tuple[int | None, int | None]:
    """Return the lines of both templates that wrote a difference, None if unknown."""
    request, difference = seen.sighting.request, seen.sighting.difference
    left, right = stages
    return (
        left.line_at(request, seen.round.setting, difference.at),
        right.line_at(request, seen.round.setting, difference.right_at),
    )


def _way_key(differences: Sequence[_SeenDifference]) -> tuple[str, ...]:
    """Return the key of a group of differences, which ignores the words of the messages."""
    sighting = differences[0].sighting
    settings = dict.fromkeys(repr(difference.round.setting) for difference in differences)
    return (
        *settings,
        *sighting.place,
        # Later text is mostly a message's own, which differs from request to request.
        sighting.difference.left[:_TELLING_LENGTH],
        sighting.difference.right[:_TELLING_LENGTH],
        sighting.left_error,
        sighting.right_error,
    )


_Way: TypeAlias = "tuple[list[_SeenDifference], RenderChange]"


def _without_repetitions(
    ways: Sequence[list[_SeenDifference]], stages: tuple[ComparisonStage, ComparisonStage]
) -> list[_Way]:
    """Join the ways that only go on with another, such as each quote of a JSON text.

    Such a way changes no other signs than the first, is written by the same line, and follows it in
    every render within its excerpt.
    """
    found: list[_Way] = []
    for seen in ways:
        change = _make_change(seen, stages)
        for at, (known, other) in enumerate(found):
            same = (other.left_line, other.right_line) == (change.left_line, change.right_line)
            if same and _goes_on(known, seen):
                joined = [*known, *seen]
                found[at] = joined, _make_change(joined, stages)
                break
        else:
            found.append((seen, change))
    return found


def _goes_on(known: Sequence[_SeenDifference], others: Sequence[_SeenDifference]) -> bool:
    signs, more = _changed_signs(known), _changed_signs(others)
    if signs is None or more is None or not (more[0] <= signs[0] and more[1] <= signs[1]):
        return False
    # By render, the offsets of both ways; True marks those that only go on.
    places: dict[tuple[int, RequestKey], list[tuple[int, bool]]] = {}
    for goes_on, differences in ((False, known), (True, others)):
        for seen in differences:
            key = (id(seen.round), seen.sighting.request.key)
            places.setdefault(key, []).append((seen.sighting.difference.at, goes_on))
    for offsets in places.values():
        last = None
        for at, goes_on in sorted(offsets):
            if goes_on and (last is None or at - last > CONTEXT):
                return False
            last = at
    return True


def _changed_signs(differences: Sequence[_SeenDifference]) -> tuple[set[str], set[str]] | None:
    """Return the signs that only the first, and only the second texts have; None with words."""
    lost: set[str] = set()
    gained: set[str] = set()
    for seen in differences:
        difference = seen.sighting.difference
        left, right = Counter(difference.left), Counter(difference.right)
        lost |= {*(left - right)}
        gained |= {*(right - left)}
    words = any(sign.isalnum() for sign in lost | gained)
    return None if words or not (lost or gained) else (lost, gained)


def _make_change(
    differences: Sequence[_SeenDifference], stages: tuple[ComparisonStage, ComparisonStage]
) -> RenderChange:
    example = differences[0].sighting
    difference = example.difference
    rounds = {
        repr(difference.round.setting): difference.round.setting for difference in differences
    }
    renders = {
        (repr(difference.round.setting), difference.sighting.request.key)
        for difference in differences
    }
    return RenderChange(
        tuple(rounds.values()),
        tuple(
            dict.fromkeys(difference.sighting.request.conversation for difference in differences)
        ),
        tuple(_needed_axes(differences)),
        len(renders),
        difference.at,
        difference.before,
        None if example.left_error else difference.left_rest,
        None if example.right_error else difference.right_rest,
        example.left_error or None,
        example.right_error or None,
        *_written_lines(differences[0], stages),
    )


def _needed_axes(differences: Sequence[_SeenDifference]) -> list[str]:
    """Return the arguments that all of them share and without which the same request is equal."""
    found: list[str] = []
    for axis, words in AXES.items():
        values = {getattr(difference.sighting.request, axis) for difference in differences}
        value = next(iter(values))
        # The difference occurs with and without the argument, or the template decides itself.
        if len(values) > 1 or value is None:
            continue
        if any(_rendered_without(difference, axis) for difference in differences):
            found.append(words[bool(value)])
    return found


def _rendered_without(difference: _SeenDifference, axis: str) -> bool:
    """Return whether the same request was rendered with the argument toggled."""
    request: Sequence[Json] = difference.sighting.request.key
    other = tuple(
        not value if name == axis else value
        for name, value in zip(("conversation", *AXES), request, strict=True)
    )
    return other in difference.round.marks and other not in difference.round.refused
