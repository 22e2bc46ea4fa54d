"""A debugger for chat templates.

This is the public face: the names that `__init__.pyi` imports, and the values that they give. Each
is imported when it is first used, so that a program which needs one does not wait for all.

    >>> from autoparser import analyze
    >>> analysis = analyze("org/model", isolate=True)  # a stranger's: in a worker, under limits
    >>> analysis.markers.reasoning_start
    '<think>'
"""

from __future__ import annotations

from typing import cast

from .lazy_names import import_part, stub_names
from .shown import Presenter, present_by

__version__ = "0.1.0"


def _presenter() -> Presenter:
    return cast("Presenter", import_part("autoparser.reports.presented").presented)


present_by(_presenter)

__getattr__, __dir__ = stub_names(__name__)
