"""Check that `auto` grammars accept variations of turns that the parser accepts.

    turn with calls -> `AROUND`, `INSIDE` -> variations parsed without a repair
                    -> the grammar accepts them; a refused one of `AROUND` is a fault

A variation counts if the parser returns the turn's calls with status `ok` and leaves no marker in
content. Templates with the same turn expression after their prompts share parser and grammar, so
each text is checked once per process.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, TypeAlias

from llguidance import LLMatcher

from autoparser import Analysis, AutoparserError, Grammar, OutputParser, Status

from .corpus_templates import Board, by_cause, known_causes, of_sound
from .grammar_readers import refused, started
from .rendered_turns import rendered_turns


@dataclass(frozen=True)
class FreeTurn:
    """A turn with calls, without its end."""

    text: str
    grammar: Grammar

    @property
    def calls_begin(self) -> int:
        """Where its calls begin; its length if nothing tells."""
        found = [self.text.find(trigger) for trigger in self.grammar.triggers]
        return min((at for at in found if at >= 0), default=len(self.text))

    @property
    def markers(self) -> re.Pattern[str]:
        """Matches its markers."""
        longest = sorted(self.grammar.preserved_tokens, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest)) or "(?!)")

    def with_text(self, text: str) -> str:
        """Return it with a text before its calls."""
        at = self.calls_begin
        return f"{self.text[:at]}{text}{self.text[at:]}"

    def respaced(self, space: str) -> str:
        """Return it with this whitespace beside each marker."""
        parts = self.markers.split(self.text)
        found = self.markers.findall(self.text)
        edges = [part.strip() and f"{space}{part.strip()}{space}" for part in parts]
        text = "".join(f"{edge}{marker}" for edge, marker in zip(edges, [*found, ""], strict=True))
        return text.strip()


AROUND: Mapping[str, Callable[[FreeTurn], str]] = {
    "text before calls": lambda turn: turn.with_text("Let me see."),
    "a line before calls": lambda turn: turn.with_text("Let me see.\n\n"),
    "text behind calls": lambda turn: f"{turn.text}Done.",
    "a line behind calls": lambda turn: f"{turn.text}\nDone.",
    "blank lines behind calls": lambda turn: f"{turn.text}\n\n",
    "text between calls": lambda turn: f"{turn.text}And:{turn.text[turn.calls_begin :]}",
}
"""Around the calls of a turn."""
INSIDE: Mapping[str, Callable[[FreeTurn], str]] = {
    "no whitespace at markers": lambda turn: turn.respaced(""),
    "line breaks at markers": lambda turn: turn.respaced("\n"),
    "blank lines at markers": lambda turn: turn.respaced("\n\n"),
}
"""Within them, too: there a grammar has the template's whitespace, and refuses other."""


Faults: TypeAlias = tuple[tuple[str, str], ...]
"""Each a variation, and where the grammar refuses it."""
FreeAnswer: TypeAlias = tuple[Counter[str], Faults]
"""The variations of a turn that are read, and the faults among them."""


@dataclass(slots=True)
class Freed:
    """The variations of one template's turns."""

    name: str
    asked: Counter[str] = field(default_factory=Counter[str])
    read: Counter[str] = field(default_factory=Counter[str])
    faults: list[tuple[str, str]] = field(default_factory=list[Any])
    """The variation, and where the grammar refuses it."""
    refused: str = ""
    """Why it has no grammar."""
    formats: tuple[str, ...] = ()
    """The digests of its formats, one for each set of tools."""

    @property
    def lost(self) -> list[tuple[str, str]]:
        """The faults around calls."""
        return [fault for fault in self.faults if fault[0] in AROUND]

    @property
    def cause(self) -> str:
        """The known cause of its faults, or empty."""
        return known_causes("free").get(self.name, "")


