"""The settings of a project: ``[tool.autoparser.lint]`` in pyproject.toml, or autoparser.toml.

They are looked for from the working directory upward; of one directory, ``autoparser.toml`` (its
table is ``[lint]``) goes before ``pyproject.toml``, and a pyproject.toml without the table is
passed by. Paths and patterns in a file are relative to its directory. What is wrong with a file
is a SettingsError with the place in it, such as ``tool.autoparser.lint.select[1]``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import cast

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.spelling import suggest
from autoparser.analysis.lint.registry import UnknownRuleError, rules_of

OWN_FILE, PYPROJECT = "autoparser.toml", "pyproject.toml"
KEYS = (
    "select",
    "ignore",
    "extend-select",
    "per-file-ignores",
    "fail-on",
    "exclude",
    "tokenizer",
)


class SettingsError(AutoparserError):
    """A file of settings is not what it should be."""


class FailOn(StrEnum):
    """From which severity on findings make the exit code 1."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Settings:
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
    exclude: tuple[str, ...] = ()
    tokenizer: Path | None = None


def find_settings(start: Path) -> Settings:
    """Give the settings of the nearest file from `start` upward; the plain ones without any.

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
    return Settings(root=start)


def read_settings(file: Path) -> Settings:
    """Give the settings of a file. Raises SettingsError also where it has none."""
    found = _read(file)
    if found is None:
        raise SettingsError(
            "this file has no table [tool.autoparser.lint]",
            file=str(file),
            hint="add it, or name another file with --config",
        )
    return found


def _read(file: Path) -> Settings | None:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
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
    reader = _Reader(file)
    if own:
        reader.known(document, "", ("lint",))
    path = ("lint",) if own else ("tool", "autoparser", "lint")
    value: object = document
    for at, key in enumerate(path):
        value = reader.table(value, ".".join(path[:at])).get(key)
        if value is None:
            return Settings(file, file.parent.resolve()) if own else None
    return reader.settings(value, ".".join(path))


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


@dataclass(frozen=True, slots=True)
class _Reader:
    file: Path

    def wrong(self, place: str, words: str, hint: str) -> SettingsError:
        return SettingsError(words, file=str(self.file), place=place or None, hint=hint)

    def table(self, value: object, place: str) -> Mapping[str, object]:
        if isinstance(value, dict):
            return cast("Mapping[str, object]", value)
        raise self.wrong(place, "this is no table", f"write [{place}]")

    def known(self, table: Mapping[str, object], place: str, keys: Sequence[str]) -> None:
        for key in table:
            if key not in keys:
                raise self.wrong(
                    f"{place}.{key}" if place else key,
                    f"there is no key {key!r}",
                    suggest(key, keys, f"there are {', '.join(keys)}")
                    if len(keys) > 1
                    else f"write [{keys[0]}]",
                )

    def settings(self, value: object, place: str) -> Settings:
        table = self.table(value, place)
        self.known(table, place, KEYS)
        at = {key: f"{place}.{key}" for key in KEYS}
        root = self.file.parent.resolve()
        select = table.get("select")
        fail_on = table.get("fail-on")
        tokenizer = table.get("tokenizer")
        return Settings(
            self.file,
            root,
            None if select is None else self.selectors(select, at["select"]),
            self.selectors(table.get("ignore", []), at["ignore"]),
            self.selectors(table.get("extend-select", []), at["extend-select"]),
            self.per_file(table.get("per-file-ignores", {}), at["per-file-ignores"]),
            None if fail_on is None else self.fail_on(fail_on, at["fail-on"]),
            self.texts(table.get("exclude", []), at["exclude"]),
            None if tokenizer is None else root / self.text(tokenizer, at["tokenizer"]),
        )

    def text(self, value: object, place: str) -> str:
        if isinstance(value, str) and value:
            return value
        raise self.wrong(place, "this is no text", 'write one in quotes, as in "AP301"')

    def texts(self, value: object, place: str) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise self.wrong(place, "this is no list", 'write a list of texts, as in ["AP301"]')
        values = cast("list[object]", value)
        return tuple(self.text(each, f"{place}[{at}]") for at, each in enumerate(values))

    def selectors(self, value: object, place: str) -> tuple[str, ...]:
        found = self.texts(value, place)
        for at, each in enumerate(found):
            try:
                rules_of(each)
            except UnknownRuleError as error:
                raise self.wrong(f"{place}[{at}]", error.message, error.hint or "") from None
        return found

    def per_file(self, value: object, place: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
        table = self.table(value, place)
        return tuple(
            (pattern, self.selectors(codes, f'{place}."{pattern}"'))
            for pattern, codes in table.items()
        )

    def fail_on(self, value: object, place: str) -> FailOn:
        if isinstance(value, str) and value in [*FailOn]:
            return FailOn(value)
        raise self.wrong(place, f"this is none of {', '.join(FailOn)}", "write one of them")
