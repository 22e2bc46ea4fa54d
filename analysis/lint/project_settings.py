"""Lint settings of a project: ``[tool.autoparser.lint]`` in pyproject.toml, or autoparser.toml.

They are searched for from the working directory upward; in one directory, ``autoparser.toml`` (with
the table ``[lint]``) takes precedence, and a pyproject.toml without the table is skipped. Paths and
patterns are relative to the file's directory. Mistakes raise SettingsError with their place, such
as ``tool.autoparser.lint.select[1]``.

    >>> matches_glob("*.jinja", "a/b.jinja"), matches_glob("legacy/*.jinja", "legacy/a/b.jinja")
    (True, False)
    >>> [rule.code for rule in RuleChoice(select=("AP601",), ignore=("AP6",)).rules]
    ['AP601']
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
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

# Glob patterns as in .gitignore: a pattern without a slash matches a name at any depth; otherwise
# it starts at the root. ``*`` stays within a folder, ``**`` crosses folders; a folder's name
# matches everything below it.


_MAGIC = re.compile(r"[*?\[]")


def is_pattern(text: str) -> bool:
    """Return whether a text has wildcards; URLs are never patterns."""
    return "://" not in text and _MAGIC.search(text) is not None


def plain_folder(pattern: str) -> str:
    """Return the folder before the first wildcard of a pattern: `a` for `a/b*/c`."""
    return _MAGIC.split(pattern, maxsplit=1)[0].rpartition("/")[0]


def matches_glob(pattern: str, path: str) -> bool:
    """Return whether a pattern matches `path`, which is relative to the root, with slashes."""
    return _compile_glob(pattern).fullmatch(path) is not None


@lru_cache(maxsize=256)
def _compile_glob(pattern: str) -> re.Pattern[str]:
    bare = pattern.removeprefix("./").rstrip("/")
    anywhere = "" if "/" in bare else "(?:.*/)?"
    return re.compile(f"{anywhere}{''.join(_translate_glob(bare))}(?:/.*)?", re.DOTALL)


# `**/` comes first, because it also stands for no folder at all: `a/**/b` matches `a/b`.
_PIECE = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)
_SIGNS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _translate_glob(pattern: str) -> list[str]:
    found: list[str] = []
    for piece in _PIECE.findall(pattern):
        if piece in _SIGNS:
            found.append(_SIGNS[piece])
        elif len(piece) > 1:
            inner = piece[1:-1].replace("\\", "\\\\").replace("[", "\\[")
            # `[!a]` of a pattern is `[^a]` of a regular expression.
            inner = f"^{inner[1:]}" if inner.startswith("!") else inner
            # Like `*`, a class never matches the separator of folders.
            found.append(f"(?!/)[{inner}]")
        else:
            found.append(re.escape(piece))
    return found


# The choice of rules. A selector is a code such as ``AP301``, a prefix such as ``AP3``, a rule's
# name, or ``ALL``. If a rule is both selected and ignored, the more specific selector decides:
# ``--select AP3 --ignore AP301`` leaves out one rule and ``--select AP301 --ignore AP3`` keeps one;
# of equally specific ones, ignoring wins.


class RuleChoice(Struct, frozen=True):
    """The selected and ignored rules."""

    select: tuple[str, ...] | None = None
    """The rules to run, e.g. ``("AP3", "wrong-role-header")``; None selects the default ones."""
    ignore: tuple[str, ...] = ()
    """The rules not to run, e.g. ``("AP703",)``."""
    extend_select: tuple[str, ...] = ()
    """Rules to run in addition, e.g. ``("AP810", "AP811")``."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The chosen rules, in order of the codes. Raises UnknownRuleError."""
        selected = _strengths((*(self.select or ()), *self.extend_select))
        # Weaker than any selector, so that `ignore` leaves out a default rule.
        if self.select is None:
            selected = {**{rule.code: 0 for rule in all_rules() if rule.default}, **selected}
        ignored = _strengths(self.ignore)
        return tuple(
            rule for rule in all_rules() if selected.get(rule.code, -1) > ignored.get(rule.code, -1)
        )


def selected_codes(selectors: Iterable[str]) -> frozenset[str]:
    """Return the codes of all selected rules. Raises UnknownRuleError."""
    return frozenset(rule.code for selector in selectors for rule in rules_of(selector))


def _strengths(selectors: Sequence[str]) -> dict[str, int]:
    """Return each code's most specific selector as a number: the length of the matched code."""
    found: dict[str, int] = {}
    for selector in selectors:
        for rule in rules_of(selector):
            found[rule.code] = max(found.get(rule.code, 0), _strength(selector.strip(), rule))
    return found


def _strength(selector: str, rule: Rule) -> int:
    # Weaker than every prefix, which has at least two characters; the default choice counts 0.
    if selector.upper() == "ALL":
        return 1
    return len(selector) if rule.code.startswith(selector.upper()) else len(rule.code)


OWN_FILE, PYPROJECT = "autoparser.toml", "pyproject.toml"


class SettingsError(AutoparserError):
    """A settings file has a mistake."""


