"""Counted repetition of any size out of counts that llama.cpp takes."""

from __future__ import annotations

from .gbnf_rules import GbnfRules

LARGEST_COUNT = 1000
"""The largest count written; llama.cpp refuses more than 2000."""


def repeated(item: str, least: int, most: int | None, rules: GbnfRules) -> str:
    """Return an expression for `least` to `most` items; None: no upper bound.

    `item` is a rule's name or a class, and for bounds up to 1 also a literal or a group. Counts
    stand in rules of their own: the rules that a count makes are then in no group.
    """
    if most is None:
        if least <= 1:
            return f"{item}{'+' if least else '*'}"
        return f"{repeated(item, least, least, rules)} {item}*"
    if most == 0:
        return '""'
    if (least, most) in _SHORT:
        return f"{item}{_SHORT[least, most]}"
    if most <= LARGEST_COUNT:
        count = f"{most}" if least == most else f"{least},{most}"
        return rules.add("times", f"{item}{{{count}}}")
    if least:
        fixed = _exactly(item, least, rules)
        return fixed if least == most else f"{fixed} {repeated(item, 0, most - least, rules)}"
    # Up to q·1000 + r items: fewer than q whole thousands and up to 999, or q and up to r.
    thousands, rest = divmod(most, LARGEST_COUNT)
    chunk = rules.add("thousand", f"{item}{{{LARGEST_COUNT}}}")
    few = repeated(item, 0, LARGEST_COUNT - 1, rules)
    fewer = repeated(chunk, 0, thousands - 1, rules)
    all_of_them = repeated(chunk, thousands, thousands, rules)
    longest = all_of_them if rest == 0 else f"{all_of_them} {repeated(item, 0, rest, rules)}"
    return f"({fewer} {few} | {longest})"


_SHORT = {(0, 1): "?", (1, 1): ""}


def _exactly(item: str, count: int, rules: GbnfRules) -> str:
    thousands, rest = divmod(count, LARGEST_COUNT)
    pieces: list[str] = []
    if thousands:
        chunk = rules.add("thousand", f"{item}{{{LARGEST_COUNT}}}")
        pieces.append(repeated(chunk, thousands, thousands, rules))
    if rest:
        pieces.append(repeated(item, rest, rest, rules))
    return " ".join(pieces)
