"""The facts and the text of a rule's page.

A rule is two files in `rules/`: its page, such as `AP404-reasoning-stripped.md`, and the module of
the same name, `reasoning_stripped.py`. The page begins with the facts that differ from the defaults
of `Rule`, then describes the fault and why it matters, and shows a template that has it and the
same one fixed:

    ---
    severity: warning
    needs: a template with reasoning
    fix: render the reasoning unchanged
    ---
    # Leading and trailing whitespace of reasoning is stripped

    Models start and end their reasoning with line breaks, and parsers return it unchanged.

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

A rule reports behavior that it has observed: it compares renders. It never decides by a word in the
template's source; the source may only suggest what to render.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from autoparser.analysis.core.errors import AutoparserError

from .hit import Confidence, Severity

if TYPE_CHECKING:
    from autoparser.analysis.core.turn_parts import TurnPart


class RuleGroup(StrEnum):
    """The subject of a rule; its position gives the first digit of the rule's code."""

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
    CALLS = "a template with tool calls"
    REASONING = "a template with reasoning"
    TOKENIZER = "a tokenizer"
    DIRECTORY = "a model directory"
    OTHER_JINJAS = "another program's Jinja"

    @property
    def part(self) -> TurnPart | None:
        """The part of the format that a rule needs, or None if renders are enough."""
        # The format's module takes longer to import than all pages take to read.
        from autoparser.analysis.core.turn_parts import TurnPart  # noqa: PLC0415

        return {RuleNeed.CALLS: TurnPart.CALLS, RuleNeed.REASONING: TurnPart.REASONING}.get(self)


class RuleConcern(StrEnum):
    """The readers of a finding, other than the template's author."""

    ENGINES = "engines"
    """People who serve the template, or render it outside transformers."""
    TRAINING = "training"
    """People who train on its renders."""
    CACHE = "cache"
    """People who need each prompt to extend the previous one."""


class FaultKind(StrEnum):
    """A fault of a render, as the proof of an edit counts it."""

    REFUSED = "the template raises"
    LOST = "is lost"
    REPEATED = "is repeated"
    STRIPPED = "is stripped"
    CALL_LOST = "a call is lost"
    UNCLOSED = "a section of calls is not closed exactly once"
    LEFT_OUT = "is dropped from an earlier turn"
    REWRITTEN = "an earlier turn is rewritten"
    NOT_BEGUN = "a prompt is not a prefix of its turn"
    PROMPT_REWRITES = "a generation prompt rewrites the text before it"
    NO_PROMPT = "a generation prompt is missing or unrequested"
    OTHERWISE = "renders differently from its equivalent"


TRAINED = (FaultKind.LEFT_OUT, FaultKind.REWRITTEN)
"""Faults of which no render can show whether the model was trained with them, so that edits that
fix only these are never safe."""


