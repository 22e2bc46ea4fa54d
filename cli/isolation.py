"""Commands whose work is done in a worker process, and the options for what it may take.

The command's own function runs there whole: it loads, renders and prints, with the standard files
of this process. This one reads the options, waits, and says what happened. So what a hostile
template, tokenizer or schema can exhaust is the worker's.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Annotated, Any, cast

import typer

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.sources.local_files import pipe_seconds
from autoparser.analysis.templates.worker_limits import DEFAULT_LIMITS, Limits

MEGABYTE = 1_000_000

RENDERS = 12
"""A single render may take this part of the command's time, so that one is not all."""

BESIDE_RENDER = 10.0
"""Seconds that a command of one render may take for all else."""

isolation: ContextVar[bool] = ContextVar("isolation", default=True)
"""Whether commands use workers where the options do not say; tests that look inside do without."""

Command = Callable[..., Any]


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
        _option(
            "timeout",
            float | None,
            typer.Option(
                metavar="SECONDS",
                min=0.1,
                help=f"{time} [default: {usual}]",
                show_default=False,
            ),
        ),
        _option(
            "memory",
            int | None,
            typer.Option(
                metavar="MB",
                min=10,
                help=f"Memory that it may take. [default: {megabytes}]",
                show_default=False,
            ),
        ),
        _option(
            "max_output",
            int | None,
            typer.Option(
                metavar="CHARACTERS",
                min=1,
                help=f"How long a render may become. [default: {limits.characters}]",
                show_default=False,
            ),
        ),
        _option(
            "no_isolation",
            bool,
            typer.Option(
                "--no-isolation",
                help="Trust the template: no worker process, no limits.",
                show_default=False,
            ),
            default=False,
        ),
    ]


def _option(name: str, kind: object, option: Any, *, default: object = None) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
    )


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

    def made(command: Command) -> Command:
        def run(limits: Limits | None, arguments: dict[str, Any]) -> object:
            if limits is None:
                return command(**arguments)
            # Later: who starts no worker does not wait for what starts processes.
            from autoparser.analysis.templates.worker_pool import run_task

            file = arguments.get("source")
            return run_task(command, limits=limits, file=file, terminal=True, **arguments)

        return _with_options(command, run, seconds, one_render=one_render, harmless=harmless)

    return made


def in_workers(command: Command) -> Command:
    """Give a command the limits as its argument `limits`: what it runs in workers is its affair.

    None stands for no isolation.
    """

    def run(limits: Limits | None, arguments: dict[str, Any]) -> object:
        # What the command reads and writes itself is not under a worker's limits.
        before = pipe_seconds.set(None if limits is None else limits.seconds)
        try:
            return command(**arguments, limits=limits)
        finally:
            pipe_seconds.reset(before)

    return _with_options(command, run, None, one_render=False)


def _with_options(
    command: Command,
    run: Callable[[Limits | None, dict[str, Any]], object],
    seconds: float | None,
    *,
    one_render: bool,
    harmless: Callable[[dict[str, Any]], bool] = lambda _: False,
) -> Command:
    added = _options(seconds, one_render=one_render)

    @functools.wraps(command)
    def wrapped(**arguments: Any) -> object:
        timeout, memory, characters, trusted = (arguments.pop(each.name) for each in added)
        asked = timeout or memory or characters
        if trusted and asked:
            raise AutoparserError(
                "--no-isolation leaves no worker to hold to a limit",
                hint="leave out --timeout, --memory and --max-output, or it",
            )
        if trusted or not isolation.get() or (not asked and harmless(arguments)):
            return run(None, arguments)
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
        return run(limits, arguments)

    signature = inspect.signature(command, eval_str=True)
    own = [each for each in signature.parameters.values() if each.name != "limits"]
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*own, *added)]
    wrapped.__dict__["__signature__"] = signature.replace(parameters=parameters)
    # Typer reads both.
    wrapped.__annotations__ = {each.name: each.annotation for each in parameters}
    del wrapped.__dict__["__wrapped__"]
    return wrapped
