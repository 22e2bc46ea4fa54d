"""Write a request as a structural tag, in the form that xgrammar documents (0.2.8).

If the model may choose to call, text is free and a trigger begins a tag (``triggered_tags``). If
something is required of the answer (a call, no call or only one, content in JSON), text without any
constraint would not hold it: then the tag has the rows of the format themselves, each of them a
sequence. The end of the turn is the engine's: it masks the tokens that end an answer inside a tag.

With a tokenizer, a marker that is one of its tokens is that token alone. As text, a mask would let
a model spell it in others, which is content to who reads ids. `<tool_call>{` is

    {"type": "token", "token": 151657}, {"type": "const_string", "value": "{"}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet
from typing import TypeAlias, cast

from msgspec import Struct

from autoparser.analysis.core.call_format import CallFormat, CallLimit
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.text_alignment import TemplateLiteral
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.parsing.turn_nodes import (
    PartBody,
    StrictItem,
    StrictRow,
    TurnStart,
    TurnTree,
)
from autoparser.analysis.sources.token_bytes import OpaqueTokens

from .call_triggers import GrammarTrigger
from .call_writer import CallWriter, HeaderTail
from .gbnf_rules import gbnf_literal, join_alternatives
from .gbnf_writer import ARGUMENT, NO_TOKENS, GbnfWriter, SchemaTable, gbnf_row, plain_regex
from .grammar_rules import FreeProse, GrammarRules, JsonValue, Node, items_of, references_in
from .regex_nodes import Regex, RegexRepeat, RegexSequence
from .rule_paths import leading_text, without_prefix
from .rule_table import RuleTable
from .schema_survey import unwritable_keyword
from .turn_rules import TurnRules, heads_of_turns

# The calls of a request in a structural tag: one grammar for all of them.
#
# It is in xgrammar's EBNF. Common parts of tools, such as a text up to its close, are one rule,
# which xgrammar compiles once: a tag for each tool would repeat the states of such texts in each.


TagFormat: TypeAlias = dict[str, Json]
"""One of the formats that a structural tag is made of."""


class CallTags:
    """Writes the calls of one request."""

    def __init__(
        self,
        calls: CallFormat,
        tools: Mapping[str, Json],
        elements: TagElements,
        *,
        parallel: bool,
        stops: Sequence[str],
        header: HeaderTail | None = None,
    ) -> None:
        """Store a format's calls and the tools; `stops` and `header` as in a `CallWriter`."""
        self.calls, self.tools, self._stops, self._header = calls, tools, stops, header
        self.elements = elements
        self.many = parallel and calls.limit is CallLimit.MANY

    def whole(self, section_begun: str = "") -> TagFormat:
        """Write the section of calls without the part `section_begun` by the prompt."""
        table = RuleTable(self.elements.tokens, names_alone=True)
        writer = self._writer(table, self.tools, parallel=self.many)
        root = table.brancher.branch(writer.ways([()], section_begun))
        for name, first in writer.open.items():
            writer.fill(name, first=first)
        return self.elements.grammar(root, table)

    def section(self) -> TagFormat | None:
        """Write all calls as one tag, or None if no section opens before and closes after them."""
        opened = self.calls.section_open
        # Free text follows a tag, so something has to end the calls.
        if not opened.strip() or not self.calls.section_close.strip():
            return None
        return _tag(opened.lstrip(), self.whole(opened))

    def single(self, triggers: Sequence[str]) -> list[TagFormat]:
        """Write tags of one call each, which may stand anywhere in free text.

        It is one tag for all tools if they begin alike with one of the triggers.
        """
        whole = self._alike(self.tools)
        if any(str(whole["begin"]).startswith(trigger) for trigger in triggers):
            return [whole]
        return [self._alike({name: schema}) for name, schema in self.tools.items()]

    def _alike(self, tools: Mapping[str, Json]) -> TagFormat:
        """Write one call of any of some tools as a tag: their common beginning, and the rest."""
        table = RuleTable(self.elements.tokens, names_alone=True)
        paths = self._writer(table, tools, parallel=False).call_paths(first=False)
        begin = table.brancher.shared([leading_text(path) for path in paths])
        rests = [without_prefix(path, begin) if begin else path for path in paths]
        root = table.brancher.branch(rests)
        return _tag(begin.lstrip(), self.elements.grammar(root, table))

    def _writer(self, table: RuleTable, tools: Mapping[str, Json], *, parallel: bool) -> CallWriter:
        return CallWriter(
            table, self.calls, tools, parallel=parallel, stops=self._stops, header=self._header
        )


