r"""Find stops in a text that comes in pieces, look ahead on the tape, and take literals from it.

`StopTable` finds the first of many texts, and the length of text before it that can be passed on.
With the stop `<call>`, all of `Hm <ca` but `<ca` can. `TextLookahead` is a cursor that a reader
moves over the text after a stop; text that it has passed is not looked at again.

Owed to `StreamParser`: the front of a possible stop is held back until more text decides it, and
nothing else is held back; a look ahead takes nothing from the tape.

A line break that the template writes before a stop is held back with its front:

    >>> stops = StopTable([("\n", "<call>", "calls"), ("", "<|end|>", "end")])
    >>> stops.find("Hm\n<call>", 0)
    FoundStop(start=3, end=9, label='calls', text='<call>')
    >>> stops.safe("Hm\n<ca", 0), stops.safe("Hm\n<x", 0)
    (2, 5)
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from copy import copy
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from autoparser.analysis.core.text_alignment import TemplateLiteral
from autoparser.lazy_names import lazy_pattern

from .text_tape import WHITESPACE, LaneSearch, Reading, SpanKind, TextHold, TextLane, TextTape

Label = TypeVar("Label")
# Python 3.11 looks up a member of an Enum ten times slower than a global name.
_MARKUP = SpanKind.MARKUP


class FoundStop(Struct, Generic[Label]):
    """A stop in a text; a struct, since one is made for every marker."""

    start: int
    """The offset of the stop, e.g. 14."""
    end: int
    """The offset after the stop, e.g. 25 for "<tool_call>" at 14."""
    label: Label
    """The meaning of the stop, such as `StopMark.CALLS`."""
    text: str = ""
    """The stop, such as `"<tool_call>"`; empty if the end of all text cuts it."""


class NamedStop(Struct, Generic[Label], frozen=True):
    """Stops that differ only in the name of an offered tool, such as `<function=NAME>`."""

    space: str
    r"""Whitespace that may come before, e.g. "\n"."""
    before: str
    """The text before the name, such as `"<function="`."""
    after: str
    """The text after the name, such as `">"`."""
    label: Label
    """The meaning of the stop, such as `StopMark.CALLS`."""


class ToolNames:
    """The names of the offered tools, as a search needs them."""

    def __init__(self, names: Collection[str]) -> None:
        """Store the names; they are not compiled into patterns, so that new ones cost little."""
        self.names = frozenset(names)
        self.ordered = sorted(self.names)
        # The longest first: a name may begin with another, as `get_weather` does with `get`.
        self.lengths = sorted({len(name) for name in self.ordered}, reverse=True)

    @staticmethod
    @lru_cache(maxsize=64)
    def of(names: frozenset[str] | None) -> ToolNames:
        """Return the names, sorted once; None offers none."""
        return ToolNames(names or ())

    def longest_at(self, text: str, at: int, after: str = "") -> int | None:
        """Return the length of the longest name at an offset with `after` behind it, or None."""
        for length in self.lengths:
            end = at + length
            if text[at:end] in self.names and text.startswith(after, end):
                return length
        return None

    def begins(self, front: str, after: str) -> bool:
        """Return whether a text is a proper prefix of a name with `after` behind it."""
        next_ = bisect_left(self.ordered, front)
        if next_ < len(self.ordered) and self.ordered[next_].startswith(front):
            # A whole name is a proper prefix only of a text that goes on after it.
            if after or len(self.ordered[next_]) > len(front):
                return True
            following = self.ordered[next_ + 1 : next_ + 2]
            return bool(following) and following[0].startswith(front)
        return any(
            front[:length] in self.names
            and len(front) - length < len(after)
            and after.startswith(front[length:])
            for length in self.lengths
        )

    def begin_around(self, front: str, before: str, after: str) -> bool:
        """Return whether a text is a proper prefix of a name with texts around it."""
        size = len(before)
        if len(front) <= size:
            return bool(self.names) and before.startswith(front)
        return front.startswith(before) and self.begins(front[size:], after)

    def longest_with(self, front: str, after: str) -> int:
        """Return the length of the longest name with `after` that begins with a text, or 0."""
        whole = (name for name in self.ordered if f"{name}{after}".startswith(front))
        return max(map(len, whole), default=0)


class StopTable(Generic[Label]):
    """Texts to search for, each with a label; at one offset the longest match wins."""

    def __init__(
        self,
        stops: Sequence[tuple[str, str, Label]],
        tail: str = "",
        loose: Label | None = None,
        named: Sequence[NamedStop[Label]] = (),
        names: frozenset[str] | None = None,
        whole: Collection[Label] = (),
    ) -> None:
        """Compile stops, which are (whitespace that may come before, text, label).

        `tail` is whitespace that may end the whole text. Before stops with the label `loose`, other
        whitespace, at most as long, may replace the template's, if it writes any; and so may the
        opening of a Markdown fence that a model put around the calls. `named` are stops with one
        of `names` in them. Stops with a label in `whole` are text where the end of a text cuts
        them.
        """
        self._whole = frozenset(whole)
        known: dict[str, Label] = {}
        self.spaces: dict[str, str] = {}
        """The whitespace that the template writes before each text."""
        for before, text, label in stops:
            if text:
                known.setdefault(text, label)
                if len(before) > len(self.spaces.get(text, "")):
                    self.spaces[text] = before
        texts = sorted(known, key=len, reverse=True)
        self._named, self._names = tuple(named), ToolNames.of(names)
        heads = [stop.before for stop in named]
        self._labels = known
        self.texts = tuple(texts)
        """The stops without names of tools, the longest first."""
        self._ordered = sorted(texts)
        self._search: LaneSearch | None = None
        self._static = lazy_pattern("|".join(map(re.escape, texts))) if texts else None
        self._pattern = _any_of(sorted({*texts, *heads}, key=len, reverse=True))
        firsts = "".join(sorted({text[0] for text in (*texts, *heads)}))
        self.firsts = re.compile(f"[{re.escape(firsts)}]" if firsts else "(?!)")
        """The pattern of a first character of a stop."""
        self._loose_label = loose
        self._fences = loose is not None and any(
            label == loose for label in (*known.values(), *(stop.label for stop in named))
        )
        spaces = (*self.spaces.values(), *(stop.space for stop in named), tail)
        held = "".join(spaces)
        if any(space and label == loose for space, label in self._space_labels()):
            held += WHITESPACE
        self._held_signs = frozenset(held)
        longest = max((len(text) for text in texts), default=0)
        for stop in named:
            size = len(stop.before) + max(self._names.lengths, default=0) + len(stop.after)
            longest = max(longest, size)
        self._reach = (longest, max(map(len, spaces)))
        self._blank = "".join(sorted(self._held_signs))
        self.ends = self._blank + "`" * self._fences
        """Characters held back at the end of a text; they are too common to search for."""
        self._sign = firsts if len(firsts) == 1 and not self._fences else ""
        self._searched = sorted({*texts, *heads})
        self._known: dict[str, tuple[tuple[str, int], ...] | None] = {}
        """The stops that contain those that were found."""

    def offering(self, names: frozenset[str] | None) -> StopTable[Label]:
        """Return the table for other names of tools: nothing is compiled anew."""
        if not self._named or names == self._names.names:
            return self
        other = copy(self)
        other._offer(ToolNames.of(names))  # noqa: SLF001 - another table of this class
        return other

    def _offer(self, names: ToolNames) -> None:
        sizes = (len(stop.before) + len(stop.after) for stop in self._named)
        longest = max(sizes) + max(names.lengths, default=0)
        self._known = {}
        self._names, self._reach = names, (max(self._reach[0], longest), self._reach[1])
        if self._search is not None:
            self._search = replace(self._search, passed=self.passed)

    def _space_labels(self) -> Iterator[tuple[str, Label]]:
        """Return the whitespace before stops with their labels."""
        yield from ((space, self._labels[text]) for text, space in self.spaces.items())
        yield from ((stop.space, stop.label) for stop in self._named)

    def searching(self, also: str) -> re.Pattern[str]:
        """Return the pattern of texts that may belong to a stop, and of characters in `also`."""
        parts = [*map(re.escape, also), *_beginnings(self._searched, _LOOKED_AT)]
        parts += ["``"] * self._fences
        return re.compile("|".join(parts) or "(?!)")

    def lane(
        self,
        kind: SpanKind,
        emit: Callable[[str], None],
        *,
        quote: Callable[[str], str] | None = None,
        begun: Callable[[str], str] | None = None,
    ) -> TextLane:
        """Return the lane of text in which none of these comes."""
        # Compiled on first use, by streams; a cached property would slow all other attributes.
        search = self._search
        if search is None:
            find = self.searching("").search
            search = self._search = LaneSearch(
                find, self.passed, self._sign, self.ends, self._blank, self._reach[1]
            )
        return TextLane(search, kind, emit, quote, begun)

    def up_to(self, stop: str) -> re.Pattern[str]:
        """Return the pattern of a text up to this stop that has no sign of another one."""
        # A longer stop that begins with this one would be cut by the pattern.
        if self._named or any(text.startswith(stop) and text != stop for text in self.texts):
            return re.compile("(?!)")
        firsts = "".join(sorted({text[0] for text in self.texts}))
        # Possessive, since the class has no first character of a stop: giving some back is in vain.
        return re.compile(f"[^{re.escape(firsts)}]*+{re.escape(stop)}")

    def passed(self, text: str, begun: Callable[[str], str] | None = None) -> int | None:
        """Return the length of a text that can be passed on already, or None if a stop came.

        A stop with which a joint has `begun`, and the text behind it, need not be seen yet.
        """
        found = self.find(text, 0)
        if found is None:
            return self.safe(text, 0)
        if begun is None:
            return None
        end = self.written_before(text, found, 0)
        end = min(end, self.safe(text, 0)) if self.unsure(text, found, 0) else end
        return end if begun(text[end:]) else None

    def find(self, text: str, at: int) -> FoundStop[Label] | None:
        """Return the first stop from `at` on, or None."""
        match = self._pattern.search(text, at) if self._pattern else None
        if match is None:
            return None
        if self._named:
            return self._first_of(text, match)
        stop = match.group()
        return FoundStop(*match.span(), self._labels[stop], stop)

    def _first_of(self, text: str, match: re.Match[str] | None) -> FoundStop[Label] | None:
        """Return the stop at a match or after it; the match may only begin one with a name."""
        while match is not None and self._pattern is not None:
            start = match.start()
            found = self._static.match(text, start) if self._static is not None else None
            best = None
            if found is not None:
                stop_text = found.group()
                best = FoundStop(start, found.end(), self._labels[stop_text], stop_text)
            for stop in self._named:
                if text.startswith(stop.before, start):
                    at = start + len(stop.before)
                    length = self._names.longest_at(text, at, stop.after)
                    end = start if length is None else at + length + len(stop.after)
                    # The longest stop wins, whether it holds a name or not.
                    if end > (start if best is None else best.end):
                        best = FoundStop(start, end, stop.label, text[start:end])
            if best is not None:
                return best
            match = self._pattern.search(text, start + 1)
        return None

    def unsure(self, text: str, found_stop: FoundStop[Label], at: int) -> bool:
        """Return whether more text could show an earlier or a longer stop there."""
        # The stops that contain this one do not depend on the text, so they are looked up once.
        known, stop_text = self._known, found_stop.text
        containing = known[stop_text] if stop_text in known else self._containing(stop_text)
        if containing is not None:
            for stop, ahead in containing:
                begin = found_stop.start - ahead
                if begin >= at and len(stop) > len(text) - begin and stop.startswith(text[begin:]):
                    return True
            return False
        # A stop that is not whole yet begins at most its own length before the end.
        start = max(at, len(text) - self._reach[0])
        for match in self.firsts.finditer(text, start, found_stop.start + 1):
            if self._begins(text[match.start() :]):
                return True
        return False

    def _containing(self, text: str) -> tuple[tuple[str, int], ...] | None:
        """Return the longer stops that contain one, and how far ahead of it they begin.

        Returns None if one with a name may contain it.
        """
        found: tuple[tuple[str, int], ...] | None = None
        if text in self._labels and not any(self._may_hold(stop, text) for stop in self._named):
            others = (stop for stop in self._ordered if text in stop and text != stop)
            found = tuple(
                (stop, at)
                for stop in others
                for at in range(len(stop))
                if stop.startswith(text, at)
            )
        self._known[text] = found
        return found

    def _may_hold(self, stop: NamedStop[Label], text: str) -> bool:
        """Return whether a stop with a name may contain a text."""
        if text[0] in stop.after or any(text[0] in name for name in self._names.ordered):
            return True
        fronts = (stop.before[at:] for at in range(len(stop.before)))
        return any(text.startswith(front) or front.startswith(text) for front in fronts)

    def while_absent(self, tape: TextTape, at: int, limit: int) -> Callable[[], bool]:
        """Return a check that no stop has come since the offset `at`, nor text up to `limit`."""
        search, overlap = self._pattern.search if self._pattern else _NOTHING.search, self._reach[0]

        def still() -> bool:
            nonlocal at
            text, offset = tape.text, tape.offset
            end = offset + len(text)
            # A search from before the text is one from its beginning.
            if end > limit or search(text, at - offset) is not None:
                return False
            # A stop may begin in this piece and end in the next one.
            at = end - overlap
            return True

        return still

    def while_begun(self, tape: TextTape) -> Callable[[], bool] | None:
        """Return a check that all text left may be the front of a stop, or None if it may not."""
        left = tape.text[tape.at :]
        begun = left.lstrip()
        if not begun or not self._begins(begun) or "`" in begun:
            return None
        start = tape.position + len(left) - len(begun)
        return lambda: self._begins(tape.text[start - tape.offset :])

    def _begins(self, rest: str) -> bool:
        """Return whether `rest` is a proper prefix of a stop."""
        texts = self._ordered
        # Sorted, the texts that begin with `rest` come right after its place.
        next_ = bisect_right(texts, rest)
        if next_ < len(texts) and texts[next_].startswith(rest):
            return True
        return bool(self._named) and any(self._begins_named(rest, stop) for stop in self._named)

    def _begins_named(self, rest: str, stop: NamedStop[Label]) -> bool:
        """Return whether `rest` is a proper prefix of a stop with a name."""
        return self._names.begin_around(rest, stop.before, stop.after)

    def safe(self, text: str, at: int) -> int:
        """Return the offset up to which no stop can have begun; whitespace before one is held."""
        longest, widest = self._reach
        end = len(text)
        # A front begins at most as far before the end as the longest stop is long.
        match = self.firsts.search(text, max(at, end - longest))
        while match is not None:
            start = match.start()
            if self._begins(text[start:]):
                end = start
                break
            match = self.firsts.search(text, start + 1)
        if self._fences and "`" in text:
            end = _fence_start(_OPEN_FENCE, text, at, end)
        floor = max(at, end - widest)
        # Whitespace that the template writes before a stop is not part of the message.
        while end > floor and text[end - 1] in self._held_signs:
            end -= 1
        return end

    def cut_stop(self, text: str, at: int) -> FoundStop[Label] | None:
        """Return the stop that the end of the text cuts, with the whitespace before it, or None.

        A word alone may be text: only a front that begins with another sign counts.
        """
        first = max(at, len(text) - self._reach[0])
        for match in self.firsts.finditer(text, first):
            begun = text[match.start() :]
            if begun[0].isalnum() or not self._begins(begun):
                continue
            longer = (stop for stop in self.texts if len(stop) > len(begun))
            begun_stops = (stop for stop in longer if stop.startswith(begun))
            whole = next(
                (stop for stop in begun_stops if self._labels[stop] not in self._whole), ""
            )
            found = [(len(whole), self.spaces.get(whole, ""), self._labels[whole])] if whole else []
            for stop in self._named:
                if self._begins_named(begun, stop):
                    name = self._names.longest_with(begun[len(stop.before) :], stop.after)
                    size = len(stop.before) + name + len(stop.after)
                    found.append((size, stop.space, stop.label))
            if not found:
                continue
            _, space, label = max(found, key=itemgetter(0))
            return FoundStop(self._before(text, match.start(), space, label, at), len(text), label)
        return None

    def written_before(
        self, text: str, found_stop: FoundStop[Label], at: int, *, fence: bool = True
    ) -> int:
        """Return the offset of the whitespace that the template writes before a stop.

        If a `fence` may open before the stop, it is the offset of the whitespace before the fence.
        """
        stop, start = found_stop.text, found_stop.start
        if start == at:
            return at
        space = self.spaces.get(stop)
        if space is None:
            space = "" if stop in self._labels else self._space_before_named(stop)
        if text.endswith(space, at, start) and not (fence and self._fences and "`" in text):
            return start - len(space)
        return self._before(text, start, space, found_stop.label, at, fence=fence)

    def _space_before_named(self, text: str) -> str:
        """Return the whitespace that the template writes before a stop with a name."""
        for stop in self._named:
            if text.startswith(stop.before) and text.endswith(stop.after):
                name = text[len(stop.before) : len(text) - len(stop.after)]
                if name in self._names.names:
                    return stop.space
        return ""

    def _before(
        self, text: str, start: int, space: str, label: Label, at: int, *, fence: bool = True
    ) -> int:
        if fence and self._fences and label == self._loose_label and "`" in text:
            start = _fence_start(_FENCE, text, at, start)
        first = start
        for char in reversed(space):
            if first <= at or text[first - 1] != char:
                break
            first -= 1
        # Models write other whitespace before calls, such as a blank for the template's line break.
        if space and first == start and label == self._loose_label:
            floor = max(at, start - len(space))
            while first > floor and text[first - 1] in WHITESPACE:
                first -= 1
        return first


class MarkupJoints:
    r"""Texts that the template writes between two parts: none of them adds to the message.

    While a text is the front of one, a reader need not look at it: in `\n</think>\n\n<call>` it
    looks once, and not at each piece.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        """Store the texts."""
        self._texts = sorted(set(texts))
        self._firsts = {text[:1] for text in self._texts}

    def may_begin(self, tape: TextTape) -> bool:
        """Return whether all text left may be the front of a joint, by its first character."""
        first = tape.text[tape.at : tape.at + 1]
        return not first or first in self._firsts

    def begun(self, text: str) -> str:
        """Return one of these that a text is, or is the front of; or empty."""
        at = bisect_left(self._texts, text)
        begun = at < len(self._texts) and self._texts[at].startswith(text)
        return self._texts[at] if begun else ""

    def while_begun(
        self, tape: TextTape, behind: tuple[str, TextHold] | None = None
    ) -> Callable[[], bool] | None:
        """Return a check that all text left is the front of a joint, or None if it is not.

        Text `behind` a certain joint is held, as its reader would hold it once woken.
        """
        joint = self.begun(tape.text[tape.at :])
        if not joint:
            return None
        start = tape.offset + tape.at

        def still() -> bool:
            text = tape.text[start - tape.offset :]
            if joint.startswith(text) or self.begun(text):
                return True
            if behind is None or not text.startswith(behind[0]):
                return False
            hold = behind[1]
            if len(text) >= hold.most or hold.wanted in text:
                return False
            tape.hold, tape.still = hold, None
            return True

        return still

    def wait(self, tape: TextTape) -> Reading[None]:
        """Wait while all text left is the front of a joint; a reader may be woken earlier."""
        if not tape.closed:
            tape.still = self.while_begun(tape)
            if tape.still is not None:
                yield


