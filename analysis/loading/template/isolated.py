"""A chat template whose renders happen in a worker process.

Contract: the same texts and the same errors as without, and TemplateLimitError for a render that
is beyond a limit; a render that lost its worker is a TemplateRenderError, and the next one has
another worker. Nothing of the template runs here: its source alone is parsed here, where somebody
asks for the syntax tree, which runs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from autoparser.analysis.core.errors import (
    TaskLimitError,
    TemplateLimitError,
    TemplateRenderError,
    WorkerDiedError,
)
from autoparser.analysis.loading.isolation import DEFAULT_LIMITS, Limits, run_task

from .chat_template import ChatTemplate, Rendered
from .encoded import EncodedTemplate
from .environment import Sandbox
from .render_trace import RenderTrace
from .source_map import SourceMap

if TYPE_CHECKING:
    from jinja2 import nodes

__all__ = ["IsolatedTemplate", "isolated"]

COMPILED = 8
"""Templates that a worker keeps compiled."""


class _Source(NamedTuple):
    """A template as it travels to a worker, which keeps what it compiles by this."""

    text: str
    file: str
    sandbox: Sandbox


@dataclass(frozen=True)
class IsolatedTemplate(ChatTemplate):
    """A chat template that renders in a worker."""

    limits: Limits = DEFAULT_LIMITS
    """What one render may take; to `analyze`, what the analysis may."""

    original: ChatTemplate | None = None
    """The template that it stands for, where that is more than a text in Jinja."""

    def render_prepared(self, variables: Mapping[str, object]) -> str:
        """Render in a worker; the variables must pickle. Otherwise as `ChatTemplate` does."""
        return self._asked(_rendered, variables)

    def render_generation(self, variables: Mapping[str, object]) -> str:
        """Render in a worker, with marks. Otherwise as `ChatTemplate` does."""
        return self._asked(_marked, variables)

    def source_map(self, variables: Mapping[str, object]) -> SourceMap:
        """Render in a worker, and tell which place wrote what. Otherwise as `ChatTemplate` does."""
        return self._asked(_mapped, variables)

    def step_through(self, variables: Mapping[str, object]) -> RenderTrace:
        """Render in a worker, and tell what happened. Otherwise as `ChatTemplate` does."""
        return self._asked(_stepped, variables)

    def check_syntax(self) -> None:
        """Compile in a worker; raises TemplateSyntaxError where Jinja cannot."""
        if self.original is not None:
            return
        run_task(_checked, self._task, limits=self.limits, file=self._file)

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

    def _asked(self, render: Callable[..., Rendered], variables: Mapping[str, object]) -> Rendered:
        lost: TemplateRenderError
        try:
            return run_task(
                render,
                self._task,
                dict(variables),
                limits=self.limits,
                file=self._file,
            )
        except TaskLimitError as error:
            lost = TemplateLimitError(error.limit, error.message, file=self._file, hint=error.hint)
        except WorkerDiedError as error:
            lost = TemplateRenderError(error.message, file=self._file, hint=error.hint)
        raise lost

    @property
    def _task(self) -> _Source | ChatTemplate:
        """What a worker needs to render."""
        if self.original is not None:
            return self.original
        return _Source(self.text, self._file, self.sandbox)

    def __reduce__(self) -> tuple[Callable[..., ChatTemplate], tuple[object, ...]]:
        return isolated, (self.plain(), self.limits)


def isolated(template: ChatTemplate, limits: Limits = DEFAULT_LIMITS) -> IsolatedTemplate:
    """Return the same template as one that renders in workers, under these limits."""
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


def _kept(given: _Source | ChatTemplate) -> ChatTemplate:
    return _compiled(given) if isinstance(given, _Source) else given


def _rendered(given: _Source | ChatTemplate, variables: Mapping[str, object]) -> str:
    return _kept(given).render_prepared(variables)


def _marked(given: _Source | ChatTemplate, variables: Mapping[str, object]) -> str:
    return _kept(given).render_generation(variables)


def _mapped(given: _Source | ChatTemplate, variables: Mapping[str, object]) -> SourceMap:
    return _kept(given).source_map(variables)


def _stepped(given: _Source | ChatTemplate, variables: Mapping[str, object]) -> RenderTrace:
    return _kept(given).step_through(variables)


def _checked(given: _Source | ChatTemplate) -> None:
    _kept(given).check_syntax()
