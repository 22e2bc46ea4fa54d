"""Edits of a sampled text at the place where the next prompt departs from it.

Each takes over one thing that the template wrote otherwise: whitespace, a literal, an escape, a
value. If the step then goes well, or farther, that thing is why it broke.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from autoparser.analysis.reading.parsing import ParsedMessage, Span, SpanKind

from .replay import Replay


class EditKind(StrEnum):
    """What an edit takes over."""

    REASONING_EDGE = "whitespace at the reasoning's edge"
    CONTENT_EDGE = "whitespace at the content's edge"
    ARGUMENT_SPACE = "whitespace in an argument"
    """Of JSON, or of the value itself: what is parsed tells."""
    JOINT = "whitespace between parts"
    LITERAL = "true, false, null"
    ESCAPE = "an escape"
    VALUE = "an argument's value"


@dataclass(frozen=True, slots=True)
class Edit:
    """A sampled text with one thing changed."""

    kind: EditKind
    sampled: str


_WORD = re.compile(r"\w+")
_ESCAPE = re.compile(r"\\u[0-9a-fA-F]{4}(?:\\u[0-9a-fA-F]{4})*|\\.|[^\x00-\x7f]+")
_IN_JSON = re.compile(r'(?:":|["}\]],)$')
"""What stands before the whitespace of a call that is JSON itself."""
_LITERALS = ({"true", "True"}, {"false", "False"}, {"null", "None"})


def edits_at(replay: Replay, at: int) -> Iterator[Edit]:
    """Return the edits that are possible where the texts part, `at` characters into the whole."""
    here = at - len(replay.prompt.text)
    return edits_of(replay.parsed, replay.exchange.sampled, replay.text, here, at)


def edits_of(
    parsed: ParsedMessage, sampled: str, text: str, here: int, there: int
) -> Iterator[Edit]:
    """Return the edits of a sampled text at `here` that take over what a text has at `there`."""
    if here < 0:
        return
    yield from _whitespace(parsed, sampled, text, here, there)
    inside = _span(parsed, here)
    if inside is not None and inside.kind is SpanKind.ARGUMENTS:
        yield from _word(sampled, text, here, there)
        yield from _escape(sampled, text, here, there)
        yield from _value(sampled, text, inside, there - (here - inside.start))


def _whitespace(
    parsed: ParsedMessage, sampled: str, text: str, here: int, there: int
) -> Iterator[Edit]:
    """Take over the whitespace around the difference."""
    before = here - len(sampled[:here].rstrip())
    start, start_there = here - before, there - before
    end, end_there = _behind_space(sampled, here), _behind_space(text, there)
    ours, theirs = sampled[start:end], text[start_there:end_there]
    if ours == theirs:
        return
    edited = sampled[:start] + theirs + sampled[end:]
    yield Edit(_kind_of_space(parsed, sampled, start, end), edited)


def _behind_space(text: str, at: int) -> int:
    return at + len(text[at:]) - len(text[at:].lstrip())


def _kind_of_space(parsed: ParsedMessage, sampled: str, start: int, end: int) -> EditKind:
    """Say to which part whitespace belongs; what separates parts belongs to none."""
    kinds = {
        span.kind
        for span in parsed.spans
        if (span.start < end and start < span.end)
        or (start == end and span.start < start < span.end)
    }
    if SpanKind.REASONING in kinds:
        return EditKind.REASONING_EDGE
    if SpanKind.CONTENT in kinds:
        return EditKind.CONTENT_EDGE
    if SpanKind.ARGUMENTS in kinds or (parsed.tool_calls and _IN_JSON.search(sampled[:start])):
        return EditKind.ARGUMENT_SPACE
    return EditKind.JOINT


def _span(parsed: ParsedMessage, at: int) -> Span | None:
    return next((span for span in parsed.spans if span.start <= at < span.end), None)


def _word(sampled: str, text: str, here: int, there: int) -> Iterator[Edit]:
    ours, theirs = _around(_WORD, sampled, here), _around(_WORD, text, there)
    if ours is None or theirs is None:
        return
    words = {ours.group(), theirs.group()}
    if any(words <= pair for pair in _LITERALS):
        yield Edit(EditKind.LITERAL, _spliced(sampled, ours.span(), theirs.group()))


def _escape(sampled: str, text: str, here: int, there: int) -> Iterator[Edit]:
    ours, theirs = _around(_ESCAPE, sampled, here), _around(_ESCAPE, text, there)
    for span in (ours.span() if ours else (here, here), (here, here + 1)):
        for given in (theirs.group() if theirs else "", text[there : there + 1]):
            edited = _spliced(sampled, span, given)
            if given and _same_json(sampled[span[0] : span[1]], given):
                yield Edit(EditKind.ESCAPE, edited)


def _same_json(left: str, right: str) -> bool:
    """Whether two texts are the same inside a JSON string."""
    try:
        return left != right and json.loads(f'"{left}"') == json.loads(f'"{right}"')
    except ValueError:
        return False


def _value(sampled: str, text: str, span: Span, start: int) -> Iterator[Edit]:
    """Take over what the next prompt has in the place of an argument, from `start` on."""
    behind = sampled[span.end : span.end + 12]
    end = text.find(behind, start) if behind else -1
    if end >= 0:
        yield Edit(EditKind.VALUE, _spliced(sampled, (span.start, span.end), text[start:end]))


def _around(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str] | None:
    """Find the match that holds a place, or begins or ends there."""
    start = max(0, at - 64)
    found = None
    for match in pattern.finditer(text, start, at + 64):
        if match.start() <= at <= match.end():
            found = match
        if match.start() > at:
            break
    return found


def _spliced(text: str, span: tuple[int, int], given: str) -> str:
    return text[: span[0]] + given + text[span[1] :]