NO_JOINTS = MarkupJoints(())


@lru_cache(maxsize=256)
def wanted_stops(wanted: str, others: tuple[str, ...]) -> StopTable[bool]:
    """Return the stops among which one is wanted; it alone has the label True."""
    return StopTable([("", wanted, True), *(("", text, False) for text in others)])


def _any_of(texts: Iterable[str]) -> re.Pattern[str] | None:
    pattern = "|".join(map(re.escape, texts))
    return re.compile(pattern) if pattern else None


def _beginnings(texts: Iterable[str], most: int) -> list[str]:
    """Return patterns of the beginnings of sorted texts, up to `most` characters."""
    patterns: list[str] = []
    for first, group in groupby(texts, key=lambda text: text[0]):
        rests = [text[1:] for text in group]
        # If a text ends here, whatever follows belongs to a match.
        further = _beginnings(rests, most - 1) if all(rests) and most > 1 else []
        following = "|".join([*further, r"\Z"])
        patterns.append(re.escape(first) + (f"(?:{following})" if further else ""))
    return patterns


_NOTHING = lazy_pattern("(?!)")
_LOOKED_AT = 4
"""Characters that distinguish most text from the beginning of a stop."""
_OPEN_FENCE = lazy_pattern(r"`(?:`?|`{2,7}[\w.+-]{0,32}[ \t]*\r?\n?\s{0,16})\Z")
"""The opening of a Markdown fence, or the front of one, at the end of a text."""
_FENCE = lazy_pattern(r"`{3,8}[\w.+-]{0,32}[ \t]*\r?\n\s{0,16}\Z")
_LONGEST_FENCE = 64