def _tag(begin: str, content: TagFormat) -> TagFormat:
    return {"type": "tag", "begin": begin, "content": content, "end": ""}


def _token_tag(number: int) -> TagFormat:
    return {"type": "token", "token": number}


def constant_tag(text: str) -> TagFormat:
    """Write a fixed text, whichever tokens spell it."""
    return {"type": "const_string", "value": text}


def sequence_tag(elements: Sequence[TagFormat]) -> TagFormat:
    """Put formats one after the other, without empty texts."""
    found: list[Json] = [element for element in elements if element != constant_tag("")]
    match found:
        case []:
            return constant_tag("")
        case [dict(only)]:
            return only
        case _:
            return {"type": "sequence", "elements": found}


def choice_tag(options: Sequence[TagFormat]) -> TagFormat:
    """Write one of several formats."""
    found: list[Json] = []
    for option in options:
        if option not in found:
            found.append(option)
    return {"type": "or", "elements": found} if len(found) > 1 else options[0]


def json_tag(value: JsonValue) -> TagFormat:
    """Write a JSON value as a grammar of its own, in the spacing of the format.

    xgrammar 0.2.8 reads a ``json_schema`` otherwise than the other forms do: an object that says
    nothing of other members has none, a string with a length or a pattern has no escapes, of a
    format and a pattern one is held, and what it does not know it leaves out in silence.
    """
    return TagElements(exact=True).grammar(value, RuleTable(NO_TOKENS))


class _TagTable(SchemaTable):
    """Rules as xgrammar reads them: no pattern needs to be kept from being read as a whole.

    A name that is none of the declared ones takes a state for each of their characters, and each
    state takes xgrammar some 50 ms to compile. So objects are open only where their schema says so.
    """

    names_alone = True
    calls_itself = True

    def __init__(self, *, exact: bool) -> None:
        """Store whether lengths are held whatever they cost (see `TagElements`)."""
        super().__init__()
        self.longest_count = None if exact else _COUNTED

    @property
    def seam(self) -> str:
        return '""'

    def text(self, root: str) -> str:
        return "".join(f"{name} ::= {body}\n" for name, body in (("root", root), *self))


_COUNTED = 2
"""The largest length of a text that is counted where a schema need not be held."""


class _TagWriter(GbnfWriter):
    """Writes rules as xgrammar's EBNF, which can say "any text but these" (``TagDispatch``)."""

    def text_states(
        self,
        prose: FreeProse,
        thens: Mapping[str, Sequence[str]],
        ends: Sequence[str],
        taken_chars: AbstractSet[str],
    ) -> str:
        if prose.is_filled_argument and self.table.longest_count is not None:
            raise unwritable_keyword(
                "minLength",
                prose.pointer,
                "xgrammar takes seconds to compile a non-empty text",
            )
        return super().text_states(prose, thens, ends, taken_chars)

    def _choice(self, options: Sequence[Node]) -> str:
        """Write alternatives; words that all of their patterns begin with are written once.

        If any word may precede the name in an id, each tool would have states of its own for it.
        """
        rows = [items_of(option) for option in options]
        regexes = [plain_regex(first) for first, *_ in rows]
        parts = [regex.parts for regex in regexes if isinstance(regex, RegexSequence)]
        leads = {part[0] if _is_words(part) else None for part in parts}
        lead = leads.pop() if len(leads) == 1 else None
        if lead is None or len(parts) < len(rows):
            return super()._choice(options)
        ways = [
            gbnf_row(self.table.bare(RegexSequence(tuple(rest))), self._row(behind))
            for (_, *rest), (_, *behind) in zip(parts, rows, strict=True)
        ]
        return gbnf_row(self.table.add("id", self.table.bare(lead)), join_alternatives(ways))

    def is_common(self, prose: FreeProse) -> bool:
        del prose
        return True

    def common_text(
        self, part: str, texts: tuple[str, ...], barred: AbstractSet[str], *, is_filled: bool
    ) -> str:
        # Readers strip other texts and omit empty ones; states for that take xgrammar seconds.
        if part != ARGUMENT:
            barred, is_filled = frozenset(), False
        return super().common_text(part, texts, barred, is_filled=is_filled)

    def close(self, text: str) -> str:
        return self.literal(text)

    def token(self, number: int) -> str:
        return f"Token({number})"

    def any_text_but(self, texts: Sequence[str]) -> str:
        # Places list them in another order, and share a rule.
        kept_out = ", ".join(map(gbnf_literal, sorted(texts)))
        return f"TagDispatch(loop_after_dispatch=false, excludes=({kept_out}))"


