"""The judge of a grammar in GBNF, and small tokenizers: one token a byte, and given markers.

llguidance reads the grammar, and it is checked to be llama.cpp's."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Any

from llguidance import LLMatcher, LLTokenizer, grammar_from
from tokenizers import Tokenizer

from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.text_alignment import edge_units, is_unit
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.grammar.gbnf_rules import GbnfRules
from autoparser.analysis.grammar.gbnf_schemas import schema_rules
from autoparser.analysis.grammar.grammar_rules import JsonStyle
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


LONGEST_WALK = 10_000


@lru_cache(maxsize=1)
def tokenizer() -> LLTokenizer:
    """One token a byte, so that the grammar alone decides."""
    return LLTokenizer("byte")


def gbnf(schema: Any, **style: Any) -> str:
    rules = GbnfRules()
    return rules.text(schema_rules(schema, rules, JsonStyle(**style)))


class Judge:
    def __init__(self, text: str) -> None:
        self.text = text
        check_gbnf(text)
        self.matcher = LLMatcher(tokenizer(), grammar_from("gbnf", text), log_level=0)
        assert not self.matcher.is_error(), self.matcher.get_error()

    @classmethod
    def of(cls, schema: Any, **style: Any) -> Judge:
        return cls(gbnf(schema, **style))

    def accepts(self, text: str) -> bool:
        tokens = list(text.encode())
        matcher = self.matcher.deep_copy()
        taken = matcher.try_consume_tokens(tokens)
        assert not matcher.is_error(), matcher.get_error()
        return taken == len(tokens) and matcher.is_accepting()

    def takes(self, value: Any, *, ascii_only: bool = False) -> bool:
        """Ask about a value, as `json.dumps` writes it."""
        return self.accepts(json.dumps(value, ensure_ascii=ascii_only))

    def walk(self, rng: random.Random) -> str:
        """Sample tokens from the masks until the grammar ends; prefer to end."""
        matcher = self.matcher.deep_copy()
        end = tokenizer().eos_token
        tokens: list[int] = []
        while not matcher.is_stopped():
            assert len(tokens) < LONGEST_WALK, f"no end after {bytes(tokens[:200])!r}"
            mask = matcher.compute_bitmask()
            allowed = [at for at in range(len(mask) * 8) if mask[at // 8] >> at % 8 & 1]
            assert allowed, f"nothing may follow {bytes(tokens)!r}"
            if end in allowed:
                break
            token = _likely(allowed, len(tokens), rng)
            assert matcher.consume_token(token), matcher.get_error()
            tokens.append(token)
        return bytes(tokens).decode()


FEW = 20
"""Fewer tokens than this are allowed between values, more inside a string."""


def _likely(allowed: list[int], written: int, rng: random.Random) -> int:
    """Choose a token; the longer the text, the more likely a closing one."""
    closing = [token for token in allowed if token in (b'"' if len(allowed) > FEW else b"]}")]
    if closing and rng.random() < 0.1 + written / 500:
        return rng.choice(closing)
    ascii_only = [token for token in allowed if token < 0x80]
    return rng.choice(ascii_only if ascii_only and rng.random() < 0.95 else allowed)


THRESHOLD = 2000

_ESCAPE = r"\\(?:[nrt\\\"\[\]]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})"
_SIGN = rf"(?:[^\\\]]|{_ESCAPE})"
_TEXT = re.compile(rf'"(?:[^\\"]|{_ESCAPE})*"')
_CLASS = re.compile(rf"\[\^?{_SIGN}+\]")
_NAME = re.compile(r"[a-zA-Z0-9-]+")
_COUNT = re.compile(r"[*+?]|\{(?P<least>\d+)(?:(?P<range>,)(?P<most>\d*))?\}")

Rules = dict[str, list[tuple[str, ...]]]
"""The alternatives of each rule: names, and an empty text for a character that is read."""


class GbnfError(Exception):
    """Raised for a text that llama.cpp does not read."""


def check_gbnf(text: str) -> None:
    """Raise GbnfError unless llama.cpp reads a grammar."""
    rules: Rules = {}
    for line in text.removesuffix("\n").split("\n"):
        name, arrow, body = line.partition(" ::= ")
        if not arrow or not _NAME.fullmatch(name) or name in rules:
            raise GbnfError(f"no rule, or a second one: {line!r}")
        rules[name] = []
        reader = _Line(body, rules, name)
        rules[name] = reader.alternatives()
        if reader.rest:
            raise GbnfError(f"{name}: {reader.rest!r} is left over")
    used = {symbol for ways in rules.values() for way in ways for symbol in way}
    if undefined := {"root", *used} - {"", *rules}:
        raise GbnfError(f"{undefined} is not defined")
    _check_first(rules)


class _Line:
    def __init__(self, rest: str, rules: Rules, name: str) -> None:
        self.rest, self.rules, self.name = rest.lstrip(" \t"), rules, name
        self.made = 0
        """Rules that llama.cpp makes of groups and counts."""

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.rest)
        self.rest = self.rest[found.end() :].lstrip(" \t") if found else self.rest
        return found

    def alternatives(self) -> list[tuple[str, ...]]:
        found = [self.sequence()]
        while self.rest[:1] == "|":
            self.rest = self.rest[1:].lstrip(" \t")
            found.append(self.sequence())
        return found

    def sequence(self) -> tuple[str, ...]:
        symbols: list[str] = []
        while self.rest and self.rest[0] not in "|)":
            before = self.made
            item = self.item()
            inside = max(1, self.made - before)
            count = self.take(_COUNT)
            symbols += item if count is None else self.repeated(item, count, inside)
        return tuple(symbols)

    def item(self) -> list[str]:
        if found := self.take(_TEXT):
            return [""] if found[0] != '""' else []
        if self.take(_CLASS):
            return [""]
        if self.rest[:1] == "(":
            self.rest = self.rest[1:].lstrip(" \t")
            inner = self.alternatives()
            if self.rest[:1] != ")":
                raise GbnfError(f"{self.name}: ( without )")
            self.rest = self.rest[1:].lstrip(" \t")
            return [self.new(inner)]
        if found := self.take(_NAME):
            return [found[0]]
        raise GbnfError(f"{self.name}: {self.rest[:20]!r} is not an item")

    def repeated(self, item: list[str], count: re.Match[str], inside: int) -> list[str]:
        least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(count[0], (0, 0))
        if count["least"]:
            least = int(count["least"])
            most = (int(count["most"]) if count["most"] else None) if count["range"] else least
        if most is not None and (most < least or most == 0):
            raise GbnfError(f"{self.name}: no count: {count[0]}")
        if inside * max(most or least, 1) > THRESHOLD:
            raise GbnfError(f"{self.name}: {inside} rules, repeated {count[0]}")
        self.made += 1 if most is None else most - least
        return item if least else [self.new([tuple(item), ()])]

    def new(self, alternatives: list[tuple[str, ...]]) -> str:
        name = f"{self.name}_{len(self.rules)}"
        self.rules[name] = alternatives
        self.made += 1
        return name


def _check_first(rules: Rules) -> None:
    """Raise GbnfError for a rule that may begin with itself."""
    empty: set[str] = set()
    while more := {
        name
        for name, ways in rules.items()
        if name not in empty and any(empty.issuperset(way) for way in ways)
    }:
        empty |= more
    first: dict[str, set[str]] = {name: set() for name in rules}
    for name, ways in rules.items():
        for way in ways:
            for symbol in way:
                first[name] |= {symbol} - {""}
                if symbol not in empty:
                    break
    for name in first:
        reached: set[str] = set()
        work = [name]
        while work:
            further = first[work.pop()] - reached
            reached |= further
            work += further
        if name in reached:
            raise GbnfError(f"{name} begins with itself")