class MendedFault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fault of renders that the edits for a rule may fix."""

    kind: FaultKind
    """The fault, e.g. ``is lost``."""
    whose: str = ""
    """The speaker of the affected text, or the input that causes the fault, e.g. ``an answer``;
    empty for any."""

    @property
    def words(self) -> str:
        """The fault in words, e.g. ``an answer is lost``."""
        usual = "reasoning" if self.kind is FaultKind.LEFT_OUT else "a text"
        # Some kinds are sentences, e.g. "the template raises"; others need a subject.
        whole = self.kind.startswith(("a ", "an ", "the "))
        return self.kind if whole else f"{self.whose or usual} {self.kind}"


class NoFix(StrEnum):
    """A reason for which a rule has no edits."""

    UNWRITTEN = "unwritten"
    NOTATION = "notation"
    MEANT = "meant"
    OUTSIDE = "outside"
    MARKERS = "markers"
    SUSPECT = "suspect"

    @property
    def words(self) -> str:
        """The reason as reports show it."""
        return _NO_FIX_WORDS[self]


_NO_FIX_WORDS: Mapping[NoFix, str] = {
    NoFix.UNWRITTEN: "no render shows the correct text",
    NoFix.NOTATION: (
        "an edit would change the notation of prompts, and no render shows which notation the"
        " model was trained on"
    ),
    NoFix.MEANT: (
        "the template may intend it: no render shows whether its model supports such a request"
    ),
    NoFix.OUTSIDE: "the cause is partly outside the template",
    NoFix.MARKERS: (
        "the template has its own generation markers; `autoparser render --to training-template`"
        " writes a template with new ones"
    ),
    NoFix.SUSPECT: "a template that does this needs a review by a person, not an edit",
}


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule: the facts and the text of its page."""

    code: str
    """``AP`` and three digits, of which the first is the group's, e.g. ``AP404``. Never reused."""
    name: str
    """A short name in kebab case, e.g. ``reasoning-stripped``; in snake case, the name of its
    module."""
    summary: str
    """The fault in one line, without a full stop, e.g. ``The template does not compile``: the
    heading of the page."""
    why: str
    """The reasons why it matters, e.g. ``Every request fails. …``: paragraphs of plain text."""
    before: str
    """A fragment of a template with the fault, e.g. ``{{ message.content | trim }}``."""
    after: str
    """The same fragment, fixed, e.g. ``{{ message.content }}``."""
    severity: Severity
    """The usual severity, e.g. ``Severity.WARNING``; a hit may have another."""
    confidence: Confidence = Confidence.HIGH
    """The usual confidence, e.g. ``Confidence.HIGH``; a hit may have another."""
    needs: RuleNeed = RuleNeed.ANALYSIS
    """The input without which the check is skipped, e.g. ``RuleNeed.TOKENIZER``."""
    fix: str = ""
    """The remedy in one sentence, e.g. ``render the content unchanged``, if it is the same for
    every hit."""
    covers: tuple[str, ...] = ()
    """Codes of rules whose findings are only consequences of this rule's, e.g. ``("AP312",
    "AP604")``."""
    mends: tuple[MendedFault, ...] = ()
    """The faults of renders that its edits may fix, e.g. ``(MendedFault(FaultKind.STRIPPED, "a
    user's message"),)``. Edits that change other renders are unsafe."""
    marks: bool = False
    """Whether its edits add generation markers, which change no text, e.g. True for
    ``no-generation-markers``."""
    unfixed: NoFix | None = None
    """Why it has no edits, e.g. ``NoFix.MEANT``, if the group's usual reason does not apply."""
    default: bool = True
    """Whether it runs if no rules are selected, e.g. False for AP810."""
    runs_for: RuleConcern | None = None
    """The profile in which it runs although it is too slow for the default, e.g.
    ``RuleConcern.TRAINING``."""
    convention: bool = False
    """Whether it reports a common convention, so that most templates have it, e.g. True for AP802.
    """
    concerns: tuple[RuleConcern, ...] = ()
    """The profiles, beside the author's, that show its findings, e.g. ``(RuleConcern.ENGINES,)``.
    """

    @property
    def group(self) -> RuleGroup:
        """The subject, by the first digit of the code."""
        return next(group for group in RuleGroup if group.digit == self.code[2])

    @property
    def fixable(self) -> bool:
        """Whether edits may fix its findings."""
        return self.marks or bool(self.mends)

    @property
    def never_safe(self) -> bool:
        """Whether models may be trained on the faulty renders, so that its edits are never safe."""
        return bool(self.mends) and all(fault.kind in TRAINED for fault in self.mends)

    @property
    def why_unfixed(self) -> str:
        """Why it has no edits; for rules that are not fixable."""
        if self.unfixed is not None:
            return self.unfixed.words
        # The template's text alone does not show such a fault.
        if self.needs in (RuleNeed.TOKENIZER, RuleNeed.DIRECTORY, RuleNeed.OTHER_JINJAS):
            return NoFix.OUTSIDE.words
        usual = {RuleGroup.TRAINING: NoFix.MARKERS, RuleGroup.SECURITY: NoFix.SUSPECT}
        return usual.get(self.group, NoFix.UNWRITTEN).words


class Profile(StrEnum):
    """The purpose for which a template is linted."""

    RELEASE = "release"
    """Before release: errors, and warnings unless they report conventions that lose no text."""
    STRICT = "strict"
    """Every finding."""
    ENGINES = "engines"
    TRAINING = "training"
    CACHE = "cache"

    def shows(self, rule: Rule, severity: Severity, *, loses: bool = False) -> bool:
        """Return whether this profile shows a finding of a rule with this severity.

        `loses` is the `Hit.loses` of the finding.
        """
        if self is Profile.STRICT:
            return True
        if self is Profile.RELEASE:
            # A convention counts only if it loses text or makes requests fail.
            usual = rule.convention and not loses and severity is not Severity.ERROR
            return not usual and severity is not Severity.INFO
        return RuleConcern(self.value) in rule.concerns


