"""What a run with every branch taken has shown."""

from __future__ import annotations

from dataclasses import dataclass, field

GADGETS = ("lipsum", "cycler", "joiner")
"""Jinja's own globals that no chat template needs; known ways out of sandboxes begin there."""


@dataclass(slots=True)
class ForcedRun:
    """What a template does if every branch is taken; each text once, in order."""

    text: str = ""
    """All that it may write, in the order of the source."""
    forbidden: dict[str, None] = field(default_factory=dict[str, None])
    """Private attributes that it reaches for."""
    by_name: dict[str, None] = field(default_factory=dict[str, None])
    """Those of them that it names by a text, as the filter `attr` does."""
    gadgets: dict[str, None] = field(default_factory=dict[str, None])
    """The globals of `GADGETS` that it calls."""
    loaded: dict[str, None] = field(default_factory=dict[str, None])
    """Other templates that it includes, imports or extends."""
    error: str = ""
    """What ended the run early; empty where nothing did."""
