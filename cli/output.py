"""Write reports to the terminal, a pipe or a file; show progress on a terminal or in a log.

An `Outlet` prints each piece at once, or writes a file when it is closed:

    >>> outlet = Outlet(None)
    >>> outlet.json({"status": "ok"}, indent=None)
    {"status": "ok"}
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from time import monotonic
from typing import Any, TextIO

import typer

from autoparser.analysis.core.error_words import (
    is_inert,
    is_row,
    one_line,
)
from autoparser.analysis.core.errors import AutoparserError

from . import wings

PLAIN_WIDTH = 80
"""Characters in a line of a report that is written to a file."""

WIDEST = 120
"""Longer lines are hard to read."""


LONGEST_LINE = 4000
"""Longest line on standard error, in characters; a longer one is cut in the middle."""


def open_missing_streams() -> None:
    """Let standard streams that are closed (`autoparser lint . >&-`) lead nowhere.

    Otherwise the next file that is opened would take the place of one.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def escape_unprintable() -> None:
    """Escape characters that the terminal's encoding lacks, so that no report fails on them."""
    # A test may replace standard output by a stream that cannot be reconfigured, and need not be.
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if callable(reconfigure):
        reconfigure(errors="backslashreplace")


def hold_library_messages() -> None:
    """Keep the messages of native libraries off standard error.

    A library in Rust that panics writes its stack there, up to 200 lines, in addition to the
    exception that Python gets. Python's own output is not affected.
    """
    sys.stderr.flush()
    # Python writes to a copy of the descriptor; the original discards what libraries write.
    stream = os.fdopen(
        os.dup(2), "w", encoding=sys.stderr.encoding, errors="backslashreplace", buffering=1
    )
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    sys.stderr = stream
    # The debugger draws its screen on this stream.
    setattr(sys, "__stderr__", stream)  # noqa: B010 - a type checker takes it for constant


