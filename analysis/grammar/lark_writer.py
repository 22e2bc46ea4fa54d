"""Write grammar rules as Lark for llguidance, for one tokenizer.

    GrammarRules, OpaqueTokens -> write_lark -> LarkGrammar: text, signs, slices

Quoted text never matches an opaque token of a tokenizer. So each literal is cut at these tokens,
which are written as `<[id]>`.

Free text that an added token closes is one terminal, which ends with the whitespace required
before the token. llguidance computes a mask quickly only while some text at hand may be anything,
so such a place gets a second way that takes any text and leads nowhere: the token is masked until
the right whitespace precedes it, at no cost. Free text that plain text closes is written as
runs between the signs of its close (see `text_stretches`); where it has a pattern or edges of its
own, or closes with a letter, it is a lazy rule. Text that a reader would take for markup is
excluded from both.

Text of counted length uses states of llguidance's lexer, which allows 250,000 for a whole answer
and then cuts that answer: up to 15.7 a character, in six real formats and the vocabularies of Qwen
and DeepSeek. So a bound of more than 10,000 characters is left out. Whether any text of a minimum
length is left llguidance finds by trying, up to between 2,000 and 3,000 characters of free text;
beyond that it does not load the grammar. Where plain text closes a text of bounded length, and
keywords may be enforced in part, characters are counted between signs: in a text that is counted as
a whole, llguidance finds no slice behind a sign.

llguidance reads a grammar symbol by symbol, which is most of the time of loading a small one. So
alternatives that share a text or what follows it are written once:

    >>> grouped_ways([("TEXT", ""), ("TEXT", "END"), ("LINE", "call"), ('""', "END"), ('""', "")])
    ['TEXT? END?', 'LINE call']
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import lru_cache, partial
from math import inf

from msgspec import Struct, structs

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema_errors import SchemaError, UnheldKeywordError, raise_refused
from autoparser.analysis.core.turn_parts import EdgeStrip
from autoparser.analysis.parsing.turn_request import IdentityCache
from autoparser.analysis.sources.token_bytes import OpaqueTokens

from .grammar_rules import (
    DEEPEST_LINE,
    NOTHING,
    ChoiceNode,
    EmbeddedLark,
    FreeProse,
    FreeTextNode,
    GrammarRules,
    JsonStyle,
    JsonValue,
    LiteralNode,
    Node,
    PatternNode,
    ProseExit,
    RepeatNode,
    RulePart,
    RuleReference,
    SequenceNode,
    begins_as_escape,
    inner_nodes,
    items_of,
    sequence_node,
    text_mark,
)
from .regex_nodes import rust_regex
from .schema_guidance import (
    ESCAPES,
    GuidanceSchema,
    ensure_loaded,
    guidance_schema,
    knows_guidance_option,
)
from .schema_survey import unwritable_keyword
from .string_shape import StringShape, ensure_counted
from .string_ways import lark_string, regex_escape
from .text_stretches import (
    StretchedText,
    Symbol,
    TextStep,
    open_texts,
    regex_without,
    text_signs,
    text_until,
    vocabulary_slices,
)

NOTHING_WRITTEN = '""'


def grouped_ways(ways: Iterable[tuple[str, str]]) -> list[str]:
    """Group alternatives that share a text or a continuation; the language stays the same."""
    # `a x`, `b x`, `a y` and `b y` become `(a | b) (x | y)`.
    firsts: dict[str, dict[str, None]] = {}
    for first, rest in ways:
        firsts.setdefault(rest or NOTHING_WRITTEN, {})[first or NOTHING_WRITTEN] = None
    rests: dict[frozenset[str], list[str]] = {}
    for rest, alike in firsts.items():
        rests.setdefault(frozenset(alike), []).append(rest)
    return [
        lark_row(one_of_ways(list(firsts[alike[0]])), one_of_ways(alike))
        for alike in rests.values()
    ]


def one_of_ways(ways: Sequence[str]) -> str:
    """Return one of several alternatives as an element of a sequence."""
    written = [way for way in ways if way != NOTHING_WRITTEN]
    if not written:
        return NOTHING_WRITTEN
    text = " | ".join(written)
    # `a b?` would make only the last symbol optional.
    if len(written) > 1 or (len(ways) > 1 and not _is_symbol(text)):
        text = f"({text})"
    return f"{text}?" if len(written) < len(ways) else text


def lark_row(*parts: str) -> str:
    """Join parts into a sequence."""
    written = [part for part in parts if part and part != NOTHING_WRITTEN]
    return " ".join(written) or NOTHING_WRITTEN


def _is_symbol(text: str) -> bool:
    """Return whether a text is one symbol: a name, a token, or a literal without a blank."""
    return " " not in text and (text[-1].isalnum() or text[-1] in '">')


_TABLES = ("lines", "terminals", "values", "rule_texts", "signs", "pattern_slices", "rules")
"""The tables of a writer that it merges with those of its parts."""
_EDGES: Mapping[EdgeStrip, str] = {
    EdgeStrip.NOTHING: "",
    # After one line break is stripped, the text may still end with another.
    EdgeStrip.NEWLINE: "",
    EdgeStrip.NEWLINES: r"[^\n]",
    # Python strips four separators that a regular expression does not count as whitespace.
    EdgeStrip.WHITESPACE: r"[^\s\x1c-\x1f]",
}
_ANYTHING = "(?s:.*)"
_NOTHING = "/a/ & /b/"
_BYTES = f"~({_NOTHING})"
"""Any bytes, valid text or not. llguidance sees at once that only the empty language is excluded;
with valid text it finds that only by trying all continuations: with a bounded length it counts to
the bound, and gives up at a hundred characters."""
_SHORT = 40
_COUNTED = 10_000
"""The largest maximum length that llguidance is asked to count."""
_NEEDED = 1000
"""The largest minimum length that llguidance is asked to count."""
_AS_JSON = json.JSONEncoder(ensure_ascii=False).encode


class _LarkWriter:
    def __init__(
        self, opaque: OpaqueTokens, *, exact: bool, texts: dict[str, str] | None = None
    ) -> None:
        self.opaque = opaque
        self.exact = exact
        """Whether lengths are enforced that only cost time."""
        self.root = ""
        self.rule_texts: dict[str, str] = {}
        """The text of each rule by its name."""
        self.lines: dict[str, str] = {}
        """The rules of the writer's own."""
        self.terminals: dict[str, str] = {}
        """The texts of terminals by their names."""
        self.texts: dict[str, str] = {} if texts is None else texts
        """Literals as they are written; the writers of parts share them."""
        self.free_places: dict[int, tuple[Node, str]] = {}
        """Places of free text as they are written, by identity: the headers of all tools may share
        one."""
        self.values: dict[str, str] = {}
        """Names of the rules of JSON values, by the names of rules that are nothing else."""
        self.embedded: dict[str, str] = {}
        """Names of whole grammars written by others."""
        self.signs: dict[str, None] = {}
        """The signs between which free text is written in stretches."""
        self.edged = False
        """Whether some text may be any text whose first character is not whitespace."""
        self.pattern_slices: dict[str, None] = {}
        """The slices of made-up names and quoted strings."""
        self.rules: dict[str, Node] = {}
        self.tools: Mapping[str, str] = {}
        """The tool that a rule belongs to, if any."""
        self.in_part: list[tuple[str, UnheldKeywordError]] = []
        """The keywords that are enforced in part, each with its tool."""
        self.unsettled: list[GuidanceSchema] = []
        """Schemas for which llguidance has still to be asked whether it loads them."""
        self.askers: list[str] = []
        """The tool of each of these schemas; empty if it belongs to none."""
        self.tool = ""
        """The tool whose rule is being written."""
        self.open: dict[str, None] | None = None
        """Rules of a part that are being written; None while the rules of a whole list are."""
        self.named: list[str] = []
        """Rules that keep their names, since they were referred to before their text was known."""
        self.plain = True
        """Whether all texts are ASCII. Of forced text, llguidance allows only the tokens that it
        would choose itself, and it chooses others where a token ends within a character.
        """

    def continue_rules(self) -> _LarkWriter:
        """Return a writer that goes on from the rules that this one has written."""
        other = copy(self)
        # Copy the tables, so that additions do not change this writer's.
        for name, value in vars(self).items():
            if type(value) in (dict, list):
                setattr(other, name, copy(value))
        return other

    def take(self, rules: GrammarRules) -> _LarkWriter:
        """Write the root, and the rules that are not written yet."""
        self.rules, self.tools = dict(rules.rules_by_name), rules.tools
        refused: list[tuple[str, SchemaError]] = []
        for part in rules.parts:
            try:
                self._absorb(part)
            except SchemaError as error:
                refused.append((part.tool, error))
        self.root = self.root or self.body(rules.root)
        # JSON values are written where they are referred to, so that equal ones share a rule.
        for name, node in rules.rules_by_name.items():
            if name not in self.rule_texts and not isinstance(node, JsonValue):
                self.tool = rules.tools.get(name, "")
                try:
                    self.rule_texts[name] = self.body(node)
                except SchemaError as error:
                    refused.append((self.tool, error))
        raise_refused(refused)
        # At once for all schemas, so that one error names every tool that is refused.
        ensure_loaded(self.unsettled, self.askers)
        return self

    def _absorb(self, part: RulePart) -> None:
        """Add the Lark of a part; parts share the names of equal rules and terminals."""
        made = partial(_LarkWriter, self.opaque, exact=self.exact, texts=self.texts)
        written = _PARTS.of((part,), self.exact, lambda: made().take_part(part))
        own, others = vars(self), vars(written)
        for table in _TABLES:
            if others[table]:
                own[table].update(others[table])
        if written.unsettled:
            self.unsettled += written.unsettled
            self.askers += [part.tool] * len(written.unsettled)
        if written.in_part:
            self.in_part += [(part.tool, error) for _, error in written.in_part]
        self.edged |= written.edged
        self.plain &= written.plain

    def take_part(self, part: RulePart) -> _LarkWriter:
        """Write the rules of a part, those first that others refer to."""
        self.rules, self.open = dict(part.rules_by_name), {}
        for inner in part.parts:
            self._absorb(inner)
        for name in part.entries:
            self.reference(name)
        for name in self.named:  # which grows
            if name not in self.rule_texts:
                self.open = {name: None}
                self.rule_texts[name] = self.body(self.rules[name])
        # Parts are cached for long; these literals belong to a whole list of tools.
        self.texts = {}
        return self

    def _of_part(self, name: str, node: Node) -> str:
        """Return the name of a rule of a part, made from its text unless it refers to itself.

        So the name is the same in every list, and for every tool with this rule.
        """
        if self.open is None:
            return _rule(name)
        # It contains itself, or lies too deep: it keeps its name, and `take_part` writes it later.
        if name in self.open or len(self.open) > _DEEPEST:
            self.named.append(name)
            return _rule(name)
        self.open[name] = None
        body = self.body(node)
        del self.open[name]
        if name in self.named:
            self.rule_texts[name] = body
            return _rule(name)
        return self.rule("rule", body)

    def body(self, node: Node) -> str:
        """Return the body of a rule."""
        if isinstance(node, ChoiceNode) and node.options:
            return " | ".join(self._options(node.options))
        if isinstance(node, FreeTextNode):
            return " | ".join(self.free_text(node))
        return self.node(node)

    def write(self) -> str:
        """Return the whole grammar."""
        options = "{}" if self.plain else '{"no_forcing": true}'
        lines = [f"%llguidance {options}", "", f"start: {self.root}"]
        lines += [f"{_rule(name)}: {text}" for name, text in self.rule_texts.items()]
        lines += [f"{name}{text}" for name, text in self.lines.items()]
        lines += [f"{name}: {text}" for name, text in self.terminals.items()]
        return "\n".join(lines) + "\n"

    def node(self, node: Node) -> str:
        """Write a node."""
        match node:
            case RuleReference(name):
                return self.reference(name)
            case SequenceNode(items):
                return self._row(items)
            case LiteralNode(text):
                return self.text(text)
            case ChoiceNode(options):
                return self._alternatives(self._options(options))
            case RepeatNode(inner, least, most):
                # Lark repeats a symbol, so the node needs a name.
                repeated = self.rule("again", self.node(inner))
                return f"{repeated}{{{least},{'' if most is None else most}}}"
            case EmbeddedLark(lark):
                return f"@{self.embedded.setdefault(lark, f'embedded_{len(self.embedded)}')}"
            case JsonValue(schema, style):
                return self.json(schema, style)
            case PatternNode():
                return self._pattern(node)
            case FreeTextNode():
                return self._free_place(node)

    def reference(self, name: str) -> str:
        """Return the name of a rule; a JSON value already has its schema's."""
        known = self.values.get(name)
        if known is None:
            target = self.rules.get(name)
            if isinstance(target, JsonValue):
                self.tool = self.tools.get(name, self.tool)
                known = self.values[name] = self.node(target)
            elif target is None or self.open is None:
                return _rule(name)
            else:
                known = self._of_part(name, target)
                if name not in self.open:
                    self.values[name] = known
        return known

    def _row(self, items: Sequence[Node]) -> str:
        """Write nodes as a sequence.

        A pattern whose escapes begin like the text after it becomes one terminal with that text:
        llguidance ends a terminal when the next character does not belong to it, which is too late
        within a text that begins like an escape.
        """
        if PatternNode not in map(type, items):
            return " ".join([self._item(item) for item in items]) or '""'
        found: list[str] = []
        for at, item in enumerate(items):
            before = items[at - 1] if at else None
            if isinstance(item, LiteralNode) and isinstance(before, PatternNode):
                # Only to note whether it is ASCII: it becomes a part of a terminal.
                self.text(item.text)
                pieces = self.opaque.pieces(item.text)
                alike = begins_as_escape(item, before)
                if alike and not any(isinstance(piece, int) for piece in pieces):
                    whole = _behind(_pattern(before), regex_escape(item.text))
                    found[-1] = self.terminal("PATTERN", whole)
                    continue
            found.append(self.node(item))
        return " ".join(found)

    def _pattern(self, node: PatternNode) -> str:
        """Write a pattern, beside dead ends that begin like it, where llguidance finds slices."""
        pattern = self.terminal("PATTERN", _pattern(node))
        self.pattern_slices |= dict.fromkeys(node.slices)
        if not node.begun:
            return pattern
        self.pattern_slices |= dict.fromkeys(slice_ for _, slice_ in node.begun)
        begun = [f"{self.terminal('BEGUN', f'/{regex}/')} {self.never}" for regex, _ in node.begun]
        return self.rule("name", " | ".join([pattern, *begun]))

    def _item(self, item: Node) -> str:
        """Write a node that most likely was written before."""
        if isinstance(item, LiteralNode):
            return self.text(item.text)
        known = self.values.get(item.name) if isinstance(item, RuleReference) else None
        return self.node(item) if known is None else known

    def text(self, text: str) -> str:
        """Write a literal: quoted, its added tokens by their ids."""
        known = self.texts.get(text)
        if known is None:
            pieces = self.opaque.pieces(text)
            written = [
                _token(piece) if isinstance(piece, int) else lark_string(piece) for piece in pieces
            ]
            known = self.texts[text] = " ".join(written)
        # Tokens are written as numbers.
        self.plain = self.plain and known.isascii()
        return known

    def terminal(self, hint: str, text: str) -> str:
        """Return the name of a terminal; equal texts share one terminal."""
        name = _terminal_name(hint, text)
        self.terminals[name] = text
        return name

    def rule(self, hint: str, text: str, mark: str = "") -> str:
        """Return the name of a rule of the writer's own; equal texts share one rule."""
        line = f"{mark}: {text}"
        name = f"{hint}_{text_mark(line)}"
        self.lines[name] = line
        return name

    def json(self, schema: Json, style: JsonStyle | None) -> str:
        """Write a JSON value: the schema unchanged, the separators as the format has them."""
        if style is None:
            return self.rule("json", f"%json {_AS_JSON(schema)}")
        found = guidance_schema(schema)
        if found.questions:
            self.unsettled.append(found)
            self.askers.append(self.tool)
        schema_text = found.text
        options: dict[str, Json] = {
            "item_separator": style.item_separator,
            "key_separator": style.key_separator,
            "whitespace_flexible": bool(style.indent),
        }
        if style.indent:
            # Lines and their indentation; the depth of a line is not checked.
            options["whitespace_pattern"] = rf"(\n({style.indent}){{0,{DEEPEST_LINE}}})?"
        if style.ascii_only and knows_guidance_option(ESCAPES):
            options[ESCAPES] = True
        # The options are written inside the schema, so it has to be an object.
        schema_text = "{}" if schema_text == "true" else schema_text
        separator = "" if schema_text == "{}" else ", "
        whole = f'{schema_text[:-1]}{separator}"x-guidance": {_AS_JSON(options)}}}'
        return self.rule("json", f"%json {whole}")

    def _options(self, options: Sequence[Node]) -> list[str]:
        """Write alternatives; what many of them have before the same rule is written once.

        The value of a member stands before each of the next ones, and before the close.
        """
        options = [*self._cut_alike(options)]
        groups: dict[RuleReference | int | None, list[Node]] = {}
        for at, option in enumerate(options):
            last = option.items[-1] if isinstance(option, SequenceNode) and option.items else option
            # Group by the last rule; those that end with a text are one group, any other is alone.
            key: RuleReference | int | None = at
            if isinstance(last, LiteralNode):
                key = None
            elif isinstance(last, RuleReference) and last is not option:
                key = last
            groups.setdefault(key, []).append(option)
        many = {key: alike for key, alike in groups.items() if len(alike) >= _MANY}
        if len(groups) < 2 or not any(isinstance(key, RuleReference) for key in many):  # noqa: PLR2004
            return [self.node(option) for option in options]
        found: list[str] = []
        for key, alike in groups.items():
            if key not in many:
                found += map(self.node, alike)
            elif isinstance(key, RuleReference):
                heads = [_without_last(option) for option in alike]
                found.append(lark_row(self._alternatives([*map(self.node, heads)]), self.node(key)))
            else:
                found.append(self._alternatives([*map(self.node, alike)]))
        return found

    def _cut_alike(self, options: Sequence[Node]) -> Iterator[Node]:
        """Cut a literal behind a shorter one that another option begins with.

        Until a literal `{` is known not to be the beginning of `{}`, llguidance does not look at
        what follows it, so a mask would find no slice of that.
        """
        rows = [*map(items_of, options)]
        begins = {row[0].text for row in rows if len(row) > 1 and isinstance(row[0], LiteralNode)}
        for option, (first, *rest) in zip(options, rows, strict=True):
            text = first.text if isinstance(first, LiteralNode) else ""
            cut = min(
                (len(begun) for begun in begins if begun != text and text.startswith(begun)),
                default=0,
            )
            plain = next(iter(self.opaque.pieces(text)), None) if cut else None
            if isinstance(plain, str) and len(plain) >= cut:
                yield SequenceNode((LiteralNode(text[:cut]), LiteralNode(text[cut:]), *rest))
            else:
                yield option

    def _free_place(self, node: FreeTextNode) -> str:
        """Write a place where free text may begin, as an element of a sequence."""
        known = self.free_places.get(id(node))
        # Within a part, references depend on the surrounding rules, so nothing is cached.
        if known is None or self.open is not None:
            known = node, self._alternatives(self.free_text(node))
            self.free_places[id(node)] = known
        return known[1]

    def free_text(self, node: FreeTextNode) -> list[str]:
        """Write the alternatives of a place where free text may begin."""
        node = FreeTextNode(tuple(map(self._told_by_token, node.exits)))
        closes = [self._first_token(exit_.close) for exit_ in node.exits]
        # Where the output may end, text is content, whose spelled markers a reader takes for calls.
        inner = all(exit_.close for exit_ in node.exits)
        quick = all(
            # A line break that may stand alone has no token, and closes no text.
            (token is not None or not exit_.close or (inner and exit_.close.isspace()))
            if exit_.prose is None
            else (token is not None or not exit_.close) and self._is_any(exit_.prose)
            for exit_, (_, token, _) in zip(node.exits, closes, strict=True)
        )
        if not quick:
            # Both keep masks quick; what neither can write becomes a lazy rule.
            written = self._in_stretches(node) or self._in_length(node)
            if written is not None:
                return [written]
        lazy = self._lazy(node.exits, closes)
        ways = grouped_ways(
            self._exit(exit_, close, quick=quick, lazy=is_lazy)
            for exit_, close, is_lazy in zip(node.exits, closes, lazy, strict=True)
        )
        if not quick and not any(lazy):
            for prose in dict.fromkeys(exit_.prose for exit_ in node.exits if exit_.prose):
                ways += self._open_ways(prose)
        if quick:
            ways += self._decoy(node, closes)
            self.edged |= any(
                exit_.prose is not None and exit_.prose.left is EdgeStrip.WHITESPACE
                for exit_ in node.exits
            )
        beside = self._beside(node, quick=quick)
        return [lark_row(beside, self._alternatives(ways))] if beside else ways

    def _in_stretches(self, node: FreeTextNode) -> str | None:
        """Write free text that plain text closes as signs and stretches, or None if impossible.

        Whitespace that may follow the text is part of it, since the text may end with any
        whitespace.
        """
        prose = _same_prose(node.exits)
        if prose is None:
            return None
        # In stretches an excluded text costs little, so the forgiven ones are excluded as well.
        kept_out = [*prose.exclude, *prose.forgiven]
        exits = [opened for exit_ in node.exits for opened in self._exits_by_opening(exit_)]
        cuts = [self._cut_close(exit_.close, kept_out) for exit_ in exits]
        signs = text_signs([symbols for symbols, _ in cuts if symbols], kept_out)
        counted = None if prose.shape is None else (prose.shape.least, int(_most(prose) or 0))
        # Stretches count anew from each sign on, so not exactly.
        if not signs or (counted and self.exact):
            return None
        if prose.shape is not None:
            ensure_counted(prose.shape, _COUNTED, _NEEDED)
        thens: dict[tuple[Symbol, ...], list[str]] = {}
        alone: dict[tuple[Symbol, ...], list[str]] = {}
        for exit_, (symbols, rest) in zip(exits, cuts, strict=True):
            ways = alone if exit_.prose is None else thens
            ways.setdefault(symbols, []).append(lark_row(self.text(rest), self.node(exit_.then)))
        ends = tuple(filter(None, kept_out))
        if any(
            isinstance(close[-1], str) and close not in thens and not close[-1].endswith(ends)
            for close in alone
            if close
        ):
            # A stretch, which ends with an excluded text, would continue past such a marker.
            return None
        if prose.shape is not None:
            self.in_part += ((self.tool, error) for error in _counted_anew(prose.shape, signs))
        return self._write_closes(prose, thens, alone, kept_out, signs, counted)

    def _in_length(self, node: FreeTextNode) -> str | None:
        """Write text of bounded length as one terminal with its close, or None if impossible.

        Beside it stand texts of the same length that lead nowhere, in which llguidance finds a
        slice, while it finds none in a lazy rule.
        """
        exit_, *others = node.exits
        prose = exit_.prose
        if others or prose is None or not prose.is_shaped or _most(prose) is None:
            return None
        if self._first_token(exit_.close)[1] is not None:
            return None
        kept_out = (*prose.exclude, *prose.forgiven) if prose.exclude else ()
        if not text_signs([(exit_.close,)], kept_out) or not _ends_at_first(prose, exit_.close):
            return None
        self.text(exit_.close)
        whole = self.terminal(
            "TEXT", _behind(_prose(prose, quick=False), regex_escape(exit_.close))
        )
        text = self.rule("text", " | ".join([whole, *self._open_ways(prose, exit_.close)]))
        return lark_row(text, self.node(exit_.then))

    def _open_ways(self, prose: FreeProse, close: str = "") -> Iterator[str]:
        """Return ways that begin like a text, and lead nowhere.

        llguidance finds slices in them, but none in a condition such as "without `</a>`".
        """
        kept_out = (*prose.exclude, *prose.forgiven) if prose.exclude else ()
        signs = text_signs([(close,)] if close else (), kept_out) if kept_out else None
        most = _most(prose)
        if not signs or most is None:
            return
        self.signs[signs] = None
        self.edged |= prose.left is EdgeStrip.WHITESPACE
        for regex in open_texts(signs, kept_out, most, _EDGES[prose.left]):
            yield f"{self.terminal('OPEN', f'/{regex}/')} {self.never}"

    def _lazy(
        self, exits: Sequence[ProseExit], closes: Sequence[tuple[str, int | None, str]]
    ) -> list[bool]:
        """Return for each exit whether it is a lazy rule, which is read to its close at most.

        While it may go on, llguidance finds no slice. A close that stands in place of texts need
        not be lazy if none of them ends with plain text or contains that close.
        """
        plain = [
            token is None and bool(exit_.close)
            for exit_, (_, token, _) in zip(exits, closes, strict=True)
        ]
        texts = [
            (exit_.prose, is_plain)
            for exit_, is_plain in zip(exits, plain, strict=True)
            if exit_.prose
        ]

        def may_hold(close: str) -> bool:
            return not close.isspace() and any(
                closed or not any(text in close for text in prose.exclude)
                for prose, closed in texts
            )

        return [
            is_plain
            and (
                may_hold(exit_.close)
                if exit_.prose is None
                else not _ends_at_first(exit_.prose, exit_.close)
            )
            for exit_, is_plain in zip(exits, plain, strict=True)
        ]

    def _exits_by_opening(self, exit_: ProseExit) -> Iterator[ProseExit]:
        """Replace an exit without a close by one for each text that its node begins with.

        These texts are cut at signs, too: a reader that has begun a longer text does not backtrack
        to the sign at its beginning.
        """
        if exit_.prose is not None or exit_.close:
            yield exit_
            return
        for text, then in self._beginnings(exit_.then):
            yield structs.replace(exit_, close=text, then=then)

    def _beginnings(self, node: Node) -> Iterator[tuple[str, Node]]:
        """Return each text that a node begins with, and the node that follows it."""
        match node:
            case RuleReference(name) if name in self.rules:
                for at, (text, then) in enumerate(self._beginnings(self.rules[name])):
                    yield text, self._rest(f"{name}-rest-{at}", then)
            case LiteralNode(text):
                yield text, NOTHING
            case ChoiceNode(options):
                for option in options:
                    yield from self._beginnings(option)
            case SequenceNode((first, *others)):
                for text, then in self._beginnings(first):
                    yield text, sequence_node(then, *others)
            case _:
                yield "", node

    def _rest(self, name: str, node: Node) -> Node:
        """Return the rest of a rule as a rule of its own, since it may lead to that rule again.

        A list in a list begins like the outer list, without end.
        """
        if node == NOTHING or isinstance(node, RuleReference):
            return node
        rule = _rule(name)
        if rule not in self.lines:
            # Reserved before it is written: writing it may ask for it again.
            self.lines[rule] = ""
            self.lines[rule] = f": {self.node(node)}"
        return RuleReference(name)

    def _write_closes(
        self,
        prose: FreeProse,
        thens: Mapping[tuple[Symbol, ...], list[str]],
        alone: Mapping[tuple[Symbol, ...], list[str]],
        exclude: Sequence[str],
        signs: str,
        counted: tuple[int, int] | None,
    ) -> str:
        """Write the continuations of a text by its close, and those without a text."""
        # Closes that go on in the same way if no text stands before them.
        alone_too = {
            symbols for symbols, then in thens.items() if symbols and alone.get(symbols) == then
        }
        closes = [symbols for symbols in thens if symbols]
        may_be_empty = prose.may_be_empty and not (counted and counted[0])
        not_alone = [] if may_be_empty else [close for close in closes if close not in alone_too]
        marks = [symbol for symbols in alone for symbol in symbols if isinstance(symbol, str)]
        known = (closes, exclude, signs, not_alone, marks)
        name, found = self._write_stretches(*known, may_be_empty=may_be_empty, counted=counted)
        written = [
            lark_row(f"{name}_closed_{at}", self._alternatives(thens[symbols]))
            for at, symbols in enumerate(closes)
        ]
        # With excluded texts in stretches, llguidance does not see that any text without a sign may
        # follow. It does see the end of a text, so add one that leads nowhere.
        rest = [self.never]
        if () in thens:
            rest = thens[()]
            whole = [f"{name}_{at}" for at in found.signs]
            written += (
                [lark_row(self._alternatives(whole), self._alternatives(rest))] if whole else []
            )
        written.append(lark_row(f"{name}_end", self._alternatives(rest)))
        for symbols, then in alone.items():
            if symbols not in alone_too:
                pieces = (
                    found.marks[symbol] if isinstance(symbol, str) else [symbol]
                    for symbol in symbols
                )
                mark = [self._symbol(symbol) for piece in pieces for symbol in piece]
                written.append(lark_row(*mark, self._alternatives(then)))
        return self._alternatives(written)

    def _symbol(self, symbol: Symbol) -> str:
        return _token(symbol) if isinstance(symbol, int) else self.text(symbol)

    def _cut_close(self, close: str, kept_out: Sequence[str]) -> tuple[tuple[Symbol, ...], str]:
        """Cut a close after what distinguishes it: its first opaque token, or an excluded text.

        Returns the part before the cut, and the text after it.
        """
        before, token, after = self._first_token(close)
        plain = close if token is None else before
        ends = [plain.index(text) + len(text) for text in kept_out if text in plain]
        if ends:
            return (close[: min(ends)],), close[min(ends) :]
        pieces: tuple[Symbol, ...] = (plain,) if plain else ()
        return ((*pieces, token), after) if token is not None else (pieces, "")

    def _write_stretches(
        self,
        closes: Sequence[Sequence[Symbol]],
        exclude: Sequence[str],
        signs: str,
        not_alone: Sequence[Sequence[Symbol]],
        marks: Sequence[str],
        *,
        may_be_empty: bool,
        counted: tuple[int, int] | None,
    ) -> tuple[str, StretchedText]:
        """Write the rules of a text from state to state; return the prefix of their names."""
        key = f"{signs} {closes} {exclude} {not_alone} {marks} {may_be_empty}"
        key += f" {counted}" if counted else ""
        found = _STRETCHED.of(
            (self.opaque,),
            key,
            lambda: text_until(
                closes, exclude, signs, not_alone, marks, may_be_empty=may_be_empty, counted=counted
            ),
        )
        name = f"text_{text_mark(key)}"
        # Written already, for another place with the same text and closes.
        if f"{name}_end" in self.lines:
            return name, found
        for at, steps in found.steps.items():
            nothing = ['""'] if may_be_empty and not at else []
            ways = [*nothing, *map(partial(self._step, name), steps)]
            self.lines[f"{name}_{at}"] = f": {' | '.join(ways)}"
        times = f"{{1,{counted[1]}}}" if counted else "+"
        ends = [
            f"{name}_{at} {self._stretch(stretch, times)}" for at, stretch in found.signs.items()
        ]
        ends += [] if may_be_empty else [self._stretch(signs, times)]
        self.lines[f"{name}_end"] = f": {' | '.join(ends)}"
        for at, steps in enumerate(found.closes):
            ways = [self._step(name, step) for step in steps]
            self.lines[f"{name}_closed_{at}"] = f": {' | '.join(ways) or self.never}"
        return name, found

    def _stretch(self, signs: str, times: str) -> str:
        """Return the terminal of any text without a sign."""
        self.signs[signs] = None
        return self.terminal("STRETCH", f"/{regex_without(signs)}{times}/")

    def _step(self, name: str, step: TextStep) -> str:
        return lark_row(
            "" if step.origin is None else f"{name}_{step.origin}",
            self.terminal("RUN", step.terminal) if step.terminal else "",
            "" if step.token is None else _token(step.token),
        )

    def _beside(self, node: FreeTextNode, *, quick: bool) -> str:
        """Write the opaque tokens that free text may hold, each with the text before it."""
        prose = next(
            (exit_.prose for exit_ in node.exits if exit_.prose and exit_.prose.tokens), None
        )
        if prose is None:
            return ""
        text = self.terminal("TEXT", _prose(prose, quick=quick))
        return f"({text} <[{','.join(map(str, prose.tokens))}]>)*"

    def _alternatives(self, ways: list[str]) -> str:
        """Write alternatives; long ones become a rule, since they recur in many places."""
        if not ways:
            return self.never
        if len(ways) == 1:
            return ways[0]
        text = " | ".join(ways)
        return one_of_ways(ways) if len(text) < _SHORT else self.rule("way", text)

    def _exit(
        self, exit_: ProseExit, close: tuple[str, int | None, str], *, quick: bool, lazy: bool
    ) -> tuple[str, str]:
        """Write an exit: the text up to the close, or to its first token, and its continuation."""
        before, token, behind = close
        self.text(exit_.close)
        then = self.node(exit_.then)
        prose = exit_.prose
        rest = then if token is None else lark_row(_token(token), self.text(behind), then)
        if prose is None:
            if not lazy:
                return self.text(before), rest
            return self.rule("mark", lark_string(exit_.close), "[lazy]"), rest
        text = _prose(prose, quick=quick)
        if lazy:
            body = self.terminal("TEXT", text)
            return self.rule("text", f"{body} {lark_string(exit_.close)}", "[lazy]"), rest
        if token is None:
            space = f"(?:{regex_escape(prose.space)})?" if prose.space else ""
            return self.terminal("TEXT", _behind(text, space + regex_escape(exit_.close))), rest
        return self.terminal("TEXT", _behind(text, regex_escape(before))), rest

    def _decoy(
        self, node: FreeTextNode, closes: list[tuple[str, int | None, str]]
    ) -> Iterator[str]:
        """Return ways that take any text and lead nowhere, unless another takes any text."""
        proses = [exit_.prose for exit_ in node.exits if exit_.prose is not None]
        free = any(
            exit_.prose is not None
            and exit_.prose.right is EdgeStrip.NOTHING
            and not close[0]
            and not exit_.prose.space
            for exit_, close in zip(node.exits, closes, strict=True)
        )
        left = {_EDGES[prose.left] for prose in proses if not prose.may_be_empty}
        first = left.pop() if len(left) == 1 else ""
        if proses and not free:
            anything = self.terminal("ANY", f"/{first}{'+' if first else ''}{_ANYTHING}/")
            yield f"{anything} {self.never}"
        if first:
            # While its first character may be repeated, only a part of the tokens is in a slice.
            yield f"{self.terminal('ANY', f'/{first}{_ANYTHING}/')} {self.never}"

    @property
    def never(self) -> str:
        """The name of the terminal that matches nothing."""
        return self.terminal("NEVER", _NOTHING)

    def _is_any(self, prose: FreeProse) -> bool:
        """Return whether a text has no exclusions but those that hold an added token."""
        return not prose.is_shaped and self._excludes_tokens(prose)

    def _excludes_tokens(self, prose: FreeProse) -> bool:
        return all(
            any(isinstance(piece, int) for piece in self.opaque.pieces(text))
            for text in prose.exclude
        )

    def _told_by_token(self, exit_: ProseExit) -> ProseExit:
        """Drop the exclusions of a text of bounded length, if they and its close hold added tokens.

        A text never matches these, and llguidance finds no slice in a text with a condition.
        """
        prose = exit_.prose
        if prose is None or prose.shape is None or _most(prose) is None:
            return exit_
        if self._first_token(exit_.close)[1] is None or not self._excludes_tokens(prose):
            return exit_
        return structs.replace(exit_, prose=replace(prose, exclude=(), forgiven=()))

    def _first_token(self, text: str) -> tuple[str, int | None, str]:
        """Cut a text at its first added token: the text before it, its id, the text after."""
        before = ""
        for piece in self.opaque.pieces(text):
            if isinstance(piece, int):
                return before, piece, text[len(before) + len(self.opaque.texts[piece]) :]
            before += piece
        return before, None, ""


