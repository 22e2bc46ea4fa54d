"""Render conversations for an analysis: the only module that does, each render at most once.

A `Prober` renders conversations of sentinels in one shape under one setting; `using` derives
another one on the same meter. A `Probe` is one render or refusal, `Evidence` a pair of probes that
differ in one thing, a `Finding` the conclusion of a phase from such pairs. For example

    prober.probe((UserMessage("pkvrbnwj"),)).text                     '<|user|>pkvrbnwj<|end|>'
    prober.probe((UserMessage("pkvrbnwj"),), generation=True).text    '…<|end|><|assistant|>'
"""

from __future__ import annotations

import datetime
import marshal
import random
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct, field

from autoparser.analysis.core.conversation import (
    Dialogue,
    Json,
    Message,
    Tool,
    ToolCall,
    ToolResult,
    UserMessage,
)
from autoparser.analysis.core.errors import LimitKind, TemplateLimitError, TemplateRenderError
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.message_shape import MessageShape, Setting, offered_tools
from autoparser.analysis.core.question_bounds import AskedTally
from autoparser.analysis.core.text_alignment import DiffSplit, diff_split
from autoparser.analysis.core.verdicts import EvidenceKind
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.analysis.templates.sandbox_kind import SandboxKind

# Sentinels: words in the place of a message's parts, so that a render shows where each went.
#
# A sentinel survives `trim`, `lower`, `tojson`, sorting and HTML escaping, differs from every other
# sentinel at both ends, and never occurs in the template it is used on.


_FIRST = "bcdfghjkmpqrstvwxz"
_INNER = "bcdfghjkmnpqrstvwxz"
_DIGITS = "0123456789"
_WORD_LENGTH = 8
_ID_LENGTH = 9
"""Some templates require ids of nine letters and digits; others accept any."""


class Sentinels(Struct, frozen=True):
    """One set of sentinels; members of a tuple are for the first, second, third of a kind."""

    system: str
    """E.g. `rwgvpbsb`, as all texts below: eight letters without a vowel or meaning."""
    user: str
    """The first user message, e.g. `pkvrbnwj`."""
    next_user: str
    """A second user message, e.g. `bgjwfpgs`."""
    answer: str
    """The result of a call, e.g. `xzvmcjnz`."""
    reasoning: str
    """The reasoning of the assistant's turn, e.g. `dxdpspvg`."""
    content: str
    """The content of the assistant's turn, e.g. `wpzqqmqw`."""
    names: tuple[str, str, str]
    """The functions' names, e.g. `("qkphffqx", "frnctwxr", "hwxxpksc")`."""
    ids: tuple[str, str, str]
    """The ids of calls, nine letters and digits, e.g. `kb2ncmj8p`."""
    keys: tuple[str, ...]
    """Keys of string arguments, in descending order, so that sorting shows, e.g.
    `("mcdsbpxt", "ksdgvjvq", "gprbrqpv")`."""
    typed_keys: Mapping[JsonType, str]
    """Keys of arguments of each type, e.g. `{INTEGER: "kkzbbzfd"}`."""
    values: tuple[str, str, str]
    """Strings as values of arguments, e.g. `("zhvwxqzm", "vqmrzxvk", "jcqnqwgh")`."""
    integer: int
    """E.g. 4595749, a number that no template writes by itself."""
    number: float
    """E.g. 654317.5."""

    def call(self, at: int = 0, arguments: Mapping[str, Json] | None = None) -> ToolCall:
        """Return call number `at`, with one string argument unless others are given."""
        if arguments is None:
            arguments = {self.keys[at]: self.values[at]}
        return ToolCall(self.names[at], arguments, self.ids[at])

    def words(self) -> tuple[str, ...]:
        """Return every sentinel's text."""
        return (
            self.system,
            self.user,
            self.next_user,
            self.answer,
            self.reasoning,
            self.content,
            *self.names,
            *self.ids,
            *self.keys,
            *self.typed_keys.values(),
            *self.values,
            str(self.integer),
            str(self.number),
        )


def choose_sentinels(template_text: str) -> Sentinels:
    """Choose the first set of sentinels of which none occurs in the template."""
    haystack = template_text.lower()
    attempt = 0
    # Eight random consonants hardly occur in a template, so a second attempt is rare.
    while True:
        sentinels = _sentinels(attempt)
        if not any(word in haystack for word in sentinels.words()):
            return sentinels
        attempt += 1


