"""What rules say of one template, in a worker: a plain value in, a plain value out.

Contract: nothing is raised. Rules go over as codes and come back as codes, since a rule is a
function of a module, and its page need not travel with every finding.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from autoparser.analysis.analysis import Analysis, analyze
from autoparser.analysis.core.conversation import Tool
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.evidence_kind import EvidenceKind
from autoparser.analysis.core.format import Part
from autoparser.analysis.learnt import load_format
from autoparser.analysis.lint import rules as rules_package
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_finding import LintFinding
from autoparser.analysis.lint.linting import lint
from autoparser.analysis.lint.other_jinjas import OtherJinja
from autoparser.analysis.lint.registry import rule_of
from autoparser.analysis.lint.rule import Need
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.loading.template import ChatTemplate
from autoparser.analysis.loading.tokens import load_tokenizer, tokenizer_of
from autoparser.analysis.taught_analysis import with_saved
from autoparser.analysis.unwritten_tokens import asks_for_tokens, unwritten_tokens

from .ignores import Ignore, ignores_of
from .problem import Problem

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True, slots=True)
class Task:
    """A template, and the rules to hold it against."""

    template: ChatTemplate
    rules: tuple[str, ...]
    """Codes."""
    tokenizer: str | None = None
    directory: Path | None = None
    jinjas: tuple[OtherJinja, ...] = ()
    """Programs to ask for its renders."""
    learnt: str | None = None
    """A saved format of this very text: what was learnt of its turns."""
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
            self.learnt,
        )


@dataclass(frozen=True, slots=True)
class Trouble:
    """What was in the way of looking."""

    message: str
    hint: str = ""
    file: str | None = None
    """The file that it is about, where that is not the template's."""


@dataclass(frozen=True, slots=True)
class SeenHits:
    """What the rules saw."""

    hits: tuple[tuple[str, Hit, tuple[str, ...]], ...] = ()
    """A code, its hit, and the codes that were merged into it."""
    left_out: tuple[tuple[str, Need], ...] = ()
    """Rules that could not look, and what they lack."""
    troubles: tuple[Trouble, ...] = ()
    """What was in the way."""
    ignores: tuple[Ignore, ...] = ()
    """What the template's comments accept."""
    wrong_comments: tuple[Problem, ...] = ()
    """What is wrong with other comments for autoparser; their path is the reader's affair."""
    evidence: tuple[tuple[Part, EvidenceKind], ...] = ()
    """What is the evidence for each part of the format; empty where it cannot be analysed."""
    unwritten: tuple[str, ...] = ()
    """Added tokens of the tokenizer that no render writes; they suggest what the model writes."""
    looked: bool = True
    """Whether the rules looked at all."""

    @property
    def findings(self) -> tuple[LintFinding, ...]:
        """The hits, each with its rule."""
        return tuple(LintFinding(rule_of(code), hit, also) for code, hit, also in self.hits)


def inspect(task: Task) -> SeenHits:
    """Let the rules look at a template; without its tokenizer, where that cannot be read."""
    troubles: list[Trouble] = []
    encoder = None
    try:
        encoder = None if task.tokenizer is None else _tokenizer(task.tokenizer)
    except AutoparserError as error:
        troubles.append(Trouble(error.message, error.hint or "", error.file))
    try:
        subject = Subject(
            task.template,
            tokenizer=encoder,
            directory=task.directory,
            analysis=None if task.learnt is None else _learnt(task.template, task.learnt),
            jinjas=task.jinjas,
            given_tools=task.tools,
        )
        report = lint(subject, [rule_of(code) for code in task.rules])
        if subject.has(Need.OTHER_JINJAS):
            troubles += [Trouble(each.words) for each in subject.in_other_jinjas]
    except AutoparserError as error:
        troubles.append(Trouble(error.message, error.hint or ""))
    except MemoryError:
        # The limit of the worker, which tells it in its own words.
        raise
    except Exception as error:  # noqa: BLE001 - one template must not end the run for all
        troubles.append(Trouble(_crash(error), "this is a fault of autoparser, please report it"))
    else:
        return SeenHits(
            tuple((each.code, each.hit, each.also) for each in report.findings),
            tuple((rule.code, need) for rule, need in report.left_out),
            tuple(troubles),
            *ignores_of(task.template.text, ""),
            evidence=tuple(subject.format.evidence.items()) if subject.has(Need.ANALYSIS) else (),
            unwritten=_unwritten(subject),
        )
    return SeenHits(troubles=tuple(troubles), looked=False)


def _unwritten(subject: Subject) -> tuple[str, ...]:
    """Return what the tokenizer of a model's directory has and the template never writes."""
    if subject.tokenizer is None or subject.directory is None or not subject.has(Need.ANALYSIS):
        return ()
    added = tokenizer_of(subject.tokenizer).added if asks_for_tokens(subject.analysis) else ()
    return unwritten_tokens(subject.analysis, [each.text for each in added])


def _learnt(template: ChatTemplate, file: str) -> Analysis:
    return with_saved(analyze(template), load_format(file))


def _crash(error: Exception) -> str:
    """Name the rule in which it happened, where it was one."""
    home = str(Path(rules_package.__file__ or "").parent)
    frames = [each for each in traceback.extract_tb(error.__traceback__) if home in each.filename]
    rule = f" in {Path(frames[-1].filename).stem}" if frames else ""
    return f"{type(error).__name__}{rule}: {error}"


@lru_cache(maxsize=2)
def _tokenizer(source: str) -> Tokenizer:
    return load_tokenizer(Path(source))
