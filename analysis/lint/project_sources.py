"""From what a person names on the command line to the sources of templates.

A file is itself a source, by whatever name. Below a directory, a model directory is one source
with all its named templates, and every other file of a template's name is one. A pattern stands
for the files and directories that it meets. What is neither file, directory nor pattern is left
to `load_template`, which knows the Hub.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from glob import glob
from itertools import takewhile
from pathlib import Path

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

# What could not be looked at, and why: it is not a finding, and stops no other template.


@dataclass(frozen=True, slots=True)
class InputProblem:
    """An input that is not what it should be."""

    path: str
    """The file or source that it is about."""
    message: str
    """What is wrong, without a full stop."""
    hint: str = ""
    """What to do about it."""
    place: str = ""
    """Where in the file, where that is not a line, such as ``byte 42``."""
    line: int | None = None
    in_folder: bool = False
    """Whether a folder or a pattern has it, rather than that somebody named it: no fault then."""


def problem_of(error: AutoparserError, path: str) -> InputProblem:
    """Return an error as a problem of `path`, unless it names a file itself."""
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
class TemplateSource:
    """What `load_templates` is to load."""

    argument: str
    within: str | None = None
    """The directory or pattern that it was found by; None where it was named itself."""


def gather_sources(
    arguments: Sequence[str], exclude: Sequence[str] = (), root: Path | None = None
) -> tuple[tuple[TemplateSource, ...], tuple[InputProblem, ...]]:
    """Return the sources that the arguments mean, each once, and the arguments that mean none.

    `exclude` are patterns of paths below `root` (the working directory where it is None); they
    are for what is found, not for what is named.
    """
    problems: list[InputProblem] = []
    walk = _Walk(tuple(exclude), (root or Path.cwd()).resolve(), problems)
    found: dict[str, TemplateSource] = {}
    for argument in arguments:
        sources = list(walk.sources(argument))
        if not sources and is_pattern(argument):
            problems.append(
                InputProblem(
                    argument,
                    "no template matches this pattern",
                    "correct it, or leave out the quotes",
                )
            )
        elif not sources:
            problems.append(nothing_below(argument))
        for source in sources:
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
            found.setdefault(_identity(source.argument), source)
    return tuple(found.values()), tuple(problems)


def nothing_below(directory: str) -> InputProblem:
    """Return the problem of a directory that holds no template: to pass it would check nothing."""
    return InputProblem(
        directory,
        "there is no template in this directory or below",
        f"a template is named *{', *'.join(SUFFIXES)}, {' or '.join(MODEL_FILES[1:3])};"
        " name another file itself",
    )


def _identity(argument: str) -> str:
    path = Path(argument)
    try:
        return str(path.resolve()) if argument and path.exists() else argument
    except OSError:
        return argument


@dataclass(frozen=True, slots=True)
class _Walk:
    exclude: tuple[str, ...]
    root: Path
    problems: list[InputProblem]
    """Where folders go that cannot be searched."""

    def sources(self, argument: str) -> Iterator[TemplateSource]:
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
                    yield TemplateSource(each, argument)
        else:
            yield TemplateSource(argument)

    def _below(self, directory: str, argument: str) -> Iterator[TemplateSource]:
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
                yield TemplateSource(folder, argument)
            for name in sorted(files):
                path = str(Path(folder, name))
                if (
                    name not in MODEL_FILES
                    and name.lower().endswith(SUFFIXES)
                    and not self._excluded(path)
                ):
                    yield TemplateSource(path, argument)

    def _unreadable(self, error: OSError) -> None:
        reason = error.strerror or type(error).__name__
        folder: object = error.filename
        hint = "let yourself in, or leave it out with exclude"
        self.problems.append(InputProblem(str(folder), f"cannot be searched ({reason})", hint))

    def _excluded(self, path: str) -> bool:
        if not self.exclude:
            return False
        below = relative_to(path, self.root)
        return below is not None and any(matches_glob(each, below) for each in self.exclude)


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


def _is_directory(path: Path, argument: str) -> bool:
    try:
        return bool(argument) and path.is_dir()
    except (OSError, ValueError):
        return False


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


# From sources to the templates that are looked at, with what belongs to each.


_NO_LINES = (".json", ".gguf")
"""Files in which a template's lines are not lines of the file."""


