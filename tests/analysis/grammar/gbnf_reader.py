r"""A second reader of GBNF, as strict as llama.cpp's parser and with its semantics.

llama.cpp's grammar parser (src/llama-grammar.cpp) takes rule names of letters, digits and dashes,
the escapes ``\n \r \t \\ \" \[ \] \xHH \uHHHH \UHHHHHHHH``, a rule a line outside of groups,
and ``* + ? {m} {m,} {m,n}``, which it rewrites to rules; it refuses more than 2000 repetitions, the
rules that a repeated group is made of counted in, undefined rules, and rules that begin with
themselves. Text is matched
character by character with a set of stacks; a choice forks a stack.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

THRESHOLD = 2000

Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Char:
    ranges: Ranges
    negated: bool = False

    def takes(self, char: str) -> bool:
        return any(a <= ord(char) <= b for a, b in self.ranges) is not self.negated


Symbol = Char | str
Alternative = tuple[Symbol, ...]
Stack = tuple[Any, ...]
"""A sequence, the place in it, and the stack below; the empty stack is the end."""


class GbnfError(Exception):
    pass


@dataclass
class Grammar:
    rules: dict[str, list[Alternative]] = field(default_factory=dict)

    def accepts(self, text: str) -> bool:
        stacks = self.start()
        for char in text:
            stacks = self.step(stacks, char)
            if not stacks:
                return False
        return () in stacks

    def start(self) -> set[Stack]:
        return self.expand({(alternative, 0, ()) for alternative in self.rules["root"]})

    def step(self, stacks: set[Stack], char: str) -> set[Stack]:
        return self.expand(
            {
                (symbols, at + 1, below)
                for symbols, at, below in filter(None, stacks)
                if symbols[at].takes(char)
            }
        )

    def expand(self, waiting: set[Stack]) -> set[Stack]:
        seen, work = set(waiting), list(waiting)
        found: set[Stack] = set()
        while work:
            stack = work.pop()
            if not stack:
                found.add(stack)
                continue
            symbols, at, below = stack
            if at == len(symbols):
                following = [below]
            elif isinstance(symbols[at], Char):
                found.add(stack)
                continue
            else:
                # A stack does not remember a sequence that is complete, as llama.cpp's does not.
                rest = (symbols, at + 1, below) if at + 1 < len(symbols) else below
                following = [(inner, 0, rest) for inner in self.rules[symbols[at]]]
            for one in following:
                if one not in seen:
                    seen.add(one)
                    work.append(one)
        return found


def read_gbnf(text: str) -> Grammar:
    grammar = Grammar()
    for line in text.removesuffix("\n").split("\n"):
        name, arrow, body = line.partition(" ::= ")
        if not arrow or not re.fullmatch(r"[a-zA-Z0-9-]+", name) or name in grammar.rules:
            raise GbnfError(f"no rule, or a second one: {line!r}")
        grammar.rules[name] = []
        reader = _Line(body, grammar, name)
        grammar.rules[name] = reader.alternatives()
        if reader.rest:
            raise GbnfError(f"{name}: {reader.rest!r} is left over")
    if "root" not in grammar.rules:
        raise GbnfError("no root")
    _check(grammar)
    return grammar


class _Line:
    def __init__(self, rest: str, grammar: Grammar, name: str) -> None:
        self.rest = rest
        self.grammar = grammar
        self.name = name

    def take(self, pattern: str) -> re.Match[str] | None:
        found = re.match(pattern, self.rest)
        if found:
            self.rest = self.rest[found.end() :]
        return found

    def alternatives(self) -> list[Alternative]:
        found = [self.sequence()]
        while self.take(r"\|"):
            found.append(self.sequence())
        return found

    def sequence(self) -> Alternative:
        symbols: list[Symbol] = []
        self.take(r"[ \t]*")
        while self.rest and self.rest[0] not in "|)":
            before = len(self.grammar.rules)
            item = self.item()
            inside = max(1, len(self.grammar.rules) - before)
            self.take(r"[ \t]*")
            if found := self.take(r"([*+?])|\{(\d+)(,(\d*))?\}"):
                item, times = self.repeated(item, found)
                if inside * times > THRESHOLD:
                    raise GbnfError(f"{self.name}: {inside} rules, repeated {times} times")
            symbols += item
            self.take(r"[ \t]*")
        return tuple(symbols)

    def item(self) -> list[Symbol]:
        if self.take('"'):
            chars: list[Symbol] = []
            while not self.take('"'):
                point = self.character()
                chars.append(Char(((point, point),)))
            return chars
        if self.take(r"\["):
            return [self.bracket()]
        if self.take(r"\("):
            inner = self.alternatives()
            if not self.take(r"\)"):
                raise GbnfError(f"{self.name}: ( without )")
            return [self.new(inner)]
        if found := self.take(r"[a-zA-Z0-9-]+"):
            return [found[0]]
        raise GbnfError(f"{self.name}: what is {self.rest[:20]!r}?")

    def bracket(self) -> Char:
        negated = bool(self.take(r"\^"))
        ranges: list[tuple[int, int]] = []
        while not self.take(r"\]"):
            first = last = self.character()
            if self.rest[:1] == "-" and self.rest[1:2] != "]":
                self.take("-")
                last = self.character()
            if last < first:
                raise GbnfError(f"{self.name}: a range that is none")
            ranges.append((first, last))
        if not ranges:
            raise GbnfError(f"{self.name}: an empty class")
        return Char(tuple(ranges), negated)

    def character(self) -> int:
        if found := self.take(r"\\(?:([nrt])|([\\\"\[\]])|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4}))"):
            control, sign, short, long = found.groups()
            if control:
                return ord({"n": "\n", "r": "\r", "t": "\t"}[control])
            return ord(sign) if sign else int(short or long, 16)
        if self.rest[:1] in {"", "\\"}:
            raise GbnfError(f"{self.name}: no character: {self.rest[:20]!r}")
        char, self.rest = self.rest[0], self.rest[1:]
        return ord(char)

    def repeated(self, item: list[Symbol], found: re.Match[str]) -> tuple[list[Symbol], int]:
        least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(found[1], (0, 0))
        if found[2]:
            least = int(found[2])
            most = (int(found[4]) if found[4] else None) if found[3] else least
        if most is not None and (most < least or most == 0):
            raise GbnfError(f"{self.name}: no count: {found[0]}")
        symbols = item * least
        if most is None:
            more = self.new([])
            self.grammar.rules[more] = [(*item, more), ()]
            symbols = [*symbols, more]
        rest: list[Symbol] = []
        for _ in range(most - least if most is not None else 0):
            rest = [self.new([(*item, *rest), ()])]
        return symbols + rest, max(most or least, 1)

    def new(self, alternatives: list[Alternative]) -> str:
        name = f"{self.name}_{len(self.grammar.rules)}"
        self.grammar.rules[name] = alternatives
        return name


def _check(grammar: Grammar) -> None:
    rules = grammar.rules
    for name, alternatives in rules.items():
        used = {symbol for one in alternatives for symbol in one if isinstance(symbol, str)}
        if undefined := used - rules.keys():
            raise GbnfError(f"{name}: {undefined} is not defined")
    empty = _empty(rules)
    first = {name: set(_first(alternatives, empty)) for name, alternatives in rules.items()}
    for name in first:
        reached: set[str] = set()
        work = [name]
        while work:
            followers = first[work.pop()] - reached
            reached |= followers
            work += followers
        if name in reached:
            raise GbnfError(f"{name} begins with itself")


def _empty(rules: dict[str, list[Alternative]]) -> set[str]:
    """Return the rules that match the empty text."""
    empty: set[str] = set()
    while True:
        more = {
            name
            for name, alternatives in rules.items()
            if any(all(symbol in empty for symbol in alternative) for alternative in alternatives)
        }
        if more == empty:
            return empty
        empty = more


def _first(alternatives: list[Alternative], empty: set[str]) -> list[str]:
    found: list[str] = []
    for alternative in alternatives:
        for symbol in alternative:
            if isinstance(symbol, Char):
                break
            found.append(symbol)
            if symbol not in empty:
                break
    return found
