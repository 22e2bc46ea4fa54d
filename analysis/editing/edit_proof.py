"""Prove that an edited template renders as the original did, and better where that was wrong.

A faultless conversation must render to the same text, and none may newly raise. A faulty one may
change if it has fewer faults afterwards and no new ones, and if no text is lost except a turn that
the history wrote differently, or an unrequested prompt. A variant of a plain conversation, such as
null content for empty content, may change in any way that adds no faults. Text that a switch omits
on purpose must stay omitted.

An edit is safe if every render that it changes only fixes requested faults and their consequences.
Nobody relies on the text of a render that crashed, so crashes may be fixed. For a template that
writes `{{ message.content | trim }}`, removing `| trim` changes only conversations whose texts have
whitespace at their edges, and fixes the fault "is stripped" in each.

In that template, if prompts are written on request, a user's " Hi " becomes `<u>Hi`: one fault,

    {RenderFault(FaultKind.STRIPPED, "a user's message", place=" Hi "): 1}

Without `| trim` it becomes `<u> Hi ` and has none, so the change counts as an improvement.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import Count, JsonDocument
from autoparser.analysis.lint.conversation_matrix import Voice
from autoparser.analysis.lint.lint_renders import Render, in_plain_words
from autoparser.analysis.lint.rule import FaultKind, MendedFault
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.analysis.templates.reached_bodies import ReachedBodies
from autoparser.analysis.templates.template_edits import TemplateEdit

from .proof_conversations import ProofConversation, ProofRenders, proof_conversations

# The faults of a render, counted by subject. The template's other renders judge: each text must
# appear as often as it was sent, with the whitespace at its edges; text written earlier in the
# conversation must stay; a generation prompt must be a prefix of the turn after it, and appear
# exactly if it is requested; and variants of a message must render alike. An earlier turn that only
# lacks its reasoning is a fault of its own kind: most templates omit it, and models are trained
# that way.


class RenderFault(MendedFault, frozen=True):
    """A fault of a render: its kind, the speaker, and the text or message it is about."""

    place: str = ""
    """The text or the index of the message, e.g. ``Dogs bark.`` or ``2``."""


RenderedBy: TypeAlias = Callable[[ProofConversation], str | None]
"""Renders a conversation, or returns None if the template raises."""


def render_faults(
    conversation: ProofConversation, text: str | None, rendered: RenderedBy
) -> dict[RenderFault, int]:
    """Return the faults of a conversation's text, with their counts."""
    if text is None:
        return {RenderFault(FaultKind.REFUSED): 1}
    found = Counter(dict(_text_faults(conversation, text, rendered)))
    found.update(dict(_tools(conversation, text)))
    found.update(dict(_call_faults(conversation, text, rendered)))
    if conversation.closer:
        found[RenderFault(FaultKind.UNCLOSED)] = _count_unclosed(conversation, text, rendered)
    found.update(dict(_history(conversation, text, rendered)))
    if conversation.plainly is not None:
        otherwise = RenderFault(FaultKind.OTHERWISE, conversation.words)
        found[otherwise] = text != rendered(conversation.plainly)
    return {fault: count for fault, count in found.items() if count}


def _text_faults(
    conversation: ProofConversation, text: str, rendered: RenderedBy
) -> Iterator[tuple[RenderFault, int]]:
    said = Counter(words for _, words in conversation.texts if words.strip())
    voices = {words: voice for voice, words in conversation.texts}
    for words, times in said.items():
        read = text.count(words.strip())
        voice = voices[words]
        lost = RenderFault(FaultKind.LOST, voice, words)
        if times > read and _is_left_out(conversation, voice, words, rendered):
            lost = RenderFault(FaultKind.LEFT_OUT, voice, words)
        yield lost, max(0, times - read)
        yield RenderFault(FaultKind.REPEATED, voice, words), max(0, read - times)
        if words != words.strip():
            # A lost text also lost its edges, so finding it without them counts as an improvement.
            cut = times > read or _loses_edges(conversation, text, words, rendered)
            yield RenderFault(FaultKind.STRIPPED, voice, words), cut


