"""A renderer for asyncio: the same work in a thread, one piece of it at a time.

A renderer remembers what it has learnt between calls, and templates and parsers are Python, so two
threads would gain nothing over one; what is gained is that the loop goes on meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

from autoparser.analysis.reading.parsing import ParsedMessage

from .media_tokens import Expand
from .prompt_tokens import RenderedTokens
from .renderer import Renderer
from .retention import BridgeRefusal
from .training_sample import TrainingSample, TrajectoryStep

Ids = Sequence[int]
_Result = TypeVar("_Result")
_Given = ParamSpec("_Given")


class AsyncRenderer:
    """Does what a renderer does, without holding up the event loop. Raises what that raises."""

    def __init__(self, renderer: Renderer) -> None:
        """Use a renderer, which nobody else may use meanwhile."""
        self._renderer = renderer
        self._free = asyncio.Lock()

    async def render(
        self,
        messages: Sequence[object],
        tools: Sequence[object] | None = None,
        *,
        add_generation_prompt: bool = False,
        expand: Expand | None = None,
    ) -> RenderedTokens:
        """Return the ids of a conversation's prompt."""
        prompt = add_generation_prompt
        return await self._run(
            self._renderer.render, messages, tools, add_generation_prompt=prompt, expand=expand
        )

    async def parse_response(
        self,
        token_ids: Ids,
        prompt_ids: Ids = (),
        *,
        tools: Sequence[object] | None = None,
        complete: bool = True,
    ) -> ParsedMessage:
        """Read what a model wrote."""
        return await self._run(
            self._renderer.parse_response, token_ids, prompt_ids, tools=tools, complete=complete
        )

    async def bridge_to_next_turn(
        self,
        prev_prompt_ids: Ids,
        prev_completion_ids: Ids,
        new_messages: Sequence[object],
        tools: Sequence[object] | None = None,
        *,
        force: bool = False,
    ) -> RenderedTokens | BridgeRefusal:
        """Return the next prompt."""
        return await self._run(
            self._renderer.bridge_to_next_turn,
            prev_prompt_ids,
            prev_completion_ids,
            new_messages,
            tools,
            force=force,
        )

    async def training_sample(
        self, trajectory: Sequence[TrajectoryStep], tools: Sequence[object] | None = None
    ) -> TrainingSample:
        """Return a trajectory as one row of training data."""
        return await self._run(self._renderer.training_sample, trajectory, tools)

    async def _run(
        self, work: Callable[_Given, _Result], *args: _Given.args, **kwargs: _Given.kwargs
    ) -> _Result:
        async with self._free:
            return await asyncio.to_thread(work, *args, **kwargs)