_STRETCHED: IdentityCache[StretchedText] = IdentityCache(64)
"""Cached states of free texts: many requests share their closes."""
_PARTS: IdentityCache[_LarkWriter] = IdentityCache(2048)
"""Cached writers of the rules of one part."""
_FRAMES: IdentityCache[_LarkWriter] = IdentityCache(64)
"""Cached writers of the rules that tools do not change."""


class LarkGrammar(Struct, frozen=True):
    """A grammar in llguidance's Lark."""

    text: str
    r"""The grammar, e.g. "%llguidance {}\n\nstart: way_f4764e29ddd7\n…"; its root is `start`."""
    signs: tuple[str, ...]
    """The signs between which free text is written in stretches, e.g. ("=>", "=>t", ">")."""
    edged: bool = False
    """Whether some text begins with any character but whitespace, e.g. if the template strips
    content."""
    pattern_slices: tuple[str, ...] = ()
    """The slices of made-up names and quoted strings, e.g. ("(?: ?[a-z])+",)."""
    in_part: tuple[tuple[str, UnheldKeywordError], ...] = ()
    """The keywords that are enforced in part, each with its tool, e.g. `maxLength`."""

    @property
    def slices(self) -> tuple[str, ...]:
        """The slices of the vocabulary that make its masks quick; empty if any slices will do."""
        return vocabulary_slices(self.signs, edged=self.edged, patterns=self.pattern_slices)


