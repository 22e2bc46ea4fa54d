"""Prove that an edited template renders as the original did, and better where that was wrong.

Contract: a conversation in which nothing was wrong is rendered to the same text, and none raises
that did not. Another may change if less is wrong with it afterwards and nothing more, and if
nothing that was written is lost but for a turn that the history wrote otherwise, or a prompt that
nobody asked for. What says in other words what a plain conversation says may change in any way that
makes nothing else wrong. A text that a switch was set to leave out stays left out.

An edit is safe if in every render that it changes all that is mended was asked for, or comes of
what was. A render that crashed has no text that anybody relies on, so that it may be mended.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.lint.conversation_matrix import Voice
from autoparser.analysis.lint.lint_renders import Render, in_plain_words
from autoparser.analysis.lint.rule import FaultKind, MendedFault
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.analysis.templates.reached_bodies import ReachedBodies
from autoparser.analysis.templates.template_edits import TemplateEdit

from .proof_conversations import ProofConversation, ProofRenders, proof_conversations

# What is wrong with a render of a conversation, counted by what it is about.
#
# The renders of one template judge. A text that is said must be read as often as it is said and
# with the whitespace at its edges; what was written at an earlier point of the conversation must
# stand there still; a generation prompt must begin the turn that follows, and must be there where
# it is asked for and only there; and what says the same in other words must be written alike. An
# earlier turn that is written as it was but for its reasoning is a fault of its own kind: most
# templates leave that out, and their models are trained on it.


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
    ours = [index for index in range(at + 1) if each.messages[index]["role"] == "assistant"]
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


CONSEQUENCES = (FaultKind.REWRITTEN, FaultKind.NOT_BEGUN, FaultKind.PROMPT_REWRITES)
"""What comes of other faults too: a text that is lost in one turn is an earlier turn rewritten."""

LOSSES = (FaultKind.LOST, FaultKind.LEFT_OUT)


@dataclass(frozen=True, slots=True)
class ChangedRender:
    """A conversation that an edited template renders to another text, and what is mended by it."""

    conversation: str
    before: str | None
    """None if the original raises."""
    after: str
    mended: tuple[str, ...]
    """What was wrong, in words."""
    asked_for: bool
    """Whether all that is mended is what was asked for."""


@dataclass(frozen=True, slots=True)
class ProvenEdit:
    """What the proof of an edited template counted."""

    conversations: int
    """All that were asked."""
    changed: int
    """Those whose text differs; in each of them less is wrong than before."""
    better: int
    """Things that were wrong and are not any more."""
    crashed: int = 0
    """Of those whose text differs, those at which the original crashed."""
    raising: int = 0
    """Those that both templates refuse; none raises that did not."""
    kinds: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many conversations are of each kind, such as those with tools."""
    beyond: int = 0
    """Of those whose text differs, those in which something is mended that nobody asked for."""
    spoiled: int = 0
    """Those at which the original crashed, and which are rendered now and not as they should."""
    examples: tuple[ChangedRender, ...] = ()
    """One for each kind of what is mended, those first that nobody asked for."""

    halfway: bool = False
    """Whether what was refused is taken now in one conversation, and not with the same messages
    where a generation prompt, tools or a switch is asked for."""

    @property
    def safe(self) -> bool:
        """Whether every render that changes was asked for."""
        return not (self.beyond or self.spoiled)


