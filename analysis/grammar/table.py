"""The named rules of a grammar while it is made."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from .paths import Brancher
from .rules import NOTHING, Node, Ref


class RuleTable:
    """Gives each rule a name, once; a rule may refer to itself while it is made."""

    def __init__(self, atoms: Sequence[str] = ()) -> None:
        """Begin without rules; `atoms` are the texts that no rule may cut."""
        self.brancher = Brancher(atoms)
        self.named: dict[str, Node] = {}
        self._known: dict[str, Ref] = {}

    def rule(self, key: str, hint: str, make: Callable[[], Node]) -> Ref:
        """Give the rule of a key; `make` makes it where there is none, `hint` says it in words."""
        known = self._known.get(key)
        if known is not None:
            return known
        ref = Ref(self._free(hint))
        self._known[key] = ref
        self.named[ref.name] = NOTHING
        self.named[ref.name] = make()
        return ref

    def _free(self, hint: str) -> str:
        """Find a name that every target takes: lower case letters, digits, single dashes."""
        name = re.sub(r"[^a-z0-9]+", "-", hint.lower()).strip("-") or "rule"
        name = name if name[0].isalpha() else f"r-{name}"
        if name not in self.named:
            return name
        number = 2
        while f"{name}-{number}" in self.named:
            number += 1
        return f"{name}-{number}"
