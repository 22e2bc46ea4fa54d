"""Two analyses side by side: format, renders, round trips, self-checks, findings.

Of two templates that differ in the end of turns, `<|end|>` and `</s>`, `changed_renders` returns
one change, shown by every request; in the first of them

    before   <|user|>What is the weather in Oslo?
    left     <|end|><|assistant|><|end|>
    right    </s><|assistant|></s>
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from msgspec import Struct

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import Count, JsonDocument, SettingValues
from autoparser.analysis.core.message_shape import Setting
from autoparser.analysis.core.question_bounds import AskedBounds, AskedTally
from autoparser.analysis.formats.format_document import check_counts
from autoparser.analysis.history.round_trips import round_trip
from autoparser.analysis.history.scenario_files import shipped_scenarios
from autoparser.analysis.history.scenarios import Next, Scenario
from autoparser.analysis.history.trip_verdict import Outcome
from autoparser.analysis.learning.shape_negotiation import switch_candidates
from autoparser.analysis.learning.suggestions import Suggestions, template_suggestions
from autoparser.analysis.lint.linting import LintFinding, lint
from autoparser.analysis.lint.subject import Subject

from .compared_requests import (
    ComparedRequest,
    ComparisonStage,
    all_requests,
    pair_requests,
    switch_requests,
)
from .compared_texts import ComparedRound, RenderChange, group_differences_by_cause, play_requests
from .format_facts import FactChange, changed_facts
from .portrait import example_tools
from .portrait_conversation import ten_turns

# The values of switches under which both templates are compared.
#
# The syntax trees suggest the switches and their values, as they do to the analysis; here every
# candidate is tried, since the analysis's probes do not show one that acts only without tools, or
# only on an image. A value may reach its comparison through a filter, another variable or a
# mapping, so the words of a template are tried too: one that renders longer or shorter than another
# text of its length is a value.


ANY_TEXT = "any text"
"""A value that no template compares with: shown if the switch is inserted, else unknown."""

MOST_SETTINGS = 80
"""At most this many values are rendered; the corpus has at most 65 for one template."""

MOST_TRIED = 400
"""At most this many words of a template are tried as values of its switches."""

LONGEST_WORD = 24
"""Longer constants are texts rather than values."""

_DOCUMENTS: Json = [{"title": "Oslo", "text": "It is sunny in Oslo."}]
"""A value of `documents`; transformers passes a list of objects with a title and a text."""


def asked_values(
    analyses: Sequence[Analysis], stages: Sequence[ComparisonStage], *, usual: Setting
) -> tuple[Setting, ...]:
    """Return every value that a template suggests or inserts, in the order of their sources.

    Switches that `usual` sets are not among them.
    """
    found: dict[str, dict[str, Json]] = {}
    for analysis, stage in zip(analyses, stages, strict=True):
        for name, value in _suggested_values(analysis, stage, usual):
            # Compared by `repr`, since `True == 1` in Python.
            found.setdefault(name, {})[repr(value)] = value
    return tuple({name: value} for name, values in found.items() for value in values.values())


def _suggested_values(
    analysis: Analysis, stage: ComparisonStage, usual: Setting
) -> Iterator[tuple[str, Json]]:
    suggestions = template_suggestions(analysis.template)
    known: Mapping[str, Sequence[Json]] = {
        switch.name: switch.values for switch in analysis.switches
    }
    inserted = {switch.name for switch in analysis.switches if switch.inserted}
    candidates = [*known, *switch_candidates(suggestions)]
    names = [candidate for candidate in dict.fromkeys(candidates) if candidate not in usual]
    # Each word is tried with each switch, so the bound is on their product.
    words = _value_words(suggestions)[: MOST_TRIED // max(len(names), 1)]
    for name in names:
        for value in (*known.get(name, ()), *suggestions.values.get(name, ())):
            yield name, value
        for word in words:
            if _is_value(stage, {**analysis.formats.base, **usual}, name, word):
                yield name, word
        compared = suggestions.values.get(name) and name not in suggestions.flags
        if name not in inserted and not compared:
            # As in the analysis, no booleans for a variable rendered or compared with words.
            yield from ((name, True), (name, False))
        yield name, ANY_TEXT
    if "documents" in suggestions.names and "documents" not in usual:
        yield "documents", _DOCUMENTS


def _value_words(suggestions: Suggestions) -> list[str]:
    """Return the constants that look like values: one short word."""
    return [
        constant
        for constant in suggestions.constants
        if len(constant) <= LONGEST_WORD and constant.replace("_", "").replace("-", "").isalnum()
    ]


def _is_value(stage: ComparisonStage, usual: Setting, name: str, word: str) -> bool:
    """Return whether a word has another effect than any text of its length."""
    # A variable that is rendered, or iterated by letter, gives equal lengths for both.
    other = (ANY_TEXT * LONGEST_WORD)[: len(word)]
    return any(
        _render_length(stage, request, {**usual, name: word})
        != _render_length(stage, request, {**usual, name: other})
        for request in pair_requests()
        if len(request.dialogue) == 1
    )


def _render_length(
    stage: ComparisonStage, request: ComparedRequest, setting: Setting
) -> int | None:
    outcome = stage.play(request, setting)
    return len(outcome) if isinstance(outcome, str) else None


# Requests rendered by both templates, under every value of a switch, and how the texts differ.
#
# A difference that shows with nothing set is reported once, not again under every value; one that
# shows under single values is not reported again for two of them at once.


MOST_PAIRS = 100
"""At most this many pairs of values are rendered, those first that have an effect alone."""


class ShareDocument(JsonDocument, frozen=True):
    """Number of rendered conversations, and of those that differ."""

    total: Count
    """Conversations that were rendered, e.g. `444`."""
    differing: Count
    """Number of these that differ, e.g. `40`."""


class RendersDocument(JsonDocument, frozen=True):
    """Differences between renders."""

    total: Count
    """Conversations that at least one of the two rendered with default settings, e.g. `189`."""
    differing: Count
    """Number of these that differ, e.g. `189`."""
    under_switches: ShareDocument
    """The same under a switch's value, or two, e.g. 40 of 444; counts differences that do not show
    with default settings."""
    changed: tuple[RenderChange, ...]
    """The kinds of differences, e.g. one after `"user"` in 187 renders: those under default
    settings first, then by frequency. A difference under default settings is not repeated under a
    switch."""


class RefusedDocument(JsonDocument, frozen=True):
    """Conversations that both templates refuse; the error messages are not compared."""

    renders: Count
    """Number of renders that both refuse, e.g. `262`."""
    conversations: tuple[str, ...]
    """Renders that both reject under all settings, e.g. `["user parts: text"]`."""
    settings: tuple[SettingValues, ...]
    """Settings under which both refuse all conversations, usually none (`[]`)."""


class LeftOutRendersDocument(JsonDocument, frozen=True):
    """Requests omitted to save time."""

    settings: tuple[SettingValues, ...]
    """Values of switches that were not tried, usually none (`[]`)."""
    pairs: Count
    """Pairs of values that were not tried, e.g. `0`."""
    renders: Count
    """Renders omitted because earlier ones ran into a limit, e.g. `0`."""


class AskedDocument(JsonDocument, frozen=True):
    """The range of the requests, and the omitted ones."""

    usual: SettingValues
    """Switches set in every render because the template raises without them; usually `{}`."""
    settings: tuple[SettingValues, ...]
    """Values of switches, each tried alone, e.g. `[{"enable_thinking": true}]`."""
    pairs: Count
    """Pairs of values of two switches tried together, e.g. `12`."""
    content: tuple[str, ...]
    """Kinds of content that at least one template renders, e.g. `["user content: a string"]`."""
    refused_by_both: RefusedDocument
    """The renders that have no text to compare, e.g. 262 of them."""
    left_out: LeftOutRendersDocument
    """The omitted renders, e.g. 0 of them."""
    bounds: AskedBounds
    """The largest requests that either template rendered, e.g. of 12 messages."""


def changed_renders(
    left: Analysis, right: Analysis, setting: Setting | None = None
) -> tuple[RendersDocument, AskedDocument]:
    """Render all requests with both templates; return the differences, and the covered range.

    Each template gets messages in the shape that it expects. A special token that only one of the
    two models' files define is passed to both. Variables in `setting` are never switched.
    """
    stages = ComparisonStage(left, right), ComparisonStage(right, left)
    asked = setting or {}
    # The setting without which one of the two never renders is mostly empty.
    usual = {**left.formats.base, **right.formats.base, **asked}
    first = play_requests(stages, usual, all_requests())
    values = asked_values((left, right), stages, usual=asked)
    known_keys = first.keys
    # One of the templates needs variables to render; the other may render without them.
    bare = [play_requests(stages, asked, switch_requests(), known_keys)] if usual != asked else []
    singles = [
        play_requests(stages, {**usual, **value}, switch_requests(), known_keys)
        for value in values[:MOST_SETTINGS]
    ]
    distinct = _distinct_rounds(first, [*bare, *singles])
    pairs = _round_pairs(singles, distinct, usual)
    twos = [
        play_requests(
            stages,
            _merge_settings(one, other, usual),
            pair_requests(),
            # Leave out differences that one of the values shows alone, which are reported already.
            known_keys | one.keys | other.keys,
        )
        for one, other in pairs[:MOST_PAIRS]
    ]
    under = [*bare, *singles, *twos]
    rounds = [first, *under]
    asked_of = AskedTally()
    for stage in stages:
        asked_of.merge(stage.tally)
    renders = RendersDocument(
        first.compared,
        first.differing,
        ShareDocument(
            sum(round_.compared for round_ in under),
            # Of values with equal renders, one counts.
            sum(round_.differing for round_ in [*distinct, *twos]),
        ),
        group_differences_by_cause([first, *distinct, *twos], stages),
    )
    return renders, AskedDocument(
        usual=usual,
        settings=values[:MOST_SETTINGS],
        pairs=len(twos),
        content=tuple(_rendered_kinds(first)),
        refused_by_both=RefusedDocument(
            sum(len(round_.refused) for round_ in rounds),
            tuple(_refused_conversations(first)),
            tuple(single.setting for single in [*bare, *singles] if not single.compared),
        ),
        left_out=LeftOutRendersDocument(
            values[MOST_SETTINGS:],
            len(pairs) - len(twos),
            sum(round_.unanswered for round_ in rounds),
        ),
        bounds=asked_of.bounds,
    )


def _distinct_rounds(first: ComparedRound, rounds: Sequence[ComparedRound]) -> list[ComparedRound]:
    """Return one round of those with equal renders, without those that equal the defaults."""
    usual = {request.key: first.marks[request.key] for request in switch_requests()}
    found: dict[frozenset[tuple[object, int]], ComparedRound] = {}
    for round_ in rounds:
        # Equal numbers mean equal renders by each template, so that such a round has nothing to
        # add.
        if round_.marks != usual:
            found.setdefault(frozenset(round_.marks.items()), round_)
    return list(found.values())


def _round_pairs(
    singles: Sequence[ComparedRound], distinct: Sequence[ComparedRound], usual: Setting
) -> list[tuple[ComparedRound, ComparedRound]]:
    """Return the pairs of rounds whose settings differ from `usual` in different switches.

    A value without an effect of its own may have one beside another value: these pairs come last.
    """
    named = [
        (single, _changed_names(single.setting, usual), any(single is other for other in distinct))
        for single in singles
        if single.compared and not _is_any_text(single, singles)
    ]
    pairs = [
        (-(effective + also), (one, other))
        for (one, names, effective), (other, others, also) in combinations(named, 2)
        if names and others and not names & others
    ]
    return [pair for _, pair in sorted(pairs, key=lambda item: item[0])]


def _merge_settings(one: ComparedRound, other: ComparedRound, usual: Setting) -> Setting:
    named = _changed_names(other.setting, usual)
    return {**one.setting, **{name: other.setting[name] for name in sorted(named)}}


def _changed_names(setting: Setting, usual: Setting) -> frozenset[str]:
    # Compared by `repr`, since `True == 1` in Python.
    return frozenset(
        name for name, value in setting.items() if repr(value) != repr(usual.get(name, ...))
    )


def _is_any_text(round_: ComparedRound, singles: Sequence[ComparedRound]) -> bool:
    """Return whether a value is `ANY_TEXT` and renders like true, which is tried in its place."""
    names = [name for name, value in round_.setting.items() if value == ANY_TEXT]
    return any(
        single.marks == round_.marks and all(single.setting.get(name) is True for name in names)
        for single in singles
        if names
    )


def _rendered_kinds(first: ComparedRound) -> Iterator[str]:
    """Return the kinds of content that at least one of the two rendered."""
    yield from dict.fromkeys(
        request.conversation
        for request in all_requests()
        if request.content is not None and request.key not in first.refused
    )


def _refused_conversations(first: ComparedRound) -> Iterator[str]:
    """Return the conversations on which both raise in every request."""
    taken = {request.conversation for request in all_requests() if request.key not in first.refused}
    names = dict.fromkeys(key[0] for key in first.marks)
    yield from (name for name in names if name not in taken)


class TripChange(Struct, frozen=True):
    """A scenario whose verdict differs."""

    scenario: str
    """The scenario, such as `"reasoning + answer"`."""
    next: str
    """The role of the next message, e.g. `tool`."""
    left: str
    """`holds`, the name of the cause such as `content stripped`, or `does not apply`."""
    right: str
    """The same of the second template, such as `holds`."""


class RoundTripsDocument(JsonDocument, frozen=True):
    """Turns in later prompts."""

    total: Count
    """Scenarios, with each next message's role, that apply to either template, e.g. `56`."""
    changed: tuple[TripChange, ...]
    """Scenarios whose verdict changed, e.g. `"no reasoning"`, from `"header differs"` to `"holds"`.
    """


