"""Runs of commands: in a worker process, with limits, and again after each change of a file.

The whole command function runs in the worker: it loads, renders and prints, with the standard files
of this process. This process parses the options, waits, and reports the result. So a hostile
template, tokenizer or schema can only exhaust the worker. For example, the limits on processor time
are, for all of the command and for a single render of it,

    autoparser compare A B                      ->  300 s and 5 s
    autoparser compare A B --timeout 24         ->  24 s and 2 s
    autoparser render TEMPLATE … --timeout 24   ->  34 s and 24 s

Under ``--watch`` files are polled: a template is one small file, editors replace it in many ways,
and a poll sees all of them on every system. A change is a change of content, not of the time of
writing.
"""

from __future__ import annotations

import inspect
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from autoparser.analysis.core.errors import AutoparserError, TemplateSyntaxError
from autoparser.analysis.templates.worker_limits import DEFAULT_LIMITS, Limits

from . import wings
from .options import (
    Command,
    WatchOption,
    add_options,
    grouped_values,
    needs,
    option_parameter,
)
from .output import print_error, print_note
from .source import STANDARD_INPUT

MEGABYTE = 1_000_000

RENDERS = 12
"""The divisor of the command's time that limits a single render, so that one cannot take all."""

BESIDE_RENDER = 10.0
"""Seconds that a command of one render may take in addition to the render."""

isolation: ContextVar[bool] = ContextVar("isolation", default=True)
"""Whether commands use workers by default; tests that inspect a command's values disable them."""


