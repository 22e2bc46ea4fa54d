"""Which other programs' Jinja can be asked here."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from autoparser.analysis.core.errors import AutoparserError

__all__ = ["OtherJinja", "installed_jinjas"]

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
