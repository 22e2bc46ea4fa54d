"""Render a chat template in a worker process.

Contract: the same texts and the same errors as without, and TemplateLimitError for a render that
is beyond a limit; a render that lost its worker is a TemplateRenderError, and the next one has
another worker. Nothing of the template runs here: its source alone is parsed here, where somebody
asks for the syntax tree, which runs nothing.

For example, two loops, one in the other, over `range(99999)`:

    isolated(template, Limits(render_seconds=1)).render(messages)
    ->  TemplateLimitError: cannot render the conversation: it takes more than 1 s
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, cast

from jinja2 import nodes

from autoparser.analysis.core.errors import (
    TaskLimitError,
    TemplateLimitError,
    TemplateRenderError,
    WorkerDiedError,
)

from .chat_template import ChatTemplate
from .encoded_template import EncodedTemplate
from .render_trace import RenderTrace, SourceMap
from .sandbox_kind import SandboxKind
from .worker_limits import DEFAULT_LIMITS, Limits

COMPILED = 8
"""Most compiled templates that a worker caches."""


class _Source(NamedTuple):
    """A template as a worker receives it, and the key of its compiled form."""

    text: str
    """The Jinja source, e.g. `"{% for m in messages %}{{ m.content }}{% endfor %}"`."""
    file: str
    """The name of the template in errors, e.g. `"model/chat_template.jinja"`."""
    sandbox: SandboxKind
    """The sandbox that it renders in, e.g. `SandboxKind.IMMUTABLE`."""


@dataclass(frozen=True)
class IsolatedTemplate(ChatTemplate):
    """A chat template that renders in a worker."""

    limits: Limits = DEFAULT_LIMITS
    """Limits of each render, e.g. `Limits(seconds=30)`; for `analyze`, of the whole analysis."""

    original: ChatTemplate | None = None
    """The encoder that it represents, e.g. that of `fixtures/encoders/dashes.py`, or None for a
    template in Jinja."""

    def render_prepared(self, variables: Mapping[str, object]) -> str:
        """Render in a worker; the variables must pickle. Otherwise as `ChatTemplate` does."""
        return cast("str", self._in_worker("render_prepared", variables))

    def render_generation(self, variables: Mapping[str, object]) -> str:
        """Render in a worker, with marks. Otherwise as `ChatTemplate` does."""
        return cast("str", self._in_worker("render_generation", variables))

    def source_map(self, variables: Mapping[str, object], *, in_macros: bool = False) -> SourceMap:
        """Render in a worker, with the origin of the text. Otherwise as `ChatTemplate` does."""
        return cast("SourceMap", self._in_worker("source_map", variables, in_macros=in_macros))

    def step_through(
        self, variables: Mapping[str, object], *, in_full: bool = False
    ) -> RenderTrace:
        """Render in a worker, with a trace. Otherwise as `ChatTemplate` does."""
        return cast("RenderTrace", self._in_worker("step_through", variables, in_full=in_full))

    def check_syntax(self) -> None:
        """Compile in a worker. Raises TemplateSyntaxError if Jinja cannot."""
        if self.original is None:
            self._run_task("check_syntax")

    @property
    def syntax_tree(self) -> nodes.Template:
        """The parsed template. Raises TemplateSyntaxError."""
        return self._tree if self.original is None else self.original.syntax_tree

    @cached_property
    def marks_generation(self) -> bool:
        """Whether it holds ``{% generation %}``."""
        return self.plain().marks_generation

    @cached_property
    def _tree(self) -> nodes.Template:
        return self._parsed()

    def plain(self) -> ChatTemplate:
        """Return the same template as one that renders in this process."""
        if self.original is not None:
            return self.original
        return ChatTemplate(
            self.text, self.special_tokens, self.name, self.origin, self.source, self.sandbox
        )

    def _in_worker(self, method: str, variables: Mapping[str, object], **options: bool) -> object:
        lost: TemplateRenderError
        try:
            return self._run_task(method, dict(variables), **options)
        except TaskLimitError as error:
            lost = TemplateLimitError(error.limit, error.message, file=self._file, hint=error.hint)
        except WorkerDiedError as error:
            lost = TemplateRenderError(error.message, file=self._file, hint=error.hint)
        raise lost

    def _run_task(self, method: str, *arguments: object, **options: bool) -> object:
        # Imported here: rendering in this process needs no workers.
        from .worker_pool import run_task  # noqa: PLC0415

        # An encoder is sent whole, and the worker loads its module; a Jinja template is sent as
        # text, by which the worker caches the compiled form.
        source = self.original or _Source(self.text, self._file, self.sandbox)
        limits, file = self.limits, self._file
        return run_task(
            _call_method, source, method, *arguments, limits=limits, file=file, **options
        )

    def __reduce__(self) -> tuple[Callable[..., ChatTemplate], tuple[object, ...]]:
        return isolated, (self.plain(), self.limits)


def isolated(template: ChatTemplate, limits: Limits = DEFAULT_LIMITS) -> IsolatedTemplate:
    """Return a copy of the template that renders in workers, under these limits.

        template = isolated(load_template("org/model"), Limits(seconds=30))

    Its renders raise TemplateLimitError beyond a limit, and TemplateRenderError if the worker dies.
    """
    if isinstance(template, IsolatedTemplate):
        return replace(template, limits=limits)
    return IsolatedTemplate(
        template.text,
        template.special_tokens,
        template.name,
        template.origin,
        template.source,
        template.sandbox,
        limits=limits,
        original=template if isinstance(template, EncodedTemplate) else None,
    )


@lru_cache(maxsize=COMPILED)
def _compiled(source: _Source) -> ChatTemplate:
    return ChatTemplate(source.text, origin=source.file, sandbox=source.sandbox)


def _call_method(
    source: _Source | ChatTemplate, method: str, *arguments: object, **options: object
) -> Any:
    """Call a method of a template, in a worker."""
    template = _compiled(source) if isinstance(source, _Source) else source
    return getattr(template, method)(*arguments, **options)