class FindingFate(StrEnum):
    """The change of a finding from the first template to the second."""

    NEW = "new"
    FIXED = "fixed"
    CHANGED = "changed"
    """Both have a finding of the rule, with other words."""


class FindingChange(Struct, frozen=True):
    """A finding of lint that differs between the two."""

    left: LintFinding | None
    """The first template's finding, such as
    `<LintFinding AP529 warning line 77: a tool result as a list of parts is not in the prompt>`, or
    None if it is new."""
    right: LintFinding | None
    """The second template's finding, such as `<LintFinding AP109 warning line 34: …>`, or None if
    it is fixed."""

    @property
    def fate(self) -> FindingFate:
        """Whether it is new, fixed or changed."""
        if self.left is None:
            return FindingFate.NEW
        return FindingFate.FIXED if self.right is None else FindingFate.CHANGED

    @property
    def finding(self) -> LintFinding:
        """The second template's finding, or the first's if it is fixed."""
        found = self.right or self.left
        if found is None:
            raise ValueError("a change has a finding on one side at least")
        return found


@dataclass(frozen=True, slots=True)
class CacheTurns:
    """The use of a prefix cache in a conversation of up to ten turns."""

    lost: int
    """The number of turns after which re-rendering loses cached text, such as `2`."""
    turns: int
    """The number of turns, such as `10`."""