def _fence_start(fence: re.Pattern[str], text: str, at: int, end: int) -> int:
    """Return the offset of a fence that ends at `end`, or `end` if none does."""
    match = fence.search(text, max(at, end - _LONGEST_FENCE), end)
    return end if match is None else match.start()


class TextLookahead:
    """A cursor in the text that a reader moves past the texts that it finds.

    A reader that waits for more text resumes at the cursor. So the decision about a marker costs as
    much as the text that it needs, however the text is cut, and however much comes after it.
    """

    def __init__(self, tape: TextTape, at: int) -> None:
        """Start at an offset in all text that was fed."""
        self.tape = tape
        self._at = at
        self.short = False
        """Whether the text ended inside a wanted text."""

    @property
    def at(self) -> int:
        """The offset in the tape's text."""
        return self._at - self.tape.offset

    def space(self) -> Reading[None]:
        """Move past whitespace, but wait only for as much as a template may write."""
        # A model that writes blanks without end must not hold the stream.
        tape, limit = self.tape, self._at + _LONGEST_SPACE
        while True:
            text, at = tape.text, self._at - tape.offset
            if at < len(text) and not text[at].isspace():
                return
            match = _SPACE.match(text, at, limit - tape.offset)
            if match is not None:
                at = match.end()
                self._at = tape.offset + at
            if at < len(text) or tape.closed or self._at == limit:
                return
            yield

    def ended(self) -> Reading[bool]:
        """Return whether the text ends here."""
        tape = self.tape
        while self._at - tape.offset >= len(tape.text) and not tape.closed:
            yield
        return self._at - tape.offset >= len(tape.text)

    def text(self, wanted: str) -> Reading[bool]:
        """Move past a text if it is there; return whether it was."""
        tape = self.tape
        while True:
            text, at = tape.text, self._at - tape.offset
            if len(text) - at >= len(wanted):
                there = text.startswith(wanted, at)
                self._at += len(wanted) if there else 0
                return there
            if not wanted.startswith(text[at:]):
                return False
            if tape.closed:
                self.short = True
                return False
            tape.waits_for_rest(wanted, self._at)
            yield

    def is_before(self, wanted: tuple[str, ...]) -> bool:
        """Return whether one of these texts, whole, comes next, whitespace aside."""
        text, at = self.tape.text, self.at
        space = _SPACE.match(text, at, at + _LONGEST_SPACE)
        return text.startswith(_longest_first(wanted), at if space is None else space.end())

    def row(self, units: Iterable[str]) -> Reading[bool]:
        """Move past texts in order, with whitespace before each; return whether all were there."""
        start = self._at
        for unit in units:
            text, at = self.tape.text, self.at
            if text.startswith(unit, at) and not unit[:1].isspace():
                self._at += len(unit)
                continue
            yield from self.space()
            if not (yield from self.text(unit)):
                self._at = start
                return False
        return True

    def among(self, wanted: Iterable[str]) -> Reading[str | None]:
        """Move past the longest of these texts that is there, and return it, or None."""
        tape, texts = self.tape, _longest_first(tuple(wanted))
        while True:
            text, at = tape.text, self._at - tape.offset
            if at >= len(text) and tape.closed:
                self.short = self.short or bool(texts)
                return None
            rest = text[at : at + len(texts[0])] if texts else ""
            begun = ""
            # The longest first, and a longer one that may still come is waited for.
            for wanted_text in texts:
                if rest.startswith(wanted_text):
                    self._at += len(wanted_text)
                    return wanted_text
                if len(rest) < len(wanted_text) and wanted_text.startswith(rest):
                    if not tape.closed:
                        begun = wanted_text
                        break
                    self.short = True
            if not begun:
                return None
            tape.waits_for_rest(begun, self._at)
            yield

    def first_of(self, stops: StopTable[bool], most: int) -> Reading[bool]:
        """Move up to the first of these texts within `most` characters; return its label.

        Returns False if none comes so soon.
        """
        tape, limit = self.tape, self._at + most
        while True:
            found = stops.find(tape.text, self.at)
            # More text may turn this stop into a longer one that begins earlier.
            if found is not None and not tape.closed and stops.unsure(tape.text, found, self.at):
                yield
                continue
            end = stops.safe(tape.text, self.at) if found is None else found.start
            self._at = tape.offset + end
            if found is not None or tape.closed or self._at > limit:
                return found is not None and self._at <= limit and found.label
            tape.still = stops.while_absent(tape, self._at, limit)
            yield

    def word(self, pattern: re.Pattern[str], longest: int) -> Reading[str]:
        """Move past a word and return it, or an empty text if it is missing or too long."""
        tape = self.tape
        while True:
            text, at = tape.text, self.at
            match = pattern.match(text, at, at + longest + 1)
            end = at if match is None else match.end()
            if end - at > longest:
                return ""
            if end < len(text) or tape.closed:
                self._at += end - at
                return text[at:end]
            yield


