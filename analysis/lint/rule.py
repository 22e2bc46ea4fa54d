"""A rule, as its page describes it.

A rule is two files in `rules/`: its page, such as `AP404-reasoning-stripped.md`, and the module of
that name, `reasoning_stripped.py`. The page begins with what differs from the defaults of `Rule`,
then says what is wrong and why it matters, and shows a template that has it and the same one fixed:

    ---
    severity: warning
    needs: a template that writes reasoning
    fix: write the reasoning as it is
    ---
    # Whitespace around the reasoning is cut off

    Models begin and end their reasoning with line breaks, and parsers give it back as it came.

    ## Before

    ```jinja
    {{ '<thought>' + message.reasoning_content | trim + '</thought>' }}
    ```

    ## After

    ```jinja
    {{ '<thought>' + message.reasoning_content + '</thought>' }}
    ```

The module declares the check:

    @rule("AP404")
    def check(subject: Subject) -> Iterator[Hit]:

Pages are read without the modules: listing rules imports neither the checks nor the engine.

A rule fires on behavior that it has observed: it compares renders. It never decides by a word
in the template's source; the source may only suggest what to render.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from autoparser.analysis.core.errors import AutoparserError

from .hit import Confidence, Severity

if TYPE_CHECKING:
    from autoparser.analysis.core.text_format import TurnPart


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


class RuleNeed(StrEnum):
    """The input that a check requires."""

    SOURCE = "a template"
    RENDERS = "a template that compiles"
    ANALYSIS = "a template that can be analyzed"
    CALLS = "a template that writes tool calls"
    REASONING = "a template that writes reasoning"
    TOKENIZER = "a tokenizer"
    DIRECTORY = "a model directory"
    OTHER_JINJAS = "another program's Jinja"

    @property
    def part(self) -> TurnPart | None:
        """The part of the format that a rule needs, or None if renders are enough."""
        # Pages are read without the format, which takes longer to import than all of them to read.
        from autoparser.analysis.core.text_format import TurnPart  # noqa: PLC0415

        return {RuleNeed.CALLS: TurnPart.CALLS, RuleNeed.REASONING: TurnPart.REASONING}.get(self)


class RuleConcern(StrEnum):
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
    LEFT_OUT = "is left out of an earlier turn"
    REWRITTEN = "an earlier turn is rewritten"
    NOT_BEGUN = "a prompt does not begin its turn"
    PROMPT_REWRITES = "a generation prompt rewrites what is before it"
    NO_PROMPT = "a generation prompt is missing, or is there unasked"
    OTHERWISE = "is written otherwise than what says the same"


TRAINED = (FaultKind.LEFT_OUT, FaultKind.REWRITTEN)
"""What a model may have been trained on as it is: which of a turn's two forms, no render says. So
edits that mend nothing else are never safe."""


class MendedFault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fault of renders that a rule's finding calls wrong."""

    kind: FaultKind
    whose: str = ""
    """Whose words it happens to, or what a caller sends; empty for all."""

    @property
    def words(self) -> str:
        """What is wrong, for a person, such as ``an answer is lost``."""
        usual = "reasoning" if self.kind is FaultKind.LEFT_OUT else "a text"
        return f"{self.whose or usual} {self.kind}" if self.kind.startswith("is ") else self.kind


class NoFix(StrEnum):
    """Why no edits are known for what a rule finds."""

    UNWRITTEN = "unwritten"
    NOTATION = "notation"
    MEANT = "meant"
    OUTSIDE = "outside"
    MARKERS = "markers"
    SUSPECT = "suspect"

    @property
    def words(self) -> str:
        """The reason, for a person."""
        return _NO_FIX_WORDS[self]


