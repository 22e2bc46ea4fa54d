"""Grammars of real templates: what they write is accepted, what is allowed is read cleanly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from autoparser import AutoparserError
from tests.analysis.grammar.proofs import USUAL, Fault, prove, prove_gbnf, so_many

from .each_template import of_each
from .outcomes import PROCESSES, analysis_at

ENOUGH = 0.97
"""Of the templates whose self-check passes."""

UNESCAPED = "strings are written without their quotes escaped, or without quotes"
UNOPENED = "nothing opens reasoning: without its close it cannot be told from content"
UNMARKED = "nothing opens or closes reasoning"
HEADER_IS_END = "what begins a turn also ends it"
ARRAY_TAGS = "an array whose items are tags of one name: its text is its own markup"
LONG_END = "pages of instructions end every turn: llguidance takes no text so long"
BROKEN = "a call without arguments is not JSON: its arguments are missing"
ENDS_BETWEEN = "what ends a turn stands between its content and its calls"
_BY_CAUSE: Mapping[str, tuple[str, ...]] = {
    UNESCAPED: ("LiquidAI-LFM2.5-VL-450M", "baseten-Llama-3.2-3B-Instruct-pythonic"),
    UNOPENED: (
        "NVIDIA-Nemotron-Nano-v2",
        "nvidia-NVIDIA-Nemotron-Nano-12B-v2",
        "nvidia-NVIDIA-Nemotron-Nano-9B-v2-Japanese",
    ),
    UNMARKED: ("spitfire4794-supra-arith",),
    ARRAY_TAGS: ("MiniMaxAI-MiniMax-M3-MXFP8",),
    LONG_END: ("ServiceNow-AI-AprielGuard",),
    BROKEN: ("Motif-Technologies-Motif-3-Beta",),
    ENDS_BETWEEN: ("tiiuae-Falcon-H1-Tiny-Tool-Calling-90M",),
    HEADER_IS_END: ("IEITYuan-Yuan2-2B-hf",),
}
CAUSES = {name: cause for cause, names in _BY_CAUSE.items() for name in names}
"""What in a template itself keeps its grammar from both."""


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
        return CAUSES.get(self.name, "")


def proof_of(
    path: Path, walks: int, *, gbnf: bool = False, tools: Sequence[int] = ()
) -> Proof | None:
    """Prove one template's grammar, as Lark or GBNF; None where the analysis does not hold.

    `tools` are the numbers of tools that are offered, one after the other, each with so many walks
    for each tokenizer; none: what the battery calls, and strict ones.
    """
    try:
        analysis = analysis_at(path)
    except AutoparserError:
        return None
    if analysis.check.failures:
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


def proofs(
    paths: Sequence[Path],
    walks: int,
    processes: int = PROCESSES,
    *,
    gbnf: bool = False,
    tools: Sequence[int] = (),
) -> list[Proof]:
    """Prove the grammar of every template whose self-check passes."""
    prove_one = partial(proof_of, walks=walks, gbnf=gbnf, tools=tools)
    return of_each(prove_one, paths, processes, chunk=8)


def proof_table(found: Sequence[Proof]) -> str:
    """Lay out how many grammars hold, and what is wrong with the others."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Sequence[Proof]) -> Iterator[str]:
    whole = sum(each.ok for each in found)
    yield f"{len(found):>6}  templates whose self-check passes"
    yield f"{whole:>6}  have a grammar that is complete and sound: {whole / max(len(found), 1):.2%}"
    yield f"{sum(each.asked for each in found):>6}  turns and walks"
    short = [each for each in found if not each.ok]
    for cause in sorted({each.cause for each in short}):
        same = [each for each in short if each.cause == cause]
        yield f"{len(same):>6}  {cause or 'of unknown cause'}"
        for each in same:
            counted = Counter(str(fault.question) for fault in each.faults)
            told = ", ".join(f"not: {question} ({count})" for question, count in counted.items())
            yield f"{'':8}  {each.name}: {each.crash or told}"
            if each.faults:
                first = each.faults[0]
                yield f"{'':10}  {first.title}: {first.text[:200]}"
