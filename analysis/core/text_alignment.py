r"""What two texts share, cut between units, and what of a literal a reader may notice.

Common beginnings and ends never cut a unit in two. A unit is what a person would not break: a
word, something between brackets such as an angle-bracketed tag (closed or still open at the end
of the text), a run of one punctuation character. Cutting between units keeps a marker whole when
its neighbor begins alike.

Two tags that begin alike share nothing, a line break before them is shared:

    >>> common_prefix("<tool_call>one", "<tool_response>two")
    ''
    >>> common_prefix("\n<arg>days</arg>", "\n<arg>day</arg>")
    '\n'
    >>> common_suffix("one\n</call>", "two\n</call>")
    '\n</call>'
    >>> edge_units("<call>f</call>")
    ['<call>', 'f', '</call>']
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property, lru_cache
from itertools import chain, pairwise, product, zip_longest
from typing import Generic, TypeVar

from msgspec import Struct

_UNIT = re.compile(
    r"""
    (?P<marker>
        <[^<>\n]*>                              # a tag, attributes included
      | <(?!\s|[-=~]+(?![-=~\w]))[^<>\n]*$      # a tag that a slot follows, not `f <- {`
      | <<+[^<>\n]*>>+ | <<+(?![\s<])[^<>\n]*$
      | \[[|/\#@%!~^$&]*\w+[|/\#@%!~^$&]*\]     # a word in square brackets, with signs or without
      | \[\[+[|/\#@%!~^$&]*[^\W\d][^\[\]\n]*(?:\]\]+|$)  # words in doubled brackets
      | \{\{+[|/\#@%!~^$&]*[^\W\d][^{}\n]*(?:\}\}+|$)
      | \(\(+[|/\#@%!~^$&]*[^\W\d][^()\n]*(?:\)\)+|$)
      | \{[|/\#@%!~^$&]*[^\W\d]\w*(?:[|/\#@%!~^$&]*\}|[ ]?$)
      | \([|/\#@%!~^$&]*[^\W\d]\w*(?:[|/\#@%!~^$&]*\)|[ ]$)
      | [⟦⟨⟪「『【〔〖《〈⦅⦃❨❪❬❮❰❲❴«‹](?:[^\s]*?[⟧⟩⟫」』】〕〗》〉⦆⦄❩❫❭❯❱❳❵»›]+|[^\s\w]*\w[^\s]*$)
                                                # a word between signs: %call%, ::call::
      | (?P<signs>[@%\#~$^|§¶&!]+|([:*=+-])\3+)[|/\#]*[^\W\d]\w*
        (?:(?!(?P=signs))[ =:|][\w ="'.]*)?(?:(?P=signs)|$)
    )
  | \w+
  | ([^\w\s<>\[\](){}"'])\4+
    """,
    re.VERBOSE,
)


def _inside(text: str, position: int) -> tuple[int, int] | None:
    """Find the unit of `text` that `position` falls strictly inside of."""
    if not 0 < position < len(text):
        return None
    for match in _UNIT.finditer(text, _line_start(text, position)):
        if match.start() >= position:
            return None
        if position < match.end():
            return match.span()
    return None


def _line_start(text: str, position: int) -> int:
    """Return where the line of a position begins; no unit reaches over the end of a line."""
    return text.rfind("\n", 0, position) + 1


def prefix_length(left: str, right: str) -> int:
    """Count the characters that two texts have in common at their beginning."""
    limit = min(len(left), len(right))
    if left[:limit] == right[:limit]:
        return limit
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if left[:middle] == right[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def suffix_length(left: str, right: str) -> int:
    """Count the characters that two texts have in common at their end."""
    return prefix_length(left[::-1], right[::-1])


def differing_parts(left: str, right: str) -> tuple[str, str]:
    """Return what each of two texts has between their longest common prefix and suffix.

    Characters alone count: a unit may be cut in two, which `diff_split` never does.
    """
    start = prefix_length(left, right)
    rest = suffix_length(left[start:], right[start:])
    return left[start : len(left) - rest], right[start : len(right) - rest]


def common_prefix(first: str, *others: str) -> str:
    """Return the longest common beginning that ends between units in every text.

    A marker that leads to a different word in each text goes with its word.
    """
    texts = (first, *others)
    length = min((prefix_length(first, other) for other in others), default=len(first))
    moved = True
    while moved:
        moved = False
        for text in texts:
            unit = _inside(text, length)
            if unit is not None:
                length, moved = unit[0], True
    marker = _marker_ending(first, length)
    if marker is not None and all(text[length : length + 1].isalnum() for text in texts):
        length = marker
    return first[:length]


def common_suffix(first: str, *others: str) -> str:
    """Return the longest common end that begins between units in every text.

    A marker that ends a different word in each text goes with its word.
    """
    texts = (first, *others)
    length = min((suffix_length(first, other) for other in others), default=len(first))
    moved = True
    while moved:
        moved = False
        for text in texts:
            unit = _inside(text, len(text) - length)
            if unit is not None:
                length, moved = len(text) - unit[1], True
    marker = _marker_beginning(first, len(first) - length)
    if (
        marker is not None
        and length
        and all(len(text) > length and text[len(text) - length - 1].isalnum() for text in texts)
    ):
        length = len(first) - marker
    return first[len(first) - length :]


def _marker_ending(text: str, position: int) -> int | None:
    """Return the beginning of the bracketed unit that ends at `position`."""
    for match in _UNIT.finditer(text, _line_start(text, position)):
        if match.end() == position and match["marker"]:
            return match.start()
        if match.start() >= position:
            break
    return None


def _marker_beginning(text: str, position: int) -> int | None:
    """Return the end of the bracketed unit that begins at `position`."""
    match = _UNIT.match(text, position)
    return match.end() if match and match["marker"] else None


def edge_units(text: str) -> list[str]:
    """Cut a text into its units and what stands between them."""
    cuts = [0]
    for match in _UNIT.finditer(text):
        cuts += match.span()
    cuts.append(len(text))
    return [text[start:end] for start, end in pairwise(cuts) if end > start]


def is_unit(text: str) -> bool:
    """Whether the text is one word in brackets or between signs, the usual look of a marker."""
    match = _UNIT.fullmatch(text)
    return match is not None and bool(match["marker"]) and len(text) > _SHORTEST_MARKER


_SHORTEST_MARKER = 2


@lru_cache(maxsize=512)
def first_marker(text: str) -> str:
    """Cut a text after its first marker and the whitespace that follows it.

    A marker that leads to a word goes with the word, up to the marker after it. A text without
    a marker comes back whole.
    """
    units = edge_units(text)
    for at, unit in enumerate(units):
        if not is_unit(unit):
            continue
        end = at + 1
        following = units[end : end + 2]
        if len(following) > 1 and following[0].isalnum() and is_unit(following[1]):
            end += 2
        while end < len(units) and not units[end].strip():
            end += 1
        return "".join(units[:end])
    return text


# The difference of two renders: what both begin with, what both end with, what each has alone.


class DiffSplit(Struct, frozen=True):
    """Two texts, split where they differ."""

    prefix: str
    left: str
    right: str
    suffix: str


def diff_split(left: str, right: str) -> DiffSplit:
    """Split two texts; neither split cuts a tag or another unit in two."""
    prefix = common_prefix(left, right)
    left_rest, right_rest = left[len(prefix) :], right[len(prefix) :]
    suffix = common_suffix(left_rest, right_rest)
    return DiffSplit(
        prefix=prefix,
        left=left_rest[: len(left_rest) - len(suffix)],
        right=right_rest[: len(right_rest) - len(suffix)],
        suffix=suffix,
    )


# A text in which sentinels were found: slots, and the literals around them.


Label = TypeVar("Label")


class AlignedPieces(Struct, Generic[Label], frozen=True):
    """Slots in order, and the literals before, between and after them."""

    literals: tuple[str, ...]
    """One more than there are slots."""
    slots: tuple[Label, ...]


@lru_cache(maxsize=512)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("(" + "|".join(map(re.escape, sorted(words, key=len, reverse=True))) + ")")


def find_slots(text: str, labels: Mapping[str, Label]) -> AlignedPieces[Label]:
    """Find every sentinel in `text`; `labels`, at least one, name the slot that each stands for."""
    parts = _pattern(tuple(labels)).split(text)
    return AlignedPieces(tuple(parts[::2]), tuple(labels[word] for word in parts[1::2]))


# Taking apart what repeats: calls in a section, arguments in a call, items in an array.


class RepeatedText(Struct, frozen=True):
    """What surrounds repeated things, cut into its parts."""

    prefix: str
    """Before the first."""
    open: str
    """Opens each."""
    separator: str
    close: str
    """Closes each."""
    suffix: str
    """After the last."""


def split_repetition(before: str, between: str, after: str) -> RepeatedText:
    """Split the literals before the first, between two and after the last thing.

    What follows a thing whether or not another comes is its close; what stands before a thing
    whether or not it is the first is its open. Whitespace at the outer edges belongs to the
    things' surroundings, so prefix + open == before and close + separator + open == between.
    """
    close = common_prefix(between, after).rstrip()
    rest = between[len(close) :]
    opening = common_suffix(before, rest).lstrip()
    return RepeatedText(
        prefix=before[: len(before) - len(opening)],
        open=opening,
        separator=rest[: len(rest) - len(opening)],
        close=close,
        suffix=after[len(close) :],
    )


class TemplateLiteral(Struct, frozen=True, dict=True):
    """Text that the template writes, the whitespace at its edges apart.

    What of it looks like a marker is answered once, for all who read it.
    """

    before: str = ""
    core: str = ""
    after: str = ""

    @classmethod
    def of(cls, text: str) -> TemplateLiteral:
        """Cut a text into its core and its edges; all of a text without a core is before it."""
        return _short(text) if len(text) <= _SHORT else _cut(text)

    @property
    def text(self) -> str:
        """All that is written."""
        return f"{self.before}{self.core}{self.after}"

    @cached_property
    def units(self) -> tuple[str, ...]:
        """The parts of the core between which a model may put whitespace.

        The space after `(call ` makes a marker of it, so what follows the core is looked at too.
        What stands between two markers is cut at its whitespace, and after a tag that closes in it.
        """
        units: list[str] = []
        for unit in map(str.strip, edge_units(f"{self.core}{self.after}")):
            units += [unit] if is_unit(unit) else filter(None, _BETWEEN.split(unit))
        return tuple(units)

    @cached_property
    def markers(self) -> tuple[str, ...]:
        """The units that look like a marker: a word in brackets or between signs."""
        return tuple(filter(is_unit, self.units))

    @property
    def is_marker(self) -> bool:
        """Whether all of it is one marker."""
        return is_unit(self.core)

    @property
    def is_marked(self) -> bool:
        """Whether it begins with a marker."""
        return bool(self.units) and is_unit(self.units[0])

    @property
    def first(self) -> str:
        """The core up to and with its first marker; all of it where it has none."""
        return first_marker(self.core).strip()

    @property
    def trigger(self) -> str:
        """The text by which a reader notices it: the marker it begins with, or all of it."""
        return self.first if self.is_marked else self.core

    @property
    def noticed_by_marker(self) -> bool:
        """Whether one marker is its trigger: no word after it belongs to that."""
        return is_unit(self.trigger)

    @property
    def mark(self) -> str:
        """The core, where it is noticed in a text; empty where it is only punctuation."""
        return self.core if any(map(str.isalnum, self.core)) else ""


def _cut(text: str) -> TemplateLiteral:
    core = text.strip()
    if not core:
        return TemplateLiteral(before=text)
    start = text.index(core[0])
    return TemplateLiteral(text[:start], core, text[start + len(core) :])


_BETWEEN = re.compile(r"\s+|(?<=>)(?=[^\s>])")
_SHORT = 256
_short = lru_cache(maxsize=2048)(_cut)
"""Every request asks the same of the same few texts of a format."""


_MOST_VARIED = 8


@lru_cache(maxsize=256)
def spaced_spellings(text: str) -> tuple[str, ...]:
    """Return a text, first as it is written, then with other whitespace where it has some.

    Words keep the space between them: it is a part of what they say.
    """
    if _GAP.search(text) is None:
        return (text,)
    pieces = _GAP.split(text)
    gaps = [
        tuple(dict.fromkeys((gap, *_GAPS)))
        if at < _MOST_FREE
        # Each gap doubles the spellings: a text with many is no marker that a model misspells.
        else ((gap, "") if at < _MOST_VARIED else (gap,))
        for at, gap in enumerate(pieces[1::2])
    ]
    rows = (zip_longest(pieces[::2], chosen, fillvalue="") for chosen in product(*gaps))
    return tuple("".join(chain.from_iterable(row)) for row in rows)


_GAP = re.compile(r"(?<=\S)((?<!\w)\s+|\s+(?!\w))(?=\S)")
_GAPS = ("", " ", "\n", "\r\n", "\n\n", "\r\n\r\n")
_MOST_FREE = 2
"""So many gaps of a text may be any of these; a further one is as it is written, or missing."""


class MarkerBlock(Struct, frozen=True):
    """What opens and closes reasoning or content."""

    open: TemplateLiteral
    close: TemplateLiteral
    others: tuple[TemplateLiteral, ...] = ()
    """Literals that open it beside other parts."""
    leads: bool = False
    """The turn begins with it, and nothing opens it."""
    empty: str | None = None
    """Whitespace after it where it is empty; None: the template writes no empty block."""

    def opened_by(self, prompt: str) -> str | None:
        """Return the whitespace that is missing after a prompt that opens it at its very end.

        None where it opens nothing. The front of a generation prompt varies: after the result of
        a call some templates write no header.
        """
        core = prompt.rstrip()
        if not self.open.mark or not core.endswith(self.open.mark):
            return None
        space, after = prompt[len(core) :], self.open.after
        return after[len(space) :] if after.startswith(space) else ""
