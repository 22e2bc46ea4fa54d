"""Conversations of sentinels in plain words, for people who read the renders.

A sentinel is looked for in renders, and nobody reads a conversation in it. What is shown is
therefore rendered once more, in words of the same roles:

    user       pkvrbnwj            What is the weather in Rio?
    assistant  qkphffqx(mcdsbpxt='zhvwxqzm')    get_weather(city='Rio')

It is a render of the template, and it is shown only where it is the first one word for word:
otherwise the template does something to one of the texts that it does not do to the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TypeVar, cast

from msgspec import Struct, structs

from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.message_shape import EmptyContent

from .prober import Evidence, Probe, Prober, Sentinels, sentinel_sets

Value = TypeVar("Value")

_KEYS = ("city", "capital", "about")

_FIRST = Sentinels(
    system="Answer in one sentence.",
    user="What is the weather in Rio?",
    next_user="And tomorrow, please!",
    answer="It has 22 degrees.",
    reasoning="I need the forecast.",
    content="Let me look.",
    names=("get_weather", "find_hotels", "get_events"),
    ids=("call1a2b3", "call4c5d6", "call7e8f9"),
    keys=_KEYS,
    typed_keys={
        JsonType.STRING: _KEYS[0],
        JsonType.INTEGER: "ahead",
        JsonType.NUMBER: "above",
        JsonType.BOOLEAN: "daily",
        JsonType.NULL: "after",
        JsonType.ARRAY: "districts",
        JsonType.OBJECT: "box",
    },
    values=("Rio", "Oslo", "Lima"),
    integer=3,
    number=2.5,
)
_PLAIN_SETS = (
    _FIRST,
    structs.replace(
        _FIRST,
        system="I look it up first.",
        user="Thanks, and the day after?",
        answer="There are two hotels.",
        reasoning="The result has all of it.",
        content="Bring a light coat.",
        values=("Paris", "Bergen", "Cusco"),
    ),
    structs.replace(_FIRST, answer="No events were found."),
)
"""Nothing in them is escaped in JSON or HTML; names, keys and values sort as the sentinels do."""


def sentinel_sentence(word: str) -> str:
    """Return a text with a capital, a space and a full stop, so that what alters texts shows."""
    return f"{word.capitalize()} {word[::-1]}."


class PlainWords:
    """Plain words in the place of a template's sentinels."""

    def __init__(self, template_text: str) -> None:
        """Choose the words for a template, whose sentinels its text alone decides."""
        self._sets = sentinel_sets(template_text, len(_PLAIN_SETS))
        self._tools: tuple[object, object] = (None, None)
        self._short: dict[str, str] = {}

    @cached_property
    def _spellings(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """Each sentinel with the texts that are made of it, each beside its text in plain words."""
        found: dict[str, Sequence[tuple[str, str]]] = {}
        known: set[str] = set()
        for sentinels, plain in zip(self._sets, _PLAIN_SETS, strict=True):
            for word, text in zip(sentinels.words(), plain.words(), strict=True):
                # Two sentinels with the same text could not be distinguished afterwards.
                if text not in known or word in found:
                    found[word] = [*_sentinel_spellings(word, text)]
                    known.add(text)
        return found

    @cached_property
    def _numbers(self) -> Mapping[float, float]:
        first = self._sets[0]
        return {first.integer: _FIRST.integer, first.number: _FIRST.number}

    def text(self, text: str) -> str:
        """Return a text in plain words; a sentinel that was altered stays as it is."""
        # Shorter texts contain no sentinel, and keys such as `role` are most of a conversation.
        if len(text) < _SHORTEST:
            return text
        known = self._short.get(text)
        if known is not None:
            return known
        # A sentinel may be in upper case; lowering the text once is cheaper than a pattern.
        given, lowered = text, text.lower()
        for word, spellings in self._spellings.items():
            if word in lowered:
                for spelling, plain in spellings:
                    text = text.replace(spelling, plain)
        if len(given) <= _SHORT:
            self._short[given] = text
        return text

    def variables(self, variables: Mapping[str, object]) -> dict[str, object]:
        """Return a template's variables, with messages and tools in plain words."""
        tools = variables["tools"]
        if tools is not None and self._tools[0] is not tools:
            # Most conversations share their tools, which are longer than the messages.
            self._tools = tools, self.value(tools)
        return {
            **variables,
            "messages": self.value(variables["messages"]),
            "tools": None if tools is None else self._tools[1],
        }

    def value(self, value: Value) -> Value:
        """Return a message, a conversation, or whatever else holds texts, in plain words."""
        return cast("Value", self._value(value))

    def _value(self, value: object) -> object:
        if isinstance(value, str):
            return self.text(value)
        # Not `isinstance`: True is an int, and has to stay unchanged.
        if type(value) in (int, float):
            return self._numbers.get(cast("float", value), value)
        if isinstance(value, Mapping):
            members = cast("Mapping[str, object]", value)
            return {self.text(key): self._value(member) for key, member in members.items()}
        if isinstance(value, list | tuple):
            items = map(self._value, cast("list[object]", value))
            return [*items] if isinstance(value, list) else (*items,)
        if isinstance(value, Struct):
            return structs.replace(
                value, **{key: self._value(member) for key, member in structs.asdict(value).items()}
            )
        return value


_SHORTEST = 7
"""The digits of the integer; all other sentinels are longer."""
_SHORT = 80
"""Texts up to this length come again and again: keys, roles, single sentinels."""

plain_words = lru_cache(maxsize=8)(PlainWords)


def evidence_in_plain_words(evidence: Evidence, prober: Prober) -> Evidence:
    """Return evidence whose renders are made again in plain words; it says so if they differ.

    `prober` is in the shape that the template takes; how a message says that it has no content is
    among what phases try.
    """
    left, right = (_plain_probe(probe, prober) for probe in (evidence.left, evidence.right))
    if left is None or right is None:
        return replace(evidence, difference=f"{evidence.difference}, in invented words")
    return replace(evidence, left=left, right=right)


def _plain_probe(probe: Probe, prober: Prober) -> Probe | None:
    shapes = (
        structs.replace(prober.shape, empty_content=empty_content) for empty_content in EmptyContent
    )
    # The usual shape first; phases may have rendered content as null, empty or absent.
    probers = (prober, *(prober.using(shape=shape) for shape in shapes))
    return next(filter(None, (_render_plainly(probe, shaped) for shaped in probers)), None)


def _render_plainly(probe: Probe, prober: Prober) -> Probe | None:
    words = plain_words(prober.template.text)
    given = prober.variables(
        prober.shape.messages(probe.dialogue, prober.sentinels.system),
        tools=probe.tools,
        generation=probe.generation,
        setting=probe.setting,
    )
    text, error = "", None
    try:
        text = prober.template.render_prepared(words.variables(given))
    except TemplateRenderError as raised:
        error = raised
    reason, plain_reason = (
        "" if failure is None else failure.reason for failure in (probe.error, error)
    )
    # The template treats the two texts differently, so the plain render proves nothing.
    if text != words.text(probe.text) or plain_reason != words.text(reason):
        return None
    return structs.replace(probe, dialogue=words.value(probe.dialogue), text=text, error=error)


def _sentinel_spellings(word: str, plain: str) -> Iterator[tuple[str, str]]:
    """Yield the texts that rules and templates make of a sentinel, the longest first."""
    if word.isalpha():
        sentence = sentinel_sentence(word)
        yield sentence, plain
        yield sentence.upper(), plain.upper()
        yield sentence.lower(), plain.lower()
        # Rules add text to the end of a sentence.
        yield sentence.rstrip("."), plain.rstrip(".?!")
        yield word.upper(), plain.upper()
        yield word.capitalize(), plain
    yield word, plain