def _options(seconds: float | None, *, one_render: bool) -> Sequence[inspect.Parameter]:
    """Return the parameters that every command gets; `seconds` is its default time limit."""
    limits = DEFAULT_LIMITS
    megabytes = (limits.memory or 0) // MEGABYTE
    time = "Limit on processor time; a single render may take a twelfth of it."
    if one_render:
        time = "Limit on the render's processor time."
    if seconds is None:
        time = "Limit on processor time for a template; a single render may take a twelfth of it."
    usual = f"{seconds or limits.seconds:g}"
    if not one_render and seconds is not None:
        usual += f", and {limits.render_seconds:g} per render"
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
                typer.Option(metavar="MB", min=10, help=f"Limit on memory. [default: {megabytes}]"),
            ],
        ),
        option_parameter(
            "max_output",
            Annotated[
                int | None,
                typer.Option(
                    metavar="CHARACTERS",
                    min=1,
                    help=f"Limit on the length of a render. [default: {limits.characters}]",
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
    """Make a command run in a worker; `one_render` gives all of its time to a single render.

    `harmless` decides by the arguments whether no foreign code runs: then the command runs in this
    process, unless a limit is given.
    """

    def decorate(command: Command) -> Command:
        def run(limits: Limits | None, values: dict[str, Any]) -> object:
            arguments = grouped_values(command, values)
            if limits is None:
                return command(**arguments)
            # The file is named in the error if the worker exceeds a limit or dies.
            file = values.get("source")
            return wings.run_task(command, limits=limits, file=file, terminal=True, **arguments)

        return _with_limits(command, run, seconds, one_render=one_render, harmless=harmless)

    return decorate


def in_workers(command: Command) -> Command:
    """Pass the limits to a command as its argument `limits`; it starts workers itself.

    None disables isolation.
    """

    def run(limits: Limits | None, values: dict[str, Any]) -> object:
        # A worker's time limit does not cover the files that the command itself reads and writes.
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
                "--no-isolation runs without limits",
                hint="remove it, or --timeout, --memory and --max-output",
            )
        if trusted or not isolation.get() or (not asked and harmless(values)):
            return run(None, values)
        given = timeout or seconds or cast("float", DEFAULT_LIMITS.seconds)
        soon = DEFAULT_LIMITS.render_seconds
        limits = Limits(
            # The render's own limit must be hit first, so add the time for everything else.
            seconds=given + BESIDE_RENDER if one_render else given,
            pipe_seconds=given,
            # Name a render that does not end soon, however long the command usually takes.
            render_seconds=given if one_render else given / RENDERS if timeout else soon,
            memory=DEFAULT_LIMITS.memory if memory is None else memory * MEGABYTE,
            characters=characters or DEFAULT_LIMITS.characters,
        )
        return run(limits, values)

    return add_options(command, _options(seconds, one_render=one_render), run_limited)


INTERVAL = 0.3
"""Seconds between two polls."""

_FETCH = "fetch it with autoparser fetch -o DIR, and name the directory"

_CLEAR = "\033[H\033[2J\033[3J"
"""Moves the cursor to the top, and clears the screen and the lines scrolled off it."""


def with_watch(*beside: str, to_file: bool = False) -> Callable[[Command], Command]:
    """Add the option `--watch` to a command; each run has a worker of its own, if it has one.

    `beside` are its options that name further files to watch. `to_file` is for a command whose
    result is not terminal text: it can only be watched with `--output`.
    """

    def decorate(command: Command) -> Command:
        def run(values: dict[str, Any], watch: bool) -> object:
            if not watch:
                return command(**values)
            if to_file and values.get("output") is None:
                raise needs("--watch", "--output", "FILE").error
            files = [values.get(name) for name in beside]
            # Without a source, an encoder takes its place.
            encoder: str = values.get("encoder") or ""
            source = values["source"] or encoder.partition(":")[0]
            return watch_files(source, lambda: command(**values), beside=files)

        return add_options(command, [option_parameter("watch", WatchOption, default=False)], run)

    return decorate


def watch_files(
    source: str,
    action: Callable[[], object],
    *,
    beside: Sequence[Path | None] = (),
    wait: Callable[[float], None] = time.sleep,
) -> int:
    """Run an action, and again after each change of the source, until it is interrupted.

    `beside` are further files to watch. Raises AutoparserError for a source that cannot be watched;
    errors of the action are shown, and watching continues.
    """
    if source == STANDARD_INPUT:
        raise AutoparserError("standard input cannot be watched", hint="name a file")

    if not Path(source).exists() and wings.hub_name(source) is not None:
        raise AutoparserError("a model on the Hub cannot be watched", file=source, hint=_FETCH)
    files = PolledFiles([Path(source), *filter(None, beside)])
    try:
        while True:
            _run_action(action)
            print_note("")
            print_note(f"watching {source} (Ctrl-C to stop)")
            while not files.changed():
                wait(INTERVAL)
            # A pipe or a file keeps the results of all runs.
            if sys.stdout.isatty():
                typer.echo(_CLEAR, nl=False)
    # Ctrl-C is the regular end of a watch.
    except KeyboardInterrupt:
        return 0


def _run_action(action: Callable[[], object]) -> None:
    try:
        action()
    except AutoparserError as error:
        print_error(str(error))
        if isinstance(error, TemplateSyntaxError) and error.excerpt:
            typer.echo(error.excerpt, err=True)


class PolledFiles:
    """Files with their contents at the last poll."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Read the files; of a directory, the files in it."""
        self._paths = paths
        self._stamps: dict[Path, tuple[int, int]] = {}
        self._digests: dict[Path, bytes] = {}
        self.changed()

    def changed(self) -> bool:
        """Return whether any content has changed since the last poll."""
        files = list(self._files())
        vanished = self._digests.keys() - files
        for path in vanished:
            del self._digests[path]
            self._stamps.pop(path, None)
        # Look at every file, without short-circuiting, so that one change is reported once.
        differing = sum(map(self._differs, files))
        return bool(differing or vanished)

    def _files(self) -> Iterator[Path]:
        for path in self._paths:
            try:
                if path.is_dir():
                    yield from sorted(file for file in path.iterdir() if file.is_file())
                elif path.is_file():
                    yield path
            except OSError:
                continue

    def _differs(self, path: Path) -> bool:
        try:
            found = path.stat()
            # The stamp only saves reading the file again: a file saved unchanged has not changed.
            stamp = (found.st_mtime_ns, found.st_size)
            if self._stamps.get(path) == stamp:
                return False
            self._stamps[path] = stamp
            digest = _content_digest(path, found)
        except OSError:
            # The file is being replaced; the next look finds the new one.
            return False
        before = self._digests.get(path)
        self._digests[path] = digest
        return before != digest


LARGE = 1 << 24
"""Bytes beyond which a file's size and time represent its content."""


def _content_digest(path: Path, file_stat: os.stat_result) -> bytes:
    if file_stat.st_size > LARGE:
        return f"{file_stat.st_mtime_ns} {file_stat.st_size}".encode()
    import hashlib

    return hashlib.sha256(wings.read_path(path, noted=False)).digest()
