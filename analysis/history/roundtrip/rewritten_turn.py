"""Turns in which the template writes another message than the one it was given.

What a template strips, lowercases or escapes with loss is gone from its own turn already, so that
this turn comes back whatever the template does. Where it, read by the parser, is another message,
the format says what a model writes. Of the argument `x^2`, where a template strips the sign:

    the template   <arg name="term">x2</arg>
    the format     <arg name="term">x^2</arg>

Contract: nothing is rendered here. A text of the format counts only where the parser reads the
message from it; where it reads that from neither text, nothing shows what a model would write.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.format import TurnFormat
from autoparser.analysis.reading.parsing import ParsedMessage, message_of

from .respelling import Spelling, respelled

REWRITTEN = "it rewrites what the turn says"
"""Why the format wrote a turn that the template writes, too."""


def says(parsed: ParsedMessage, text: str, message: Message) -> bool:
    """Whether a text that was read is this message, whatever ids and order of arguments it has."""
    try:
        read = message_of(parsed, text)
    except ValueError:
        return False
    return _said(read) == _said(message)


def _said(message: Message) -> tuple[object, ...]:
    # As text, since to Python true and 1 are the same. A model may write arguments in the order
    # that the template has, and still say the same.
    calls = [
        (each.name, json.dumps(dict(each.arguments), sort_keys=True)) for each in message.calls
    ]
    return message.reasoning, message.content, calls


def format_meaning(
    usual: TurnFormat, write: Callable[[TurnFormat], str], right: Callable[[str], bool]
) -> TurnFormat | None:
    """Return the format whose text is right; None where there is none."""
    return next((each for each in _formats(usual) if right(write(each))), None)


def _formats(usual: TurnFormat) -> Iterator[TurnFormat]:
    """Return the format, and the same where nothing is stripped from the strings of calls."""
    yield usual
    if usual.calls is not None:
        yield respelled(usual, Spelling(whole=True))
