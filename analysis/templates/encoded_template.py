"""Chat templates that are Python functions in place of Jinja.

Some models ship a Python module with a function from messages to the prompt in place of Jinja.
Anything that renders can be analyzed, so such a function is a chat template whose text is the
source of its module.

Contract: as for `ChatTemplate`, an exception of the function becomes a TemplateRenderError, and
the function gets copies of the messages. It is untrusted code without a sandbox, so an
`EncodedTemplate` is made only if the user names the function.

For example, a message with a role that `fixtures/encoders/dashes.py` does not know:

    load_encoder("fixtures/encoders/dashes.py:encode_messages").render([{"role": "robot", …}])
    ->  TemplateRenderError: line 75: refuses the conversation: there is no role 'robot'
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from jinja2 import nodes

from autoparser.analysis.core.errors import TemplateReadError, TemplateRenderError

from .chat_template import ChatTemplate
from .render_trace import PromptPiece, RenderTrace, SourceMap, SourceSpan

if TYPE_CHECKING:
    from types import TracebackType

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
