"""The state of many templates as a page in Markdown, with two pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import PurePath

from autoparser.analysis.formats.format_view import CallNotation
from autoparser.analysis.history.round_trips import cause_code
from autoparser.analysis.history.trip_causes import Cause
from autoparser.analysis.lint.registry import find_rule
from autoparser.analysis.overview.survey import SurveyRecord
from autoparser.analysis.overview.template_state import (
    ClaimCount,
    Mistake,
    StateClaim,
    TemplateState,
)

from .fixing import counted_edits
from .markdown import cell, code_span, fence_lines, plain
from .visible import counted_noun, shorten_middle

_CLAIMS: Mapping[StateClaim, tuple[str, str]] = {
    StateClaim.ERRORS: (
        "have at least one error",
        "an error means that requests fail, or that a text is lost or changed",
    ),
    StateClaim.TEXT_LOST: (
        "drop the text of a message",
        "an answer, a question, a call or a tool's result is not in the prompt",
    ),
    StateClaim.SYSTEM_LOST: (
        "drop a system message",
        "the first one, or one in a running conversation, is not in the prompt",
    ),
    StateClaim.REASONING_DROPPED: (
        "drop the reasoning of earlier turns",
        "many do so on purpose; the prefix cache then ends where the reasoning was",
    ),
    StateClaim.REWRITTEN: (
        "rewrite an answer in the next prompt",
        "an answer that was sampled and sent back whole is rendered differently",
    ),
    StateClaim.CRASH: (
        "crash on a conversation that agents send",
        "the template is at fault: it raises an error that is not its own refusal",
    ),
    StateClaim.NULL_CONTENT: (
        "crash on a call without content",
        "`content` is null or absent beside `tool_calls`, as OpenAI's API returns it",
    ),
    StateClaim.ARGUMENTS: (
        "fail on arguments as a JSON string",
        "they raise, drop it, or encode it twice; OpenAI's API sends such `arguments`, which"
        " engines decode first and training scripts do not",
    ),
    StateClaim.SCHEMAS: (
        "lose tools or parts of their schemas",
        "the model does not see a tool that was offered, or a keyword of its schema",
    ),
}
"""The words of a claim, after `templates that`, and its meaning."""
_NOTATIONS: Mapping[CallNotation, str] = {
    CallNotation.JSON_IN_MARKERS: "JSON between markers",
    CallNotation.ELEMENTS: "an element for each argument, as in XML",
    CallNotation.NAMED_JSON: "a name, then JSON arguments",
    CallNotation.BARE_JSON: "JSON without markers",
    CallNotation.PAIRS: "pairs of key and value, as in code",
}
_CAUSE_WORDS = {cause_code(cause): cause.value for cause in Cause}
_CAUSES = 5
"""Causes of broken round trips that are named."""
_PARSERS = 6
"""Parsers of an engine that are named."""
_SENTENCES = 2
"""Sentences of a rule's page that are shown."""
_MESSAGE = 220
"""Longest message of a finding, in characters."""


@dataclass(frozen=True, slots=True)
class StatePage:
    """The page and its pictures."""

    text: str
    """The page in Markdown, e.g. `# The state of chat templates…`."""
    pictures: Mapping[str, str]
    """The pictures in SVG by their file names, e.g. `state-of-templates-faults.svg`, to be written
    beside the page."""


def state_page(state: TemplateState, title: str, name: str) -> StatePage:
    """Return a page about the templates that `title` names; `name` begins the pictures' names."""
    # A claim about calls has no share if no template writes calls.
    claims = [row for row in state.claims if row.whole]
    claims.sort(key=lambda row: row.count / row.whole, reverse=True)
    faults, calls = f"{name}-faults.svg", f"{name}-calls.svg"
    lines = [
        *_beginning(state, title),
        *_claims(claims, faults),
        *_notations(state, calls),
        *_round_trips(state),
        *_readings(state),
        *_mistakes(state),
        *_ending(),
    ]
    claim_bars = [ChartBar(_CLAIMS[row.claim][0], row.count, row.whole) for row in claims]
    pictures = {
        faults: bar_chart("Faults, by share of templates", claim_bars),
        calls: bar_chart(
            "How templates write a tool call",
            [
                ChartBar(_NOTATIONS[count.notation], count.count, state.calling, good=True)
                for count in state.notations
            ],
        ),
    }
    return StatePage("\n".join(lines) + "\n", pictures)