def rule_profiles(rule: Rule) -> tuple[Profile, ...]:
    """Return the profiles that show a rule's findings of its usual severity."""
    if not rule.default:
        return tuple(profile for profile in Profile if profile.value == rule.runs_for)
    return tuple(profile for profile in Profile if profile.shows(rule, rule.severity))


_PAGE = re.compile(
    r"---\n(?P<facts>.+?)\n---\n"
    r"# (?P<summary>[^\n]+)\n\n"
    r"(?P<why>\S.*?)\n\n"
    r"## Before\n\n```jinja\n(?P<before>.+?)\n```\n\n"
    r"## After\n\n```jinja\n(?P<after>.+?)\n```\n",
    re.DOTALL,
)


def read_rule(page: Path) -> Rule:
    """Read a rule from its page. Raises AutoparserError with the place of the mistake."""
    parts = _PAGE.fullmatch(page.read_text(encoding="utf-8"))
    if parts is None:
        raise AutoparserError(
            "this is not a rule's page",
            file=str(page),
            hint="it has facts, a heading, why it matters, '## Before' and '## After'",
        )
    # E.g. `AP404-reasoning-stripped.md`.
    code, _, name = page.stem.partition("-")
    text = {"code": code, "name": name, **parts.groupdict()}
    given = _read_yaml(text.pop("facts"), page)
    try:
        facts = msgspec.convert(given, dict[str, Any])
        # E.g. a fact `code`: the name of the file has it.
        if twice := facts.keys() & text.keys():
            raise AutoparserError(
                "the page's text and name say this", file=str(page), place=min(twice)
            )
        # The `documents` module has friendlier messages, but takes longer to import than all pages
        # take to read.
        return msgspec.convert(facts | text, Rule)
    except msgspec.ValidationError as error:
        raise AutoparserError(str(error), file=str(page)) from None


_FACT = re.compile(
    r"(?P<indent>|  - |    )(?P<name>[a-z_]+):"
    r"(?: \[(?P<items>\w+(?:, \w+)*)\]| \"(?P<quoted>[^\"\\\n]*)\""
    r"| (?P<word>[a-z][^:#\n]*[^:#\s]))?"
)
_NO_TEXT = frozenset({"yes", "no", "on", "off", "null"})
_TRUTH = {"true": True, "false": False}


def plain_facts(facts: str) -> dict[str, Any] | None:
    """Parse facts that are words and rows of words, or return None if they are other YAML.

    Every start of lint reads all pages, so that importing and running YAML was a tenth of it.
    """
    found: dict[str, Any] = {}
    inner: dict[str, Any] = {}
    rows: list[dict[str, Any]] | None = None
    for line in facts.split("\n"):
        fact = _FACT.fullmatch(line)
        if fact is None or fact["word"] in _NO_TEXT or (fact["indent"] and rows is None):
            return None
        # A row of a list, e.g. `  - kind: is lost`; its other names are indented below it.
        if fact["indent"] == "  - " and rows is not None:
            inner = {}
            rows.append(inner)
        elif not fact["indent"]:
            inner, rows = found, None
        name, word, items = fact["name"], fact["word"], fact["items"]
        # A name that stands twice: YAML decides.
        if name in inner:
            return None
        if items is not None:
            inner[name] = items.split(", ")
        elif (text := fact["quoted"] if word is None else word) is not None:
            inner[name] = _TRUTH.get(text, text) if text is word else text
        # A key without a value, e.g. `mends:`, starts a list of rows.
        elif inner is found:
            inner[name] = rows = []
        else:
            return None
    return None if [] in found.values() else found


def _read_yaml(facts: str, page: Path) -> object:
    """Parse the facts of a page, which begin at its second line. Raises AutoparserError."""
    plain = plain_facts(facts)
    if plain is not None:
        return plain

    import yaml  # noqa: PLC0415 - takes longer to import than all pages take to read

    # libyaml's parser takes a tenth of the time; not every platform has it.
    loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(facts, Loader=loader)  # noqa: S506 - both are safe
    except yaml.MarkedYAMLError as error:
        place = None if error.problem_mark is None else f"line {error.problem_mark.line + 2}"
        words = f"this is not YAML ({error.problem})"
        raise AutoparserError(words, file=str(page), place=place) from None
