r"""How a string is written: its quotes, its escapes, and the whitespace that is stripped.

For example, a string of JSON, and one that is wrapped only if it contains markup:

    >>> quoted = StringText('"', '"', StringEscape.JSON)
    >>> print(quoted.write('say "hi"'), quoted.read(r'say \"hi\"'))
    "say \"hi\"" say "hi"
    >>> wrapped = StringText(guard=StringGuard("<&", "<![CDATA[", "]]>"))
    >>> wrapped.write("plain"), wrapped.write("a < b"), wrapped.read("<![CDATA[a < b]]>")
    ('plain', '<![CDATA[a < b]]>', 'a < b')
"""

# Annotations are values here: as texts, msgspec would compile each at the first read.
import ast
import json
import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Annotated, TypeAlias

from msgspec import UNSET, Struct, UnsetType, field

from .conversation import MediaKind
from .documents import ONE_KEY, Count, JsonDocument


class EdgeStrip(StrEnum):
    """The characters that a template strips from one edge of a text."""

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
    """The characters that a template strips from both edges of a text."""

    left: EdgeStrip = EdgeStrip.NOTHING
    """From the beginning, e.g. `EdgeStrip.WHITESPACE`."""
    right: EdgeStrip = EdgeStrip.NOTHING
    """From the end, e.g. `EdgeStrip.WHITESPACE`."""

    def apply(self, text: str) -> str:
        """Write `text` as the template does."""
        if self.left is EdgeStrip.NOTHING and self.right is EdgeStrip.NOTHING:
            return text
        return self.right.right(self.left.left(text))


class StringEscape(StrEnum):
    """How the characters of a string are escaped."""

    VERBATIM = "verbatim"
    JSON = "json"
    JSON_ASCII = "json-ascii"
    PYTHON = "python"
    """Python's `repr`, which chooses the quotes by the string's characters."""
    HTML = "html"
    JSON_HTML = "json, then html"
    TABLE = "table"
    """Character by character, by `StringText.table`."""

    @property
    def words(self) -> str:
        """Describe the escape in words that follow "written"."""
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
"""Shared, since `json.dumps` makes one for each text, which takes longer than most texts."""


def _to_json(text: str) -> str:
    return _ENCODER.encode(text)[1:-1]


def _from_json(inside: str) -> str:
    try:
        # Not strict, so that unescaped line breaks and tabs in a string are read.
        return str(json.loads(f'"{inside}"', strict=False))
    except ValueError:
        return inside


def _to_html(text: str) -> str:
    # Imported here like its inverse: few templates escape so.
    from markupsafe import escape  # noqa: PLC0415

    return str(escape(text))


def from_html(inside: str) -> str:
    """Return a text with HTML's references replaced by their characters."""
    # Imported here because its table of entities is large.
    from html import unescape  # noqa: PLC0415

    return unescape(inside)


def from_python(literal: str) -> str:
    """Return the string of a Python literal, or the text itself if it is not one."""
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
    StringEscape.HTML: (_to_html, from_html),
    StringEscape.JSON_HTML: (
        lambda text: _to_html(_to_json(text)),
        lambda inside: _from_json(from_html(inside)),
    ),
}
"""The functions that escape and unescape a string."""

ESCAPES_BY_RULE = tuple(_BY_RULE)
"""The escapes with one rule for all characters; a table is learned from a render instead."""


class StringGuard(Struct, frozen=True):
    """A wrapper around those strings only that contain one of these characters."""

    characters: str
    r"""Characters that need the wrapper, e.g. `"\n<&"`."""
    open: str
    """Before the string, e.g. `"<![CDATA["`."""
    close: str
    """After the string, e.g. `"]]>"`."""


