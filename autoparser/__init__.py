"""A debugger for chat templates.

This is the public face: the names below, and the values that they give.
"""

from __future__ import annotations

from autoparser.analysis.errors import (
    AutoparserError,
    TemplateNotFoundError,
    TemplateReadError,
    TemplateRenderError,
    TemplateSyntaxError,
)
from autoparser.analysis.sources import load_template
from autoparser.analysis.template import ChatTemplate

__all__ = [
    "AutoparserError",
    "ChatTemplate",
    "TemplateNotFoundError",
    "TemplateReadError",
    "TemplateRenderError",
    "TemplateSyntaxError",
    "load_template",
]
