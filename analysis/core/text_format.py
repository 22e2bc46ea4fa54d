"""How a string is written: its quotes, its escapes, and what a template strips from it."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Annotated, TypeAlias

from markupsafe import escape
from msgspec import UNSET, Struct, UnsetType, field

from .conversation import MediaKind
from .documents import ONE_KEY, Count, JsonDocument


class EdgeStrip(StrEnum):
    """What one edge of a text loses when the template writes it."""

    NOTHING = "nothing"
    NEWLINE = "one newline"
    NEWLINES = "newlines"
    WHITESPACE = "whitespace"

    def left(self, text: str) -> str:
        """Strip the beginning of `text`."""
        if self is EdgeStrip.NEWLINE:
            return text.removeprefix("\n")
        return text.lstrip(_STRIPPED[self]) if self in _STRIPPED else text

    def right(self, text: str) -> str:
        """Strip the end of `text`."""
        if self is EdgeStrip.NEWLINE:
            return text.removesuffix("\n")
        return text.rstrip(_STRIPPED[self]) if self in _STRIPPED else text


_STRIPPED: Mapping[EdgeStrip, str | None] = {
    EdgeStrip.NEWLINES: "\n",
    EdgeStrip.WHITESPACE: None,
}


class StrippedEdges(Struct, frozen=True):
    """What the two edges of a text lose."""

    left: EdgeStrip = EdgeStrip.NOTHING
    right: EdgeStrip = EdgeStrip.NOTHING

    def apply(self, text: str) -> str:
        """Write `text` as the template does."""
        if self.left is EdgeStrip.NOTHING and self.right is EdgeStrip.NOTHING:
            return text
        return self.right.right(self.left.left(text))


class StringEscape(StrEnum):
    """How the inside of a string is written."""

    VERBATIM = "verbatim"
    JSON = "json"
    JSON_ASCII = "json-ascii"
    PYTHON = "python"
    """Python's `repr`, which chooses its quotes by what the string holds."""
    HTML = "html"
    JSON_HTML = "json, then html"
    TABLE = "table"
    """Character by character, as `Text.table` says."""

    @property
    def words(self) -> str:
        """Return what comes after "written", for a person."""
        return _WORDS[self]


_WORDS = {
    StringEscape.VERBATIM: "as they are",
    StringEscape.JSON: "with the escapes of JSON",
    StringEscape.JSON_ASCII: "with the escapes of JSON, in ASCII alone",
    StringEscape.PYTHON: "as Python's repr does",
    StringEscape.HTML: "with the escapes of HTML",
    StringEscape.JSON_HTML: "with the escapes of JSON, then those of HTML",
    StringEscape.TABLE: "with escapes of their own",
}


_ENCODER = json.JSONEncoder(ensure_ascii=False)
"""`json.dumps` makes one for each text, which takes longer than most texts."""


def _to_json(text: str) -> str:
    return _ENCODER.encode(text)[1:-1]


def _from_json(inside: str) -> str:
    try:
        return str(json.loads(f'"{inside}"', strict=False))
    except ValueError:
        return inside


def _from_html(inside: str) -> str:
    # Its table of entities is large, and few templates escape so.
    from html import unescape  # noqa: PLC0415

    return unescape(inside)


def from_python(literal: str) -> str:
    """Return the string of a Python literal; the text itself where it is not one."""
    try:
        value = ast.literal_eval(literal)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return literal
    return value if isinstance(value, str) else literal


def _itself(text: str) -> str:
    return text


_BY_RULE: Mapping[StringEscape, tuple[Callable[[str], str], Callable[[str], str]]] = {
    StringEscape.VERBATIM: (_itself, _itself),
    StringEscape.JSON: (_to_json, _from_json),
    StringEscape.PYTHON: (repr, from_python),
    StringEscape.JSON_ASCII: (lambda text: json.dumps(text)[1:-1], _from_json),
    StringEscape.HTML: (lambda text: str(escape(text)), _from_html),
    StringEscape.JSON_HTML: (
        lambda text: str(escape(_to_json(text))),
        lambda inside: _from_json(_from_html(inside)),
    ),
}
"""What writes the inside of a string, and what reads it."""

ESCAPES_BY_RULE = tuple(_BY_RULE)
"""The escapes that one rule tells for all characters; a table is read off a render instead."""


class StringGuard(Struct, frozen=True):
    """A wrapper written only around strings that hold one of these characters."""

    characters: str
    open: str
    close: str


class StringText(Struct, frozen=True):
    """How a string value or a key is written."""

    open: str = ""
    close: str = ""
    escape: StringEscape = StringEscape.VERBATIM
    edges: StrippedEdges = field(default_factory=StrippedEdges)
    table: Mapping[str, str] = field(default_factory=dict[str, str])
    guard: StringGuard | None = None

    @property
    def escapes(self) -> tuple[str, ...]:
        """What a table writes for a character so that its own close can be told from text."""
        if self.escape is not StringEscape.TABLE or not self.close:
            return ()
        return tuple(written for written in self.table.values() if self.close[0] in written)

    def write(self, text: str) -> str:
        """Write one string."""
        text = self.edges.apply(text)
        if self.escape is StringEscape.TABLE:
            inner = "".join(self.table.get(char, char) for char in text)
        else:
            inner = _BY_RULE[self.escape][0](text)
        guard = self.guard
        if guard is not None and any(char in text for char in guard.characters):
            inner = f"{guard.open}{inner}{guard.close}"
        return f"{self.open}{inner}{self.close}"

    def read(self, inside: str) -> str:
        """Return the string whose inside is written so: what stands between `open` and `close`."""
        if self.escape is StringEscape.TABLE:
            return self._from_table(inside)
        guard = self.guard
        if guard and inside.startswith(guard.open) and inside.endswith(guard.close):
            inside = inside[len(guard.open) : len(inside) - len(guard.close)]
        return _BY_RULE[self.escape][1](inside)

    def has_written(self, inside: str) -> bool:
        """Return whether `write` writes this inside for its string, spaces at the edges aside."""
        whole = self.write(self.read(inside))
        return whole[len(self.open) : len(whole) - len(self.close)].strip() == inside.strip()

    def _from_table(self, inside: str) -> str:
        back = {written: char for char, written in self.table.items() if written}
        if not back:
            return inside
        written = "|".join(map(re.escape, sorted(back, key=len, reverse=True)))
        return re.sub(written, lambda match: back[match.group()], inside)


