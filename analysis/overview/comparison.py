"""Two analyses side by side: format, renders, round trips, self-checks, findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.message_shape import Setting
from autoparser.analysis.core.question_bounds import AskedBounds, AskedTally
from autoparser.analysis.formats.format_document import check_counts
from autoparser.analysis.history.round_trips import TripRow, round_trip
from autoparser.analysis.history.scenario_files import shipped_scenarios
from autoparser.analysis.history.scenarios import Next, Scenario
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

# The values of switches under which both templates are played.
#
# The syntax trees suggest the switches and their values, as they do to the analysis; here every
# candidate is played, since one that acts only without tools, or only on an image, shows itself
# in none of the analysis's probes. A value may reach its comparison through a filter, another
# variable or a mapping, so the words of a template are tried too: one that renders longer or
# shorter than another text of its length is a value.


ANY_TEXT = "any text"
"""A value that no template compares with: what is inserted shows, what is unknown is refused."""

MOST_SETTINGS = 80
"""So many values are played; the corpus's most open template has 65."""

MOST_TRIED = 400
"""So many words of a template are tried as values of its switches."""

LONGEST_WORD = 24
"""Longer constants are texts rather than values."""

_DOCUMENTS: Json = [{"title": "Oslo", "text": "It is sunny in Oslo."}]
"""What `documents` is, which transformers passes as a list of titles and texts."""


@dataclass(frozen=True, slots=True)
class PlayedValues:
    """The values to play, each alone, and what is left out."""

    settings: tuple[Setting, ...]
    left_out: tuple[Setting, ...] = ()
    """Values beyond the most that are played."""


def usual_setting(left: Analysis, right: Analysis) -> Setting:
    """Return what must be set for both to render at all; mostly nothing."""
    return {**left.formats.base, **right.formats.base}


