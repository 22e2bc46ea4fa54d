"""Which rules look, and which findings count: selectors against rules.

A selector is a code such as ``AP301``, the beginning of one such as ``AP3``, a rule's name, or
``ALL``. Where one selects a rule and another ignores it, the one that says more about it decides,
so ``--select AP3 --ignore AP301`` leaves out one rule and ``--select AP301 --ignore AP3`` takes
one; where both say as much, it is ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autoparser.analysis.lint.registry import all_rules, rules_of
from autoparser.analysis.lint.rule import Rule


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
    return frozenset(rule.code for each in selectors for rule in rules_of(each))


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