def _beginning(state: TemplateState, title: str) -> Iterator[str]:
    many = counted_noun(state.texts, "chat template")
    names = "" if state.names == state.texts else f" under {state.names} names"
    # Records may be made on several days, and by several versions.
    days = " to ".join(state.days)
    yield from ("# The state of chat templates", "")
    yield (
        f"{many}{names}{f' of {plain(title)}' if title else ''}: each was rendered and compared"
        f" by autoparser {', '.join(state.versions)} on {days}. No template was judged by its"
        " source or its name: every number comes from renders."
    )
    yield ""
    yield (
        "A chat template turns messages, reasoning and tool calls into the prompt of a model. The"
        " model never sees what the template drops; a template that raises fails the request; text"
        " that it renders differently the next time is computed again by the server, and misleads a"
        " trainer."
    )


def _claims(claims: Sequence[ClaimCount], picture: str) -> Iterator[str]:
    if not claims:
        return
    words = "; ".join(f"{_CLAIMS[row.claim][0]}: {row.count} of {row.whole}" for row in claims)
    yield from ("", f"![Faults, by share of templates: {words}]({picture})", "")
    yield from ("## What is wrong", "", "| templates that … | count | of | meaning | rules |")
    yield "|---|--:|--:|---|---|"
    for row in claims:
        words, meaning = _CLAIMS[row.claim]
        of = f"{row.whole} that write calls" if row.claim.calling else f"{row.whole}"
        codes = ", ".join(sorted(row.claim.codes))
        yield f"| {words} | {row.count} | {of} | {meaning} | {codes} |"


def _notations(state: TemplateState, picture: str) -> Iterator[str]:
    yield from ("", "## How they write tool calls", "")
    yield (
        f"{state.calling} of {state.texts} write tool calls, in {state.ways} different ways, and"
        f" {state.reasoning} write reasoning."
    )
    if not state.notations:
        return
    words = "; ".join(f"{_NOTATIONS[row.notation]}: {row.count}" for row in state.notations)
    yield from ("", f"![How templates write a tool call: {words}]({picture})", "")
    yield from (
        "| notation | templates | the most frequent call | written by |",
        "|---|--:|---|--:|",
    )
    for row in state.notations:
        call = cell(row.example.call or "")
        yield f"| {_NOTATIONS[row.notation]} | {row.count} | {call} | {row.alike} |"


def _round_trips(state: TemplateState) -> Iterator[str]:
    """Yield how many templates round-trip, why others do not, and which could not be analyzed."""
    # The share is stated as a success here, and as a fault in the table above.
    rewritten = next(row for row in state.claims if row.claim is StateClaim.REWRITTEN)
    yield from ("", "## Which of them round-trip", "")
    yield (
        "A model samples an answer, the answer is stored, and the next request renders it again. If"
        " the next prompt begins with the last prompt and the sampled text, the prefix cache holds,"
        " and a trainer scores the text that was sampled."
    )
    yield ""
    yield (
        f"{rewritten.whole - rewritten.count} of {rewritten.whole} round-trip as far as a template"
        f" can: of {state.trips:,} scenarios {state.trips_holding:,} hold, and"
        f" {state.trips_blamed:,} break through the template's fault. The others break through a"
        " habit of the engine, or because the model spelled something in a way that no message"
        " stores."
    )
    if state.causes:
        named = [
            f"{_CAUSE_WORDS[code]} (in {counted_noun(count, 'template')})"
            for code, count in state.causes[:_CAUSES]
        ]
        yield from ("", f"The most frequent causes: {', '.join(named)}.")
    yield ""
    yield (
        f"The self-check passes for {state.checked} of {state.texts} with the default settings: the"
        " derived format renders the same text as the template, and parses it."
    )
    if state.failed:
        reasons: dict[str, list[str]] = {}
        for row in state.failed:
            # The words before the colon are the kind of error, which many templates share.
            reasons.setdefault((row.error or "").partition(":")[0], []).append(_template_code(row))
        named = [f"{plain(why)}: {', '.join(names)}" for why, names in sorted(reasons.items())]
        yield from ("", f"Not analyzed, {len(state.failed)}: {'; '.join(named)}.")