class EditProof:
    """Holds edited templates against the original."""

    def __init__(self, subject: Subject, mends: Sequence[MendedFault] | None = None) -> None:
        """Prepare to prove edits of the subject's template, made to mend these; None takes all."""
        self._subject = subject
        self._mends = mends
        self._original = ProofRenders(subject, subject.rendering)
        self._faults: dict[int, Mapping[RenderFault, int]] = {}
        self._reaching: dict[int, frozenset[int | None]] = {}
        self._plain: tuple[ChatTemplate, ProofRenders] | None = None
        """The one that others were last held against."""

    @cached_property
    def conversations(self) -> tuple[ProofConversation, ...]:
        """All that is rendered."""
        return proof_conversations(self._subject)

    @cached_property
    def _alike(self) -> Mapping[str, Sequence[int]]:
        """The places of the conversations that send the same under any switches."""
        found: dict[str, list[int]] = {}
        for at, each in enumerate(self.conversations):
            found.setdefault(each.request, []).append(at)
        return found

    def proven(
        self, template: ChatTemplate, edits: Sequence[TemplateEdit] = ()
    ) -> ProvenEdit | None:
        """Return what an edited template makes better, or None if something is worse.

        Of conversations that reach none of the edits, where these are given, nothing is rendered.
        """
        edited = ProofRenders(self._subject, template)
        around = self.reached.around(edits)
        changed = better = crashed = healed = beyond = spoiled = 0
        examples: dict[tuple[bool, tuple[str, ...]], ChangedRender] = {}
        renders: dict[tuple[bool, tuple[str, ...]], tuple[Render, Render]] = {}
        # What is sent in other words, in the conversations that change.
        sent: set[str] = set()
        asked = (at for at in [*self._order] if not around or around & self._reached_by(at))
        for at, before, after in self._changes(edited, asked):
            each = self.conversations[at]
            faults = self._better(at, before, after, edited)
            if faults is None:
                # What told one edit apart from a right one tells others.
                self._order.remove(at)
                self._order.insert(0, at)
                return None
            changed += 1
            sent.add(each.messages_key if each.plainly is not None else "")
            crashed += before.crashed
            healed += not before.rendered
            better += sum(self.faults(at).values()) - sum(faults.values())
            mended = [it for it, n in self.faults(at).items() if faults.get(it, 0) < n]
            others = () if before.crashed else self._beyond(each, mended)
            # What is right of parts that no plain conversation says, nobody could tell.
            bad = before.crashed and (each.of_parts or is_worse(self._plain_faults(each), faults))
            asked_for = not others and not bad
            beyond += bool(others)
            spoiled += bad
            named = others or [it for it in mended if self._is_asked_for(it)] or mended
            words = tuple(dict.fromkeys(it.words for it in named))
            text = before.text if before.rendered else None
            example = ChangedRender(each.name, text, after.text, words, asked_for)
            # The shortest shows it best, whatever order they are asked in.
            known = examples.setdefault((asked_for, words), example)
            examples[asked_for, words] = min(
                known, example, key=lambda it: (len(it.after), it.conversation)
            )
            if examples[asked_for, words] is example:
                renders[asked_for, words] = before, after
        shown: list[ChangedRender] = []
        for it in _one_of_each(examples.values()):
            before, after = in_plain_words(*renders[it.asked_for, it.mended])
            shown.append(replace(it, before=it.before and before.text, after=after.text))
        refused, kinds = self._counts
        return ProvenEdit(
            len(self.conversations),
            changed,
            better,
            crashed,
            refused - healed,
            kinds,
            beyond,
            spoiled,
            tuple(shown),
            any(
                conversation.plainly
                and conversation.messages_key in sent
                and self._refuses(conversation, edited)
                for conversation in self.conversations
            ),
        )

    def _refuses(self, each: ProofConversation, edited: ProofRenders) -> bool:
        """Return whether a template still raises at what it takes in plain words."""
        plain = each.plainly
        return plain is not None and edited.text(each) is None and edited.text(plain) is not None

    def unchanged(self, template: ChatTemplate) -> ProvenEdit | ProofConversation:
        """Return the proof that another template renders the same texts, or where it does not.

        What crashed may render: an output of its own takes what could not be put together with
        others.
        """
        other = ProofRenders(self._subject, template)
        crashed = 0
        for at, before, _ in self._changes(other, range(len(self.conversations))):
            if not before.crashed:
                return self.conversations[at]
            crashed += 1
        refused, kinds = self._counts
        return ProvenEdit(len(self.conversations), crashed, 0, crashed, refused - crashed, kinds)

    def _changes(
        self, edited: ProofRenders, places: Iterable[int]
    ) -> Iterator[tuple[int, Render, Render]]:
        """Yield the place of each conversation that is rendered otherwise, and both renders."""
        for at in places:
            each = self.conversations[at]
            before, after = self._original.render(each), edited.render(each)
            if (after.rendered, after.text) != (before.rendered, before.text):
                yield at, before, after

    @cached_property
    def _counts(self) -> tuple[int, Mapping[str, int]]:
        """How many conversations the original refuses, and how many are of each kind."""
        kinds = Counter(kind for conversation in self.conversations for kind in conversation.kinds)
        refused = sum(
            not self._original.render(conversation).rendered for conversation in self.conversations
        )
        return refused, dict(sorted(kinds.items()))

    def _beyond(
        self, each: ProofConversation, mended: Sequence[RenderFault]
    ) -> Sequence[RenderFault]:
        """Return what is mended that nobody asked for, and that comes of nothing that was."""
        if self._mends is None:
            return ()
        respelled = self._is_asked_for(RenderFault(FaultKind.OTHERWISE, each.words))
        if respelled and any(it.kind in (FaultKind.OTHERWISE, FaultKind.REFUSED) for it in mended):
            # It is written as what says the same plainly, whatever else was wrong with it.
            return ()
        others = [it for it in mended if not self._is_asked_for(it)]
        # A text that was not there had no edges either.
        there = {it.place for it in mended if it.kind in LOSSES}
        primary = [
            other
            for other in others
            if other.kind not in CONSEQUENCES
            and not (other.kind is FaultKind.STRIPPED and other.place in there)
        ]
        return primary if primary or len(others) < len(mended) else mended

    def _is_asked_for(self, fault: RenderFault) -> bool:
        if self._mends is None:
            return True
        return any(
            mend.kind is fault.kind and mend.whose in ("", fault.whose) for mend in self._mends
        )

    def alike(self, one: ChatTemplate, other: ChatTemplate) -> bool:
        """Return whether two edited templates render every conversation to the same text."""
        if self._plain is None or self._plain[0] is not one:
            self._plain = (one, ProofRenders(self._subject, one))
        first, second = self._plain[1], ProofRenders(self._subject, other)
        return all(
            first.text(self.conversations[at]) == second.text(self.conversations[at])
            for at in self._order
        )

    @cached_property
    def reached(self) -> ReachedBodies:
        """Which parts of the template conversations reach."""
        return ReachedBodies(self._subject.rendering)

    @cached_property
    def _order(self) -> list[int]:
        """The places of the conversations, in the order in which they are asked."""
        return [*range(len(self.conversations))]

    def _reached_by(self, at: int) -> frozenset[int | None]:
        if at not in self._reaching:
            each = self.conversations[at]
            text, variables = self._original.text(each), self._original.variables(each)
            self._reaching[at] = self.reached.of(variables, text)
        return self._reaching[at]

    def faults(self, at: int) -> Mapping[RenderFault, int]:
        """Return what is wrong with a conversation as the original renders it."""
        if at not in self._faults:
            each = self.conversations[at]
            text = self._original.text(each)
            self._faults[at] = faults_of(each, text, self._original.text)
        return self._faults[at]

    def _better(
        self, at: int, before: Render, after: Render, edited: ProofRenders
    ) -> Mapping[RenderFault, int] | None:
        """Return what is wrong still, or None if a change is not for the better."""
        each, wrong = self.conversations[at], self.faults(at)
        if not wrong or not after.rendered or self._left_out(at):
            return None
        faults = faults_of(each, after.text, edited.text)
        known = self._plain_faults(each)
        if not before.rendered:
            taken = before.crashed or (each.plainly is not None and not is_worse(known, faults))
            return faults if taken else None
        if self._reads_more(each, wrong, faults, edited):
            return faults
        # What is as wrong in plain words is not held against the edit.
        before_or_plainly = {it: max(wrong.get(it, 0), known.get(it, 0)) for it in {*wrong, *known}}
        if is_worse(before_or_plainly, faults):
            return None
        if any(fault.kind is FaultKind.OTHERWISE and fault not in faults for fault in wrong):
            # It was not written as it is meant, so that no part of it has to stay.
            return faults
        if sum(faults.values()) >= sum(wrong.values()):
            return None
        if _less(wrong, faults, FaultKind.REWRITTEN, FaultKind.LEFT_OUT) or _within(
            before.text, after.text
        ):
            return faults
        if _only_altered(each, before.text, after.text):
            return faults
        if _less(wrong, faults, FaultKind.UNCLOSED) and _within(after.text, before.text):
            return faults
        # A prompt that nobody asked for is the one thing that may be taken away.
        unasked = not each.generation and any(fault.kind is FaultKind.NO_PROMPT for fault in wrong)
        return faults if unasked and before.text.startswith(after.text) else None

    def _reads_more(
        self,
        each: ProofConversation,
        wrong: Mapping[RenderFault, int],
        faults: Mapping[RenderFault, int],
        edited: ProofRenders,
    ) -> bool:
        """Return whether what is lost plainly, too, is read now, if not as what says the same."""
        plain = each.plainly
        if plain is None or self._original.text(plain) == edited.text(plain):
            return False
        others = {it: n for it, n in faults.items() if it.kind is not FaultKind.OTHERWISE}
        return not is_worse(wrong, others) and sum(others.values()) < sum(wrong.values())

    def _plain_faults(self, each: ProofConversation) -> Mapping[RenderFault, int]:
        """Return what is wrong as well where the same is said in plain words."""
        plain = each.plainly
        if plain is None:
            return {}
        return faults_of(plain, self._original.text(plain), self._original.text)

    def _left_out(self, at: int) -> bool:
        """Whether a switch is set so that a text is left out, or kept, that otherwise is not."""
        each, usual = self.conversations[at], self._subject.usual_setting
        named = {it for it, value in each.setting.items() if usual.get(it, ...) != value}
        kinds = {
            frozenset(fault for fault in self.faults(other) if fault.kind in LOSSES and fault.whose)
            for other in (self._alike[each.request] if each.explicit else ())
            if _without(self.conversations[other].setting, named) == _without(each.setting, named)
        }
        return len(kinds) > 1


