"""From what a person names on the command line to the sources of templates.

A file is itself a source, by whatever name. Below a directory, a model directory is one source
with all its named templates, and every other file of a template's name is one. A pattern stands
for the files and directories that it meets. What is neither file, directory nor pattern is left
to `load_template`, which knows the Hub.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import glob
from itertools import takewhile
from pathlib import Path

from autoparser.analysis.loading.sources import special_kind

from .globs import is_pattern, matches
from .problem import Problem

SUFFIXES = (".jinja", ".jinja2", ".j2", ".gguf")
MODEL_FILES = (
    "chat_template.jinja",
    "chat_template.json",
    "tokenizer_config.json",
    "processor_config.json",
)
"""Files that may hold the templates of a model directory."""
ADDITIONAL = "additional_chat_templates"
"""Part of the model directory that it is in."""

NEVER = frozenset(
    {
        ".cache",
        ".direnv",
        ".eggs",
        ".git",
        ".hg",
        ".mypy_cache",
        ".nox",
        ".pytest_cache",
        ".ruff_cache",
        ".svn",
        ".tox",
        ".venv",
        "__pycache__",
        "__pypackages__",
        "node_modules",
        "site-packages",
        "venv",
    }
)
"""Folders that hold what others wrote; named themselves, they are read."""


@dataclass(frozen=True, slots=True)
class Source:
    """What `load_templates` is to load."""

    given: str
    within: str | None = None
    """The directory or pattern that it was found by; None where it was named itself."""


def gather(
    arguments: Sequence[str], exclude: Sequence[str] = (), root: Path | None = None
) -> tuple[tuple[Source, ...], tuple[Problem, ...]]:
    """Return the sources that the arguments mean, each once, and the arguments that mean none.

    `exclude` are patterns of paths below `root` (the working directory where it is None); they
    are for what is found, not for what is named.
    """
    problems: list[Problem] = []
    walk = _Walk(tuple(exclude), (root or Path.cwd()).resolve(), problems)
    found: dict[str, Source] = {}
    for argument in arguments:
        sources = list(walk.sources(argument))
        if not sources and is_pattern(argument):
            problems.append(
                Problem(argument, "this pattern meets no template", "correct it, or quote less")
            )
        elif not sources:
            problems.append(_nothing(argument))
        for source in sources:
            special = special_kind(Path(source.given)) if source.given else None
            if special is not None:
                problems.append(_special(source.given, special))
                continue
            found.setdefault(_identity(source.given), source)
    return tuple(found.values()), tuple(problems)


def nothing_below(directory: str) -> Problem:
    """Return the problem of a directory that holds no template: to pass it would check nothing."""
    return _nothing(directory)


def _nothing(directory: str) -> Problem:
    return Problem(
        directory,
        "there is no template below this directory",
        f"a template is named *{', *'.join(SUFFIXES)}, {' or '.join(MODEL_FILES[1:3])};"
        " name another file itself",
    )


def _special(given: str, kind: str) -> Problem:
    return Problem(
        given,
        f"this is {kind}, which is not read",
        "name a file, or give its text on standard input with -",
    )


def _identity(given: str) -> str:
    path = Path(given)
    try:
        return str(path.resolve()) if given and path.exists() else given
    except OSError:
        return given


@dataclass(frozen=True, slots=True)
class _Walk:
    exclude: tuple[str, ...]
    root: Path
    problems: list[Problem]
    """Where folders go that cannot be searched."""

    def sources(self, argument: str) -> Iterator[Source]:
        path = Path(argument)
        if _is_directory(path, argument):
            yield from self._below(argument, argument)
        elif is_pattern(argument) and not _exists(path):
            # A path's own glob takes no absolute pattern.
            for each in sorted(glob(argument, recursive=True)):  # noqa: PTH207
                if self._excluded(each):
                    continue
                if Path(each).is_dir():
                    yield from self._below(each, argument)
                else:
                    yield Source(each, argument)
        else:
            yield Source(argument)

    def _below(self, directory: str, argument: str) -> Iterator[Source]:
        for folder, folders, files in os.walk(directory, onerror=self._unreadable):
            of_model = ADDITIONAL in folders or any(name in files for name in MODEL_FILES)
            folders[:] = sorted(
                name
                for name in folders
                if name not in NEVER
                and not (of_model and name == ADDITIONAL)
                and not self._excluded(str(Path(folder, name)))
            )
            if of_model and not self._excluded(folder):
                yield Source(folder, argument)
            for name in sorted(files):
                path = str(Path(folder, name))
                if (
                    name not in MODEL_FILES
                    and name.lower().endswith(SUFFIXES)
                    and not self._excluded(path)
                ):
                    yield Source(path, argument)

    def _unreadable(self, error: OSError) -> None:
        reason = error.strerror or type(error).__name__
        folder: object = error.filename
        hint = "let yourself in, or leave it out with exclude"
        self.problems.append(Problem(str(folder), f"cannot be searched ({reason})", hint))

    def _excluded(self, path: str) -> bool:
        if not self.exclude:
            return False
        below = relative_to(path, self.root)
        return below is not None and any(matches(each, below) for each in self.exclude)


def relative_to(path: str, root: Path) -> str | None:
    """Return a path below `root` with slashes; None where it is not below, or is not a path."""
    try:
        return Path(path).resolve().relative_to(root).as_posix()
    except (OSError, ValueError):
        return None


def leads_out(path: str, within: str) -> bool:
    """Say whether a file that was found by a folder or a pattern is none of that folder's."""
    parts = Path(within).parts
    fixed = [*takewhile(lambda part: not is_pattern(part), parts)]
    try:
        # A folder that is a link itself was named, and what is in it is meant.
        return not Path(path).resolve().is_relative_to(Path(*fixed).resolve())
    except OSError:
        return True


def _is_directory(path: Path, given: str) -> bool:
    try:
        return bool(given) and path.is_dir()
    except (OSError, ValueError):
        return False


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