class Comparison(Struct, frozen=True):
    """All differences between two templates."""

    left: Analysis
    """The first template, such as
    `<Analysis of Qwen-Qwen3-0.6B@a55ee1.jinja: self-check 47/47, 1 format>`."""
    right: Analysis
    """The second template, such as
    `<Analysis of Qwen-Qwen3-0.6B.jinja: self-check 47/47, 1 format>`."""
    facts: tuple[FactChange, ...]
    """The facts of the formats that differ, such as
    `(FactChange("flags", "requires_nonnull_content", (), False, True),)`."""
    renders: RendersDocument
    """The differences of renders, such as the one that `"tool result content: an object"` shows,
    grouped."""
    asked: AskedDocument
    """The requests that were rendered, and those that were not."""
    round_trips: RoundTripsDocument
    """The scenarios whose verdicts differ, such as `"newline ends answer"`."""
    findings: tuple[FindingChange, ...]
    """The findings that are new, fixed or changed, such as a new one of `AP109`."""
    cache: tuple[CacheTurns, CacheTurns]
    """The turns that miss the prefix cache, per template, such as
    `(CacheTurns(2, 10), CacheTurns(2, 10))`."""

    @property
    def same_text(self) -> bool:
        """Whether the two are the same text."""
        return self.left.template.text == self.right.template.text

    @property
    def same_check(self) -> bool:
        """Whether the self-checks have the same result."""
        return check_counts(self.left.check) == check_counts(self.right.check)

    @property
    def equal(self) -> bool:
        """Whether no difference was found."""
        changes = (
            *self.facts,
            *self.renders.changed,
            *self.round_trips.changed,
            *self.findings,
        )
        return not changes and self.same_check and self.cache[0] == self.cache[1]


