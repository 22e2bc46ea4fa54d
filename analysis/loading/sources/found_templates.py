"""What a source holds: its templates by name, and the special tokens that go with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from autoparser.analysis.core.errors import TemplateNotFoundError, TemplateReadError
from autoparser.analysis.core.provenance import Provenance
from autoparser.analysis.core.spelling import suggest

if TYPE_CHECKING:
    from autoparser.analysis.loading.template import ChatTemplate

__all__ = ["DEFAULT_NAME", "FoundTemplate", "FoundTemplates"]

DEFAULT_NAME = "default"
"""The name of a template that is given none, as transformers calls it."""


@dataclass(frozen=True)
class FoundTemplate:
    """One template as it was found."""

    text: str
    """The Jinja source, not yet read as Jinja."""

    file: str
    """The file that holds it, as errors name it."""

    part: str | None = None
    """The same file within its directory or repository; None where the source is the file."""


@dataclass(frozen=True)
class FoundTemplates:
    """All templates of one source; there is at least one."""

    by_name: Mapping[str, FoundTemplate]
    special_tokens: Mapping[str, str]
    """Variables such as ``bos_token`` that each of them is rendered with."""
    source: Provenance | None
    """Where they are from; its file is that of the template that is chosen. None: a program holds
    them."""

    def choose(self, name: str | None, source: str) -> ChatTemplate:
        """Return the template called ``name``; for None the default one, or the only one.

        Raises TemplateNotFoundError with the names there are, TemplateReadError if the
        template is empty.
        """
        if name is None:
            name = next(iter(self.by_name)) if len(self.by_name) == 1 else DEFAULT_NAME
        found = self.by_name.get(name)
        if found is None:
            raise self._no_such_name(name, source)
        if not found.text.strip():
            raise TemplateReadError(
                f"the template {name!r} is empty", file=found.file, hint="pass another template"
            )
        # Whoever looks for a tokenizer alone has no need of Jinja.
        from autoparser.analysis.loading.template import ChatTemplate  # noqa: PLC0415

        provenance = self.source and replace(self.source, file=found.part)
        return ChatTemplate(found.text, self.special_tokens, name, found.file, provenance)

    def _no_such_name(self, name: str, source: str) -> TemplateNotFoundError:
        names = sorted(self.by_name)
        return TemplateNotFoundError(
            f"there is no template named {name!r} here",
            file=source,
            hint=suggest(name, names, f"choose by name one of {', '.join(map(repr, names))}"),
        )
