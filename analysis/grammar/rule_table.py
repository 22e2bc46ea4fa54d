"""The named rules of a grammar under construction.

For example, a rule that is asked for twice is made and named once:

    >>> from autoparser.analysis.grammar.grammar_rules import LiteralNode
    >>> table = RuleTable(OpaqueTokens())
    >>> one = table.rule("city", "City name", lambda: LiteralNode("Oslo"))
    >>> table.rule("city", "City name", lambda: LiteralNode("Oslo")) is one
    True
    >>> table.rules_by_name
    {'city-name': LiteralNode(text='Oslo')}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache

from autoparser.analysis.core.schema_errors import SchemaError
from autoparser.analysis.sources.token_bytes import OpaqueTokens

from .grammar_rules import NOTHING, Node, RulePart, RuleReference
from .rule_paths import Brancher


class RuleTable:
    """Names each rule once; a rule may refer to itself while it is made."""

    def __init__(
        self,
        opaque: OpaqueTokens,
        rules_by_name: Mapping[str, Node] | None = None,
        *,
        names_alone: bool = False,
        mark: str = "",
    ) -> None:
        """Start with these rules; no rule may cut an opaque token.

        `mark` ends the name of each rule, which tells it from those of other tables.

        With `names_alone`, an object that names members and says nothing of others has no others.
        """
        self.names_alone = names_alone
        self.mark = mark
        self.brancher = Brancher(opaque)
        self.rules_by_name: dict[str, Node] = dict(rules_by_name or {})
        self.scope = ""
        """The function whose call is being made: its rules are named after it."""
        self.parts: dict[RulePart, None] = {}
        """The parts that its rules refer to."""
        self.tools: dict[str, str] = {}
        """The function for whose call a rule was made; others may share it."""
        self._references: dict[Hashable, RuleReference] = {}
        self._refused: dict[Hashable, SchemaError] = {}
        """The errors of rules: another tool that shares one is refused as well."""
        self._numbers: dict[Hashable, int] = {}
        self._name_counts: dict[str, int] = {}

    def beside(self) -> RuleTable:
        """Return a table for another format in the same grammar: equal keys are other rules."""
        other = RuleTable(self.brancher.opaque, names_alone=self.names_alone)
        other.rules_by_name, other.tools = self.rules_by_name, self.tools
        # Names have to differ over both formats, since the rules are in one grammar.
        other._name_counts = self._name_counts
        return other

    def of_tool(self, tool: str, mark: str) -> RuleTable:
        """Return an empty table for the rules of one tool."""
        other = RuleTable(self.brancher.opaque, names_alone=self.names_alone, mark=mark)
        # With the same brancher, whose cached nodes depend on the tokens alone.
        other.brancher, other.scope = self.brancher, tool
        return other

    def rule(self, key: Hashable, hint: str, make: Callable[[], Node]) -> RuleReference:
        """Return the rule of a key; if it is new, `make` makes it and `hint` names it."""
        known = self._references.get(key)
        if known is not None:
            return known
        if key in self._refused:
            raise self._refused[key]
        ref = RuleReference(self._free(_name(self.scope, hint, self.mark)))
        if self.scope:
            self.tools[ref.name] = self.scope
        self._references[key] = ref
        # Reserved, in its place in the order, before its body asks for other rules.
        self.rules_by_name[ref.name] = NOTHING
        try:
            self.rules_by_name[ref.name] = make()
        except SchemaError as error:
            # It has no body, so nothing may refer to it.
            del self._references[key]
            self._refused[key] = error
            raise
        return ref

    def number(self, key: Hashable) -> int:
        """Return the number of a key, which keeps keys that contain it short."""
        return self._numbers.setdefault(key, len(self._numbers))

    def _free(self, name: str) -> str:
        """Return an unused name."""
        number = self._name_counts[name] = self._name_counts.get(name, 0) + 1
        if number == 1 and name not in self.rules_by_name:
            return name
        return self._free(f"{name}-{number}")


def _name(*hints: str) -> str:
    """Return a name that every target takes: lower case letters, digits, single dashes."""
    name = "-".join(filter(None, map(_words, hints))) or "rule"
    return name if name[0].isalpha() else f"r-{name}"


@lru_cache(maxsize=2048)
def _words(hint: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", hint.lower()).strip("-")
