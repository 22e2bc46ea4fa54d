"""The settings of a project: ``[tool.autoparser.lint]`` in pyproject.toml, or autoparser.toml.

They are looked for from the working directory upward; of one directory, ``autoparser.toml`` (its
table is ``[lint]``) goes before ``pyproject.toml``, and a pyproject.toml without the table is
passed by. Paths and patterns in a file are relative to its directory. What is wrong with a file
is a SettingsError with the place in it, such as ``tool.autoparser.lint.select[1]``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, field, structs

from autoparser.analysis.core.documents import read_value
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.sources.local_files import open_file, read_bounded

from .hit import Severity
from .registry import UnknownRuleError, all_rules, rules_of
from .rule import Profile, Rule

# Globs against paths, as people know them from files of ignored paths.
#
# A pattern without a slash is the name of a file or folder anywhere; with one it begins at the
# root. ``*`` stays within a folder, ``**`` crosses folders; what names a folder means all in it.


_MAGIC = re.compile(r"[*?\[]")


def is_pattern(text: str) -> bool:
    """Whether a text has any of the characters that stand for others; no address has."""
    return "://" not in text and _MAGIC.search(text) is not None


def matches_glob(pattern: str, path: str) -> bool:
    """Whether `path`, relative to the root and with slashes, is meant by `pattern`."""
    return _compiled(pattern).fullmatch(path) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    bare = pattern.removeprefix("./").rstrip("/")
    anywhere = "" if "/" in bare else "(?:.*/)?"
    return re.compile(f"{anywhere}{''.join(_translated(bare))}(?:/.*)?", re.DOTALL)


_PIECE = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)
_SIGNS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _translated(pattern: str) -> list[str]:
    found: list[str] = []
    for piece in _PIECE.findall(pattern):
        if piece in _SIGNS:
            found.append(_SIGNS[piece])
        elif len(piece) > 1:
            inner = piece[1:-1].replace("\\", "\\\\").replace("[", "\\[")
            inner = f"^{inner[1:]}" if inner.startswith("!") else inner
            found.append(f"(?!/)[{inner}]")
        else:
            found.append(re.escape(piece))
    return found


# Which rules look, and which findings count: selectors against rules.
#
# A selector is a code such as ``AP301``, the beginning of one such as ``AP3``, a rule's name, or
# ``ALL``. Where one selects a rule and another ignores it, the one that says more about it
# decides, so ``--select AP3 --ignore AP301`` leaves out one rule and ``--select AP301 --ignore
# AP3`` takes one; where both say as much, it is ignored.


@dataclass(frozen=True, slots=True)
class RuleChoice:
    """What a person wants to be looked for."""

    select: tuple[str, ...] | None = None
    """None selects the rules that run by default."""
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    """Rules beside the selected ones."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that are left, by code. Raises UnknownRuleError."""
        selected = _strengths((*(self.select or ()), *self.extend_select))
        if self.select is None:
            selected = {**{rule.code: 0 for rule in all_rules() if rule.default}, **selected}
        ignored = _strengths(self.ignore)
        return tuple(
            rule for rule in all_rules() if selected.get(rule.code, -1) > ignored.get(rule.code, -1)
        )


def codes_of(selectors: Iterable[str]) -> frozenset[str]:
    """Return the codes of all rules that the selectors mean. Raises UnknownRuleError."""
    return frozenset(rule.code for selector in selectors for rule in rules_of(selector))


def _strengths(selectors: Sequence[str]) -> dict[str, int]:
    """Return for each code how much the selector says that means it most closely."""
    found: dict[str, int] = {}
    for selector in selectors:
        for rule in rules_of(selector):
            found[rule.code] = max(found.get(rule.code, 0), _strength(selector.strip(), rule))
    return found


def _strength(selector: str, rule: Rule) -> int:
    if selector.upper() == "ALL":
        return 1
    return len(selector) if rule.code.startswith(selector.upper()) else len(rule.code)


OWN_FILE, PYPROJECT = "autoparser.toml", "pyproject.toml"


class SettingsError(AutoparserError):
    """A file of settings is not what it should be."""


class FailOn(StrEnum):
    """From which severity on findings make the exit code 1."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    NEVER = "never"


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
    """Patterns of paths, and the selectors that are ignored there."""
    fail_on: FailOn | None = None
    profile: Profile | None = None
    min_severity: Severity | None = None
    exclude: _Texts = ()
    tokenizer: _Text | None = None


KEYS = _Table.__struct_encode_fields__
"""The keys of the table, as they are written."""


class ProjectSettings(_Table, frozen=True):
    """What a project wants of the linter."""

    file: Path | None = None
    """Where it says so; None where it says nothing."""
    root: Path = field(default_factory=Path.cwd)
    """The directory that patterns, and the tokenizer, are relative to."""


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
        with open_file(file) as stream:
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
    except RecursionError:
        raise _broken(file, "it is nested too deep") from None
    own = file.name != PYPROJECT
    place = "lint" if own else "tool.autoparser.lint"
    if own:
        table = read_value(document, _OwnFile, file=str(file), wrong=SettingsError).lint
    else:
        project = read_value(document, _Project, file=str(file), wrong=SettingsError)
        table = project.tool.autoparser.lint
    if table is None:
        return ProjectSettings(file=file, root=file.parent.resolve()) if own else None
    return _settings(file, place, table)


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


def _settings(file: Path, place: str, table: _Table) -> ProjectSettings:
    """Return the settings of a table; which rules there are, its kind does not say."""
    for key, selectors in (
        ("select", table.select or ()),
        ("ignore", table.ignore),
        ("extend-select", table.extend_select),
        *((f'per-file-ignores."{each}"', its) for each, its in table.per_file_ignores.items()),
    ):
        for at, selector in enumerate(selectors):
            try:
                rules_of(selector)
            except UnknownRuleError as error:
                raise SettingsError(
                    error.message, file=str(file), place=f"{place}.{key}[{at}]", hint=error.hint
                ) from None
    root = file.parent.resolve()
    given = structs.asdict(table)
    if table.tokenizer is not None:
        given["tokenizer"] = str(root / table.tokenizer)
    return ProjectSettings(**given, file=file, root=root)
