"""Render a chat template in a worker process, or by a Python function in its place.

Contract: the same texts and the same errors as without, and TemplateLimitError for a render that
is beyond a limit; a render that lost its worker is a TemplateRenderError, and the next one has
another worker. Nothing of the template runs here: its source alone is parsed here, where somebody
asks for the syntax tree, which runs nothing.

For example, two loops, one in the other, over `range(99999)`:

    isolated(template, Limits(render_seconds=1)).render(messages)
    ->  TemplateLimitError: cannot render the conversation: it takes more than 1 s
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from jinja2 import nodes

from autoparser.analysis.core.errors import (
    TaskLimitError,
    TemplateLimitError,
    TemplateReadError,
    TemplateRenderError,
    WorkerDiedError,
)

from .chat_template import ChatTemplate
from .render_trace import PromptPiece, RenderTrace, SourceMap, SourceSpan
from .sandbox_kind import SandboxKind
from .worker_limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from types import TracebackType


# Some models ship a Python module with a function from messages to the prompt in place of Jinja.
# Anything that renders can be analyzed, so such a function is a chat template whose text is the
# source of its module.
#
# Contract: as for `ChatTemplate`, an exception of the function becomes a TemplateRenderError, and
# the function gets copies of the messages. It is untrusted code without a sandbox, so an
# `EncodedTemplate` is made only if the user names the function.


REFUSALS = (AssertionError, NotImplementedError, ValueError)
"""Exceptions by which code refuses its input, rather than by mistake."""


@dataclass(frozen=True)
class EncodedTemplate(ChatTemplate):
    """An encoder: ``text`` is the source of its module."""

    encode: Callable[[Mapping[str, object]], str] = field(kw_only=True, compare=False, repr=False)
    """Returns the prompt for the variables of a render, e.g. by `encode_messages` of the module."""

    parameters: tuple[str, ...] = ()
    """Its other parameters, which are switches, e.g. `("thinking_mode",)`."""

    path: str = ""
    """The file that holds its source, e.g. `"fixtures/encoders/dashes.py"`."""

    maker: tuple[Callable[..., EncodedTemplate], tuple[object, ...]] = field(
        kw_only=True, compare=False, repr=False
    )
    """A function and its arguments that load it again in another process, e.g. for
    `"fixtures/encoders/dashes.py:encode_messages"`."""

    def render_prepared(self, variables: Mapping[str, object]) -> str:
        """Encode the messages, given the variables of `ChatTemplate.render_prepared`."""
        try:
            # Keep the function's prints out of the command's output.
            with contextlib.redirect_stdout(sys.stderr):
                return self.encode(variables)
        except (KeyboardInterrupt, TemplateReadError):
            raise
        except BaseException as error:  # noqa: BLE001 - a stranger's code raises what it likes
            failure = self._failure(error)
        raise failure

    def render_generation(self, variables: Mapping[str, object]) -> str:
        """Encode without marks: an encoder has no generation blocks."""
        return self.render_prepared(variables)

    def source_map(self, variables: Mapping[str, object], *, in_macros: bool = False) -> SourceMap:
        """Encode, and attribute all text to the first line, since the origin is unknown."""
        del in_macros
        return SourceMap((SourceSpan(self.render_prepared(variables), 0, 0, 1),))

    def step_through(
        self, variables: Mapping[str, object], *, in_full: bool = False
    ) -> RenderTrace:
        """Encode, as one piece of unknown origin."""
        del in_full
        failure = None
        try:
            text = self.render_prepared(variables)
        except TemplateRenderError as error:
            text, failure = "", error
        return RenderTrace(self.text, (), (PromptPiece(text, None, (), 0),), (), 0, failure, ())

    @cached_property
    def marks_generation(self) -> bool:
        """False: generation blocks exist in Jinja only."""
        return False

    @cached_property
    def _tree(self) -> nodes.Template:
        return nodes.Template([], lineno=1)

    @property
    def syntax_tree(self) -> nodes.Template:
        """An empty tree, since an encoder is not Jinja."""
        return self._tree

    def check_syntax(self) -> None:
        """Do nothing: Python has parsed it."""

    def _failure(self, error: BaseException) -> TemplateRenderError:
        words = str(error).strip() or type(error).__name__
        refused = isinstance(error, REFUSALS)
        return TemplateRenderError(
            words if refused else f"{type(error).__name__}: {words}",
            file=self.origin,
            line=self._line(error.__traceback__),
            refused=refused,
        )

    def _line(self, traceback: TracebackType | None) -> int | None:
        """Return the line of the innermost frame that is the encoder's own."""
        line: int | None = None
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename == self.path:
                line = traceback.tb_lineno
            traceback = traceback.tb_next
        return line

    def __reduce__(self) -> tuple[Callable[..., ChatTemplate], tuple[object, ...]]:
        return self.maker


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
