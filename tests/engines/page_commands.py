"""The commands that a page of the documentation shows, and the endpoint that one of them starts."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
"""Seconds that an answer may take, and an endpoint to end."""


def commands_of(page: str, put_in: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the arguments of each `autoparser` command that a page shows, by its name."""
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    for shown, real in put_in.items():
        assert shown in text, shown
        text = text.replace(shown, real)
    lines = re.findall(r"^autoparser (.+)$", text, re.MULTILINE)
    return {arguments[0]: arguments for arguments in map(shlex.split, lines)}


def ran(arguments: list[str], program: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command, or a program that Python is given, in a process of its own."""
    started = ("-",) if program else ("-m", "autoparser")
    return subprocess.run(  # noqa: S603 - the interpreter that runs the tests
        [sys.executable, *started, *arguments],
        input=program,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@contextmanager
def endpoint(arguments: list[str]) -> Generator[str]:
    """Run `autoparser serve`, give its address, and end it as a signal does."""
    with subprocess.Popen(  # noqa: S603 - the interpreter that runs the tests
        [sys.executable, "-m", "autoparser", *arguments],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    ) as serving:
        assert serving.stderr is not None
        try:
            lines = iter(serving.stderr.readline, "")
            yield next(line for line in lines if " answers by " in line).split("/v1")[0]
        finally:
            serving.send_signal(signal.SIGTERM)
            serving.wait(PATIENCE)
