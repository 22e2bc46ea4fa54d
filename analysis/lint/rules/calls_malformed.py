"""Calls in the history that cannot be parsed in their own notation.

A call whose object lacks its last brace, and the finding:

    <|assistant|><call>{"name": "get_weather", "arguments": {"city": "Rio"}</call><|end|>
    '{' is opened 2 times and closed once in 'a call'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from autoparser.analysis.lint.call_texts import (
    CallSpan,
    DocumentKind,
    broken_object,
    call_spans,
    document_kind,
)
from autoparser.analysis.lint.conversation_matrix import PlayedConversation, Voice, WrittenText
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import count_words, quote_text
from autoparser.analysis.lint.marker_pairs import crossed_marker
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

_PAIRS = (
    ("{", re.compile(r"\{"), re.compile(r"\}")),
    ("(", re.compile(r"\("), re.compile(r"\)")),
    ("[{", re.compile(r"\[\s*\{"), re.compile(r"\}\s*\]")),
)
"""The brackets of calls; a single square one may belong to a marker."""


@rule("AP531", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Parse the calls of every conversation as JSON and as Python, and count their brackets."""
    calling = [played for played in subject.matrix if any(played.texts_of(Voice.CALL))]
    usual: DocumentKind | None = None
    for played in calling:
        # A switch may choose another form of calls, or of the whole conversation.
        if not played.usual or not played.render.rendered:
            continue
        spans = call_spans(played)
        # The matrix begins with the smallest conversation, whose notation is taken for the usual
        # one.
        usual = usual or next((document_kind(span, span.texts[0]) for span in spans), None)
        words = _flaw(subject, played, spans, usual)
        if words:
            severity = Severity.WARNING if words == GLUED else None
            fix = QUOTING if words.startswith(BARE) else ""
            line = played.render.line_at(spans[0].texts[0].start) if spans else None
            yield played.hit(f"{words} in '{played.name}'", line, severity=severity, fix=fix)


BARE = "strings in a Python-style call have no quotes"
QUOTING = "quote string values, such as with `tojson`"
GLUED = "no separator between two calls"


def _flaw(
    subject: Subject,
    played_chat: PlayedConversation,
    spans: Sequence[CallSpan],
    usual: DocumentKind | None,
) -> str:
    """Return the fault of a conversation's calls, in words; empty if they are well-formed."""
    # Results may have brackets of their own, so the whole history must be balanced.
    history = played_chat.render.text.partition(subject.matrix[0].conversation.spoken[0].text)[2]
    for bracket, opening, closing in _PAIRS:
        opened, closed = len(opening.findall(history)), len(closing.findall(history))
        if opened != closed:
            times = f"is opened {count_words(opened)} and closed {count_words(closed)}"
            return f"{quote_text(bracket)} {times}"
    # The conversation's texts have no quotes, so all of them are the template's.
    if history.count('"') % 2:
        return f"a quote is not closed ({history.count(chr(34))} quotes)"
    return next(filter(None, (_span_flaw(span, usual) for span in spans)), "")


def _span_flaw(span: CallSpan, usual: DocumentKind | None) -> str:
    """Return the fault of one message's calls, in words; empty if they are well-formed."""
    crossing = crossed_marker(span.text)
    if crossing is not None:
        inner, closer = crossing
        behind = f"the end of {quote_text(inner)}, which it encloses"
        return f"{quote_text(closer)} precedes {behind}"
    for text in span.texts:
        broken = broken_object(span, text)
        if broken:
            return f"a call is valid JSON only up to {broken}"
        kind = document_kind(span, text)
        if usual is not None and kind is not usual:
            written = quote_text(_written_call(span, text))
            return f"a call is not {usual.value}, unlike in other conversations: {written}"
    bare = next(filter(_is_bare, span.texts), None)
    if bare is not None:
        return f"{BARE}: {quote_text(_written_call(span, bare))}"
    for joint, name in span.joints:
        if not re.sub(r"[\"'\])}\s]", "", joint.partition(name)[0]) and _GLUED.search(joint):
            return GLUED
    return ""


def _written_call(span: CallSpan, text: WrittenText) -> str:
    """Return a call from its name to its last value, or all of a span that lacks the name."""
    call = text.spoken.call
    name = "" if call is None else call.name
    last = [written for written in span.texts if written.spoken.call is call][-1].spoken.text
    start, end = span.text.find(name), span.text.rfind(last) + len(last)
    return span.text[start:end] if 0 <= start < end else span.text


def _is_bare(text: WrittenText) -> bool:
    """Return whether a word is written without quotes, as in ``call(key=word)``."""
    before = text.spoken.call and text.before.rpartition(f"{text.spoken.call.name}(")[2]
    return bool(before) and bool(_BARE.fullmatch(f"{before}){text.after[:1]}"))


_BARE = re.compile(r"\w+=\)[,)]")
_GLUED = re.compile(r"[\"'\])}]\w|[\])}][\[{]")
"""The end of one call directly followed by the next."""
