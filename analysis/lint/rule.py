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
from typing import NamedTuple

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


class FaultKind(StrEnum):
    """A way in which a render can be wrong, as the proof of an edit counts it."""

    REFUSED = "the template raises"
    LOST = "is lost"
    REPEATED = "is repeated"
    STRIPPED = "is stripped"
    CALL_LOST = "a call is lost"
    UNCLOSED = "a section of calls is not closed once"
    LEFT_OUT = "reasoning is left out of an earlier turn"
    REWRITTEN = "an earlier turn is rewritten"
    NOT_BEGUN = "a prompt does not begin its turn"
    PROMPT_REWRITES = "a generation prompt rewrites what is before it"
    NO_PROMPT = "a generation prompt is missing, or is there unasked"
    OTHERWISE = "is written otherwise than what says the same"


TRAINED = (FaultKind.LEFT_OUT, FaultKind.REWRITTEN)
"""What a model may have been trained on as it is: which of a turn's two forms, no render says. So
edits that mend nothing else are never safe."""


class MendedFault(NamedTuple):
    """A fault of renders that a rule's finding calls wrong."""

    kind: FaultKind
    whose: str = ""
    """Whose words it happens to, or what a caller sends; empty for all."""

    @property
    def words(self) -> str:
        """What is wrong, for a person."""
        return fault_words(self.kind, self.whose)


def fault_words(kind: FaultKind, whose: str) -> str:
    """Return what is wrong with a render in words, such as ``an answer is lost``."""
    if kind.startswith("is "):
        return f"{whose or 'a text'} {kind}"
    return kind.value


class NoFix(StrEnum):
    """Why no edits are known for what a rule finds."""

    UNWRITTEN = "what the template should write instead is in none of its renders"
    NOTATION = (
        "prompts would get another notation than the template's own, and no render shows on which"
        " of the two the model was trained"
    )
    MEANT = "the template may mean it: whether its model can take such a request, no render shows"
    OUTSIDE = "the cause is not in the template alone"
    MARKERS = (
        "its own markers are its author's; `autoparser render --to training-template` writes others"
    )
    SUSPECT = "a template that does this is to be looked at by a person, not mended"


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
    mends: tuple[MendedFault, ...] = ()
    """What is wrong with the renders that it finds, where edits are known that may fix that. Edits
    that change others are unsafe."""
    marks: bool = False
    """Whether its fix writes generation markers, by which no text changes."""
    unfixed: NoFix | None = None
    """Why no edits are known, where that is not as usual in its group."""
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
    def fixable(self) -> bool:
        """Whether edits of a template are known that may fix what it finds."""
        return self.marks or bool(self.mends)

    @property
    def never_safe(self) -> bool:
        """Whether what it finds is what models are trained on, so that its fixes are unsafe."""
        return bool(self.mends) and all(fault.kind in TRAINED for fault in self.mends)

    @property
    def why_unfixed(self) -> NoFix:
        """Why no edits are known; of a rule that is not fixable."""
        if self.unfixed is not None:
            return self.unfixed
        if self.needs in (Need.TOKENIZER, Need.DIRECTORY, Need.OTHER_JINJAS):
            return NoFix.OUTSIDE
        usual = {RuleGroup.TRAINING: NoFix.MARKERS, RuleGroup.SECURITY: NoFix.SUSPECT}
        return usual.get(self.group, NoFix.UNWRITTEN)

    @property
    def page(self) -> Page:
        """Its page."""
        return page_of(self.doc or "")

    @property
    def summary(self) -> str:
        """What is wrong, in one line without a full stop."""
        return self.page.summary
