"""The template's variables from the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from autoparser.analysis.core.errors import AutoparserError, suggest

from .output import warn

if TYPE_CHECKING:
    from autoparser.analysis.analysis import Analysis
    from autoparser.analysis.core.conversation import Json
    from autoparser.analysis.formats.saved_format import SavedFormat
    from autoparser.analysis.templates.chat_template import ChatTemplate

__all__ = ["read_switches", "warn_of_settings", "warn_of_switches"]

CLOCK = "strftime_now"
"""A function, which no text can stand for."""


def read_switches(given: Sequence[str]) -> dict[str, Json]:
    """Return the variables of `NAME=VALUE` texts. Raises AutoparserError for what is none."""
    if not given:
        return {}
    from autoparser.analysis.templates.source_text import PASSED, variable_value

    found: dict[str, Json] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name.isidentifier():
            raise AutoparserError(
                f"{each!r} sets no variable", hint="give --switch NAME=VALUE, as in thinking=true"
            )
        if name in (*PASSED, CLOCK):
            raise AutoparserError(
                f"{name} is not a switch", hint="it has an option of its own, or none is needed"
            )
        found[name] = variable_value(value)
    return found


def warn_of_switches(source: str, template: ChatTemplate, switches: Mapping[str, object]) -> None:
    """Say on standard error which switches the template never reads."""
    if not switches:
        return
    from autoparser.analysis.learning.suggestions import suggestions_of

    read = suggestions_of(template).names
    for name in switches:
        if name in read:
            continue
        words = f"this template reads no variable {name!r}"
        warn(source, "; ".join(filter(None, (words, suggest(name, sorted(read))))))


def warn_of_settings(
    source: str, learnt: Analysis | SavedFormat, switches: Mapping[str, object]
) -> None:
    """Say on standard error which switches do nothing to what was learnt, as far as is known."""
    if not switches:
        return
    from autoparser.analysis.formats.saved_format import SavedFormat

    if not isinstance(learnt, SavedFormat):
        warn_of_switches(source, learnt.template, switches)
        return
    known = sorted(switch.name for switch in learnt.switches)
    for name in switches:
        if name not in known:
            words = f"this saved format has no switch {name!r}"
            warn(source, "; ".join(filter(None, (words, suggest(name, known)))))
