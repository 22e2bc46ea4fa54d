"""Rank engines' parsers on corpus templates: `python -m tests.engines.which_parsers --python P`.

It asks an evenly spread sample of the corpus. The result of each engine for each template is
appended to `which-parsers.jsonl`, so an interrupted run can be resumed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from autoparser import Analysis, AutoparserError, analyze, load_template
from autoparser.analysis.engines.engine_process import EngineProcess, installed_engines
from autoparser.analysis.engines.engine_ranking import PairScore, rank_parsers
from autoparser.analysis.engines.ranking_texts import AskedTexts, asked_texts
from tests.corpus.corpus_templates import corpus_paths

MOST = 0.9
RECORDS = Path("which-parsers.jsonl")
Record = Mapping[str, Any]
PROCESSES: dict[str, EngineProcess] = {}
"""The engines of this process of the run; they end with it, since their input closes."""
KNOWN: set[tuple[str, str | None]] = set()
"""The templates that an engine was asked about, and those that none can be."""


def _begin(pythons: Sequence[str], known: Sequence[Record]) -> None:
    """Start the engines of some Pythons."""
    KNOWN.update((record["template"], record.get("engine")) for record in known)
    for python in pythons:
        for engine in installed_engines(python):
            process = EngineProcess(engine, python)
            offered = process.parsers()
            PROCESSES[f"{offered.name} {offered.version}"] = process


def records(path: Path) -> Sequence[Record]:
    """Ask about one template all engines that were not."""
    left = [process for name, process in PROCESSES.items() if (path.name, name) not in KNOWN]
    if not left or (path.name, None) in KNOWN:
        return []
    try:
        analysis = analyze(load_template(path), isolate=True)
        asked = asked_texts(analysis)
    except AutoparserError as error:
        return [{"template": path.name, "error": str(error)}]
    if not any(text.meant.calls for text in asked.texts):
        return [{"template": path.name, "error": "no calls"}]
    return [_record(path.name, process, analysis, asked) for process in left]


def _record(name: str, process: EngineProcess, analysis: Analysis, asked: AskedTexts) -> Record:
    began = time.monotonic()
    ranking = rank_parsers(process, analysis, asked)
    hostile = [text.hostile for at, text in enumerate(asked.texts) if at not in ranking.left_out]
    return {
        "template": name,
        "engine": ranking.engine,
        "named": ranking.offered.has_parsers,
        "left_out": len(ranking.left_out),
        "seconds": round(time.monotonic() - began, 1),
        "best": _pair(ranking.best, hostile),
        "auto": None if ranking.auto is None else _pair(ranking.auto, hostile),
    }


def _pair(score: PairScore, hostile: Sequence[bool]) -> Record:
    streams = [delivery_score.verdicts for delivery_score in score.streamed]
    streamed = [all(verdict.right for verdict in row) for row in zip(*streams, strict=True)]
    whole = [verdict.right for verdict in score.whole.verdicts]
    return {
        "tool": score.pair.tool,
        "reasoning": score.pair.reasoning,
        "total": score.total,
        "right": sum(whole),
        "streamed": sum(streamed),
        "unanswered": sum(verdict.part == "message" for verdict in score.whole.verdicts),
        "hostile": sum(hostile),
        "hostile_right": sum(compress(whole, hostile)),
        "hostile_streamed": sum(compress(streamed, hostile)),
    }


def table(found: Sequence[Record]) -> Iterator[str]:
    """Count by engine, for the best pair and for what `auto` chooses."""
    asked = [record for record in found if "error" not in record]
    yield (
        "| engine | choice | templates | right at once | streamed | hostile, at once | streamed"
        " | all | nine in ten |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for engine in dict.fromkeys(row["engine"] for row in asked):
        of = [row for row in asked if row["engine"] == engine]
        for choice, words in (("best", "the best pair"), ("auto", "its `auto`")):
            pairs = [row[choice] for row in of if row[choice] is not None]
            if pairs:
                yield _row(engine, words if of[0]["named"] else "its own, of the template", pairs)


def _row(engine: str, words: str, pairs: Sequence[Record]) -> str:
    columns = [("right", "total"), ("streamed", "total")]
    columns += [("hostile_right", "hostile"), ("hostile_streamed", "hostile")]
    shares = [
        f"{sum(pair[part] for pair in pairs) / sum(pair[of] for pair in pairs):.0%}"
        for part, of in columns
    ]
    least = [min(pair["right"], pair["streamed"]) / (pair["total"] or 1) for pair in pairs]
    whole, most = sum(row == 1 for row in least), sum(row >= MOST for row in least)
    cells = [engine, words, str(len(pairs)), *shares, str(whole), str(most)]
    return f"| {' | '.join(cells)} |"


def counts(found: Sequence[Record]) -> Iterator[str]:
    """Yield the number of texts asked, and the time taken."""
    asked = [record for record in found if "error" not in record]
    names = {record["template"] for record in found}
    yield f"{len(names)} templates, {len({row['template'] for row in asked})} of them write calls"
    for engine in dict.fromkeys(row["engine"] for row in asked):
        of = [row for row in asked if row["engine"] == engine]
        left, seconds = (sum(row[part] for row in of) for part in ("left_out", "seconds"))
        best = [row["best"] for row in of]
        texts, lost = (sum(row[part] for row in best) for part in ("total", "unanswered"))
        yield (
            f"{engine}: {texts} texts, {left} not asked, {lost} not answered or not let be"
            f" written, {seconds:.0f} seconds"
        )


def worst(found: Sequence[Record], most: int) -> Iterator[str]:
    """Name the templates on which `auto` loses most against the best pair."""
    judged = [record for record in found if record.get("auto")]
    judged.sort(key=lambda record: record["auto"]["right"] - record["best"]["right"])
    yield "| template | `auto` | right | the best pair | right |"
    yield "|---|---|---|---|---|"
    for verdict in judged[:most]:
        cells = [verdict["template"]]
        for choice in ("auto", "best"):
            pair = verdict[choice]
            cells += [
                f"{pair['tool'] or 'none'}, {pair['reasoning'] or 'none'}",
                f"{pair['right']} of {pair['total']}",
            ]
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--python", action="append", help="an engine's Python")
    asked.add_argument("--every", type=int, default=13, help="ask about every so many templates")
    asked.add_argument("--jobs", type=int, default=1, help="templates at a time")
    given = asked.parse_args()
    with (
        Pool(given.jobs, _begin, (given.python or [sys.executable], _known())) as pool,
        RECORDS.open("a", encoding="utf-8") as file,
    ):
        for found in pool.imap_unordered(records, corpus_paths()[:: given.every]):
            # The records of a template are there together or not at all.
            file.write("".join(json.dumps(record) + "\n" for record in found))
            file.flush()
    found = _known()
    print("\n".join([*counts(found), "", *table(found), "", *worst(found, 12)]))  # noqa: T201


def _known() -> list[Record]:
    lines = RECORDS.read_text("utf-8").splitlines() if RECORDS.exists() else []
    return [json.loads(line) for line in lines]


if __name__ == "__main__":
    main()
