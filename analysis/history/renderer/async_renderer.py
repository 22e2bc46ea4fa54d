"""A renderer for asyncio: the same work in a thread, one piece of it at a time.

A renderer remembers what it has learnt between calls, and templates and parsers are Python, so two
threads would gain nothing over one; what is gained is that the loop goes on meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, TypeVar

from .renderer import Renderer

_Result = TypeVar("_Result")
_Given = ParamSpec("_Given")


class AsyncRenderer:
    """Does what a renderer does, without holding up the event loop. Raises what that raises.

    `render`, `parse_response`, `call_tokens`, `bridge_to_next_turn`, `training_sample`, and for
    many `render_batch` and `training_samples`, are those of `Renderer`, and are awaited.
    """

    def __init__(self, renderer: Renderer) -> None:
        """Use a renderer, which nobody else may use meanwhile."""
        self._renderer = renderer
        self._free = asyncio.Lock()

    @staticmethod
    def _awaited(
        work: Callable[Concatenate[Renderer, _Given], _Result],
    ) -> Callable[Concatenate[AsyncRenderer, _Given], Coroutine[Any, Any, _Result]]:
        """Make the coroutine that does in a thread what a method of `Renderer` does."""

        async def awaited(
            self: AsyncRenderer, /, *args: _Given.args, **kwargs: _Given.kwargs
        ) -> _Result:
            async with self._free:
                return await asyncio.to_thread(work, self._renderer, *args, **kwargs)

        update_wrapper(awaited, work)
        return awaited

    render = _awaited(Renderer.render)
    render_batch = _awaited(Renderer.render_batch)
    parse_response = _awaited(Renderer.parse_response)
    call_tokens = _awaited(Renderer.call_tokens)
    bridge_to_next_turn = _awaited(Renderer.bridge_to_next_turn)
    training_sample = _awaited(Renderer.training_sample)
    training_samples = _awaited(Renderer.training_samples)
