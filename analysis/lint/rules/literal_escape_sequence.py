from __future__ import annotations

import re
from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

_ESCAPE = re.compile(r"\\[nrt]")
SHOWN = 30
"""The number of quoted characters around it."""


@rule("AP219", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Search the text between and after the messages of conversations for such escapes."""
    for played in subject.matrix:
        # Instructions and tools, before the first text, may show escapes on purpose.
        conversation = played.conversation
        if conversation.tools or conversation.other_form:
            continue
        for text in played.written_texts:
            found = _ESCAPE.search(text.after)
            if found is not None:
                place = text.start + len(text.spoken.text) + found.start()
                shown = text.after[max(0, found.start() - SHOWN) : found.end() + SHOWN]
                yield played.hit(
                    f"'{played.name}' contains a literal backslash and letter instead of a line"
                    f" break: {quote_text(shown)}",
                    played.render.line_at(place),
                )
