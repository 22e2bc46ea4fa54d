"""What a comparison asked and what it did not: over which renders it says that nothing differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autoparser.analysis.inference.probing import Setting
from autoparser.analysis.overview.comparison import Comparison

from .setting_words import setting_words, value_words
from .visible import visible

__all__ = ["asked_rows", "equal_words", "grouped_names", "settings_words"]

NAMED = 8
"""Conversations that are named where both templates refuse them."""


def equal_words(found: Comparison) -> str:
    """Say that nothing differs, and over what."""
    same = "They are the same text" if found.same_text else "Only the texts differ"
    asked = found.asked
    under = f", {asked.switched} under switches" if asked.switched else ""
    return (
        f"{same}: {asked.renders} renders with {_usual(found)}{under} and {found.played} round"
        " trips come out alike; format and findings are equal."
    )


def asked_rows(found: Comparison) -> Iterator[tuple[str, str]]:
    """Return a label and words for each thing that was asked, or was not."""
    asked = found.asked
    yield (
        "conversations",
        "messages of every kind, with and without tools, a system message, the generation prompt",
    )
    yield "content as", grouped_names([_kind(name) for name in asked.parts])
    if asked.settings:
        yield "switches", f"{_usual(found)}; each value alone: {settings_words(asked.settings)}"
    else:
        yield "switches", f"{_usual(found)}; neither template reads any"
    if asked.pairs:
        yield (
            "two at once",
            f"{asked.pairs} pairs of values, on a question and on a long conversation",
        )
    yield "round trips", f"{found.played}, with {_usual(found)}"
    if asked.refused:
        yield "both refuse", "; ".join(_refused(found))
    yield "not asked", "; ".join(_not_asked(found))


def _usual(found: Comparison) -> str:
    return setting_words(found.asked.usual) or "nothing set"


def _kind(name: str) -> str:
    """Name a kind of content by its part alone, whatever key holds the data."""
    return name.partition(" with ")[0]


def _refused(found: Comparison) -> Iterator[str]:
    asked = found.asked
    yield f"{asked.refused} more renders, and their words are not compared"
    names = list(dict.fromkeys(map(_kind, asked.refused_conversations)))
    if names:
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        yield f"whatever comes with it: {grouped_names(names[:NAMED])}{more}"
    if asked.refused_settings:
        yield f"everything under {settings_words(asked.refused_settings)}"


def _not_asked(found: Comparison) -> Iterator[str]:
    asked = found.asked
    if asked.unanswered:
        yield f"{asked.unanswered} renders, since some before them ran into a limit"
    if asked.left_out:
        yield f"{len(asked.left_out)} values: {settings_words(asked.left_out)}"
    if asked.left_out_pairs:
        yield f"{asked.left_out_pairs} other pairs of values"
    if asked.settings:
        yield "other values of a switch; three switches at once"
    yield "another date than one fixed day"


def settings_words(settings: Sequence[Setting]) -> str:
    """Return single values by their switches, such as ``thinking: true, false; effort: high``."""
    values: dict[str, list[str]] = {}
    for setting in settings:
        for name, value in setting.items():
            values.setdefault(name, []).append(value_words(value))
    return "; ".join(f"{visible(name)}: {', '.join(each)}" for name, each in values.items())


def grouped_names(names: Sequence[str]) -> str:
    """Put names with the same words before a colon together."""
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        head, colon, rest = name.partition(": ")
        groups.setdefault(f"{head}{colon}", []).append(rest)
    return "; ".join(f"{head}{', '.join(rests)}" for head, rests in groups.items())
