"""Names of a package or a module that are imported from their homes when they are first used.

A face has a stub beside it, such as `__init__.pyi`, which imports each public name from its module.
Type checkers read the stub, and so does `stub_names` when a name is first asked for: no name is
written twice. Reading takes 0.3 ms; `lazy_loader` does the same, and costs each start some 3 ms
more.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module


def stub_names(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package or a module that has a stub."""

    def find_name(name: str) -> object:
        homes = name_homes(package)
        return sorted(homes) if name == "__all__" else _import_name(package, homes, name)

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *name_homes(package)})

    return find_name, list_names


@cache
def name_homes(package: str) -> dict[str, str]:
    """Return the module of every name that the stub of a package or a module imports."""
    # Whoever asks for the version alone needs neither.
    import ast  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415
    from pkgutil import get_data  # noqa: PLC0415

    file = Path(sys.modules[package].__file__ or "").with_suffix(".pyi").name
    stub = ast.parse(get_data(package, file) or b"")
    return {
        name.name: "." * node.level + (node.module or "")
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }


def _import_name(package: str, homes: Mapping[str, str], name: str) -> object:
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    if homes[name] == ".":
        return import_module(f".{name}", package)
    value = getattr(import_module(homes[name], package), name)
    setattr(sys.modules[package], name, value)
    return value
