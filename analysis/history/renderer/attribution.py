"""A rendered conversation, and for every character of it whose it is.

Each character is in exactly one segment: of a message or of the template, text that the message
brought or what the template wrote around it, sampled by the model or written by the prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from autoparser.analysis.core.format import TurnFormat
from autoparser.analysis.core.format.turn_stops import whole_stops
from autoparser.analysis.loading.template import REASONING_FIELDS

from .generation_ranges import generation_ranges
from .history_renders import HistoryRenders, Messages
from .message_places import Places, find_places
from .shares import TEMPLATE, Joints, MessageShare, Shares


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the text that is all of one kind."""

    start: int
    end: int
    message: int
    """The number of its message; -1 where it is the template's own."""
    content: bool
    """Whether the message brought it: its content, its reasoning, a call's name or argument."""
    sampled: bool
    """Whether the model writes it: after the generation prompt, up to the stop, which counts."""
    loss: bool
    """Whether a loss counts it: what `{% generation %}` marks in a template that has it, else
    what is sampled."""


@dataclass(frozen=True, slots=True)
class Attributed:
    """A render, cut into segments that follow each other without a gap."""

    text: str
    segments: tuple[Segment, ...]
    marked: bool
    """Whether the template's own `{% generation %}` says what a loss counts."""


def attribute(
    renders: HistoryRenders,
    messages: Messages,
    joints: Joints,
    *,
    generation: bool = False,
    reasoning_fields: Sequence[str] = REASONING_FIELDS,
    text: str | None = None,
) -> Attributed:
    """Render a conversation and attribute its text. Raises TemplateRenderError.

    `text` is its render, where it is known already.
    """
    if text is None:
        text = renders.text(messages, generation=generation)
    places = find_places(
        renders, messages, text, generation=generation, reasoning_fields=reasoning_fields
    )
    shares = Shares(renders, messages, text, places, joints).cut()
    roles = [message.get("role") for message in messages]
    sampled = _sampled(shares, roles, places, text, joints.format)
    own = generation_ranges(renders, messages, text, generation=generation)
    counted = sampled if own is None else own
    segments = _segments(text, shares, places, sampled, counted)
    return Attributed(text, tuple(segments), own is not None)


def _sampled(
    shares: Sequence[MessageShare],
    roles: Sequence[object],
    places: Places,
    text: str,
    format_: TurnFormat,
) -> list[tuple[int, int]]:
    """Say what the model writes: from where the prompt ends to the end of the stop string."""
    found: list[tuple[int, int]] = []
    for share in shares:
        if roles[share.message] != "assistant":
            continue
        inside = [run.end for run in places.runs if share.start < run.end <= share.end]
        body = max([*inside, share.prompted])
        following = [run.start for run in places.runs if run.start >= share.end]
        limit = min(following, default=len(text))
        start = _after_header(text, share.prompted, body, format_.prompted_header)
        found.append((start, _end(text, body, share.end, limit, format_)))
    return found


def _after_header(text: str, start: int, body: int, header: str) -> int:
    """Return the place after a header that a prompt leaves out, as after the result of a call."""
    lead = text[start:body]
    space = len(lead) - len(lead.lstrip())
    return start + space + len(header) if header and lead.startswith(header, space) else start


def _end(text: str, body: int, end: int, limit: int, format_: TurnFormat) -> int:
    """Say where a turn's sampled text ends, whose last text of its message ends at `body`.

    The stop may be the first of what is written after the turn: where nothing else closes a turn,
    the model ends it by opening the next. Before `limit` stands no text of another message.
    """
    stops = [
        at + len(whole if text.startswith(whole, at) else stop)
        for stop, whole in whole_stops(format_).items()
        if (at := text.find(stop, body, limit)) >= 0 and not text[end:at].strip()
    ]
    if stops:
        return min(stops)
    written = [len(close) for close in historic_closes(format_) if text[body:end].endswith(close)]
    return end - max(written, default=0)


def historic_closes(format_: TurnFormat) -> list[str]:
    """Return what stands after turns in the history, the longest first."""
    closes = {each.text if each.historic is None else each.historic for each in format_.ends}
    return sorted(filter(None, closes), key=len, reverse=True)


def _segments(
    text: str,
    shares: Sequence[MessageShare],
    places: Places,
    sampled: Sequence[tuple[int, int]],
    counted: Sequence[tuple[int, int]],
) -> Iterator[Segment]:
    cuts = {0, len(text)}
    cuts.update(place for share in shares for place in (share.start, share.end))
    cuts.update(place for run in places.runs for place in (run.start, run.end))
    cuts.update(place for pair in (*sampled, *counted) for place in pair)
    owners = _Cursor([(share.start, share.end, share.message) for share in shares])
    texts = _Cursor([(run.start, run.end, places.message(run)) for run in places.runs])
    model = _Cursor([(start, end, 0) for start, end in sampled])
    loss = _Cursor([(start, end, 0) for start, end in counted])
    last: Segment | None = None
    for start, end in pairwise(sorted(cuts)):
        brought = texts.at(start)
        owner = owners.at(start) if brought is None else brought
        segment = Segment(
            start,
            end,
            TEMPLATE if owner is None else owner,
            brought is not None,
            model.at(start) is not None,
            loss.at(start) is not None,
        )
        if last is not None and replace(segment, start=last.start, end=last.end) == last:
            last = replace(last, end=end)
            continue
        if last is not None:
            yield last
        last = segment
    if last is not None:
        yield last


class _Cursor:
    """Finds the stretch that holds a place; places are asked for in rising order."""

    def __init__(self, stretches: list[tuple[int, int, int]]) -> None:
        self._stretches = sorted(stretches)
        self._next = 0

    def at(self, place: int) -> int | None:
        """Return the label of the stretch that holds this place."""
        while self._next < len(self._stretches) and self._stretches[self._next][1] <= place:
            self._next += 1
        if self._next == len(self._stretches):
            return None
        start, _, label = self._stretches[self._next]
        return label if start <= place else None
