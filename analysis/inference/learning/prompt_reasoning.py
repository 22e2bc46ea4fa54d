"""Reasoning that no turn shows, read off generation prompts or the words before them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autoparser.analysis.core.alignment import edge_units, is_unit

from .observer import Observer
from .openings import PromptText


@dataclass(frozen=True, slots=True)
class NamedReasoning:
    """What opens and closes reasoning, where no turn under these settings shows it."""

    open: str = ""
    close: str = ""
    confirmed: bool = True
    """False: prompts or words say so, and no render shows reasoning between the two."""


def read_prompts(
    observer: Observer, prompts: Sequence[PromptText], header: str, close: str
) -> NamedReasoning:
    """Read the reasoning's markers off generation prompts, where no turn shows them.

    A prompt that goes on where another stops has opened what the other leaves closed. `close` is
    the text that reasoning is cut at, where it is only cut.
    """
    rests = sorted(
        {
            prompt.text[len(header) :].strip()
            for prompt in prompts
            if prompt.text.startswith(header)
        },
        key=len,
    )
    rests = [rest for rest in rests if rest]
    if close:
        return NamedReasoning(next((rest for rest in rests if close not in rest), ""), close)
    for short in rests:
        for long in rests:
            if long != short and long.startswith(short):
                return _unconfirmed(short, long[len(short) :].strip())
    alone = observer.prober.probe((observer.prober.user,), tools=False).text
    for rest in rests:
        if is_unit(rest) and header.strip() and rest not in alone:
            # A prompt that opens what no turn shows: the closing tag is the usual one.
            return _unconfirmed(rest, f"{rest[0]}/{rest[1:]}")
        match [unit for unit in edge_units(rest) if unit.strip()]:
            case [opening, closing] if is_unit(opening) and is_unit(closing):
                return _unconfirmed(opening, closing)
            case _:
                pass
    return NamedReasoning()


def _unconfirmed(opening: str, close: str) -> NamedReasoning:
    return NamedReasoning(opening, close, confirmed=False)