def compare_templates(
    left: Analysis, right: Analysis, setting: Setting | None = None
) -> Comparison:
    """Compare two templates by their renders, formats, round trips and findings.

    The variables in `setting` are set in every render and round trip. Formats, self-checks and
    findings cover all settings.
    """
    renders, asked = changed_renders(left, right, setting)
    return Comparison(
        left,
        right,
        changed_facts(left, right),
        renders,
        asked,
        _changed_trips(left, right, setting or {}),
        _changed_findings(_lint_findings(left), _lint_findings(right)),
        (_cache_turns(left), _cache_turns(right)),
    )


def _cache_turns(analysis: Analysis) -> CacheTurns:
    """Run ten turns, without a tokenizer, which neither template has to have."""
    conversation = ten_turns(analysis, example_tools(), None)
    return CacheTurns(conversation.breaks, len(conversation.steps))


_TripVerdicts = dict[tuple[str, Next], str]
_ABSENT = "does not apply"


def _changed_trips(left: Analysis, right: Analysis, setting: Setting) -> RoundTripsDocument:
    scenarios = shipped_scenarios()
    ours, theirs = (_trip_verdicts(analysis, scenarios, setting) for analysis in (left, right))
    names = dict.fromkeys([*ours, *theirs])
    order = [scenario.name for scenario in scenarios]
    changes = [
        TripChange(
            name,
            coming.value,
            ours.get((name, coming), _ABSENT),
            theirs.get((name, coming), _ABSENT),
        )
        for name, coming in names
        if ours.get((name, coming)) != theirs.get((name, coming))
    ]
    changes.sort(key=lambda change: order.index(change.scenario))
    return RoundTripsDocument(len(names), tuple(changes))


