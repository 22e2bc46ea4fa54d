from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import islice

from autoparser.analysis.core.text_alignment import TemplateLiteral, common_prefix
from autoparser.analysis.lint.conversation_matrix import Voice
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders, quote_text
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_system_messages
from autoparser.analysis.lint.subject import Subject

_SHOWN = 40
_ALIKE = 0.8
"""From here on a text is a header with a letter too few, too many or another."""


@rule("AP220")
def check(subject: Subject) -> Iterator[Hit]:
    """Hold what stands before the first text of a speaker against what stands before later ones."""
    answer = subject.scene("an answer")
    end = answer.written_texts[-1].after if answer and answer.written_texts else ""
    yield from islice(_questions(subject, end), 1)
    yield from _system_messages(subject, end)


def _questions(subject: Subject, end: str) -> Iterator[Hit]:
    """Compare the first question with the later one."""
    for chat in subject.matrix:
        if not chat.usual or chat.conversation.scene != "a second question":
            continue
        asked = chat.written_of(Voice.USER)
        if len(asked) != len([*chat.texts_of(Voice.USER)]):
            continue
        header = _header(subject, asked[-1].before, end)
        # What stands before answers, too, is no header of questions.
        if not header or any(header in each.before for each in chat.written_of(Voice.ANSWER)):
            continue
        begun = chat.render.text[: asked[0].start]
        ended = bool(end.strip()) and begun.rstrip().endswith(end.rstrip())
        missing = ended or (bool(end.strip()) and not _begins(begun, header))
        if missing or _misspelled(_plain(subject, begun), header):
            yield chat.hit(
                f"the first question stands under {quote_text(begun[-_SHOWN:])} in '{chat.name}',"
                f" and later ones under {quote_text(header)}",
                chat.render.line_of(asked[0].spoken.text),
            )


def _system_messages(subject: Subject, end: str) -> Iterator[Hit]:
    """Compare a system message as the first message with one in the middle."""
    renders = render_system_messages(subject)
    if renders is None:
        return
    first, later, one, other = renders
    header = _header(subject, other, end)
    if header and _misspelled(_plain(subject, one), header):
        yield Hit(
            f"the first system message stands under {quote_text(one[-_SHOWN:])}, and a later one"
            f" under {quote_text(header)}",
            (compare_renders(first, "as the first message", later, "in the middle"),),
            line=first.line_of(subject.marks.system),
        )


def _header(subject: Subject, before: str, end: str) -> str:
    """Return what stands between the end of an answer and the next text, if it has a marker."""
    header = before[len(common_prefix(end.rstrip(), before)) :]
    header = _plain(subject, header).strip()
    markers = TemplateLiteral.of(header).markers
    if not markers or len(header) > _SHOWN:
        return ""
    # Where nothing tells an end, the last marker alone is sure to begin a message.
    return header if end.strip() else header[header.rfind(markers[-1]) :]


def _plain(subject: Subject, text: str) -> str:
    """Return a text without special tokens, which begin and end messages of all speakers."""
    for token in subject.tokens.values():
        text = text.replace(token, "")
    return text


def _begins(text: str, header: str) -> bool:
    """Whether a marker of a header, or the words after its last one, are in a text."""
    markers = TemplateLiteral.of(header).markers
    words: Iterable[str] = filter(None, [header.rpartition(markers[-1])[2].strip()])
    return any(each in text for each in (*markers, *words))


def _misspelled(text: str, header: str) -> bool:
    """Whether a text ends in what is nearly a header, and no other speaker's."""
    last = text.rstrip()[-len(header) :]
    words = header.rpartition(TemplateLiteral.of(header).markers[-1])[2]
    alike = last.endswith(words) and last != header
    return alike and SequenceMatcher(None, last, header).ratio() >= _ALIKE
