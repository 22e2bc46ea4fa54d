"""Messages without the marker that ends all others.

The end of a tool loop, and the finding:

    …<|end|><|tool|>It has 22 degrees.<|assistant|>Bring a light coat.<|end|>
    a tool's result has no end marker '<|end|>', unlike all other messages, in 'a call, its result
    and the answer'

There is no list of end markers: an end is the marker after the texts of all other speakers, after
the last answer, or after the other messages of the same speaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise, product

from autoparser.analysis.core.text_alignment import TemplateLiteral, prefix_length
from autoparser.analysis.lint.conversation_matrix import PlayedConversation, Voice, WrittenText
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import show_render
from autoparser.analysis.lint.marker_pairs import closes_marker, marker_balance
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

VOICES = (Voice.SYSTEM, Voice.USER, Voice.ANSWER, Voice.RESULT)


@rule("AP216", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Search each speaker's texts for the marker that ends messages, and count it."""
    played = [
        played
        for played in subject.matrix
        if played.render.rendered and played.usual and not any(played.texts_of(Voice.REASONING))
    ]
    header = _markers(subject.format.header)
    yield from _ended_at_times(played)
    yield from _missing_ends(played, header)
    yield from _unended_tools(played)
    yield from _repeated_headers(played)
    yield from _unequal_counts(played)


def _ended_at_times(played_chats: Sequence[PlayedConversation]) -> Iterator[Hit]:
    """Search a long chat for a message that lacks the end of its speaker's other messages."""
    longest = max(played_chats, key=lambda chat: len(chat.conversation.dialogue), default=None)
    if longest is None:
        return
    texts = longest.written_by(Voice.USER, Voice.ANSWER)
    if len(texts) < _LONG:
        return
    # The generation prompt follows the last question.
    sides = [[text for text in texts[:-1] if text.spoken.voice is voice] for voice in _CHAT]
    # Ends may be missing from a message on or up to one, so the first two and the last two messages
    # are compared, each pair by itself.
    ends = {_stop(played_chats)} | (_markers(texts[0].after) & _markers(texts[1].after))
    ends |= _markers(texts[-2].after) & _markers(texts[-3].after)
    for side, end in product(sides, sorted(filter(None, ends))):
        ended = [end in text.after for text in side]
        if any(ended) and not all(ended):
            text = side[ended.index(False)]
            where = f"in message {text.spoken.entry + 1}"
            if sorted(ended, reverse=True) == ended:
                where = f"from message {text.spoken.entry + 1} on"
            yield longest.hit(
                f"{text.spoken.voice} has no end marker {quote_text(end)}, unlike others,"
                f" {where} in '{longest.name}'",
                longest.render.line_of(text.spoken.text),
            )


_CHAT = (Voice.USER, Voice.ANSWER)


def _stop(played_chats: Sequence[PlayedConversation]) -> str:
    """Return the last marker after an answer, or all text there; empty if none follows."""
    answers = (chat for chat in played_chats if chat.conversation.scene == "an answer")
    after = next((answer.written_texts[-1].after for answer in answers if answer.written_texts), "")
    return next(reversed(TemplateLiteral.of(after).markers), after.strip())


_LONG = 6
"""The number of questions and answers from which a chat is long."""


def _missing_ends(
    played_chats: Sequence[PlayedConversation], header: frozenset[str]
) -> Iterator[Hit]:
    """Report a speaker whose messages lack the marker after all others."""
    after: dict[Voice, frozenset[str]] = {}
    # Before each result: the end of the calling message, unless results are part of that message.
    before: list[frozenset[str]] = []
    for chat in played_chats:
        for text, following in pairwise(chat.written_texts):
            voice = text.spoken.voice
            if voice in VOICES and following.spoken.voice is not voice:
                ends = _markers(text.after)
                after[voice] = after.get(voice, ends) & ends
                if voice is Voice.RESULT:
                    before.append(_markers(text.before))
    if set(after) != set(VOICES):
        return
    # If only questions may follow, their header is after all messages but theirs.
    opened = [chat.written_texts[0] for chat in played_chats if chat.written_texts]
    headers = {
        unit
        for text in opened
        if text.spoken.voice is Voice.USER
        for unit in TemplateLiteral.of(text.before).markers[-1:]
    }
    for voice in (Voice.USER, Voice.RESULT):
        ends = _common(after[other] for other in VOICES if other is not voice) - headers
        for end in sorted(ends - after[voice]):
            # Without an end before them, results are parts of the calling message.
            if voice is Voice.RESULT and not all(end in joint for joint in before):
                continue
            yield _unended_hit(played_chats, voice, end)
    yield from _unended_calls(played_chats, _common(after.values()), header)


