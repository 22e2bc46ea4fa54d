"""A debugger for chat templates.

The public API: the names that `__init__.pyi` imports, and those of its modules `errors`, `formats`,
`grammar`, `lint`, `parsing`, `render` and `roundtrip`. Each is imported when it is first used, so
that a program which needs one does not wait for all.

    >>> from autoparser import analyze
    >>> analysis = analyze("org/model", isolate=True)  # a stranger's: in a worker, under limits
    >>> analysis.markers.reasoning_start
    '<think>'
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import cast

from .lazy_names import stub_names
from .shown import Presenter, present_by

__version__ = "0.1.0"

_FOLDER = Path(__file__).parent
if not (_FOLDER / "analysis").is_dir():
    # A checkout has the packages of the engine, the reports and the command line beside this
    # folder, not in it as an installation has them.
    __path__.append(str(_FOLDER.parent))


def _presenter() -> Presenter:
    return cast("Presenter", import_module("autoparser.reports.presented").presented)


present_by(_presenter)

__getattr__, __dir__ = stub_names(__name__)