def _is_left_out(
    conversation: ProofConversation, voice: str, words: str, rendered: RenderedBy
) -> bool:
    """Return whether a lost text is one that templates omit from earlier turns.

    That is reasoning, and content beside calls if it is written while its turn is the last.
    """
    index = _last_message_with(conversation, words)
    if voice != Voice.PREFACE or index < 0:
        return voice == Voice.REASONING and _is_earlier(conversation.messages, index)
    told = rendered(_until(conversation, index + 1, generation=False))
    return _is_earlier(conversation.messages, index) and told is not None and words.strip() in told


def _is_earlier(messages: Sequence[Mapping[str, Json]], index: int) -> bool:
    """Return whether a question or an answer follows a message, so that its tool loop is over."""
    return any(
        message["role"] == "user" or (message["role"] == "assistant" and message.get("content"))
        for message in messages[index + 1 :]
        if not message.get("tool_calls")
    )


def _last_message_with(conversation: ProofConversation, words: str) -> int:
    """Return the index of the last message with a text, or -1."""
    return max(
        (at for at, message in enumerate(conversation.messages) if _holds(message, words)),
        default=-1,
    )


def _holds(value: Json | Mapping[str, Json], words: str) -> bool:
    if isinstance(value, Mapping):
        return any(_holds(inner, words) for inner in value.values())
    if isinstance(value, list):
        return any(_holds(inner, words) for inner in value)
    return value == words


def _tools(conversation: ProofConversation, text: str) -> Iterator[tuple[RenderFault, int]]:
    """Yield the descriptions of tools that are missing or repeated."""
    sent = repr(conversation.tools)
    for words in map(_description, conversation.tools or ()):
        # A tool without a description has no text that could be missing.
        read = text.count(words) if words else 1
        yield RenderFault(FaultKind.LOST, "a tool", words), not read
        yield RenderFault(FaultKind.REPEATED, "a tool", words), max(0, read - sent.count(words))


def _description(tool: Json) -> str:
    function = tool.get("function", tool) if isinstance(tool, dict) else None
    words = function.get("description") if isinstance(function, dict) else None
    return words if isinstance(words, str) else ""


def _loses_edges(
    conversation: ProofConversation, text: str, words: str, rendered: RenderedBy
) -> bool:
    """Return whether a text lost its edges, compared with a render without them."""
    bare = words.strip()
    messages = tuple(_with_text(dict(message), words, bare) for message in conversation.messages)
    plain = rendered(replace(conversation, messages=messages, plainly=None))
    # A text that is written once can be replaced to get the expected render with its edges.
    if plain is None or plain.count(bare) != 1:
        return bare in text and words not in text
    return bare in text and text != plain.replace(bare, words)


def _with_text(value: Json, words: str, other: str) -> Any:
    """Return a value in which every string equal to `words` is replaced."""
    if isinstance(value, Mapping):
        return {key: _with_text(inner, words, other) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_text(inner, words, other) for inner in value]
    return other if value == words else value


def _call_faults(
    conversation: ProofConversation, text: str, rendered: RenderedBy
) -> Iterator[tuple[RenderFault, int]]:
    """Yield the missing calls; names in the tools' descriptions do not count."""
    first = next(
        (at for at, message in enumerate(conversation.messages) if message["role"] == "assistant"),
        0,
    )
    asked = (
        rendered(_until(conversation, first, generation=False))
        if conversation.calls and first
        else None
    )
    for name, times in Counter(conversation.calls).items() if asked is not None else ():
        read = text.count(name) - (asked or "").count(name)
        yield RenderFault(FaultKind.CALL_LOST, "", name), max(0, times - read)


