"""Markers of a pair that are not opened and closed equally often.

Between the questions of a chat, one marker closes what nothing opens:

    <|user|>What is the weather in Rio?<|end|><|assistant|></thought>Let me look.<|end|><|user|>…
    '</thought>' is rendered without '<thought>' in 'a second question'

A marker without its other half is not yet a fault, since it may be a separator. So the same marker
is searched for in other conversations, or in calls with other arguments, where it has both halves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice, pairwise

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.text_alignment import TemplateLiteral, is_unit
from autoparser.analysis.lint.call_texts import CallSpan, call_numbers, call_spans, render_call
from autoparser.analysis.lint.conversation_matrix import Voice
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import count_words, quote_text
from autoparser.analysis.lint.lint_renders import Render, show_render
from autoparser.analysis.lint.marker_pairs import (
    MarkerBalance,
    MarkerPair,
    empty_blocks,
    marker_balance,
    pair_halves,
    unpaired_at,
)
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_answer
from autoparser.analysis.lint.subject import Subject

_TAG = re.compile(r"<[\w:.\-]+([ =][^<>]*)?>")
_PairHit = tuple[MarkerPair | None, Hit]
"""A hit with its pair of markers, or None if it is about none."""


@dataclass(frozen=True, slots=True)
class _TurnMarkers:
    """The markers around the messages of every chat."""

    pairs: frozenset[MarkerPair]
    """The pairs of all these markers, e.g. that of ``<|turn_begin|>``."""
    open_ended: bool
    """Turns have a marker for their beginning and none for their end, e.g.
    ``<|user|>Hi<|bot|>Yes``."""
    open_tags: bool
    """Turns begin with tags, as in ``<user>Hi<bot>Yes``, and have no marker for their end."""


@rule("AP201")
def check(subject: Subject) -> Iterator[Hit]:
    """Count the markers between two user messages: each that opens there must close there."""
    seen: set[MarkerPair] = set()
    anywhere, of_turns = _opened_anywhere(subject), _in_plain_chats(subject)
    closing, end = _closed_by_prompts(subject), subject.tokens.get("eos_token", "")
    looked_at: set[str] = set()
    of_loops = False
    for name, render, text in _between_questions(subject):
        # Conversations that differ only outside this text show nothing new.
        if text in looked_at:
            continue
        looked_at.add(text)
        found = _balance(subject, text)
        for pair in found.opened | found.closed:
            opened, closed = found.opened[pair], found.closed[pair]
            # A marker that never opens after a user message begins the whole text.
            loose = opened != closed and bool(closed) and pair in anywhere
            if closed > opened and pair in closing:
                continue
            # Another token that ends turns may be spelled like the closing half.
            if end and pair in of_turns.pairs and opened - closed == text.count(end) > 0:
                continue
            # A tag that contains the value, ``<city="Oslo">``, needs no closing half.
            whole = any(value in found.spelled[pair] for value in subject.marks.values)
            never = not whole and _never_closes(found, pair, of_turns)
            if pair not in seen and (loose or never):
                seen.add(pair)
                of_loops |= any(value in text for value in subject.marks.values)
                yield _unbalanced_hit(
                    name, render, (text, found), pair, opening=anywhere.get(pair, "")
                )
    # Check calls and results separately, so that a fault of a reasoning block does not hide theirs.
    of_calls = chain(
        _in_calls(subject),
        _in_numbers(subject),
        _in_results(subject, of_turns),
        _never_opened(subject, of_turns),
        _empty_message(subject),
    )
    # If a call is part of a text at fault, its markers would be reported again.
    others = () if of_loops else of_calls if seen else chain(of_calls, _doubled_markers(subject))
    yield from islice((hit for pair, hit in others if pair not in seen), 1)


def _closed_by_prompts(subject: Subject) -> frozenset[MarkerPair]:
    """Return the markers that a generation prompt closes but does not open: they begin the turn."""
    lasts = {
        (text.before, text.after)
        for played in subject.matrix
        if played.render.rendered and played.conversation.generation
        for text in played.written_texts[-1:]
        if text.spoken.voice is Voice.USER
    }
    found: set[MarkerPair] = set()
    for before, prompt in lasts:
        # The question itself may end with the closing half of its header.
        header, written = _balance(subject, before), _balance(subject, prompt)
        found |= (written.closed - written.opened - header.opened).keys()
    return frozenset(found)


def _in_calls(subject: Subject) -> Iterator[_PairHit]:
    """Compare the markers of several calls with the markers of one: all must be closed."""
    usual: Mapping[MarkerPair, int] | None = None
    for played in subject.matrix:
        if not played.usual or any(played.texts_of(Voice.REASONING)):
            continue
        for span in call_spans(played):
            if span.following is not Voice.RESULT:
                continue
            found = _balance(subject, span.text)
            loose = {
                pair: found.opened[pair] - found.closed[pair]
                for pair in found.opened | found.closed
                # A marker without another half may separate calls.
                if found.opened[pair] and found.closed[pair]
            }
            if usual is None:
                usual = None if span.joints else loose
                continue
            several = loose.items() if span.joints else ()
            uneven = {pair for pair, extra in several if extra != usual.get(pair, extra)}
            for pair in found.opened:
                if pair in uneven or _one_an_argument(subject, found, pair, span):
                    yield (
                        pair,
                        _unbalanced_hit(played.name, played.render, (span.text, found), pair),
                    )
                    return


def _in_numbers(subject: Subject) -> Iterator[_PairHit]:
    """Compare the markers of a call with numbers and of a call with a word."""
    if subject.format.calls is None:
        return
    # Templates test the type of a value, and may close a marker in one branch only.
    keys = subject.marks.typed_keys
    words = {keys[JsonType.STRING]: subject.marks.values[0]}
    usual, render = render_call(subject, **words), render_call(subject, **call_numbers(subject))
    if not (usual.rendered and render.rendered):
        return
    one, two = (
        _balance(subject, render.text.partition(subject.marks.user)[2])
        for render in (usual, render)
    )
    for pair, count in one.opened.items():
        if count == one.closed[pair] and two.opened[pair] != two.closed[pair]:
            behind = render.text.partition(subject.marks.user)[2]
            yield pair, _unbalanced_hit("a call with two numbers", render, (behind, two), pair)
            return


def _one_an_argument(
    subject: Subject, balance: MarkerBalance, pair: MarkerPair, span: CallSpan
) -> bool:
    """Whether a tag that never closes comes once an argument, as one beside it that closes.

    In ``<call>f<as><key>a</key><value>1<key>b</key><value>2</call>`` that is ``<value>``; ``<as>``,
    which comes once a call, parts the name from the arguments.
    """
    count = len(span.texts)
    # Text after the arguments belongs to the result.
    before = _balance(subject, span.text[: span.texts[-1].start - span.start])
    return (
        count > len(span.joints) + 1
        and (before.opened[pair], balance.opened[pair], balance.closed[pair]) == (count, count, 0)
        and bool(_TAG.fullmatch(balance.spelled[pair]))
        and any(
            balance.opened[inner] == balance.closed[inner] == count
            and balance.within[inner] == balance.within[pair]
            for inner in balance.within
        )
    )


def _in_results(subject: Subject, of_turns: _TurnMarkers) -> Iterator[_PairHit]:
    """Compare the markers around two results with those around one."""
    balances = [
        (played, text := _without_prompt(subject, played.render.text), _balance(subject, text))
        for played in subject.matrix
        if played.usual and played.conversation.scene in (ONE_RESULT, *TWO_RESULTS)
    ]
    for single, _, usual in balances:
        for other, text, found in balances:
            if single.conversation.scene != ONE_RESULT or other is single:
                continue
            if other.beside != single.beside:
                continue
            for pair in found.opened.keys() - of_turns.pairs:
                opened, closed = found.opened[pair], found.closed[pair]
                if closed and opened - closed != usual.opened[pair] - usual.closed[pair]:
                    beside = (single.name, usual)
                    yield (
                        pair,
                        _unbalanced_hit(
                            other.name, other.render, (text, found), pair, beside=beside
                        ),
                    )
                    return


def _never_opened(subject: Subject, of_turns: _TurnMarkers) -> Iterator[_PairHit]:
    """Search tool loops for a closing marker that no conversation opens."""
    whole = [
        (played, _balance(subject, played.render.text))
        for played in subject.matrix
        if played.render.rendered and not played.conversation.other_form
    ]
    # `<result>` and `<result_end>` are a pair, too.
    opened = {_letters(pair) for _, found in whole for pair in found.opened}
    opened |= {_letters(pair) for pair in of_turns.pairs}
    for played, found in whole:
        if any(played.texts_of(Voice.REASONING)) or not any(played.texts_of(Voice.RESULT)):
            continue
        closed = found.closed if played.usual else ()
        for pair in (other for other in closed if _letters(other) not in opened):
            yield (
                pair,
                played.hit(
                    f"{quote_text(found.spelled[pair])} is closed but never opened in"
                    f" '{played.name}'",
                    played.render.line_of(found.spelled[pair]),
                ),
            )
            return


def _letters(pair: MarkerPair) -> str:
    return "".join(filter(str.isalnum, "".join(pair.name))).lower()


def _empty_message(subject: Subject) -> Iterator[_PairHit]:
    """Search before each text for its own header with an end behind it, and nothing said.

    The same for what should be around the text, such as ``<result></result>`` before a result.
    """
    yield from _empty_block(subject)
    for end in subject.format.stop_strings:
        for played in subject.matrix:
            for text in played.written_texts if played.usual and end.strip() else ():
                before, found, last = text.before.rpartition(end)
                header = last.strip()
                if found and len(header) > 1 and before.rstrip().endswith(header):
                    yield (
                        None,
                        played.hit(
                            f"an empty message, {quote_text(header)} and its end, precedes"
                            f" {text.spoken.voice} in '{played.name}'",
                            played.render.line_at(text.start - len(last) - len(end)),
                        ),
                    )
                    return


def _empty_block(subject: Subject) -> Iterator[_PairHit]:
    for played in subject.matrix:
        # An empty block of reasoning may precede an answer.
        for text in played.written_by(Voice.RESULT, Voice.USER) if played.usual else ():
            before = text.before.rstrip()
            block = next(filter(before.endswith, empty_blocks(before)), "")
            if block:
                words = f"{quote_text(block)} is empty, and {text.spoken.voice} follows it"
                line = played.render.line_at(text.start - 1)
                yield None, played.hit(f"{words} in '{played.name}'", line)
                return


ONE_RESULT = "a call and its result"
TWO_RESULTS = ("two calls one after the other", "two calls in one message and their results")


def _doubled_markers(subject: Subject) -> Iterator[_PairHit]:
    """Search before each result for a marker that is written twice in a row."""
    for played in subject.matrix:
        for text in played.written_by(Voice.RESULT) if played.usual else ():
            units = TemplateLiteral.of(text.before).units
            for size in range(1, len(units) // 2 + 1):
                last = units[-size:]
                if last == units[-2 * size : -size] and is_unit(last[0]):
                    yield (
                        None,
                        played.hit(
                            f"{quote_text(''.join(last))} is rendered twice in a row before"
                            f" {text.spoken.voice} in '{played.name}'",
                            played.render.line_at(text.start - 1),
                        ),
                    )
                    return


def _between_questions(subject: Subject) -> Iterator[tuple[str, Render, str]]:
    """Yield the text from each user message to the next, of every conversation."""
    for played in subject.matrix:
        if not played.render.rendered or played.conversation.other_form:
            continue
        # Nothing opens between two questions in a row; AP216 reports a question without an end.
        texts = played.written_texts
        said = [at for at, text in enumerate(texts) if text.spoken.voice is Voice.USER]
        for one, other in pairwise(said):
            if other > one + 1:
                text = played.render.text[texts[one].start : texts[other].start]
                yield played.name, played.render, text
    yield from _reasoned_loop(subject)


def _reasoned_loop(subject: Subject) -> Iterator[tuple[str, Render, str]]:
    """Return a tool loop with reasoning, which the matrix lacks without a question after it."""
    if subject.format.calls is None:
        return
    marks, call = subject.marks, subject.call()
    said = Message(marks.content, marks.reasoning, (call,))
    answered = (subject.answer(call), Message(marks.content), subject.next_user)
    render = subject.play((subject.user, said, *answered))
    start, end = render.text.rfind(marks.user), render.text.rfind(marks.next_user)
    if 0 <= start < end:
        yield "a tool loop with reasoning", render, render.text[start:end]


def _never_closes(balance: MarkerBalance, pair: MarkerPair, of_turns: _TurnMarkers) -> bool:
    """Whether a marker that belongs to calls, results or reasoning has nothing that closes it.

    What stands in every chat begins or ends turns, and closes by the next one. What a pair holds
    may be a separator, as in ``<call_begin>name<arguments_begin>{}<call_end>``; a tag that names
    something, ``<call name="f">``, is none.
    """
    if balance.closed[pair] or pair in of_turns.pairs or not balance.opened[pair]:
        return False
    spelled = balance.spelled[pair]
    if balance.within[pair] - of_turns.pairs:
        return bool(_TAG.fullmatch(spelled)) and any(char in spelled for char in "= ")
    begins = len(pair.name) > 1 and not of_turns.open_ended
    return begins or (not of_turns.open_tags and bool(_TAG.fullmatch(spelled)))


def _in_plain_chats(subject: Subject) -> _TurnMarkers:
    """Return the markers that questions, answers and system messages have."""
    chats = [
        played
        for played in subject.matrix
        if not any(played.texts_of(Voice.CALL, Voice.REASONING)) and not played.conversation.tools
    ]
    # A generation prompt may open reasoning, which not every chat contains.
    ends = [chat.written_texts[-1:] for chat in chats]
    texts = [chat.render.text[: end[0].start] for chat, end in zip(chats, ends, strict=True) if end]
    first = subject.matrix[0].conversation.spoken[0].text
    whole = [_balance(subject, text) for text in dict.fromkeys(texts)]
    histories = dict.fromkeys(text.partition(first)[2] for text in texts)
    chat_balances = [_balance(subject, text) for text in histories]
    unclosed = {
        pair: found.spelled[pair]
        for found in chat_balances
        for pair in found.opened
        if not found.closed[pair]
    }
    closed = {pair for found in chat_balances for pair in found.closed}
    return _TurnMarkers(
        frozenset(pair for found in whole for pair in found.opened | found.closed),
        any(len(pair.name) > 1 for pair in unclosed),
        any(_TAG.fullmatch(unclosed[pair]) for pair in unclosed.keys() - closed),
    )


def _opened_anywhere(subject: Subject) -> dict[MarkerPair, str]:
    """Return the opening markers after the user's message, in prompts and in turns."""
    renders: list[Render] = [
        subject.play((subject.user,), generation=True),
        render_answer(subject, reasoning=subject.marks.reasoning),
    ]
    spelled: dict[MarkerPair, str] = {}
    for render in renders:
        _, _, behind = render.text.rpartition(subject.marks.user)
        balance = _balance(subject, behind)
        spelled |= {pair: balance.spelled[pair] for pair in balance.opened}
    return spelled


