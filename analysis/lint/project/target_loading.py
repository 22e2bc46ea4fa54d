"""From sources to the templates that are looked at, with what belongs to each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from autoparser.analysis.core.errors import (
    AutoparserError,
    TemplateNotFoundError,
    TemplateReadError,
)
from autoparser.analysis.learnt import is_saved_format, load_format, template_of_format
from autoparser.analysis.loading.sources import MISNAMED, kind_of, load_templates
from autoparser.analysis.loading.template import ChatTemplate
from autoparser.analysis.loading.tokens import tokenizer_beside, tokenizer_file

from .gathering import MODEL_FILES, Source, leads_out, nothing_below
from .problem import Problem, problem_of

_NO_LINES = (".json", ".gguf")
"""Files in which a template's lines are not lines of the file."""


@dataclass(frozen=True, slots=True)
class Target:
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
    learnt: str | None = None
    """The saved format that named it: what was learnt of its turns."""
    linked_out: bool = False
    """Whether it was found below a folder, by a link that leads out of that."""

    @property
    def in_lines(self) -> bool:
        """Whether the template's lines are the lines of the file."""
        return not self.path.lower().endswith(_NO_LINES)


def load_targets(
    sources: Iterable[Source], revision: str | None = None, template_place: str | None = None
) -> tuple[tuple[Target, ...], tuple[Problem, ...]]:
    """Load every template of every source, and give what could not be loaded.

    `revision` is that of models on the Hub. Of a saved format it is the template that it was learnt
    from, at `template_place` or where it was. Raises AutoparserError where that place is given and
    no source is a saved format.
    """
    sources = tuple(sources)
    if template_place is not None and not any(map(_is_saved, sources)):
        raise AutoparserError(
            "--template says where the template of a saved format is, and none is given",
            hint="leave it out",
        )
    # A directory and a file in it may hold the same template.
    targets: dict[tuple[str, str | None, str | None], Target] = {}
    problems: list[Problem] = []
    within: dict[str, bool] = {}
    # A directory of many templates is looked through once.
    file_of = cache(tokenizer_file)
    for source in sources:
        if source.within is not None:
            within.setdefault(source.within, False)
        try:
            loaded, learnt = _loaded(source, revision, template_place)
        except AutoparserError as error:
            problem = _problem(error, source)
            if problem is None:
                continue
            problems.append(problem)
        else:
            for template in loaded:
                shown = _target(template, source, file_of, named=len(loaded) > 1)
                target = replace(shown, learnt=learnt)
                problem = _no_template(target)
                if problem is None:
                    targets.setdefault((target.path, target.name, learnt), target)
                else:
                    problems.append(problem)
        if source.within is not None:
            within[source.within] = True
    problems += [nothing_below(each) for each, any_there in within.items() if not any_there]
    return tuple(targets.values()), tuple(problems)


def _is_saved(source: Source) -> bool:
    return source.given != "-" and is_saved_format(source.given)


def _loaded(
    source: Source, revision: str | None, template_place: str | None
) -> tuple[Sequence[ChatTemplate], str | None]:
    """Load a source's templates; of a saved format the one it was learnt from, and its file."""
    if _is_saved(source):
        template = template_of_format(load_format(source.given), template_place)
        return (template,), source.given
    return load_templates(source.given, revision=_revision(source, revision)), None


def _revision(source: Source, revision: str | None) -> str | None:
    """Return the revision of a source; what is here has none."""
    return None if source.given == "-" or Path(source.given).exists() else revision


def _target(
    template: ChatTemplate,
    source: Source,
    file_of: Callable[[Path], Path | None],
    *,
    named: bool,
) -> Target:
    place = Path(source.given)
    # Of what is not a path here, a file that it was fetched to would say nothing to anybody else.
    path = ((place.exists() or source.given == "-") and template.origin) or source.given
    beside = tokenizer_beside(source.given, file_of) or tokenizer_beside(path, file_of)
    tokenizer = None if beside is None else str(beside)
    if place.is_dir():
        directory = place
    elif place.name in MODEL_FILES and place.is_file():
        directory = place.parent
    else:
        directory = None
    name = template.name if named else None
    outside = source.within is not None and leads_out(path, source.within)
    return Target(template, path, name, tokenizer, directory, linked_out=outside)


def _problem(error: AutoparserError, source: Source) -> Problem | None:
    """Return an error as a problem; None for a directory that turns out to be no model's."""
    path = Path(source.given)
    if isinstance(error, TemplateNotFoundError) and source.within is not None and path.is_dir():
        return None
    suffix = path.suffix.lower()
    if isinstance(error, TemplateReadError) and suffix == ".gguf" and kind_of(path) == MISNAMED:
        problem = problem_of(error, source.given)
        return replace(problem, message=f"this is a broken GGUF file: {problem.message}")
    if isinstance(error, TemplateReadError) and path.is_file() and suffix != ".json":
        kind = kind_of(path)
        if kind is not None:
            return Problem(source.given, f"this is {kind}, not a chat template")
    return problem_of(error, source.given)


def _no_template(target: Target) -> Problem | None:
    """Say of a text in which Jinja would find nothing to do what it is."""
    text = target.template.text
    if "{{" in text or "{%" in text:
        return None
    path = Path(target.path)
    kind = kind_of(path) if path.is_file() and target.in_lines else None
    return Problem(
        target.path,
        f"this is {kind or 'text'} without any Jinja in it, not a chat template",
        "name a file that holds a template, or leave this one out with exclude",
    )
