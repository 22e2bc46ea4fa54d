"""What a rule says of a conversation that raises, beside one like it that renders."""

from __future__ import annotations

from collections.abc import Mapping

from autoparser.analysis.core.conversation import Json

from .hit import Hit, Severity
from .lint_renders import Render, compared

__all__ = ["raising_hit"]


def raising_hit(
    message: str,
    raising: Render,
    label: str,
    sound: Render,
    sound_label: str,
    *,
    crashed: Severity | None = None,
    refused: Severity | None = None,
    setting: Mapping[str, Json] | None = None,
) -> Hit:
    """Return it with the line and the cause of the failure; the labels say what was sent.

    `crashed` and `refused` are its severity where the template crashes, and where it refuses on
    purpose; None leaves that of the rule. `setting` are the switches under which alone it raises.
    """
    return Hit(
        message,
        (compared(raising, label, sound, sound_label),),
        line=None if raising.error is None else raising.error.line,
        severity=crashed if raising.crashed else refused,
        cause=raising.cause,
        setting=setting or {},
    )
