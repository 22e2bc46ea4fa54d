"""Content reaches the prompt changed.

Escaped, in another case, or with its lines joined: the model reads another text than was said,
and code or names in it are wrong in the answer.

Before:

    {{ message.content | e }}

After:

    {{ message.content }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message, User
from autoparser.analysis.lint.chats import Chat, said
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.quoting import quoted
from autoparser.analysis.lint.rule import Rule
from autoparser.analysis.lint.subject import Subject

HOSTILE = " 3 > 2 < 4 & \"q\" 'p' \\n {r} [s] %} ÄÖ\n\n\n\t  "
"""What is changed by escaping, by a change of case, or by joining lines."""


def check(subject: Subject) -> Iterator[Hit]:
    """Give each role a content with such characters between two words."""
    marks = subject.marks
    for role, word in (
        ("system", marks.system),
        ("user", marks.user),
        ("assistant", marks.content),
    ):
        text = f"{word}{HOSTILE}{word}"
        one, other = (_chat(subject, role, each) for each in (text, word))
        render = subject.render(one, setting=subject.usual_setting)
        # Capitals may be what is changed.
        low = render.text.lower()
        start, end = low.find(word.lower()), low.rfind(word.lower())
        if text in render.text or not -1 < start < end:
            continue
        plain = subject.render(other, setting=subject.usual_setting)
        given, wrote = HOSTILE, render.text[start + len(word) : end]
        for at in (start, end):
            if wrote == given:
                given, wrote = word, render.text[at : at + len(word)]
        yield Hit(
            f"the content of {role} messages is changed: {quoted(given)} becomes {quoted(wrote)}",
            (compared(render, f"{role}: a text with signs", plain, f"{role}: a word"),),
            line=render.line_at(start),
        )


def _chat(subject: Subject, role: str, text: str) -> Chat:
    shape, marks = subject.shape, subject.marks
    match role:
        case "system":
            asked = shape.messages((subject.user,))
            return [said(role, shape.user_text(text)), *asked]
        case "user":
            return shape.messages((User(text),), marks.system)
        case _:
            return shape.messages((subject.user, Message(text)), marks.system)


RULE = Rule(
    "AP311",
    "content-altered",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.RENDERS,
    fix="write the content as it is",
    fixable=True,
)
