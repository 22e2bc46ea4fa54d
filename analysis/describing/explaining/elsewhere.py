"""Whether an output belongs to another prompt, or to another format."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from autoparser.analysis.constraining.decode.answer_faults import Rendering
from autoparser.analysis.constraining.decode.rendering import FormatTurns, Rewriter
from autoparser.analysis.core.alignment import edge_units, is_unit
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Begun
from autoparser.analysis.reading.expression import Turn
from autoparser.analysis.reading.parsing import OutputParser
from autoparser.analysis.reading.text import SpanKind

from .markers import call_texts, markers_of, units_in


@dataclass(frozen=True, slots=True)
class PromptedParser:
    """A generation prompt of the template, and the parser of what follows it."""

    begun: Begun
    parser: OutputParser


def other_setting(others: Sequence[PromptedParser], text: str) -> Mapping[str, Json] | None:
    """Give the setting after whose prompt a text is read without any trouble; None: after none."""
    for other in others:
        message = other.parser.parse(text)
        junk = any(span.kind is SpanKind.JUNK for span in message.spans)
        if not message.status.regular or junk:
            continue
        rewriter = Rewriter(FormatTurns(other.begun), other.begun.format, other.parser)
        rendering, opening = rewriter.compare(text, message).rendering, other.begun.opening
        if opening is not None and (rendering.same_text or rendering is Rendering.WHITESPACE):
            return opening.setting
    return None


def foreign(turn: Turn, text: str, offered: Collection[str] | None) -> tuple[int, str] | None:
    """Find what looks like another format's markup, where no call of this format is there.

    It is the name of a tool that is offered, written as calls are, or, in a text without any
    marker of this format, a marker at its very beginning or end.
    """
    ends = {end.core for end in turn.ends}
    calls = turn.strict.calls
    ours = () if calls is None else units_in(call_texts(calls))
    if any(marker in text for marker in ours if marker not in ends):
        return None
    for name in sorted(offered or ()):
        found = _called(name).search(text)
        if found is not None:
            return _around(text, found.start(), name)
    ours = (*markers_of(turn), *units_in([turn.header.core]))
    if any(marker in text for marker in ours if marker not in ends):
        return None
    return _at_an_edge(text, ends)


def _called(name: str) -> re.Pattern[str]:
    """Match a name as calls have it: in a tag, as a value, or before an opening bracket."""
    word = re.escape(name)
    before = r"(?:(?<=[=<])|(?<=[=:][\"'])|(?<=: [\"']))"
    return re.compile(rf"{before}{word}\b|\b{word}(?=[|(\[{{<])")


def _around(text: str, at: int, name: str) -> tuple[int, str]:
    """Return the marker that a name stands in, or the name."""
    start = 0
    for unit in edge_units(text):
        if start <= at < start + len(unit) and is_unit(unit):
            return start, unit
        start += len(unit)
    return at, name


def _at_an_edge(text: str, ends: set[str]) -> tuple[int, str] | None:
    bare = text.strip()
    while bare.endswith(tuple(ends)) and ends:
        bare = bare.removesuffix(next(end for end in ends if bare.endswith(end))).rstrip()
    units = edge_units(bare)
    at = len(text) - len(text.lstrip())
    if not units:
        return None
    if is_unit(units[0]):
        return at, units[0]
    if is_unit(units[-1]):
        return at + len(bare) - len(units[-1]), units[-1]
    return None
