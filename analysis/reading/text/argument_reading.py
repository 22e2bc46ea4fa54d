"""Reading a call's arguments, in whatever notation the format has for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Arguments

from .entry_reader import EntryReader
from .json_text import Emit, ReadOutcome, read_json
from .literals import at_any, at_text, skip_space
from .lookahead import GoesOn, anywhere, nowhere
from .tape import Reading, SpanKind, Tape
from .value_decoding import json_value


def read_arguments(
    tape: Tape,
    arguments: Arguments,
    schema: Mapping[str, Json] | None,
    stops: Sequence[str],
    emit: Emit,
    *,
    repairs: Sequence[str] = (),
    space: str = "",
    goes_on: GoesOn = anywhere,
) -> Reading[ReadOutcome]:
    """Read arguments and emit them as the text of one JSON object.

    `schema` is that of the parameters, `stops` are the texts that may follow the arguments, and
    `repairs` those of them before which closers that JSON lacks were forgotten: before another
    sign, such as a fence, they were where `goes_on` says that it and what follows close the call.
    `space` is the whitespace that the template writes before them. Where a value's closer is
    missing, `goes_on` says whether one of them is more than text.
    """
    ends = nowhere if goes_on is anywhere else goes_on
    if arguments.encoded:
        return (yield from _read_encoded(tape, emit, repairs))
    if arguments.verbatim or arguments.members.open.strip() == "{" or _pasted(arguments):
        yield from skip_space(tape, SpanKind.ARGUMENTS)
        if (yield from at_text(tape, '"')):
            # Models also write the object as text inside a string.
            return (yield from _read_encoded(tape, emit, repairs))
        if (yield from at_any(tape, _NOTHING)):
            outcome = yield from read_json(tape, _ignore, repairs)
            emit("{}")
            return ReadOutcome.REPAIRED if outcome is ReadOutcome.COMPLETE else outcome
        if tape.left() and tape.text[tape.at] != "{":
            return ReadOutcome.BAD
        return (yield from read_json(tape, emit, repairs, goes_on=ends))
    return (yield from EntryReader(tape, arguments, schema, stops, emit, space, goes_on).read())


def _pasted(arguments: Arguments) -> bool:
    return arguments.values.is_json and arguments.members.key.open == '"'


def _read_encoded(tape: Tape, emit: Emit, repairs: Sequence[str]) -> Reading[ReadOutcome]:
    """Read JSON text inside a JSON string; an empty string is the text of no arguments."""
    pieces: list[str] = []
    outcome = yield from read_json(tape, pieces.append, repairs)
    text = "".join(pieces)
    try:
        inner = json_value(text)
        if isinstance(inner, str):
            text = inner
            inner = json_value(text) if text.strip() else None
    except (ValueError, RecursionError):
        return ReadOutcome.CUT if outcome is ReadOutcome.CUT else ReadOutcome.BAD
    if inner is None:
        text, outcome = "{}", ReadOutcome.REPAIRED
    elif not isinstance(inner, dict):
        return ReadOutcome.BAD
    emit(text)
    return outcome


def _ignore(text: str) -> None:
    del text


_NOTHING = ("null", "None")
"""What models write for the arguments of a call without any."""
