"""What is wrong with a render of a conversation, counted by what it is about.

Contract: the renders of one template judge. A text that is said must be read as often as it is said
and with the whitespace at its edges; what was written at an earlier point of the conversation must
stand there still; a generation prompt must begin the turn that follows, and must be there where it
is asked for and only there; and what says the same in other words must be written alike. An earlier
turn that is written as it was but for its reasoning is a fault of its own kind: most templates
leave that out, and their models are trained on it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.lint.conversation_matrix import Voice
from autoparser.analysis.lint.rule import FaultKind, MendedFault

from .proof_conversations import ProofConversation


class RenderFault(MendedFault, frozen=True):
    """What is wrong, with whose words, and the text or the place that it is about."""

    place: str = ""


RenderedBy: TypeAlias = Callable[[ProofConversation], str | None]
"""Renders a conversation, or None if the template refuses it."""


def faults_of(
    each: ProofConversation, text: str | None, rendered: RenderedBy
) -> dict[RenderFault, int]:
    """Count what is wrong with the text of a conversation."""
    if text is None:
        return {RenderFault(FaultKind.REFUSED): 1}
    found = Counter(dict(_texts(each, text, rendered)))
    found.update(dict(_tools(each, text)))
    found.update(dict(_calls(each, text, rendered)))
    if each.closer:
        found[RenderFault(FaultKind.UNCLOSED)] = _unclosed(each, text, rendered)
    found.update(dict(_history(each, text, rendered)))
    if each.plainly is not None:
        found[RenderFault(FaultKind.OTHERWISE, each.words)] = text != rendered(each.plainly)
    return {fault: count for fault, count in found.items() if count}


def _texts(
    each: ProofConversation, text: str, rendered: RenderedBy
) -> Iterator[tuple[RenderFault, int]]:
    said = Counter(words for _, words in each.texts if words.strip())
    voices = {words: voice for voice, words in each.texts}
    for words, times in said.items():
        read = text.count(words.strip())
        voice = voices[words]
        lost = RenderFault(FaultKind.LOST, voice, words)
        if times > read and _is_left_out(each, voice, words, rendered):
            lost = RenderFault(FaultKind.LEFT_OUT, voice, words)
        yield lost, max(0, times - read)
        yield RenderFault(FaultKind.REPEATED, voice, words), max(0, read - times)
        if words != words.strip():
            # What is lost has lost its edges, too, so that to be read without them is better.
            cut = times > read or _stripped(each, text, words, rendered)
            yield RenderFault(FaultKind.STRIPPED, voice, words), cut


def _is_left_out(each: ProofConversation, voice: str, words: str, rendered: RenderedBy) -> bool:
    """Return whether a text that is lost is one that templates leave out of earlier turns.

    Content beside calls is such a one where it is written while its turn is the last: there it
    stands where the model reasons.
    """
    at = _place_of(each, words)
    if voice != Voice.PREFACE or at < 0:
        return voice == Voice.REASONING and _is_earlier(each.messages, at)
    told = rendered(_until(each, at + 1, generation=False))
    return _is_earlier(each.messages, at) and told is not None and words.strip() in told


def _is_earlier(messages: Sequence[Mapping[str, Json]], at: int) -> bool:
    """Return whether a question or an answer comes after a message: no loop goes on with it."""
    return any(
        message["role"] == "user" or (message["role"] == "assistant" and message.get("content"))
        for message in messages[at + 1 :]
        if not message.get("tool_calls")
    )


def _place_of(each: ProofConversation, words: str) -> int:
    """Return the place of the last message that says this; before all where none does."""
    return max((at for at, it in enumerate(each.messages) if _holds(it, words)), default=-1)


def _holds(value: Json | Mapping[str, Json], words: str) -> bool:
    if isinstance(value, Mapping):
        return any(_holds(inner, words) for inner in value.values())
    if isinstance(value, list):
        return any(_holds(inner, words) for inner in value)
    return value == words


def _tools(each: ProofConversation, text: str) -> Iterator[tuple[RenderFault, int]]:
    """Count the descriptions of tools that are not read as often as they are sent."""
    sent = repr(each.tools)
    for words in map(_description, each.tools or ()):
        read = text.count(words) if words else 1
        yield RenderFault(FaultKind.LOST, "a tool", words), not read
        yield RenderFault(FaultKind.REPEATED, "a tool", words), max(0, read - sent.count(words))


def _description(tool: Json) -> str:
    function = tool.get("function", tool) if isinstance(tool, dict) else None
    words = function.get("description") if isinstance(function, dict) else None
    return words if isinstance(words, str) else ""


def _stripped(each: ProofConversation, text: str, words: str, rendered: RenderedBy) -> bool:
    """Say whether a text is written without its edges in the place where it stands without them."""
    bare = words.strip()
    messages = tuple(_with_text(dict(message), words, bare) for message in each.messages)
    plain = rendered(replace(each, messages=messages, plainly=None))
    if plain is None or plain.count(bare) != 1:
        return bare in text and words not in text
    return bare in text and text != plain.replace(bare, words)


def _with_text(value: Json, words: str, other: str) -> Any:
    """Return a value in which every string that is one text is another."""
    if isinstance(value, Mapping):
        return {key: _with_text(inner, words, other) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_text(inner, words, other) for inner in value]
    return other if value == words else value


def _calls(
    each: ProofConversation, text: str, rendered: RenderedBy
) -> Iterator[tuple[RenderFault, int]]:
    """Count the calls that are not read; what describes the tools names them, too."""
    first = next((at for at, it in enumerate(each.messages) if it["role"] == "assistant"), 0)
    asked = rendered(_until(each, first, generation=False)) if each.calls and first else None
    for name, times in Counter(each.calls).items() if asked is not None else ():
        read = text.count(name) - (asked or "").count(name)
        yield RenderFault(FaultKind.CALL_LOST, "", name), max(0, times - read)


def _unclosed(each: ProofConversation, text: str, rendered: RenderedBy) -> int:
    """Count the closers that are missing, or too many; the tools' description may show some."""
    said = [at for at, message in enumerate(each.messages) if message.get("tool_calls")]
    asked = rendered(_until(each, said[0], generation=False)) if said and said[0] else ""
    read = text.count(each.closer) - (asked or "").count(each.closer)
    return abs(len(said) - read) if said else 0


