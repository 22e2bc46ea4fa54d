"""Known findings, which do not fail a run.

A baseline is a JSON file. A finding is identified by its path, its template's name, its code and a
digest of its message without line numbers, so it stays known when lines move, and is new when its
message changes. Two equal findings need two entries. An entry:

    {
     "path": "chat.jinja",
     "template": "",
     "code": "AP301",
     "digest": "a8464d848eb6328c",
     "message": "whitespace at the beginning and end of assistant content is stripped"
    }
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from autoparser.analysis.core.documents import read_value
from autoparser.analysis.core.error_words import spelling_hint
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.sources.local_files import open_file, read_bounded

from .project_settings import selected_codes
from .project_sources import InputProblem

if TYPE_CHECKING:
    from .linting import LintFinding

# Comments by which a template's author accepts a finding. The form is ``{#- autoparser: ignore
# AP301 reason -#}``: one or more selectors, separated by commas, then the mandatory reason. An
# ignore applies to the whole template, wherever it is. Any other comment that begins with
# ``autoparser:`` is an error, because its author expects it to have an effect.


_OURS = re.compile(
    r"\s*autoparser\s*(?P<colon>:|(?=\bignore\b))\s*(?P<verb>[\w-]*)[\s:]*(?P<rest>.*)", re.DOTALL
)
_SELECTORS = re.compile(r"(?P<selectors>[\w-]+(?:\s*,\s*[\w-]+)*)(?P<reason>.*)", re.DOTALL)
_FORM = "write {#- autoparser: ignore AP301 reason -#}"


class Ignore(Struct, frozen=True):
    """An ignore: the rules whose findings a template's author accepts."""

    selectors: tuple[str, ...]
    """Codes, prefixes or names of rules, e.g. ``("AP301", "AP4")``."""
    reason: str
    """The author's reason, e.g. ``lists are joined upstream``."""
    line: int
    """The template's line with the start of the comment, from 1, e.g. 1."""

    @property
    def codes(self) -> frozenset[str]:
        """The codes of the selected rules."""
        return selected_codes(self.selectors)


def template_ignores(text: str, path: str) -> tuple[tuple[Ignore, ...], tuple[InputProblem, ...]]:
    """Return the ignores in a template's comments, and the malformed ones as problems."""
    # Only parsing needs Jinja: cached ignores do not.
    from autoparser.analysis.templates.source_text import template_comments  # noqa: PLC0415

    found: list[Ignore] = []
    problems: list[InputProblem] = []
    for line, comment in template_comments(text):
        match = _OURS.match(comment)
        if match is None:
            continue
        try:
            found.append(_ignore(match, line))
        except AutoparserError as error:
            problems.append(InputProblem(path, error.message, error.hint or "", line=line))
    return tuple(found), tuple(problems)


def _ignore(comment: re.Match[str], line: int) -> Ignore:
    verb, rest = comment["verb"], comment["rest"].strip()
    if not comment["colon"]:
        words = "an ignore comment without a colon after 'autoparser'"
        raise AutoparserError(words, hint=_FORM)
    if verb != "ignore":
        hint = spelling_hint(verb, ["ignore"], _FORM)
        raise AutoparserError(f"unknown command {verb!r} in a comment for autoparser", hint=hint)
    match = _SELECTORS.match(rest)
    if match is None:
        raise AutoparserError("an ignore comment without a rule", hint=_FORM)
    selectors = tuple(re.split(r"\s*,\s*", match["selectors"]))
    selected_codes(selectors)  # raises for a selector that matches no rule
    # Authors separate the reason with a colon or a dash.
    reason = " ".join(match["reason"].strip(" \t\r\n:-–—").split())
    if not reason:
        raise AutoparserError(
            f"an ignore comment for {', '.join(selectors)} without a reason",
            hint="write the reason after the codes",
        )
    return Ignore(selectors, reason, line)


def unused_ignores(ignores: tuple[Ignore, ...], seen_codes: frozenset[str]) -> Iterator[Ignore]:
    """Yield the ignores without a finding among these codes."""
    yield from (ignore for ignore in ignores if not ignore.codes & seen_codes)


