"""The template that a server renders with, however the server was given it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from autoparser.analysis.core.errors import TemplateNotFoundError
from autoparser.analysis.loading.sources import (
    held_special_tokens,
    is_template_text,
    load_template,
)
from autoparser.analysis.loading.template import ChatTemplate

__all__ = ["TEMPLATE_VARIABLE", "served_template"]

TEMPLATE_VARIABLE = "AUTOPARSER_TEMPLATE"
"""Names the template, in all the forms that `load_template` takes; it wins."""

OPTION = "--chat-template"
"""Where both engines take a template; their other processes have the same command line."""


def served_template(
    tokenizer: object,
    *,
    environment: Mapping[str, str] = os.environ,
    arguments: Sequence[str] | None = None,
) -> ChatTemplate:
    """Find the template: the environment's, the command line's, or the tokenizer's.

    Special tokens are the tokenizer's where the source of the template has none of its own.
    Raises TemplateNotFoundError where nothing holds one, and as `load_template` does.
    """
    known = held_special_tokens(tokenizer)
    named = environment.get(TEMPLATE_VARIABLE)
    given = named or _option(sys.argv if arguments is None else arguments)
    if given:
        if not named and is_template_text(given):
            return ChatTemplate(given, known)
        found = load_template(given)
        return replace(found, special_tokens={**known, **found.special_tokens})
    held: object = getattr(tokenizer, "chat_template", None)
    if isinstance(held, Mapping):
        held = cast("Mapping[str, object]", held).get("default")
    if isinstance(held, str) and held:
        return ChatTemplate(held, known)
    raise TemplateNotFoundError(
        "the server's tokenizer has no chat template",
        hint=f"start the server with {OPTION} file, or name one by {TEMPLATE_VARIABLE}",
    )


def _option(arguments: Sequence[str]) -> str | None:
    """Return the option's value; the last one counts, as for the engines."""
    found = None
    for at, argument in enumerate(arguments):
        if argument.startswith(f"{OPTION}="):
            found = argument.partition("=")[2]
        elif argument == OPTION and at + 1 < len(arguments):
            found = arguments[at + 1]
    return found
