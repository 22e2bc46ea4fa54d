"""From what a program holds to a chat template: a path, a text, a tokenizer or a processor.

Contract: an object is asked for what transformers' tokenizers and processors have, `chat_template`
and `special_tokens_map`; its class does not matter, and transformers is never imported.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from autoparser.analysis.core.errors import TemplateNotFoundError
from autoparser.analysis.core.value_kind import is_mapping

from .found_templates import DEFAULT_NAME, FoundTemplate, FoundTemplates
from .load import load_template

if TYPE_CHECKING:
    from autoparser.analysis.loading.template import ChatTemplate

__all__ = [
    "HoldsTemplate",
    "TemplateGiven",
    "held_special_tokens",
    "is_template_text",
    "template_of",
]


class HoldsTemplate(Protocol):
    """A tokenizer or a processor of transformers, as far as it is asked."""

    @property
    def chat_template(self) -> object:
        """A text, or texts by their names; None where there is none."""
        ...


TemplateGiven: TypeAlias = "ChatTemplate | str | os.PathLike[str] | HoldsTemplate"
"""A template, what `load_template` takes, the text of a template, or what holds one."""


def template_of(given: TemplateGiven, *, name: str | None = None) -> ChatTemplate:
    """Return the template that a program holds, or names.

    A text with a brace or a newline in it that no file is called by is the template itself; any
    other names one, as for `load_template`. `name` chooses among named templates; None takes the
    default one. Raises TemplateNotFoundError, TemplateReadError.
    """
    # Whoever reads saved formats alone does without jinja2.
    from autoparser.analysis.loading.template import ChatTemplate  # noqa: PLC0415

    if isinstance(given, ChatTemplate):
        return given
    if isinstance(given, str) and is_template_text(given):
        return ChatTemplate(given)
    if isinstance(given, (str, os.PathLike)):
        return load_template(given, name=name)
    kind = f"{type(given).__module__}.{type(given).__qualname__}"
    texts = _held_texts(given)
    if not texts:
        raise TemplateNotFoundError(
            f"this {kind} holds no chat template",
            hint="pass a template file, a model directory, a template's text, or a tokenizer of"
            " transformers that has a chat_template",
        )
    label = str(getattr(given, "name_or_path", "") or kind)
    found = {each: FoundTemplate(text, label) for each, text in texts.items()}
    held = FoundTemplates(found, held_special_tokens(given), None)
    return held.choose(name, label)


def is_template_text(given: str) -> bool:
    """Whether a text is a template, not the name of one."""
    if "{" not in given and "\n" not in given:
        return False
    try:
        return "\n" in given or not Path(given).exists()
    except (OSError, ValueError):  # too long for a name
        return True


def held_special_tokens(holder: object) -> dict[str, str]:
    """Return the special tokens of a tokenizer, or of a processor's, by their names."""
    held: object = getattr(holder, "special_tokens_map", None)
    if held is None:
        held = getattr(getattr(holder, "tokenizer", None), "special_tokens_map", None)
    if not is_mapping(held):
        return {}
    return {name: text for name, text in held.items() if isinstance(text, str)}


def _held_texts(holder: object) -> Mapping[str, str]:
    held: object = getattr(holder, "chat_template", None)
    if isinstance(held, str):
        held = {DEFAULT_NAME: held}
    if not is_mapping(held):
        return {}
    return {name: text for name, text in held.items() if isinstance(text, str) and text}