@dataclass(frozen=True, slots=True)
class LintTarget:
    """One template that is to be looked at."""

    template: ChatTemplate
    path: str
    """The file that holds it, or the source: what reports point to."""
    name: str | None
    """Its name where its source has several."""
    tokenizer: str | None
    """What to load for the tokenizer beside it."""
    directory: Path | None
    """The model directory that it is of."""
    saved_format: str | None = None
    """The saved format that named it: what was learned of its turns."""
    linked_out: bool = False
    """Whether it was found below a folder, by a link that leads out of that."""

    @property
    def in_lines(self) -> bool:
        """Whether the template's lines are the lines of the file."""
        return not self.path.lower().endswith(_NO_LINES)


def load_targets(
    sources: Iterable[TemplateSource],
    revision: str | None = None,
    template_place: str | None = None,
) -> tuple[tuple[LintTarget, ...], tuple[InputProblem, ...]]:
    """Load every template of every source, and give what could not be loaded.

    `revision` is that of models on the Hub. Of a saved format it is the template that it was
    learned from, at `template_place` or where it was. Raises AutoparserError where that place is
    given and no source is a saved format.
    """
    sources = tuple(sources)
    if template_place is not None and not any(map(_is_saved, sources)):
        raise AutoparserError(
            "--template is only for a saved format",
            hint="leave it out",
        )
    # A directory and a file in it may hold the same template.
    targets: dict[tuple[str, str | None, str | None], LintTarget] = {}
    problems: list[InputProblem] = []
    within: dict[str, bool] = {}
    # A directory of many templates is looked through once.
    file_of = cache(tokenizer_file)
    for source in sources:
        if source.within is not None:
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
        if source.within is not None:
            within[source.within] = True
    problems += [nothing_below(each) for each, any_there in within.items() if not any_there]
    return tuple(targets.values()), tuple(problems)


def _is_saved(source: TemplateSource) -> bool:
    return source.argument != "-" and is_saved_format(source.argument)


def _load_source(
    source: TemplateSource, revision: str | None, template_place: str | None
) -> tuple[Sequence[ChatTemplate], str | None]:
    """Load a source's templates; of a saved format the one it was learned from, and its file."""
    if _is_saved(source):
        # Few sources are saved formats, and what reads them makes parsers, too.
        from autoparser.analysis.formats.saved_format import (  # noqa: PLC0415
            load_format,
            template_of_format,
        )

        template = template_of_format(load_format(source.argument), template_place)
        return (template,), source.argument
    return load_templates(source.argument, revision=_revision(source, revision)), None


def _revision(source: TemplateSource, revision: str | None) -> str | None:
    """Return the revision of a source; what is here has none."""
    return None if source.argument == "-" or Path(source.argument).exists() else revision


def _target(
    template: ChatTemplate,
    source: TemplateSource,
    file_of: Callable[[Path], Path | None],
    *,
    with_name: bool,
) -> LintTarget:
    place = Path(source.argument)
    # Of what is not a path here, a file that it was fetched to would say nothing to anybody else.
    path = ((place.exists() or source.argument == "-") and template.origin) or source.argument
    beside = tokenizer_beside(source.argument, file_of) or tokenizer_beside(path, file_of)
    tokenizer = None if beside is None else str(beside)
    if place.is_dir():
        directory = place
    elif place.name in MODEL_FILES and place.is_file():
        directory = place.parent
    else:
        directory = None
    name = template.name if with_name else None
    outside = source.within is not None and leads_out(path, source.within)
    return LintTarget(template, path, name, tokenizer, directory, linked_out=outside)


def _problem(error: AutoparserError, source: TemplateSource) -> InputProblem | None:
    """Return an error as a problem; None for a directory that turns out to be no model's."""
    path = Path(source.argument)
    if isinstance(error, TemplateNotFoundError) and source.within is not None and path.is_dir():
        return None
    suffix = path.suffix.lower()
    if isinstance(error, TemplateReadError) and suffix == ".gguf" and file_kind(path) == MISNAMED:
        problem = problem_of(error, source.argument)
        return replace(problem, message=f"this is a broken GGUF file: {problem.message}")
    if isinstance(error, TemplateReadError) and path.is_file() and suffix != ".json":
        kind = file_kind(path)
        if kind is not None:
            return InputProblem(source.argument, f"this is {kind}, not a chat template")
    return problem_of(error, source.argument)


def _no_template(target: LintTarget) -> InputProblem | None:
    """Say of a text in which Jinja would find nothing to do what it is."""
    text = target.template.text
    if "{{" in text or "{%" in text:
        return None
    path = Path(target.path)
    kind = file_kind(path) if path.is_file() and target.in_lines else None
    return InputProblem(
        target.path,
        f"this is {kind or 'text'} without any Jinja in it, not a chat template",
        "name a file that holds a template, or leave this one out with exclude",
    )
