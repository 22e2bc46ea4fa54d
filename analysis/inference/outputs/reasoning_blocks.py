"""Reasoning that no render shows: a block at the front of turns, between two markers.

What stands before the calls is content. Where much of it begins with one marker, or the prompt has
written that, and holds another marker later, what is between the two is taken for reasoning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from autoparser.analysis.core.alignment import edge_units, is_unit

from .framed_beginnings import FramedBeginning, framed_beginning
from .majority import shared_beginning, shared_end

__all__ = ["ReasoningBlock", "block_between", "find_reasoning"]

_SHARE = 0.6
"""So many of the texts that begin alike have to close the block."""
_FEWEST = 2
"""So many texts have to show it."""


@dataclass(frozen=True, slots=True)
class ReasoningBlock:
    """What opens and closes reasoning, whitespace included."""

    open: str
    """Empty: the prompt has written it."""
    close: str

    def split(self, text: str) -> tuple[str, str] | None:
        """Return the reasoning and what follows it; None where the text has no such block."""
        core, begin = self.close.strip(), len(self.open.rstrip())
        at = text.find(core, begin)
        if at < 0 or not text.startswith(self.open.rstrip()):
            return None
        end = at + len(core)
        before = self.close[: self.close.find(core)]
        after = self.close[self.close.find(core) + len(core) :]
        inner = text[begin:at].removeprefix(self.open[begin:]).removesuffix(before)
        return inner, text[end:].removeprefix(after)


def find_reasoning(texts: Sequence[str], answers: Sequence[str] = ()) -> ReasoningBlock | None:
    """Find the block that most of these texts begin with; `texts` are what stands before calls.

    `answers` are those of them that no call follows.
    """
    units = [(text, edge_units(text)) for text in texts if text.strip()]
    opened = [(text, _behind_space(row)) for text, row in units]
    firsts = Counter(row[0] for _, row in opened if is_unit(row[0].lstrip()))
    for opening, count in firsts.most_common(1):
        begun = [(text, row[1:]) for text, row in opened if row[0] == opening]
        if count >= _FEWEST and (closing := _closing(begun)):
            return block_between(opening, closing, [text for text, _ in begun])
    framed = framed_beginning([text for text, _ in units])
    if framed is not None and not _all_there_is(framed, answers):
        begun_alike = [text for text, _ in units if text.startswith(framed.opening)]
        return block_between(framed.opening, framed.closing, begun_alike)
    closing = _closing(units)
    return block_between("", closing, [text for text, _ in units]) if closing else None


def _behind_space(row: Sequence[str]) -> list[str]:
    """Let whitespace before the first unit go with it."""
    first, *rest = row
    return [first + rest[0], *rest[1:]] if first.isspace() and rest else [first, *rest]


def _all_there_is(framed: FramedBeginning, answers: Sequence[str]) -> bool:
    """Whether the block is a whole answer mostly, as where all answers are JSON: content."""
    rests = [
        answer.partition(framed.closing)[2]
        for answer in answers
        if answer.startswith(framed.opening) and framed.closing in answer
    ]
    return 2 * sum(not rest.strip() for rest in rests) > len(rests)


def _closing(begun: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return the marker that nearly all have once, the first of several."""
    seen = Counter(unit for _, row in begun for unit in dict.fromkeys(row) if is_unit(unit))
    found = [unit for unit, count in seen.items() if count >= max(_FEWEST, _SHARE * len(begun))]
    return found[0] if found else ""


def block_between(opening: str, closing: str, texts: Sequence[str]) -> ReasoningBlock:
    """Return the block between two markers, with the whitespace that these texts have there."""
    held = [text for text in texts if closing in text]
    inside = [text[len(opening) : text.find(closing)] for text in held]
    after = [text[text.find(closing) + len(closing) :] for text in held]
    full = [text for text in inside if text.strip()] or inside
    rest = [text for text in after if text.strip()] or after
    return ReasoningBlock(
        opening + _space(shared_beginning(full)) if opening else "",
        _space(shared_end(full)[::-1])[::-1] + closing + _space(shared_beginning(rest)),
    )


def _space(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]
