"""First messages whose header differs from later headers of the role.

A render with the finding that it gives:

    <user|>What is the weather in Rio?<|end|><|assistant|>Let me look.<|end|><|user|>And tomorrow…
    the first user message has the header '<user|>' in 'a second question', later ones '<|user|>'

A header is the text between the end of an answer and the next message, so it is known only of
messages after an answer. The first system message is compared with a system message in the middle,
or with the brackets that the headers of other speakers share.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import chain, islice, product

from autoparser.analysis.core.text_alignment import (
    TemplateLiteral,
    common_prefix,
    prefix_length,
    suffix_length,
)
from autoparser.analysis.lint.conversation_matrix import PlayedConversation, Voice, WrittenText
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.marker_pairs import closes_marker
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_system_messages
from autoparser.analysis.lint.subject import Subject

_SHOWN = 40
"""The number of quoted characters of a header, and its maximum length."""
_ALIKE = 0.8
"""The similarity from which a text counts as a misspelled header."""


@rule("AP220")
def check(subject: Subject) -> Iterator[Hit]:
    """Compare the text before a speaker's first text with the text before later ones."""
    answer = subject.scene("an answer")
    end = answer.written_texts[-1].after if answer and answer.written_texts else ""
    yield from islice(_questions(subject, end), 1)
    yield from islice(chain(_system_messages(subject, end), _broken_frame(subject, end)), 1)
    yield from islice(_without_header(subject), 1)


def _questions(subject: Subject, end: str) -> Iterator[Hit]:
    """Compare the headers of the first and a later question."""
    for chat in subject.matrix:
        if not chat.usual or chat.conversation.scene != "a second question":
            continue
        asked = chat.written_by(Voice.USER)
        if len(asked) != len([*chat.texts_of(Voice.USER)]):
            continue
        header = _header(subject, asked[-1].before, end)
        # Text that also precedes answers is not a header of questions.
        if not header or any(header in answer.before for answer in chat.written_by(Voice.ANSWER)):
            continue
        begun = chat.render.text[: asked[0].start]
        ended = bool(end.strip()) and begun.rstrip().endswith(end.rstrip())
        marked = bool(TemplateLiteral.of(header).markers)
        known = bool(end.strip()) or _beside_system(subject, header)
        missing = marked and (ended or (known and not _begins(begun, header)))
        if missing or _ends_misspelled(_without_special_tokens(subject, begun), header):
            first = "the first user message has the"
            if begun and begun in _system_openings(subject):
                first = "the first user message is rendered as a system message, with the"
            yield chat.hit(
                f"{first} header {quote_text(begun[-_SHOWN:])} in"
                f" '{chat.name}', later ones {quote_text(header)}",
                chat.render.line_of(asked[0].spoken.text),
            )


def _system_openings(subject: Subject) -> frozenset[str]:
    """Return the texts before first system messages."""
    return frozenset(
        text.before
        for played in subject.matrix
        if played.usual
        for text in played.written_texts[:1]
        if text.spoken.voice is Voice.SYSTEM
    )


def _without_header(subject: Subject) -> Iterator[Hit]:
    """Search after the end of a message for an answer or a question without a header."""
    for end, voice in product(subject.format.stop_strings, (Voice.USER, Voice.ANSWER)):
        found: dict[bool, tuple[PlayedConversation, WrittenText]] = {}
        for played in subject.matrix:
            for text in played.written_by(voice) if played.usual and end.strip() else ():
                _, ended, header = text.before.rpartition(end)
                if ended:
                    found.setdefault(bool(header.strip()), (played, text))
        if len(found) > 1:
            (bare, text), (headed, _) = found[False], found[True]
            yield Hit(
                f"{voice} has no header after {quote_text(end)} in '{bare.name}', but has one"
                f" in '{headed.name}'",
                bare.against(headed),
                line=bare.render.line_at(text.start - 1),
            )


def _beside_system(subject: Subject, header: str) -> bool:
    """Return whether the first question has this header after a system message."""
    return not closes_marker(header) and any(
        played.written_by(Voice.USER)[:1] and header in played.written_by(Voice.USER)[0].before
        for played in subject.matrix
        if played.beside == (True, False) and played.conversation.scene == "a question"
    )


