"""What rules say of one template, in a worker: a plain value in, a plain value out.

Contract: nothing is raised. Rules go over as codes and come back as codes, since a rule is a
function of a module, and its page need not travel with every finding.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from autoparser.analysis.analysis import analyze
from autoparser.analysis.core.conversation import Tool
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.verdicts import EvidenceKind
from autoparser.analysis.formats.saved_format import load_format
from autoparser.analysis.sources.tokenizer_loading import load_tokenizer, tokenizer_of
from autoparser.analysis.teaching.taught_analysis import (
    asks_for_tokens,
    unwritten_tokens,
    with_saved,
)
from autoparser.analysis.templates.chat_template import ChatTemplate

from . import rules as rules_package
from .baselines import Ignore, ignores_of
from .hit import Hit, Severity
from .linting import SHOWING_ALL, FindingFilter, LintFinding, lint
from .other_renders import OtherJinja
from .project_settings import FailOn
from .project_sources import InputProblem
from .registry import rule_of
from .rule import Rule, RuleNeed
from .subject import Subject

if TYPE_CHECKING:
    from tokenizers import Tokenizer


# What a run over many templates came to: the value that every report reads.


_WEIGHTS = [*Severity]


@dataclass(frozen=True, slots=True)
class InspectedTemplate:
    """One template, and what was found of it."""

    path: str
    """Relative to the working directory, with slashes, where it is below that."""
    name: str | None
    """Its name where its source has several templates."""
    template: ChatTemplate
    in_lines: bool
    """Whether the template's lines are lines of the file; not so of JSON and GGUF."""
    findings: tuple[LintFinding, ...]
    """Those that count, the weightiest first."""
    baseline_findings: tuple[LintFinding, ...] = ()
    """Those that are in the baseline."""
    ignored: tuple[LintFinding, ...] = ()
    """Those that the template's own comments or the settings accept."""
    folded: tuple[LintFinding, ...] = ()
    """Those that the profile does not show."""
    unused: tuple[Ignore, ...] = ()
    """Comments that accept what was not found."""
    remarks: tuple[str, ...] = ()
    """What else was in the way, such as a tokenizer beside it that cannot be read."""
    left_out: tuple[tuple[Rule, RuleNeed], ...] = ()
    """Rules that could not look, and what they lack."""
    evidence: tuple[tuple[TurnPart, EvidenceKind], ...] = ()
    """What is the evidence for each part of its format."""
    unwritten: tuple[str, ...] = ()
    """Added tokens of its tokenizer that no render writes."""
    linked_out: bool = False
    """Whether it was found below a folder, by a link that leads out of that."""

    @property
    def text(self) -> str:
        """The template's text."""
        return self.template.text

    def rests_on(self, rule: Rule) -> Mapping[TurnPart, EvidenceKind]:
        """Return the parts of the format that a rule goes by, with their evidence."""
        return {part: kind for part, kind in self.evidence if part is rule.needs.part}

    def line_in_file(self, line: int | None) -> int | None:
        """Return a template's line as a line of the file; None where that cannot be said."""
        return line if self.in_lines else None


@dataclass(frozen=True, slots=True)
class LintRun:
    """Many templates."""

    templates: tuple[InspectedTemplate, ...]
    """In the order in which they were named, then of paths."""
    problems: tuple[InputProblem, ...] = ()
    """What could not be looked at."""
    rules: tuple[Rule, ...] = ()
    """Those that were to look."""
    fail_on: FailOn = FailOn.ERROR
    finding_filter: FindingFilter = SHOWING_ALL
    """What counts; the rest is folded."""
    baseline: bool = False
    """Whether there was one."""
    vanished: int = 0
    """Entries of the baseline that match nothing any more."""
    left_out: tuple[InputProblem, ...] = ()
    """What a folder or a pattern has that is no file."""

    @property
    def findings(self) -> Iterator[tuple[InspectedTemplate, LintFinding]]:
        """Every finding that counts, with its template."""
        return ((each, finding) for each in self.templates for finding in each.findings)

    def fails(self, finding: LintFinding) -> bool:
        """Whether a finding is one to fail on."""
        if self.fail_on is FailOn.NEVER:
            return False
        return _WEIGHTS.index(finding.severity) <= _WEIGHTS.index(Severity(self.fail_on.value))

    @property
    def failed(self) -> bool:
        """Whether there is a finding to fail on."""
        return any(self.fails(finding) for _, finding in self.findings)

    def count(self, severity: Severity) -> int:
        """Count the findings of a severity."""
        return sum(finding.severity is severity for _, finding in self.findings)