def quiet_standard_output() -> None:
    """Discard the remaining output, because the reader of standard output has closed it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def report_width() -> int:
    """Return the width of the terminal, or of plain text without one."""
    if not _is_plain(sys.stdout):
        return min(wings.Console().width, WIDEST)
    # As rich does: use `COLUMNS`, or else the width of any attached terminal, such as a pager's.
    columns = os.environ.get("COLUMNS", "")
    terminals = (os.get_terminal_size(file).columns for file in (0, 1, 2) if os.isatty(file))
    width = int(columns) if columns.isdigit() else next(terminals, 0)
    return min(width or PLAIN_WIDTH, WIDEST)


def _is_plain(stream: TextIO) -> bool:
    """Return whether a stream takes no styles; then rich's console, a tenth of a start, is unused.

    `FORCE_COLOR` and the like are left to rich.
    """
    return not (stream.isatty() or any(map(os.environ.get, ("FORCE_COLOR", "TTY_COMPATIBLE"))))


def print_report(report: wings.Text, *, beside: bool = False) -> None:
    """Print a report, with styles only on terminals that support them.

    `beside` prints it on standard error, for commands with a document on standard output; there
    `--quiet` leaves it out.
    """
    if beside and is_quiet.get():
        return
    stream = sys.stderr if beside else sys.stdout
    # Tabs are left to rich, which expands them.
    if _is_plain(stream) and "\t" not in report.plain:
        stream.write(f"{report.plain}\n")
        # Flush here, so that a closed pipe is noticed now and not when the process ends.
        stream.flush()
        return
    console = wings.Console(stderr=beside)
    try:
        console.print(_with_links(report) if console.is_terminal else report, soft_wrap=True)
    except SystemExit:
        # Rich exits like this if the reader has closed the pipe, but does not choose our exit code.
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from None


def _with_links(report: wings.Text) -> wings.Text:
    """Return a report whose places in existing files are links.

    Terminals without links show only the text.
    """
    linked = report.copy()
    for span in report.spans:
        place = span.style.meta.get("place") if isinstance(span.style, wings.Style) else None
        file = None if place is None else Path(place)
        if file is not None and file.exists():
            linked.stylize(wings.Style(link=file.absolute().as_uri()), span.start, span.end)
    return linked


def print_text(text: str) -> None:
    """Print a text that is the result itself, without a newline of its own.

    A pipe or a file gets it unchanged. A terminal would obey control characters, so they are
    replaced by escapes, with a note on standard error.
    """
    if not sys.stdout.isatty() or is_inert(text.replace("\n", "").replace("\t", "")):
        # Typer would remove the colors.
        sys.stdout.write(text)
        sys.stdout.flush()
        return

    sys.stdout.write(wings.visible_lines(text))
    sys.stdout.flush()
    print_note("unprintable characters are shown as escapes; pipes and files get them as is")


class Outlet:
    """The destination of a result: standard output, piece by piece, or a file, at the end.

    A report in a file is plain, and has the width of plain text.
    """

    def __init__(self, output: Path | None) -> None:
        """Store the file of ``--output``, or None for standard output."""
        self.output = output
        self._pieces: list[str] = []

    @property
    def width(self) -> int:
        """Return the width of a report, in characters."""
        return report_width() if self.output is None else PLAIN_WIDTH

    def report(self, report: wings.Text) -> None:
        """Write a report for people."""
        if self.output is None:
            print_report(report)
        else:
            self._pieces.append(f"{report.plain}\n")

    def text(self, text: str) -> None:
        """Write a text that is the result itself."""
        if self.output is None:
            print_text(text)
        else:
            self._pieces.append(text)

    def json(self, value: object, indent: int | None = 2) -> None:
        """Write a value as JSON, in ASCII: on one line without an indent."""
        self.text(f"{wings.json_text(value, indent)}\n")

    def close(self) -> None:
        """Write the file, if there is one."""
        if self.output is not None:
            write_file(self.output, "".join(self._pieces))


@contextmanager
def open_outlet(output: Path | None) -> Generator[Outlet]:
    """Return the destination of a result; a file is written at the end, and not after an error."""
    outlet = Outlet(output)
    yield outlet
    outlet.close()


is_quiet: ContextVar[bool] = ContextVar("quiet", default=False)
"""Whether notes and warnings are not printed; worker processes inherit it."""


def print_note(words: str) -> None:
    """Print a line on standard error, with escapes for unprintable characters."""
    if not is_quiet.get():
        print_error(words)


def print_error(words: str) -> None:
    """Print a line on standard error, even with `--quiet`."""
    typer.echo(one_line(words, longest=LONGEST_LINE), err=True)


def print_warning(source: object, words: str) -> None:
    """Print a warning about a file on standard error."""
    print_note(f"{source}: warning: {words}")


@contextmanager
def guarded_files(values: Mapping[str, Any]) -> Generator[None]:
    """Keep a command from overwriting a file that it reads.

    `values` are those of its arguments and options; before typer 0.29, paths are texts among them.
    Raises AutoparserError at once if one of them names the file of `--output`: other inputs are
    known only when they are read, and the result so far would be lost.
    """
    output = values.get("output")
    for name, value in values.items():
        sources: Sequence[object] = value if is_row(value) else [value]
        for source in sources:
            if name != "output" and isinstance(source, Path | str) and _is_same(output, source):
                raise AutoparserError(
                    "--output would overwrite a file that this command reads",
                    file=str(source),
                    hint="name another file",
                )
    token = wings.read_files.set(set())
    try:
        yield
    finally:
        wings.read_files.reset(token)


def _is_same(output: Path | str | None, source: Path | str) -> bool:
    try:
        return output is not None and Path(output).is_file() and Path(output).samefile(source)
    except (OSError, ValueError):  # no file, or not a file name
        return False


def write_file(path: Path, text: str) -> None:
    """Write a report to a file. Raises AutoparserError if that fails."""
    wings.write_named_file(path, text.encode("utf-8", "backslashreplace"))


@contextmanager
def progress_bar(total: int, words: str = "decoding") -> Generator[Callable[[], object]]:
    """Show a bar of `total` steps on a terminal, and in a log a line at intervals.

    Yields a function to call after each step.
    """
    if not sys.stderr.isatty():
        yield _log_steps(total, words)
        return
    console = wings.Console(stderr=True)
    with wings.Progress(console=console, transient=True) as bar:
        task = bar.add_task(words, total=total)
        yield lambda: bar.advance(task)


LOG_INTERVAL = 10.0
"""Seconds between two lines of progress in a log."""


def _log_steps(total: int, words: str) -> Callable[[], object]:
    """Return a function that counts a step, and prints a line at intervals."""
    done, printed = 0, monotonic()

    def step() -> None:
        nonlocal done, printed
        done += 1
        # The last step needs no line: the result follows it.
        if done < total and monotonic() - printed >= LOG_INTERVAL:
            printed = monotonic()
            print_note(f"{words}: {done} of {total}")

    return step


@contextmanager
def status_line(first: str) -> Generator[Callable[[str], object]]:
    """Show a status line on a terminal; yield a function that changes its words."""
    if not sys.stderr.isatty():
        yield lambda words: None  # noqa: ARG005 - no terminal shows it
        return
    with wings.Console(stderr=True).status(f"{first} …") as status:
        yield lambda words: status.update(f"{words} …")
