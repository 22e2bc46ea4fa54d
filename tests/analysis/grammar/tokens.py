"""Small tokenizers: one token a byte, and the markers that are given as added tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import cache

from llguidance import LLMatcher, LLTokenizer
from tokenizers import Tokenizer

from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.text_alignment import edge_units, is_unit
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.sources.token_bytes import byte_tokenizer as bytes_and

EOS = "<eos-of-the-tests>"


@cache
def byte_tokenizer(added: tuple[str, ...] = ()) -> Tokenizer:
    """Make a tokenizer of bytes; the end of an output has a token of its own."""
    return bytes_and([(EOS, True), *((text, False) for text in added)])


@cache
def guidance(added: tuple[str, ...] = ()) -> LLTokenizer:
    """Load such a tokenizer into llguidance."""
    tokenizer = byte_tokenizer(added)
    return LLTokenizer(tokenizer.to_str(), eos_token=tokenizer.token_to_id(EOS))


def ids(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return the tokens of a text."""
    found: Sequence[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return list(found)


def markers(format_: TurnFormat) -> tuple[str, ...]:
    """List the markers of a format that a tokenizer would have as tokens: all in brackets."""
    return tuple(sorted({unit for text in _literals(format_) for unit in _units(text)}))


def _literals(format_: TurnFormat) -> Iterable[str]:
    for layout in format_.layouts.values():
        yield from layout.literals
    yield from (end.text for end in format_.ends)
    calls = format_.calls
    if calls is not None:
        yield from (calls.section_open, calls.section_close, calls.separator)
        yield from (piece for piece in calls.row if not isinstance(piece, RowSlot))


def _units(text: str) -> Iterable[str]:
    """Return the bracketed units that are closed and hold a word."""
    for unit in edge_units(text):
        whole = unit[-1:] in ">]⟧⟩」】" and any(char.isalpha() for char in unit)
        if is_unit(unit) and whole and "=" not in unit and '"' not in unit:
            yield unit


def done_by(start: LLMatcher, refused: Sequence[int]) -> dict[str, int]:
    """Return the statistics of a matcher, which are complete at its end, by refused tokens."""
    start.consume_tokens([*refused])
    told = re.search(r"Parser: (\{.*?\n\})", start.get_error(), re.DOTALL)
    assert told is not None
    done: dict[str, int] = json.loads(told[1])
    return done
