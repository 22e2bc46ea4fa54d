from __future__ import annotations

import re
from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import Render, compare_renders
from autoparser.analysis.lint.marker_pairs import empty_blocks, last_line, marker_balance
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_with
from autoparser.analysis.lint.subject import Subject

_NEGATIONS = {"no", "not", "non", "off", "disable", "disabled", "skip", "without", "hide"}
"""Words in the name of a switch that turns reasoning off, e.g. ``disable_thinking``: it closes the
block by being true."""


@rule("AP412", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Compare the prompts of the two values of every switch that is named like the block."""
    for switch in subject.analysis.switches:
        if not any(isinstance(value, bool) for value in (*switch.values, switch.default)):
            continue
        on, off = (_prompt(subject, {switch.name: value}) for value in (True, False))
        if not on.rendered or not off.rendered:
            continue
        blocks = empty_blocks(_tail(subject, on))
        block = next((pair for pair in blocks if _is_named_like(switch.name, pair)), "")
        block = block or _lone_closer(switch.name, _tail(subject, on), _tail(subject, off))
        # A block under both values belongs to the prompt, not to the switch.
        if block and block not in _tail(subject, off):
            yield Hit(
                f"{switch.name}=true closes the reasoning in the prompt ({quote_text(block)}),"
                " and false leaves it open",
                (compare_renders(on, f"{switch.name}=true", off, f"{switch.name}=false"),),
                line=last_line(on),
                setting={switch.name: True},
            )


def _prompt(subject: Subject, setting: dict[str, bool]) -> Render:
    # The switch may have no effect beside another one with the same purpose, such as its alias.
    alone = render_with(subject, (subject.user,), setting, generation=True)
    if alone.rendered:
        return alone
    return render_with(
        subject, (subject.user,), {**subject.usual_setting, **setting}, generation=True
    )


def _tail(subject: Subject, render: Render) -> str:
    return render.text.rpartition(subject.marks.user)[2]


def _lone_closer(name: str, on: str, off: str) -> str:
    """Return a marker opened in one tail and closed in the other, if a name resembles it."""
    closed, opened = marker_balance(on), marker_balance(off)
    for pair in closed.closed:
        opens = opened.opened[pair] > opened.closed[pair]
        if opens and not closed.opened[pair] and _is_named_like(name, closed.spelled[pair]):
            return closed.spelled[pair]
    return ""


def _is_named_like(name: str, block: str) -> bool:
    """Return whether a name resembles the block without a negation, as ``enable_thinking``."""
    words = re.split(r"[\W_]+", name.lower())
    if any(word in _NEGATIONS or word.startswith(("no", "dis")) for word in words):
        return False
    # Shorter pieces occur in too many words to identify the subject of a switch.
    stems = re.findall(r"[a-z]{4,}", block.lower())
    return any(stem in word or word in stem for stem in stems for word in filter(_LONG, words))


_LONG = re.compile("[a-z]{4}").match
