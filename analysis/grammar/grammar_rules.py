r"""Define the rules of a grammar as plain values, before any target's syntax.

A `GrammarRules` is a root and named rules; their nodes are literals, patterns, JSON values,
choices, sequences, repetitions, and places where free text may begin, with an exit for each close.
Writers (`lark_writer`, `gbnf_writer`, `structural_tag`) give them a syntax:

    >>> city = JsonValue({"type": "string"})
    >>> call = sequence_node(LiteralNode('<call>{"city": '), city, LiteralNode("}</call>"))
    >>> answer = FreeTextNode((ProseExit(FreeProse(("<call>",)), "", NOTHING),))
    >>> rules = GrammarRules(choice_node(answer, RuleReference("call")), {"call": call})

In Lark, by way of example, the rule is ``call: "<call>{\"city\": " json "}</call>"``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from typing import TypeAlias

from msgspec import Struct

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.turn_parts import EdgeStrip

from .string_shape import StringShape


class LiteralNode(Struct, frozen=True):
    """Text that is written exactly."""

    text: str
    r"""The text, e.g. "<tool_call>\n<function="."""


@dataclass(frozen=True, slots=True)
class PatternNode:
    """Text that a regular expression matches as a whole."""

    regex: str
    """In the syntax that Python's `re` and Rust's `regex` share; no groups that capture, e.g.
    "0|[1-9][0-9]{0,8}"."""
    but_not: tuple[str, ...] = ()
    """Texts that it matches and that are excluded, e.g. ("city", "days") for the name of another
    member."""
    close: str = ""
    """The close of the text, e.g. a quote, where a match ends."""
    shape: StringShape | None = None
    """A shape that it has to match as well, quotes and escapes included, e.g. a length of 2 to 9.
    """
    escapes: tuple[str, ...] = ()
    """Spellings of single characters in it, e.g. ("<|eot|>", ")", ","), if no text of its own
    closes it."""
    begun: tuple[tuple[str, str], ...] = ()
    """Regular expressions of texts that all begin one of its matches, each with the slice of a
    vocabulary that llguidance finds in it, e.g. (("[a-z](?: ?[a-z])*", "(?: ?[a-z])+"),)."""
    slices: tuple[str, ...] = ()
    """Slices of a vocabulary that llguidance finds in the pattern itself, e.g. ("[^'x]+",)."""


class CharacterQuoting(StrEnum):
    """How the characters inside a string are written."""

    JSON = "as json.dumps(…, ensure_ascii=False)"
    JSON_ASCII = "as json.dumps(…)"
    BARE = "as itself"

    def text(self, text: str) -> str:
        """Write a text, without the quotes around it."""
        if self is CharacterQuoting.BARE:
            return text
        return json.dumps(text, ensure_ascii=self is CharacterQuoting.JSON_ASCII)[1:-1]

    @property
    def quote(self) -> str:
        """The text before and after a string."""
        return "" if self is CharacterQuoting.BARE else '"'


DEEPEST_LINE = 24
"""Levels of indentation at most."""


class JsonStyle(Struct, frozen=True):
    """The spacing of JSON, and how its strings are written."""

    item_separator: str = ", "
    """The text between items and members, e.g. "," in a compact format."""
    key_separator: str = ": "
    """The text between a key and its value, e.g. ":"."""
    ascii_only: bool = False
    r"""Whether "é" is written as "\u00e9", as `json.dumps` does."""
    indent: str = ""
    """The indentation of one level, e.g. two spaces; empty if all is on one line."""

    @property
    def quoting(self) -> CharacterQuoting:
        """How the characters of strings are written."""
        return CharacterQuoting.JSON_ASCII if self.ascii_only else CharacterQuoting.JSON


# Hashed by identity: choices are dictionaries of nodes, and a schema cannot be hashed.
@dataclass(frozen=True, slots=True, eq=False)
class JsonValue:
    """A JSON value that a schema allows; only itself is equal to it."""

    schema: Json
    """A schema of its own, e.g. {"type": "integer", "minimum": 3}: the definitions that it refers
    to are within it."""
    style: JsonStyle | None = field(default_factory=JsonStyle)
    """The spacing, e.g. `JsonStyle(", ", ": ")`, or None if the schema has it, in llguidance's
    terms."""


class RuleReference(Struct, frozen=True):
    """A rule by its name."""

    name: str
    """The name, e.g. "get_weather city value"."""


class SequenceNode(Struct, frozen=True):
    """Nodes in a sequence; without nodes, nothing is written."""

    items: tuple[Node, ...] = ()
    r"""The nodes in their order, e.g. "<parameter=q>\n", the rule "rich-q-value" and "\n"."""


class ChoiceNode(Struct, frozen=True):
    """One of several nodes."""

    options: tuple[Node, ...]
    """The alternatives, each different, e.g. nothing and a member that may be left out."""


class RepeatNode(Struct, frozen=True):
    """A repeated node."""

    node: Node
    """The node that is repeated, e.g. `PatternNode("[a-z]+")`."""
    least: int = 0
    """The minimum, e.g. 0."""
    most: int | None = None
    """The maximum, e.g. 2, or None if unbounded."""


class EmbeddedLark(Struct, frozen=True):
    """A whole grammar in llguidance's Lark, written by its author."""

    lark: str
    """The text of the grammar, e.g. "start: /[0-9]+/"."""


