"""Instructions that show other markers of calls than the history has.

The instructions, the history, and the finding:

    Call a tool so: <calls>{"name": …, "arguments": …}</call><|end|>
    …<|assistant|><call>{"name": "get_weather", "arguments": {"city": "Rio"}}</call><|end|>
    the instructions have '<calls>' where calls in the history have '<call>'

Similar spelling alone proves nothing, since templates have markers such as `<tool>` and `<tools>`:
a misspelled marker also has the neighbors of the right one, here `</call>` after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import partial

from autoparser.analysis.core.message_shape import ToolForm
from autoparser.analysis.core.text_alignment import TemplateLiteral, prefix_length
from autoparser.analysis.lint.call_texts import CallSpan, call_spans
from autoparser.analysis.lint.conversation_matrix import Voice, WrittenText
from autoparser.analysis.lint.hit import Hit, HitEvidence, Severity
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import Render, compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_answer, render_offer
from autoparser.analysis.lint.subject import Subject

_CLOSE = 2
"""The maximum number of wrong letters in a misspelled marker."""


@rule("AP543", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Align the markers of the instructions with those around a call in the history."""
    if subject.shape.tools is ToolForm.NONE:
        return
    played = next((played for played in subject.matrix if any(played.texts_of(Voice.CALL))), None)
    spans = [] if played is None else call_spans(played)
    if played is None or not spans:
        return
    # Markers that a chat without tools has, too, do not belong to calls.
    headers = TemplateLiteral.of(subject.play((subject.user,), generation=True).text).markers

    def markers_of(text: str) -> list[str]:
        return [marker for marker in TemplateLiteral.of(text).markers if marker not in headers]

    written = markers_of(spans[0].text)
    one, two, other = (
        render_offer(subject, *functions)
        for functions in (subject.functions[:1], subject.functions[:2], subject.functions[1:2])
    )
    if not (one.rendered and two.rendered and other.rendered):
        return
    # The tools change with the functions offered; what stays around them are the instructions.
    around = (
        one.text[: prefix_length(one.text, other.text)],
        one.text[prefix_length(one.text, two.text) :].partition(subject.marks.user)[0],
    )
    evidence = compare_renders(one, "the instructions", played.render, "the history")
    yield from _about_opener(subject, one, (played.render, spans[0]), evidence)
    for text in around:
        found = _near_miss(markers_of(text), written)
        if found is not None:
            wrong, right = found
            yield Hit(
                f"the instructions have {quote_text(wrong)} where calls in the history have"
                f" {quote_text(right)}",
                (evidence,),
                line=one.line_of(wrong),
            )


def _call_opener(subject: Subject, call: WrittenText) -> str:
    """Return the first marker of a call that answers lack, or empty if they share all."""
    known = subject.analysis.markers
    said = render_answer(subject).text + known.reasoning_start + known.reasoning_end
    markers = TemplateLiteral.of(call.before).markers
    return next((marker for marker in markers if marker not in said), "")


def _about_opener(
    subject: Subject, offer: Render, called: tuple[Render, CallSpan], evidence: HitEvidence
) -> Iterator[Hit]:
    """Search the prompt for the opening marker of calls, and the history for a name before it.

    A model that is never shown the marker must know it from training: that is only a note.
    """
    render, span = called
    opener, call = _call_opener(subject, span.texts[0]), span.texts[0].spoken.call
    told = [*re.finditer(re.escape(_marker_name(opener)), offer.text)]
    if opener and not told:
        words = f"the prompt never shows {quote_text(opener)}, the opening marker of a call"
        yield Hit(words, (evidence,), render.line_of(opener), severity=Severity.INFO)
    written = "" if call is None else rf"{re.escape(call.name)}\s*{re.escape(opener)}"
    # In instructions such as ``{name}<call>``, the name before the marker is intended.
    named = (_ENDS_OF_NAMES.match(offer.text, match.start() - 1) for match in told)
    if opener and told and re.search(written, span.text) and not any(named):
        yield Hit(
            f"calls in the history have the function's name before {quote_text(opener)},"
            " but no text of the prompt shows one there",
            (evidence,),
            line=render.line_of(opener),
        )


_ENDS_OF_NAMES = re.compile(r"[\w>}\])]")
_NAMED = re.compile(r"[\s=>]")


def _marker_name(marker: str) -> str:
    """Return a marker without its variable part: ``<call`` for ``<call=f>``."""
    return _NAMED.split(marker, maxsplit=1)[0]


def _near_miss(told: Sequence[str], written: Sequence[str]) -> tuple[str, str] | None:
    """Return a marker of the instructions and the marker of the history that it misspells.

    Both have the same neighbors. A marker that the history has as well, such as the opening one of
    a pair, must be between the same two, and not beside its own neighbors; for the last one, one of
    them is enough if it only lacks a slash. A closing marker that the history never writes is the
    subject of AP201.
    """
    names = [_marker_name(marker) for marker in written]
    told = [
        marker for marker in told if any(map(partial(_is_near, _marker_name(marker)), {*names}))
    ]
    marks = [_marker_name(marker) for marker in told]
    for at, mark in enumerate(marks):
        beside = (marks[at - 1] if at else "", marks[at + 1] if at + 1 < len(marks) else "")
        own = [_alike(names, place, beside) for place, name in enumerate(names) if name == mark]
        if any(map(any, own)):
            continue
        for place, word in enumerate(names):
            if mark == word or not _is_near(mark, word) or mark.replace("/", "") == word:
                continue
            alike = _alike(names, place, beside)
            # The last markers have no neighbor after them; only a slash is missing.
            last = at + 1 == len(marks) and place + 1 == len(names)
            last = last and mark == word.replace("/", "")
            if all(alike) or (any(alike) and (last or not own)):
                return told[at], written[place]
    return None


def _alike(names: Sequence[str], place: int, beside: tuple[str, str]) -> tuple[bool, bool]:
    """Return whether a marker of the history has these neighbors before and after it."""
    return (
        bool(place) and beside[0] == names[place - 1],
        place + 1 < len(names) and beside[1] == names[place + 1],
    )


def _is_near(mark: str, word: str) -> bool:
    if abs(len(mark) - len(word)) > _CLOSE:
        return False
    edits = SequenceMatcher(None, mark, word, autojunk=False).get_opcodes()
    changed = (max(e - d, b - a) for kind, a, b, d, e in edits if kind != "equal")
    return sum(changed) <= _CLOSE