def _count_unclosed(conversation: ProofConversation, text: str, rendered: RenderedBy) -> int:
    """Count the missing or additional closers, apart from those in the tools' descriptions."""
    said = [at for at, message in enumerate(conversation.messages) if message.get("tool_calls")]
    asked = rendered(_until(conversation, said[0], generation=False)) if said and said[0] else ""
    read = text.count(conversation.closer) - (asked or "").count(conversation.closer)
    return abs(len(said) - read) if said else 0


def _history(
    conversation: ProofConversation, text: str, rendered: RenderedBy
) -> Iterator[tuple[RenderFault, int]]:
    for index, message in enumerate(conversation.messages):
        if not index:
            continue
        asked = rendered(_until(conversation, index, generation=True))
        if message["role"] == "assistant" and asked is not None:
            yield _prefix_fault(conversation, FaultKind.NOT_BEGUN, asked, text, index)
        told = rendered(_until(conversation, index, generation=False))
        if told is not None:
            # A template may close a message with other whitespace once another one follows.
            yield _prefix_fault(conversation, FaultKind.REWRITTEN, told.rstrip(), text, index - 1)
    if not conversation.generation:
        gone_on, last = _gone_on(conversation), len(conversation.messages) - 1
        told = rendered(gone_on)
        if told is not None:
            yield _prefix_fault(gone_on, FaultKind.REWRITTEN, text.rstrip(), told, last)
    other = rendered(replace(conversation, generation=not conversation.generation))
    if other is not None:
        without, prompted = (other, text) if conversation.generation else (text, other)
        yield RenderFault(FaultKind.PROMPT_REWRITES), not prompted.startswith(without)
    if conversation.messages and conversation.messages[-1]["role"] != "assistant":
        yield RenderFault(FaultKind.NO_PROMPT), text == other
    elif not conversation.generation and conversation.header:
        yield (
            RenderFault(FaultKind.NO_PROMPT, "", "unasked"),
            text.rstrip().endswith(conversation.header),
        )


def _prefix_fault(
    conversation: ProofConversation, kind: FaultKind, before: str, text: str, at: int
) -> tuple[RenderFault, int]:
    """Return a fault, counted if a text does not begin with the one that ended at a message."""
    place = str(at)
    if text.startswith(before):
        return RenderFault(kind, "", place), 0
    ours = [index for index in range(at + 1) if conversation.messages[index]["role"] == "assistant"]
    if conversation.block is not None and ours and _is_earlier(conversation.messages, ours[-1]):
        kept = _without_reasoning(text, conversation.block)
        if kept.startswith(_without_reasoning(before, conversation.block)):
            return RenderFault(FaultKind.LEFT_OUT, "", place), 1
    return RenderFault(kind, "", place), 1


@lru_cache(maxsize=4096)
def _without_reasoning(text: str, block: tuple[str, str]) -> str:
    """Return the text without whitespace and reasoning, which may be unclosed at the end."""
    opened, closed = map(re.escape, block)
    # Whitespace goes, too: templates write other whitespace where a block is left out.
    return "".join(re.sub(f"{opened}.*?({closed}|\\Z)", "", text, flags=re.DOTALL).split())


def _until(conversation: ProofConversation, at: int, *, generation: bool) -> ProofConversation:
    return replace(
        conversation, messages=conversation.messages[:at], generation=generation, plainly=None
    )


def _gone_on(conversation: ProofConversation) -> ProofConversation:
    """Return the conversation with another message."""
    answered = bool(conversation.messages) and conversation.messages[-1]["role"] != "assistant"
    following = {"role": "assistant" if answered else "user", "content": "Then so be it."}
    return replace(conversation, messages=(*conversation.messages, following), plainly=None)


def is_worse(before: Mapping[RenderFault, int], after: Mapping[RenderFault, int]) -> bool:
    """Return whether a fault is new or more frequent."""
    return any(count > _earlier_count(before, fault) for fault, count in after.items())


