"""Names of tools in outputs, and the keys of their schemas after them.

What stands before a name, between a name and its first key, and before and after a key is markup
that nearly all calls have. It may tell the type of the value: `<str city>` and `<val days>`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from autoparser.analysis.core.schema import JsonType

from .majority import ODD, shared_beginning, shared_end
from .offered import OfferedTools, WordSeen

__all__ = ["MANY", "TEXT_ALONE", "KeysSighted", "keys_sighted"]

TEXT_ALONE = frozenset({JsonType.STRING})
MANY = 3
"""Of so many sightings one may be a word that only looks like a call or a key."""


@dataclass(slots=True)
class KeysSighted:
    """A name, and its keys after it."""

    output: int
    name: WordSeen
    keys: list[WordSeen]
    end: int = 0
    """Where the next call begins, or the text ends."""
    last: bool = True
    leads: list[str] = field(default_factory=list[str])
    """What stands before each key, as far as it is markup."""


def keys_sighted(
    texts: Sequence[tuple[str, int]], offered: OfferedTools, odd: int = MANY
) -> list[KeysSighted]:
    """Find the names that stand as most do that have keys after them, and those keys.

    Of so many names as `odd` says one may stand otherwise.
    """
    seen: list[KeysSighted] = []
    for number, (text, start) in enumerate(texts):
        names = [name for name in offered.names_in(text) if name.start >= start]
        for at, name in enumerate(names):
            end = names[at + 1].start if at + 1 < len(names) else len(text)
            keys = list(offered.keys_in(name.word, text, name.end, end))
            seen.append(KeysSighted(number, name, keys, end))
    keyed = [each for each in seen if each.keys]
    firsts = {each.output: each for each in reversed(keyed)}.values()
    later = [each for each in keyed if each not in firsts]
    befores = tuple(
        shared_end([_before(texts, each) for each in some], odd) for some in (firsts, later) if some
    )
    first_keys = [
        _KeyLead(
            texts[each.output][0][each.name.end : each.keys[0].start],
            offered.kinds(each.name.word, each.keys[0].word),
        )
        for each in keyed
    ]
    between = _markup(first_keys, shared_beginning, str.startswith)
    kept = [each for each in seen if _stands(texts, each, befores, between)]
    for at, each in enumerate(kept):
        text = texts[each.output][0]
        following = kept[at + 1] if at + 1 < len(kept) else None
        each.last = following is None or following.output != each.output
        each.end = len(text) if following is None or each.last else following.name.start
        each.keys = list(offered.keys_in(each.name.word, text, each.name.end, each.end))
    _keep_true_keys(texts, kept, offered)
    return kept


class _KeyLead(NamedTuple):
    """What stands before a key, from the name or the key before it."""

    text: str
    kinds: frozenset[JsonType]
    """Of the value after it."""


def _markup(
    leads: Sequence[_KeyLead],
    shared: Callable[[Sequence[str], int], str],
    goes_on: Callable[[str, str], bool],
) -> tuple[str, ...]:
    """Return what nearly all leads share; where it tells the type of the value, for each type.

    `><str ` before strings and `><val ` before others share `><`, and both are markup.
    """
    every = shared([each.text for each in leads], MANY)
    strings = [each.text for each in leads if each.kinds == TEXT_ALONE]
    others = [each.text for each in leads if JsonType.STRING not in each.kinds]
    own = [_strictly(texts, shared) for texts in (strings, others) if len(texts) > 1]
    if len(own) < len((strings, others)) or not all(map(str.strip, own)):
        return (every,)
    one, other = own
    if goes_on(one, other) or goes_on(other, one):
        return (every,)
    return tuple(dict.fromkeys(each for each in (*own, every) if each.strip()))


def _strictly(texts: Sequence[str], shared: Callable[[Sequence[str], int], str]) -> str:
    """Return what all share, or nearly all: a word of a value may look like a key."""
    every = shared(texts, len(texts) + 1)
    return every if every.strip() else shared(texts, ODD)


_CONTEXT = 200


def _before(texts: Sequence[tuple[str, int]], each: KeysSighted) -> str:
    text, start = texts[each.output]
    return text[max(start, each.name.start - _CONTEXT) : each.name.start]


def _stands(
    texts: Sequence[tuple[str, int]],
    each: KeysSighted,
    befores: tuple[str, ...],
    between: tuple[str, ...],
) -> bool:
    if not _before(texts, each).endswith(befores):
        return False
    follows = texts[each.output][0].startswith(between, each.name.end)
    return follows if each.keys or not all(map(str.strip, befores)) else True


def _keep_true_keys(
    texts: Sequence[tuple[str, int]], sightings: Sequence[KeysSighted], offered: OfferedTools
) -> None:
    """Leave out words of values that only look like keys: they stand otherwise than most do."""
    keys = [(texts[each.output][0], key) for each in sightings for key in each.keys]
    after = shared_beginning([text[key.end :][:_CONTEXT] for text, key in keys], MANY)
    rows = [_key_leads(texts[each.output][0], each, offered) for each in sightings if each.keys]
    first, later = [row[0] for row in rows], [lead for row in rows for lead in row[1:]]
    befores = [
        before
        for some in (first, later)
        if some
        for before in _markup(some, shared_end, str.endswith)
    ]
    befores.sort(key=len, reverse=True)
    for each in sightings:
        text = texts[each.output][0]
        kept = [
            (key, next(before for before in befores if lead.text.endswith(before)))
            for key, lead in zip(each.keys, _key_leads(text, each, offered), strict=True)
            if text.startswith(after, key.end) and lead.text.endswith(tuple(befores))
        ]
        each.keys, each.leads = [key for key, _ in kept], [lead for _, lead in kept]


def _key_leads(text: str, each: KeysSighted, offered: OfferedTools) -> list[_KeyLead]:
    return [
        _KeyLead(text[one.end : other.start], offered.kinds(each.name.word, other.word))
        for one, other in pairwise([each.name, *each.keys])
    ]
