"""Conversations, put to another program's Jinja in a process of its own.

Contract: the process has ended when the answers are there, whatever the template did to it. What
was not answered says why.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import repeat
from pathlib import Path

from autoparser.analysis.core.errors import AutoparserError, one_line
from autoparser.analysis.templates.source_text import TemplateToken, template_tokens

# Which other programs' Jinja can be asked here.


START = 60.0
"""Seconds for a program to say what is installed."""
_WORKERS = Path(__file__).parent / "jinja_workers"
_PYTHON_WORKERS = {"minijinja": "minijinja_worker.py", "xllamacpp": "llama_worker.py"}
_NAMES = {"xllamacpp": "llama.cpp"}
_FIND = (
    "import sys; sys.path[:] = filter(None, sys.path); import importlib.metadata as m, json;"
    " import importlib.util as u;"
    " print(json.dumps({e: m.version(e) for e in sys.argv[1:] if u.find_spec(e) is not None}))"
)
_PACKAGE = "@huggingface/jinja"
_RESOLVE = (
    "const named = (process.env.NODE_PATH ?? '').split(require('node:path').delimiter);"
    "const main = require.resolve(process.argv[1], {paths: [process.cwd(), ...named]});"
    "const at = main.lastIndexOf('dist');"
    "const version = require(main.slice(0, at) + 'package.json').version;"
    "console.log(JSON.stringify({main, version}));"
)


@dataclass(frozen=True, slots=True)
class OtherJinja:
    """A program with a Jinja of its own, and how it is asked."""

    name: str
    """``minijinja``, ``llama.cpp`` or ``@huggingface/jinja``."""
    version: str
    command: tuple[str, ...]
    """Starts the worker that asks it."""
    own_requests: bool = False
    """It is asked by requests, and prepares messages, tools and the clock itself."""

    @property
    def label(self) -> str:
        """Its name and its version."""
        return f"{self.name} {self.version}"


def installed_jinjas(pythons: Sequence[str]) -> tuple[OtherJinja, ...]:
    """Return what these Pythons and node have, each program once.

    node looks from the working directory upward and where NODE_PATH says. Raises AutoparserError
    for a Python that cannot be run.
    """
    found: dict[str, OtherJinja] = {}
    for python in pythons:
        for each in _of_python(python):
            found.setdefault(each.name, each)
    for each in _of_node():
        found[each.name] = each
    return tuple(found.values())


def _of_python(python: str) -> Iterator[OtherJinja]:
    try:
        ran = subprocess.run(  # noqa: S603 - the person who asks names the program
            [python, "-c", _FIND, *_PYTHON_WORKERS],
            capture_output=True,
            text=True,
            timeout=START,
            check=True,
        )
        versions: dict[str, str] = json.loads(ran.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise AutoparserError(
            f"this Python cannot be run ({type(error).__name__})",
            file=python,
            hint="name the bin/python of the environment that the engine is installed in",
        ) from error
    for package, version in versions.items():
        worker = str(_WORKERS / _PYTHON_WORKERS[package])
        name = _NAMES.get(package, package)
        yield OtherJinja(name, version, (python, worker), own_requests=package in _NAMES)


def _of_node() -> Iterator[OtherJinja]:
    node = shutil.which("node")
    if node is None:
        return
    with suppress(OSError, ValueError, subprocess.SubprocessError):
        ran = subprocess.run(  # noqa: S603 - node, as the shell would find it
            [node, "-e", _RESOLVE, _PACKAGE],
            capture_output=True,
            text=True,
            timeout=START,
            check=True,
        )
        found: dict[str, str] = json.loads(ran.stdout)
        worker = str(_WORKERS / "huggingface_worker.mjs")
        command = (node, "--max-old-space-size=500", worker, found["main"])
        yield OtherJinja(_PACKAGE, found["version"], command)


SECONDS = 60.0
"""For all conversations of a template."""
STANDARD = ("messages", "tools", "documents", "add_generation_prompt", "strftime_now")
"""What is no switch of a template."""
_BEGIN = ("block_begin", "variable_begin", "raw_begin")
_MOST_WORDS = 200


@dataclass(frozen=True, slots=True)
class JinjaQuestion:
    """A template and the conversations to render."""

    template: str
    tokens: Mapping[str, str]
    """The special tokens."""
    clock: datetime
    """The time that the template sees, where that can be said."""
    conversations: Sequence[Mapping[str, object]]
    """What the template reads, for each."""


@dataclass(frozen=True, slots=True)
class JinjaAnswer:
    """What a program made of one conversation."""

    text: str = ""
    error: str = ""
    """Why it did not render; empty where it did."""
    at: int | None = None
    """Where in the template it stopped, in characters; None where that is not known."""
    was_asked: bool = True
    """False where the program did not come to it; `error` says why."""


def ask_jinja(jinja: OtherJinja, question: JinjaQuestion) -> tuple[JinjaAnswer, ...]:
    """Return an answer to each conversation, in their order."""
    given = json.dumps(_question_document(question))
    try:
        with subprocess.Popen(  # noqa: S603 - one of the installed programs
            jinja.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        ) as process:
            try:
                written, words = process.communicate(given, timeout=SECONDS)
                end = f"the process ended with the code {process.returncode}: {_last_line(words)}"
            except subprocess.TimeoutExpired as late:
                process.kill()
                written = (late.stdout or b"").decode(errors="replace")
                end = f"it takes more than {SECONDS:g} seconds"
    except OSError as error:
        written, end = "", f"it cannot be started: {error.strerror}"
    answers = [*_answers(written)]
    missing = len(question.conversations) - len(answers)
    return (*answers, *repeat(JinjaAnswer(error=end, was_asked=False), missing))


def _question_document(question: JinjaQuestion) -> Mapping[str, object]:
    tokens = [each for each in template_tokens(question.template) if each.kind in _BEGIN]
    note = "noted_line"
    while note in question.template:
        note += "_"
    return {
        "template": question.template,
        "clock": question.clock.isoformat(),
        "bos": question.tokens.get("bos_token") or "<s>",
        "eos": question.tokens.get("eos_token") or "</s>",
        "standard": [*STANDARD, *question.tokens],
        "note": note,
        "marked": _mark_tags(question.template, tokens, note),
        "tags": [each.start for each in tokens],
        "conversations": [
            {name: value for name, value in each.items() if name != "strftime_now"}
            for each in question.conversations
        ],
    }


def _mark_tags(text: str, tokens: Sequence[TemplateToken], note: str) -> str:
    """Return the template with a call before every tag that notes its place."""
    pieces: list[str] = []
    end = 0
    for each in tokens:
        pieces += [text[end : each.start], f"{{{{ {note}({each.start}) }}}}"]
        end = each.start
    return "".join((*pieces, text[end:]))


def _answers(output_text: str) -> Iterator[JinjaAnswer]:
    for row in output_text.split("\n"):
        try:
            given = json.loads(row)
        except ValueError:
            # Nothing, or a line that was cut with the process.
            return
        if "text" in given:
            yield JinjaAnswer(given["text"])
        else:
            words = one_line(given["error"]).rstrip(".")[:_MOST_WORDS]
            yield JinjaAnswer(error=words or "an error without words", at=given.get("at"))


def _last_line(words: str) -> str:
    lines = words.strip().splitlines()
    return lines[-1] if lines else "it said nothing"
