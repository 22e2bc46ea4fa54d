"""Calls whose ids differ from the ids of their results.

One function is called three times, so that only the ids tell the results apart. A template that
renders the id of a message's first call for all of them:

    <call>#call1a2b3 …</call><call>#call1a2b3 …</call><|end|><|tool|>#call1a2b3 It has 22 degrees.
    <|end|><|tool|>#call4c5d6 There are two hotels.<|end|>…
    the id of call 1 is rendered 3 times, that of call 2 once
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from autoparser.analysis.core.conversation import Dialogue, Message, ToolCall, ToolResult
from autoparser.analysis.core.text_alignment import TemplateLiteral
from autoparser.analysis.lint.conversation_matrix import (
    PlayedConversation,
    Voice,
    WholeConversation,
)
from autoparser.analysis.lint.hit import Confidence, Hit, Severity
from autoparser.analysis.lint.hit_words import count_words, quote_text
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP542", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Call one function three times, and follow the ids from the calls to the results."""
    played = _three_calls(subject)
    if not played.render.rendered:
        return
    generated = [[_id_words(played, side) for side in _SIDES], *_keyed_numbers(played)]
    together = subject.takes_parallel_calls
    found = (_wrong_ids(played, calls, results, together=together) for calls, results in generated)
    words = _sent_ids(played, subject.marks.ids[:3]) or next(filter(None, found), "")
    calls = played.written_by(Voice.CALL)
    if len(calls) < _CALLS:
        return  # other rules report lost calls
    if words:
        restarts = words.startswith(_RESTARTS)
        places = ""
        if restarts:
            # If ids restart with each message, only their position distinguishes results.
            number = words.split("'")[1]
            shown = dict.fromkeys(_quote_before(calls[at].before, number) for at in (0, -1))
            places = f": {' and '.join(shown)}"
        yield played.hit(
            words + places,
            played.render.line_at(calls[0].start),
            severity=Severity.WARNING if restarts else None,
        )
    # The first call, with its id if it has one, is written before the second call's argument.
    first = played.render.text.find(subject.marks.ids[0])
    if subject.takes_parallel_calls and first > calls[1].start:
        yield played.hit(
            "results have the ids sent by the caller, but calls do not",
            played.render.line_at(first),
            severity=Severity.WARNING,
            confidence=Confidence.MEDIUM,
        )


def _quote_before(text: str, word: str) -> str:
    """Quote the last occurrence of a word with the text before it, from the start of a marker."""
    end = text.rfind(word) + len(word)
    start = max(0, end - _SHOWN)
    marks = (text.find(marker, start, end) for marker in TemplateLiteral.of(text[:end]).markers)
    start = min((mark for mark in marks if mark >= 0), default=start)
    return quote_text(text[start:end])


def _three_calls(subject: Subject) -> PlayedConversation:
    """Render two calls in one message if the template takes them, and one in the next."""
    texts, marks = subject.texts, subject.marks
    calls = [
        ToolCall(marks.names[0], {marks.keys[0]: value}, name)
        for value, name in zip(marks.values, marks.ids, strict=False)
    ][:3]
    results = [
        ToolResult(result.text, call.name, call.id)
        for result, call in zip(texts.results, calls, strict=True)
    ]
    middle: Dialogue
    if subject.takes_parallel_calls:
        middle = (Message(calls=tuple(calls[:2])), *results[:2])
    else:
        middle = (Message(calls=(calls[0],)), results[0], Message(calls=(calls[1],)), results[1])
    dialogue = (texts.users[0], *middle, Message(calls=(calls[2],)), results[2])
    return subject.play_whole(
        WholeConversation("three calls of one function and their results", dialogue, tools=True)
    )


def _sent_ids(played: PlayedConversation, ids: Sequence[str]) -> str:
    """Describe how the sent ids are misplaced; empty if each is beside its own call and result."""
    history = played.render.text
    found = [ids.index(call_id) for call_id in re.findall("|".join(map(re.escape, ids)), history)]
    if not found:
        return ""
    order = [at for at, _ in groupby(found)]
    counts = [found.count(at) for at in range(len(ids))]
    if len({*counts}) > 1:
        most, least = counts.index(max(counts)), counts.index(min(counts))
        return (
            f"the id of call {most + 1} is rendered {count_words(max(counts))}, but the id of call"
            f" {least + 1} {count_words(min(counts))}"
        )
    # Ids beside calls or results alone, or each call followed by its result; or two calls in one
    # message and then their results.
    if order in ([0, 1, 2], [0, 1, 0, 1, 2]):
        return ""
    return f"results have the ids of other calls: {', '.join(ids[at] for at in order)}"


def _wrong_ids(
    played: PlayedConversation, calls: Sequence[str], results: Sequence[str], *, together: bool
) -> str:
    """Describe a fault in ids that a template generates.

    `together` is whether the first two calls are in one message.
    """
    if len(calls) != _CALLS or len(results) != _CALLS:
        return ""
    if len(set(calls)) < _CALLS:
        twice = next(call for call in calls if calls.count(call) > 1)
        if not together or calls[0] != calls[1] or played.render.text.count(twice) < _CALLS:
            return f"{_RESTARTS} {quote_text(twice)} is reused in a later message"
        return f"{quote_text(twice)} is the id of two calls in one message"
    if calls != results:
        return f"the results of {', '.join(calls)} have the ids {', '.join(results)}"
    return ""


_CALLS = 3
"""The number of calls in the conversation."""
_RESTARTS = "call id"
"""The start of a finding about reused ids."""
_SHOWN = 40
"""The number of quoted characters around an id."""
_SIDES = (Voice.CALL, Voice.RESULT)
_ID = re.compile(r"[\w.:\-]*\d[\w.:\-]*")


def _keyed_numbers(played: PlayedConversation) -> Iterator[tuple[list[str], list[str]]]:
    """Yield numbers under a key that calls and results share: ``"call": 0``, ``"call": "0"``."""
    calls, results = (
        [dict(_NUMBER.findall(text.before)) for text in played.written_by(side)] for side in _SIDES
    )
    for key in calls[0] if calls else ():
        found = [[text.get(key, "") for text in side] for side in (calls, results)]
        if all(map(all, found)) and len({*found[0], *found[1]}) > 1:
            yield found[0], found[1]


_NUMBER = re.compile(r"([^\W\d]\w*)[^\w\n]{1,6}(\d+)\b")


def _id_words(played: PlayedConversation, voice: Voice) -> list[str]:
    """Return the last word with the function's name and a digit before each text of a voice."""
    found: list[str] = []
    for text in played.written_by(voice):
        call = text.spoken.call
        if call is not None:
            words = (word for word in _ID.findall(text.before) if call.name in word)
            found += [*words][-1:]
    return found