def _broken_frame(subject: Subject, end: str) -> Iterator[Hit]:
    """Search before the first system message for a misspelled frame of other headers.

    The frame of ``<|user|>`` and ``<|bot|>`` is ``<|`` and ``|>``; in ``<system|>`` a part is
    missing.
    """
    for chat in subject.matrix:
        if chat.beside != (True, False) or chat.conversation.scene != "a second question":
            continue
        texts = chat.written_texts
        if not chat.usual or len(texts) < _TEXTS:
            return
        begun = texts[0].before
        heads = [
            # Text on another line, such as an empty block of reasoning, is not part of the header.
            text.before[len(common_prefix(end.rstrip(), text.before)) :].strip().partition("\n")[0]
            for text in texts[-2:]
        ]
        # Exclude letters that both names share.
        frame = (
            re.sub(r"\w+$", "", heads[0][: prefix_length(*heads)]),
            re.sub(r"^\w+", "", heads[0][len(heads[0]) - suffix_length(*heads) :]),
        )
        flawed = _flawed_frame(frame)
        usual = rf"{re.escape(frame[0])}\w+{re.escape(frame[1])}"
        wrong = flawed.search(begun) if flawed and not re.search(usual, begun) else None
        if wrong is not None:
            yield chat.hit(
                f"the first system message has the header {quote_text(wrong.group())}; headers"
                f" of other roles are like {quote_text(heads[0])}",
                chat.render.line_of(wrong.group()),
            )
        return


def _flawed_frame(frame: tuple[str, str]) -> re.Pattern[str] | None:
    """Return a pattern for a frame with one missing or wrong character, or None if too short.

    The pattern for ``<|`` and ``|>`` matches ``<user|>`` and ``<|user>``.
    """
    left, right = frame
    if len(left + right) < _FRAME:
        return None
    wrong = [rf"{side}\w+{re.escape(right)}" for side in _flawed_sides(left)]
    wrong += [rf"{re.escape(left)}\w+{side}" for side in _flawed_sides(right)]
    if not wrong:
        return None
    return re.compile("|".join(wrong))


def _flawed_sides(text: str) -> Iterator[str]:
    """Yield patterns for a text with one missing or wrong character."""
    for at in range(len(text) if len(text) >= _SIDE else 0):
        yield rf"{re.escape(text[:at])}[^\w\s]?{re.escape(text[at + 1 :])}"


_TEXTS = 4
"""A system message, a question, its answer and the second question."""
_FRAME = 4
_SIDE = 2
"""The minimum length of a frame, and of a side: shorter ones surround words by chance."""
_COUNT = re.compile(r"\d+")


def _system_messages(subject: Subject, end: str) -> Iterator[Hit]:
    """Compare a system message as the first message with one in the middle."""
    renders = render_system_messages(subject)
    if renders is None:
        return
    first, later, one, other = renders
    header = _header(subject, other, end)
    if header and _ends_misspelled(_without_special_tokens(subject, one), header):
        yield Hit(
            f"the first system message has the header {quote_text(one[-_SHOWN:])}, a later"
            f" one {quote_text(header)}",
            (compare_renders(first, "as the first message", later, "in the middle"),),
            line=first.line_of(subject.marks.system),
        )


def _header(subject: Subject, before: str, end: str) -> str:
    """Return the text between the end of an answer and the next text, if it contains a marker."""
    header = before[len(common_prefix(end.rstrip(), before)) :]
    header = _without_special_tokens(subject, header).strip()
    markers = TemplateLiteral.of(header).markers
    if len(header) > _SHOWN:
        return ""
    if not markers:
        # Words alone count as a header if a marker separates them from the answer.
        return header if end.strip() and len(header) >= _FRAME else ""
    # Without a known end, only the last marker surely begins a message.
    return header if end.strip() else header[header.rfind(markers[-1]) :]


def _without_special_tokens(subject: Subject, text: str) -> str:
    """Return a text without special tokens, which begin and end messages of all speakers."""
    for token in subject.tokens.values():
        text = text.replace(token, "")
    return text


def _begins(text: str, header: str) -> bool:
    """Return whether a text contains a header's marker, or the words after its last one."""
    markers = TemplateLiteral.of(header).markers
    words: Iterable[str] = filter(None, [header.rpartition(markers[-1])[2].strip()])
    return any(marker in text for marker in (*markers, *words))


def _ends_misspelled(text: str, header: str) -> bool:
    """Return whether a text ends in a misspelling of a header that no other speaker has."""
    last = text.rstrip()[-len(header) :]
    markers = TemplateLiteral.of(header).markers
    words = header.rpartition(markers[-1])[2] if markers else header[-1]
    # A header may count the messages.
    alike = last.endswith(words) and _COUNT.sub("", last) != _COUNT.sub("", header)
    return alike and SequenceMatcher(None, last, header).ratio() >= _ALIKE