class StringText(Struct, frozen=True):
    """How a string value or a key is written."""

    open: str = ""
    """The opening quote, e.g. `'"'` or `'<|"|>'`; empty if a string has no quotes."""
    close: str = ""
    """The closing quote, e.g. `'"'` or `'<|"|>'`."""
    escape: StringEscape = StringEscape.VERBATIM
    """How the characters between the quotes are escaped, e.g. `StringEscape.JSON`."""
    edges: StrippedEdges = field(default_factory=StrippedEdges)
    """The whitespace that is stripped first, such as
    `StrippedEdges(EdgeStrip.WHITESPACE, EdgeStrip.WHITESPACE)`."""
    table: Mapping[str, str] = field(default_factory=dict[str, str])
    """The text of each character that is escaped, such as `{"<": "&lt;", "&": "&amp;"}`, for
    `TABLE`."""
    guard: StringGuard | None = None
    r"""The wrapper around strings with certain characters, such as
    `StringGuard("\n<&", "<![CDATA[", "]]>")`, or None."""

    @property
    def escapes(self) -> tuple[str, ...]:
        """The escapes of a table that contain the closing quote, which close no string."""
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
        """Decode the text between `open` and `close`."""
        if self.escape is StringEscape.TABLE:
            return self._from_table(inside)
        guard = self.guard
        if guard and inside.startswith(guard.open) and inside.endswith(guard.close):
            inside = inside[len(guard.open) : len(inside) - len(guard.close)]
        return _BY_RULE[self.escape][1](inside)

    def has_written(self, inside: str) -> bool:
        """Return whether `write` gives this text between the quotes, spaces at its edges aside."""
        whole = self.write(self.read(inside))
        return whole[len(self.open) : len(whole) - len(self.close)].strip() == inside.strip()

    def _from_table(self, inside: str) -> str:
        # A character that the template drops leaves no text to decode.
        back = {written: char for char, written in self.table.items() if written}
        if not back:
            return inside
        # The longest first, since one escape may begin with another.
        written = "|".join(map(re.escape, sorted(back, key=len, reverse=True)))
        return re.sub(written, lambda match: back[match.group()], inside)


# The parts of a turn, and the layout of turns with some of them.


class TurnPart(StrEnum):
    """A block of a turn."""

    REASONING = "reasoning"
    CONTENT = "content"
    CALLS = "calls"


class TurnLayout(Struct, frozen=True):
    """The layout of turns with certain parts."""

    parts: tuple[TurnPart, ...] = ()
    """The parts that are written, in order, e.g. `(CONTENT, CALLS)`; a template may drop or repeat
    a part."""
    literals: tuple[str, ...] = ("",)
    r"""The texts before, between and after the parts, e.g.
    `("<|im_start|>assistant\n", "<|im_end|>\n")` around one part."""
    reasoning: StrippedEdges = field(default_factory=StrippedEdges)
    """The whitespace that is stripped from reasoning, such as
    `StrippedEdges(EdgeStrip.WHITESPACE, EdgeStrip.WHITESPACE)`."""
    content: StrippedEdges = field(default_factory=StrippedEdges)
    """The whitespace that is stripped from content, such as
    `StrippedEdges(EdgeStrip.WHITESPACE, EdgeStrip.WHITESPACE)`."""
    refusal: str = ""
    """The message of the exception with which the template refuses such turns, such as
    `"no tools"`."""


# How a template renders parts of a message that are not text: as placeholders, or not at all.


class PartsOutcome(StrEnum):
    """How a template treats media parts, or content that is a list of parts."""

    WRITTEN = "written"
    DROPPED = "dropped"
    """The prompt is the same without them."""
    REFUSED = "refused"
    """The template raises an exception of its own."""
    CRASHES = "crashes"
    PRINTED = "printed"
    """As Python or JSON prints a list, with its brackets."""
    SPREAD = "spread"
    """The prompt changes in several places, so none of them is the placeholder."""


class MediaPlace(StrEnum):
    """The place of a placeholder in its message."""

    INLINE = "in the place of the part"
    BEFORE = "before the texts of the message"
    AFTER = "after the texts of the message"


