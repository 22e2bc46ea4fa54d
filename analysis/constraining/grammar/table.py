"""The named rules of a grammar while it is made."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache

from autoparser.analysis.core.schema import SchemaError
from autoparser.analysis.loading.tokens import OpaqueTokens

from .paths import Brancher
from .rules import NOTHING, Node, Ref


class RuleTable:
    """Gives each rule a name, once; a rule may refer to itself while it is made."""

    def __init__(
        self,
        opaque: OpaqueTokens,
        named: Mapping[str, Node] | None = None,
        *,
        names_alone: bool = False,
    ) -> None:
        """Begin with these rules; no rule may cut an opaque token.

        With `names_alone`, an object that names members and says nothing of others has no others.
        """
        self.names_alone = names_alone
        self.brancher = Brancher(opaque)
        self.named: dict[str, Node] = dict(named or {})
        self.scope = ""
        """The function whose call is being made: its rules are named after it."""
        self.tools: dict[str, str] = {}
        """The function whose call a rule was made for; others may share it."""
        self._known: dict[Hashable, Ref] = {}
        self._numbers: dict[Hashable, int] = {}
        self._taken: dict[str, int] = {}

    def rule(self, key: Hashable, hint: str, make: Callable[[], Node]) -> Ref:
        """Give the rule of a key; `make` makes it where there is none, `hint` says it in words."""
        known = self._known.get(key)
        if known is not None:
            return known
        ref = Ref(self._free(_name(self.scope, hint)))
        if self.scope:
            self.tools[ref.name] = self.scope
        self._known[key] = ref
        self.named[ref.name] = NOTHING
        try:
            self.named[ref.name] = make()
        except SchemaError:
            # Another tool that shares it is refused as well.
            del self._known[key]
            raise
        return ref

    def number(self, key: Hashable) -> int:
        """Return the number of a key: shorter than what it stands for, where many rules have it."""
        return self._numbers.setdefault(key, len(self._numbers))

    def _free(self, name: str) -> str:
        """Find a name that no rule has."""
        number = self._taken[name] = self._taken.get(name, 0) + 1
        if number == 1 and name not in self.named:
            return name
        return self._free(f"{name}-{number}")


def _name(*hints: str) -> str:
    """Return a name that every target takes: lower case letters, digits, single dashes."""
    name = "-".join(filter(None, map(_words, hints))) or "rule"
    return name if name[0].isalpha() else f"r-{name}"


@lru_cache(maxsize=2048)
def _words(hint: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", hint.lower()).strip("-")
