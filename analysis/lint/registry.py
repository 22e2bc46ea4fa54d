"""All rules, found by their pages in `rules/`, and their checks.

A page is read without the module of its check, which is imported when the check first runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from autoparser.analysis.core.error_words import spelling_hint
from autoparser.analysis.core.errors import AutoparserError

from .rule import Profile, Rule, read_rule

if TYPE_CHECKING:
    from .hit import Hit
    from .subject import Subject


Check: TypeAlias = "Callable[[Subject], Iterator[Hit]]"

_CHECKS: dict[str, Check] = {}
"""The checks of the rules whose modules are imported, by code."""


def rule(code: str, *, once: bool = False) -> Callable[[Check], Check]:
    """Register a function as the check of the rule with this code.

    With `once`, the check stops after its first hit.
    """

    def declared(check: Check) -> Check:
        _CHECKS[code] = (lambda subject: islice(check(subject), 1)) if once else check
        return check

    return declared


def run_check(rule: Rule, subject: Subject) -> Iterator[Hit]:
    """Run the check of a rule on a subject that meets the rule's needs."""
    import_checks([rule])
    return _CHECKS[rule.code](subject)


def import_checks(rules: Iterable[Rule]) -> None:
    """Import the modules of these rules: a process does so before it forks workers."""
    for rule in rules:
        if rule.code not in _CHECKS:
            import_module(f"{__package__}.rules.{rule.name.replace('-', '_')}")


class UnknownRuleError(AutoparserError):
    """The code or name does not belong to a rule."""


@cache
def _pages() -> Mapping[str, Path]:
    """Return the path of each rule's page, by code and in order of the codes."""
    pages = sorted((Path(__file__).parent / "rules").glob("AP*.md"))
    return {page.stem.partition("-")[0]: page for page in pages}


@cache
def _names() -> Mapping[str, str]:
    """Return the code of each rule, by name."""
    return {page.stem.partition("-")[2]: code for code, page in _pages().items()}


@cache
def _rule_with(code: str) -> Rule:
    return read_rule(_pages()[code])


def all_rules() -> tuple[Rule, ...]:
    """Return every rule, in order of the codes."""
    return tuple(map(_rule_with, _pages()))


def find_rule(code_or_name: str) -> Rule:
    """Return the rule with a code such as ``AP301``, or with a name. Raises UnknownRuleError."""
    wanted = code_or_name.strip()
    # File names hold code and name, so only one page needs to be read.
    code = wanted.upper() if wanted.upper() in _pages() else _names().get(wanted.lower())
    if code is not None:
        return _rule_with(code)
    number = _digits(wanted)
    # Suggest codes by their number, not by spelling: AP404 and AP405 differ by a character and have
    # different subjects.
    similar = [page for page in _pages() if number and (number in page or _digits(page) in number)]
    hint = spelling_hint(wanted, [*similar, *_names()]) or "'autoparser rule' lists all rules"
    raise UnknownRuleError(f"unknown rule {wanted!r}", hint=hint)


def _digits(code: str) -> str:
    return "".join(filter(str.isdigit, code))


def rules_of(selector: str) -> tuple[Rule, ...]:
    """Return the rules that a code, a prefix such as ``AP3``, a name or ``ALL`` selects.

    Raises UnknownRuleError if it selects nothing.
    """
    wanted = selector.strip().upper()
    if wanted == "ALL":
        return all_rules()
    codes = [code for code in _pages() if len(wanted) > 1 and code.startswith(wanted)]
    return tuple(map(_rule_with, codes)) or (find_rule(selector),)


def rules_for(profile: Profile) -> tuple[Rule, ...]:
    """Return the rules that run in a profile in addition to the default ones."""
    return tuple(rule for rule in all_rules() if profile.value == rule.runs_for)