VERSION = "autoparser.lint-baseline/1"
_LINE_NUMBER = re.compile(r"\bline \d+")


class BaselineError(AutoparserError):
    """A baseline cannot be read, or has another version."""


class KnownFinding(Struct, frozen=True, order=True):
    """A known finding, identified by everything but its message."""

    path: str
    """The template's path, as reports show it, e.g.
    ``fixtures/templates/a3-invoke-parameter.jinja``."""
    template: str
    """The name of a named template, e.g. ``tool_use``; otherwise empty."""
    code: str
    """The rule's code, e.g. ``AP301``."""
    digest: str
    """The digest of its message, e.g. ``a8464d848eb6328c``, see `finding_digest`."""
    message: str
    """The message, for readers of the file, e.g. ``"a system message in the middle of a
    conversation is dropped"``."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The finding's identity."""
        return self.path, self.template, self.code, self.digest


def finding_digest(finding: LintFinding) -> str:
    """Return a digest of a message that does not depend on line numbers: 16 hex digits."""
    words = _LINE_NUMBER.sub("line", finding.message)
    # A message quotes the template, which may contain lone surrogates.
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class Baseline(Struct, frozen=True):
    """A set of known findings."""

    entries: tuple[KnownFinding, ...] = ()
    """The findings, in any order, e.g. one with the code ``AP314`` and the digest
    ``11324b1c9a763008``."""

    def match(self, findings: Iterable[KnownFinding]) -> list[bool]:
        """Return whether each finding is known; each entry matches once."""
        left = Counter(entry.key for entry in self.entries)
        known: list[bool] = []
        for key in (finding.key for finding in findings):
            known.append(left[key] > 0)
            # An entry stands for one finding: a second one of the same kind is new.
            left[key] -= 1
        return known

    def count_vanished(
        self, findings: Iterable[KnownFinding], looked_at: Collection[tuple[str, str, str]]
    ) -> int:
        """Return the number of entries that match no finding.

        `looked_at` holds the paths, names and codes that were inspected: only those can vanish.
        """
        left = Counter(entry.key for entry in self.entries)
        left.subtract(finding.key for finding in findings)
        return sum(count for key, count in left.items() if count > 0 and key[:3] in looked_at)

    def text(self) -> str:
        """Return the file's content."""
        # Sorted, so that a baseline written again differs only in the findings that changed.
        entries = [structs.asdict(entry) for entry in sorted(self.entries)]
        return json.dumps({"schema": VERSION, "findings": entries}, indent=1) + "\n"


class _Head(Struct):
    schema: str = ""
    """The version of the file, e.g. ``autoparser.lint-baseline/1``."""


class _Known(Struct):
    findings: tuple[KnownFinding, ...]
    """The entries of the file, e.g. one of ``{"code": "AP314", "digest": "11324b1c9a763008", …}``.
    """


def read_baseline(file: Path) -> Baseline:
    """Read a file written by `Baseline.text`. Raises BaselineError."""
    try:
        with open_file(file) as stream:
            document: object = json.loads(read_bounded(stream, str(file), "name a baseline"))
    except FileNotFoundError:
        raise _baseline_error(file, "file not found", "create it with --write-baseline") from None
    except OSError as error:
        raise _baseline_error(
            file, f"cannot be read ({error.strerror})", "name a baseline"
        ) from None
    except (ValueError, RecursionError) as error:
        raise _baseline_error(
            file, f"not a baseline ({error})", "write it again with --write-baseline"
        ) from None
    again = "write it again with --write-baseline"
    version = read_value(document, _Head, file=str(file), wrong=BaselineError, hint=again).schema
    if version != VERSION:
        raise _baseline_error(
            file,
            f"a baseline of another version ({version!r} instead of {VERSION!r})"
            if "baseline" in version
            else f"not a baseline: its schema is not {VERSION!r}",
            again,
        )
    known = read_value(document, _Known, file=str(file), wrong=BaselineError, hint=again)
    return Baseline(known.findings)


def _baseline_error(file: Path, words: str, hint: str) -> BaselineError:
    return BaselineError(words, file=str(file), hint=hint)
