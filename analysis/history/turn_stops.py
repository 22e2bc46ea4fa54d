"""Encode the stops of an output: as texts and as ids, after content and after calls.

After calls, `fixtures/templates/t6-function-tag-json.jinja` writes `<|eom|><|eot|>`. If both are
tokens of the vocabulary, that stop has two ids, and `eos` is the one of `<|eot|>`, which completes
it; after content, the only stop is `<|eot|>`, with one id, which is also `eos`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.stop_texts import StopText
from autoparser.analysis.sources.tokenizer import TokenText


@dataclass(frozen=True, slots=True)
class TurnStop:
    """A text that ends a turn, as a tokenizer writes it."""

    text: str
    """The text, e.g. `"<|im_end|>"`."""
    ids: tuple[int, ...]
    """The tokens of the text, such as `(263,)`; one if it is a token of the vocabulary."""
    eos: int | None
    """The token that completes it, such as `262`: its only or last token, or None if its last
    marker is not a token of the vocabulary."""
    inside: bool
    """Whether it also occurs inside turns, such as `"."` or `"<|end|>"` between channels: an output
    ends there only after content or a call."""


@dataclass(frozen=True)
class TurnStops:
    """The stops of turns, the one that the template writes first."""

    after_content: tuple[TurnStop, ...]
    """The stops of a turn that ends with content, such as the one with the text `"<|im_end|>"`."""
    after_calls: tuple[TurnStop, ...]
    """The stops of a turn that ends with calls, such as the one with the text `"<|im_end|>"`."""

    @cached_property
    def all(self) -> tuple[TurnStop, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys((*self.after_content, *self.after_calls)))

    @cached_property
    def ids(self) -> tuple[int, ...]:
        """The tokens at which an output ends wherever they occur."""
        return _end_ids(self.all, inside=False)

    @cached_property
    def inside_ids(self) -> tuple[int, ...]:
        """The tokens at which an output ends only once it has content or a call."""
        return tuple(id_ for id_ in _end_ids(self.all, inside=True) if id_ not in self.ids)


def turn_stops(analysis: Analysis, tokens: TokenText) -> TurnStops:
    """Return the stops of a template's turns, as this tokenizer encodes them."""
    texts = analysis.stop_texts
    return TurnStops(
        tuple(_encode_stops(texts.after_content, tokens)),
        tuple(_encode_stops(texts.after_calls, tokens)),
    )


def _encode_stops(texts: tuple[StopText, ...], tokens: TokenText) -> Iterator[TurnStop]:
    for stop in texts:
        # Engines compare tokens, so a stop of several markers is complete with the last one.
        last = tokens.single(stop.last)
        ids = (last,) if last is not None and stop.last == stop.text else tokens.ids(stop.text)
        yield TurnStop(stop.text, tuple(ids), last, stop.inside)


def _end_ids(stops: tuple[TurnStop, ...], *, inside: bool) -> tuple[int, ...]:
    found = (stop.eos for stop in stops if stop.inside is inside)
    return tuple(dict.fromkeys(id_ for id_ in found if id_ is not None))
