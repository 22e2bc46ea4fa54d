"""What the compiled code of a traced render calls, and what comes of it.

Contract: whatever is passed through a method comes out of it unchanged, so a traced render writes
what any other does. What a macro or a block `set` has written is known again where it is put out by
the identity of its text, and inside a longer text where it stands there once: in

    {% macro tag(x) %}<{{ x }}>{% endmacro %}{{ 'a' ~ tag(1) }}

`a` is of the last place, `<`, `1` and `>` are of those in the macro, through the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from .render_trace import OpenSite, PromptPiece, SeenValue, StepKind, TraceStep
from .value_words import value_words

__all__ = ["MOST_STEPS", "TraceRecorder"]

Value = TypeVar("Value")

MOST_STEPS = 20_000
"""Steps that are kept; those after them are counted."""

MOST_JOINED = 32
"""Texts of macros that are looked for inside what one expression writes."""


class _Open:
    """A place at work."""

    __slots__ = ("joined_before", "seen", "site")

    def __init__(self, site: int, joined_before: int) -> None:
        self.site = site
        self.joined_before = joined_before
        self.seen: list[SeenValue] = []


class TraceRecorder:
    """Of one render."""

    def __init__(self, names: Sequence[str], most_steps: int) -> None:
        """Know the names that the code asks for; of no steps, no value is put into words."""
        self._names = names
        self._most_steps = most_steps
        self._open: list[_Open] = []
        self._passes: dict[int, int] = {}
        self._buffers: dict[int, list[PromptPiece]] = {}
        self._joined: dict[int, tuple[str, list[PromptPiece]]] = {}
        """By the identity of a text that was put together: it, and what it was made of."""
        self.pieces: list[PromptPiece] = []
        self.steps: list[TraceStep] = []
        self.left_out = 0

    @property
    def ended_in(self) -> tuple[OpenSite, ...]:
        """What is at work."""
        return tuple(OpenSite(each.site, tuple(each.seen)) for each in self._open)

    def enter(self, site: int) -> int:
        """Begin the work of a place, and give its number."""
        self._open.append(_Open(site, len(self._joined)))
        return site

    def seen(self, name: int, value: Value) -> Value:
        """Note what a name stands for."""
        if self._open and self._most_steps:
            noted = SeenValue(self._names[name], value_words(value))
            if noted not in self._open[-1].seen:
                self._open[-1].seen.append(noted)
        return value

    def plain(self, site: int, text: str, buffer: object = None) -> str:
        """Note a text of the template itself."""
        self._put([PromptPiece(text, site, (), self._made)], buffer)
        return text

    def written(self, site: int, text: str, buffer: object = None) -> str:
        """Note what an expression writes."""
        opened = self._leave(site, StepKind.WRITE, text)
        before = 0 if opened is None else opened.joined_before
        joined = [*islice(self._joined.values(), before, None)]
        self._put(list(self._pieces_of(site, text, joined)), buffer)
        return text

    def put_out(self, text: str, buffer: object = None) -> str:
        """Note what a block puts out, which writes nothing of its own."""
        self._put(list(self._pieces_of(None, text, [*self._joined.values()])), buffer)
        return text

    def tested(self, site: int, value: Value) -> Value:
        """Note what came of a test, which is not asked for its truth a second time by that."""
        held = bool(value)
        self._leave(site, StepKind.TEST, value, held=held)
        return value

    def looped(self, site: int, value: Value) -> Value:
        """Note what a loop goes through."""
        self._leave(site, StepKind.LOOP, value)
        self._passes[site] = 0
        return value

    def turned(self, site: int, value: object) -> None:
        """Note that a loop goes through its body."""
        self._passes[site] = self._passes.get(site, 0) + 1
        self._made_step(site, StepKind.PASS, value, number=self._passes[site])

    def stored(self, site: int, value: Value) -> Value:
        """Note what a variable is set to."""
        self._leave(site, StepKind.SET, value)
        return value

    def concat(self, buffer: Iterable[str]) -> str:
        """Put together what a macro or a block has written, as a text that is known again."""
        text = "".join(buffer)
        made_of = self._buffers.pop(id(buffer), None)
        if made_of is None or len(text) < 2:  # noqa: PLR2004 - shorter ones exist once for all
            return text
        # A new one: Python gives a text that is joined from one piece back as that piece.
        text = f"{text} "[:-1]
        self._joined[id(text)] = (text, made_of)
        return text

    @property
    def _made(self) -> int:
        return len(self.steps) + self.left_out

    def _leave(
        self, site: int, kind: StepKind, value: object, *, held: bool | None = None
    ) -> _Open | None:
        opened = None
        while self._open and (opened is None or opened.site != site):
            opened = self._open.pop()
        seen = tuple(opened.seen) if opened is not None else ()
        self._made_step(site, kind, value, held=held, seen=seen)
        return opened

    def _made_step(
        self,
        site: int,
        kind: StepKind,
        value: object,
        *,
        held: bool | None = None,
        number: int = 0,
        seen: tuple[SeenValue, ...] = (),
    ) -> None:
        if len(self.steps) >= self._most_steps:
            self.left_out += 1
        else:
            self.steps.append(TraceStep(kind, site, value_words(value), held, number, seen))

    def _put(self, pieces: list[PromptPiece], buffer: object) -> None:
        kept = self.pieces if buffer is None else self._buffers.setdefault(id(buffer), [])
        kept += [piece for piece in pieces if piece.text]

    def _pieces_of(
        self, site: int | None, text: str, joined: Sequence[tuple[str, list[PromptPiece]]]
    ) -> Iterator[PromptPiece]:
        known = self._joined.get(id(text))
        if known is not None:
            yield from _through(known[1], site)
            return
        at = 0
        for start, pieces in _inside(text, joined[-MOST_JOINED:]):
            if text[at:start]:
                yield PromptPiece(text[at:start], site, (), self._made)
            yield from _through(pieces, site)
            at = start + sum(len(piece.text) for piece in pieces)
        if text[at:]:
            yield PromptPiece(text[at:], site, (), self._made)


def _through(pieces: Iterable[PromptPiece], site: int | None) -> Iterator[PromptPiece]:
    for piece in pieces:
        through = piece.through if site is None else (*piece.through, site)
        yield PromptPiece(piece.text, piece.site, through, piece.after)


def _inside(
    text: str, joined: Sequence[tuple[str, list[PromptPiece]]]
) -> list[tuple[int, list[PromptPiece]]]:
    """Return where which of the joined texts stand in a text, as far as there is no doubt."""
    found: list[tuple[int, int, list[PromptPiece]]] = []
    for whole, pieces in sorted(joined, key=lambda each: -len(each[0])):
        # A filter may have taken the white space at its edges.
        for part in dict.fromkeys((whole, whole.strip())):
            if part and text.count(part) == 1:
                start = text.index(part)
                end = start + len(part)
                if all(end <= other or start >= after for other, after, _ in found):
                    found.append((start, end, _cut(pieces, whole.index(part), len(part))))
                break
    return [(start, pieces) for start, _, pieces in sorted(found, key=lambda each: each[0])]


def _cut(pieces: Iterable[PromptPiece], start: int, length: int) -> list[PromptPiece]:
    """Return the pieces of a part of what they are the pieces of."""
    cut: list[PromptPiece] = []
    at = 0
    for piece in pieces:
        text = piece.text[max(0, start - at) : max(0, start + length - at)]
        if text:
            cut.append(PromptPiece(text, piece.site, piece.through, piece.after))
        at += len(piece.text)
    return cut
