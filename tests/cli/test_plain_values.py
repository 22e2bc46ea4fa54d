"""Values that are taken without pydantic are those that typer would have made of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperGroup

from autoparser.cli.main import _PlainConversion, app

GIVEN: tuple[object, ...] = (
    None,
    "",
    "-",
    "0",
    "7",
    "x",
    "json",
    "pyproject.toml",
    "no/such",
    ".",
    "a\0",
)


def parameters() -> Iterator[tuple[str, Any, Any]]:
    """Return every parameter of every command, and its context."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    for command in (group, *group.commands.values()):
        context = typer.Context(command)
        for parameter in command.get_params(context):
            yield f"{command.name} {parameter.name}", parameter, context


def outcome(conversion: Any, value: object, parameter: Any, context: Any) -> object:
    try:
        found = conversion.coerce(value, param=parameter, ctx=context)
    except typer.BadParameter as error:
        return str(error)
    return type(found), found


def test_what_is_taken_is_what_typer_makes_of_it() -> None:
    seen = 0
    for name, parameter, context in parameters():
        plain, several = parameter.get_runtime_param(), parameter.multiple or parameter.nargs == -1
        assert isinstance(plain, _PlainConversion), name
        usual = plain._usual()
        for value in (*GIVEN, parameter.default):
            given = [value] if several and isinstance(value, str) else value
            expected = outcome(usual, given, parameter, context)
            assert outcome(plain, given, parameter, context) == expected, (name, given)
            seen += 1
    assert seen > 1000
