"""Arrays: items by position, then items of one kind, in some number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema import Schema, below, count, schemas_of

from .counted_repetition import repeated
from .json_tokens import Tokens
from .unwritable import unwritable


@dataclass(frozen=True, slots=True)
class Items:
    """What an array may hold."""

    leading: Sequence[str | None]
    """Expressions of the first items; None: there is no such value, so the array ends before."""
    others: str | None
    least: int
    most: int | None

    def expression(self, tokens: Tokens) -> str | None:
        """Return the array's expression; None where no array has these items."""
        leading = [*self.leading]
        most = self.most
        if None in leading:
            end = leading.index(None)
            leading, most = leading[:end], end if most is None else min(most, end)
        elif self.others is None:
            most = len(leading) if most is None else min(most, len(leading))
        if most is not None and most < self.least:
            return None
        body = self._behind(leading, most, tokens)
        return " ".join(filter(None, [tokens.begin_array, body, tokens.end_array]))

    def _behind(self, leading: Sequence[str | None], most: int | None, tokens: Tokens) -> str:
        """Return what stands between the brackets."""
        if most is not None:
            leading = leading[:most]
        body = self._tail(len(leading), most, tokens)
        for at in range(len(leading) - 1, -1, -1):
            separator = f"{tokens.comma} " if at else ""
            body = f"{separator}{leading[at]} {body}".rstrip()
            if at >= self.least:
                body = tokens.rules.add("items", f"({body})?")
        return body

    def _tail(self, count: int, most: int | None, tokens: Tokens) -> str:
        """Return the items after the leading ones, of which there are `count`."""
        room = None if most is None else most - count
        if self.others is None or room == 0:
            return ""
        least = max(0, self.least - count)
        behind = tokens.rules.add("next-item", f"{tokens.comma} {self.others}")
        if count:
            return repeated(behind, least, room, tokens.rules)
        rest = repeated(behind, max(0, least - 1), None if room is None else room - 1, tokens.rules)
        body = self.others if rest == '""' else f"{self.others} {rest}"
        return body if least else f"({body})?"


def items_of(schema: Schema, pointer: str, value: Callable[[Json, str], str | None]) -> Items:
    """Read the items of a flat schema; `value` writes the schema of one.

    Raises SchemaError for items that must differ.
    """
    most = count(schema, "maxItems")
    if schema.get("uniqueItems") and (most is None or most > 1):
        raise unwritable("uniqueItems", pointer, "each item would have to differ from all before")
    place = below(pointer, "prefixItems")
    leading = [
        value(item, below(place, at)) for at, item in enumerate(schemas_of(schema, "prefixItems"))
    ]
    others = value(schema.get("items", True), below(pointer, "items"))
    return Items(leading, others, count(schema, "minItems") or 0, most)
