r"""Common prefixes and suffixes of texts, cut between units, and the markers in a literal.

A common prefix or suffix never cuts a unit in two. A unit is a word, a text in brackets such as a
tag (closed, or still open at the end of the text), or a run of one punctuation character. This
keeps a marker whole if its neighbor begins with the same characters.

Two tags with the same beginning share nothing, but a line break before them is shared:

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

from autoparser.lazy_names import lazy_pattern

_UNIT = r"""
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
    """
"""The pattern of a unit, verbose."""


class _UnitPattern:
    """Matches units; the rare forms, 2 ms to compile, from the first text on that may have one."""

    def __init__(self) -> None:
        self._usual = lazy_pattern(r"(?P<marker><[^<>\n]*>)|\w+")
        self._plain = lazy_pattern(
            r"""(?:<[^<>\n]*>|\w+|\s+|[>\])}"']|[\[({](?=["'\s]|\Z)|([:=,.])(?!\1))*+"""
        )
        """A text of tags, words, and signs that begin nothing."""
        self._whole: re.Pattern[str] | None = None

    def within(self, text: str, start: int = 0) -> re.Pattern[str]:
        """Return the pattern of the units of a text from `start` on."""
        if self._whole is None:
            if self._plain.fullmatch(text, start):
                return self._usual
            self._whole = re.compile(_UNIT, re.VERBOSE)
        return self._whole


_UNITS = _UnitPattern()


def _unit_around(text: str, position: int) -> tuple[int, int] | None:
    """Return the span of the unit of `text` that has `position` strictly inside, or None."""
    if not 0 < position < len(text):
        return None
    start = _line_start(text, position)
    for match in _UNITS.within(text, start).finditer(text, start):
        if match.start() >= position:
            return None
        if position < match.end():
            return match.span()
    return None


def _line_start(text: str, position: int) -> int:
    """Return the start of a position's line; no unit extends over the end of a line."""
    return text.rfind("\n", 0, position) + 1


