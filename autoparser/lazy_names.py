r"""Import names of a module, and compile regular expressions, when they are first used.

    if TYPE_CHECKING:
        from .analysis.core.conversation import Message as Message
    else:
        __getattr__, __dir__ = lazy_imports(__name__)

Type checkers read the imports, and so does `lazy_imports` when a name is first asked for: no name
is written twice. Reading takes 0.3 ms; `lazy_loader`, which needs a stub beside the module, costs
each start some 3 ms more.

    _NUMBER = lazy_pattern(r"-?[0-9]+")

takes 2 µs and not 100 to 2,000, and `_NUMBER.match` compiles it. It is for a module's constants: it
is no argument of `re.sub` and the like.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import re
    from importlib.machinery import SourceFileLoader


def lazy_imports(module: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a module with imports for type checkers."""

    def find_name(name: str) -> object:
        homes = name_homes(module)
        return sorted(homes) if name == "__all__" else _import_name(module, homes, name)

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[module]), *name_homes(module)})

    return find_name, list_names


@cache
def name_homes(module: str) -> dict[str, str]:
    """Return the home of every name that a module imports under `if TYPE_CHECKING`."""
    # As `pkgutil.get_data`, which takes longer to import than this to run: a package may be zipped.
    loader = cast("SourceFileLoader", sys.modules[module].__loader__)
    source = loader.get_data(sys.modules[module].__file__ or "").decode()
    block = source.partition("\nif TYPE_CHECKING:")[2].partition("\nelse:")[0]
    homes: dict[str, str] = {}
    # A syntax tree of hundreds of names takes ten times as long, compiled patterns twice.
    for statement in block.split("\n    from ")[1:]:
        home, _, names = statement.partition(" import ")
        names = names[1:].partition(")")[0] if names[0] == "(" else names.partition("\n")[0]
        # Of `Message as Message`, the last word.
        homes |= {name.split()[-1]: home for name in names.split(",") if name.strip()}
    return homes


def _import_name(module: str, homes: Mapping[str, str], name: str) -> object:
    if name not in homes:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    if homes[name] == ".":
        return import_module(f".{name}", module)
    value = getattr(import_module(homes[name], module), name)
    setattr(sys.modules[module], name, value)
    return value


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled when one of its methods is first used."""
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))


class _LazyPattern:
    def __init__(self, pattern: str, flags: int) -> None:
        self._given = (pattern, flags)

    def __getattr__(self, name: str) -> object:
        import re  # noqa: PLC0415 - as in `name_homes`

        value: object = getattr(re.compile(*self._given), name)
        # The next use finds it without asking here.
        setattr(self, name, value)
        return value
