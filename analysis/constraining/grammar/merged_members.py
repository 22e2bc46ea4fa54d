"""The members of one of several objects: what all of them begin with is written once.

Of `{city, days}` and `{city, night}` a rule is made for the members after `city` in either: readers
of grammars that never go back could not tell which object is meant before.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypeAlias

from .members import MemberRules
from .paths import Item, Path, joined, without
from .rules import JsonValue, Node, Ref
from .table import RuleTable

_Place: TypeAlias = tuple[int, int]
"""One of the objects, and a place among its members."""


class MergedMembers:
    """Makes the rules for the members of one of several objects in one notation."""

    def __init__(self, table: RuleTable, objects: Sequence[MemberRules]) -> None:
        """Take objects, each with members."""
        self.table, self.objects = table, objects

    def begin(self) -> Ref:
        """Return the rule for all members of one of the objects; at least one is written."""
        if len(self.objects) == 1:
            return self.objects[0].begin()
        return self._state([(each, 0) for each in range(len(self.objects))])

    def _state(self, places: Sequence[_Place], lead: str = "") -> Ref:
        """Return the rule for the members from some places on, after what each begins with."""
        if len(places) == 1:
            ((each, at),) = places
            rules = self.objects[each]
            return rules.led(at) if lead else rules.begin(at)
        key = f"{[self.objects[each].key for each, _ in places]} {places} {lead}"
        return self.table.rule(key, "member", lambda: self._from(places, lead))

    def _from(self, places: Sequence[_Place], lead: str) -> Node:
        """Make the rule for the members from some places on, parted where their texts differ."""
        entries: dict[tuple[object, ...], Path] = {}
        after: dict[tuple[object, ...], list[_Place]] = {}
        for each, at in places:
            for entry, following in self.objects[each].steps(at):
                told = tuple(map(_told, entry))
                entries.setdefault(told, entry)
                after.setdefault(told, []).append((each, following))
        paths: list[Path] = []
        for told, found in after.items():
            entry = entries[told]
            first = self.objects[found[0][0]]
            # Where names are sorted, several members of one object lead to the same place.
            on = sorted({(each, at) for each, at in found if self.objects[each].goes_on(at)})
            if on:
                leads = {self.objects[each].lead(entry) for each, _ in on}
                next_lead = leads.pop() if len(leads) == 1 else ""
                later = self._state(on, next_lead)
                paths.append(joined(*entry, first.container.separator, next_lead, later))
            if any(self.objects[each].may_end(at) for each, at in found):
                paths.append(joined(*entry, first.close))
        return self.table.brancher.branch([without(path, lead) if lead else path for path in paths])


def _told(item: Item) -> object:
    """Return what is equal for values of equal schemas."""
    return (json.dumps(item.schema), item.style) if isinstance(item, JsonValue) else item