def _readings(state: TemplateState) -> Iterator[str]:
    """Yield the table of built-in parsers, and the texts that an engine did not answer."""
    readings, asked = state.readings, len(state.asked)
    # Engines are asked only with `--python`.
    if not readings:
        return
    yield from ("", "## Which built-in parsers read them", "")
    yield (
        f"The engines' own parsers read the turns of {asked} of the {state.calling} templates that"
        " write calls, at once and streamed, with no server and no model. *Hostile* counts texts in"
        " which a marker or a call is quoted; the last two columns count templates. The best pair"
        " is what `autoparser engines` ranks first, and is often not the pair that the model's"
        " makers name."
    )
    yield ""
    # One template stands for all that write a call in its way.
    if asked < state.calling:
        names = ", ".join(map(_template_code, state.asked))
        alike = f"{state.asked_alike} of {state.calling} templates write calls in one of their ways"
        yield from (f"Asked: {names}. In all, {alike}.", "")
    yield (
        "| engine | parsers | templates | texts right | streamed | hostile right | streamed | all"
        " right | 90% right |"
    )
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|"
    words = {"best": "the best pair", "auto": "its `auto`", "own": "derived from the template"}
    for row in readings:
        shares = [f"{share:.0%}" for share in row.shares]
        cells = [plain(row.engine), words[row.choice], str(len(row.readings)), *shares]
        yield f"| {' | '.join([*cells, str(row.reading(1)), str(row.reading(0.9))])} |"
    for row in readings:
        # A text without an answer is not a text that was misread.
        silent = sum(reading.unanswered for reading in row.readings)
        if silent:
            texts = sum(reading.texts for reading in row.readings)
            yield ""
            choice = f"{plain(row.engine)}, {words[row.choice]}"
            late = sum(reading.late for reading in row.readings)
            why = f"; {late} of them were not read in time" if late else ""
            left = f"{silent} of {texts} texts not answered, as the engine raises or refuses them"
            yield f"{choice}: {left}{why}."
        if row.choice == "best":
            named = [f"{code_span(name)} ({count})" for name, count in row.names[:_PARSERS]]
            yield from ("", f"Most often the best in {plain(row.engine)}: {', '.join(named)}.")


def _mistakes(state: TemplateState) -> Iterator[str]:
    if not state.mistakes:
        return
    yield from ("", f"## The {len(state.mistakes)} most frequent mistakes", "")
    yield (
        f"Findings of `autoparser lint` in {counted_noun(state.linted, 'template')}, counted by"
        " template. Common conventions are left out. Where a rule has edits, the example was given"
        " to `autoparser fix`, which accepts an edit only if no render changes that was right. The"
        " template fragments are the rule's, not the example's."
    )
    yield from ("", "| | mistake | errors | warnings | fix |", "|--:|---|--:|--:|---|")
    for at, row in enumerate(state.mistakes, 1):
        words = f"{row.code}: {find_rule(row.code).summary}"
        yield f"| {at} | {words} | {row.errors} | {row.warnings} | {_proof_words(row)} |"
    for at, row in enumerate(state.mistakes, 1):
        yield from _mistake(at, row)


def _proof_words(row: Mistake) -> str:
    if not find_rule(row.code).fixable:
        return "by hand"
    if not row.tried:
        return "not tried"
    proven = sum(not fix.reason for fix in row.tried)
    return f"proven in {proven} of {len(row.tried)} tried"


_SENTENCE_END = re.compile(r"(?<=\.)\s+(?=[A-Za-z])")


def _mistake(at: int, row: Mistake) -> Iterator[str]:
    rule = find_rule(row.code)
    # The first paragraph says what happens; the others are details.
    why = " ".join(rule.why.split("\n\n")[0].split())
    # The page of a rule is Markdown of this package, and needs no escapes.
    yield from ("", f"### {at}. {row.code}: {rule.summary}", "")
    yield " ".join(_SENTENCE_END.split(why)[:_SENTENCES])
    place = "" if row.finding.line is None else f", line {row.finding.line}"
    message = plain(shorten_middle(row.finding.message, _MESSAGE))
    yield from ("", f"**Example:** {_template_code(row.example)}{place}: {message}.")
    yield from ("", f"**Fix:** {rule.fix}. {_outcome(row)}" if rule.fix else _outcome(row), "")
    fragments = f"{rule.before.strip()}\n\n{{# fixed #}}\n{rule.after.strip()}"
    yield from fence_lines(fragments.splitlines(), "jinja")


