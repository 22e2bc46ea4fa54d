"""The values of switches under which both templates are played.

The syntax trees suggest the switches and their values, as they do to the analysis; here every
candidate is played, since one that acts only without tools, or only on an image, shows itself in
none of the analysis's probes. A value may reach its comparison through a filter, another variable
or a mapping, so the words of a template are tried too: one that renders longer or shorter than
another text of its length is a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.inference.probing import (
    Setting,
    Suggestions,
    suggestions_of,
    switch_candidates,
)

from .compared_requests import ComparedRequest, brief
from .stage import ComparisonStage

__all__ = ["ANY_TEXT", "MOST_SETTINGS", "Values", "asked_values", "usual_setting"]

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
class Values:
    """The values to play, each alone, and what is left out."""

    settings: tuple[Setting, ...]
    left_out: tuple[Setting, ...] = ()
    """Values beyond the most that are played."""


def usual_setting(left: Analysis, right: Analysis) -> Setting:
    """Return what must be set for both to render at all; mostly nothing."""
    return {**left.formats.base, **right.formats.base}


def asked_values(
    analyses: Sequence[Analysis], stages: Sequence[ComparisonStage], *, usual: Setting
) -> Values:
    """Return every value that a template suggests or shows, in the order of their sources.

    Switches that `usual` sets are not among them.
    """
    found: dict[str, dict[str, Json]] = {}
    for analysis, stage in zip(analyses, stages, strict=True):
        for name, value in _values(analysis, stage, usual):
            # By their texts, since to Python true is 1.
            found.setdefault(name, {})[repr(value)] = value
    settings = [{name: value} for name, values in found.items() for value in values.values()]
    return Values(tuple(settings[:MOST_SETTINGS]), tuple(settings[MOST_SETTINGS:]))


def _values(
    analysis: Analysis, stage: ComparisonStage, usual: Setting
) -> Iterator[tuple[str, Json]]:
    suggestions = suggestions_of(analysis.template)
    known: Mapping[str, Sequence[Json]] = {each.name: each.values for each in analysis.switches}
    inserted = {each.name for each in analysis.switches if each.inserted}
    candidates = [*known, *switch_candidates(suggestions)]
    names = [each for each in dict.fromkeys(candidates) if each not in usual]
    words = _words(suggestions)[: MOST_TRIED // max(len(names), 1)]
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


def _words(suggestions: Suggestions) -> list[str]:
    """Return the constants that look like values: one short word."""
    return [
        each
        for each in suggestions.constants
        if len(each) <= LONGEST_WORD and each.replace("_", "").replace("-", "").isalnum()
    ]


def _is_value(stage: ComparisonStage, usual: Setting, name: str, word: str) -> bool:
    """Whether a word does something that another text of its length does not."""
    # What is written out, or gone through letter by letter, comes out as long for both.
    other = (ANY_TEXT * LONGEST_WORD)[: len(word)]
    return any(
        _length(stage, each, {**usual, name: word}) != _length(stage, each, {**usual, name: other})
        for each in brief()
        if len(each.dialogue) == 1
    )


def _length(stage: ComparisonStage, request: ComparedRequest, setting: Setting) -> int | None:
    outcome = stage.play(request, setting)
    return len(outcome) if isinstance(outcome, str) else None
