from __future__ import annotations

import json
from collections.abc import Iterator

from autoparser.analysis.lint.conversation_matrix import PlayedConversation, Voice
from autoparser.analysis.lint.hit import Confidence, Hit
from autoparser.analysis.lint.lint_renders import show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_result
from autoparser.analysis.lint.subject import Subject


@rule("AP536")
def check(subject: Subject) -> Iterator[Hit]:
    """Search for escaped quotes before the names in tools, and before the keys of a call."""
    usual = [played for played in subject.matrix if played.usual]
    words = (*subject.marks.names, *subject.marks.keys)
    asked = next((played for played in usual if played.conversation.tools), None)
    if asked is not None and _word_after_escape(asked.render.text, words):
        yield _escaped_hit(asked, "offered tools", words, None)
    called = next((played for played in usual if any(played.texts_of(Voice.CALL))), None)
    if called is None:
        return
    yield from _result(subject)
    history = called.render.text.partition(called.conversation.spoken[0].text)[2]
    if _word_after_escape(history, subject.marks.keys):
        yield _escaped_hit(called, "the arguments of a call", subject.marks.keys, Confidence.MEDIUM)


def _result(subject: Subject) -> Iterator[Hit]:
    """Render a result of two lines, and search for it as a JSON string outside any JSON."""
    first, second, *_ = subject.marks.values
    text = f'{first} "1"\n{second}'
    render = render_result(subject, text)
    for encoded in (json.dumps(text), json.dumps(json.dumps(text))[1:-1]):
        before, found, _ = render.text.partition(encoded)
        # After a colon, a comma or a bracket, a string is a value of the JSON around it.
        if found and (
            encoded.startswith("\\") or not before.rstrip().endswith((":", ",", "[", "("))
        ):
            yield Hit(
                "a tool result is encoded as a JSON string: its line breaks and quotes are escaped",
                (show_render(render, "a result of two lines with quotes"),),
                line=render.line_of(encoded),
            )
            return


def _word_after_escape(text: str, words: tuple[str, ...]) -> str:
    """Return the first of these words that follows an escaped quote."""
    escaped = (f'\\"{word}' for word in words)
    return next((word for word in escaped if word in text), "")


def _escaped_hit(
    played_chat: PlayedConversation,
    what: str,
    words: tuple[str, ...],
    confidence: Confidence | None,
) -> Hit:
    return played_chat.hit(
        f"{what} are JSON inside a JSON string: every quote is escaped",
        played_chat.render.line_of(_word_after_escape(played_chat.render.text, words)),
        confidence=confidence,
    )