class FailOn(StrEnum):
    """The severity from which findings make the exit code 1."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    NEVER = "never"


_Text = Annotated[str, Meta(min_length=1, description='a string, as in "AP301"')]
_Texts = Annotated[tuple[_Text, ...], Meta(description='a list of strings, as in ["AP301"]')]


class _Table(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The linter's table in a file."""

    select: _Texts | None = None
    """The rules to run, e.g. ``("AP3",)``; None selects the default ones."""
    ignore: _Texts = ()
    """The rules not to run, e.g. ``("AP301",)``."""
    extend_select: _Texts = ()
    """Rules to run in addition, e.g. ``("AP9",)``."""
    per_file_ignores: Annotated[
        dict[str, _Texts], Meta(description='a table such as {"legacy/**" = ["AP301"]}')
    ] = {}
    """Path patterns with the selectors to ignore there, e.g. ``{"legacy/**": ["AP301"]}``."""
    fail_on: FailOn | None = None
    """The severity from which findings fail the run, e.g. ``warning``."""
    profile: Profile | None = None
    """The purpose of the run, e.g. ``release``."""
    min_severity: Severity | None = None
    """The lowest severity to show, e.g. ``warning``."""
    exclude: _Texts = ()
    """Patterns of paths to skip, e.g. ``("legacy/**",)``."""
    tokenizer: _Text | None = None
    """The path of a tokenizer for templates without one beside them, e.g.
    ``models/base/tokenizer.json``."""


KEYS = _Table.__struct_encode_fields__
"""The keys of the table as spelled in files."""


class ProjectSettings(_Table, frozen=True):
    """The settings of a project."""

    file: Path | None = None
    """The file, e.g. ``pyproject.toml``, or None without one."""
    root: Path = field(default_factory=Path.cwd)
    """The directory that patterns and the tokenizer's path are relative to, e.g. the one of
    ``pyproject.toml``."""


def find_settings(start: Path) -> ProjectSettings:
    """Return the settings of the nearest file from `start` upward, or the defaults.

    Raises SettingsError.
    """
    start = start.resolve()
    for directory in (start, *start.parents):
        for name in (OWN_FILE, PYPROJECT):
            file = directory / name
            if file.is_file():
                found = _read_settings(file)
                if found is not None:
                    return found
    return ProjectSettings(root=start)


def read_settings(file: Path) -> ProjectSettings:
    """Return the settings of a file. Raises SettingsError, also if the table is missing."""
    found = _read_settings(file)
    if found is None:
        raise SettingsError(
            "no table [tool.autoparser.lint] in this file",
            file=str(file),
            hint="add it, or use another file with --config",
        )
    return found


def _read_settings(file: Path) -> ProjectSettings | None:
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
            f"not UTF-8 ({error.reason})", file=str(file), hint="save it as UTF-8"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(file, str(error)) from None
    except RecursionError:
        raise _syntax_error(file, "nested too deeply") from None
    own = file.name != PYPROJECT
    place = "lint" if own else "tool.autoparser.lint"
    if own:
        table = read_value(document, _OwnFile, file=str(file), wrong=SettingsError).lint
    else:
        project = read_value(document, _Project, file=str(file), wrong=SettingsError)
        table = project.tool.autoparser.lint
    # The own file ends the search even without the table; a pyproject.toml does not.
    if table is None:
        return ProjectSettings(file=file, root=file.parent.resolve()) if own else None
    return _settings(file, place, table)


_AT = re.compile(r"^(?P<words>.*) \(at (?P<place>line \d+, column \d+|end of document)\)$")


def _syntax_error(file: Path, words: str) -> SettingsError:
    match = _AT.match(words)
    place = match["place"] if match else None
    return SettingsError(
        f"invalid TOML: {match['words'] if match else words}",
        file=str(file),
        place=place,
        hint="fix the TOML there",
    )


class _OwnFile(Struct, frozen=True, forbid_unknown_fields=True):
    lint: Annotated[_Table | None, Meta(description="[lint]")] = None
    """The table, e.g. ``ignore = ["AP703"]``, or None if the file lacks it: the defaults apply."""


_HERE = Meta(description="[tool.autoparser.lint]")


class _Autoparser(Struct, frozen=True):
    lint: Annotated[_Table | None, _HERE] = None
    """The table, e.g. ``ignore = ["AP703"]``, or None without one, so that the file is skipped."""


class _Tool(Struct, frozen=True):
    autoparser: Annotated[_Autoparser, _HERE] = _Autoparser()
    """The table ``[tool.autoparser]``."""


class _Project(Struct, frozen=True):
    """A pyproject.toml; tables of other tools are ignored."""

    tool: Annotated[_Tool, _HERE] = _Tool()
    """The table ``[tool]``."""


def _settings(file: Path, place: str, table: _Table) -> ProjectSettings:
    """Return the settings of a table, after checking its selectors, which its type cannot."""
    for key, selectors in (
        ("select", table.select or ()),
        ("ignore", table.ignore),
        ("extend-select", table.extend_select),
        *(
            (f'per-file-ignores."{pattern}"', selectors)
            for pattern, selectors in table.per_file_ignores.items()
        ),
    ):
        for index, selector in enumerate(selectors):
            try:
                rules_of(selector)
            except UnknownRuleError as error:
                raise SettingsError(
                    error.message, file=str(file), place=f"{place}.{key}[{index}]", hint=error.hint
                ) from None
    root = file.parent.resolve()
    given = structs.asdict(table)
    if table.tokenizer is not None:
        given["tokenizer"] = str(root / table.tokenizer)
    return ProjectSettings(**given, file=file, root=root)
