"""Names of a package that are imported from its modules when they are first asked for.

Own code of a few lines: `lazy_loader` reads the same table from a stub, and costs each start some
3 ms more, 1.6 to import it and 0.5 a stub to read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

__all__ = ["lazy_names"]


def lazy_names(
    package: str, homes: Mapping[str, tuple[str, ...]], *, below: str = ""
) -> Callable[[str], object]:
    """Return a package's `__getattr__`, which imports a name from the module that is its home.

    `below` is where those modules are, from the package on, such as ``.analysis``.
    """

    def imported(name: str) -> object:
        for module, names in homes.items():
            if name in names:
                value = getattr(import_module(f"{package}{below}.{module}"), name)
                setattr(sys.modules[package], name, value)
                return value
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return imported