def sentinel_sets(template_text: str, count: int) -> tuple[Sentinels, ...]:
    """Choose several sets of sentinels for a template that have no word in common."""
    found: list[Sentinels] = []
    for _ in range(count):
        known = (word for sentinels in found for word in sentinels.words())
        found.append(choose_sentinels("\n".join((template_text, *known))))
    return tuple(found)


@lru_cache(maxsize=8)
def _sentinels(seed: int) -> Sentinels:
    """Draw words that share no edges, so that a diff finds exactly their places."""
    source = random.Random(seed)
    firsts = source.sample(_FIRST, len(_FIRST))
    lasts = source.sample(_FIRST, len(_FIRST))

    # First and last letters are used once: no two sentinels share an edge, which a diff would
    # miscut.
    def word() -> str:
        inner = "".join(source.choices(_INNER, k=_WORD_LENGTH - 2))
        return firsts.pop() + inner + lasts.pop()

    def spare() -> str:
        return "".join(source.choices(_INNER, k=_WORD_LENGTH))

    def call_id(first: str) -> str:
        return first + "".join(source.choices(_INNER + _DIGITS, k=_ID_LENGTH - 1))

    texts = (word(), word(), word(), word(), word(), word())
    names = (word(), word(), word())
    values = (word(), word(), word())
    # Keys are assigned in descending order, so that a template which sorts them shows it.
    keys = tuple(sorted((word() for _ in range(3)), reverse=True))
    others = [kind for kind in JsonType if kind is not JsonType.STRING]
    typed_keys = {JsonType.STRING: keys[0]} | {kind: spare() for kind in others}
    ids = (call_id("k"), call_id("d"), call_id("w"))
    integer = source.randrange(4_000_000, 4_999_999)
    number = source.randrange(600_000, 699_999) + 0.5
    return Sentinels(*texts, names, ids, keys, typed_keys, values, integer, number)


_CLOCK = datetime.datetime(2025, 7, 16, 12, 34, 56)  # noqa: DTZ001
"""A fixed time for all probes, so that two analyses of a template are equal."""


def _strftime_now(format: str) -> str:  # noqa: A002 - templates may pass it by this name
    # A Python function, as in transformers, whose attributes the sandbox forbids.
    return _CLOCK.strftime(format)


NO_SETTING: Setting = {}
MOST_BEYOND = 3
"""This many renders may hit a limit before the analysis ends: each takes its whole time."""


class Probe(Struct, frozen=True):
    """One render: the conversation, the setting, and the text or the template's refusal."""

    dialogue: Dialogue
    """The messages, e.g. a user's and an assistant's."""
    tools: bool
    """Whether tools were offered."""
    generation: bool
    """Whether the generation prompt, e.g. `"<|assistant|>"`, was requested."""
    setting: Setting
    """The values set, e.g. `{"enable_thinking": False}`."""
    text: str = ""
    r"""The render, e.g. `"<|im_start|>user\npkvrbnwj<|im_end|>\n"`; empty on an error."""
    error: TemplateRenderError | None = None
    """The template's refusal or crash, e.g. of
    `"TypeError: argument of type 'bool' is not iterable"`, or None if it rendered."""

    @property
    def rendered(self) -> bool:
        """Whether it rendered to a text."""
        return self.error is None


class Meter(Struct):
    """The cost of probing one template."""

    renders: int = 0
    """The number of renders, without those answered from the cache, e.g. 200."""
    characters: int = 0
    """The total length of the rendered texts, e.g. 326382."""
    beyond: int = 0
    """The number of renders that a limit ended, usually 0."""
    slow: tuple[int, TemplateLimitError] | None = None
    """The least number of messages of a render that took too long, and its error; usually
    `None`."""
    tally: AskedTally = field(default_factory=AskedTally)
    """A tally of the messages that were rendered to a text, e.g. 80 with
    `"arguments as an object"`."""


_Key: TypeAlias = tuple[Hashable, bool, bool, str]


def _dialogue_key(dialogue: Dialogue) -> Hashable:
    """Return a cache key of a conversation, in which 1 is not True, as in its text.

    Kinds of entries are distinguished by their number of fields.
    """
    key: list[Hashable] = []
    for entry in dialogue:
        if isinstance(entry, Message):
            key.append(
                (entry.content, entry.reasoning, _calls_key(entry.calls) if entry.calls else "")
            )
        elif isinstance(entry, UserMessage):
            key.append((entry.text, entry.media))
        else:
            key.append((entry.text, entry.name, entry.call_id, entry.media))
    return tuple(key)


