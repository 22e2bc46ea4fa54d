"""A format without what its template renders of calls and reasoning, as if it never did."""

from __future__ import annotations

from dataclasses import replace

from autoparser.analysis.core.format import TurnFormat

__all__ = ["without_calls", "without_parts"]


def without_parts(format_: TurnFormat) -> TurnFormat:
    """Leave content alone: the header, the prompts and the ends stay."""
    return replace(
        format_,
        layouts={
            presence: layout
            for presence, layout in format_.layouts.items()
            if not presence.calls and not presence.reasoning and not layout.refusal
        },
        calls=None,
        reasoning_cut=None,
        reasoning_open="",
        reasoning_close="",
        not_rendered={},
        elsewhere=frozenset(),
    )


def without_calls(format_: TurnFormat) -> TurnFormat:
    """Leave content and reasoning alone."""
    return replace(
        format_,
        layouts={
            presence: layout
            for presence, layout in format_.layouts.items()
            if not presence.calls and not layout.refusal
        },
        calls=None,
        not_rendered={},
        elsewhere=frozenset(),
    )