GoesOn: TypeAlias = Callable[[TextLookahead], Reading[bool | None]]
"""Decides whether the closers of a call come here and then a text that may follow a call.

Its result is None if all closers come and another text follows them.
"""


def ends_nowhere(ahead: TextLookahead) -> Reading[bool | None]:
    """Return False: no text is known to follow arguments."""
    del ahead
    yield from ()
    return False


_SPACE = lazy_pattern(r"\s*")
_LONGEST_SPACE = 4096


# Literals taken from the tape, with other whitespace around them.


def skip_space(tape: TextTape, kind: SpanKind = SpanKind.MARKUP) -> Reading[None]:
    """Take all whitespace from the front."""
    while True:
        text, at = tape.text, tape.at
        end = at
        while end < len(text) and text[end].isspace():
            end += 1
        if end > at:
            tape.take(end - at, kind)
        if end < len(text) or tape.closed:
            return
        yield


def skip_written(tape: TextTape, space: str) -> Reading[str]:
    """Take the whitespace that the template writes here, as far as it is there; return it."""
    if tape.text.startswith(space, tape.at):
        return tape.take(len(space), _MARKUP)
    # Models write less of it than the template, such as one line break of two.
    taken = ""
    for char in space:
        if not (yield from tape.wait(1)):
            break
        # A line break of Windows is one line break.
        wide = char == "\n" and tape.text[tape.at] == "\r" and (yield from tape.wait(2))
        if tape.text[tape.at + wide] != char:
            break
        taken += tape.take(1 + wide, _MARKUP)
    return taken


