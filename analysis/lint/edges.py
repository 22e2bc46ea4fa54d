"""Texts that templates alter, and what of them a render has lost.

What is lost is seen by two texts that differ in one thing and come out alike, so that it does not
matter how a template writes texts: as they are, as JSON, or in escapes of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from autoparser.analysis.core.battery import LONG_TEXT_SIZE, long_text

from .lint_renders import Render

LEAD, TRAIL = "\n\n\n \t", "\t \n\n\n"
"""No template writes these by itself around a text; line breaks stand outermost, since some
templates strip nothing else."""


def padded(word: str) -> str:
    """Return a word with whitespace at both edges."""
    return f"{LEAD}{word}{TRAIL}"


def lost_edges(text: str, word: str) -> str:
    """Say which edge of the padded word is not in the text; empty for none.

    A text without the word has lost more than edges: for that the answer is empty, too.
    """
    if word not in text:
        return ""
    begins = f"{LEAD}{word}" in text
    ends = f"{word}{TRAIL}" in text
    if begins and ends:
        return ""
    if begins:
        return "end"
    return "beginning" if ends else "beginning and end"


class TextPair(NamedTuple):
    """Two texts around two words, and what the first has that the other has not."""

    what: str
    one: str
    other: str


EDGE_PAIRS = (
    TextPair("spaces at its edges", "  {} ", "{}"),
    TextPair("line breaks at its edges", "\n{}\n", "{}"),
)
INNER_PAIRS = (
    TextPair("a quote", '{}"{}', "{}{}"),
    TextPair("a quote", '{}"{}', "{}'{}"),
    TextPair("a backslash before a quote", '{}\\"{}', '{}"{}'),
    TextPair("a backslash", "{}\\{}", "{}{}"),
    TextPair("a backslash and an n", "{}\\n{}", "{}\n{}"),
    TextPair("a line break", "{}\n{}", "{} {}"),
    TextPair("a run of spaces", "{}   {}", "{} {}"),
    TextPair("a blank line", "{}\n\n{}", "{}\n{}"),
    TextPair("an indentation", "{}\n    {}", "{}\n{}"),
    TextPair("a character of markup", "{}<{}", "{}&lt;{}"),
    TextPair("capitals", "{}A{}", "{}a{}"),
    TextPair("an emoji", "{}🚀{}", "{}{}"),
    TextPair(
        f"what follows {LONG_TEXT_SIZE:,} characters",
        f"{{}} {long_text('the question')} {{}}",
        f"{{}} {long_text('the question')}",
    ),
)

HOSTILE_TEXT = (
    '  \n{}"\'\\"\\n\n    < &A 🚀 {{"found": [1, "two"],\n  "more": null}}\n\n'
    f"{long_text('the question')}{{}}\n "
)
"""All of it in one text: where this one is pasted or is JSON, nothing is lost."""


def alike_in_prompt(
    play: Callable[[str], Render], words: Sequence[str], pairs: Sequence[TextPair], hostile: str
) -> Mapping[str, tuple[Render, Render]]:
    """Return what of a text cannot be seen in the prompt, each with two renders that are alike.

    `play` renders a conversation with a text in the place that is asked about.
    """
    text = hostile.format(*words)
    whole = play(text).text
    encoded = (json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (False, True))
    if any(each in whole for each in (text, *encoded)):
        return {}
    lost: dict[str, tuple[Render, Render]] = {}
    for what, one, other in pairs:
        left, right = (play(each.format(*words)) for each in (one, other))
        # A template that does not write the text at all is not meant here.
        if left.text == right.text and words[0] in left.text:
            lost.setdefault(what, (left, right))
    return lost


def unseen_words(place: str, lost: Mapping[str, object]) -> str:
    """Say what of a text cannot be seen, such as "a quote in a string argument"."""
    first, *others = lost
    more = f", nor {', nor '.join(others)}" if others else ""
    return f"{first} in {place} cannot be seen in the prompt{more}"
