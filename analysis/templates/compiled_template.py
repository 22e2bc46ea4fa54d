"""Compile a chat template, and make errors of this package of what Jinja raises.

For example, for `{% if x %}{{ m. }}{% endif %}` in the second line of `t.jinja`:

    t.jinja: line 2, column 19: Jinja cannot read this template: expected name or number;
    correct the template there
    2 | {% if x %}{{ m. }}{% endif %}
      |                   ^
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from jinja2 import Template, TemplateSyntaxError as JinjaSyntaxError, nodes
from jinja2.exceptions import SecurityError
from msgspec import Struct

from autoparser.analysis.core.errors import TemplateRenderError, TemplateSyntaxError

from .environment import MarkedGenerationTag, TemplateRefusal, chat_environment
from .sandbox_kind import SandboxKind
from .source_text import failure_line, find_column, source_excerpt

if TYPE_CHECKING:
    from types import CodeType

    from .worker_limits import RenderGuard


class CompiledTemplate(Struct, frozen=True):
    """A template's syntax tree, its code, and what renders it."""

    tree: nodes.Template
    """The syntax tree, which analyses read, e.g. `Template(body=[Output(…), If(…)])`; never
    changed."""
    code: CodeType
    """The module that Jinja generated, e.g. for environments with other filters."""
    template: Template
    """The template that renders: the code, run in the shared environment, e.g. `<Template
    memory:7f1751c62150>`."""


def compile_template(
    text: str, sandbox: SandboxKind, guard: RenderGuard | None
) -> CompiledTemplate:
    """Compile a template, within the limits of a worker if there is a guard."""
    environment = chat_environment(sandbox)
    with nullcontext() if guard is None else guard.rendering():
        tree = environment.parse(text)
        code = environment.compile(tree)
    # A plain dict of globals is copied faster for each render than Jinja's chained one.
    template = Template.from_code(environment, code, dict(environment.globals))
    return CompiledTemplate(tree, code, template)


def parse_template(text: str, file: str) -> nodes.Template:
    """Parse a template without generating code. Raises TemplateSyntaxError."""
    try:
        return chat_environment().parse(text)
    except Exception as error:  # noqa: BLE001 - untrusted code raises whatever it likes
        failure = syntax_error(error, text, file)
    # Raised outside of the handler, so that it does not keep the frames of the work alive.
    raise failure


def compile_marked(text: str, sandbox: SandboxKind) -> Template:
    """Compile a template that marks both ends of each generation block."""
    environment = chat_environment(sandbox, tag=MarkedGenerationTag)
    code = environment.compile(environment.parse(text))
    return Template.from_code(environment, code, dict(environment.globals))


def has_generation_blocks(tree: nodes.Template) -> bool:
    """Return whether a template has ``{% generation %}`` blocks."""
    return any(
        # `{% call %}` of a macro is a call block, too; only tags of extensions call an attribute.
        # The one such tag of this environment is `{% generation %}`.
        isinstance(block.call.node, nodes.ExtensionAttribute)
        for block in tree.find_all(nodes.CallBlock)
    )


def syntax_error(error: Exception, text: str, file: str) -> TemplateSyntaxError:
    """Return the error for a template that Jinja cannot compile."""
    if not isinstance(error, JinjaSyntaxError):
        reason = f"Jinja cannot compile this template ({_error_words(error)})"
        return TemplateSyntaxError(reason, file=file, hint="simplify the template")
    line = error.lineno
    column = find_column(chat_environment(), text, error)
    return TemplateSyntaxError(
        f"Jinja cannot read this template: {str(error.message).rstrip('.')}",
        file=file,
        line=line,
        column=column,
        excerpt=source_excerpt(text, line, column),
        hint="correct the template there",
    )


def render_error(error: Exception, file: str) -> TemplateRenderError:
    """Return the error for a render that raised."""
    refused = isinstance(error, TemplateRefusal)
    return TemplateRenderError(
        _shorten(_refusal_words(error) if refused else _error_words(error)),
        file=file,
        line=failure_line(error),
        refused=refused,
        forbidden=isinstance(error, SecurityError),
    )


LONGEST_REASON = 200_000
"""Characters of a template's own message that an error keeps."""


def _shorten(words: str) -> str:
    if len(words) <= LONGEST_REASON:
        return words
    return f"{words[: LONGEST_REASON // 2]} … {words[-LONGEST_REASON // 2 :]}"


def _refusal_words(error: Exception) -> str:
    try:
        return str(error.args[0])
    except Exception:  # noqa: BLE001 - a template may pass what has no text
        return "no reason given"


def _error_words(error: Exception) -> str:
    kind = type(error).__name__
    if isinstance(error, RecursionError):
        # Python also names the call in which it gave up, which depends on the caller's depth.
        return f"{kind}: maximum recursion depth exceeded"
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - as above
        text = ""
    return f"{kind}: {text}" if text else kind
