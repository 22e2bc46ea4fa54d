"""All rules, found in `rules/`: each module there that has a ``RULE``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import walk_packages

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.spelling import suggest

from . import rules
from .rule import Rule


class UnknownRuleError(AutoparserError):
    """A code that no rule has."""


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return every rule, by code."""
    return tuple(sorted(_found(), key=lambda rule: rule.code))


def _found() -> Iterator[Rule]:
    for module in walk_packages(rules.__path__, f"{rules.__name__}."):
        if not module.ispkg:
            rule = getattr(import_module(module.name), "RULE", None)
            if isinstance(rule, Rule):
                yield rule


@cache
def _by_word() -> dict[str, Rule]:
    """Return each rule by its code, in capitals, and by its name, in small letters."""
    return {word: rule for rule in all_rules() for word in (rule.code, rule.name)}


def rule_of(code_or_name: str) -> Rule:
    """Return the rule of a code such as ``AP301`` or of a name. Raises UnknownRuleError."""
    wanted = code_or_name.strip()
    found = _by_word().get(wanted.upper()) or _by_word().get(wanted.lower())
    if found is not None:
        return found
    number = _digits(wanted)
    # A code that is like another one but for its number is of another rule.
    known = [
        rule.code
        for rule in all_rules()
        if number and (number in rule.code or _digits(rule.code) in number)
    ]
    hint = suggest(wanted, [*known, *(rule.name for rule in all_rules())])
    hint = hint or "'autoparser rule' lists all"
    raise UnknownRuleError(f"there is no rule {wanted!r}", hint=hint)


def _digits(code: str) -> str:
    return "".join(filter(str.isdigit, code))


def rules_of(selector: str) -> tuple[Rule, ...]:
    """Return the rules of a code, of the beginning of one such as ``AP3``, of a name, or ``ALL``.

    Raises UnknownRuleError where there is none.
    """
    wanted = selector.strip()
    if wanted.upper() == "ALL":
        return all_rules()
    found = tuple(
        rule for rule in all_rules() if len(wanted) > 1 and rule.code.startswith(wanted.upper())
    )
    return found or (rule_of(wanted),)