def at_text(tape: TextTape, wanted: str) -> Reading[bool]:
    """Return whether the text at the front is `wanted`; take no text."""
    while True:
        text, at = tape.text, tape.at
        there = len(text) - at
        if there >= len(wanted):
            return text.startswith(wanted, at)
        if not wanted.startswith(text[at:]):
            return False
        if tape.closed:
            tape.fell_short()
            return False
        tape.waits_for_rest(wanted, tape.position)
        yield


def take_text(tape: TextTape, wanted: str) -> Reading[bool]:
    """Take a text if it is at the front; return whether it was."""
    there = yield from at_text(tape, wanted)
    if there:
        tape.take(len(wanted), _MARKUP)
    return there


def take_row(tape: TextTape, units: Iterable[str]) -> bool:
    """Take texts in order, with whitespace before each, if all are there; return whether they were.

    Readers that wait try it first: most texts come in one piece.
    """
    text, begin = tape.text, tape.at
    end = begin
    for unit in units:
        if not text.startswith(unit, end):
            space = _SPACE.match(text, end, end + _LONGEST_SPACE)
            end = end if space is None else space.end()
            if not text.startswith(unit, end):
                return False
        end += len(unit)
    tape.take(end - begin, _MARKUP)
    return True


def take_behind_space(tape: TextTape, wanted: str) -> Reading[bool]:
    """Take a text and the whitespace before it if it comes next; return whether it did."""
    if take_row(tape, (wanted,)):
        return True
    there = yield from behind_space(tape, wanted)
    if there:
        if not tape.text.startswith(wanted, tape.at):
            yield from skip_space(tape)
        tape.take(len(wanted), _MARKUP)
    return there


