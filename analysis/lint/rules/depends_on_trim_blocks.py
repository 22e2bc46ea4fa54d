from __future__ import annotations

import re
from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.other_environments import (
    compile_anew,
    engines_at,
    first_difference,
    other_environment,
)
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

_TRIMMED = re.compile(r"(?<!-)[%#]\}\r?\n(?!\s*\{[%{#]-|\Z)")
"""A tag at the end of a line, whose line break `trim_blocks` removes."""
_STRIPPED = re.compile(r"^[ \t]+\{[%#](?![-+])", re.MULTILINE)
"""A tag after spaces at the start of a line, which `lstrip_blocks` removes."""
_TAKING = ("-%}", "-}}", "-#}")
"""Ends of tags that strip the whitespace after them under any setting."""


@rule("AP803")
def check(subject: Subject) -> Iterator[Hit]:
    """Render without the two settings."""
    if not _is_affected(subject.template.text):
        return
    other = other_environment(trim=False)
    found = first_difference(subject, other, compile_anew(subject, other))
    if found is not None:
        yield Hit(
            f"without trim_blocks and lstrip_blocks the whitespace of {found.what} differs",
            (found.evidence("with trim_blocks and lstrip_blocks", "without"),),
            line=found.line,
            engines=engines_at(subject, found.line),
        )


def _is_affected(text: str) -> bool:
    """Return whether the settings can change anything, as a shortcut.

    They change nothing beside a tag that strips the whitespace.
    """
    return _TRIMMED.search(text) is not None or any(
        not text[: place.start()].rstrip().endswith(_TAKING) for place in _STRIPPED.finditer(text)
    )