# Not a Struct, which could not leave fields out of the comparison.
@dataclass(frozen=True, slots=True)
class FreeProse:
    """Free text, and the texts that it may be."""

    exclude: tuple[str, ...] = ()
    """Texts that a reader would take for markup, e.g. ("<think>", "</think>", "<|im_end|>")."""
    forgiven: tuple[str, ...] = ()
    """Texts that a reader takes for markup whose beginning is missing, e.g. ("<function=",). They
    are excluded only if others have to be: alone, they are not worth the cost."""
    left: EdgeStrip = EdgeStrip.NOTHING
    """The edge that it does not begin with, e.g. `EdgeStrip.WHITESPACE`, since the template would
    strip it."""
    right: EdgeStrip = EdgeStrip.NOTHING
    """The edge that it does not end with, e.g. `EdgeStrip.NOTHING`."""
    may_be_empty: bool = False
    """Whether the empty text is one of them, e.g. True for content before calls."""
    shapes: tuple[str, ...] = ()
    """Regular expressions in Rust's syntax, each of which it has to match as a whole, e.g.
    ("[a-z]+",)."""
    shape: StringShape | None = None
    """The constraints of a schema on it, e.g. a length of 2 to 9."""
    space: str = ""
    r"""Whitespace that may follow it, e.g. "\n", if nothing else closes it."""
    tokens: tuple[int, ...] = ()
    """Opaque tokens that may stand in it, by their ids, e.g. (151657, 151658)."""
    part: str = field(default="text", compare=False)
    """Its name in the names of rules, e.g. "argument"; it does not affect equality."""
    pointer: str = field(default="#", compare=False)
    """The pointer of the schema of an argument, e.g. "#/properties/s"; it does not affect
    equality."""
    quote: str = field(default="", compare=False)
    """The closing quote, e.g. "'", with which each of its closes begins; it does not affect
    equality."""

    @property
    def is_filled_argument(self) -> bool:
        """Whether it is an argument that its schema does not allow to be empty."""
        return self.part == "argument" and not self.may_be_empty

    @property
    def is_shaped(self) -> bool:
        """Whether it has to be of a certain shape."""
        return bool(self.shapes) or self.shape is not None


class ProseExit(Struct, frozen=True):
    """One way out of free text: the text that closes it, and the node that follows."""

    prose: FreeProse | None
    """The text before the close, e.g. with ("<think>", "</think>") excluded, or None if the close
    comes at once."""
    close: str
    """The close, e.g. "</think>"; empty if the output ends, or ends with what `then` allows."""
    then: Node
    """The node that follows the close, e.g. `RuleReference("call")`."""


class FreeTextNode(Struct, frozen=True):
    """A place where free text may begin. Whichever exit's close is complete first is taken."""

    exits: tuple[ProseExit, ...]
    """The ways out, e.g. by "</think>" and by the end of the output."""


Node: TypeAlias = (
    LiteralNode
    | PatternNode
    | JsonValue
    | RuleReference
    | SequenceNode
    | ChoiceNode
    | RepeatNode
    | EmbeddedLark
    | FreeTextNode
)

NOTHING = SequenceNode()


