"""The settings of a project: ``[tool.autoparser.lint]`` in pyproject.toml, or autoparser.toml.

They are looked for from the working directory upward; of one directory, ``autoparser.toml`` (its
table is ``[lint]``) goes before ``pyproject.toml``, and a pyproject.toml without the table is
passed by. Paths and patterns in a file are relative to its directory. What is wrong with a file
is a SettingsError with the place in it, such as ``tool.autoparser.lint.select[1]``.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.given import read
from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.profile import Profile
from autoparser.analysis.lint.registry import UnknownRuleError, rules_of
from autoparser.analysis.loading.bounded_reading import opened, read_bounded

OWN_FILE, PYPROJECT = "autoparser.toml", "pyproject.toml"


class SettingsError(AutoparserError):
    """A file of settings is not what it should be."""


class FailOn(StrEnum):
    """From which severity on findings make the exit code 1."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """What a project wants of the linter."""

    file: Path | None = None
    """Where it says so; None where it says nothing."""
    root: Path = field(default_factory=Path.cwd)
    """The directory that patterns are relative to."""
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Patterns of paths, and the selectors that are ignored there."""
    fail_on: FailOn | None = None
    profile: Profile | None = None
    min_severity: Severity | None = None
    exclude: tuple[str, ...] = ()
    tokenizer: Path | None = None


def find_settings(start: Path) -> ProjectSettings:
    """Return the settings of the nearest file from `start` upward; the plain ones without any.

    Raises SettingsError.
    """
    start = start.resolve()
    for directory in (start, *start.parents):
        for name in (OWN_FILE, PYPROJECT):
            file = directory / name
            if file.is_file():
                found = _read(file)
                if found is not None:
                    return found
    return ProjectSettings(root=start)


def read_settings(file: Path) -> ProjectSettings:
    """Return the settings of a file. Raises SettingsError also where it has none."""
    found = _read(file)
    if found is None:
        raise SettingsError(
            "this file has no table [tool.autoparser.lint]",
            file=str(file),
            hint="add it, or name another file with --config",
        )
    return found


def _read(file: Path) -> ProjectSettings | None:
    try:
        with opened(file) as stream:
            content = read_bounded(stream, str(file), "name a file of settings with --config")
        document = tomllib.loads(content.decode("utf-8"))
    except OSError as error:
        raise SettingsError(
            f"cannot be read ({error.strerror or type(error).__name__})",
            file=str(file),
            hint="name a file of settings with --config",
        ) from None
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"this is not UTF-8 ({error.reason})", file=str(file), hint="save it as UTF-8"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise _broken(file, str(error)) from None
    own = file.name != PYPROJECT
    place = "lint" if own else "tool.autoparser.lint"
    if own:
        table = read(document, _OwnFile, file=str(file), wrong=SettingsError).lint
    else:
        project = read(document, _Project, file=str(file), wrong=SettingsError)
        table = project.tool.autoparser.lint
    if table is None:
        return ProjectSettings(file, file.parent.resolve()) if own else None
    return _Place(file, place).settings(table)


_AT = re.compile(r"^(?P<words>.*) \(at (?P<place>line \d+, column \d+|end of document)\)$")


def _broken(file: Path, words: str) -> SettingsError:
    match = _AT.match(words)
    place = match["place"] if match else None
    return SettingsError(
        f"broken TOML: {match['words'] if match else words}",
        file=str(file),
        place=place,
        hint="correct the TOML there",
    )


_Text = Annotated[str, Meta(min_length=1, description='a text, as in "AP301"')]
_Texts = Annotated[tuple[_Text, ...], Meta(description='a list of texts, as in ["AP301"]')]


class _Table(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The table of the linter as it stands in a file."""

    select: _Texts | None = None
    ignore: _Texts = ()
    extend_select: _Texts = ()
    per_file_ignores: Annotated[
        dict[str, _Texts], Meta(description='a table such as {"legacy/**" = ["AP301"]}')
    ] = {}
    fail_on: FailOn | None = None
    profile: Profile | None = None
    min_severity: Severity | None = None
    exclude: _Texts = ()
    tokenizer: _Text | None = None


KEYS = _Table.__struct_encode_fields__
"""The keys of the table, as they are written."""


class _OwnFile(Struct, frozen=True, forbid_unknown_fields=True):
    lint: Annotated[_Table | None, Meta(description="[lint]")] = None


_HERE = Meta(description="[tool.autoparser.lint]")


class _Autoparser(Struct, frozen=True):
    lint: Annotated[_Table | None, _HERE] = None


class _Tool(Struct, frozen=True):
    autoparser: Annotated[_Autoparser, _HERE] = _Autoparser()


class _Project(Struct, frozen=True):
    """A pyproject.toml; whatever else is in it is of others."""

    tool: Annotated[_Tool, _HERE] = _Tool()


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a table stands, for what its kind does not say: which rules there are."""

    file: Path
    table: str

    def settings(self, given: _Table) -> ProjectSettings:
        root = self.file.parent.resolve()
        return ProjectSettings(
            self.file,
            root,
            None if given.select is None else self.selectors(given.select, "select"),
            self.selectors(given.ignore, "ignore"),
            self.selectors(given.extend_select, "extend-select"),
            tuple(
                (pattern, self.selectors(codes, f'per-file-ignores."{pattern}"'))
                for pattern, codes in given.per_file_ignores.items()
            ),
            given.fail_on,
            given.profile,
            given.min_severity,
            given.exclude,
            None if given.tokenizer is None else root / given.tokenizer,
        )

    def selectors(self, found: tuple[str, ...], key: str) -> tuple[str, ...]:
        for at, each in enumerate(found):
            try:
                rules_of(each)
            except UnknownRuleError as error:
                place = f"{self.table}.{key}[{at}]"
                raise SettingsError(
                    error.message, file=str(self.file), place=place, hint=error.hint
                ) from None
        return found
