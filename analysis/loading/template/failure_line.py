"""The template's line at which a render failed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from jinja2 import Template

__all__ = ["failure_line"]

_LACKING = re.compile(r"t_\d+$")
"""What Jinja calls the function that it compiles to stand for a filter or test that there is not:
its frame is of no line of the template, that of its caller is."""


def failure_line(error: BaseException) -> int | None:
    """Return the template's line of the innermost frame that is compiled from a template.

    Of an endless recursion, the line that first comes again: the innermost one would be another
    with every caller's depth.
    """
    line: int | None = None
    seen: set[int] = set()
    traceback = error.__traceback__
    while traceback is not None:
        template = traceback.tb_frame.f_globals.get("__jinja_template__")
        if isinstance(template, Template) and not _LACKING.match(traceback.tb_frame.f_code.co_name):
            line = _line_of(template, traceback.tb_lineno)
            if isinstance(error, RecursionError) and line in seen:
                return line
            seen.add(line)
        traceback = traceback.tb_next
    return line


_LINES: WeakKeyDictionary[Template, Sequence[tuple[int, int]]] = WeakKeyDictionary()
"""The lines of a template, and those of its code: Jinja reads them anew at each question."""


def _line_of(template: Template, code_line: int) -> int:
    """Answer as Jinja's `get_corresponding_lineno` does."""
    lines = _LINES.get(template)
    if lines is None:
        lines = _LINES[template] = template.debug_info
    return next((line for line, begins in reversed(lines) if begins <= code_line), 1)
