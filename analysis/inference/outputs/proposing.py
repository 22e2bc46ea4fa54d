"""From outputs to proposals: what they may mean, under every way of writing calls.

A proposal gives each output the message that it would mean. It is no more than that: what is
concluded from it has to read outputs whole, and to write them as they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.core.format import Escape, Slot, TurnFormat
from autoparser.analysis.inference.examples import ArgumentStyle, Example, Hypothesis, turn_text

from .entry_calls import entry_calls
from .majority import shared_end
from .object_calls import ObjectStyle, object_calls
from .offered import OfferedTools
from .output import LoggedOutput
from .reasoning_blocks import ReasoningBlock, block_between, find_reasoning
from .sighted import SightedCall, SightedOutput, with_ids
from .suggested_markers import SuggestedMarkers

__all__ = ["Proposal", "ReadTurn", "proposals"]

_SENTENCE_END = re.compile(r"^[.!?…:,;]+(?=\s)")
ReadTurn: TypeAlias = Callable[[str], Message]
"""Reads what stands before calls as the template writes reasoning and content."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What the outputs mean if calls are written in one way."""

    examples: tuple[Example, ...]
    guess: Hypothesis
    calls: int
    """How many calls were sighted."""


def proposals(
    outputs: Sequence[LoggedOutput],
    base: TurnFormat,
    offered: OfferedTools,
    read: ReadTurn | None,
    tokens: Sequence[str] = (),
) -> list[Proposal]:
    """Propose what outputs mean, the proposals with most calls first.

    `read` reads reasoning as the template writes it; None: the outputs have to show it. `tokens`
    are the added tokens of the model's tokenizer, which may be markers.
    """
    # What a token suggests comes first; where it does not hold, the outputs tell alone.
    suggested = [SuggestedMarkers(tokens), SuggestedMarkers()] if tokens else [SuggestedMarkers()]
    texts = [
        turn_text(Example(each.text, Message(), each.prompt, each.place), base) for each in outputs
    ]
    ends = [end.text for end in base.ends if end.text.strip()]
    found: list[Proposal] = []
    for style, calls in _styles(texts, offered):
        sighted = [
            SightedOutput(text, start, tuple(each))
            for (text, start), each in zip(texts, calls, strict=True)
        ]
        number = sum(map(len, calls))
        if number:
            found += [
                _proposal(outputs, each, style, read, ends, markers)
                for each in with_ids(sighted)
                for markers in suggested
            ]
    distinct = [each for at, each in enumerate(found) if each not in found[:at]]
    return sorted(distinct, key=lambda each: -each.calls)


_ESCAPES = (Escape.JSON, Escape.VERBATIM, Escape.PYTHON, Escape.HTML, Escape.JSON_HTML)


def _styles(
    texts: Sequence[tuple[str, int]], offered: OfferedTools
) -> Iterator[tuple[ArgumentStyle, list[list[SightedCall]]]]:
    for name_first in (True, False):
        for encoded in (False, True):
            style = ObjectStyle(name_first, encoded)
            yield (
                ArgumentStyle(whole=not encoded, encoded=encoded),
                [object_calls(text, start, offered, style) for text, start in texts],
            )
    for escape in _ESCAPES:
        yield ArgumentStyle(escape=escape), entry_calls(texts, offered, escape)


def _proposal(
    outputs: Sequence[LoggedOutput],
    sighted: Sequence[SightedOutput],
    style: ArgumentStyle,
    read: ReadTurn | None,
    ends: Sequence[str],
    markers: SuggestedMarkers,
) -> Proposal:
    fronts = _fronts(sighted, ends, markers)
    block = None
    if read is None:
        answers = [front for front, seen in zip(fronts, sighted, strict=True) if not seen.calls]
        told = [front for front in fronts if front]
        known = markers.block(told)
        block = find_reasoning(told, answers) if known is None else block_between(*known, told)
    examples: list[Example] = []
    for output, seen, front in zip(outputs, sighted, fronts, strict=True):
        before = _message(front, block, read)
        calls = tuple(_call(seen.text, each) for each in seen.calls)
        message = Message(before.content, before.reasoning, calls)
        examples.append(Example(output.text, message, output.prompt, output.place))
    orders = Counter(call.order for seen in sighted for call in seen.calls)
    order: tuple[Slot, ...] = orders.most_common(1)[0][0]
    return Proposal(tuple(examples), Hypothesis(order, style), sum(orders.values()))


def _message(front: str, block: ReasoningBlock | None, read: ReadTurn | None) -> Message:
    if read is not None:
        return read(front)
    split = None if block is None else block.split(front)
    return Message(front) if split is None else Message(split[1], split[0])


def _fronts(
    sighted: Sequence[SightedOutput], ends: Sequence[str], markers: SuggestedMarkers
) -> list[str]:
    """Return what stands before the calls and what opens them; of turns without calls, all."""
    called = [each for each in sighted if each.calls]
    begins = [each.text[each.start : each.calls[0].start] for each in called]
    # A sentence ends before the markup begins.
    opening = markers.opening(begins, _SENTENCE_END.sub("", shared_end(begins)))
    # What stands before calls alone says nothing of the space between content and calls.
    spoken = [begin.removesuffix(opening) for begin in begins if begin.strip() != opening.strip()]
    space = shared_end([begin[len(begin.rstrip()) :] for begin in spoken]) if spoken else ""
    wide = space + opening
    fronts: list[str] = []
    for each in sighted:
        if not each.calls:
            fronts.append(_without_end(each.text[each.start :], ends))
            continue
        begin = each.text[each.start : each.calls[0].start]
        fronts.append(begin.removesuffix(wide if begin.endswith(wide) else opening))
    return fronts


def _without_end(text: str, ends: Sequence[str]) -> str:
    for end in ends:
        if text.rstrip().endswith(end.strip()):
            cut = text.rstrip().removesuffix(end.strip())
            return cut.removesuffix(end[: len(end) - len(end.lstrip())])
    return text


def _call(text: str, call: SightedCall) -> ToolCall:
    written = "" if call.id_at is None else text[slice(*call.id_at)]
    return ToolCall(call.name, call.arguments, written)
