"""A request as a structural tag, in the form that xgrammar has documented today (0.2.8).

Where the model may call or not, text is free and a trigger begins a tag (``triggered_tags``). Where
something is asked of the answer, that a call is made, that none or only one is, that content is
JSON, text free of everything would not hold it: then the tag has the rows of the format themselves,
each of them a sequence. The end of the turn may be written, or left to the engine's stop token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Literal, Part
from autoparser.analysis.loading.tokens import OpaqueTokens
from autoparser.analysis.reading.expression import Body, Start, StrictItem, StrictRow, Turn

from .call_tags import CallTags, TagFormat, constant, either, in_row, json_tag
from .table import RuleTable
from .triggers import GrammarTrigger
from .turn_rules import TurnRules

_Item: TypeAlias = StrictItem | Literal
"""An item of a row, or the end of the turn as the last one."""
_Items: TypeAlias = tuple[_Item, ...]


def write_structural_tag(
    turn: Turn,
    tools: Mapping[str, Json],
    triggers: Sequence[GrammarTrigger],
    *,
    parallel: bool = True,
    required: bool = False,
    json_schema: Json = None,
) -> dict[str, Json]:
    """Write what a model may write as a structural tag.

    Raises GrammarError for arguments that no tag can say, as the other forms do; SchemaError for
    schemas that cannot be read.
    """
    rules = TurnRules(
        turn, tools, RuleTable(OpaqueTokens()), parallel=parallel, json_schema=json_schema
    )
    calls = turn.strict.calls
    if not any(row.has(Part.CALLS) for row in turn.strict.rows):
        calls = None
    tags = None
    if calls is not None:
        tags = CallTags(calls, tools, parallel=parallel, stops=rules.call_stops(calls))
    found = None
    if tags is not None and parallel and not required and json_schema is None:
        found = _triggered(turn, tags, triggers)
    return {
        "type": "structural_tag",
        "format": found or _RowTags(rules, tags, triggers, json_schema).either(turn.strict.rows),
    }


def _triggered(turn: Turn, tags: CallTags, triggers: Sequence[GrammarTrigger]) -> TagFormat | None:
    """Write tags that may stand anywhere in free text; None where no texts tell them from it."""
    section = tags.section()
    if section is None and tags.calls.section_open.strip():
        # Of calls that nothing closes xgrammar cannot tell where they end.
        return None
    texts = [trigger.value for trigger in triggers if trigger.is_word]
    found = tags.single(texts) if section is None else [section]
    known = [[text for text in texts if str(tag["begin"]).startswith(text)] for tag in found]
    if len(texts) < len(triggers) or any(len(each) != 1 for each in known):
        return None
    calling: TagFormat = {"type": "triggered_tags", "triggers": [*texts], "tags": [*found]}
    return in_row([*_thought(turn), calling])


def _thought(turn: Turn) -> list[TagFormat]:
    """Write the reasoning that a model may begin with: a trigger in it begins no call."""
    reasoning = turn.reasoning
    if reasoning is None or not reasoning.close.core or turn.start is Start.CONTENT:
        return []
    begin = "" if turn.start is Start.REASONING else reasoning.open.core
    thought: TagFormat = {
        "type": "tag",
        "begin": begin,
        "content": {"type": "any_text"},
        "end": reasoning.close.core,
    }
    return [{"type": "optional", "content": thought}]


@dataclass(frozen=True, slots=True)
class _RowTags:
    """Writes the rows of a format."""

    rules: TurnRules
    tags: CallTags | None
    triggers: Sequence[GrammarTrigger]
    json_schema: Json

    def either(self, rows: Sequence[StrictRow]) -> TagFormat:
        """Write one of several rows; what they have alike around their calls is written once."""
        if self.json_schema is not None:
            # An answer without content is not JSON.
            rows = [row for row in rows if row.has(Part.CONTENT) or row.has(Part.CALLS)]
        heads: dict[_Items, list[_Items]] = {}
        for row in rows:
            at = next((at for at, item in enumerate(row.items) if _is_calls(item)), len(row.items))
            heads.setdefault((*row.items[at:], row.end), []).append(row.items[:at])
        tails: dict[tuple[_Item, tuple[_Items, ...]], list[_Items]] = {}
        for (middle, *rest), before in heads.items():
            tails.setdefault((middle, tuple(before)), []).append(tuple(rest))
        return either(
            [
                in_row([self._parted(before), *self._written(middle), self._parted(after)])
                for (middle, before), after in tails.items()
            ]
        )

    def _parted(self, rows: Sequence[_Items]) -> TagFormat:
        """Write one of several rows of items, which part where they differ."""
        behind: dict[_Item, list[_Items]] = {}
        for row in rows:
            if row:
                behind.setdefault(row[0], []).append(row[1:])
        options = [
            in_row([*self._written(first), self._parted(rest)]) for first, rest in behind.items()
        ]
        some = [option for option in options if option != constant("")]
        if not some:
            return constant("")
        one = either(some)
        return (
            {"type": "optional", "content": one} if len(some) < len(options) + (() in rows) else one
        )

    def _written(self, item: _Item) -> list[TagFormat]:
        return self._end(item) if isinstance(item, Literal) else [self._item(item)]

    def _item(self, item: StrictItem) -> TagFormat:
        if isinstance(item, str):
            return constant(item)
        match item.part:
            case Part.CALLS if self.tags is not None:
                return self.tags.whole(item.begun)
            case Part.CONTENT if self.json_schema is not None:
                return json_tag(self.rules.json_content)
            case Part.REASONING:
                # In reasoning that a text closes, a trigger is a word like others.
                block = self.rules.turn.reasoning
                closed = block is not None and block.close.core
                return _text(self.rules.in_reasoning, () if closed else self.triggers)
            case _:
                return _text(self.rules.in_content, self.triggers)

    def _end(self, end: Literal) -> list[TagFormat]:
        """Write the end of a turn, which an engine may take for itself."""
        if not end.text:
            return []
        rest: list[TagFormat] = []
        if end.after:
            rest = [{"type": "optional", "content": constant(end.after)}]
        ended = in_row([constant(f"{end.before}{end.core}"), *rest])
        return [{"type": "optional", "content": ended}]


def _text(marks: Sequence[str], triggers: Sequence[GrammarTrigger]) -> TagFormat:
    """Write free text without marks, and without what begins calls."""
    texts = (*marks, *(trigger.text for trigger in triggers if trigger.text))
    return {"type": "any_text", "excludes": [*dict.fromkeys(texts)]}


def _is_calls(item: StrictItem) -> bool:
    return isinstance(item, Body) and item.part is Part.CALLS