def behind_space(tape: TextTape, wanted: str) -> Reading[bool]:
    """Return whether `wanted` comes next, whitespace aside; take no text."""
    # Most texts come here, or behind a little whitespace: no cursor is made for these.
    text, at = tape.text, tape.at
    if wanted and not wanted[0].isspace():
        space = _SPACE.match(text, at, at + _LONGEST_SPACE)
        if space is not None and text.startswith(wanted, space.end()):
            return True
    ahead = TextLookahead(tape, tape.position)
    yield from ahead.space()
    there = yield from ahead.text(wanted)
    if ahead.short:
        tape.fell_short()
    return there


def behind_space_any(tape: TextTape, wanted: tuple[str, ...]) -> Reading[str | None]:
    """Return the longest of the texts that comes next, whitespace aside; take no text."""
    if not wanted:
        return None
    ahead = TextLookahead(tape, tape.position)
    yield from ahead.space()
    return (yield from ahead.among(wanted))


def at_any(tape: TextTape, wanted: tuple[str, ...]) -> Reading[str | None]:
    """Return the longest of the texts that is at the front, or None; take no text."""
    texts = _longest_first(wanted)
    while True:
        rest = tape.text[tape.at : tape.at + len(texts[0])] if texts else ""
        begun = ""
        for text in texts:
            if rest.startswith(text):
                return text
            if len(rest) < len(text) and text.startswith(rest):
                if not tape.closed:
                    begun = text
                    break
                tape.fell_short()
        if not begun:
            return None
        tape.waits_for_rest(begun, tape.position)
        yield


@lru_cache(maxsize=512)
def _longest_first(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the texts that are not empty, the longest first."""
    return tuple(sorted(filter(None, texts), key=len, reverse=True))


def read_literal(tape: TextTape, literal: TemplateLiteral) -> Reading[bool]:
    """Take a literal with any whitespace between its units and at its edges.

    Returns False if a unit of it is missing; the units before that were taken.
    """
    # Whitespace alone has no unit to look for.
    if not literal.core:
        yield from skip_written(tape, literal.before)
        return True
    for unit in () if take_row(tape, literal.units) else literal.units:
        yield from skip_space(tape)
        if not (yield from take_text(tape, unit)):
            return False
    yield from skip_written(tape, literal.after)
    return True