def write_lark(rules: GrammarRules, opaque: OpaqueTokens, *, exact: bool = True) -> LarkGrammar:
    """Write a grammar for a tokenizer with these opaque tokens.

    `exact` is whether lengths are enforced that make masks slow; if not, they are in part.
    """
    written = _writer_of(rules, opaque, exact=exact)
    patterns, in_part = tuple(written.pattern_slices), tuple(written.in_part)
    return LarkGrammar(written.write(), tuple(written.signs), written.edged, patterns, in_part)


def _writer_of(rules: GrammarRules, opaque: OpaqueTokens, *, exact: bool) -> _LarkWriter:
    frame, writer = rules.frame, partial(_LarkWriter, opaque, exact=exact)
    if frame is None:
        return writer().take(rules)
    # The frame is written once for a format, and each list of tools goes on from a copy.
    begun = _FRAMES.of((frame, opaque), exact, lambda: writer().take(frame))
    return begun.continue_rules().take(rules)


def write_embedding(rules: GrammarRules, opaque: OpaqueTokens) -> str:
    """Write a grammar, with the grammars embedded in it, as JSON for llguidance."""
    writer = _LarkWriter(opaque, exact=True).take(rules)
    grammars = [{"lark_grammar": writer.write()}]
    grammars += [{"name": name, "lark_grammar": lark} for lark, name in writer.embedded.items()]
    return json.dumps({"grammars": grammars}, ensure_ascii=False)


