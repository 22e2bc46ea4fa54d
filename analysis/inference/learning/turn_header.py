"""The header: what begins every assistant turn, whatever comes next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autoparser.analysis.core.alignment import common_prefix, edge_units, is_unit
from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.format import Layout, Part

from .history import historic_opening
from .observer import Observer


def learn_header(
    observer: Observer,
    layouts: Mapping[Presence, Layout],
    prompts: Sequence[str],
    reasoning_close: str,
    elsewhere: Sequence[str] = (),
) -> str:
    """Find what all turns begin with: as last or earlier turn, and as the generation prompt.

    `elsewhere` are the beginnings of turns under other settings, whose prompts are among `prompts`.
    `reasoning_close` is the text that reasoning is cut at, where it is only cut.
    """
    beginnings = [layout.literals[0] for layout in layouts.values() if layout.parts]
    asked = [text for text in prompts if text]
    beginnings += _agreeing(asked, beginnings, [*beginnings, *elsewhere])
    earlier = historic_opening(observer)
    if earlier is not None:
        beginnings.append(earlier)
    header = common_prefix(*beginnings) if beginnings else ""
    opened = any(
        layout.parts[:1] == (Part.REASONING,) and layout.literals[0].rstrip() == header.rstrip()
        for layout in layouts.values()
    )
    closed = any(_closes_next(text, header, reasoning_close) for text in beginnings)
    return _without_reasoning(observer, header) if opened or closed else header


def _agreeing(
    prompts: Sequence[str], beginnings: Sequence[str], everywhere: Sequence[str]
) -> list[str]:
    """Return the generation prompts that begin as turns do, of `everywhere` in all settings.

    Some begin with the text before the turn, some differ in the header's own front under a switch;
    those tell nothing where there are others from which turns go on.
    """
    whole = [
        prompt
        for prompt in prompts
        if any(text.startswith(prompt) or prompt.startswith(text) for text in everywhere)
    ]
    # Under another setting the header's own front may differ: what is shared names no role then.
    return [
        prompt
        for prompt in whole or prompts
        if any(_names(common_prefix(prompt, text)) for text in beginnings)
    ]


def _names(text: str) -> bool:
    return any(map(str.isalnum, text))


def _closes_next(text: str, header: str, close: str) -> bool:
    return bool(close) and text[len(header) :].lstrip().startswith(close)


def _without_reasoning(observer: Observer, header: str) -> str:
    """Give back the reasoning's opening, where every turn opens it.

    The header's markers stand around the user's role as well; a marker right before the
    reasoning that the user's turn does not have belongs to the reasoning.
    """
    units = edge_units(header.rstrip())
    alone = observer.prober.probe((observer.prober.user,), tools=False).text
    if len(units) > 1 and is_unit(units[-1]) and units[-1] not in alone:
        return header.rstrip()[: -len(units[-1])]
    return header