def _unbalanced_hit(
    name: str,
    render: Render,
    counted: tuple[str, MarkerBalance],
    pair: MarkerPair,
    *,
    opening: str = "",
    beside: tuple[str, MarkerBalance] | None = None,
) -> Hit:
    """Return a finding about a piece of a render, at the marker that has no other half.

    `opening` is the pair's opening marker where others have it, `beside` another conversation.
    """
    text, balance = counted
    opened, closed = balance.opened[pair], balance.closed[pair]
    spelled = quote_text(balance.spelled[pair])
    halves = " and ".join(map(quote_text, pair_halves(text, pair)))
    if not opened and opening:
        words = f"{spelled} is rendered without {quote_text(opening)} in '{name}'"
    elif not closed:
        words = f"{spelled} is never closed in '{name}'"
    else:
        words = f"the pair of {halves} {_count_balance(balance, pair)} in '{name}'"
        if beside is not None:
            other, usual = beside
            words += f", but {_count_balance(usual, pair)} in '{other}'"
    at = max(0, render.text.find(text)) + unpaired_at(text, pair)
    return Hit(words, (show_render(render, name),), line=render.line_at(at))


def _count_balance(balance: MarkerBalance, pair: MarkerPair) -> str:
    opened, closed = count_words(balance.opened[pair]), count_words(balance.closed[pair])
    return f"is opened {opened} and closed {closed}"


def _without_prompt(subject: Subject, text: str) -> str:
    """Return a render without its generation prompt."""
    # The opening of one setting may be the end of another's, so the longest one is the prompt.
    openings = (opening.text for opening in subject.format.openings if opening.text)
    return text.removesuffix(max(filter(text.endswith, openings), key=len, default=""))


def _balance(subject: Subject, text: str) -> MarkerBalance:
    return marker_balance(text, frozenset(subject.tokens.values()))
