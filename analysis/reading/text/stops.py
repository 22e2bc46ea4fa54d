"""The texts that end a free text, found as it comes: nothing is held back without need."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from .tape import OPEN_FENCE, WHITESPACE, held_from

Label = TypeVar("Label")


class Found(NamedTuple, Generic[Label]):
    """A stop in a text."""

    start: int
    end: int
    label: Label


class Stops(Generic[Label]):
    """Texts to look for, each with what it means; the longest that fits is the one."""

    __slots__ = (
        "_fenced",
        "_firsts",
        "_held",
        "_labels",
        "_loose",
        "_pattern",
        "_reach",
        "_special",
        "_texts",
        "fenced",
        "hold",
        "search",
        "spaces",
    )

    def __init__(
        self,
        stops: Sequence[tuple[str, str, Label]],
        tail: str = "",
        loose: Label | None = None,
    ) -> None:
        """Take stops as (whitespace that may stand before, text, label).

        `tail` is whitespace that may end the whole text. Before stops of the label `loose` other
        whitespace, as long at most, may stand for the template's, where it writes any; and what
        opens a fence of Markdown, which a model put around what begins there.
        """
        known: dict[str, Label] = {}
        self.spaces: dict[str, str] = {}
        """The whitespace that the template writes before each text."""
        for before, text, label in stops:
            if text:
                known.setdefault(text, label)
                if len(before) > len(self.spaces.get(text, "")):
                    self.spaces[text] = before
        texts = sorted(known, key=len, reverse=True)
        self._labels = known
        self._texts = tuple(texts)
        self._pattern = re.compile("|".join(map(re.escape, texts))) if texts else None
        firsts = "".join(sorted({text[0] for text in texts}))
        self._firsts = re.compile(f"[{re.escape(firsts)}]") if firsts else None
        self._loose = frozenset(text for text in self.spaces if known[text] == loose)
        fenced = () if loose is None else known
        self._fenced = frozenset(text for text in fenced if known[text] == loose)
        self.fenced = bool(self._fenced) and not any(text[0] == "`" for text in texts)
        """Whether backticks may open a fence around a stop, and begin none."""
        spaces = (*self.spaces.values(), tail)
        self._held = frozenset("".join(spaces) + (WHITESPACE if self._loose else ""))
        longest = max((len(text) for text in texts), default=0)
        self._reach = (longest, max(map(len, spaces)))
        self.hold = self._reach[1] if self._loose else 0
        """How much whitespace at the end of a text may belong to a stop that comes."""
        self._special = self.searching("")
        self.search: Callable[[str], object] = self._special.search
        """Finds what may belong to a stop; None where a text holds nothing of one."""

    def searching(self, also: str) -> re.Pattern[str]:
        """Return a pattern for what may belong to a stop, and for the characters of `also`."""
        always = {*also, *(text[0] for text in self._texts)}
        last = self._held - always - (frozenset(WHITESPACE) if self._loose else frozenset())
        parts = [f"[{re.escape(''.join(sorted(always)))}]"] if always else []
        parts += [rf"[{re.escape(''.join(sorted(last)))}]\Z"] if last else []
        return re.compile("|".join(parts) or "(?!)")

    def plain(self, text: str, at: int) -> bool:
        """Say at once that a text holds no stop, nor the beginning of one but what is held.

        One backtick alone quotes code, and at the end it is held.
        """
        if self._special.search(text, at) is not None:
            return False
        end = len(text)
        return not self.fenced or _fence_start(OPEN_FENCE, text, at, end) >= end - 1

    def held(self, text: str, at: int) -> int:
        """Say where the end of a text begins that may belong to a stop that comes."""
        return held_from(text, at, self.hold, fenced=self.fenced)

    def find(self, text: str, at: int) -> Found[Label] | None:
        """Find the first stop from `at` on."""
        match = self._pattern.search(text, at) if self._pattern else None
        if match is None:
            return None
        return Found(match.start(), match.end(), self._labels[match.group()])

    def unsure(self, text: str, found: Found[Label], at: int) -> bool:
        """Whether more text could show that an earlier stop or a longer one stands there."""
        start = max(at, len(text) - self._reach[0])
        begun = range(start, found.start + 1) if start <= found.start else ()
        return any(self._begins(text[at:]) for at in begun)

    def _begins(self, rest: str) -> bool:
        """Whether a stop begins with all of `rest`, and goes on."""
        return any(len(stop) > len(rest) and stop.startswith(rest) for stop in self._texts)

    def safe(self, text: str, at: int) -> int:
        """Say up to where no stop can have begun; whitespace before a stop is held with it."""
        longest, widest = self._reach
        end = len(text)
        if self._firsts is not None:
            for match in self._firsts.finditer(text, max(at, end - longest)):
                if self._begins(text[match.start() :]):
                    end = match.start()
                    break
        if self._fenced:
            end = _fence_start(OPEN_FENCE, text, at, end)
        floor = max(at, end - widest)
        while end > floor and text[end - 1] in self._held:
            end -= 1
        return end

    def begun(self, text: str, at: int) -> Found[Label] | None:
        """Return the stop that the text's end cuts, with the whitespace that is written before it.

        A word alone may be text: only what begins with another sign begins a stop.
        """
        first = max(at, len(text) - self._reach[0])
        for match in self._firsts.finditer(text, first) if self._firsts is not None else ():
            begun = text[match.start() :]
            longer = (stop for stop in self._texts if len(stop) > len(begun))
            whole = next((stop for stop in longer if stop.startswith(begun)), None)
            if whole is not None and not begun[0].isalnum():
                start = self._before(text, match.start(), whole, at)
                return Found(start, len(text), self._labels[whole])
        return None

    def written_before(self, text: str, found: Found[Label], at: int, *, fence: bool = True) -> int:
        """Say where the whitespace begins that the template writes before a stop.

        Where a `fence` may open before it, the fence begins there, and the whitespace before that.
        """
        stop = text[found.start : found.end]
        return self._before(text, found.start, stop, at, fence=fence)

    def _before(self, text: str, start: int, stop: str, at: int, *, fence: bool = True) -> int:
        spaces = self.spaces.get(stop, "")
        if fence and stop in self._fenced:
            start = _fence_start(_FENCE, text, at, start)
        first = start
        for char in reversed(spaces):
            if first <= at or text[first - 1] != char:
                break
            first -= 1
        if first == start and stop in self._loose:
            floor = max(at, start - len(spaces))
            while first > floor and text[first - 1] in WHITESPACE:
                first -= 1
        return first


_FENCE = re.compile(r"`{3,8}[\w.+-]{0,32}[ \t]*\r?\n\s{0,16}\Z")
_LONGEST_FENCE = 64


def _fence_start(fence: re.Pattern[str], text: str, at: int, end: int) -> int:
    """Say where a fence begins that ends here; here, if none does."""
    first = max(at, end - _LONGEST_FENCE)
    if text.find("`", first, end) < 0:
        return end
    match = fence.search(text, first, end)
    return end if match is None else match.start()