def _unended_tools(played_chats: Sequence[PlayedConversation]) -> Iterator[Hit]:
    """Search a system message with tools for the marker that ends answers and one without tools."""
    stop = _stop(played_chats)
    led = [
        chat
        for chat in played_chats
        if chat.conversation.scene == "a question" and chat.conversation.system
    ]
    plain, offered = (
        next((played for played in led if played.conversation.tools is tools), None)
        for tools in (False, True)
    )
    if not stop or plain is None or offered is None:
        return
    one, other = (
        played.render.text.partition(played.conversation.spoken[-1].text)[0]
        for played in (plain, offered)
    )
    if stop in one and stop not in other and plain.conversation.system in other:
        yield Hit(
            f"a system message has no end marker {quote_text(stop)} in '{offered.name}',"
            " but has one without tools",
            offered.against(plain),
            offered.render.line_of(offered.conversation.spoken[-1].text),
        )


def _unended_hit(played_chats: Sequence[PlayedConversation], voice: Voice, end: str) -> Hit:
    """Return a hit for a message without an end, compared with one that has it if possible."""
    sides: dict[bool, tuple[PlayedConversation, WrittenText]] = {}
    for chat in played_chats:
        for text, following in pairwise(chat.written_texts):
            if text.spoken.voice is voice and following.spoken.voice is not voice:
                sides.setdefault(end in text.after, (chat, text))
    shown, text = sides[False]
    other = sides[True][0] if True in sides else None
    words = f"; it has one in '{other.name}'" if other else ""
    return Hit(
        f"{voice} has no end marker {quote_text(end)}, unlike all other messages, in"
        f" '{shown.name}'{words}",
        shown.against(other) if other else (show_render(shown.render, shown.name),),
        shown.render.line_of(text.spoken.text),
    )


def _unended_calls(
    played_chats: Sequence[PlayedConversation], usual: frozenset[str], header: frozenset[str]
) -> Iterator[Hit]:
    """Search for the end of a calling message before its result, if results are messages."""
    shown, joint = next(_after_calls(played_chats, Voice.RESULT), (None, ""))
    if shown is None:
        return
    # Markers that are also between two calls close each of them.
    own = {unit for _, text in _after_calls(played_chats, Voice.CALL) for unit in _markers(text)}
    units = TemplateLiteral.of(joint).markers
    begins = next((at for at, unit in enumerate(units) if unit in usual), None)
    others = [unit for unit in units[:begins] if unit not in own and not closes_marker(unit)]
    missing = usual - header - set(units)
    if others:
        # A calling message may end in another marker, but not if it begins with the other half of
        # the usual one's pair.
        missing = frozenset(marker for marker in missing if _closes_one_of(marker, usual))
    for end in sorted(missing) if begins is not None else ():
        yield shown.hit(
            f"a message with calls has no end marker {quote_text(end)}, unlike all other"
            f" messages{f': it ends with {quote_text(others[0])}' if others else ''}",
            shown.render.line_at(shown.render.text.index(joint)),
        )


def _repeated_headers(played_chats: Sequence[PlayedConversation]) -> Iterator[Hit]:
    """Search between two results for their header and for the stop of answers after it."""
    stop = _stop(played_chats)
    for _, several in _result_scenes(played_chats) if stop else ():
        for played in several:
            results = played.written_by(Voice.RESULT)
            if len(results) != 2 or not results[0].after == results[1].before != "":  # noqa: PLR2004 - two calls
                continue
            first, last = results
            header = first.before.rpartition(stop)[2].strip()
            answer = last.after.partition(stop)[2].strip()
            closer, again, _ = first.after.rpartition(header or first.after)
            shared = header[: prefix_length(header, answer)]
            begins = next(iter(TemplateLiteral.of(header).markers), "")
            opened = marker_balance(begins if header.startswith(begins) else "").opened
            if (
                header
                and again
                and stop in first.before
                and stop in last.after
                and stop not in first.after
                and len(re.sub(r"[\w\s]", "", shared)) >= _SHARED
                and not opened.keys() & marker_balance(closer).closed.keys()
            ):
                yield played.hit(
                    f"the header {quote_text(header)} is repeated for each result in"
                    f" '{played.name}', but only the last ends with {quote_text(stop)}",
                    played.render.line_at(last.start - 1),
                )


_SHARED = 2
"""The length from which a shared part of header brackets is significant."""


