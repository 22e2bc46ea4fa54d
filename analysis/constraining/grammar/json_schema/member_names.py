"""Names of members that are none of those that are known."""

from __future__ import annotations

from collections.abc import Sequence

from .anchoring import ANY_TEXT
from .characters import Quoting
from .code_points import ANY, CodePoints
from .gbnf_rules import GbnfRules, literal
from .regex_writer import RegexWriter

LONGEST_GROUP = 300
"""Characters of an expression before it becomes a rule of its own.

Readers recurse into groups, and llama.cpp counts the rules that an optional group needs.
"""


def other_name(names: Sequence[str], quoting: Quoting, rules: GbnfRules) -> str:
    """Return the rule of all strings but these, with quotes.

    Built as a tree of beginnings: each character either goes on along a known name or leaves all
    of them, and where a known name is complete, the string may not end.
    """
    writer = RegexWriter(rules, quoting)
    any_text = writer.write(ANY_TEXT)
    if not names:
        return rules.add("string", f'"\\"" {any_text} "\\""')
    beginnings = {name[:length] for name in names for length in range(len(name) + 1)}
    known = set(names)
    following: dict[str, list[str]] = {}
    for beginning in sorted(beginnings - {""}):
        following.setdefault(beginning[:-1], []).append(beginning[-1])
    written: dict[str, str] = {}
    # Those of one length in their own order: that of a set differs from process to process.
    for beginning in sorted(beginnings, key=lambda text: (-len(text), text)):
        signs = following.get(beginning, [])
        options = [f"{literal(quoting.text(sign))} {written[beginning + sign]}" for sign in signs]
        leaving = writer.character(ANY - CodePoints.among("".join(signs)))
        options.append(f"{leaving} {any_text}")
        body = f"({' | '.join(options)}){'' if beginning in known else '?'}"
        if len(body) > LONGEST_GROUP:
            body = rules.add("not-known", body)
        written[beginning] = body
    return rules.add("other-name", f'"\\"" {written[""]} "\\""')
