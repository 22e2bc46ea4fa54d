"""The range of a comparison's or an analysis's renders: settings, conversations, lengths.

Settings and conversations are listed by what they share. For example,

    settings_words([{"thinking": True}, {"thinking": False}, {"effort": "high"}])
    ->  thinking: true, false; effort: high
    grouped_names(["question: with tools", "question: alone", "call"])
    ->  question: with tools, alone; call
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.message_shape import Setting
from autoparser.analysis.core.question_bounds import FIELD_FORM, AskedBounds
from autoparser.analysis.formats.learned_format import LearnedFormat

from .blocks import Blocks, Heading, rows
from .visible import counted_noun, setting_words, value_words, visible

if TYPE_CHECKING:
    # For type checkers only: importing comparisons takes as long as the rest of a report.
    from autoparser.analysis.overview.comparison import AskedDocument, Comparison, RefusedDocument

NAMED = 8
"""Conversations named if both templates refuse them."""


def equal_words(comparison: Comparison) -> str:
    """Report that no difference was found, and over which range."""
    same = "The texts are identical" if comparison.same_text else "Only the texts differ"
    asked, switched = comparison.asked, comparison.renders.under_switches.total
    under = f", {switched} under switches" if switched else ""
    return (
        f"{same}; equal in everything tested: {comparison.renders.total} renders with"
        f" {_usual(asked)}{under} and {comparison.round_trips.total} round trips,"
        f" {bounds_words(asked.bounds)}; format and findings are equal."
    )


def bounds_section(learned: LearnedFormat) -> Blocks:
    """Show the range of an analysis; saved formats do not record it."""
    if not isinstance(learned, Analysis):
        return []
    pairs = [("renders", str(learned.renders)), *bounds_rows(learned.asked)]
    drawn = [(label, Text(words)) for label, words in pairs]
    return [Heading(Text("What was tested"), "asked"), *rows(drawn)]


def bounds_words(bounds: AskedBounds) -> str:
    """Return the range in one phrase."""
    return (
        f"of at most {bounds.messages} messages, {bounds.calls} calls and {bounds.tools} tools,"
        f" texts of {bounds.longest_text:,} characters and numbers up to {bounds.largest_number:,}"
    )


def bounds_rows(bounds: AskedBounds) -> Iterator[tuple[str, str]]:
    """Return a label and words for each dimension of the range."""
    yield "at most", bounds_words(bounds).removeprefix("of at most ")
    if bounds.name_signs:
        yield "tools' names", f"of {', '.join(_name_sign_kinds(bounds.name_signs))}"
    forms = sorted(bounds.forms.items(), key=lambda item: -item[1])
    often = [f"{visible(form)} ({count})" for form, count in forms if count > 1]
    # Every name in the source is tried as a field, even a method's as in `content.endswith(…)`. No
    # caller sends most of them, so those without an effect are only counted.
    once = [form for form, count in forms if count == 1]
    tried = sum(form.startswith(FIELD_FORM) for form in once)
    once = [visible(form) for form in once if not form.startswith(FIELD_FORM)]
    once += [f"{counted_noun(tried, 'name')} of the template as a field"] if tried else []
    yield "sent as", "; ".join([", ".join(often), *([f"once: {', '.join(once)}"] if once else [])])
    # The empty setting is named in words.
    settings = [setting for setting in bounds.settings if setting]
    if settings:
        yield "under", f"nothing set; {settings_words(settings)}"


def _name_sign_kinds(signs: str) -> Iterator[str]:
    kinds = (("small letters", str.islower), ("capitals", str.isupper), ("digits", str.isdigit))
    for words, holds in kinds:
        if any(map(holds, signs)):
            yield words
    yield from (sign for sign in signs if not sign.isalnum())


def asked_rows(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Return a label and words for each kind of request, sent or omitted."""
    asked, usual = comparison.asked, _usual(comparison.asked)
    yield (
        "conversations",
        "messages of every kind, with and without tools, a system message, the generation prompt",
    )
    # The settings of a comparison are in the row of switches below.
    yield from (row for row in bounds_rows(asked.bounds) if row[0] != "under")
    yield "content as", grouped_names([_kind(name) for name in asked.content])
    if asked.settings:
        yield "switches", f"{usual}; each value alone: {settings_words(asked.settings)}"
    else:
        yield "switches", f"{usual}; neither template reads any"
    if asked.pairs:
        yield (
            "two at once",
            f"{asked.pairs} pairs of values, on a question and on a long conversation",
        )
    yield "round trips", f"{comparison.round_trips.total}, with {usual}"
    if asked.refused_by_both.renders:
        yield "both raise", "; ".join(_refused(asked.refused_by_both))
    yield "not tested", "; ".join(_not_asked(asked))


def _usual(asked: AskedDocument) -> str:
    return setting_words(asked.usual) or "nothing set"


def _kind(name: str) -> str:
    """Return a kind of content by its part, without the key that holds the data."""
    return name.partition(" with ")[0]


def _refused(refused: RefusedDocument) -> Iterator[str]:
    # Two templates may refuse alike in other words.
    yield f"{refused.renders} more renders (messages not compared)"
    names = list(dict.fromkeys(map(_kind, refused.conversations)))
    if names:
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        yield f"in every combination: {grouped_names(names[:NAMED])}{more}"
    if refused.settings:
        yield f"everything under {settings_words(refused.settings)}"


def _not_asked(asked: AskedDocument) -> Iterator[str]:
    omitted = asked.left_out
    if omitted.renders:
        yield f"{omitted.renders} renders, skipped after others exceeded a limit"
    if omitted.settings:
        yield f"{len(omitted.settings)} values: {settings_words(omitted.settings)}"
    if omitted.pairs:
        yield f"{omitted.pairs} other pairs of values"
    if asked.settings:
        yield "other values of a switch; three switches at once"
    # Renders have one clock, so that they repeat.
    yield "other dates than one fixed day"


def settings_words(settings: Sequence[Setting]) -> str:
    """Return single values by their switches, such as ``thinking: true, false; effort: high``."""
    values: dict[str, list[str]] = {}
    for setting in settings:
        for name, value in setting.items():
            values.setdefault(name, []).append(value_words(value))
    distinct = {name: ", ".join(dict.fromkeys(words)) for name, words in values.items()}
    return "; ".join(f"{visible(name)}: {words}" for name, words in distinct.items())


def grouped_names(names: Sequence[str]) -> str:
    """Group names with the same words before a colon."""
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        head, colon, rest = name.partition(": ")
        groups.setdefault(f"{head}{colon}", []).append(rest)
    return "; ".join(f"{head}{', '.join(rests)}" for head, rests in groups.items())
