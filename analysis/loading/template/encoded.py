"""A Python function that encodes messages, in the place of a template's text.

Some models ship no Jinja, but a module with a function from messages to the prompt. Whatever
renders can be analysed, so such a function is a chat template whose text is its module's source.

Contract: as for `ChatTemplate`, whatever the function raises becomes a TemplateRenderError, and
what it does to the messages, it does to a copy. It is a stranger's code, which no sandbox
holds: who makes an `EncodedTemplate` has been asked to by name.
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
from .render_trace import PromptPiece, RenderTrace
from .source_map import SourceMap, SourceSpan

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["REFUSALS", "EncodedTemplate"]

REFUSALS = (AssertionError, NotImplementedError, ValueError)
"""What code raises to refuse its input, rather than by mistake."""


def _none(variables: Mapping[str, object]) -> str:
    del variables
    return ""


@dataclass(frozen=True)
class EncodedTemplate(ChatTemplate):
    """An encoder: ``text`` is the source of its module."""

    encode: Callable[[Mapping[str, object]], str] = field(default=_none, compare=False, repr=False)
    """From the variables of a render to the prompt."""

    parameters: tuple[str, ...] = ()
    """Its parameters that are neither messages, tools nor ``add_generation_prompt``."""

    path: str = ""
    """The file that holds its source."""

    made_by: tuple[Callable[..., EncodedTemplate], tuple[object, ...]] | None = field(
        default=None, compare=False, repr=False
    )
    """What makes it again in another process."""

    def render_prepared(self, variables: Mapping[str, object]) -> str:
        """Encode; the variables are those of `ChatTemplate.render_prepared`."""
        try:
            # What it prints must not stand among what is reported.
            with contextlib.redirect_stdout(sys.stderr):
                return self.encode(variables)
        except (KeyboardInterrupt, TemplateReadError):
            raise
        except BaseException as error:  # noqa: BLE001 - a stranger's code raises what it likes
            failure = self._failure(error)
        raise failure

    def render_generation(self, variables: Mapping[str, object]) -> str:
        """Encode: an encoder marks nothing."""
        return self.render_prepared(variables)

    def source_map(self, variables: Mapping[str, object]) -> SourceMap:
        """Encode: which line of the code wrote what is not known, so all is of the first."""
        return SourceMap((SourceSpan(self.render_prepared(variables), 0, 0, 1),))

    def step_through(self, variables: Mapping[str, object]) -> RenderTrace:
        """Encode: which place of the code wrote what is not known."""
        failure = None
        try:
            text = self.render_prepared(variables)
        except TemplateRenderError as error:
            text, failure = "", error
        return RenderTrace(self.text, (), (PromptPiece(text, None, (), 0),), (), 0, failure, ())

    @cached_property
    def marks_generation(self) -> bool:
        """Never: the mark is Jinja's."""
        return False

    @cached_property
    def _tree(self) -> nodes.Template:
        return nodes.Template([], lineno=1)

    @property
    def syntax_tree(self) -> nodes.Template:
        """An empty one: there is no Jinja, so nothing that reads it finds anything."""
        return self._tree

    def check_syntax(self) -> None:
        """Do nothing: Python has read it."""

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
        if self.made_by is None:
            return super().__reduce__()
        return self.made_by
