"""A chat template whose renders happen in a worker process.

Contract: the same texts and the same errors as without, and TemplateLimitError for a render that
is beyond a limit or lost its worker; the next render has a new worker. The worker is started by
the first render, is used again, and ends with the value. Nothing of the template runs here; its
syntax tree alone is read here, which runs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from threading import Lock
from typing import Self, cast

from jinja2 import nodes

from autoparser.analysis.errors import Limit, TaskLimitError, TemplateLimitError, WorkerDiedError
from autoparser.analysis.isolation import DEFAULT_LIMITS, Limits, Worker

from .chat_template import ChatTemplate

__all__ = ["IsolatedTemplate", "isolated", "trusted"]

COMPILED = 8
"""Templates that a worker keeps compiled."""


@dataclass(frozen=True)
class IsolatedTemplate(ChatTemplate):
    """A chat template that renders in a worker."""

    limits: Limits = DEFAULT_LIMITS
    """What one render may take; its seconds are `render_seconds`, or `seconds` if that is less."""

    _place: _Place = field(default_factory=lambda: _Place(), repr=False, compare=False)

    def render_prepared(self, variables: Mapping[str, object]) -> str:
        """Render in the worker; the variables must pickle. Otherwise as `ChatTemplate` does."""
        return self._asked(_rendered, dict(variables))

    def render_generation(self, variables: Mapping[str, object]) -> str:
        """Render in the worker, with marks. Otherwise as `ChatTemplate` does."""
        return self._asked(_marked, dict(variables))

    def check_syntax(self) -> None:
        """Compile in the worker; raises TemplateSyntaxError where Jinja cannot."""
        self._asked(_checked)

    @cached_property
    def syntax_tree(self) -> nodes.Template:  # type: ignore[override]
        """The parsed template. Raises TemplateSyntaxError."""
        return self._parsed()

    def close(self) -> None:
        """End the worker; another render starts another one."""
        self._place.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _asked(self, function: Callable[..., object], *arguments: object) -> str:
        try:
            return cast("str", self._place.call(function, trusted(self), *arguments, self))
        except TaskLimitError as error:
            limit, words = error.limit, error.message
        except WorkerDiedError as error:
            limit, words = None, error.message
        raise TemplateLimitError(limit, words, file=self._file)
