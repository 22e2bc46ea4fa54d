"""The template sources that command-line arguments name.

A file is a source, whatever its name. Below a directory, a model directory is one source with all
its named templates, and every other file with a template's suffix is one. A pattern stands for the
files and directories that it matches. Anything else is left to `load_template`, which asks the Hub.

Of the files `model/chat_template.jinja`, `model/tokenizer_config.json`, `extra/chat.jinja`,
`extra/notes.txt` and `node_modules/x.jinja`, the argument `.` names two sources:

    gather_sources(["."])[0]
    # (TemplateSource(argument='extra/chat.jinja', within='.'),
    #  TemplateSource(argument='./model', within='.'))
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from glob import glob
from itertools import takewhile
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from autoparser.analysis.core.errors import (
    AutoparserError,
    TemplateNotFoundError,
    TemplateReadError,
    TemplateSyntaxError,
)
from autoparser.analysis.sources.local_files import (
    MISNAMED,
    file_kind,
    is_saved_format,
    special_kind,
)
from autoparser.analysis.sources.template_loading import load_templates
from autoparser.analysis.sources.tokenizer_loading import tokenizer_beside, tokenizer_file
from autoparser.analysis.templates.chat_template import ChatTemplate

from .project_settings import is_pattern, matches_glob

# Inputs that could not be inspected: they are not findings, and do not stop the run.


class InputProblem(Struct, frozen=True):
    """An input with a problem."""

    path: str
    """The file or source, e.g. ``model/tokenizer_config.json``."""
    message: str
    """The problem, without a full stop, e.g. ``an ignore comment without a rule``."""
    hint: str = ""
    """The way out, e.g. ``write {#- autoparser: ignore AP301 reason -#}``."""
    place: str = ""
    """The place in the file if it is not a line, e.g. ``byte 42``."""
    line: int | None = None
    """The line in the file, from 1, e.g. 1 for a comment at its start."""
    in_folder: bool = False
    """Whether a folder or pattern led to it, e.g. True for a file in ``templates/``, so that it is
    not the caller's mistake."""


def input_problem(error: AutoparserError, path: str) -> InputProblem:
    """Return an error as a problem of `path`, or of the file that it names."""
    line = error.line if isinstance(error, TemplateSyntaxError) else None
    place = "" if line is not None else error.place or ""
    return InputProblem(error.file or path, error.message, error.hint or "", place, line)


SUFFIXES = (".jinja", ".jinja2", ".j2", ".gguf")
MODEL_FILES = (
    "chat_template.jinja",
    "chat_template.json",
    "tokenizer_config.json",
    "processor_config.json",
)
"""Files that may hold the templates of a model directory."""
ADDITIONAL = "additional_chat_templates"
"""A subfolder that belongs to its model directory."""

NEVER = {
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
"""Folders with other people's files; they are searched only if named."""


class TemplateSource(Struct, frozen=True):
    """An argument of `load_templates`."""

    argument: str
    """A path, a Hub name or ``-``."""
    within: str | None = None
    """The directory or pattern that led to it, e.g. ``fixtures/lint/AP101``, or None if it was
    named itself."""


def gather_sources(
    arguments: Sequence[str], exclude: Sequence[str] = (), root: Path | None = None
) -> tuple[tuple[TemplateSource, ...], tuple[InputProblem, ...]]:
    """Return the sources that the arguments name, each once, and the invalid arguments.

    `exclude` holds patterns of paths below `root`, by default the working directory; they apply to
    paths that were found, not to named ones.
    """
    problems: list[InputProblem] = []
    walk = _Walk(tuple(exclude), (root or Path.cwd()).resolve(), problems)
    found: dict[str, TemplateSource] = {}
    for argument in arguments:
        sources = list(walk.sources(argument))
        if not sources and is_pattern(argument):
            words = "no template matches this pattern"
            problems.append(InputProblem(argument, words, "fix it, or remove the quotes"))
        elif not sources:
            problems.append(nothing_below(argument))
        for source in sources:
            # E.g. a named pipe: opening it waits until another program writes to it.
            special = special_kind(Path(source.argument)) if source.argument else None
            if special is not None:
                problems.append(
                    InputProblem(
                        source.argument,
                        f"this is {special}, which is not read",
                        "name a file, or give its text on standard input with -",
                        in_folder=source.within is not None,
                    )
                )
                continue
            # Several arguments may lead to one file.
            found.setdefault(_identity(source.argument), source)
    return tuple(found.values()), tuple(problems)


def nothing_below(directory: str) -> InputProblem:
    """Return the problem of a directory without templates: ignoring it would check nothing."""
    return InputProblem(
        directory,
        "no template in this directory or below",
        f"a template is named *{', *'.join(SUFFIXES)}, {' or '.join(MODEL_FILES[1:3])};"
        " name another file itself",
    )


def _identity(argument: str) -> str:
    path = Path(argument)
    try:
        return str(path.resolve()) if argument and path.exists() else argument
    except OSError:
        return argument


class _Walk(Struct, frozen=True):
    exclude: tuple[str, ...]
    """Patterns of paths to skip, e.g. ``("legacy/**",)``."""
    root: Path
    """The folder that the patterns are relative to, e.g. the working directory."""
    problems: list[InputProblem]
    """Receives the folders that cannot be searched, e.g. those without permission."""

    def sources(self, argument: str) -> Iterator[TemplateSource]:
        path = Path(argument)
        if _is_directory(path, argument):
            yield from self._below(argument, argument)
        # A file name may contain wildcards, too.
        elif is_pattern(argument) and not _exists(path):
            # `Path.glob` takes no absolute pattern.
            for found in sorted(glob(argument, recursive=True)):  # noqa: PTH207
                if self._is_excluded(found):
                    continue
                if Path(found).is_dir():
                    yield from self._below(found, argument)
                else:
                    yield TemplateSource(found, argument)
        else:
            yield TemplateSource(argument)

    def _below(self, directory: str, argument: str) -> Iterator[TemplateSource]:
        for folder, folders, files in os.walk(directory, onerror=self._unreadable):
            of_model = ADDITIONAL in folders or any(name in files for name in MODEL_FILES)
            # In place: `os.walk` goes on to the folders that remain in this list, in its order.
            folders[:] = sorted(
                name
                for name in folders
                if name not in NEVER
                and not (of_model and name == ADDITIONAL)
                and not self._is_excluded(str(Path(folder, name)))
            )
            # A model directory is one source, since its files belong together.
            if of_model and not self._is_excluded(folder):
                yield TemplateSource(folder, argument)
            for name in sorted(files):
                path = str(Path(folder, name))
                if (
                    name not in MODEL_FILES
                    and name.lower().endswith(SUFFIXES)
                    and not self._is_excluded(path)
                ):
                    yield TemplateSource(path, argument)

    def _unreadable(self, error: OSError) -> None:
        reason = error.strerror or type(error).__name__
        folder: object = error.filename
        hint = "change its permissions, or skip it with exclude"
        self.problems.append(InputProblem(str(folder), f"cannot be searched ({reason})", hint))

    def _is_excluded(self, path: str) -> bool:
        if not self.exclude:
            return False
        below = relative_to(path, self.root)
        return below is not None and any(matches_glob(pattern, below) for pattern in self.exclude)


def relative_to(path: str, root: Path) -> str | None:
    """Return a path relative to `root`, with slashes, or None if it is not below it."""
    try:
        return Path(path).resolve().relative_to(root).as_posix()
    except (OSError, ValueError):
        return None


def leads_out(path: str, within: str) -> bool:
    """Return whether a found path leads out of the folder."""
    parts = Path(within).parts
    fixed = [*takewhile(lambda part: not is_pattern(part), parts)]
    try:
        # Follow a link to a folder that the user named explicitly.
        return not Path(path).resolve().is_relative_to(Path(*fixed).resolve())
    except OSError:
        return True


def _is_directory(path: Path, argument: str) -> bool:
    try:
        # An empty path would be the working directory.
        return bool(argument) and path.is_dir()
    except (OSError, ValueError):
        return False


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


# The templates of the sources, with the files beside them.


_NO_LINES = (".json", ".gguf")
"""Files whose lines are not the template's."""


class LintTarget(Struct, frozen=True):
    """A template to inspect."""

    template: ChatTemplate
    """The template, e.g. ``<ChatTemplate of fixtures/lint/AP206/fires.jinja: 5 lines>``."""
    path: str
    """The file that holds it, or the source, e.g. ``fixtures/lint/AP206/fires.jinja``: the path in
    reports."""
    name: str | None
    """Its name if the source holds several, e.g. ``tool_use``."""
    tokenizer: str | None
    """The path of the tokenizer beside it, e.g. ``model/tokenizer.json``."""
    directory: Path | None
    """The model directory that contains it, e.g. ``model``; None for a single file."""
    saved_format: str | None = None
    """The saved format that refers to it, with the results of learning from outputs."""
    linked_out: bool = False
    """Whether a link led out of the searched folder to it, e.g. True for a link to a file
    elsewhere."""

    @property
    def in_lines(self) -> bool:
        """Whether the template's lines are lines of the file."""
        return not self.path.lower().endswith(_NO_LINES)


def load_targets(
    sources: Iterable[TemplateSource],
    revision: str | None = None,
    template_place: str | None = None,
) -> tuple[tuple[LintTarget, ...], tuple[InputProblem, ...]]:
    """Load every template of every source, and return the failures as problems.

    `revision` applies to models on the Hub. A saved format stands for the template that it was
    learned from, at `template_place` or its original place. Raises AutoparserError if that place is
    given and no source is a saved format.
    """
    sources = tuple(sources)
    if template_place is not None and not any(map(_is_saved, sources)):
        raise AutoparserError("--template is only for a saved format", hint="remove it")
    # A directory and a file in it may contain the same template.
    targets: dict[tuple[str, str | None, str | None], LintTarget] = {}
    problems: list[InputProblem] = []
    within: dict[str, bool] = {}
    # Search a directory of many templates once.
    file_of = cache(tokenizer_file)
    for source in sources:
        if source.within is not None:
            # Whether a template was found below each folder.
            within.setdefault(source.within, False)
        try:
            loaded, saved = _load_source(source, revision, template_place)
        except AutoparserError as error:
            problem = _problem(error, source)
            if problem is None:
                continue
            problems.append(problem)
        else:
            for template in loaded:
                shown = _target(template, source, file_of, with_name=len(loaded) > 1)
                target = replace(shown, saved_format=saved)
                problem = _no_template(target)
                if problem is None:
                    targets.setdefault((target.path, target.name, saved), target)
                else:
                    problems.append(problem)
        # A folder whose only templates are faulty is not without templates.
        if source.within is not None:
            within[source.within] = True
    problems += [
        nothing_below(directory) for directory, any_there in within.items() if not any_there
    ]
    return tuple(targets.values()), tuple(problems)


def _is_saved(source: TemplateSource) -> bool:
    return source.argument != "-" and is_saved_format(source.argument)


def _load_source(
    source: TemplateSource, revision: str | None, template_place: str | None
) -> tuple[Sequence[ChatTemplate], str | None]:
    """Load a source's templates; for a saved format, its template and its file."""
    if _is_saved(source):
        # Saved formats are rare, and reading them imports the parser.
        from autoparser.analysis.formats.saved_format import (  # noqa: PLC0415
            load_format,
            template_of_format,
        )

        template = template_of_format(load_format(source.argument), template_place)
        return (template,), source.argument
    local = source.argument == "-" or Path(source.argument).exists()
    return load_templates(source.argument, revision=None if local else revision), None


def _target(
    template: ChatTemplate,
    source: TemplateSource,
    file_of: Callable[[Path], Path | None],
    *,
    with_name: bool,
) -> LintTarget:
    place = Path(source.argument)
    # For Hub models, the local cache file would mean nothing to the reader.
    path = ((place.exists() or source.argument == "-") and template.origin) or source.argument
    beside = tokenizer_beside(source.argument, file_of) or tokenizer_beside(path, file_of)
    if place.is_dir():
        directory = place
    # A file of a model directory, too, for the rules that need the directory.
    elif place.name in MODEL_FILES and place.is_file():
        directory = place.parent
    else:
        directory = None
    name = template.name if with_name else None
    outside = source.within is not None and leads_out(path, source.within)
    return LintTarget(template, path, name, beside, directory, linked_out=outside)


def _problem(error: AutoparserError, source: TemplateSource) -> InputProblem | None:
    """Return an error as a problem, or None for a directory that is not a model's."""
    path = Path(source.argument)
    if isinstance(error, TemplateNotFoundError) and source.within is not None and path.is_dir():
        return None
    suffix = path.suffix.lower()
    if isinstance(error, TemplateReadError) and suffix == ".gguf" and file_kind(path) == MISNAMED:
        problem = input_problem(error, source.argument)
        return replace(problem, message=f"this is a broken GGUF file: {problem.message}")
    if isinstance(error, TemplateReadError) and path.is_file() and suffix != ".json":
        kind = file_kind(path)
        if kind is not None:
            return InputProblem(source.argument, f"this is {kind}, not a chat template")
    return input_problem(error, source.argument)


def _no_template(target: LintTarget) -> InputProblem | None:
    """Return the problem of a text without any Jinja, or None."""
    text = target.template.text
    if "{{" in text or "{%" in text:
        return None
    path = Path(target.path)
    kind = file_kind(path) if path.is_file() and target.in_lines else None
    return InputProblem(
        target.path,
        f"this is {kind or 'text'} without any Jinja, not a chat template",
        "pass a file with a template, or skip this one with exclude",
    )
