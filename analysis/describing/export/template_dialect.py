"""The dialects of `response_template`: which of its words a document may use."""

from __future__ import annotations

from enum import StrEnum


class TemplateDialect(StrEnum):
    """Who reads a `response_template`.

    vLLM and SGLang serve three fields, of which the one for reasoning is called `thinking`, and
    pass on what content holds as it comes, so that they refuse to join what transformers joins.
    """

    COMMON = "common"
    """transformers, vLLM and SGLang alike. transformers keeps the last of several pieces of
    content, which no template writes, but a model may: around a call."""
    TRANSFORMERS = "transformers"
    """transformers alone: reasoning under the name that templates read, and all content joined."""

    @property
    def reasoning(self) -> str:
        """The name of the field that reads reasoning."""
        return "reasoning_content" if self is TemplateDialect.TRANSFORMERS else "thinking"

    @property
    def joins(self) -> bool:
        """Whether several pieces of content are joined."""
        return self is TemplateDialect.TRANSFORMERS
