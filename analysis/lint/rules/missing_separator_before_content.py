from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from autoparser.analysis.lint.conversation_matrix import Voice
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

SHOWN = 20
"""The number of quoted characters of the template's text."""


@rule("AP323", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Check the character before each text of every conversation."""
    for played in subject.matrix:
        for text in played.written_texts if not played.conversation.other_form else ():
            # Values of calls follow their notation, other speakers' texts follow a marker.
            if text.spoken.voice is Voice.CALL:
                continue
            end = text.start + len(text.spoken.text)
            if _is_word_character(text.before[-1:]):
                words, place = quote_text(text.before[-SHOWN:]), text.start - 1
            elif text.after[:1] == "#" or _is_word_character(text.after[:1]):
                words, place = quote_text(text.after[:SHOWN]), end
            else:
                continue
            yield played.hit(
                f"in '{played.name}', {text.spoken.voice} is joined to {words} without a separator",
                played.render.line_at(place),
            )


def _is_word_character(character: str) -> bool:
    """Return whether a character is a digit, or a letter of a script with spaces."""
    return bool(character) and unicodedata.category(character) in {"Lu", "Ll", "Nd"}