class MediaSlot(StrEnum):
    """The variable pieces of a placeholder."""

    NUMBER = "number"
    """The number of the part, counted through the prompt."""
    DATA = "data"
    """The part's data: a URL or a path."""


class PlaceholderPiece(JsonDocument, frozen=True):
    """A literal or a slot of a placeholder."""

    literal: str | UnsetType = UNSET
    """Text that is the same for every part, such as `"<|image|>"`."""
    slot: MediaSlot | UnsetType = UNSET
    """The variable text, such as `"number"`."""

    def filled(self, slots: Mapping[MediaSlot, str]) -> str:
        """Return the literal, or the slot's text."""
        if self.slot is not UNSET:
            return slots[self.slot]
        return "" if self.literal is UNSET else self.literal


Placeholder: TypeAlias = tuple[Annotated[PlaceholderPiece, ONE_KEY], ...]
"""The text that a template writes for a media part, such as `<image:1>` with a slot for 1."""


class MediaTreatment(JsonDocument, frozen=True):
    """How a template treats media parts of one kind."""

    kind: MediaKind
    """The medium, such as `"image"`."""
    outcome: PartsOutcome
    """The best outcome of any form, such as `"written"`."""
    forms: Mapping[str, PartsOutcome]
    """The outcome of each form that callers send, such as `{"image_url": "dropped"}`."""
    placeholder: Placeholder
    """The text that stands for a part, such as `<|image|>`; empty if none does."""
    alone: Placeholder
    """The text for the only part of its kind, such as `<|photo|>` if several are
    `Photo 1: <|photo|>` and so on; empty if it is the usual placeholder."""
    place: MediaPlace | None
    """The place of the placeholder in its message, such as `"in the place of the part"`; null
    without one."""
    each: bool
    """Whether every part of a message has its own placeholder; otherwise all share one, such as
    ` (heard)` after the texts."""
    first_number: Count | None
    """The number of the first part, such as `1`; null if parts are not numbered."""
    roles: tuple[str, ...]
    """The roles of messages in which placeholders are written, such as
    `("user", "system", "assistant", "tool")`."""
    earlier: bool
    """Whether placeholders are still written after later messages; a template may write `<image>`
    only where nothing follows."""
    loses_text: bool
    """Whether text beside such a part is lost."""
    reason: str
    """The message of the template's exception, such as
    `"texts and pictures alone are taken"`; empty if it raises none."""


class ContentParts(JsonDocument, frozen=True):
    """How a template treats user content that is a list of parts."""

    texts: PartsOutcome
    """The outcome of a list of text parts, such as `"printed"`."""
    reason: str
    """The message of the exception that such a list raises, such as
    `'TypeError: can only concatenate str (not "list") to str'`; empty if it raises none."""
    media: tuple[MediaTreatment, ...]
    """Images, videos and audio; empty unless lists of text parts are written."""
    renders: Count
    """The number of renders behind these results, such as `43`."""

    def of(self, kind: MediaKind) -> MediaTreatment | None:
        """Return the treatment of a kind of part, or None if it was not probed."""
        return next((treatment for treatment in self.media if treatment.kind is kind), None)

    @property
    def written_media(self) -> tuple[MediaTreatment, ...]:
        """The kinds of media that are written into the prompt."""
        written = PartsOutcome.WRITTEN
        return tuple(treatment for treatment in self.media if treatment.outcome is written)


_BEST = (
    PartsOutcome.WRITTEN,
    PartsOutcome.SPREAD,
    PartsOutcome.DROPPED,
    PartsOutcome.PRINTED,
    PartsOutcome.REFUSED,
    PartsOutcome.CRASHES,
)


def best_outcome(outcomes: Iterable[PartsOutcome]) -> PartsOutcome:
    """Return the outcome that a caller would prefer."""
    return min(outcomes, key=_BEST.index)
