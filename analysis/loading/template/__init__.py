"""A chat template: its text, its special tokens, and its renders."""

from autoparser.analysis.core.provenance import Provenance, SourceKind

from .chat_template import ChatTemplate
from .comments import comments
from .encoded import REFUSALS, EncodedTemplate
from .environment import GENERATION_CLOSE, GENERATION_OPEN, Sandbox, undeclared_names
from .failure_line import failure_line
from .isolated import IsolatedTemplate, isolated
from .plain_messages import REASONING_FIELDS, plain, prepared_messages, prepared_tools
from .python_source import compared_values, mentioned_fields, text_constants
from .render_trace import (
    OpenSite,
    PromptPiece,
    RenderTrace,
    SeenValue,
    StepKind,
    TemplateSite,
    TraceStep,
)
from .source_map import SourceMap
from .token_places import TemplateToken, template_tokens
from .variables import PASSED, variable_value

__all__ = [
    "GENERATION_CLOSE",
    "GENERATION_OPEN",
    "PASSED",
    "REASONING_FIELDS",
    "REFUSALS",
    "ChatTemplate",
    "EncodedTemplate",
    "IsolatedTemplate",
    "OpenSite",
    "PromptPiece",
    "Provenance",
    "RenderTrace",
    "Sandbox",
    "SeenValue",
    "SourceKind",
    "SourceMap",
    "StepKind",
    "TemplateSite",
    "TemplateToken",
    "TraceStep",
    "comments",
    "compared_values",
    "failure_line",
    "isolated",
    "mentioned_fields",
    "plain",
    "prepared_messages",
    "prepared_tools",
    "template_tokens",
    "text_constants",
    "undeclared_names",
    "variable_value",
]
