"""The tools that were offered: which words of an output may be their names and keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from autoparser.analysis.core.conversation import Json, Tool, function_of
from autoparser.analysis.core.schema import ANY, JsonType, SchemaPart, Validate, validator

__all__ = ["OfferedTools", "WordSeen"]


class WordSeen(NamedTuple):
    """A name or a key, and where it stands."""

    start: int
    end: int
    word: str


class OfferedTools:
    """Names, keys, and what values the schemas allow; jsonschema says what is valid."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        """Take tools in OpenAI's form, wrapped or bare."""
        self._parameters: dict[str, Json] = {
            str(each["name"]): each.get("parameters") for each in map(function_of, tools)
        }
        self._parts = {name: SchemaPart.of(each) for name, each in self._parameters.items()}
        self._checks: dict[str, Validate] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the functions."""
        return tuple(self._parameters)

    @cached_property
    def _name(self) -> re.Pattern[str]:
        return _any_of(self.names)

    @cached_property
    def _keys(self) -> Mapping[str, re.Pattern[str]]:
        return {name: _any_of(tuple(part.names)) for name, part in self._parts.items()}

    def names_in(self, text: str) -> list[WordSeen]:
        """Return where names of functions stand as words of their own."""
        return list(_seen(self._name, text, 0, len(text)))

    def keys_in(self, name: str, text: str, start: int, end: int) -> Iterator[WordSeen]:
        """Go through the keys of one function between two places; each counts once."""
        used: set[str] = set()
        for key in _seen(self._keys[name], text, start, end):
            if key.word not in used:
                used.add(key.word)
                yield key

    def kinds(self, name: str, key: str) -> frozenset[JsonType]:
        """Return the types that an argument may have."""
        return self._parts[name].member(key).kinds or ANY

    def fits(self, name: str, arguments: Json) -> bool:
        """Whether these may be the arguments of a function."""
        if name not in self._parameters:
            return False
        if name not in self._checks:
            self._checks[name] = validator(self._parameters[name])
        return isinstance(arguments, dict) and not self._checks[name](arguments)


_NONE = re.compile(r"(?!)")


def _any_of(words: Sequence[str]) -> re.Pattern[str]:
    """Match each of these where no letter or digit goes on."""
    if not words:
        return _NONE
    longest = sorted(words, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)")


def _seen(pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[WordSeen]:
    for match in pattern.finditer(text, start, end):
        yield WordSeen(match.start(), match.end(), match.group())
