r"""Why a call of an output was lost or wrong, and the smallest part of the output that shows it.

For example, the smallest part of a text that still has an opening marker and a name:

    >>> text = "Hello.\n<call>find()</call>\nBye.\n"
    >>> smallest_part(text, lambda part: "<call>" in part and "find" in part)
    '<call>find'

Contract: a cause is named only if a parser confirms it, such as by reading the call where the
request allows it. A smallest part departs from the template as the whole output does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from autoparser.analysis.core.text_alignment import edge_units, is_unit
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import ParsedMessage, Status

from .output_explanation import (
    CauseKind,
    ComparedOutput,
    DeviationExplanation,
    OutputDeviation,
    OutputReading,
    compare_output,
)


class LossOrigin(StrEnum):
    """The part of a system that lost a call, or spoiled it."""

    NOTHING = "nothing"
    """Nothing was lost."""
    MODEL = "model"
    FORMAT = "format"
    """The template's format is not the one in which the model wrote."""
    SCHEMA = "schema"
    """The arguments break the schema of the tool."""
    ENGINE = "engine"
    """The engine removed markers, or its parser reads the output differently."""
    REQUEST = "request"
    """The request had another prompt, or allows no such call."""
    LIMIT = "limit"
    """The output was truncated."""


class LossReason(StrEnum):
    """Why a call was lost or wrong; each reason has one origin."""

    NOTHING = "nothing was lost"
    DEPARTURE = "the output departs from the template"
    UNKNOWN_TOOL = "the tool was not offered"
    IN_REASONING = "the call is inside the reasoning"
    OTHER_FORMAT = "the output is in another format"
    NO_CALLS = "the template writes no tool calls"
    SCHEMA = "the arguments violate the tool's schema"
    STRIPPED = "special tokens were stripped"
    PARSER = "the engine's parser reads the output differently"
    OTHER_PROMPT = "the output follows another prompt"
    REFUSED = "the request allows no such call"
    CUT = "the output was truncated"

    @property
    def origin(self) -> LossOrigin:
        """The part of a system with this fault."""
        return _ORIGINS[self]


_ORIGINS = {
    LossReason.NOTHING: LossOrigin.NOTHING,
    LossReason.DEPARTURE: LossOrigin.MODEL,
    LossReason.UNKNOWN_TOOL: LossOrigin.MODEL,
    LossReason.IN_REASONING: LossOrigin.MODEL,
    LossReason.OTHER_FORMAT: LossOrigin.FORMAT,
    LossReason.NO_CALLS: LossOrigin.FORMAT,
    LossReason.SCHEMA: LossOrigin.SCHEMA,
    LossReason.STRIPPED: LossOrigin.ENGINE,
    LossReason.PARSER: LossOrigin.ENGINE,
    LossReason.OTHER_PROMPT: LossOrigin.REQUEST,
    LossReason.REFUSED: LossOrigin.REQUEST,
    LossReason.CUT: LossOrigin.LIMIT,
}


@dataclass(frozen=True, slots=True)
class LossCause:
    """Why a call was lost or wrong, and the place that shows it."""

    reason: LossReason
    """The reason, such as `LossReason.STRIPPED`."""
    place: DeviationExplanation | None = None
    r"""The departure behind the reason, such as a missing `"\n</tool_call>"`, or None if the output
    does not depart."""
    lost: bool = False
    """Whether a call is missing from the message, as with `LossReason.OTHER_FORMAT`, or the message
    has an unusable one."""
    rejected: bool = False
    """Whether the parser's `forgive="exact"` rejects a call that `"repairs"` parses."""
    schema: str = ""
    """The schema error of a call that also departs from the template, e.g. `"'days' is a required
    property"`; otherwise empty."""

    @property
    def unmarked(self) -> bool:
        """Whether the output lacks markers, so that a call may be read as content."""
        cause = None if self.place is None else self.place.cause
        return cause is not None and cause.kind in (CauseKind.STRIPPED, CauseKind.OMITTED)


