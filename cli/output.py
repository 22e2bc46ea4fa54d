"""Where a report goes: the terminal, a pipe, a file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from autoparser.analysis.errors import AutoparserError

if TYPE_CHECKING:
    from rich.text import Text

__all__ = [
    "PLAIN_WIDTH",
    "be_printable",
    "keep_source",
    "print_report",
    "quiet_standard_output",
    "report_width",
    "write_file",
]

PLAIN_WIDTH = 80
"""Characters in a line of a report that is written to a file."""

WIDEST = 120
"""Longer lines are hard to read."""


def be_printable() -> None:
    """Let no character of a report fail on a terminal that cannot show it."""
    # What takes its place in a test cannot be set so, and need not be.
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if callable(reconfigure):
        reconfigure(errors="backslashreplace")


def quiet_standard_output() -> None:
    """Throw away what is left to print: whoever read standard output has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def report_width() -> int:
    """Give the width of the terminal, or of plain text where there is none."""
    from rich.console import Console

    return min(Console().width, WIDEST)


def print_report(report: Text, *, beside: bool = False) -> None:
    """Print a report, with styles only where a terminal takes them.

    `beside` prints it on standard error, where standard output is a document.
    """
    from rich.console import Console

    Console(stderr=beside).print(report, soft_wrap=True)


def keep_source(source: str | None, output: Path | None) -> None:
    """Raise AutoparserError where the output would overwrite what it is made from."""
    if output is None or source is None or not output.exists() or not Path(source).exists():
        return
    if output.samefile(source):
        raise AutoparserError(
            "--output would overwrite the template", file=source, hint="name another file"
        )


def write_file(path: Path, text: str) -> None:
    """Write a report to a file. Raises AutoparserError where that cannot be done."""
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        reason = error.strerror or type(error).__name__
    else:
        return
    raise AutoparserError(
        f"cannot be written ({reason})",
        file=os.fspath(path),
        hint="name a file in a directory that you may write to with --output",
    )
