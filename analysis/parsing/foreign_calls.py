"""Find calls of offered tools that are written in another format than the one that is read.

    foreign_call of '[TOOL_CALLS]get_weather{"city": "Oslo"}', where the template writes
    '<tool_call>{"name": "get_weather", …}</tool_call>'  ->  (12, "get_weather")

An answer may also speak of a call. So it counts only if no sentence leads to the name in its line,
and if the text ends with a closing sign, as calls do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from unicodedata import category

from autoparser.analysis.core.call_format import CallFormat
from autoparser.analysis.core.text_alignment import edge_units, is_unit
from autoparser.lazy_names import lazy_pattern

from .turn_nodes import TurnTree


def call_texts(calls: CallFormat) -> list[str]:
    """Return the texts that the template writes around calls, and in them around their slots."""
    rows = [*calls.row, *(calls.empty_row or ())]
    # The type alone shows that a piece is a literal, since slots are strings, too.
    texts = [piece for piece in rows if type(piece) is str]
    members = calls.arguments.members
    texts += [piece for piece in members.entry if type(piece) is str]
    return [*texts, calls.section_open, calls.section_close, calls.separator, calls.later_close]


def units_in(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the markers in texts, without duplicates."""
    units = (unit for text in texts for unit in edge_units(text))
    return tuple(dict.fromkeys(filter(is_unit, units)))


def has_own_markup(turn: TurnTree, text: str) -> bool:
    """Return whether a text has a marker of the format's calls, other than the turn's ends."""
    calls = turn.strict.calls
    ends = {end.core for end in turn.ends}
    markers = () if calls is None else units_in(call_texts(calls))
    return any(marker in text for marker in markers if marker not in ends)


def foreign_call(turn: TurnTree, text: str) -> tuple[int, str] | None:
    """Return the offset and the name of an offered tool that a text calls in another format.

    None if there is no such call, or if the text has markup of this format's calls.
    """
    # A quick test: this runs for each answer without a call, and most of them name no tool.
    named = [name for name in turn.offered or () if name in text]
    bare = text.rstrip()
    if not named or not (bare[-1] in _CLOSING_SIGNS or category(bare[-1]) in _CLOSING):
        return None
    if has_own_markup(turn, text):
        return None
    for name in sorted(named):
        for found in _call_pattern(name).finditer(text):
            at = found.start(found.lastindex or 0)
            line = text[text.rfind("\n", 0, at) + 1 : at]
            # Without arguments, `{"name": "get_weather"}` may just as well be an answer.
            called = any(sign in text[at:] for sign in "({[<")
            if called and _SENTENCE.search(line) is None:
                return at, name
    return None


_CLOSING = ("Pe", "Pf")
_CLOSING_SIGNS = ">|`\"'"
_SENTENCE = lazy_pattern(r"[^\W\d_] [^\W\d_]+[ :]")
"""Two words with a space on both sides of the second: not `commentary to=f`."""


def _call_pattern(name: str) -> re.Pattern[str]:
    """Match a name as calls have it: in a tag, as a value, or before a bracket or a line with one.

    A namespace may stand before it, as in `to=functions.get_weather`.
    """
    word = re.escape(name)
    before = r"(?:[=<](?:[\w-]+[.:])*|[=:][\"']|: [\"'])"
    return re.compile(rf"{before}({word})\b|\b({word})(?=(?:\.\w+)?[|(\[{{<]|\n\{{\s*\")")