def loss_cause(
    reading: OutputReading,
    text: str,
    compared: ComparedOutput,
    *,
    unrestricted: OutputParser | None = None,
    prompt_known: bool = False,
    rejected: bool = False,
    complete: bool = True,
) -> LossCause:
    """Return why a call of an output was lost or wrong.

    `unrestricted` parses the same output for a request that allows any number of calls; None skips
    that trial. If the prompt is known, the output cannot follow another one. A call is `rejected`
    if the caller's own parser, with `forgive="exact"`, leaves in the content what `reading` parses.
    """
    message, explanations = compared.message, compared.places
    unknown = any(call.status is Status.UNKNOWN_TOOL for call in message.tool_calls)
    # With any other status, a call is missing from the message or cannot be used.
    read = (Status.OK, Status.UNFINISHED, Status.REPAIRED, Status.STRAY)
    drafted = compared.drafted
    lost = unknown or message.status not in read or (drafted is not None and not drafted.closed)
    # Asked first: the text of a forbidden call departs from the template in other ways, too.
    if unrestricted is not None:
        allowed = unrestricted.parse(text, complete=complete)
        if len(allowed.tool_calls) > len(message.tool_calls):
            return LossCause(LossReason.REFUSED, next(iter(explanations), None), lost=True)
    reasons = [(_reason(place, prompt_known=prompt_known), place) for place in explanations]
    if reading.prompt_format.format.calls is None:
        markup = (place for place in explanations if place.deviation is OutputDeviation.FOREIGN)
        place = next(markup, None)
        if place is not None:
            # No other output could be read as a call, whatever else departs.
            return LossCause(LossReason.NO_CALLS, place, lost=True)
    # A rejected call is not checked against a schema: only a departure can explain it.
    for reason in _MOST_TELLING[:2] if rejected else _MOST_TELLING:
        place = next((place for given, place in reasons if given is reason), None)
        if place is None:
            continue
        incomplete = any(
            call.schema_errors and call.status is not Status.OK for call in message.tool_calls
        )
        behind = next(
            (
                other
                for given, other in reasons
                if given is LossReason.DEPARTURE and other.offset > place.offset
            ),
            None,
        )
        if reason is LossReason.SCHEMA and incomplete and behind is not None:
            # The arguments of a call that is broken or not closed may lack the rest.
            return LossCause(LossReason.DEPARTURE, behind, lost, schema=place.found)
        return _with_unmarked(LossCause(reason, place, lost or rejected, rejected), message)
    if message.status is Status.NEEDS_ALL:
        return LossCause(LossReason.DEPARTURE, lost=True)
    if drafted is not None and drafted.readable:
        # A call in reasoning that closes is a draft.
        return LossCause(LossReason.IN_REASONING, lost=lost)
    place = next((place for given, place in reasons if given is LossReason.DEPARTURE), None)
    reason = LossReason.DEPARTURE if place or rejected else LossReason.NOTHING
    return _with_unmarked(LossCause(reason, place, lost or rejected, rejected), message)


def _with_unmarked(cause: LossCause, message: ParsedMessage) -> LossCause:
    """Mark a call as lost that is read as content, so that the status shows no loss."""
    told = cause.reason in (LossReason.STRIPPED, LossReason.DEPARTURE)
    lost = cause.lost or (told and cause.unmarked and not message.tool_calls)
    return replace(cause, lost=lost)


_MOST_TELLING = (
    LossReason.STRIPPED,
    LossReason.OTHER_PROMPT,
    LossReason.OTHER_FORMAT,
    LossReason.CUT,
    LossReason.UNKNOWN_TOOL,
    LossReason.SCHEMA,
)
"""Reasons that explain other departures, in order; a plain departure explains only itself."""
# All other departures are faults of the model.
_REASONS = {
    OutputDeviation.CUT: LossReason.CUT,
    OutputDeviation.UNKNOWN_TOOL: LossReason.UNKNOWN_TOOL,
    OutputDeviation.SCHEMA: LossReason.SCHEMA,
    # Most engines remove the end of a turn, and the user may have wanted a marker at an edge.
    OutputDeviation.NO_END: LossReason.NOTHING,
    OutputDeviation.FOREIGN: LossReason.NOTHING,
}
_CAUSES = {
    CauseKind.STRIPPED: LossReason.STRIPPED,
    CauseKind.OMITTED: LossReason.DEPARTURE,
    CauseKind.OTHER_PROMPT: LossReason.OTHER_PROMPT,
    CauseKind.OTHER_FORMAT: LossReason.OTHER_FORMAT,
}


