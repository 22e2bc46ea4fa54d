"""A marker is closed that was not opened, or opened and not closed.

Models learn pairs as pairs. A closing marker without its opening one, or a turn that is never
closed before the next, makes a history that looks like nothing the model wrote, and parsers that
look for the pair read past its end.

Before:

    {{ '<|assistant|>' + message.content + '</thought>' }}

After:

    {{ '<|assistant|><thought></thought>' + message.content }}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from autoparser.analysis.core.conversation import Dialogue, Message
from autoparser.analysis.lint.chats import told
from autoparser.analysis.lint.hit import Confidence, Hit, Severity
from autoparser.analysis.lint.paired_markers import Balance, Pair, balance
from autoparser.analysis.lint.quoting import quoted
from autoparser.analysis.lint.renders import Render, alone
from autoparser.analysis.lint.rule import Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Count the markers between two user messages; what opens there must close there."""
    marks = subject.marks
    seen: set[Pair] = set()
    opens = _opens_anywhere(subject)
    for words, dialogue in _dialogues(subject):
        render = subject.play(dialogue)
        start, end = render.text.rfind(marks.user), render.text.rfind(marks.next_user)
        if start < 0 or end < start:
            continue
        found = _balance(subject, render.text[start:end])
        for pair in found.opened | found.closed:
            opened, closed = found.opened[pair], found.closed[pair]
            # What never opens after a user message begins the whole text.
            if opened != closed and pair not in seen and opens[pair] and _closes(found, pair):
                seen.add(pair)
                yield Hit(
                    f"{words} opens {opened} and closes {closed} of the pair of"
                    f" {quoted(found.spelled[pair])}",
                    (alone(render, words),),
                    line=render.line_of(found.spelled[pair]),
                )


def _closes(found: Balance, pair: Pair) -> bool:
    return bool(found.closed[pair])


def _dialogues(subject: Subject) -> Iterator[tuple[str, Dialogue]]:
    marks, user, later = subject.marks, subject.user, subject.next_user
    yield "an answer", (user, Message(marks.content), later)
    yield "an answer with reasoning", (user, Message(marks.content, marks.reasoning), later)
    if subject.format.calls is not None:
        call = subject.call()
        told_and_called = Message(marks.content, marks.reasoning, (call,))
        answer, last = subject.answer(call), Message(marks.content)
        yield "a tool loop", (user, told_and_called, answer, last, later)


def _opens_anywhere(subject: Subject) -> Counter[Pair]:
    """Count the opening markers after the user's message, in prompts and in turns."""
    renders: list[Render] = [
        subject.play((subject.user,), generation=True),
        told(subject, reasoning=subject.marks.reasoning),
    ]
    opened: Counter[Pair] = Counter()
    for render in renders:
        _, _, behind = render.text.rpartition(subject.marks.user)
        opened += _balance(subject, behind).opened
    return opened


def _balance(subject: Subject, text: str) -> Balance:
    return balance(text, frozenset(subject.tokens.values()))


RULE = Rule(
    "AP201",
    "unbalanced-marker",
    __doc__,
    Severity.WARNING,
    check,
    confidence=Confidence.MEDIUM,
    fix="write both markers of a pair, or none",
)
