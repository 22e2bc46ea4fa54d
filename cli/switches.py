"""The template's variables from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, cast

from autoparser.analysis.errors import AutoparserError

from .output import warn

if TYPE_CHECKING:
    from autoparser.analysis.template import ChatTemplate

__all__ = ["read_switches", "warn_of_switches"]

_PASSED = ("messages", "tools", "documents", "add_generation_prompt", "strftime_now")
"""What a render passes itself."""


def read_switches(given: Iterable[str]) -> dict[str, object]:
    """Give the variables of `NAME=VALUE` texts. Raises AutoparserError for what is none."""
    found: dict[str, object] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name.isidentifier():
            raise AutoparserError(
                f"{each!r} sets no variable", hint="give --switch NAME=VALUE, as in thinking=true"
            )
        if name in _PASSED:
            raise AutoparserError(
                f"{name} is no switch", hint="it has an option of its own, or none is needed"
            )
        found[name] = _value(value)
    return found


def _value(text: str) -> object:
    try:
        return cast("object", json.loads(text))
    except ValueError:
        # As Python and YAML write them.
        return {"True": True, "False": False, "None": None}.get(text, text)


def warn_of_switches(source: str, template: ChatTemplate, switches: Mapping[str, object]) -> None:
    """Say on standard error which switches the template never reads."""
    if not switches:
        return
    from autoparser.analysis.probing import suggestions_of

    read = suggestions_of(template).names
    for name in switches:
        if name in read:
            continue
        close = get_close_matches(name, sorted(read), n=1, cutoff=0.6)
        advice = f"; did you mean {close[0]}?" if close else ""
        warn(source, f"this template reads no variable {name!r}{advice}")