_MANY = 3
"""Alternatives that lead to the same rule before they are written as one."""
_DEEPEST = 30
"""Rules of a part in one another that are written with the first; later ones are written alone."""


def _without_last(node: Node) -> Node:
    """Return a sequence without its last node, its literals as they are."""
    items = inner_nodes(node)[:-1]
    return SequenceNode((*items,)) if len(items) > 1 else sequence_node(*items)


def _rule(name: str) -> str:
    """Return the name of a rule, distinct from the writer's own names."""
    return f"r_{name.replace('-', '_')}"


def _same_prose(exits: Sequence[ProseExit]) -> FreeProse | None:
    """Return the free text that all exits share, if it is any text but for its exclusions.

    Its length may be bounded. Return None if they differ, or if it has another shape, edges, or
    tokens within it.
    """
    proses = {replace(exit_.prose, space="") for exit_ in exits if exit_.prose is not None}
    prose = proses.pop() if len(proses) == 1 else None
    if prose is None or prose.tokens or (prose.is_shaped and _most(prose) in (None, inf)):
        return None
    return None if _EDGES[prose.left] or _EDGES[prose.right] else prose


def _most(prose: FreeProse) -> float | None:
    """Return the maximum length of a text, or None if its shape says more than its length."""
    shape = prose.shape
    if prose.shapes or prose.tokens or prose.space:
        return None
    if shape is None:
        return inf
    if shape.patterns or shape.most == 0 or _EDGES[prose.left] or _EDGES[prose.right]:
        return None
    return inf if shape.most is None else shape.most