# The parts of a turn, and how turns are laid out that have some of them.


class TurnPart(StrEnum):
    """A block of a turn."""

    REASONING = "reasoning"
    CONTENT = "content"
    CALLS = "calls"


class TurnLayout(Struct, frozen=True):
    """How a turn with certain parts is laid out."""

    parts: tuple[TurnPart, ...] = ()
    """The parts that reach the text, in order; a part may be dropped, or written twice."""
    literals: tuple[str, ...] = ("",)
    """What stands before, between and after the parts; one more than there are parts."""
    reasoning: StrippedEdges = field(default_factory=StrippedEdges)
    content: StrippedEdges = field(default_factory=StrippedEdges)
    refusal: str = ""
    """The template's own words where it refuses such a message."""


# What a template makes of parts of a message that are not text: placeholders, or nothing.


class PartsOutcome(StrEnum):
    """What becomes of parts in a prompt."""

    WRITTEN = "written"
    DROPPED = "dropped"
    """The prompt is as if they were not there."""
    REFUSED = "refused"
    """The template raises an exception of its own."""
    CRASHES = "crashes"
    PRINTED = "printed"
    """As Python or JSON prints a list, brackets and all."""
    SPREAD = "spread"
    """The prompt changes, but no one stretch of it stands for the part."""


class MediaPlace(StrEnum):
    """Where in a message a placeholder stands."""

    INLINE = "in the place of the part"
    BEFORE = "before the texts of the message"
    AFTER = "after the texts of the message"


class MediaSlot(StrEnum):
    """What in a placeholder is not always the same."""

    NUMBER = "number"
    """The number of the part, counted through the prompt."""
    DATA = "data"
    """What the part holds: an address, a path."""


class PlaceholderPiece(JsonDocument, frozen=True):
    """A text of a placeholder, or what differs from part to part."""

    literal: str | UnsetType = UNSET
    slot: MediaSlot | UnsetType = UNSET

    def filled(self, slots: Mapping[MediaSlot, str]) -> str:
        """Return the text, or that of the slot."""
        if self.slot is not UNSET:
            return slots[self.slot]
        return "" if self.literal is UNSET else self.literal


Placeholder: TypeAlias = tuple[Annotated[PlaceholderPiece, ONE_KEY], ...]
"""What stands for a part: texts, and between them what differs from part to part."""


class MediaTreatment(JsonDocument, frozen=True):
    """What becomes of parts of one kind."""

    kind: MediaKind
    outcome: PartsOutcome
    """The best that becomes of any form."""
    forms: Mapping[str, PartsOutcome]
    """What becomes of each form in which callers send such parts."""
    placeholder: Placeholder
    """What stands for a part; empty where nothing does."""
    alone: Placeholder
    """What stands for a part that is the only one of its kind; empty where that is the same."""
    place: MediaPlace | None
    """Where it stands; null where nothing does."""
    each: bool
    """Whether every part of a message has its own; else all have one."""
    first_number: Count | None
    """The number of the first part; null where they are not counted."""
    roles: tuple[str, ...]
    """The roles of messages in which it is written."""
    earlier: bool
    """Whether it is still written when later messages follow."""
    loses_text: bool
    """Whether a text beside such a part is lost."""
    reason: str
    """The template's words where it raises."""


class ContentParts(JsonDocument, frozen=True):
    """What becomes of a user's content that is a list of parts."""

    texts: PartsOutcome
    """What becomes of a list of texts."""
    reason: str
    """The template's words where it raises on that."""
    media: tuple[MediaTreatment, ...]
    """Images, videos, audio; empty where a list of texts is not written already."""
    renders: Count
    """How many renders say so."""

    def of(self, kind: MediaKind) -> MediaTreatment | None:
        """Return what becomes of parts of a kind, or None if that was not asked."""
        return next((each for each in self.media if each.kind is kind), None)

    @property
    def written_media(self) -> tuple[MediaTreatment, ...]:
        """The kinds that reach the prompt."""
        return tuple(each for each in self.media if each.outcome is PartsOutcome.WRITTEN)


_BEST = (
    PartsOutcome.WRITTEN,
    PartsOutcome.SPREAD,
    PartsOutcome.DROPPED,
    PartsOutcome.PRINTED,
    PartsOutcome.REFUSED,
    PartsOutcome.CRASHES,
)


def best_outcome(outcomes: Iterable[PartsOutcome]) -> PartsOutcome:
    """Return the outcome that a caller would choose."""
    return min(outcomes, key=_BEST.index)
