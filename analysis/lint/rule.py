"""A rule: a stable code, a weight, a page, and the function that looks.

A rule is a module of its own under `rules/`, in the folder of its group. Its docstring is its
page: the first line says what is wrong, what follows why it matters, and the indented blocks
after ``Before:`` and ``After:`` show a template that has it and the same one fixed. The module
ends in ``RULE = Rule(...)``.

A rule fires on behaviour that it has observed: it compares renders. It never decides by a word
in the template's source; the source may only suggest what to render.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from .hit import Confidence, Hit, Severity
from .need import Need
from .page import Page, page_of
from .subject import Subject


class RuleGroup(StrEnum):
    """What a rule is about; the first digit of its code."""

    LOADS = "loads and renders"
    TURNS = "turns"
    CONTENT = "content"
    REASONING = "reasoning"
    TOOL_CALLS = "tool calls"
    ROUND_TRIP = "round trip"
    TRAINING = "training"
    PORTABILITY = "portability"
    SECURITY = "security"

    @property
    def digit(self) -> str:
        """The first digit of the codes of this group."""
        return str(list(RuleGroup).index(self) + 1)


class Concern(StrEnum):
    """Who has use for a finding beside the template's author."""

    ENGINES = "engines"
    """Whoever serves it, or renders it elsewhere than in transformers."""
    TRAINING = "training"
    """Whoever trains on what it renders."""
    CACHE = "cache"
    """Whoever wants a prompt to begin as the one before it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing to look for."""

    code: str
    """``AP`` and three digits; the first is the group's. Never given to another rule."""
    name: str
    """Short, in kebab case."""
    doc: str | None
    """The module's docstring: the rule's page."""
    severity: Severity
    check: Callable[[Subject], Iterator[Hit]]
    """Looks; asked only where all of `needs` are there."""
    confidence: Confidence = Confidence.HIGH
    needs: Need = Need.ANALYSIS
    fix: str = ""
    """What to do, in one sentence, where every hit is fixed alike."""
    covers: tuple[str, ...] = ()
    """Codes of rules whose findings are but consequences of this one's."""
    fixable: bool = False
    """Whether edits of a template are known that may fix what it finds."""
    default: bool = True
    """Whether it is among the rules that run where none are selected."""
    runs_for: Concern | None = None
    """In whose profile it runs all the same, though it takes too long to run by default."""
    convention: bool = False
    """Whether templates are usually written so, so that a warning is no news of this one."""
    concerns: tuple[Concern, ...] = ()
    """Who has use for what it finds beside the template's author."""

    @property
    def group(self) -> RuleGroup:
        """What it is about."""
        return next(each for each in RuleGroup if each.digit == self.code[2])

    @property
    def page(self) -> Page:
        """Its page."""
        return page_of(self.doc or "")

    @property
    def summary(self) -> str:
        """What is wrong, in one line without a full stop."""
        return self.page.summary