@dataclass(frozen=True, slots=True)
class InspectionTask:
    """A template, and the rules to hold it against."""

    template: ChatTemplate
    rules: tuple[str, ...]
    """Codes."""
    tokenizer: str | None = None
    directory: Path | None = None
    jinjas: tuple[OtherJinja, ...] = ()
    """Programs to ask for its renders."""
    saved_format: str | None = None
    """A saved format of this very text: what was learned of its turns."""
    tools: tuple[Tool, ...] = ()
    """Functions to ask with instead of those of the rules."""

    @property
    def identity(self) -> object:
        """What decides the answer: tasks of one identity are done once."""
        tokens: Mapping[str, str] = self.template.special_tokens
        return (
            self.template.text,
            tuple(sorted(tokens.items())),
            self.tokenizer,
            self.directory,
            self.saved_format,
        )


@dataclass(frozen=True, slots=True)
class SeenHits:
    """What the rules saw."""

    hits: tuple[tuple[str, Hit, tuple[str, ...]], ...] = ()
    """A code, its hit, and the codes that were merged into it."""
    left_out: tuple[tuple[str, RuleNeed], ...] = ()
    """Rules that could not look, and what they lack."""
    troubles: tuple[InputProblem, ...] = ()
    """What was in the way; the path is empty where it is the template's."""
    ignores: tuple[Ignore, ...] = ()
    """What the template's comments accept."""
    wrong_comments: tuple[InputProblem, ...] = ()
    """What is wrong with other comments for autoparser; their path is the reader's affair."""
    evidence: tuple[tuple[TurnPart, EvidenceKind], ...] = ()
    """What is the evidence for each part of the format; empty where it cannot be analyzed."""
    unwritten: tuple[str, ...] = ()
    """Added tokens of the tokenizer that no render writes; they suggest what the model writes."""
    looked: bool = True
    """Whether the rules looked at all."""

    @property
    def findings(self) -> tuple[LintFinding, ...]:
        """The hits, each with its rule."""
        return tuple(LintFinding(rule_of(code), hit, also) for code, hit, also in self.hits)


def inspect_template(task: InspectionTask) -> SeenHits:
    """Let the rules look at a template; without its tokenizer, where that cannot be read."""
    troubles: list[InputProblem] = []
    encoder = None
    try:
        encoder = None if task.tokenizer is None else _tokenizer(task.tokenizer)
    except AutoparserError as error:
        troubles.append(InputProblem(error.file or "", error.message, error.hint or ""))
    try:
        subject = Subject(
            task.template,
            tokenizer=encoder,
            directory=task.directory,
            analysis=None
            if task.saved_format is None
            else with_saved(analyze(task.template), load_format(task.saved_format)),
            jinjas=task.jinjas,
            given_tools=task.tools,
        )
        report = lint(subject, [rule_of(code) for code in task.rules])
        if subject.has(RuleNeed.OTHER_JINJAS):
            troubles += [InputProblem("", each.words) for each in subject.in_other_jinjas]
    except AutoparserError as error:
        troubles.append(InputProblem("", error.message, error.hint or ""))
    except MemoryError:
        # The limit of the worker, which tells it in its own words.
        raise
    except Exception as error:  # noqa: BLE001 - one template must not end the run for all
        hint = "this is a fault of autoparser, please report it"
        troubles.append(InputProblem("", _crash(error), hint))
    else:
        return SeenHits(
            tuple((each.code, each.hit, each.also) for each in report.findings),
            tuple((rule.code, need) for rule, need in report.left_out),
            tuple(troubles),
            *ignores_of(task.template.text, ""),
            evidence=tuple(subject.format.evidence.items())
            if subject.has(RuleNeed.ANALYSIS)
            else (),
            unwritten=_unwritten(subject),
        )
    return SeenHits(troubles=tuple(troubles), looked=False)


def _unwritten(subject: Subject) -> tuple[str, ...]:
    """Return what the tokenizer of a model's directory has and the template never writes."""
    if subject.tokenizer is None or subject.directory is None or not subject.has(RuleNeed.ANALYSIS):
        return ()
    added = tokenizer_of(subject.tokenizer).added if asks_for_tokens(subject.analysis) else ()
    return unwritten_tokens(subject.analysis, [each.text for each in added])


def _crash(error: Exception) -> str:
    """Name the rule in which it happened, where it was one."""
    home = str(Path(rules_package.__file__ or "").parent)
    frames = [each for each in traceback.extract_tb(error.__traceback__) if home in each.filename]
    rule = f" in {Path(frames[-1].filename).stem}" if frames else ""
    return f"{type(error).__name__}{rule}: {error}"


@lru_cache(maxsize=2)
def _tokenizer(source: str) -> Tokenizer:
    return load_tokenizer(Path(source))