def _closes_one_of(marker: str, others: Iterable[str]) -> bool:
    balance = marker_balance(marker)
    opened = marker_balance("".join(others)).opened
    return any(pair in opened for pair in balance.closed)


def _after_calls(
    played_chats: Sequence[PlayedConversation], next_voice: Voice
) -> Iterator[tuple[PlayedConversation, str]]:
    """Return the text between a call and a later text of this speaker."""
    for chat in played_chats:
        for text, following in pairwise(chat.written_texts):
            one, other = text.spoken, following.spoken
            within = one.call is other.call and other.voice is Voice.CALL
            if one.voice is Voice.CALL and other.voice is next_voice and not within:
                yield chat, text.after


@lru_cache(maxsize=128)
def _markers(text: str) -> frozenset[str]:
    return frozenset(TemplateLiteral.of(text).markers)


def _common(markers: Iterable[frozenset[str]]) -> frozenset[str]:
    first, *others = markers
    return first.intersection(*others)


def _unequal_counts(played_chats: Sequence[PlayedConversation]) -> Iterator[Hit]:
    """Report a conversation that begins more or fewer messages than it ends, unlike a chat."""
    # Calling messages have ends of their own.
    chats = [
        played_chat for played_chat in played_chats if not any(played_chat.texts_of(Voice.CALL))
    ]
    prompts = [chat for chat in chats if chat.conversation.generation]
    chat = next(
        (prompt for prompt in prompts if prompt.conversation.scene == "a second question"), None
    )
    for begin, end in () if chat is None else _turn_markers(chat):
        for usual, others in ((chat, prompts), *_result_scenes(played_chats)):
            for candidate in others if usual else ():
                if usual and _surplus(candidate, begin, end) != _surplus(usual, begin, end):
                    even = _begun_messages(candidate, begin) == candidate.render.text.count(end)
                    shown, other = (usual, candidate) if even else (candidate, usual)
                    yield Hit(
                        f"in '{shown.name}', {_begun_messages(shown, begin)} messages start with"
                        f" {quote_text(begin)} and {shown.render.text.count(end)} end with"
                        f" {quote_text(end)}",
                        shown.against(other),
                        line=shown.render.line_of(begin),
                    )
        unended = chat and _unended_before(chat.render.text, begin, end)
        if chat and unended:
            yield chat.hit(
                f"a message that starts with {quote_text(begin)} has no end marker"
                f" {quote_text(end)} before the next in '{chat.name}'",
                chat.render.line_at(unended),
            )


def _begun_messages(played_chat: PlayedConversation, begin: str) -> int:
    """Return the number of messages that a conversation begins, without the generation prompt."""
    return played_chat.render.text.count(begin) - played_chat.conversation.generation


def _surplus(played_chat: PlayedConversation, begin: str, end: str) -> int:
    """Return the number of begun but unended messages of a conversation, after its last call.

    Each call may be a message with another end.
    """
    calls = played_chat.written_by(Voice.CALL)
    behind = played_chat.render.text[calls[-1].start if calls else 0 :]
    return behind.count(begin) - behind.count(end)


def _result_scenes(
    played_chats: Sequence[PlayedConversation],
) -> Iterator[tuple[PlayedConversation, Sequence[PlayedConversation]]]:
    """Return a conversation of one result, and those alike that have two from one message."""
    one, two = (
        [chat for chat in played_chats if chat.conversation.scene == scene]
        for scene in ("a call and its result", "two calls in one message and their results")
    )
    for played in one:
        yield played, [other for other in two if other.beside == played.beside]


def _unended_before(text: str, begin: str, end: str) -> int:
    """Return the offset at which a message begins before the previous one ended; 0 if none does."""
    at = text.find(begin)
    while (following := text.find(begin, at + len(begin))) >= 0:
        if end not in text[at:following]:
            return following
        at = following
    return 0


def _turn_markers(chat: PlayedConversation) -> Iterator[tuple[str, str]]:
    """Return the markers before each message of a chat, with those after each."""
    texts = chat.written_texts
    if len(texts) != 3:  # noqa: PLR2004 - a question, its answer, another question
        return
    question, answer, other = texts
    ends = _markers(question.after) & _markers(answer.after)
    begins = _common(_markers(text.before) for text in texts)
    # In ``</a><b>`` both are between two texts; the one that follows the last text, too, is the
    # end.
    for begin in sorted(begins & _markers(other.after)):
        for end in sorted(ends - {begin}):
            joint = question.after
            once = joint.count(begin) == joint.count(end) == answer.after.count(end) == 1
            if once and joint.find(end) < joint.find(begin):
                yield begin, end
