"""Values of options that need no conversion, taken without the library that converts.

Typer has pydantic convert what is given, by an adapter that it builds for each option, those that
nobody gave among them; to import pydantic alone takes longer than to import typer. Here a value
that is of its kind already, or is a path or the name of a choice, is taken as typer would take it.
All other values, and every complaint, are typer's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, cast, get_args, get_origin

from typer.core import TyperCommand, TyperGroup

__all__ = ["PlainValueCommand", "PlainValueGroup"]


class _NoPlainValue(Exception):
    """Typer is to convert this."""


class PlainValueCommand(TyperCommand):
    """A command whose parameters take plain values as they are."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, and the option for help."""
        return _taking_plain_values(super().get_params(ctx))


class PlainValueGroup(TyperGroup):
    """A group of commands whose own parameters take plain values as they are."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, and the option for help."""
        return _taking_plain_values(super().get_params(ctx))


def _taking_plain_values(parameters: Sequence[Any]) -> list[Any]:
    for parameter in parameters:
        # Typer before pydantic has other names, and converts no value that nobody gave.
        usual = getattr(parameter, "get_runtime_param", None)
        if usual is not None and not isinstance(usual, _PlainConversion):
            parameter.__dict__["get_runtime_param"] = _PlainConversion(usual)
    return [*parameters]


class _PlainConversion:
    """What converts the values of one parameter."""

    def __init__(self, usual: Callable[[], Any]) -> None:
        self._usual = usual

    def __call__(self) -> _PlainConversion:
        """Return this: typer asks for it by a call."""
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return a value as the command takes it. Raises what typer does."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        try:
            return _plain(value, param.type_descriptor, several=several)
        except _NoPlainValue:
            return self._usual().coerce(value, param=param, ctx=ctx)


def _plain(value: object, descriptor: Any, *, several: bool) -> object:
    kind, asked = descriptor.annotation, descriptor.parameter_info
    if asked.parser is not None:
        raise _NoPlainValue
    if not several:
        return _one(value, kind, asked)
    if get_origin(kind) is not list or not isinstance(value, (list, tuple)):
        raise _NoPlainValue
    (inner,) = get_args(kind)
    return [_one(each, inner, asked) for each in cast("Sequence[object]", value)]


def _one(value: object, kind: Any, asked: Any) -> object:
    if isinstance(kind, type) and type(value) is kind and issubclass(kind, (str, Path)):
        found: object = value
    elif kind is Path and isinstance(value, str):
        found = Path(value)
    elif isinstance(kind, type) and issubclass(kind, StrEnum) and value in [*kind]:
        found = kind(cast("str", value))
    else:
        raise _NoPlainValue
    if isinstance(found, Path) and (_PATH_WISHES & _wishes(asked) or not _readable(found)):
        raise _NoPlainValue
    return found


_PATH_WISHES = frozenset({"exists", "writable", "resolve_path", "allow_dash", "path_type"})


def _wishes(asked: Any) -> set[str]:
    """Return what is asked of a path beyond the usual."""
    return {name for name in _PATH_WISHES if getattr(asked, name, None)}


def _readable(path: Path) -> bool:
    try:
        path.stat()
    except OSError:
        # It is not there, which is whoever's affair that reads it.
        return True
    except ValueError:
        return False
    return os.access(path, os.R_OK)
