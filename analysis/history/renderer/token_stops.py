"""What ends an output, as texts and as ids, by what stands before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.format.turn_stops import StopText
from autoparser.analysis.loading.tokens import TokenText


@dataclass(frozen=True, slots=True)
class TurnStop:
    """A text that ends a turn, as a tokenizer writes it."""

    text: str
    ids: tuple[int, ...]
    eos: int | None
    """The token at which it is complete: it, or the last of several; None where its last marker is
    no token of the vocabulary."""
    inside: bool
    """It also stands inside turns: only after content, or after a call, an output ends there."""


@dataclass(frozen=True)
class TurnStops:
    """What ends turns, that which the template writes first."""

    after_content: tuple[TurnStop, ...]
    after_calls: tuple[TurnStop, ...]

    @cached_property
    def all(self) -> tuple[TurnStop, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys((*self.after_content, *self.after_calls)))

    @cached_property
    def ids(self) -> tuple[int, ...]:
        """The tokens at which an output ends wherever they stand."""
        return _eos(self.all, inside=False)

    @cached_property
    def inside_ids(self) -> tuple[int, ...]:
        """The tokens at which an output ends once it has content or a call, and no sooner."""
        return tuple(id_ for id_ in _eos(self.all, inside=True) if id_ not in self.ids)


def turn_stops(analysis: Analysis, tokens: TokenText) -> TurnStops:
    """Return what ends the turns of a template, as this tokenizer writes it."""
    texts = analysis.stop_texts
    return TurnStops(
        tuple(_stops(texts.after_content, tokens)), tuple(_stops(texts.after_calls, tokens))
    )


def _stops(texts: tuple[StopText, ...], tokens: TokenText) -> Iterator[TurnStop]:
    for stop in texts:
        last = tokens.single(stop.last)
        ids = (last,) if last is not None and stop.last == stop.text else tokens.ids(stop.text)
        yield TurnStop(stop.text, tuple(ids), last, stop.inside)


def _eos(stops: tuple[TurnStop, ...], *, inside: bool) -> tuple[int, ...]:
    found = (stop.eos for stop in stops if stop.inside is inside)
    return tuple(dict.fromkeys(id_ for id_ in found if id_ is not None))