def prefix_length(left: str, right: str) -> int:
    """Return the length of the longest common prefix of two texts, in characters."""
    limit = min(len(left), len(right))
    if left[:limit] == right[:limit]:
        return limit
    # Comparing slices is done in C, so halving them beats a loop over characters.
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if left[:middle] == right[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def suffix_length(left: str, right: str) -> int:
    """Return the length of the longest common suffix of two texts, in characters."""
    return prefix_length(left[::-1], right[::-1])


def differing_parts(left: str, right: str) -> tuple[str, str]:
    """Return the middle of each of two texts, without their longest common prefix and suffix.

    It compares characters, so a unit may be cut in two, which `diff_split` never does.
    """
    start = prefix_length(left, right)
    rest = suffix_length(left[start:], right[start:])
    return left[start : len(left) - rest], right[start : len(right) - rest]


def common_prefix(first: str, *others: str) -> str:
    """Return the longest common prefix that ends between units in every text.

    A marker at its end is left out if a different word follows it in each text.
    """
    texts = (first, *others)
    length = min((prefix_length(first, other) for other in others), default=len(first))
    # Ending before a unit of one text may split a unit of the other, so repeat until stable.
    moved = True
    while moved:
        moved = False
        for text in texts:
            unit = _unit_around(text, length)
            if unit is not None:
                length, moved = unit[0], True
    marker = _marker_ending(first, length)
    if marker is not None and all(text[length : length + 1].isalnum() for text in texts):
        length = marker
    return first[:length]


def common_suffix(first: str, *others: str) -> str:
    """Return the longest common suffix that begins between units in every text.

    A marker at its start is left out if a different word precedes it in each text.
    """
    texts = (first, *others)
    length = min((suffix_length(first, other) for other in others), default=len(first))
    moved = True
    while moved:
        moved = False
        for text in texts:
            unit = _unit_around(text, len(text) - length)
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


def replaced_range(text: str, changed: str, word: str) -> tuple[int, int] | None:
    """Return the range of a text that a word replaced, or None if anything else changed.

    A template that writes the word twice, or not at all, has no single place for it.
    """
    if changed.count(word) != 1:
        return None
    before, _, after = changed.partition(word)
    # What the word replaced has the length by which the unchanged edges fall short.
    end = len(text) - len(after)
    right = text.startswith(before) and text.endswith(after) and end > len(before)
    return (len(before), end) if right else None


def _marker_ending(text: str, position: int) -> int | None:
    """Return the start of the marker that ends at `position`, or None."""
    start = _line_start(text, position)
    for match in _UNITS.within(text, start).finditer(text, start):
        if match.end() == position and match["marker"]:
            return match.start()
        if match.start() >= position:
            break
    return None


def _marker_beginning(text: str, position: int) -> int | None:
    """Return the end of the marker that begins at `position`, or None."""
    match = _UNITS.within(text, position).match(text, position)
    return match.end() if match and match["marker"] else None


def edge_units(text: str) -> list[str]:
    """Cut a text into its units and the texts between them."""
    cuts = [0]
    for match in _UNITS.within(text).finditer(text):
        cuts += match.span()
    cuts.append(len(text))
    return [text[start:end] for start, end in pairwise(cuts) if end > start]


def is_unit(text: str) -> bool:
    """Return whether the text is one marker: a word in brackets or between signs."""
    match = _UNITS.within(text).fullmatch(text)
    return match is not None and bool(match["marker"]) and len(text) > _SHORTEST_MARKER


_SHORTEST_MARKER = 2
"""A marker is longer: `<>` and `@a` look like one, too, and occur in ordinary text."""


@lru_cache(maxsize=512)
def first_marker(text: str) -> str:
    """Cut a text after its first marker and the whitespace that follows it.

    A word between this marker and the next one is included, with the next one:
    `"<|channel|>final<|message|>"` is one marker here. A text without a marker is returned whole.
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


# The difference of two renders: their common prefix, their common suffix, and both middles.


class DiffSplit(Struct, frozen=True):
    """Two texts, split around the place where they differ."""

    prefix: str
    """The common prefix, such as `"A: "` of `"A: find."` and `"A: stop."`."""
    left: str
    """The middle of the left text, such as `"find"`."""
    right: str
    """The middle of the right text, such as `"stop"`."""
    suffix: str
    """The common suffix, such as `"."`."""


def diff_split(left: str, right: str) -> DiffSplit:
    """Split two texts around their difference, without cutting a unit in two."""
    prefix = common_prefix(left, right)
    left_rest, right_rest = left[len(prefix) :], right[len(prefix) :]
    # Of the rests, so that prefix and suffix never overlap in a short text.
    suffix = common_suffix(left_rest, right_rest)
    return DiffSplit(
        prefix=prefix,
        left=left_rest[: len(left_rest) - len(suffix)],
        right=right_rest[: len(right_rest) - len(suffix)],
        suffix=suffix,
    )


# A render in which sentinels were found: slots, and the literals around them.


Label = TypeVar("Label")


class AlignedPieces(Struct, Generic[Label], frozen=True):
    """Slots in order, and the literals before, between and after them."""

    literals: tuple[str, ...]
    """The texts around the slots, one more than there are slots, such as `("<do>", "</do>")`."""
    slots: tuple[Label, ...]
    """The labels of the slots, such as `(NAME,)`."""


@lru_cache(maxsize=512)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    # The longest first, since one sentinel may begin with another.
    return re.compile("(" + "|".join(map(re.escape, sorted(words, key=len, reverse=True))) + ")")


def find_slots(text: str, labels: Mapping[str, Label]) -> AlignedPieces[Label]:
    """Split `text` at its sentinels; `labels` is not empty and has the slot of each sentinel."""
    parts = _pattern(tuple(labels)).split(text)
    return AlignedPieces(tuple(parts[::2]), tuple(labels[word] for word in parts[1::2]))


# Repetitions taken apart: calls in a section, arguments in a call, items in an array.


class RepeatedText(Struct, frozen=True):
    """The literals around repeated items, such as in `<calls><do>a</do>, <do>b</do></calls>`."""

    prefix: str
    """Before the first item, such as `"<calls>"`."""
    open: str
    """Before each item, such as `"<do>"`."""
    separator: str
    """Between two items, such as `", "`."""
    close: str
    """After each item, such as `"</do>"`."""
    suffix: str
    """After the last item, such as `"</calls>"`."""


def split_repetition(before: str, between: str, after: str) -> RepeatedText:
    """Split the literals before the first, between two and after the last item.

    The text after every item, last or not, is its close; the text before every item, first or
    not, is its open. Whitespace at the outer edges belongs to the surroundings, so
    prefix + open == before and close + separator + open == between.
    """
    # The close comes first: a text that could be either ends the item before it.
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
    """Text that the template writes, with the whitespace at its edges kept apart."""

    before: str = ""
    r"""The whitespace before the core, e.g. `"\n"`; all of a text that is only whitespace."""
    core: str = ""
    """The text without whitespace at its edges, e.g. `"</think>"`."""
    after: str = ""
    r"""The whitespace after the core, e.g. `"\n\n"`."""

    @classmethod
    def of(cls, text: str) -> TemplateLiteral:
        """Cut a text into its core and the whitespace at its edges."""
        return _split_short(text) if len(text) <= _SHORT else _split_edges(text)

    @property
    def text(self) -> str:
        """The whole text."""
        return f"{self.before}{self.core}{self.after}"

    @cached_property
    def units(self) -> tuple[str, ...]:
        """The parts of the core between which a model may put whitespace.

        Its space makes `(call ` a marker, so the whitespace after the core counts, too. The text
        between two markers is cut at whitespace, and after the `>` of a tag.
        """
        units: list[str] = []
        for unit in map(str.strip, edge_units(f"{self.core}{self.after}")):
            units += [unit] if is_unit(unit) else filter(None, _BETWEEN.split(unit))
        return tuple(units)

    @cached_property
    def markers(self) -> tuple[str, ...]:
        """The units that are markers: a word in brackets or between signs."""
        return tuple(filter(is_unit, self.units))

    @property
    def is_marker(self) -> bool:
        """Whether the whole core is one marker."""
        return is_unit(self.core)

    @cached_property
    def is_marked(self) -> bool:
        """Whether the core begins with a marker."""
        return bool(self.units) and is_unit(self.units[0])

    @cached_property
    def first(self) -> str:
        """The core up to the end of its first marker; the whole core if it has none."""
        return first_marker(self.core).strip()

    @cached_property
    def trigger(self) -> str:
        """The text by which a reader recognizes it: the marker at its start, or the whole core."""
        return self.first if self.is_marked else self.core

    @cached_property
    def noticed_by_marker(self) -> bool:
        """Whether its trigger is a single marker, without a word after it."""
        return is_unit(self.trigger)

    @property
    def mark(self) -> str:
        """The core if it can be recognized in a text; empty if it is only punctuation."""
        return self.core if any(map(str.isalnum, self.core)) else ""


def _split_edges(text: str) -> TemplateLiteral:
    core = text.strip()
    if not core:
        return TemplateLiteral(before=text)
    start = text.index(core[0])
    return TemplateLiteral(text[:start], core, text[start + len(core) :])


_BETWEEN = lazy_pattern(r"\s+|(?<=>)(?=[^\s>])")
_SHORT = 256
_split_short = lru_cache(maxsize=2048)(_split_edges)
"""Cached, since every request cuts the same few texts of a format."""


_MOST_VARIED = 8
"""The number of gaps that vary at all; further ones keep their whitespace."""


@lru_cache(maxsize=256)
def spaced_spellings(text: str) -> tuple[str, ...]:
    """Return a text and its variants with other whitespace in its gaps, the text itself first.

    The space between two words is not a gap, since it belongs to the words.
    """
    if _GAP.search(text) is None:
        return (text,)
    pieces = _GAP.split(text)
    gaps = [
        tuple(dict.fromkeys((gap, *_GAPS)))
        if index < _MOST_FREE
        # Each gap doubles the variants, and models do not misspell texts with many gaps.
        else ((gap, "") if index < _MOST_VARIED else (gap,))
        for index, gap in enumerate(pieces[1::2])
    ]
    rows = (zip_longest(pieces[::2], chosen, fillvalue="") for chosen in product(*gaps))
    return tuple("".join(chain.from_iterable(row)) for row in rows)


_GAP = lazy_pattern(r"(?<=\S)((?<!\w)\s+|\s+(?!\w))(?=\S)")
_GAPS = ("", " ", "\n", "\r\n", "\n\n", "\r\n\r\n")
_MOST_FREE = 2
"""How many gaps vary over all of `_GAPS`; a further one is unchanged or empty."""


class MarkerBlock(Struct, frozen=True):
    """The markers around reasoning or content."""

    open: TemplateLiteral
    r"""The opening marker, such as `<think>` with `"\n"` after it."""
    close: TemplateLiteral
    r"""The closing marker, such as `</think>` with `"\n"` before and `"\n\n"` after it."""
    others: tuple[TemplateLiteral, ...] = ()
    """Further opening markers, which occur beside other parts."""
    leads: bool = False
    """Whether the turn begins with the block without an opening marker."""
    empty: str | None = None
    r"""The whitespace after an empty block, e.g. `"\n\n"`; None if none is ever written."""

    def opened_by(self, prompt: str) -> str | None:
        """Return the whitespace still missing after a prompt that ends with the opening marker.

        Return None for any other prompt. Only the end of the prompt counts: its beginning varies,
        since some templates write no header after the result of a call.
        """
        core = prompt.rstrip()
        if not self.open.mark or not core.endswith(self.open.mark):
            return None
        # The prompt may have been stripped within the whitespace after the marker.
        space, after = prompt[len(core) :], self.open.after
        return after[len(space) :] if after.startswith(space) else ""