def asked_values(
    analyses: Sequence[Analysis], stages: Sequence[ComparisonStage], *, usual: Setting
) -> PlayedValues:
    """Return every value that a template suggests or shows, in the order of their sources.

    Switches that `usual` sets are not among them.
    """
    found: dict[str, dict[str, Json]] = {}
    for analysis, stage in zip(analyses, stages, strict=True):
        for name, value in _suggested_values(analysis, stage, usual):
            # By their texts, since to Python true is 1.
            found.setdefault(name, {})[repr(value)] = value
    settings = [{name: value} for name, values in found.items() for value in values.values()]
    return PlayedValues(tuple(settings[:MOST_SETTINGS]), tuple(settings[MOST_SETTINGS:]))


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
    words = _value_words(suggestions)[: MOST_TRIED // max(len(names), 1)]
    for name in names:
        for value in (*known.get(name, ()), *suggestions.values.get(name, ())):
            yield name, value
        for word in words:
            if _is_value(stage, {**analysis.formats.base, **usual}, name, word):
                yield name, word
        compared = suggestions.values.get(name) and name not in suggestions.flags
        if name not in inserted and not compared:
            # Neither what is written out nor what is only compared with words is given booleans,
            # as in the analysis.
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
    """Whether a word does something that another text of its length does not."""
    # What is written out, or gone through letter by letter, comes out as long for both.
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
"""So many pairs of values are played at once; those first that change something alone."""


@dataclass(frozen=True, slots=True)
class AskedRenders:
    """What the renders were asked: all that "nothing differs" is said over."""

    renders: int
    """Conversations that at least one of the two rendered with nothing set."""
    bounds: AskedBounds
    """What the conversations held at most."""
    differing: int
    """How many of those differ."""
    switched: int
    """Conversations under a value of a switch, or two, that at least one of the two rendered."""
    switched_differing: int
    """How many of those differ in another way than with nothing set; of values under which all
    comes out alike, one counts."""
    usual: Setting
    """What is set: what must be for both to render at all, and what was asked; mostly nothing."""
    settings: tuple[Setting, ...]
    """The values that were played, each alone."""
    pairs: int
    """Pairs of values of two switches that were played at once."""
    parts: tuple[str, ...]
    """The kinds of content that were sent and that at least one of the two takes."""
    refused: int
    """Conversations under a setting that both refuse; their words are not compared."""
    refused_conversations: tuple[str, ...]
    """Those that both refuse with nothing set, whatever is sent beside them."""
    refused_settings: tuple[Setting, ...]
    """Those under which both refuse everything."""
    left_out: tuple[Setting, ...]
    """Values beyond the most that are played."""
    left_out_pairs: int
    """Pairs beyond the most that are played."""
    unanswered: int
    """Conversations that were not asked since too many before them ran into a limit."""


def changed_renders(
    left: Analysis, right: Analysis, setting: Setting | None = None
) -> tuple[tuple[RenderChange, ...], AskedRenders]:
    """Play everything through both; return how the renders differ, and what was asked.

    Each template gets the messages in the shape that it takes, and one that reads a special token
    which only the other's files name gets it from there. What `setting` sets stays as it is.
    """
    stages = ComparisonStage(left, right), ComparisonStage(right, left)
    asked = setting or {}
    usual = {**usual_setting(left, right), **asked}
    first = play_requests(stages, usual, all_requests())
    values = asked_values((left, right), stages, usual=asked)
    known_keys = first.keys
    bare = [play_requests(stages, asked, switch_requests(), known_keys)] if usual != asked else []
    singles = [
        play_requests(stages, {**usual, **value}, switch_requests(), known_keys)
        for value in values.settings
    ]
    distinct = _distinct_rounds(first, [*bare, *singles])
    pairs = _round_pairs(singles, distinct, usual)
    twos = [
        play_requests(
            stages,
            _merge_settings(one, other, usual),
            pair_requests(),
            known_keys | one.keys | other.keys,
        )
        for one, other in pairs[:MOST_PAIRS]
    ]
    under = [*bare, *singles, *twos]
    rounds = [first, *under]
    asked_of = AskedTally()
    for stage in stages:
        asked_of.merge(stage.tally)
    return group_differences_by_cause([first, *distinct, *twos], stages), AskedRenders(
        renders=first.compared,
        bounds=asked_of.bounds,
        differing=first.differing,
        switched=sum(each.compared for each in under),
        switched_differing=sum(two.differing for two in [*distinct, *twos]),
        usual=usual,
        settings=values.settings,
        pairs=len(twos),
        parts=tuple(_rendered_kinds(first)),
        refused=sum(len(each.refused) for each in rounds),
        refused_conversations=tuple(_refused_conversations(first)),
        refused_settings=tuple(
            single.setting for single in [*bare, *singles] if not single.compared
        ),
        left_out=values.left_out,
        left_out_pairs=len(pairs) - len(twos),
        unanswered=sum(each.unanswered for each in rounds),
    )


def _distinct_rounds(first: ComparedRound, rounds: Sequence[ComparedRound]) -> list[ComparedRound]:
    """Give one round of those that come out alike, and none that comes out as with nothing set."""
    usual = {request.key: first.marks[request.key] for request in switch_requests()}
    found: dict[frozenset[tuple[object, int]], ComparedRound] = {}
    for each in rounds:
        if each.marks != usual:
            found.setdefault(frozenset(each.marks.items()), each)
    return list(found.values())


def _round_pairs(
    singles: Sequence[ComparedRound], distinct: Sequence[ComparedRound], usual: Setting
) -> list[tuple[ComparedRound, ComparedRound]]:
    """Return the rounds two by two whose settings name different switches beside the usual ones.

    Values that change nothing alone may do so with another; pairs of such come last.
    """
    named = [
        (single, _changed_names(single.setting, usual), any(single is one for one in distinct))
        for single in singles
        if single.compared and not _is_any_text(single, singles)
    ]
    pairs = [
        (-(effective + also), (one, other))
        for (one, names, effective), (other, others, also) in combinations(named, 2)
        if names and others and not names & others
    ]
    return [pair for _, pair in sorted(pairs, key=lambda each: each[0])]


def _merge_settings(one: ComparedRound, other: ComparedRound, usual: Setting) -> Setting:
    named = _changed_names(other.setting, usual)
    return {**one.setting, **{name: other.setting[name] for name in sorted(named)}}


def _changed_names(setting: Setting, usual: Setting) -> frozenset[str]:
    # By their texts, since to Python true is 1.
    return frozenset(
        name for name, value in setting.items() if repr(value) != repr(usual.get(name, ...))
    )


def _is_any_text(round_: ComparedRound, singles: Sequence[ComparedRound]) -> bool:
    """Whether a value is any text, and comes out like true, which is played in its place."""
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
    """Return the conversations that both refuse in every request."""
    taken = {request.conversation for request in all_requests() if request.key not in first.refused}
    names = dict.fromkeys(key[0] for key in first.marks)
    yield from (name for name in names if name not in taken)


@dataclass(frozen=True, slots=True)
class TripChange:
    """A scenario whose verdict differs."""

    scenario: str
    next: str
    """Whose message comes next."""
    left: str
    """`holds`, the cause why it does not, or that it does not apply."""
    right: str


@dataclass(frozen=True, slots=True)
class FindingChange:
    """A finding of lint that only one of the two has."""

    finding: LintFinding
    appeared: bool
    """It is the second's; else it has vanished with the first."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that differs."""

    left: Analysis
    right: Analysis
    facts: tuple[FactChange, ...]
    renders: tuple[RenderChange, ...]
    """The ways in which renders part."""
    coverage: AskedRenders
    """What was rendered, and what was not."""
    trips: tuple[TripChange, ...]
    trip_count: int
    """Scenarios, with whose message comes next, that apply to either."""
    findings: tuple[FindingChange, ...]

    @property
    def same_text(self) -> bool:
        """Whether the two are the same text."""
        return self.left.template.text == self.right.template.text

    @property
    def same_check(self) -> bool:
        """Whether the self-checks come out alike."""
        return check_counts(self.left.check) == check_counts(self.right.check)

    @property
    def equal(self) -> bool:
        """Whether nothing that was looked at differs."""
        changes = (*self.facts, *self.renders, *self.trips, *self.findings)
        return not changes and self.same_check


def compare_templates(
    left: Analysis, right: Analysis, setting: Setting | None = None
) -> Comparison:
    """Compare what two templates do.

    What `setting` sets is set in every render and round trip. Formats, self-checks and findings are
    those of the templates under all of their settings.
    """
    renders, asked = changed_renders(left, right, setting)
    trips, played = _changed_trips(left, right, setting or {})
    return Comparison(
        left,
        right,
        changed_facts(left, right),
        renders,
        asked,
        trips,
        played,
        _changed_findings(_lint_findings(left), _lint_findings(right)),
    )


_TripVerdicts = dict[tuple[str, Next], str]
_ABSENT = "does not apply"


def _changed_trips(
    left: Analysis, right: Analysis, setting: Setting
) -> tuple[tuple[TripChange, ...], int]:
    scenarios = shipped_scenarios()
    ours, theirs = (_trip_verdicts(each, scenarios, setting) for each in (left, right))
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
    return tuple(sorted(changes, key=lambda each: order.index(each.scenario))), len(names)


def _trip_verdicts(
    analysis: Analysis, scenarios: Sequence[Scenario], setting: Setting
) -> _TripVerdicts:
    # Only the usual setting of the switches counts here: what others change is among the facts.
    usual = {**analysis.formats.fullest.setting, **setting}
    played = round_trip(analysis, scenarios, setting=usual or None)
    return {(row.scenario.name, row.next): _verdict_words(row) for row in played.rows}


def _verdict_words(row: TripRow) -> str:
    verdict = row.verdict
    return "holds" if verdict.cause is None else verdict.cause.value


def _lint_findings(analysis: Analysis) -> Sequence[LintFinding]:
    return lint(Subject(analysis.template, analysis=analysis)).findings


def _changed_findings(
    left: Sequence[LintFinding], right: Sequence[LintFinding]
) -> tuple[FindingChange, ...]:
    ours, theirs = Counter(map(_finding_key, left)), Counter(map(_finding_key, right))
    ours_only, theirs_only = ours - theirs, theirs - ours
    changes = [
        *(FindingChange(each, appeared=False) for each in left if _take_finding(ours_only, each)),
        *(FindingChange(each, appeared=True) for each in right if _take_finding(theirs_only, each)),
    ]
    return tuple(sorted(changes, key=lambda change: change.finding.code))


_FindingKey = tuple[str, str, str]


def _finding_key(finding: LintFinding) -> _FindingKey:
    """Return what makes two findings the same one, whatever words an exception has."""
    return finding.code, finding.severity.value, finding.message_without_reasons


def _take_finding(left: Counter[_FindingKey], finding: LintFinding) -> bool:
    """Take one of these findings away, if any is left."""
    key = _finding_key(finding)
    if left[key] <= 0:
        return False
    left[key] -= 1
    return True
