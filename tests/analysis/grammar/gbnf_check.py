r"""A check of GBNF as strict as llama.cpp's parser, beside llguidance's reader, which takes more.

llama.cpp's grammar parser (src/llama-grammar.cpp) takes rule names of letters, digits and dashes,
the escapes ``\n \r \t \\ \" \[ \] \xHH \uHHHH``, a rule a line outside of groups, and
``* + ? {m} {m,} {m,n}``, which it rewrites to rules; it refuses more than 2000 repetitions, the
rules that a repeated group is made of counted in, undefined rules, and rules that begin with
themselves.
"""

from __future__ import annotations

import re

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