def _outcome(row: Mistake) -> str:
    rule, fix = find_rule(row.code), row.fix
    if not rule.fixable:
        return f"`autoparser fix` has no edit for it: {rule.why_unfixed}."
    if fix is None:
        return "`autoparser fix` was not tried on it."
    if fix.reason:
        return f"`autoparser fix` leaves it: {fix.reason}{counted_edits(fix.edits)}."
    return (
        "`autoparser fix` finds an edit of this template, and proves it by rendering"
        f" {counted_noun(fix.conversations, 'conversation')} with and without it."
    )


def _template_code(record: SurveyRecord) -> str:
    # In code, where no name of a template is a mention or a link.
    return code_span(PurePath(record.source).stem)


def _ending() -> Iterator[str]:
    yield from ("", "## Make this page of your own templates", "")
    yield from fence_lines(
        ["autoparser survey DIRECTORY --lint --records templates.jsonl -f markdown -o state.md"],
        "sh",
    )
    yield ""
    yield (
        "The page is written from the records alone, and its pictures beside it. `--python` adds"
        " the engines' parsers; `autoparser rule CODE` explains a rule."
    )


# Bars as an SVG picture that is readable on light and on dark pages.


@dataclass(frozen=True, slots=True)
class ChartBar:
    """One bar: a share of a whole."""

    label: str
    """The words before it, e.g. `drop the text of a message`."""
    count: int
    """The counted part of the whole, which sets the length, e.g. `12`."""
    whole: int
    """The total of which `count` is a part, e.g. `921` templates."""
    good: bool = False
    """Whether a long bar is good news, which makes it blue, e.g. `True` for notations of calls."""


_WIDTH, _LABEL, _BAR, _ROW, _TOP = 900, 430, 290, 34, 44
_STYLE = """
    text { font: 15px system-ui, sans-serif; fill: #1b1f24; }
    .title { font-weight: 600; }
    .whole { fill: #e3e8ee; }
    .bad { fill: #c2553a; }
    .good { fill: #2f74c0; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .whole { fill: #2b3138; }
      .bad { fill: #e88a6f; }
      .good { fill: #5aa2ee; }
    }
"""


def bar_chart(title: str, bars: Sequence[ChartBar]) -> str:
    """Return an SVG picture with a bar in each row, its count and its share."""
    height = _TOP + _ROW * len(bars) + 6
    words = "; ".join(f"{bar.label}: {bar.count} of {bar.whole}" for bar in bars)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img"'
        ' aria-labelledby="t d">',
        f'  <title id="t">{escape(title)}</title>',
        f'  <desc id="d">{escape(words)}</desc>',
        f"  <style>{_STYLE}  </style>",
        f'  <text class="title" x="8" y="24">{escape(title)}</text>',
        *(line for at, bar in enumerate(bars) for line in _bar_lines(bar, _TOP + _ROW * at)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _bar_lines(bar: ChartBar, top: int) -> Iterator[str]:
    share = bar.count / bar.whole if bar.whole else 0
    kind = "good" if bar.good else "bad"
    yield (f'  <text x="{_LABEL - 12}" y="{top + 18}" text-anchor="end">{escape(bar.label)}</text>')
    yield f'  <rect class="whole" x="{_LABEL}" y="{top}" width="{_BAR}" height="24" rx="4"/>'
    if bar.count:
        # No bar is shorter than three pixels, so that a rare fault remains visible.
        width = max(round(_BAR * share, 1), 3)
        yield f'  <rect class="{kind}" x="{_LABEL}" y="{top}" width="{width}" height="24" rx="4"/>'
    place = _LABEL + _BAR + 12
    yield f'  <text x="{place}" y="{top + 18}">{share:.0%} ({bar.count} of {bar.whole})</text>'