def _earlier_count(before: Mapping[RenderFault, int], fault: RenderFault) -> int:
    """Return the earlier count of a fault; a turn without reasoning is a lesser rewritten one."""
    kinds = [fault.kind]
    # Without a speaker it is the fault of a turn: one that lacks only its reasoning is better than
    # one that is rewritten.
    if fault.kind is FaultKind.LEFT_OUT and not fault.whose:
        kinds += [FaultKind.REWRITTEN, FaultKind.NOT_BEGUN]
    return max(before.get(RenderFault(kind, fault.whose, fault.place), 0) for kind in kinds)


CONSEQUENCES = (FaultKind.REWRITTEN, FaultKind.NOT_BEGUN, FaultKind.PROMPT_REWRITES)
"""Faults that others cause: text lost from a turn is also an earlier turn rewritten."""

LOSSES = (FaultKind.LOST, FaultKind.LEFT_OUT)


@dataclass(frozen=True, slots=True)
class ChangedRender:
    """A conversation whose render an edit changes, with the faults that it fixes."""

    conversation: str
    """The conversation's name, e.g. ``reasoning, then a user``."""
    before: str | None
    """The original's text, e.g. ``"…<|assistant|></think>It is sunny.<|user|>…"``, or None if it
    raises."""
    after: str
    """The edited template's text, e.g. ``"…<|assistant|><think>The user wants facts.…</think>It is
    sunny.<|user|>…"``."""
    mended: tuple[str, ...]
    """The fixed faults in words, e.g. ``("an answer is stripped",)``."""
    asked_for: bool
    """Whether all of them were requested, e.g. True for ``("an answer is stripped",)`` if the rule
    is about stripped answers."""


class FixProof(JsonDocument, frozen=True):
    """The renders of both templates."""

    conversations: Count
    """Number of all conversations, e.g. `508`."""
    changed: Count
    """Conversations whose render changed, each with fewer faults, e.g. `12`."""
    better: Count
    """Number of faults that were fixed, e.g. `12`."""
    raising: Count
    """Conversations that both templates refuse, e.g. `82`; no new ones raise."""
    kinds: dict[str, Count]
    """Number of conversations of each kind, such as those with tools, e.g. `{"tools": 280}`."""
    beyond: Count
    """Changed conversations that no shown finding covers, e.g. `0`; any make the edit unsafe."""
    spoiled: Count
    """Changed conversations that crashed, and now render unintended text, e.g. `0`."""
    examples: tuple[ChangedRender, ...]
    """One render for each kind of fix, e.g. one with `"an answer is stripped"` fixed."""


class ProvenEdit(FixProof, frozen=True):
    """A successful proof."""

    crashed: int
    """Changed conversations at which the original crashed, e.g. 12 with calls whose arguments are
    objects."""
    halfway: bool = False
    """Whether a conversation no longer raises, but does with the same messages and a generation
    prompt, tools or a switch, e.g. ``enable_thinking``."""

    @property
    def safe(self) -> bool:
        """Whether every changed render was requested."""
        return not (self.beyond or self.spoiled)