def _is_words(parts: Sequence[Regex]) -> bool:
    """Return whether the first part repeats a sequence, unlike the sign or digits of a number."""
    first = parts[0] if parts else None
    return isinstance(first, RegexRepeat) and isinstance(first.item, RegexSequence)


def write_ebnf(rules: GrammarRules, *, exact: bool) -> str:
    """Write a grammar in xgrammar's EBNF, its root as `root`; raises as a tag does.

    `exact` is that of `TagElements`.
    """
    return _TagWriter(rules, _TagTable(exact=exact)).write()


class TagElements(Struct, frozen=True):
    """Writes the elements of a tag: texts and grammars, their markers as tokens where known."""

    tokens: OpaqueTokens = NO_TOKENS
    """The markers that are tokens of the tokenizer, such as ``<tool_call>``."""
    exact: bool = True
    """Whether lengths are held whatever they cost, e.g. of {"maxLength": 5}.

    xgrammar 0.2.7 and 0.2.8 take 80 ms to compile each character of a text that is counted, or as
    much for a mask. Of a text that is not empty, the states of what may close it take seconds.
    """

    def text(self, text: str) -> TagFormat:
        """Write a fixed text."""
        return sequence_tag(
            [
                constant_tag(piece) if isinstance(piece, str) else _token_tag(piece)
                for piece in self.tokens.pieces(text)
            ]
        )

    def edge(self, text: str) -> Json:
        """Write the beginning or the end of a tag: a token if the text is one."""
        number = self.tokens.ids.get(text)
        return text if number is None else _token_tag(number)

    def grammar(self, root: Node, rules: RuleTable) -> TagFormat:
        """Write a node as a grammar in GBNF, with the rules that it needs."""
        needed: dict[str, Node] = {}
        waiting = [root]
        # Each grammar in a tag stands alone, so it brings the rules that it needs and no others.
        while waiting:
            for name in references_in(waiting.pop()):
                if name not in needed:
                    needed[name] = rules.rules_by_name[name]
                    waiting.append(needed[name])
        table = _TagTable(exact=self.exact)
        return {
            "type": "grammar",
            "grammar": _TagWriter(
                GrammarRules(root, needed, rules.tools), table, self.tokens
            ).write(),
        }


_Item: TypeAlias = StrictItem | TemplateLiteral
"""An item of a row, or the end of the turn as the last one."""
_Items: TypeAlias = tuple[_Item, ...]


def write_structural_tag(
    turns: Sequence[TurnTree],
    tools: Mapping[str, Json],
    triggers: Sequence[Sequence[GrammarTrigger]],
    *,
    parallel: bool = True,
    required: bool = False,
    json_schema: Json = None,
    content: TagFormat | None = None,
    elements: TagElements,
    free: bool = False,
) -> dict[str, Json]:
    """Write a request's answers as a structural tag: by any of some turns, each with its triggers.

    `content` is what its content has to be, in place of the schema; `elements` decide whether
    lengths that take xgrammar long raise UnheldKeywordError. `free` is that of `rules_of`.

    Raises GrammarError for arguments that no tag can say, as the other forms do; SchemaError for
    schemas that cannot be read.
    """
    heads = heads_of_turns(turns, tools)
    found: list[TagFormat] = []
    for turn, begins in zip(turns, triggers, strict=True):
        rules = TurnRules(
            turn,
            tools,
            RuleTable(elements.tokens),
            parallel=parallel,
            json_schema=json_schema,
            free=free,
            all_heads=heads,
        )
        found.append(_turn_tag(rules, tools, begins, content, elements, required=required))
    return {"type": "structural_tag", "format": choice_tag(found)}