def _calls_key(calls: Sequence[ToolCall]) -> Hashable:
    """Return the cache key of calls, as bytes if their values are of built-in types only."""
    try:
        # From version 3 on, equal calls may differ: objects that occur twice are references.
        return marshal.dumps([(call.name, call.arguments, call.id) for call in calls], 2)
    except ValueError:
        return repr(calls)


class Prober:
    """Renders conversations through one template, in one shape, under one setting."""

    def __init__(
        self,
        template: ChatTemplate,
        sentinels: Sentinels,
        *,
        tokens: Mapping[str, str],
        tools: Sequence[Tool],
        shape: MessageShape | None = None,
        setting: Setting = NO_SETTING,
        history: Dialogue = (),
    ) -> None:
        """Store the arguments; `tokens` are the template's special tokens or placeholders.

        `history` precedes every conversation; if it ends with a call, `user` is its result.
        """
        self.template = template
        self.sentinels = sentinels
        self.tokens = tokens
        self.tools = tools
        self.shape = shape or MessageShape()
        self.setting = setting
        self.history = history
        self.meter = Meter()
        self._offered = offered_tools(tools, self.shape)
        self._renders: dict[_Key, Probe] = {}
        # After a call in the history, templates that check roles would refuse a user's message.
        self.user = self._first_message()
        """The first message of every probe after the history: a user's or a tool's."""

    def using(
        self,
        *,
        shape: MessageShape | None = None,
        setting: Setting | None = None,
        tools: Sequence[Tool] | None = None,
        sentinels: Sentinels | None = None,
        history: Dialogue | None = None,
    ) -> Prober:
        """Return a prober with another shape, setting, tools, words or history, on the same meter.

        If only the setting differs, both share their cached renders.
        """
        other = Prober(
            self.template,
            sentinels or self.sentinels,
            tokens=self.tokens,
            tools=self.tools if tools is None else tools,
            shape=shape or self.shape,
            setting=self.setting if setting is None else setting,
            history=self.history if history is None else history,
        )
        other.meter = self.meter
        # A cache key covers the setting and the dialogue with its history, not shape and tools.
        if other.shape == self.shape and tools is None and sentinels is None:
            other._renders = self._renders
        return other

    def as_transformers(self) -> Prober:
        """Return a prober that renders only what transformers renders, on the same meter."""
        if self.template.sandbox is SandboxKind.IMMUTABLE:
            return self
        # Other words, tools or sandboxes give other renders, so do not share the cache.
        other = self.using(tools=self.tools)
        other.template = replace(self.template, sandbox=SandboxKind.IMMUTABLE)
        return other

    def probe(
        self,
        dialogue: Dialogue,
        *,
        tools: bool = True,
        generation: bool = False,
        setting: Setting | None = None,
    ) -> Probe:
        """Render a conversation; a refusal or a crash is part of the result."""
        chosen = self.setting if setting is None else setting
        dialogue = (*self.history, *dialogue)
        key = (_dialogue_key(dialogue), tools, generation, repr(dict(chosen)) if chosen else "")
        # Phases request the same renders repeatedly; each is made once.
        known = self._renders.get(key)
        if known is None:
            known = self._render(dialogue, tools, generation, chosen)
            self._renders[key] = known
        return known

    def _render(self, dialogue: Dialogue, tools: bool, generation: bool, setting: Setting) -> Probe:
        """Render a dialogue; a probe holds its error, unless too many renders exceed a limit."""
        messages = self.shape.messages(dialogue, self.sentinels.system)
        slow = self.meter.slow
        if slow is not None and self.meter.beyond > 1 and len(messages) >= slow[0]:
            # Skip a conversation at least as long as one that has exceeded the time limit.
            return Probe(dialogue, tools, generation, setting, error=slow[1])
        try:
            text = self.render_messages(
                messages, tools=tools, generation=generation, setting=setting
            )
        except TemplateRenderError as error:
            if isinstance(error, TemplateLimitError):
                # If no render has finished yet, the next one would also use up its time.
                endless = error.limit is LimitKind.RENDER_TIME and not self.meter.characters
                if endless or self.meter.beyond > MOST_BEYOND:
                    raise
                if error.limit is LimitKind.RENDER_TIME and (
                    slow is None or len(messages) < slow[0]
                ):
                    self.meter.slow = len(messages), error
            return Probe(dialogue, tools, generation, setting, error=error)
        return Probe(dialogue, tools, generation, setting, text=text)

    def render_messages(
        self,
        messages: Sequence[Mapping[str, Json]],
        *,
        tools: bool = True,
        generation: bool = False,
        setting: Setting | None = None,
    ) -> str:
        """Render messages that are already in shape. Raises TemplateRenderError."""
        variables = self.variables(messages, tools=tools, generation=generation, setting=setting)
        self.meter.renders += 1
        try:
            text = self.template.render_prepared(variables)
        except TemplateLimitError:
            self.meter.beyond += 1
            raise
        # An ASCII text needs no check, and most renders are ASCII.
        if not text.isascii():
            self._check_text(text)
        self.meter.characters += len(text)
        chosen = self.setting if setting is None else setting
        self.meter.tally.add(messages, self._offered if tools else None, chosen)
        return text

    def text_of_messages(self, messages: Sequence[Mapping[str, Json]]) -> str:
        """Render messages that are in shape, with tools; return an empty text on an error."""
        try:
            return self.render_messages(messages)
        except TemplateRenderError:
            return ""

    def variables(
        self,
        messages: Sequence[Mapping[str, Json]],
        *,
        tools: bool = True,
        generation: bool = False,
        setting: Setting | None = None,
    ) -> dict[str, object]:
        """Return all that a template is given to render messages in shape."""
        return {
            "strftime_now": _strftime_now,
            **self.tokens,
            "messages": messages,
            "tools": self._offered if tools else None,
            "documents": None,
            "add_generation_prompt": generation,
            **(self.setting if setting is None else setting),
        }

    def _check_text(self, text: str) -> None:
        """Raise TemplateRenderError if the text cannot be encoded as UTF-8."""
        try:
            text.encode()
        except UnicodeEncodeError as error:
            half = f"U+{ord(text[error.start]):04X}"
        else:
            return
        raise TemplateRenderError(
            f"it writes {half}, half of a surrogate pair, which no tokenizer encodes",
            file=self.template.origin or self.template.name,
        )

    def has_rendered(self, text: str) -> bool:
        """Whether a render so far, under any setting, holds a text that is not from a message."""
        lacking: set[str] = set()
        # Later renders have more parts, and many are equal.
        for render in reversed(self._renders.values()):
            if render.text in lacking:
                continue
            if text not in render.text:
                lacking.add(render.text)
            elif text not in repr(render.dialogue):
                return True
        return False

    def _first_message(self) -> UserMessage | ToolResult:
        last = self.history[-1] if self.history else None
        if isinstance(last, Message) and last.calls:
            return ToolResult(self.sentinels.user, last.calls[-1].name, last.calls[-1].id)
        return UserMessage(self.sentinels.user)


