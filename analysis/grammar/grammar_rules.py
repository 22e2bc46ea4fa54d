"""The rules of a grammar as plain values, before any target's syntax."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.text_format import EdgeStrip

from .string_shape import StringShape


@dataclass(frozen=True, slots=True)
class LiteralNode:
    """Text that is written as it stands."""

    text: str


@dataclass(frozen=True, slots=True)
class PatternNode:
    """Text that a regular expression matches as a whole."""

    regex: str
    """In the syntax that Python's `re` and Rust's `regex` share; no groups that capture."""
    but_not: tuple[str, ...] = ()
    """Texts that it matches and that are not meant."""
    close: str = ""
    """What closes the text, as the end of what is matched."""
    shape: StringShape | None = None
    """What it has to match as well, quotes and escapes included."""
    escapes: tuple[str, ...] = ()
    """What stands in it for single characters, where no text of its own closes it."""


@dataclass(frozen=True, slots=True)
class JsonStyle:
    """How JSON is spaced."""

    item_separator: str = ", "
    key_separator: str = ": "
    ascii_only: bool = False
    indent: str = ""
    """What one level adds to a line; empty: all on one line."""


@dataclass(frozen=True, slots=True, eq=False)
class JsonValue:
    """A JSON value that a schema allows; only itself is equal to it."""

    schema: Json
    """A schema of its own: the definitions that it refers to are within it."""
    style: JsonStyle | None = field(default_factory=JsonStyle)
    """None: the schema says it, in llguidance's words."""


@dataclass(frozen=True, slots=True)
class RuleReference:
    """A rule by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class SequenceNode:
    """Nodes one after the other; none of them: nothing is written."""

    items: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class ChoiceNode:
    """One of several nodes."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class RepeatNode:
    """A node again and again."""

    node: Node
    least: int = 0
    most: int | None = None
    """None: no end to it."""


@dataclass(frozen=True, slots=True)
class EmbeddedLark:
    """A whole grammar in llguidance's Lark, as somebody has written it."""

    lark: str


@dataclass(frozen=True, slots=True)
class FreeProse:
    """Free text: which texts it may be."""

    exclude: tuple[str, ...] = ()
    """Texts that a reader would take for markup."""
    forgiven: tuple[str, ...] = ()
    """Texts that a reader takes for markup of which the beginning is missing. They are kept out
    only where others have to be: alone, they are not worth what it costs.
    """
    left: EdgeStrip = EdgeStrip.NOTHING
    """What it does not begin with, since the template would strip it."""
    right: EdgeStrip = EdgeStrip.NOTHING
    may_be_empty: bool = False
    shapes: tuple[str, ...] = ()
    """Regular expressions in Rust's words, each of which it has to match as a whole."""
    shape: StringShape | None = None
    """What a schema says of it."""
    space: str = ""
    """Whitespace that may stand after it, where nothing else closes it."""
    tokens: tuple[int, ...] = ()
    """Opaque tokens that may stand in it, by their ids."""
    part: str = field(default="text", compare=False)
    """What it is called where rules have names; it makes no other text of it."""

    @property
    def is_shaped(self) -> bool:
        """Whether it has to be of a certain shape."""
        return bool(self.shapes) or self.shape is not None


@dataclass(frozen=True, slots=True)
class ProseExit:
    """One way out of free text: the text that closes it, and what comes then."""

    prose: FreeProse | None
    """The text before the close; None: there is none."""
    close: str
    """Empty: the output ends, or ends with what `then` allows."""
    then: Node


@dataclass(frozen=True, slots=True)
class FreeTextNode:
    """A place where free text may begin. Whichever exit's close is complete first is taken."""

    exits: tuple[ProseExit, ...]


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


def sequence_of(*items: Node) -> Node:
    """Put nodes one after the other; sequences inside are opened, neighbouring texts joined."""
    flat: list[Node] = []
    last: Node | None = None
    for item in items:
        for inner in item.items if isinstance(item, SequenceNode) else (item,):
            if isinstance(inner, LiteralNode):
                if not inner.text:
                    continue
                if isinstance(last, LiteralNode):
                    flat[-1] = last = LiteralNode(last.text + inner.text)
                    continue
            flat.append(inner)
            last = inner
    return flat[0] if len(flat) == 1 else SequenceNode(tuple(flat))


def choice_of(*options: Node) -> Node:
    """Return one of several nodes; the same one twice is one."""
    if len(options) == 1:
        return options[0]
    if len(options) == 2 and ChoiceNode not in map(type, options):  # noqa: PLR2004 - most are so
        first, second = options
        return first if first == second else ChoiceNode(options)
    different = dict.fromkeys(
        inner
        for option in options
        for inner in (option.options if isinstance(option, ChoiceNode) else (option,))
    )
    return next(iter(different)) if len(different) == 1 else ChoiceNode(tuple(different))


def begins_as_escape(node: Node, pattern: PatternNode) -> bool:
    """Whether a text begins as an escape of the pattern before it does, maybe after a blank."""
    if not isinstance(node, LiteralNode):
        return False
    begins = {node.text[:1], node.text.lstrip()[:1]}
    return any(each[:1] in begins for each in pattern.escapes)


def refers_to(node: Node) -> bool:
    """Whether a node refers to a rule by its name."""
    match node:
        case RuleReference():
            return True
        case SequenceNode(nodes) | ChoiceNode(nodes):
            return any(map(refers_to, nodes))
        case RepeatNode(inner):
            return refers_to(inner)
        case FreeTextNode(exits):
            return any(refers_to(exit_.then) for exit_ in exits)
        case _:
            return False


@dataclass(frozen=True, slots=True)
class GrammarRules:
    """A whole grammar."""

    root: Node
    named: Mapping[str, Node]
    """The rules that `RuleReference` names."""
    tools: Mapping[str, str] = field(default_factory=dict[str, str])
    """The function whose call a rule was made for, where it is of a call; others may share it."""
    frame: GrammarRules | None = None
    """The part that is the same for other tools: its root, and some of the rules; writers may keep
    what they have written of it.
    """