_NO_FIX_WORDS: Mapping[NoFix, str] = {
    NoFix.UNWRITTEN: "what the template should write instead is in none of its renders",
    NoFix.NOTATION: (
        "prompts would get another notation than the template's own, and no render shows on which"
        " of the two the model was trained"
    ),
    NoFix.MEANT: (
        "the template may mean it: whether its model can take such a request, no render shows"
    ),
    NoFix.OUTSIDE: "the cause is not in the template alone",
    NoFix.MARKERS: (
        "its own markers are its author's; `autoparser render --to training-template` writes others"
    ),
    NoFix.SUSPECT: "a template that does this is to be looked at by a person, not mended",
}


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing to look for: the facts of its page, and the page's text."""

    code: str
    """``AP`` and three digits; the first is the group's. Never given to another rule."""
    name: str
    """Short, in kebab case; also the name of the module of its check."""
    summary: str
    """What is wrong, in one line without a full stop."""
    why: str
    """Why it matters: paragraphs, of text only."""
    before: str
    """A piece of template that has it."""
    after: str
    """The same piece, fixed."""
    severity: Severity
    confidence: Confidence = Confidence.HIGH
    needs: RuleNeed = RuleNeed.ANALYSIS
    """What must be there for the check to run."""
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
    runs_for: RuleConcern | None = None
    """In whose profile it runs all the same, though it takes too long to run by default."""
    convention: bool = False
    """Whether templates are usually written so, so that a warning is no news of this one."""
    concerns: tuple[RuleConcern, ...] = ()
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
    def why_unfixed(self) -> str:
        """Why no edits are known; of a rule that is not fixable."""
        if self.unfixed is not None:
            return self.unfixed.words
        if self.needs in (RuleNeed.TOKENIZER, RuleNeed.DIRECTORY, RuleNeed.OTHER_JINJAS):
            return NoFix.OUTSIDE.words
        usual = {RuleGroup.TRAINING: NoFix.MARKERS, RuleGroup.SECURITY: NoFix.SUSPECT}
        return usual.get(self.group, NoFix.UNWRITTEN).words


class Profile(StrEnum):
    """For whom a template is looked at."""

    RELEASE = "release"
    """Its author, before it ships: errors, and warnings that are not of a convention or
    show that something that was said is lost."""
    STRICT = "strict"
    """Whoever wants everything."""
    ENGINES = "engines"
    TRAINING = "training"
    CACHE = "cache"

    def shows(self, rule: Rule, severity: Severity, *, loses: bool = False) -> bool:
        """Whether a finding of a rule is shown in this profile, if it has this severity."""
        if self is Profile.STRICT:
            return True
        if self is Profile.RELEASE:
            usual = rule.convention and not loses and severity is not Severity.ERROR
            return not usual and severity is not Severity.INFO
        return RuleConcern(self.value) in rule.concerns


def profiles_of(rule: Rule) -> tuple[Profile, ...]:
    """Return the profiles that show what a rule finds where it weighs as usual."""
    if not rule.default:
        return tuple(each for each in Profile if each.value == rule.runs_for)
    return tuple(each for each in Profile if each.shows(rule, rule.severity))


_PAGE = re.compile(
    r"---\n(?P<facts>.+?)\n---\n"
    r"# (?P<summary>[^\n]+)\n\n"
    r"(?P<why>\S.*?)\n\n"
    r"## Before\n\n```jinja\n(?P<before>.+?)\n```\n\n"
    r"## After\n\n```jinja\n(?P<after>.+?)\n```\n",
    re.DOTALL,
)


def read_rule(page: Path) -> Rule:
    """Read a rule from its page. Raises AutoparserError with the place of what is wrong."""
    parts = _PAGE.fullmatch(page.read_text(encoding="utf-8"))
    if parts is None:
        raise AutoparserError(
            "this is not a rule's page",
            file=str(page),
            hint="it has facts, a heading, why it matters, '## Before' and '## After'",
        )
    code, _, name = page.stem.partition("-")
    text = {"code": code, "name": name, **parts.groupdict()}
    given = _read_yaml(text.pop("facts"), page)
    try:
        facts = msgspec.convert(given, dict[str, Any])
        if twice := facts.keys() & text.keys():
            raise AutoparserError(
                "the page's text and name say this", file=str(page), place=min(twice)
            )
        # Its own words: those of `documents`, for people, take longer to import than all pages
        # take to read.
        return msgspec.convert(facts | text, Rule)
    except msgspec.ValidationError as error:
        raise AutoparserError(str(error), file=str(page)) from None


def _read_yaml(facts: str, page: Path) -> object:
    """Read the facts of a page, which begin in its second line. Raises AutoparserError."""
    # The parser in C takes a tenth of the time, and not every platform has it.
    loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(facts, Loader=loader)  # noqa: S506 - both are safe
    except yaml.MarkedYAMLError as error:
        place = None if error.problem_mark is None else f"line {error.problem_mark.line + 2}"
        words = f"this is not YAML ({error.problem})"
        raise AutoparserError(words, file=str(page), place=place) from None
