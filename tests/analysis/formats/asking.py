"""Analyses and their files, asked the same; what is parsed is what the template renders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autoparser import Analysis
from autoparser.analysis.core.message_battery import battery_messages, loose_tools

from . import behaviour as behaviours

ROOT = Path(__file__).parents[3]
WITHOUT_JINJA = (
    "import runpy, sys; sys.modules['jinja2'] = None; program = sys.argv.pop(1);"
    " runpy.run_path(program, run_name='__main__')"
)


def rendered(analysis: Analysis) -> behaviours.Texts:
    """Render the battery after every generation prompt, as the template continues it."""
    texts: behaviours.Texts = []
    for format_, opening in behaviours.openings(analysis):
        tools = list(loose_tools()) if opening.tools else None
        turns = analysis.turns(tools, chat_template_kwargs=opening.setting)
        written = (
            turns.written(format_.with_naming_ids(case.message))
            for case in battery_messages()
            if tools or not case.message.calls
        )
        texts.append([each.rest for each in written if each.rest])
    return texts


def differing(
    analyses: Mapping[str, Analysis], folder: Path
) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Return of each name which questions its file answers otherwise, and how many texts it read.

    The files are read in a process without jinja2, and are left in the folder.
    """
    expected: dict[str, Any] = {}
    counts: dict[str, int] = {}
    for name, analysis in analyses.items():
        analysis.save(folder / f"{name}.format.json")
        texts = rendered(analysis)
        counts[name] = sum(map(len, texts))
        (folder / f"{name}.texts.json").write_text(json.dumps(texts))
        expected[name] = json.loads(json.dumps(behaviours.behaviour(analysis, texts)))
    subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", WITHOUT_JINJA, str(behaviours.__file__), str(folder)],
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    found = {name: json.loads((folder / f"{name}.found.json").read_text()) for name in analyses}
    wrong = {
        name: [question for question, answer in answers.items() if found[name][question] != answer]
        for name, answers in expected.items()
    }
    return wrong, counts
