"""Which parsers read templates of the corpus: `python -m tests.engines.which_parsers --python P`.

A sample of the corpus's templates is asked about, evenly spread; what came of each engine on each
template goes to a file of records as it comes, so that a run can be cut and gone on with.
`--table` prints the table of docs/engines/which-parser.md from such a file and asks nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from autoparser import analyze, load_template
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.engines import (
    EngineProcess,
    EngineRanking,
    PairScore,
    asked_texts,
    engines_of,
    rank_parsers,
)
from tests.corpus.outcomes import corpus_paths

from .llama_readings import OWN, llama_record

Record = Mapping[str, Any]


def records(
    paths: Sequence[Path], processes: Sequence[EngineProcess], until: float, *, llama: bool
) -> Iterator[Record]:
    """Ask the engines about one template after the other, until a time.

    With `llama`, llama.cpp's own server is started for each, and asked as well.
    """
    for path in paths:
        if time.monotonic() > until:
            return
        try:
            analysis = analyze(load_template(path), isolate=True)
            asked = asked_texts(analysis)
        except AutoparserError as error:
            yield {"template": path.name, "error": str(error)}
            continue
        if not any(each.meant.calls for each in asked.texts):
            yield {"template": path.name, "error": "no calls"}
            continue
        for process in processes:
            yield _record(path.name, rank_parsers(process, analysis, asked))
        if llama:
            try:
                yield llama_record(path, asked.texts)
            except (AssertionError, AutoparserError) as error:
                # What the server said when it did not start.
                yield {"template": path.name, "error": str(error).splitlines()[-1]}


def _record(name: str, ranking: EngineRanking) -> Record:
    return {
        "template": name,
        "engine": f"{ranking.engine} {ranking.version}",
        "best": _pair(ranking.best),
        "auto": None if ranking.auto is None else _pair(ranking.auto),
    }


def _pair(score: PairScore) -> Record:
    failure = score.failure
    return {
        "tool": score.pair.tool,
        "reasoning": score.pair.reasoning,
        "total": score.total,
        "right": score.whole.right,
        "streamed": score.streamed_right,
        "all": score.all_right,
        "failure": None if failure is None else [failure.title, str(failure.delivery)],
    }


def table(found: Sequence[Record]) -> Iterator[str]:
    """Count by engine, for the best pair and for what `auto` chooses."""
    asked = [each for each in found if "error" not in each]
    yield "| engine | choice | templates | right at once | streamed | all at once | nine in ten |"
    yield "|---|---|---|---|---|---|---|"
    for engine in dict.fromkeys(each["engine"] for each in asked):
        of = [each for each in asked if each["engine"] == engine]
        for choice, words in (("best", "the best pair"), ("auto", "its `auto`")):
            pairs = [each[choice] for each in of if each[choice] is not None]
            if pairs:
                own = pairs[0]["tool"] == OWN
                yield _row(engine, "its own, of the template" if own else words, pairs)


def _row(engine: str, words: str, pairs: Sequence[Record]) -> str:
    total = sum(each["total"] for each in pairs)
    streams = [each["streamed"] for each in pairs if each["streamed"] is not None]
    shares = f"{sum(each['right'] for each in pairs) / total:.0%}"
    shares += f" | {sum(streams) / total:.0%}" if streams else " | not asked"
    whole = sum(each["right"] == each["total"] for each in pairs)
    most = sum(_least(each) >= 0.9 * each["total"] for each in pairs)
    return f"| {engine} | {words} | {len(pairs)} | {shares} | {whole} | {most} |"


def _least(pair: Record) -> int:
    """Return what was read right both at once and streamed; where nothing streamed, at once."""
    counts: list[int | None] = [pair["right"], pair["streamed"]]
    return min(each for each in counts if each is not None)


def worst(found: Sequence[Record], most: int) -> Iterator[str]:
    """Name the templates on which `auto` loses most against the best pair."""
    judged = [each for each in found if each.get("auto")]
    judged.sort(key=lambda each: each["auto"]["right"] - each["best"]["right"])
    yield "| template | `auto` | right | the best pair | right |"
    yield "|---|---|---|---|---|"
    for each in judged[:most]:
        cells = [each["template"]]
        for choice in ("auto", "best"):
            pair = each[choice]
            cells += [
                f"{pair['tool'] or 'none'}, {pair['reasoning'] or 'none'}",
                f"{pair['right']} of {pair['total']}",
            ]
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--python", action="append", default=[], help="an engine's Python")
    asked.add_argument("--templates", type=int, default=40, help="how many, evenly spread")
    asked.add_argument("--llama", action="store_true", help="ask llama.cpp's server, too")
    asked.add_argument("--minutes", type=float, default=20.0)
    asked.add_argument("--records", type=Path, default=Path("which-parsers.jsonl"))
    asked.add_argument("--table", action="store_true")
    given = asked.parse_args()
    if not given.table:
        _ask(given)
    lines = given.records.read_text("utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    print("\n".join([*table(found), "", *worst(found, 12)]))  # noqa: T201


def _ask(given: argparse.Namespace) -> None:
    paths = corpus_paths()
    sample = paths[:: max(1, len(paths) // given.templates)]
    known: set[str] = set()
    if given.records.exists():
        lines = given.records.read_text("utf-8").splitlines()
        known = {json.loads(line)["template"] for line in lines}
    with ExitStack() as stack, given.records.open("a", encoding="utf-8") as file:
        processes = [
            stack.enter_context(EngineProcess(engine, python))
            for python in given.python or [sys.executable]
            for engine in engines_of(python)
        ]
        left = [path for path in sample if path.name not in known]
        until = time.monotonic() + 60 * given.minutes
        for record in records(left, processes, until, llama=given.llama):
            file.write(json.dumps(record) + "\n")
            file.flush()


if __name__ == "__main__":
    main()
