"""The table of rules of a GBNF grammar: its own, and those of the schemas in it."""

from __future__ import annotations

from autoparser.analysis.core.conversation import Json

from .call_writer import GrammarError
from .json_schema import GbnfRules, bare_text, schema_rules, text_rules
from .json_schema.regex_nodes import Regex
from .rules import JsonStyle, JsonValue


class SchemaTable(GbnfRules):
    """Writes JSON values by their schemas, and regular expressions, as GBNF rules."""

    def value(self, value: JsonValue) -> str:
        """Return the expression of a JSON value; raises SchemaError where GBNF cannot say it."""
        style = value.style or JsonStyle()
        return schema_rules(
            value.schema,
            self,
            item_separator=style.item_separator,
            key_separator=style.key_separator,
            ascii_only=style.ascii_only,
            indent=style.indent,
        )

    def pattern(self, regex: str) -> str:
        """Return the expression of what a regular expression matches as a whole."""
        schema: Json = {"type": "string", "pattern": f"^(?:{regex})$"}
        expression = text_rules(schema, self)
        if expression is None:
            raise GrammarError(f"GBNF cannot say {regex}", hint="write the grammar as Lark")
        return expression

    def bare(self, regex: Regex) -> str:
        """Return the expression of the texts that a regular expression matches, as they stand."""
        return bare_text(regex, self)
