"""Ignores inside a template: comments by which its author accepts a finding.

The form is ``{#- autoparser: ignore AP301 reason -#}``: one or several selectors, separated by
commas, then the reason, which must be given. An ignore is for the whole template, wherever it
stands. A comment that begins with ``autoparser:`` and says anything else is a problem, since
whoever wrote it believes that it does something.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.spelling import suggest
from autoparser.analysis.loading.template import comments

from .choice import codes_of
from .problem import Problem

_OURS = re.compile(r"\s*autoparser\s*:\s*(?P<verb>[\w-]*)[\s:]*(?P<rest>.*)", re.DOTALL)
_SELECTORS = re.compile(r"(?P<selectors>[\w-]+(?:\s*,\s*[\w-]+)*)(?P<reason>.*)", re.DOTALL)
_FORM = "write {#- autoparser: ignore AP301 reason -#}"


@dataclass(frozen=True, slots=True)
class Ignore:
    """Findings that a template's author accepts."""

    selectors: tuple[str, ...]
    codes: frozenset[str]
    """The codes of the rules that the selectors mean."""
    reason: str
    line: int
    """The template's line on which the comment begins, from 1."""


def ignores_of(text: str, path: str) -> tuple[tuple[Ignore, ...], tuple[Problem, ...]]:
    """Return the ignores in a template's comments, and what is wrong with others."""
    found: list[Ignore] = []
    problems: list[Problem] = []
    for line, comment in comments(text):
        match = _OURS.match(comment)
        if match is None:
            continue
        try:
            found.append(_ignore(match["verb"], match["rest"].strip(), line))
        except AutoparserError as error:
            problems.append(Problem(path, error.message, error.hint or "", line=line))
    return tuple(found), tuple(problems)


def _ignore(verb: str, rest: str, line: int) -> Ignore:
    if verb != "ignore":
        hint = suggest(verb, ["ignore"], _FORM)
        raise AutoparserError(f"a comment for autoparser says {verb!r}", hint=hint)
    match = _SELECTORS.match(rest)
    if match is None:
        raise AutoparserError("this ignore names no rule", hint=_FORM)
    selectors = tuple(re.split(r"\s*,\s*", match["selectors"]))
    codes = codes_of(selectors)
    reason = " ".join(match["reason"].strip(" \t\r\n:-–—").split())
    if not reason:
        raise AutoparserError(
            f"this ignore of {', '.join(selectors)} gives no reason",
            hint="say why after the codes, for whoever reads it next",
        )
    return Ignore(selectors, codes, reason, line)


def unused(ignores: tuple[Ignore, ...], seen: frozenset[str]) -> Iterator[Ignore]:
    """Return the ignores none of whose codes are among those that were seen."""
    yield from (each for each in ignores if not each.codes & seen)
