"""Added tokens of a model's tokenizer that its template never writes: the model may write them.

Contract: renders alone decide what is written; what a token is called decides nothing. It is asked
only where the template shows no calls, or no reasoning. Rows of spare tokens, which are alike but
for their numbers, are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Message, ToolResult
from autoparser.analysis.core.format import MediaSlot, Part
from autoparser.analysis.inference.probing import Prober, Setting, call_of

__all__ = ["asks_for_tokens", "unwritten_tokens"]


def asks_for_tokens(analysis: Analysis) -> bool:
    """Whether a template shows no calls, or no reasoning, so that tokens may tell of them."""
    return not {Part.REASONING, Part.CALLS} <= analysis.formats.united.shown


def unwritten_tokens(analysis: Analysis, tokens: Sequence[str]) -> tuple[str, ...]:
    """Return those of a tokenizer's added tokens that no render holds, in the order given.

    None where the template shows both calls and reasoning.
    """
    if not asks_for_tokens(analysis):
        return ()
    rows = Counter(_without_number(token) for token in tokens)
    known = set(analysis.template.special_tokens.values())
    asked = [
        token
        for token in tokens
        if token.strip() and token not in known and rows[_without_number(token)] == 1
    ]
    texts = tuple(dict.fromkeys(_renders(analysis))) if asked else ()
    return tuple(token for token in asked if not any(token in text for text in texts))


def _without_number(token: str) -> str:
    return re.sub(r"\d+", "0", token)


def _renders(analysis: Analysis) -> Iterator[str]:
    """Go through what is rendered: for the phases, after the prompts, with tools and without."""
    for finding in analysis.phases:
        for evidence in finding.evidence:
            yield from (evidence.left.text, evidence.right.text)
    for continuation in analysis.continuations:
        yield continuation.opening.text
        yield continuation.text or ""
    for media in analysis.content_parts.media:
        yield "\0".join(piece for piece in media.placeholder if not isinstance(piece, MediaSlot))
    prober = analysis.prober()
    settings = [each.setting for each in analysis.formats.openings]
    # A switch may write a token without changing where turns begin.
    settings += [{each.name: value} for each in analysis.switches for value in each.values]
    for setting in {repr(each): each for each in (prober.setting, *settings)}.values():
        yield from _conversations(prober, setting)


def _conversations(prober: Prober, setting: Setting) -> Iterator[str]:
    user, marks = prober.user, prober.sentinels
    told = Message(marks.content, marks.reasoning)
    called = Message(reasoning=marks.reasoning, calls=(call_of(prober),))
    result = ToolResult(marks.answer, marks.names[0], marks.ids[0])
    for tools in (True, False):
        for dialogue in ((user,), (user, told, user), (user, called, result, told)):
            generation = not isinstance(dialogue[-1], Message)
            probe = prober.probe(dialogue, tools=tools, generation=generation, setting=setting)
            yield probe.text
