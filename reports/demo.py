"""What can be tried on the files of the demo."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich.text import Text

from .visible import visible

__all__ = ["demo_report"]


def demo_report(files: Sequence[str]) -> Text:
    """Name the files of a template, tools and an output, and the commands to try on them."""
    template, tools, output = (visible(shlex.quote(file)) for file in files)
    lines = [
        *(f"Written  {visible(file)}" for file in files),
        "",
        f"autoparser analyze {template}",
        f"autoparser parse {template} --tools {tools} --input {output}",
        f"autoparser grammar {template} --tools {tools}",
        f"autoparser roundtrip {template}",
        f"autoparser lint {template}",
    ]
    return Text("\n".join(lines))
