from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, HitEvidence, Severity, ShownText
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

TURNING = frozenset("\u202a\u202b\u202d\u202e\u2066\u2067\u2068")
"""Marks that change the visual order of text."""
_PLAIN = frozenset("\n\t\r\ufeff")


@rule("AP906")
def check(subject: Subject) -> Iterator[Hit]:
    """Search everything that any branch can write for invisible characters."""
    # Every branch is taken, since an ordinary conversation may never reach such a text.
    text = subject.forced_run.text
    found = dict.fromkeys(char for char in text if not char.isprintable() and _is_hidden(char))
    if not found:
        return
    # A control character has no name, only its number.
    names = [
        unicodedata.name(character, "").lower() or f"U+{ord(character):04X}" for character in found
    ]
    at = text.find(next(iter(found)))
    turning = bool(TURNING & set(found)) or any(ord(character) >= _TAGS for character in found)
    yield Hit(
        f"the prompt can contain invisible characters: {', '.join(names)}",
        (HitEvidence(ShownText("with every branch taken", text[max(0, at - 60) : at + 60])),),
        severity=Severity.ERROR if turning else None,
    )


_TAGS = 0xE0000
"""The start of the invisible letters in which hidden instructions are written."""


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in ("Cf", "Cc") and character not in _PLAIN
