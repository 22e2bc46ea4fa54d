"""Outputs that a person gives, as the lines of a server's log.

A line is a JSON string, an object with the text as `completion` or `output`, with the `prompt` or
without it, or else the raw text itself.
"""

from __future__ import annotations

import json
from typing import Annotated

from msgspec import Meta, Struct

from autoparser.analysis.core.given import read
from autoparser.analysis.core.value_kind import is_mapping

from .output import LoggedOutput, OutputError

__all__ = ["given_outputs"]

_LINE = '{"completion": …, "prompt": …}'
_KEYS = ("completion", "output")


class _LoggedLine(Struct, frozen=True):
    completion: Annotated[str | None, Meta(description="a text")] = None
    output: Annotated[str | None, Meta(description="a text")] = None
    prompt: Annotated[str | None, Meta(description="a text")] = None


def given_outputs(text: str, file: str) -> tuple[LoggedOutput, ...]:
    """Read the outputs of a log. Raises OutputError, which names the line."""
    found = tuple(
        _output(line, file, f"line {number}")
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    )
    if not found:
        raise OutputError(
            "there are no outputs", file=file, hint=f"write an output a line, or {_LINE}"
        )
    return found


def _output(line: str, file: str, place: str) -> LoggedOutput:
    try:
        value: object = json.loads(line)
    except ValueError:
        value = line
    if isinstance(value, str):
        return LoggedOutput(value, place=place)
    # A call may be all that a model wrote, and be JSON.
    if not is_mapping(value) or not any(key in value for key in _KEYS):
        return LoggedOutput(line, place=place)
    hint = f"write {_LINE}"
    given = read(value, _LoggedLine, file=file, place=place, wrong=OutputError, hint=hint)
    written = given.output if given.completion is None else given.completion
    return LoggedOutput(written or "", given.prompt or "", place)