class EditProof:
    """Compares edited templates with the original."""

    def __init__(self, subject: Subject, mends: Sequence[MendedFault] | None = None) -> None:
        """Store the faults to fix; None means all."""
        self._subject = subject
        self._mends = mends
        self._original = ProofRenders(subject, subject.rendering)
        self._faults: dict[int, Mapping[RenderFault, int]] = {}
        self._reaching: dict[int, frozenset[int | None]] = {}
        self._plain: tuple[ChatTemplate, ProofRenders] | None = None
        """The template of the last comparison."""

    @cached_property
    def conversations(self) -> tuple[ProofConversation, ...]:
        """All conversations to render."""
        return proof_conversations(self._subject)

    @cached_property
    def _alike(self) -> Mapping[str, Sequence[int]]:
        """The indexes of the conversations that differ only in their switches."""
        found: dict[str, list[int]] = {}
        for index, conversation in enumerate(self.conversations):
            found.setdefault(conversation.request, []).append(index)
        return found

    def prove_edits(
        self, template: ChatTemplate, edits: Sequence[TemplateEdit] = ()
    ) -> ProvenEdit | None:
        """Return the improvements of an edited template, or None if something is worse.

        With `edits`, conversations that reach none of them are not rendered.
        """
        edited = ProofRenders(self._subject, template)
        around = self.reached.around(edits)
        changed = better = crashed = healed = beyond = spoiled = 0
        examples: dict[tuple[bool, tuple[str, ...]], ChangedRender] = {}
        renders: dict[tuple[bool, tuple[str, ...]], tuple[Render, Render]] = {}
        # The variants of plain messages in the conversations that change.
        sent: set[str] = set()
        asked = (
            index for index in [*self._order] if not around or around & self._reached_by(index)
        )
        for at, before, after in self._changes(edited, asked):
            conversation = self.conversations[at]
            faults = self._better(at, before, after, edited)
            if faults is None:
                # A conversation that exposes one wrong edit is likely to expose others: try it
                # first next time.
                self._order.remove(at)
                self._order.insert(0, at)
                return None
            changed += 1
            # Only the messages of variants: `halfway` is whether the same messages still raise in
            # another request.
            sent.add(conversation.messages_key if conversation.plainly is not None else "")
            crashed += before.crashed
            healed += not before.rendered
            better += sum(self.faults(at).values()) - sum(faults.values())
            mended = [fault for fault, n in self.faults(at).items() if faults.get(fault, 0) < n]
            # A render that crashed had no text to rely on, so every fix of it is welcome.
            others = () if before.crashed else self._beyond(conversation, mended)
            # Content parts that no plain conversation has cannot be judged.
            bad = before.crashed and (
                conversation.of_parts or is_worse(self._plain_faults(conversation), faults)
            )
            asked_for = not others and not bad
            beyond += bool(others)
            spoiled += bad
            # An example of an unrequested fix names only that fix; others name requested ones.
            named = others or [fault for fault in mended if self._is_asked_for(fault)] or mended
            words = tuple(dict.fromkeys(fault.words for fault in named))
            text = before.text if before.rendered else None
            example = ChangedRender(conversation.name, text, after.text, words, asked_for)
            # Keep the shortest example, regardless of the order of conversations.
            known = examples.setdefault((asked_for, words), example)
            examples[asked_for, words] = min(
                known, example, key=lambda shown: (len(shown.after), shown.conversation)
            )
            if examples[asked_for, words] is example:
                renders[asked_for, words] = before, after
        shown: list[ChangedRender] = []
        for example in _one_of_each(examples.values()):
            before, after = in_plain_words(*renders[example.asked_for, example.mended])
            shown.append(replace(example, before=example.before and before.text, after=after.text))
        refused, kinds = self._counts
        return ProvenEdit(
            len(self.conversations),
            changed,
            better,
            refused - healed,
            kinds,
            beyond,
            spoiled,
            tuple(shown),
            crashed,
            # The template raises on a variant, but not on its plain conversation.
            any(
                variant.plainly is not None
                and variant.messages_key in sent
                and edited.text(variant) is None
                and edited.text(variant.plainly) is not None
                for variant in self.conversations
            ),
        )

    def prove_unchanged(self, template: ChatTemplate) -> ProvenEdit | ProofConversation:
        """Return the proof that a template renders the same texts, or a conversation that differs.

        Crashes may become renders: an output of its own accepts values that cannot be concatenated.
        """
        other = ProofRenders(self._subject, template)
        crashed = 0
        for at, before, _ in self._changes(other, range(len(self.conversations))):
            if not before.crashed:
                return self.conversations[at]
            crashed += 1
        refused, kinds = self._counts
        asked, raising = len(self.conversations), refused - crashed
        return ProvenEdit(asked, crashed, 0, raising, kinds, 0, 0, (), crashed)

    def _changes(
        self, edited: ProofRenders, places: Iterable[int]
    ) -> Iterator[tuple[int, Render, Render]]:
        """Yield the index of each changed conversation, with both renders."""
        for at in places:
            conversation = self.conversations[at]
            before, after = self._original.render(conversation), edited.render(conversation)
            if (after.rendered, after.text) != (before.rendered, before.text):
                yield at, before, after

    @cached_property
    def _counts(self) -> tuple[int, dict[str, int]]:
        """The number of conversations at which the original raises, and the counts of kinds."""
        kinds = Counter(kind for conversation in self.conversations for kind in conversation.kinds)
        refused = sum(
            not self._original.render(conversation).rendered for conversation in self.conversations
        )
        return refused, dict(sorted(kinds.items()))

    def _beyond(
        self, conversation: ProofConversation, mended: Sequence[RenderFault]
    ) -> Sequence[RenderFault]:
        """Return unrequested fixes that are not side effects of requested ones."""
        if self._mends is None:
            return ()
        respelled = self._is_asked_for(RenderFault(FaultKind.OTHERWISE, conversation.words))
        if respelled and any(
            fault.kind in (FaultKind.OTHERWISE, FaultKind.REFUSED) for fault in mended
        ):
            # The edited template renders this like the plain conversation; other faults may stay.
            return ()
        others = [fault for fault in mended if not self._is_asked_for(fault)]
        # A missing text had no edges either.
        there = {fault.place for fault in mended if fault.kind in LOSSES}
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
        """The parts of the template that conversations reach."""
        return ReachedBodies(self._subject.rendering)

    @cached_property
    def _order(self) -> list[int]:
        """The indexes of the conversations, in the order in which to try them."""
        return [*range(len(self.conversations))]

    def _reached_by(self, at: int) -> frozenset[int | None]:
        if at not in self._reaching:
            conversation, original = self.conversations[at], self._original
            variables, text = original.variables(conversation), original.text(conversation)
            self._reaching[at] = self.reached.of(variables, text)
        return self._reaching[at]

    def faults(self, at: int) -> Mapping[RenderFault, int]:
        """Return the faults of a conversation in the original."""
        if at not in self._faults:
            conversation = self.conversations[at]
            text = self._original.text(conversation)
            self._faults[at] = render_faults(conversation, text, self._original.text)
        return self._faults[at]

    def _better(
        self, at: int, before: Render, after: Render, edited: ProofRenders
    ) -> Mapping[RenderFault, int] | None:
        """Return the remaining faults, or None if the change is not an improvement."""
        conversation, wrong = self.conversations[at], self.faults(at)
        # A faultless render must not change, none may newly raise, and a switch's omissions stay.
        if not wrong or not after.rendered or self._left_out(at):
            return None
        faults = render_faults(conversation, after.text, edited.text)
        known = self._plain_faults(conversation)
        if not before.rendered:
            # A template may refuse on purpose; only the variant of a conversation that it renders
            # well has to render.
            taken = before.crashed or (
                conversation.plainly is not None and not is_worse(known, faults)
            )
            return faults if taken else None
        if self._reads_more(conversation, wrong, faults, edited):
            return faults
        # Do not count a fault against the edit if the plain conversation has it, too.
        before_or_plainly = {
            fault: max(wrong.get(fault, 0), known.get(fault, 0)) for fault in {*wrong, *known}
        }
        if is_worse(before_or_plainly, faults):
            return None
        if any(fault.kind is FaultKind.OTHERWISE and fault not in faults for fault in wrong):
            # The old text did not match the plain conversation, so none of it has to stay.
            return faults
        if sum(faults.values()) >= sum(wrong.values()):
            return None
        # A turn that the history wrote differently may lose text; else all of the old text has to
        # be in the new one.
        if _became_fewer(wrong, faults, FaultKind.REWRITTEN, FaultKind.LEFT_OUT) or _within(
            before.text, after.text
        ):
            return faults
        if _only_altered(conversation, before.text, after.text):
            return faults
        # Text may also disappear if it is a closer without an opener.
        if _became_fewer(wrong, faults, FaultKind.UNCLOSED) and _within(after.text, before.text):
            return faults
        # Only an unrequested prompt may be removed.
        unasked = not conversation.generation and any(
            fault.kind is FaultKind.NO_PROMPT for fault in wrong
        )
        return faults if unasked and before.text.startswith(after.text) else None

    def _reads_more(
        self,
        conversation: ProofConversation,
        wrong: Mapping[RenderFault, int],
        faults: Mapping[RenderFault, int],
        edited: ProofRenders,
    ) -> bool:
        """Return whether text that the plain conversation loses, too, appears in the variant."""
        plain = conversation.plainly
        if plain is None or self._original.text(plain) == edited.text(plain):
            return False
        others = {fault: n for fault, n in faults.items() if fault.kind is not FaultKind.OTHERWISE}
        return not is_worse(wrong, others) and sum(others.values()) < sum(wrong.values())

    def _plain_faults(self, conversation: ProofConversation) -> Mapping[RenderFault, int]:
        """Return the faults of the plain conversation in the original."""
        plain = conversation.plainly
        if plain is None:
            return {}
        return render_faults(plain, self._original.text(plain), self._original.text)

    def _left_out(self, at: int) -> bool:
        """Return whether the switches of a conversation decide if a text is omitted."""
        conversation, usual = self.conversations[at], self._subject.usual_setting
        named = {
            name for name, value in conversation.setting.items() if usual.get(name, ...) != value
        }
        kinds = {
            frozenset(fault for fault in self.faults(other) if fault.kind in LOSSES and fault.whose)
            for other in (self._alike[conversation.request] if conversation.explicit else ())
            if _without_switches(self.conversations[other].setting, named)
            == _without_switches(conversation.setting, named)
        }
        # Conversations that differ in these switches alone lose different texts, so the switches
        # decide it.
        return len(kinds) > 1


