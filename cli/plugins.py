"""``autoparser plugins check``: whether the engines of an environment find the plugins."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from . import wings
from .options import ResultOptions
from .output import open_outlet

MISSING = 1
"""The exit code where anything is a no."""


class PluginTask(StrEnum):
    """The tasks about plugins."""

    CHECK = "check"


def plugins(
    *,
    task: Annotated[
        PluginTask, typer.Argument(metavar="check", help="Look at them.", show_default=False)
    ],
    python: Annotated[
        str | None, "PATH", "The Python of another environment, such as path/to/venv/bin/python."
    ] = None,
    no_import: Annotated[bool, "Look at what is installed, and import no engine."] = False,
    import_timeout: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0.1, help="How long importing the engines may take."),
    ] = 300.0,
    result: ResultOptions,
) -> int:
    """See whether vLLM and SGLang find this package's parser, here or in another environment.

    Which engines are there, whether the entry points are found, whether the names of the parsers
    are registered once an engine has loaded its plugins, and whether llguidance has a version that
    all of them take; for each no, a way out.

    Exit code: 0 if nothing is missing, 1 if something is, 2 if the environment cannot be asked.
    """
    del task
    as_json = result.is_json

    found = wings.plugin_check(python, imports=not no_import, timeout=import_timeout)
    with open_outlet(result.output) as outlet:
        if as_json:
            outlet.json(wings.plugins_document(found))
        else:
            outlet.report(wings.plugins_report(found, outlet.width))
    return 0 if found.ok else MISSING
