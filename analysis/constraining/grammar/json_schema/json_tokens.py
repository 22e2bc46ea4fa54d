"""The tokens of JSON as GBNF rules: brackets, separators, words, names of members.

llguidance joins rules that hold no recursion to one regular expression each, and its lexer takes
the longest match. Two objects in a choice, one of them recursive, would then be one long token
against a ``{``, and the wrong one would win. So every bracket and separator ends in a seam
(`GbnfRules.seam`): whatever holds a bracket stays a rule, and the tokens that compete are those of
JSON, of which none but a number is the beginning of another.
"""

from __future__ import annotations

from dataclasses import dataclass

from .characters import Quoting
from .gbnf_rules import GbnfRules, literal

DEEPEST_LINE = 24
"""Levels of indentation at most."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The names of the rules, which are allocated when they are first asked for."""

    rules: GbnfRules
    item_separator: str = ", "
    key_separator: str = ": "
    quoting: Quoting = Quoting.JSON
    indent: str = ""
    """What one level adds to a line; empty: all stands on one line."""

    @property
    def begin_object(self) -> str:
        """Opens an object."""
        return self._bracket("begin-object", "{", after=self._line)

    @property
    def end_object(self) -> str:
        """Closes an object."""
        return self._bracket("end-object", "}", before=self._line)

    @property
    def begin_array(self) -> str:
        """Opens an array."""
        return self._bracket("begin-array", "[", after=self._line)

    @property
    def end_array(self) -> str:
        """Closes an array."""
        return self._bracket("end-array", "]", before=self._line)

    @property
    def comma(self) -> str:
        """Stands between items or members."""
        return self._bracket("comma", self.item_separator, after=self._line)

    @property
    def colon(self) -> str:
        """Stands between a member's name and its value."""
        return self._bracket("colon", self.key_separator)

    def string(self, text: str) -> str:
        """Return a literal for one string."""
        return literal(f'"{self.quoting.text(text)}"')

    @property
    def _line(self) -> str:
        """A line break and its indentation, where lines are broken; how deep it is is left open."""
        if not self.indent:
            return ""
        return self.rules.add("line", f'("\\n" ({literal(self.indent)}){{0,{DEEPEST_LINE}}})?')

    def _bracket(self, wish: str, text: str, before: str = "", after: str = "") -> str:
        parts = (before, literal(text), after, self.rules.seam)
        return self.rules.add(wish, " ".join(filter(None, parts)))
