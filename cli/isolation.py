"""Commands whose work is done in a worker process, and the options for what it may take.

The command's own function runs there whole: it loads, renders and prints, with the standard files
of this process. This one reads the options, waits, and says what happened. So what a hostile
template, tokenizer or schema can exhaust is the worker's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Annotated, Any, cast

import typer

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.templates.worker_limits import DEFAULT_LIMITS, Limits

from . import wings
from .options import Command, add_options, grouped_values, option_parameter

MEGABYTE = 1_000_000

RENDERS = 12
"""A single render may take this part of the command's time, so that one is not all."""

BESIDE_RENDER = 10.0
"""Seconds that a command of one render may take for all else."""

isolation: ContextVar[bool] = ContextVar("isolation", default=True)
"""Whether commands use workers where the options do not say; tests that look inside do without."""


def _options(seconds: float | None, *, one_render: bool) -> Sequence[inspect.Parameter]:
    """Return the parameters that every command gets; `seconds` is its time where none is given."""
    limits = DEFAULT_LIMITS
    megabytes = (limits.memory or 0) // MEGABYTE
    time = "Processor time that it may take, and a twelfth of it a single render."
    if one_render:
        time = "Processor time that the render may take."
    if seconds is None:
        time = "Processor time that the template's analysis may take, and a twelfth of it a render."
    usual = f"{seconds or limits.seconds:g}"
    if not one_render and seconds is not None:
        usual += f", and {limits.render_seconds:g} a render"
    return [
        option_parameter(
            "timeout",
            Annotated[
                float | None,
                typer.Option(
                    metavar="SECONDS",
                    min=0.1,
                    help=f"{time} [default: {usual}]",
                ),
            ],
        ),
        option_parameter(
            "memory",
            Annotated[
                int | None,
                typer.Option(
                    metavar="MB", min=10, help=f"Memory that it may take. [default: {megabytes}]"
                ),
            ],
        ),
        option_parameter(
            "max_output",
            Annotated[
                int | None,
                typer.Option(
                    metavar="CHARACTERS",
                    min=1,
                    help=f"How long a render may become. [default: {limits.characters}]",
                ),
            ],
        ),
        option_parameter(
            "no_isolation",
            Annotated[bool, "Trust the template: no worker process, no limits."],
            default=False,
        ),
    ]


def in_worker(
    *,
    seconds: float | None = DEFAULT_LIMITS.seconds,
    one_render: bool = False,
    harmless: Callable[[dict[str, Any]], bool] = lambda _: False,
) -> Callable[[Command], Command]:
    """Make a command run in a worker; `one_render` gives all of its time to a single one.

    `harmless` says of the command's arguments that nothing of a stranger's runs there: then it runs
    here, unless a limit is asked for.
    """

    def decorate(command: Command) -> Command:
        def run(limits: Limits | None, values: dict[str, Any]) -> object:
            arguments = grouped_values(command, values)
            if limits is None:
                return command(**arguments)
            file = values.get("source")
            return wings.run_task(command, limits=limits, file=file, terminal=True, **arguments)

        return _with_limits(command, run, seconds, one_render=one_render, harmless=harmless)

    return decorate


def in_workers(command: Command) -> Command:
    """Pass the limits to a command as its argument `limits`; it starts workers itself.

    None disables isolation.
    """

    def run(limits: Limits | None, values: dict[str, Any]) -> object:
        # What the command reads and writes itself is not under a worker's limits.
        before = wings.pipe_seconds.set(None if limits is None else limits.seconds)
        try:
            return command(**grouped_values(command, values), limits=limits)
        finally:
            wings.pipe_seconds.reset(before)

    return _with_limits(command, run, None, one_render=False)


def _with_limits(
    command: Command,
    run: Callable[[Limits | None, dict[str, Any]], object],
    seconds: float | None,
    *,
    one_render: bool,
    harmless: Callable[[dict[str, Any]], bool] = lambda _: False,
) -> Command:
    def run_limited(
        values: dict[str, Any],
        timeout: float | None,
        memory: int | None,
        characters: int | None,
        trusted: bool,
    ) -> object:
        asked = timeout or memory or characters
        if trusted and asked:
            raise AutoparserError(
                "--no-isolation leaves no worker to hold to a limit",
                hint="leave out --timeout, --memory and --max-output, or it",
            )
        if trusted or not isolation.get() or (not asked and harmless(values)):
            return run(None, values)
        given = timeout or seconds or cast("float", DEFAULT_LIMITS.seconds)
        soon = DEFAULT_LIMITS.render_seconds
        limits = Limits(
            # What is not the render comes on top, so that its own limit is the one that is hit.
            seconds=given + BESIDE_RENDER if one_render else given,
            pipe_seconds=given,
            # However long a command usually takes, a render that does not end is named soon.
            render_seconds=given if one_render else given / RENDERS if timeout else soon,
            memory=DEFAULT_LIMITS.memory if memory is None else memory * MEGABYTE,
            characters=characters or DEFAULT_LIMITS.characters,
        )
        return run(limits, values)

    return add_options(command, _options(seconds, one_render=one_render), run_limited)