# The findings of phases, and their evidence.


@dataclass(frozen=True, slots=True, repr=False)
class Evidence:
    """The renders of two conversations that differ in one thing."""

    difference: str
    """The one thing, in words, e.g. `"no call / a call"`."""
    left: Probe
    """The first render, e.g. of a turn without a call."""
    right: Probe
    """The second render, e.g. of a turn with one."""

    def __repr__(self) -> str:
        """Return the difference, in one line."""
        return f"<{type(self).__name__}: {self.difference}>"

    @property
    def split(self) -> DiffSplit:
        """The difference of the renders; a refused render counts as an empty text."""
        return diff_split(self.left.text, self.right.text)


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """The conclusion of one phase."""

    phase: str
    """E.g. `T2`."""
    title: str
    """The subject of the phase, e.g. `"several calls"`."""
    conclusion: str
    r"""One line for a person, e.g. `"'\\n' separates calls; '<|im_end|>' ends a turn"`."""
    evidence: tuple[Evidence, ...] = ()
    """The pairs of renders that show it, e.g. `(<Evidence: one call / two calls>,)`."""
    markers: tuple[str, ...] = ()
    """The members of the marker registry whose source is this phase, e.g. `call_separator`."""
    kind: EvidenceKind = EvidenceKind.RENDER
    """The kind of evidence, e.g. `EvidenceKind.RENDER`, or words of the prompt alone."""

    def __repr__(self) -> str:
        """Return the phase and its conclusion, in one line."""
        return f"<{type(self).__name__} {self.phase} {self.title}: {self.conclusion}>"

    @property
    def confirmed(self) -> bool:
        """Whether there is more evidence than the prompt's words."""
        return self.kind is not EvidenceKind.WORDS


def surroundings_words(before: str, after: str) -> str:
    """Describe the surroundings as the end of a sentence, or return an empty text for none."""
    if before and after:
        return f" between {before!r} and {after!r}"
    return f" after {before!r}" if before else f" before {after!r}" if after else ""
