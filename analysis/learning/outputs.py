r"""Read unlabeled outputs and the tools offered, and find the text that nearly all outputs share.

`shared_end` and `shared_beginning` tolerate a few malformed texts:

>>> shared_end(["Let me see. <call>", "<call>", "Oslo?\n<call>"])
'<call>'
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from autoparser.analysis.core.conversation import Json, Tool, tool_function
from autoparser.analysis.core.documents import read_value
from autoparser.analysis.core.error_words import is_mapping
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.schema_parts import ANY, SchemaPart
from autoparser.analysis.core.schema_validation import (
    Validate,
    schema_validator,
)

from .example_alignment import is_wordly


class OutputError(AutoparserError):
    """Outputs cannot be read, or no format explains their calls."""


@dataclass(frozen=True, slots=True)
class LoggedOutput:
    """One output of a model, as in a server's log."""

    text: str
    """The text after the prompt, with or without the end of the turn, e.g. `"look | city: Oslo
    |"`."""
    prompt: str = ""
    """The rendered prompt, or any tail of it, e.g. `"<|asst|>"`; empty: the template's default
    one."""
    place: str = ""
    """Its location in the input, e.g. `line 3`."""


# Outputs as the lines of a server's log.
#
# A line is a JSON string, an object with the text as `completion` or `output`, with the `prompt`
# or without it, or else the raw text itself.


_LINE = '{"completion": …, "prompt": …}'
_KEYS = ("completion", "output")


class _LoggedLine(Struct, frozen=True):
    completion: Annotated[str | None, Meta(description="a text")] = None
    """The text after the prompt, e.g. `"[do look(city='Oslo', days=3)]<|eot|>"`."""
    output: Annotated[str | None, Meta(description="a text")] = None
    """Another name of the same, as in `{"output": "You are welcome."}`."""
    prompt: Annotated[str | None, Meta(description="a text")] = None
    """The rendered prompt, e.g. `"<|user|>Hello<|eot|><|asst|>"`."""


def given_outputs(text: str, file: str) -> tuple[LoggedOutput, ...]:
    """Read the outputs of a log. Raises OutputError, which names the line."""
    found = tuple(
        _output(line, file, f"line {number}")
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    )
    if not found:
        raise OutputError("no outputs", file=file, hint=f"write an output a line, or {_LINE}")
    return found


def _output(line: str, file: str, place: str) -> LoggedOutput:
    try:
        value: object = json.loads(line)
    except ValueError:
        value = line
    if isinstance(value, str):
        return LoggedOutput(value, place=place)
    # A JSON line may itself be an output: a call.
    if not is_mapping(value) or not any(key in value for key in _KEYS):
        return LoggedOutput(line, place=place)
    hint = f"write {_LINE}"
    given = read_value(value, _LoggedLine, file=file, place=place, wrong=OutputError, hint=hint)
    written = given.output if given.completion is None else given.completion
    return LoggedOutput(written or "", given.prompt or "", place)


class WordSeen(NamedTuple):
    """A name or a key, and its place."""

    start: int
    """The offset of its first character, e.g. 4 for `look` in `[do look(`."""
    end: int
    """The offset after its last character, here 8."""
    word: str
    """E.g. `get_weather` or `city`."""


class OfferedTools:
    """Names, keys and allowed values of tools; jsonschema validates."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        """Store tools in OpenAI's form, wrapped or bare."""
        self.tools = tools
        self._parameters: dict[str, Json] = {
            str(tool["name"]): tool.get("parameters") for tool in map(tool_function, tools)
        }
        self._parts = {name: SchemaPart.of(schema) for name, schema in self._parameters.items()}
        self._checks: dict[str, Validate] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the functions."""
        return tuple(self._parameters)

    @cached_property
    def _name(self) -> re.Pattern[str]:
        return _whole_word_pattern(self.names)

    @cached_property
    def _keys(self) -> Mapping[str, re.Pattern[str]]:
        return {name: _whole_word_pattern(tuple(part.names)) for name, part in self._parts.items()}

    def names_in(self, text: str) -> list[WordSeen]:
        """Return the places of functions' names that are whole words."""
        return list(_find_words(self._name, text, 0, len(text)))

    def keys_in(self, name: str, text: str, start: int, end: int) -> Iterator[WordSeen]:
        """Yield the keys of one function between two offsets; each counts once."""
        used: set[str] = set()
        for key in _find_words(self._keys[name], text, start, end):
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
            self._checks[name] = schema_validator(self._parameters[name])
        return isinstance(arguments, dict) and not self._checks[name](arguments)


_NONE = re.compile(r"(?!)")


def _whole_word_pattern(words: Sequence[str]) -> re.Pattern[str]:
    """Match any of these as whole words."""
    if not words:
        return _NONE
    # An alternation takes the first that matches: `look-up` must precede `look`.
    longest = sorted(words, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)")


def _find_words(pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[WordSeen]:
    for match in pattern.finditer(text, start, end):
        yield WordSeen(match.start(), match.end(), match.group())


ODD = 5
"""One in this many texts may be odd."""
TOLERANCES = (3, 5, 10, 1_000_000)
"""One in this many texts may be odd, tried in turn: a few texts may be wrong, or have content.

Of four `<think></think><call>` and a `<think></think>Let me see.<call>`, a majority shares more
than the opening of calls.
"""


def shared_end(texts: Sequence[str], odd: int = ODD) -> str:
    """Return the suffix that nearly all texts share; no word is cut in two."""
    shared = _shared_prefix_of_most([text[::-1] for text in texts], odd)[::-1]
    cut = _in_word(shared, [text[: -len(shared)][-1:] for text in texts if text.endswith(shared)])
    return shared[_word_length(shared) :] if shared and cut else shared


def shared_beginning(texts: Sequence[str], odd: int = ODD) -> str:
    """Return the prefix that nearly all texts share; no word is cut in two."""
    shared = _shared_prefix_of_most(texts, odd)
    after = [text[len(shared) :][:1] for text in texts if text.startswith(shared)]
    if shared and _in_word(shared[::-1], after):
        return shared[: len(shared) - _word_length(shared[::-1])]
    return shared


def _shared_prefix_of_most(texts: Sequence[str], odd: int) -> str:
    """Extend the prefix as long as all but a few texts have the same character."""
    group: list[str] = list(texts)
    needed, at = len(texts) - len(texts) // odd, 0
    while group:
        counted = Counter(text[at] for text in group if len(text) > at)
        char, count = max(counted.items(), key=lambda pair: pair[1], default=("", 0))
        if count < max(needed, 1):
            break
        group = [text for text in group if text[at : at + 1] == char]
        at += 1
    return group[0][:at] if group else ""


def _in_word(shared: str, beyond: Sequence[str]) -> bool:
    """Whether the first character of the shared text continues a word of some text."""
    return is_wordly(shared[:1]) and any(map(is_wordly, beyond))


def _word_length(text: str) -> int:
    return next((at for at, char in enumerate(text) if not is_wordly(char)), len(text))
