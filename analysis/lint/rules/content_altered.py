from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from autoparser.analysis.core.conversation import Message, UserMessage
from autoparser.analysis.core.message_battery import long_text
from autoparser.analysis.core.text_alignment import prefix_length
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import Chat, role_message
from autoparser.analysis.lint.subject import Subject

HOSTILE = " 3 > 2 < 4 & \"q\" 'p' \\n {r} [s] %} ÄÖ🚀\r\n\xa0\n\n\n\t  "
"""Characters that are changed by escaping, by a change of case, or by joining lines."""
_END = 30
"""The number of quoted characters at the end of a long text, or where it is cut."""


@rule("AP311")
def check(subject: Subject) -> Iterator[Hit]:
    """Render such contents in all roles at once, and in each role alone if some are altered."""
    words = _words_by_role(subject)
    together = subject.render(
        _chat(subject, {role: _hostile_text(word) for role, word in words.items()}),
    )
    # One render is enough for most templates; only the others need one for each role.
    if all(_hostile_text(word) in together.text for word in words.values()):
        return
    for role, word in words.items():
        yield from islice(_altered_characters(subject, role, word), 1)


def _altered_characters(subject: Subject, role: str, word: str) -> Iterator[Hit]:
    """Report changes to characters between two words, and to a long text."""
    plain, label = subject.render(_chat(subject, {role: word})), f"{role}: a word"
    text = f"{word}{HOSTILE}{word}"
    render = subject.render(_chat(subject, {role: text}))
    # The template may change capitals, so search in lower case.
    low = render.text.lower()
    start, end = low.find(word.lower()), low.rfind(word.lower())
    if text not in render.text and -1 < start < end:
        given, wrote = HOSTILE, render.text[start + len(word) : end]
        for at in (start, end):
            # If the characters are unchanged, a word beside them was changed, e.g. its capitals.
            if wrote == given:
                given, wrote = word, render.text[at : at + len(word)]
        yield Hit(
            f"the content of {role} messages is changed: {quote_text(given)} becomes"
            f" {quote_text(wrote)}",
            (compare_renders(render, f"{role}: a text with special characters", plain, label),),
            line=render.line_at(start),
        )
    text = f"{word} {long_text(word)}"
    render = subject.render(_chat(subject, {role: text}))
    start = render.text.find(word)
    if text not in render.text and start >= 0:
        kept = prefix_length(text, render.text[start:])
        # A text that has kept its end was not cut.
        what = "changed" if text[-_END:] in render.text[start:] else "cut"
        yield Hit(
            f"the content of {role} messages is {what}: the first {kept:,} of"
            f" {len(text):,} characters are rendered unchanged, up to"
            f" {quote_text(text[kept:][:_END])}",
            (compare_renders(render, f"{role}: a long text", plain, label),),
            line=render.line_of(word),
        )


def _words_by_role(subject: Subject) -> dict[str, str]:
    marks = subject.marks
    return {"system": marks.system, "user": marks.user, "assistant": marks.content}


def _hostile_text(word: str) -> str:
    return f"{word}{HOSTILE}{long_text(word)}"


def _chat(subject: Subject, texts: Mapping[str, str]) -> Chat:
    """Return a question, with messages of the roles that have a text here."""
    shape, marks = subject.shape, subject.marks
    answers = [Message(texts["assistant"])] if "assistant" in texts else []
    asked = shape.messages((UserMessage(texts.get("user", marks.user)), *answers), marks.system)
    if "system" not in texts:
        return asked
    first = [role_message("system", shape.user_text(texts["system"]))]
    return [*first, *(message for message in asked if message["role"] != "system")]