def _counted_anew(shape: StringShape, signs: str) -> Iterator[UnheldKeywordError]:
    """Return the errors for a bounded length that is enforced in part, in stretches."""
    words = " or ".join(f"`{sign}`" for sign in signs)
    why = f"characters are counted anew from {words} on, or each mask would take milliseconds"
    for keyword in (*["minLength"] * (shape.least > 1), "maxLength"):
        yield unwritable_keyword(keyword, shape.pointer, why, how="in full as a grammar")


def _ends_at_first(prose: FreeProse, close: str) -> bool:
    """Return whether a terminal of a text and its close ends with its first close.

    A lazy rule does so in any case, but llguidance finds no slice while one may go on.
    """
    kept_out = (*prose.exclude, *prose.forgiven) if prose.exclude else ()
    return any(text and text in close for text in kept_out) and not _overlaps(close)


def _overlaps(text: str) -> bool:
    """Return whether a proper suffix of a text is also its prefix."""
    return any(text.startswith(text[at:]) for at in range(1, len(text)))


@lru_cache(maxsize=1024)
def _terminal_name(hint: str, text: str) -> str:
    return f"{hint}_{text_mark(text).upper()}"


def _token(number: int) -> str:
    return f"<[{number}]>"


def _pattern(node: PatternNode) -> str:
    return _but_not(node.regex, node.but_not) + _shape_condition(node.shape)