def _one_of_each(examples: Iterable[ChangedRender]) -> Iterator[ChangedRender]:
    """Yield an example of each fault, preferring those with a single one."""
    seen: set[tuple[bool, str]] = set()
    for example in sorted(
        examples, key=lambda example: (example.asked_for, len(example.mended), example.mended)
    ):
        kinds = {(example.asked_for, words) for words in example.mended}
        if not kinds <= seen:
            seen |= kinds
            yield example


def _without_switches(setting: Mapping[str, Json], names: set[str]) -> dict[str, Json]:
    """Return a setting without some switches."""
    return {name: value for name, value in setting.items() if name not in names}


def _became_fewer(
    before: Mapping[RenderFault, int], after: Mapping[RenderFault, int], *kinds: FaultKind
) -> bool:
    """Return whether faults of these kinds became fewer."""
    old, new = (
        sum(count for fault, count in faults.items() if fault.kind in kinds)
        for faults in (before, after)
    )
    return new < old


def _only_altered(conversation: ProofConversation, before: str, after: str) -> bool:
    """Return whether only another form of the texts that now appear was removed."""
    rest, read = after, 0
    for _, words in conversation.texts:
        more = after.count(words) - before.count(words) if words.strip() else 0
        if more > 0:
            rest = rest.replace(words, "", more)
            read += more * len(words)
    return bool(read) and _within(rest, before) and len(before) - len(rest) <= read


def _within(short: str, long: str) -> bool:
    """Return whether a text is a subsequence of another."""
    # Testing for a character consumes the iterator up to it, so that the next one is searched
    # behind it.
    rest = iter(long)
    return all(character in rest for character in short)