def text_mark(text: str) -> str:
    """Return a short name of a text, which is the same in every list of tools."""
    # JSON may contain lone surrogates, which UTF-8 alone rejects.
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def sequence_node(*items: Node) -> Node:
    """Return a sequence of nodes; nested sequences are flattened, adjacent texts joined."""
    flat: list[Node] = []
    last: Node | None = None
    for item in items:
        for inner in item.items if isinstance(item, SequenceNode) else (item,):
            if isinstance(inner, LiteralNode):
                if not inner.text:
                    continue
                if isinstance(last, LiteralNode):
                    # A marker may lie across two texts: writers find its token in one text only.
                    flat[-1] = last = LiteralNode(last.text + inner.text)
                    continue
            flat.append(inner)
            last = inner
    return flat[0] if len(flat) == 1 else SequenceNode(tuple(flat))


def choice_node(*options: Node) -> Node:
    """Return a choice of nodes without duplicates."""
    if len(options) == 1:
        return options[0]
    if len(options) == 2 and ChoiceNode not in map(type, options):  # noqa: PLR2004 - most are so
        first, second = options
        return first if first == second else ChoiceNode(options)
    # A dict, not a set: a grammar must not differ from run to run.
    different = dict.fromkeys(
        inner
        for option in options
        for inner in (option.options if isinstance(option, ChoiceNode) else (option,))
    )
    return next(iter(different)) if len(different) == 1 else ChoiceNode(tuple(different))


def begins_as_escape(node: Node, pattern: PatternNode) -> bool:
    """Return whether a text, maybe after a blank, begins like an escape of the pattern before."""
    if not isinstance(node, LiteralNode):
        return False
    begins = {node.text[:1], node.text.lstrip()[:1]}
    return any(escape[:1] in begins for escape in pattern.escapes)


def items_of(node: Node) -> tuple[Node, ...]:
    """Return the nodes of a sequence, or the node alone."""
    return node.items if isinstance(node, SequenceNode) and node.items else (node,)


def inner_nodes(node: Node) -> Sequence[Node]:
    """Return the nodes right inside a node."""
    match node:
        case SequenceNode(nodes) | ChoiceNode(nodes):
            return nodes
        case RepeatNode(inner):
            return (inner,)
        case FreeTextNode(exits):
            return [exit_.then for exit_ in exits]
        case _:
            return ()


def references_in(node: Node) -> Iterator[str]:
    """Yield the names of the rules that a node refers to."""
    if isinstance(node, RuleReference):
        yield node.name
    for inner in inner_nodes(node):
        yield from references_in(inner)


@dataclass(frozen=True, slots=True, eq=False)
class RulePart:
    """Rules that are the same in every list of tools: of one tool's calls, or of a parameter."""

    tool: str
    """The tool's name, e.g. "get_weather"; empty for a parameter, which tools may share."""
    entries: tuple[str, ...]
    """The rules that others refer to, e.g. ("get-weather-arguments-1f0c",)."""
    rules_by_name: Mapping[str, Node]
    """All of them, e.g. "value-254b40bad35a" for a boolean; no other part has rules of these names.
    """
    parts: tuple[RulePart, ...] = ()
    """The parts that they refer to, e.g. the part of "value-254b40bad35a"."""

    @classmethod
    def of(
        cls,
        tool: str,
        nodes: Iterable[Node],
        rules_by_name: Mapping[str, Node],
        parts: Iterable[RulePart] = (),
    ) -> RulePart:
        """Return the part whose rules these nodes refer to."""
        entries = dict.fromkeys(name for node in nodes for name in references_in(node))
        return cls(tool, (*entries,), rules_by_name, (*parts,))


@dataclass(frozen=True, slots=True)
class GrammarRules:
    """A whole grammar."""

    root: Node
    """The node of a whole answer, e.g. a choice of content and `RuleReference("call")`."""
    rules_by_name: Mapping[str, Node]
    """The rules that `RuleReference` names, e.g. "more-calls"."""
    tools: Mapping[str, str] = field(default_factory=dict[str, str])
    """The function whose call a rule was made for, if any, e.g. "rich" for "rich-arguments"; others
    may share it."""
    frame: GrammarRules | None = None
    """The part that other tools share: its root, and some of the rules, e.g. "more-calls"; writers
    may cache its text."""
    parts: tuple[RulePart, ...] = ()
    """The rules of each tool, e.g. of "get_weather", if they are not in `rules_by_name`; writers
    may keep them, too."""