@dataclass(frozen=True)
class FreeFormat:
    """The expression of a turn under `auto`, with the answers about it."""

    grammar: Grammar
    answers: dict[tuple[str, int], FreeAnswer] = field(default_factory=dict[Any, Any])
    """By the text of the turn and its number of calls."""

    @cached_property
    def start(self) -> LLMatcher:
        """The grammar in llguidance; raises what writing and loading it raise."""
        return started(self.grammar)

    @cached_property
    def parser(self) -> OutputParser:
        return self.grammar.parser()

    def answer(self, text: str, calls: int) -> FreeAnswer:
        """Vary a turn with so many calls, unless the same turn was varied before."""
        if (text, calls) not in self.answers:
            self.answers[text, calls] = self._vary(FreeTurn(text, self.grammar), calls)
        return self.answers[text, calls]

    def _vary(self, turn: FreeTurn, calls: int) -> FreeAnswer:
        varied = {kind: vary(turn) for kind, vary in {**AROUND, **INSIDE}.items()}
        read = [kind for kind, text in varied.items() if _is_read(self.parser, text, turn, calls)]
        places = {
            kind: refused(self.start, varied[kind], len(varied[kind].encode())) for kind in read
        }
        return Counter(read), tuple((kind, place) for kind, place in places.items() if place)


_FORMATS: dict[str, FreeFormat] = {}
"""By the digest of the expression of the turn after the prompt and of the offered tools."""


def freed_by(name: str, analysis: Analysis) -> Freed | None:
    """Vary the turns of one template; None if it writes no call after its own prompt."""
    found = Freed(name)
    for turns in rendered_turns(analysis):
        calling = [turn for turn in turns.turns if turn.calls]
        if not calling:
            continue
        try:
            grammar = analysis.grammar(turns.tools, prompt=turns.prompt)
            key = sha256(repr((grammar.turn, grammar.tools)).encode()).hexdigest()
            format_ = _FORMATS.setdefault(key, FreeFormat(grammar))
            _ = format_.start
        except (AutoparserError, ValueError) as error:
            return Freed(name, refused=str(error))
        found.formats += (key,)
        for turn in calling:
            text = turn.text.encode()[: turn.least].decode(errors="ignore")
            read, faults = format_.answer(text, len(turn.calls))
            found.asked.update([*AROUND, *INSIDE])
            found.read += read
            found.faults += faults
    return found if found.asked else None


def _is_read(parser: OutputParser, text: str, turn: FreeTurn, least: int) -> bool:
    message = parser.parse(text)
    return (
        len(message.tool_calls) >= least
        and len(message.tool_calls) == len(message.attempts)
        and all(call.status is Status.OK and not call.departures for call in message.tool_calls)
        and message.status in (Status.OK, Status.UNFINISHED)
        and not turn.markers.search(f"{message.content}{message.reasoning_content}")
    )


def _free_lines(found: Sequence[Freed]) -> Iterator[str]:
    asked, read = Counter[str](), Counter[str]()
    faults = Counter[str]()
    for row in found:
        asked += row.asked
        read += row.read
        faults += Counter(kind for kind, _ in row.faults)
    yield f"{len(found):>6}  templates that write calls after their prompt"
    yield f"{sum(bool(row.refused) for row in found):>6}    without a grammar"
    held = sum(not row.lost for row in found)
    yield f"{held:>6}    whose grammar takes what is read around calls"
    for kind in (*AROUND, *INSIDE):
        takes = read[kind] - faults[kind]
        yield f"{takes:>6}  of {read[kind]} that are read (of {asked[kind]}): {kind}"
    yield f"{len({row.formats for row in found}):>6}  distinct formats"
    for cause, rows in by_cause((row for row in found if row.lost), lambda row: row.cause):
        yield f"{len(rows):>6}    {cause or 'for no known cause'}:"
        for row in rows:
            kinds = ", ".join(dict.fromkeys(kind for kind, _ in row.lost))
            yield f"{'':8}{row.name}: {len(row.lost)} ({kinds}) {row.lost[0][1]}"


FREE = Board(
    of_sound(freed_by, calling=True), _free_lines, lambda row: not row.lost or bool(row.cause)
)