def _turn_tag(
    rules: TurnRules,
    tools: Mapping[str, Json],
    triggers: Sequence[GrammarTrigger],
    content: TagFormat | None,
    elements: TagElements,
    *,
    required: bool,
) -> TagFormat:
    """Return the tag of a turn: triggered calls in free text if possible, else its rows."""
    turn, parallel, json_schema = rules.turn, rules.parallel, rules.json_schema
    calls = turn.strict.calls
    if not any(row.has(TurnPart.CALLS) for row in turn.strict.rows):
        calls = None
    if content is None and json_schema is not None:
        content = json_tag(rules.json_content)
    tags = None
    if calls is not None:
        stops, header = rules.call_stops(calls), rules.header_tail
        tags = CallTags(calls, tools, elements, parallel=parallel, stops=stops, header=header)
    found = None
    if tags is not None and parallel and not required and json_schema is None:
        found = _triggered_tags(turn, tags, triggers)
    rows = _RowTags(rules, elements, tags, triggers, content)
    return found or rows.one_of_rows(rules.rows())


def _triggered_tags(
    turn: TurnTree, tags: CallTags, triggers: Sequence[GrammarTrigger]
) -> TagFormat | None:
    """Return tags triggered anywhere in free text, or None if no trigger is unambiguous."""
    section = tags.section()
    if section is None and tags.calls.section_open.strip():
        # xgrammar cannot find the end of calls without a closer.
        return None
    texts = [trigger.value for trigger in triggers if trigger.is_word]
    found = tags.single(texts) if section is None else [section]
    known = [[text for text in texts if str(tag["begin"]).startswith(text)] for tag in found]
    # A trigger that is a pattern, or two for one tag, cannot be said in `triggered_tags`.
    if len(texts) < len(triggers) or any(len(begun) != 1 for begun in known):
        return None
    elements = tags.elements
    thought = _reasoning_tag(turn, elements)
    calling: TagFormat = {"type": "triggered_tags", "triggers": [*texts], "tags": [*found]}
    # In free text, xgrammar (0.2.8) takes a token for text, and ignores the token of the same name.
    if all(text in elements.tokens.ids for text in texts) and not (
        thought and not thought["begin"]
    ):
        calling = _by_token(found, texts, elements)
    optional: list[TagFormat] = [{"type": "optional", "content": thought}] if thought else []
    return sequence_tag([*optional, calling])


def _by_token(
    tags: Sequence[TagFormat], triggers: Sequence[str], elements: TagElements
) -> TagFormat:
    """Write free text in which a trigger begins a tag as a token: spelled, it is text."""
    return {
        "type": "token_triggered_tags",
        "trigger_tokens": [elements.tokens.ids[trigger] for trigger in triggers],
        "tags": [_begun_by_token(tag, triggers, elements) for tag in tags],
    }


def _begun_by_token(tag: TagFormat, triggers: Sequence[str], elements: TagElements) -> TagFormat:
    begin = str(tag["begin"])
    first = next(trigger for trigger in triggers if begin.startswith(trigger))
    content = sequence_tag([elements.text(begin[len(first) :]), cast("TagFormat", tag["content"])])
    return {**tag, "begin": elements.edge(first), "content": content}


def _reasoning_tag(turn: TurnTree, elements: TagElements) -> TagFormat | None:
    """Write the reasoning that a model may begin with: a trigger in it begins no call."""
    reasoning = turn.reasoning
    if reasoning is None or not reasoning.close.core or turn.rows_start is TurnStart.CONTENT:
        return None
    close, opened = reasoning.close.core, turn.rows_start is TurnStart.REASONING
    return {
        "type": "tag",
        "begin": "" if opened else elements.edge(reasoning.open.core),
        "content": {"type": "any_text", "excludes": [close]},
        "end": elements.edge(close),
    }