def _reason(place: DeviationExplanation, *, prompt_known: bool) -> LossReason:
    """Return the reason that one departure alone would give."""
    kind = None if place.cause is None else place.cause.kind
    if kind is CauseKind.OTHER_PROMPT and prompt_known:
        kind = None
    if kind is None or place.deviation is OutputDeviation.NO_END:
        return _REASONS.get(place.deviation, LossReason.DEPARTURE)
    return _CAUSES[kind]


LONGEST = 200_000
"""Longest output of which a smallest part is searched, in characters."""
MOST_PARSED = 400_000
"""Most characters that are parsed in the search; the smallest part so far is returned then."""


def smallest_part(text: str, shows: Callable[[str], bool], left: int = MOST_PARSED) -> str:
    """Return the shortest part of a text found that still shows the same.

    Lines are removed first, then markers and words; `shows` decides about each
    remainder, until `left` characters were tried. Words stay if half of the text needs them, since
    a reader understands whole lines. The result is the whole text if it is too long, or if `shows`
    rejects it.
    """
    if len(text) > LONGEST or not shows(text):
        return text
    lines = _without_pieces(text.splitlines(keepends=True), shows, left // 2)
    words = _without_pieces(_split_words(lines), shows, left // 2)
    return words if len(words) <= len(lines) // 2 else lines


def _without_pieces(pieces: list[str], shows: Callable[[str], bool], left: int) -> str:
    """Return a text without the pieces that `shows` does not need, halves of it first."""
    # Delta debugging: remove halves, then quarters, down to single pieces.
    size = len(pieces) // 2
    while size and left > 0:
        at = 0
        while at < len(pieces) and left > 0:
            rest = [*pieces[:at], *pieces[at + size :]]
            # An empty remainder costs a trial, too.
            left -= sum(map(len, rest)) + 1
            if shows("".join(rest)):
                pieces = rest
            else:
                at += size
        size //= 2
    return "".join(pieces)


_WORD = re.compile(r"\W*\w+\W*")


def _split_words(text: str) -> list[str]:
    """Split a text into markers, and words with the signs around them."""
    return [
        piece
        for unit in edge_units(text)
        for piece in ([unit] if is_unit(unit) else _WORD.findall(unit) or [unit])
    ]


def same_departure(
    reading: OutputReading, place: DeviationExplanation, text: str, *, complete: bool = True
) -> Callable[[str], bool]:
    """Return a test of whether part of an output departs as the whole output does at a place.

    The part has no other departures than the output, except that its end may be missing. A call
    that cannot be parsed has to break between the same characters, with the same name.
    """

    def departures(part: str) -> set[tuple[object, ...]]:
        found = compare_output(reading, part, complete=complete).places
        return {
            _identity(reading, other, part, complete=complete)
            for other in found
            if other.deviation is not OutputDeviation.NO_END
        }

    wanted = _identity(reading, place, text, complete=complete)
    whole = departures(text)
    return lambda part: wanted in (found := departures(part)) and found <= whole


_AT_THE_END = (OutputDeviation.CUT, OutputDeviation.BEHIND_END)


def _identity(
    reading: OutputReading, place: DeviationExplanation, text: str, *, complete: bool
) -> tuple[object, ...]:
    kind = None if place.cause is None else place.cause.kind
    if place.deviation is OutputDeviation.UNREADABLE:
        message = reading.parser.parse(text, complete=complete)
        names = [call.name for call in message.malformed_calls]
        around = text[max(0, place.offset - 1) : place.offset + 1]
        return (place.deviation, kind, around, *names)
    # The text after the end may be shortened, too.
    if place.deviation in _AT_THE_END:
        return (place.deviation, kind)
    return (place.deviation, kind, place.expected, place.found)
