"""What would fix a round trip: for whoever writes the template, runs the engine, or calls it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.inference.probing import Setting
from autoparser.analysis.reading.parsing import Status

from .cause import Cause
from .round_trips import Row
from .scenario import UnreadCalls


class AdviceReader(StrEnum):
    """Whom an advice is for."""

    TEMPLATE = "template author"
    ENGINE = "engine"
    CALLER = "caller"


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to do."""

    reader: AdviceReader
    text: str


_BRIDGE = "send the tokens of the last turn again as they are, and render only the new messages"

_TEXTS: Mapping[Cause, tuple[str, str, str]] = {
    Cause.RAISES: (
        "take what engines send: see the template's own words",
        "shape the history as this template wants it before rendering",
        "send the message in the shape that the analysis shows",
    ),
    Cause.EARLIER: (
        "write each message alike whatever comes later; put tools and dates where they stay",
        _BRIDGE,
        "leave earlier messages, tools and dates as they were; else all after them is computed"
        " again",
    ),
    Cause.REASONING_DROPPED: (
        "keep reasoning by default while tools are in use, and offer a switch that keeps it",
        f"pass the switch on, or {_BRIDGE}",
        "keep reasoning in the messages that you send back",
    ),
    Cause.HEADER: (
        "let the generation prompt be exactly what a turn in the history begins with",
        _BRIDGE,
        "leave the switches as they are during a conversation",
    ),
    Cause.REASONING_STRIPPED: (
        "write reasoning as it is given, without strip or trim",
        "give reasoning back with its whitespace; do not strip it",
        "send reasoning back as it came, to the character",
    ),
    Cause.CONTENT_STRIPPED: (
        "write content as it is given, without strip or trim",
        f"give content back with its whitespace; or {_BRIDGE}",
        "send content back as it came, to the character",
    ),
    Cause.CONTENT_DROPPED: (
        "write content beside calls, too",
        _BRIDGE,
        "ask the model not to write content beside calls",
    ),
    Cause.WHITESPACE: (
        "write between two parts what the model writes there",
        f"keep the raw text of a turn beside its parts; or {_BRIDGE}",
        "nothing to do: the messages do not hold this whitespace",
    ),
    Cause.ENCODED_TWICE: (
        "write arguments that are a string as they are, and use tojson for objects only",
        "decode the arguments before rendering",
        "send arguments as an object, not as a JSON string",
    ),
    Cause.ARGUMENT_FORM: (
        "write arguments alike, whether they come as an object or as a JSON string",
        "decode the arguments before rendering",
        "send arguments as an object, not as a JSON string",
    ),
    Cause.JSON_SPACING: (
        "write arguments that are a string as they are; or write values without JSON",
        "keep the text of the arguments as it was sampled; constrain it to the template's spacing",
        "send arguments back as the string that came, where the template pastes it",
    ),
    Cause.JSON_ESCAPES: (
        "write arguments that are a string as they are",
        "keep the text of the arguments as it was sampled",
        "send arguments back as the string that came, where the template pastes it",
    ),
    Cause.LITERALS: (
        "write values with tojson, not with string: True is Python's",
        "keep the text of the arguments as it was sampled; constrain it to the template's literals",
        "nothing to do: decoded arguments do not tell how they were written",
    ),
    Cause.ORDER: (
        "write arguments in the order in which they are given, without sorting",
        "keep the order of the arguments when decoding them",
        "send arguments back in the order in which they came",
    ),
    Cause.VALUES: (
        "write values as they are given, without strip, trim or rounding",
        f"keep the text of the arguments as it was sampled; or {_BRIDGE}",
        "send arguments back as they came, to the character",
    ),
    Cause.IDS: (
        "leave ids out of the turn, or let the model write them",
        "keep the ids that the model wrote",
        "send the ids back that came",
    ),
    Cause.CALL_LOST: (
        "write every call of a message",
        "leave the text of a call that cannot be read in the content, verbatim",
        "send such a message back as it came, or ask for the turn again",
    ),
    Cause.CALL_REPAIRED: (
        "nothing to do: a template writes whole calls",
        f"constrain the output to the template's calls, or {_BRIDGE}",
        "nothing to do: the messages do not hold what was missing",
    ),
    Cause.END: (
        "end a turn in the history as the model ends it",
        _BRIDGE,
        "nothing to do: the messages do not hold the end of a turn",
    ),
    Cause.RETOKENIZED: (
        "put a special token, which no token goes across, wherever sampled text begins or ends",
        "keep the token ids of earlier turns instead of encoding their text again",
        "send token ids where the engine takes them",
    ),
    Cause.REWRITTEN: (
        "write a turn in the history as the model writes it",
        f"keep the raw text of a turn beside its parts; or {_BRIDGE}",
        "send the turn back as it came; where you do, the messages do not hold the difference",
    ),
}