def _trip_verdicts(
    analysis: Analysis, scenarios: Sequence[Scenario], setting: Setting
) -> _TripVerdicts:
    # Only the usual setting of the switches counts here: what others change is among the facts.
    usual = {**analysis.formats.fullest.setting, **setting}
    played = round_trip(analysis, scenarios, setting=usual or None)
    return {
        (row.scenario.name, row.next): (row.verdict.cause or Outcome.HOLDS).value
        for row in played.rows
    }


def _lint_findings(analysis: Analysis) -> Sequence[LintFinding]:
    return lint(Subject(analysis.template, analysis=analysis)).findings


def _changed_findings(
    left: Sequence[LintFinding], right: Sequence[LintFinding]
) -> tuple[FindingChange, ...]:
    ours, theirs = Counter(map(_finding_key, left)), Counter(map(_finding_key, right))
    ours_only, theirs_only = ours - theirs, theirs - ours
    # A counter, since a rule may report the same thing several times in one template.
    gone = [finding for finding in left if _take_finding(ours_only, finding)]
    changes: list[FindingChange] = []
    for finding in right:
        if _take_finding(theirs_only, finding):
            # Pair findings of one rule in template order: they have the same cause in other words.
            known = next((old for old in gone if old.code == finding.code), None)
            if known is not None:
                gone.remove(known)
            changes.append(FindingChange(known, finding))
    changes += [FindingChange(finding, None) for finding in gone]
    return tuple(sorted(changes, key=lambda change: change.finding.code))


_FindingKey = tuple[str, str, str]


def _finding_key(finding: LintFinding) -> _FindingKey:
    """Return the identity of a finding, which ignores the wording of exceptions."""
    return finding.code, finding.severity.value, finding.message_without_reasons


def _take_finding(left: Counter[_FindingKey], finding: LintFinding) -> bool:
    """Remove one of these findings, and return whether any was left."""
    key = _finding_key(finding)
    if left[key] <= 0:
        return False
    left[key] -= 1
    return True