def _one_of_each(examples: Iterable[ChangedRender]) -> Iterator[ChangedRender]:
    """Return an example of each kind, of those that show one alone if there are."""
    seen: set[tuple[bool, str]] = set()
    for example in sorted(examples, key=lambda it: (it.asked_for, len(it.mended), it.mended)):
        kinds = {(example.asked_for, words) for words in example.mended}
        if not kinds <= seen:
            seen |= kinds
            yield example


def _without(setting: Mapping[str, Json], names: set[str]) -> dict[str, Json]:
    """Return what is set beside some switches."""
    return {name: value for name, value in setting.items() if name not in names}


def _less(
    before: Mapping[RenderFault, int], after: Mapping[RenderFault, int], *kinds: FaultKind
) -> bool:
    """Return whether less is wrong of these kinds."""
    old, new = (
        sum(count for fault, count in faults.items() if fault.kind in kinds)
        for faults in (before, after)
    )
    return new < old


def _only_altered(each: ProofConversation, before: str, after: str) -> bool:
    """Return whether nothing goes but another form of the texts that are read now."""
    rest, read = after, 0
    for _, words in each.texts:
        more = after.count(words) - before.count(words) if words.strip() else 0
        if more > 0:
            rest = rest.replace(words, "", more)
            read += more * len(words)
    return bool(read) and _within(rest, before) and len(before) - len(rest) <= read


def _within(short: str, long: str) -> bool:
    """Return whether all characters of one text stand in another, in their order."""
    rest = iter(long)
    return all(character in rest for character in short)
