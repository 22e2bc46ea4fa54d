r"""Write grammar rules as GBNF, in the subset that llama.cpp and llguidance's converter share.

`write_gbnf` walks the nodes (`GbnfWriter.node`) and adds rules to a table; `SchemaTable` is the
table that writes JSON values by their schemas. GBNF cannot say "any text but these", so free text
is written as states, a rule each. Whitespace that a template would strip from the end of a text is
left to the text.

Text up to `<e>` has a state for each prefix of `<e>` that may have been written:

    >>> from autoparser.analysis.grammar.gbnf_writer import SchemaTable
    >>> from autoparser.analysis.grammar.grammar_rules import NOTHING, ProseExit
    >>> free = FreeTextNode((ProseExit(FreeProse(), "<e>", NOTHING),))
    >>> written = write_gbnf(GrammarRules(free, {}), SchemaTable()).splitlines()
    >>> print(*(line for line in written if line.startswith("text")), sep="\n")
    text ::= run ("<" text-after-lt)
    text-after-lt ::= "<" text-after-lt | "e" text-after-lt-e | [^<e] text
    text-after-lt-e ::= ">" | "<" text-after-lt | [^<>] text
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet

from autoparser.analysis.core.schema_document import ROOT
from autoparser.analysis.core.schema_errors import SchemaError, UnheldKeywordError, raise_refused
from autoparser.analysis.core.turn_parts import EdgeStrip
from autoparser.analysis.sources.token_bytes import OpaqueTokens

from .call_writer import GrammarError
from .code_points import CodePoints
from .excluded_texts import State, exclusion_states, kept_apart
from .gbnf_patterns import NO_CLOSE, RegexWriter
from .gbnf_rules import (
    GbnfRules,
    character_class,
    class_without,
    gbnf_literal,
    join_alternatives,
)
from .gbnf_schemas import schema_rules
from .gbnf_values import ensure_short
from .grammar_rules import (
    NOTHING,
    CharacterQuoting,
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
    RepeatNode,
    RuleReference,
    SequenceNode,
    begins_as_escape,
    inner_nodes,
    items_of,
)
from .regex_nodes import Regex, RegexSequence, regex_alphabet, without_texts
from .string_shape import StringShape, whole_pattern

_LONGEST = 1000
"""Maximum length of a close of free text; llguidance takes minutes for ten times as many."""
_FEW = 2
"""Maximum number of places that get states of their own for a text and its continuation."""
ARGUMENT = "argument"
"""The part of a turn that is a text in a call."""


class SchemaTable(GbnfRules):
    """The table of a grammar's rules: its own, and its schemas'."""

    def value(self, value: JsonValue) -> str:
        """Return the expression of a JSON value; raises SchemaError where GBNF cannot say it."""
        return schema_rules(value.schema, self, value.style or JsonStyle())

    def bare(self, regex: Regex, close: str = "") -> str:
        """Return the expression of unquoted texts, and of their closer, if they have one."""
        writer = RegexWriter(self, CharacterQuoting.BARE)
        return writer.closed(regex, close) if close else writer.write(regex)


NO_TOKENS = OpaqueTokens()


def write_gbnf(rules: GrammarRules, table: SchemaTable, tokens: OpaqueTokens = NO_TOKENS) -> str:
    """Write a grammar in GBNF, its root as `root`; markers among `tokens` are written by their ids.

    Raises GrammarError for what GBNF cannot say; the table raises for schemas that it cannot write.
    """
    return GbnfWriter(rules, table, tokens).write()


class GbnfWriter:
    """Writes rules as GBNF; other dialects may override how free text is written."""

    def __init__(
        self, rules: GrammarRules, table: SchemaTable, tokens: OpaqueTokens = NO_TOKENS
    ) -> None:
        """Store the rules, and the table that they are written to."""
        self.rules = rules
        self.table = table
        self.tokens = tokens
        self.names: dict[str, str] = {}
        # Reserve all names first, since rules refer to each other.
        for name in rules.rules_by_name:
            table.section = f"call of {rules.tools[name]}" if name in rules.tools else "calls"
            self.names[name] = table.reserve(name)
        self._prose_bodies: dict[FreeTextNode, str] = {}
        self._texts: dict[tuple[str, ...], list[str]] = {}
        """The states of texts that are closed elsewhere, by the texts excluded from them."""
        places = (rules.root, *rules.rules_by_name.values())
        counts = Counter(prose for node in places for prose in _arguments_in(node))
        self._often = {prose for prose, count in counts.items() if count > _FEW}
        self._names_kept_apart: dict[PatternNode, str] = {}

    def write(self) -> str:
        """Write the whole grammar."""
        table, refused = self.table, list[tuple[str, SchemaError]]()
        root = self.node(self.rules.root)
        for name, node in self.rules.rules_by_name.items():
            try:
                table.define(self.names[name], self.node(node))
            except SchemaError as error:
                refused.append((self.rules.tools.get(name, ""), error))
        raise_refused(refused)
        return table.text(root)

    def node(self, node: Node) -> str:
        """Write a node."""
        match node:
            case LiteralNode(text):
                return self.literal(text)
            case PatternNode():
                return self.pattern(node)
            case JsonValue():
                self.table.section = "values as JSON"
                return self.table.value(node)
            case RuleReference(name):
                return self.names[name]
            case SequenceNode(items):
                return self._row(items)
            case ChoiceNode(options):
                return self._choice(options)
            case RepeatNode() | EmbeddedLark():
                raise GrammarError("GBNF cannot express repetitions and embedded grammars")
            case FreeTextNode():
                if node not in self._prose_bodies:
                    # Its states are many, and the same place occurs in several rules.
                    self._prose_bodies[node] = self.free_text(node)
                return self._prose_bodies[node]

    def literal(self, text: str) -> str:
        """Write a text, its tokens by their ids: then they cannot be spelled in other tokens."""
        return gbnf_row(
            *(
                gbnf_literal(piece) if isinstance(piece, str) else self.token(piece)
                for piece in self.tokens.pieces(text)
            )
        )

    def token(self, number: int) -> str:
        """Write a token by its id, as llama.cpp reads it."""
        return f"<[{number}]>"

    def _choice(self, options: Sequence[Node]) -> str:
        """Write alternatives.

        An optional node keeps its rule from being one pattern: llguidance would match as much of
        it as it can, and not backtrack to what follows it.
        """
        rules = [_first(option) for option in options]
        named = [
            self.rules.rules_by_name[rule.name] for rule in rules if isinstance(rule, RuleReference)
        ]
        if len(named) > 1 and any(isinstance(_first(node), FreeTextNode) for node in named):
            raise _mixed_union_error()
        optional = any(
            isinstance(option, RuleReference | SequenceNode) and option != NOTHING
            for option in options
        )
        ways = [
            self.table.seam if option == NOTHING and optional else self.node(option)
            for option in options
        ]
        return f"({' | '.join(dict.fromkeys(ways)) or self.table.never})"

    def _row(self, items: Sequence[Node]) -> str:
        """Write nodes as a sequence.

        A pattern whose escapes begin like the text after it becomes a rule with that text:
        llguidance matches such a rule whole; otherwise it notices too late that a pattern has
        ended.
        """
        found: list[str] = []
        for before, item in zip((None, *items), items, strict=False):
            found.append(self.node(item))
            if isinstance(before, PatternNode) and begins_as_escape(item, before):
                found[-2:] = [self.table.add("closed", " ".join(found[-2:]))]
        return " ".join(found) or '""'

    def pattern(self, node: PatternNode) -> str:
        """Write a regular expression; a shape includes its quotes and escapes."""
        ended = NO_CLOSE if node.close else ""
        if node.shape is not None:
            text = self.shaped(node.shape, ended)
            # A separate rule with the quotes, since an escape may begin like the closing quote.
            return self.table.add("quoted", text) if node.close else text
        if not node.but_not:
            return self.table.add("json", self.table.bare(_whole(node), ended))
        if node not in self._names_kept_apart:
            # A separate rule, since an object needs it at each place where a name may be made up.
            rest = without_texts(_whole(node), node.but_not)
            written = self.table.never if rest is None else self.table.bare(rest)
            self._names_kept_apart[node] = self.table.add("other-name", written)
        return self._names_kept_apart[node]

    def shaped(self, shape: StringShape, close: str = "") -> str:
        """Write the texts of a shape, and their closer, if they have one."""
        ensure_short(shape, self.table)
        regex = shape.single()
        return self.table.never if regex is None else self.table.bare(regex, close)

    def free_text(self, node: FreeTextNode) -> str:
        """Write a place where free text may begin: its states, then the ways without text."""
        ways: list[str] = []
        # Exits of the same text share its states.
        proses = dict.fromkeys(exit_.prose for exit_ in node.exits)
        if any(prose is not None and not prose.is_shaped for prose in proses):
            values = [exit_.then for exit_ in node.exits if exit_.prose is None and not exit_.close]
            if any(
                isinstance(beginning, JsonValue | PatternNode) for beginning in _beginnings(values)
            ):
                raise _mixed_union_error()
        # The first complete way wins, so no text may begin like a way without text.
        taken = {exit_.close for exit_ in node.exits if exit_.prose is None}
        for prose in proses:
            exits = [exit_ for exit_ in node.exits if exit_.prose == prose]
            if prose is None:
                ways += [
                    gbnf_row(self.literal(exit_.close), self.node(exit_.then)) for exit_ in exits
                ]
                continue
            thens: dict[str, list[str]] = {}
            for exit_ in exits:
                thens.setdefault(exit_.close, []).append(self.node(exit_.then))
            # Ways without a close: the text may end anywhere before them.
            ends = thens.pop("", [])
            ways.append(self.text_states(prose, thens, ends, taken))
        return join_alternatives(ways)

    def text_states(
        self,
        prose: FreeProse,
        thens: Mapping[str, Sequence[str]],
        ends: Sequence[str],
        taken_chars: AbstractSet[str],
    ) -> str:
        """Write the states of a text, and return the name of the first one.

        `thens` are the ways after each close, `ends` those without a close. The text begins with
        none of the characters in `taken_chars`.
        """
        if prose.shape is not None:
            shape = _told_apart(prose, prose.shape)
            every = {**thens, **({"": ends} if ends else {})}
            return join_alternatives(
                [
                    gbnf_row(self.shaped_text(prose, shape, close), then)
                    for close, behind in every.items()
                    for then in behind
                ]
            )
        longest = max(map(len, thens), default=0)
        if longest > _LONGEST:
            raise GrammarError(
                f"an end of text has {longest} characters: GBNF would need a rule for each",
                hint=f"write the grammar as Lark; the limit for GBNF is {_LONGEST} characters",
            )
        stripped = {EdgeStrip.WHITESPACE: " \n\r\t", EdgeStrip.NEWLINES: "\n"}.get(prose.left, "")
        barred = {*stripped, *(char for char in taken_chars - thens.keys() if len(char) == 1)}
        behind = [join_alternatives(then) for then in thens.values()]
        self.table.section = _SECTIONS.get(prose.part, prose.part)
        texts = kept_apart(list(thens), (*prose.exclude, *prose.forgiven))
        if texts is not None and self.is_common(prose):
            filled = bool(stripped) or prose.is_filled_argument
            text = self.common_text(prose.part, texts, barred, is_filled=filled)
            closes = [
                gbnf_row(self.close(close), then) for close, then in zip(thens, behind, strict=True)
            ]
            return gbnf_row(text, join_alternatives([*closes, *ends]))
        # A rule for each state, by the part of a close or an excluded text that was read last.
        found = exclusion_states(list(thens), (*prose.exclude, *prose.forgiven))
        names = [self.table.reserve(f"{prose.part}{_after(state.read)}") for state in found]
        for name, state in zip(names, found, strict=True):
            ways = [gbnf_row(gbnf_literal(char), behind[at]) for char, at in state.closes.items()]
            ways += _onward(state, names)
            others = _others(state)
            if not state.close_begun:
                ways += [*([] if state is found[0] else [f"{others} {names[0]}"]), *ends]
            # A state without a way out must not be reachable.
            body = " | ".join(ways) or self.table.never
            if state is found[0]:
                # A repetition, since llguidance takes no more than 2000 nested rules.
                body = f"{self.table.add('run', f'({others} {self.table.seam})*')} ({body})"
            self.table.define(name, body)
        if prose.is_filled_argument:
            return self._write_filled(prose, found, names, list(thens), behind, barred)
        if not barred:
            return names[0]
        first = found[0]
        ways = _onward(first, names, barred)
        if not stripped:
            ways += [gbnf_row(gbnf_literal(char), behind[at]) for char, at in first.closes.items()]
            ways += ends
        ways.append(f"{_others(first, barred)} {names[0]}")
        return self.table.define(self.table.reserve(f"{prose.part}-start"), " | ".join(ways))

    def shaped_text(self, prose: FreeProse, shape: StringShape, close: str) -> str:
        """Write the texts of a shape up to a close.

        A separate rule includes the close: llguidance reads such a rule as one; otherwise the part
        of the text that may be the longest would decide about the others. xgrammar compiles a rule
        for each place where it differs, so there it ends with the closing quote.
        """
        cut = self.table.calls_itself and prose.quote and close.startswith(prose.quote)
        end, rest = (prose.quote, close[len(prose.quote) :]) if cut else (close, "")
        text = self.shaped(shape, self.literal(end) if end else "")
        return gbnf_row(self.table.add(prose.part, text), self.literal(rest))

    def is_common(self, prose: FreeProse) -> bool:
        """Return whether all places of a text share its states."""
        # Shared states would spell out a token that closes the text.
        return bool(self.tokens.ids) or prose in self._often

    def close(self, text: str) -> str:
        """Write the close of a text with states of its own: character by character, like these.

        llguidance reads the longest of several literals, and would not backtrack.
        """
        return " ".join(
            self.token(piece) if isinstance(piece, int) else " ".join(map(gbnf_literal, piece))
            for piece in self.tokens.pieces(text)
        )

    def common_text(
        self, part: str, texts: tuple[str, ...], barred: AbstractSet[str], *, is_filled: bool
    ) -> str:
        """Return the rule of a text that holds none of `texts`, and may end anywhere.

        It begins with no character of `barred`, and is not empty if `is_filled`.
        """
        whole = self.any_text_but(texts)
        # xgrammar can express it at once, GBNF cannot.
        if whole and not barred and not is_filled:
            return self.table.add(part, whole)
        found = exclusion_states((), texts)
        names = self._texts.get(texts)
        if names is None:
            names = self._texts[texts] = self._common_states(part, found, whole)
        if not barred and not is_filled:
            return names[0]
        ways = [*([] if is_filled else ['""']), *_onward(found[0], names, barred)]
        ways.append(f"{_others(found[0], barred)} {names[0]}")
        return self.table.add(f"{part}-start", " | ".join(ways))

    def any_text_but(self, texts: Sequence[str]) -> str:
        """Return the expression of any text without these; empty if that takes states."""
        del texts
        return ""

    def _common_states(self, part: str, states: Sequence[State], whole: str) -> list[str]:
        """Write the states of a text that may end anywhere; `whole` is the first one, if known."""
        first = self.table.add(part, whole) if whole else self.table.reserve(part)
        names = [first]
        names += [self.table.reserve(f"{part}{_after(state.read)}") for state in states[1:]]
        for name, body in zip(names, state_bodies(states, names), strict=True):
            if name != first:
                self.table.define(name, body)
            elif not whole:
                run = self.table.add("run", f"({_others(states[0])} {self.table.seam})*")
                self.table.define(name, f"{run} ({body})")
        return names

    def _write_filled(
        self,
        prose: FreeProse,
        states: Sequence[State],
        names: Sequence[str],
        closes: Sequence[str],
        behind: Sequence[str],
        barred: AbstractSet[str],
    ) -> str:
        """Write a text that is not empty, and return the name of its first state.

        While all that was read is a prefix of a close, that close may not be completed. Up to
        `</a>` that is a state for each of ``""``, ``"<"``, ``"</"`` and ``"</a"``.
        """
        waiting = [0]
        started = {0: self.table.reserve(f"{prose.part}-start")}
        for at in waiting:
            state = states[at]
            ways: list[str] = []
            for char, to in state.goes.items():
                # Only the first character is barred.
                if not at and char in barred:
                    continue
                if states[to].read == state.read + char and to not in started:
                    started[to] = self.table.reserve(f"{prose.part}-start{_after(states[to].read)}")
                    waiting.append(to)
                name = started[to] if states[to].read == state.read + char else names[to]
                ways.append(f"{gbnf_literal(char)} {name}")
            ways += [
                gbnf_row(gbnf_literal(char), behind[close])
                for char, close in state.closes.items()
                if closes[close] != state.read + char
            ]
            if not state.close_begun:
                ways.append(f"{_others(state, () if at else barred)} {names[0]}")
            self.table.define(started[at], " | ".join(ways) or self.table.never)
        return started[0]


def state_bodies(states: Sequence[State], names: Sequence[str]) -> Iterator[str]:
    """Write the states of a text that may end anywhere; the first one goes on after any `run`."""
    for at, state in enumerate(states):
        ways = ['""', *_onward(state, names)]
        yield " | ".join([*ways, f"{_others(state)} {names[0]}"] if at else ways)


def _onward(
    state: State, names: Sequence[str], barred: AbstractSet[str] = frozenset()
) -> list[str]:
    """Write the transitions of a state, except by the characters in `barred`."""
    return [
        f"{gbnf_literal(char)} {names[to]}" for char, to in state.goes.items() if char not in barred
    ]


def _others(state: State, barred: Iterable[str] = ()) -> str:
    """Return the characters that lead from a state to the first one."""
    named = "".join(sorted({*state.closes, *state.goes, *state.refused, *barred}))
    return (
        class_without(named)
        if named.isascii()
        else character_class(CodePoints.among(named).inverse())
    )


def _arguments_in(node: Node) -> Iterator[FreeProse]:
    """Return the free texts of arguments in a node, each as often as one place has it."""
    if isinstance(node, FreeTextNode):
        proses = (exit_.prose for exit_ in node.exits)
        yield from dict.fromkeys(prose for prose in proses if prose and prose.part == ARGUMENT)
    for inner in inner_nodes(node):
        yield from _arguments_in(inner)


def plain_regex(node: Node) -> Regex | None:
    """Return the expression of a pattern, or None for another node or one with more conditions."""
    if not isinstance(node, PatternNode) or node.shape is not None or node.but_not or node.close:
        return None
    return _whole(node)


def _whole(node: PatternNode) -> Regex:
    regex = whole_pattern(f"^(?:{node.regex})$")
    while isinstance(regex, RegexSequence) and len(regex.parts) == 1:
        (regex,) = regex.parts
    return regex


def _first(node: Node) -> Node:
    return items_of(node)[0]


def _beginnings(nodes: Iterable[Node]) -> Iterator[Node]:
    """Return the nodes that may come first, through all options of each."""
    for node in map(_first, nodes):
        if isinstance(node, ChoiceNode):
            yield from _beginnings(node.options)
        else:
            yield node


def _mixed_union_error() -> UnheldKeywordError:
    """Return the error for free text that cannot be told from another value in its place.

    llguidance reads free text of GBNF a character at a time, and prefers what takes more. Only a
    union causes this; the caller that knows the schema has to find which one.
    """
    return UnheldKeywordError(
        "GBNF cannot express a union in which a member is any text in one object, and something"
        " else in another",
        pointer=ROOT,
        keyword="anyOf",
        hint="write the grammar as Lark",
    )


_SECTIONS = {ARGUMENT: "texts of arguments"}
_NO_NAME = re.compile("[^a-z0-9]+")
_SIGNS = {"<": "lt", ">": "gt", "/": "slash", "|": "bar", "\n": "newline", " ": "blank"}


def _after(read: str) -> str:
    """Name a state by the part of a marker read so far: `</th` is `-after-lt-slash-th`."""
    words = (
        char if char.isalnum() else f" {_SIGNS.get(char) or unicodedata.name(char, 'sign')} "
        for char in read.lower()
    )
    return (
        "-".join(["", "after", *_NO_NAME.split("".join(words).lower().strip())]).rstrip("-")
        if read
        else ""
    )


def _told_apart(prose: FreeProse, shape: StringShape) -> StringShape:
    """Return the shape of a text restricted so that no text is taken for its end, or stripped.

    Raises UnheldKeywordError if some might be: GBNF has no "and not".
    """
    regex = shape.single()
    letters = CodePoints() if regex is None else regex_alphabet(regex)
    bare = prose.left in _BARE or prose.right in _BARE
    clear = not (bare and letters & CodePoints.among(" \n\r\t"))
    if clear and all(CodePoints.among(text) - letters for text in prose.exclude):
        return shape
    # Without an upper bound, non-emptiness can be expressed.
    keyword = shape.keywords[-1]
    raise UnheldKeywordError(
        f"{keyword} cannot be enforced in GBNF if a string without quotes may contain its end",
        pointer=shape.pointer,
        keyword=keyword,
        hint="write the grammar as Lark",
    )


_BARE = (EdgeStrip.NEWLINES, EdgeStrip.WHITESPACE)


def gbnf_row(*parts: str) -> str:
    """Join parts into a sequence."""
    return " ".join(part for part in parts if part and part != '""') or '""'