def _but_not(regex: str, texts: tuple[str, ...]) -> str:
    whole = f"/{_slashes(regex)}/"
    return f"{whole} & ~/{'|'.join(map(regex_escape, texts))}/" if texts else whole


def _prose(prose: FreeProse, *, quick: bool) -> str:
    """Write the terminal of a free text; with `quick`, nothing is excluded from it."""
    left, right = _EDGES[prose.left], _EDGES[prose.right]
    if prose.shape is not None and not prose.exclude and _most(prose) not in (None, inf):
        # In a single repetition, llguidance sees that a slice may follow.
        ensure_counted(prose.shape, _COUNTED, _NEEDED)
        return f"/(?s:.{{{prose.shape.least},{prose.shape.most}}})/"
    # Repeat the first character: if it stands alone, llguidance does not see that a slice may
    # follow, and the first mask of a text takes ten times as long.
    if left and right:
        text = f"{left}+(?:{_ANYTHING}{right})?"
    elif left:
        text = f"{left}+{_ANYTHING}"
    elif right:
        text = f"{_ANYTHING}{right}"
    else:
        text = _ANYTHING if prose.may_be_empty else "(?s:.+)"
    if prose.may_be_empty and (left or right):
        text = f"(?:{text})?"
    whole = f"/{text}/"
    for shape in prose.shapes:
        whole += f" & /{_slashes(shape)}/"
    whole += _shape_condition(prose.shape)
    # Shapes that exclude a text anyway are the same terminal in every place.
    kept_out = [
        regex_escape(text)
        for text in (*prose.exclude, *prose.forgiven)
        if prose.shape is None or prose.shape.may_hold(text)
    ]
    if prose.exclude and kept_out and not quick:
        # Wherever they stand in it, not only at its end.
        whole += f" & ~(/{_ANYTHING}(?:{'|'.join(kept_out)})/ {_BYTES})"
    return whole


def _shape_condition(shape: StringShape | None) -> str:
    """Return the further condition on a terminal; raises UnheldKeywordError for too long a text."""
    if shape is None:
        return ""
    ensure_counted(shape, _COUNTED, _NEEDED)
    return "".join(f" & /{_slashes(rust_regex(regex))}/" for regex in shape.regexes)


def _behind(terminal: str, tail: str) -> str:
    """Append a tail to a terminal."""
    if not tail:
        return terminal
    if " & " in terminal:
        # Outside, since the conditions hold for the text without the tail.
        return f"({terminal}) /{tail}/"
    return f"{terminal[:-1]}{tail}/"


def _slashes(regex: str) -> str:
    """Escape slashes, which end a regular expression in Lark; an empty one would be a comment."""
    return (regex or "(?:)").replace("\\/", "/").replace("/", "\\/").replace("\n", "\\n")