_READ = (Status.OK, Status.UNFINISHED, Status.STRAY)
"""No call was lost in the reading."""

_UNREAD = (
    "nothing to do: a call that could not be read is none in the messages",
    _TEXTS[Cause.CALL_LOST][1],
    "send such a message back as it came, or ask for the turn again",
)
"""For a call that could not be read: the template was not asked to write it."""


def _texts(row: Row, cause: Cause) -> tuple[str, str, str]:
    if cause is not Cause.CALL_LOST or row.verdict.status in _READ:
        return _TEXTS[cause]
    template, engine, caller = _UNREAD
    if row.scenario.engine.malformed is UnreadCalls.CONTENT:
        engine = _BRIDGE
    return template, engine, caller


def cause_advice(cause: Cause, setting: Setting | None = None) -> tuple[Advice, ...]:
    """Say what fixes a cause, whatever row it is found in; `setting` is one that is known to."""
    return _advice(_TEXTS[cause], setting)


def _advice(texts: tuple[str, str, str], setting: Setting | None) -> tuple[Advice, ...]:
    given = [Advice(reader, text) for reader, text in zip(AdviceReader, texts, strict=True)]
    if setting is not None:
        words = ", ".join(f"{name}={_json(value)}" for name, value in setting.items())
        given[-1] = Advice(AdviceReader.CALLER, f"set {words}: it holds then")
    return tuple(given)


def fixing_settings(rows: Iterable[Row], causes: Collection[Cause]) -> dict[Cause, Setting]:
    """Return for each cause the setting under which most of the rows hold that break by it."""
    seen: dict[Cause, Counter[str]] = {cause: Counter() for cause in causes}
    settings: dict[str, Setting] = {}
    for row in rows:
        cause, setting = row.verdict.cause, fixing(row)
        if setting is not None and cause is not None and cause in seen:
            name = json.dumps(setting, sort_keys=True)
            settings[name] = setting
            seen[cause][name] += 1
    return {cause: settings[found.most_common(1)[0][0]] for cause, found in seen.items() if found}


def advice_of(row: Row) -> tuple[Advice, ...]:
    """Say what would fix a row; nothing where it holds.

    A setting under which it was seen to hold comes before all else.
    """
    cause = row.verdict.cause
    if cause is None:
        return ()
    return _advice(_texts(row, cause), fixing(row))


def fixing(row: Row) -> Setting | None:
    """Return the setting nearest to the usual one under which the row holds."""
    usual = row.verdict.setting
    holding = [each.setting for each in row.others if each.holds]
    best = min(holding, key=lambda each: len(changed(usual, each)), default=None)
    return None if best is None else changed(usual, best)


def changed(usual: Setting, setting: Setting) -> Setting:
    """Return what differs between two settings; None unsets a switch."""
    return {
        name: setting.get(name)
        for name in {**usual, **setting}
        if setting.get(name) != usual.get(name)
    }


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
