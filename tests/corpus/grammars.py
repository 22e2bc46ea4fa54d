"""Grammars of real templates: what they write is accepted, what is allowed is read cleanly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tests.analysis.grammar.proofs import USUAL, Fault, prove, prove_gbnf, so_many

from .corpus_templates import Board, by_cause, known_causes, sound_analysis

ENOUGH = 0.97
"""Of the templates whose self-check passes."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What came of the questions about one template's grammar."""

    name: str
    asked: int
    faults: tuple[Fault, ...]
    crash: str = ""

    @property
    def ok(self) -> bool:
        return not self.faults and not self.crash

    @property
    def cause(self) -> str:
        return known_causes("grammar").get(self.name, "")


def proof_of(
    path: Path, walks: int, *, gbnf: bool = False, tools: Sequence[int] = ()
) -> Proof | None:
    """Prove one template's grammar, as Lark or GBNF; None where the analysis does not hold.

    `tools` are the numbers of tools that are offered, one after the other, each with so many walks
    for each tokenizer; none: what the battery calls, and strict ones.
    """
    analysis = sound_analysis(path)
    if analysis is None:
        return None
    asked = 0
    faults: list[Fault] = []
    for offer in map(so_many, tools) if tools else (USUAL,):
        try:
            verdict = (prove_gbnf if gbnf else prove)(analysis.format, walks, offer)
        except Exception as error:  # noqa: BLE001 - a crash is what the survey looks for
            return Proof(path.stem, asked, tuple(faults), repr(error))
        asked += verdict.asked
        title = f"{len(offer.called)} tools, " if tools else ""
        faults += [replace(fault, title=title + fault.title) for fault in verdict.faults]
    return Proof(path.stem, asked, tuple(faults))


def _lines(found: Sequence[Proof]) -> Iterator[str]:
    whole = sum(each.ok for each in found)
    yield f"{len(found):>6}  templates whose self-check passes"
    yield f"{whole:>6}  have a grammar that is complete and sound: {whole / max(len(found), 1):.2%}"
    yield f"{sum(each.asked for each in found):>6}  turns and walks"
    for cause, same in by_cause((each for each in found if not each.ok), lambda each: each.cause):
        yield f"{len(same):>6}  {cause or 'of unknown cause'}"
        for each in same:
            counted = Counter(str(fault.question) for fault in each.faults)
            told = ", ".join(f"not: {question} ({count})" for question, count in counted.items())
            yield f"{'':8}  {each.name}: {each.crash or told}"
            if each.faults:
                first = each.faults[0]
                yield f"{'':10}  {first.title}: {first.text[:200]}"


def proofs_board(
    walks: int, *, gbnf: bool = False, tools: Sequence[int] = ()
) -> Board[Path, Proof]:
    """Return the board that proves the grammar of every template whose self-check passes."""
    prove_one = partial(proof_of, walks=walks, gbnf=gbnf, tools=tools)
    return Board(prove_one, _lines, lambda each: each.ok, chunk=8, enough=ENOUGH)