class _RowTags(Struct, frozen=True):
    """Writes the rows of a format."""

    rules: TurnRules
    """The writer of the turn's rules, for the parts that become grammars, e.g. the arguments of a
    call."""
    elements: TagElements
    """The writer of texts and of grammars as elements, e.g. of "</think>" as a constant string."""
    tags: CallTags | None
    """The tags of the calls, e.g. one that begins with "<tool_call>", or None if no call may be
    written."""
    triggers: Sequence[GrammarTrigger]
    """The texts that begin a call, e.g. "<tool_call>"."""
    content: TagFormat | None
    """The format of content, e.g. {"type": "grammar", "grammar": "root ::= json"} with its rules,
    or None for free text."""

    def one_of_rows(self, rows: Sequence[StrictRow]) -> TagFormat:
        """Write one of several rows; equal parts around their calls are written once."""
        heads: dict[_Items, list[_Items]] = {}
        for row in rows:
            at = next((at for at, item in enumerate(row.items) if _is_calls(item)), len(row.items))
            # The calls are most of a tag, and their grammar would be compiled once for each row.
            heads.setdefault((*row.items[at:], row.end), []).append(row.items[:at])
        # Rows with the same calls and the same beginnings share both, and branch behind the calls.
        tails: dict[tuple[_Item, tuple[_Items, ...]], list[_Items]] = {}
        for (middle, *rest), before in heads.items():
            tails.setdefault((middle, tuple(before)), []).append(tuple(rest))
        return choice_tag(
            [
                sequence_tag(
                    [
                        self._branched_rows(before),
                        *self._item_tags(middle),
                        self._branched_rows(after),
                    ]
                )
                for (middle, before), after in tails.items()
            ]
        )

    def _branched_rows(self, rows: Sequence[_Items]) -> TagFormat:
        """Write one of several rows of items, which part where they differ."""
        behind: dict[_Item, list[_Items]] = {}
        for row in rows:
            if row:
                behind.setdefault(row[0], []).append(row[1:])
        options = [
            sequence_tag([*self._item_tags(first), self._branched_rows(rest)])
            for first, rest in behind.items()
        ]
        some = [option for option in options if option != constant_tag("")]
        if not some:
            return constant_tag("")
        one = choice_tag(some)
        return (
            {"type": "optional", "content": one} if len(some) < len(options) + (() in rows) else one
        )

    def _item_tags(self, item: _Item) -> list[TagFormat]:
        return self._end(item) if isinstance(item, TemplateLiteral) else [self._item(item)]

    def _item(self, item: StrictItem) -> TagFormat:
        if isinstance(item, str):
            return self.elements.text(item)
        match item.part:
            case TurnPart.CALLS if self.tags is not None:
                return self.tags.whole(item.written_start)
            case TurnPart.CONTENT if self.content is not None:
                return self.content
            case TurnPart.REASONING:
                # In reasoning with a closer, a trigger is an ordinary word.
                block = self.rules.turn.reasoning
                closed = block is not None and block.close.core
                return _free_text(self.rules.in_reasoning, () if closed else self.triggers)
            case _:
                return _free_text(self.rules.in_content, self.triggers)

    def _end(self, end: TemplateLiteral) -> list[TagFormat]:
        """Write the whitespace before the end of a turn, which a model may leave out."""
        return [{"type": "optional", "content": constant_tag(end.text)}] if end.text else []


def _free_text(marks: Sequence[str], triggers: Sequence[GrammarTrigger]) -> TagFormat:
    """Write free text without marks, and without the triggers of calls."""
    texts = (*marks, *(trigger.text for trigger in triggers if trigger.text))
    return {"type": "any_text", "excludes": [*dict.fromkeys(texts)]}


def _is_calls(item: StrictItem) -> bool:
    return isinstance(item, PartBody) and item.part is TurnPart.CALLS