def _history(
    each: ProofConversation, text: str, rendered: RenderedBy
) -> Iterator[tuple[RenderFault, int]]:
    for at, message in enumerate(each.messages):
        if not at:
            continue
        asked = rendered(_until(each, at, generation=True))
        if message["role"] == "assistant" and asked is not None:
            yield _departure(each, FaultKind.NOT_BEGUN, asked, text, at)
        told = rendered(_until(each, at, generation=False))
        if told is not None:
            yield _departure(each, FaultKind.REWRITTEN, told.rstrip(), text, at - 1)
    if not each.generation:
        told = rendered(_gone_on(each))
        if told is not None:
            gone_on, last = _gone_on(each), len(each.messages) - 1
            yield _departure(gone_on, FaultKind.REWRITTEN, text.rstrip(), told, last)
    other = rendered(replace(each, generation=not each.generation))
    if other is not None:
        without, prompted = (other, text) if each.generation else (text, other)
        yield RenderFault(FaultKind.PROMPT_REWRITES), not prompted.startswith(without)
    if each.messages and each.messages[-1]["role"] != "assistant":
        yield RenderFault(FaultKind.NO_PROMPT), text == other
    elif not each.generation and each.header:
        yield RenderFault(FaultKind.NO_PROMPT, "", "unasked"), text.rstrip().endswith(each.header)


def _departure(
    each: ProofConversation, kind: FaultKind, before: str, text: str, at: int
) -> tuple[RenderFault, int]:
    """Return the fault of a text that departs from one that ended at a message, if it does."""
    place = str(at)
    if text.startswith(before):
        return RenderFault(kind, "", place), 0
    ours = [it for it in range(at + 1) if each.messages[it]["role"] == "assistant"]
    if each.block is not None and ours and _is_earlier(each.messages, ours[-1]):
        kept, whole = _without_reasoning(text, each.block), _without_reasoning(before, each.block)
        if kept.startswith(whole):
            return RenderFault(FaultKind.LEFT_OUT, "", place), 1
    return RenderFault(kind, "", place), 1


@lru_cache(maxsize=4096)
def _without_reasoning(text: str, block: tuple[str, str]) -> str:
    """Leave out blocks of reasoning, one that is only opened at the end too, and all whitespace."""
    opened, closed = map(re.escape, block)
    return "".join(re.sub(f"{opened}.*?({closed}|\\Z)", "", text, flags=re.DOTALL).split())


def _until(each: ProofConversation, at: int, *, generation: bool) -> ProofConversation:
    return replace(each, messages=each.messages[:at], generation=generation, plainly=None)


def _gone_on(each: ProofConversation) -> ProofConversation:
    """Let the next message follow."""
    answered = bool(each.messages) and each.messages[-1]["role"] != "assistant"
    following = {"role": "assistant" if answered else "user", "content": "Then so be it."}
    return replace(each, messages=(*each.messages, following), plainly=None)


def is_worse(before: Mapping[RenderFault, int], after: Mapping[RenderFault, int]) -> bool:
    """Return whether something is wrong after that was not wrong before, or is more so."""
    return any(count > _earlier_count(before, fault) for fault, count in after.items())


def _earlier_count(before: Mapping[RenderFault, int], fault: RenderFault) -> int:
    """Return how often a fault was there: a turn that lacks but its reasoning is less rewritten."""
    kinds = [fault.kind]
    if fault.kind is FaultKind.LEFT_OUT and not fault.whose:
        kinds += [FaultKind.REWRITTEN, FaultKind.NOT_BEGUN]
    return max(before.get(RenderFault(kind, fault.whose, fault.place), 0) for kind in kinds)
