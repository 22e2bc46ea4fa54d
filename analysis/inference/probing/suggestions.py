"""What a template's syntax tree suggests to probe with. It suggests; renders decide."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from jinja2 import nodes

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.loading.template import (
    ChatTemplate,
    EncodedTemplate,
    compared_values,
    mentioned_fields,
    text_constants,
)


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Names and constants worth trying on this template."""

    variables: tuple[str, ...] = ()
    """Variables that the template reads and a caller may set."""
    values: dict[str, tuple[Json, ...]] = field(default_factory=dict[str, tuple[Json, ...]])
    """Constants that a variable is compared with."""
    searched: tuple[str, ...] = ()
    """Variables in which something is searched for that is not a constant, as in a list."""
    names: frozenset[str] = frozenset()
    """Every variable that the template reads."""
    fields: tuple[str, ...] = ()
    """Names of attributes and items that the template reads from something."""
    constants: tuple[str, ...] = ()
    """Text constants in expressions."""


SPECIAL_TOKENS = (
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
)
"""The names that transformers gives special tokens."""


def stand_ins_of(template: ChatTemplate, suggestions: Suggestions) -> dict[str, str]:
    """Return names in angle brackets for the special tokens that are read and not known."""
    read = (name for name in SPECIAL_TOKENS if name in suggestions.names)
    return {name: f"<{name}>" for name in read if name not in template.special_tokens}


def tokens_of(template: ChatTemplate, suggestions: Suggestions) -> dict[str, str]:
    """Return the special tokens, and stand-ins for those that are read and not known."""
    return {**stand_ins_of(template, suggestions), **template.special_tokens}


def suggestions_of(template: ChatTemplate) -> Suggestions:
    """Collect the suggestions of a template, or of an encoder's source.

    Raises TemplateSyntaxError.
    """
    if not isinstance(template, EncodedTemplate):
        return suggest(template.syntax_tree)
    tree = ast.parse(template.text)
    constants = text_constants(tree)
    named = (constant for constant in constants if constant.isidentifier())
    values = compared_values(tree, template.parameters)
    return Suggestions(
        variables=template.parameters,
        values={name: tuple(seen) for name, seen in values.items()},
        names=frozenset(template.parameters),
        fields=tuple(dict.fromkeys((*mentioned_fields(tree), *named))),
        constants=constants,
    )


def suggest(tree: nodes.Template) -> Suggestions:
    """Collect the suggestions of one template, each in the order of the source."""
    found = _Collector()
    for node in _walk(tree):
        found.visit(node)
    return found.suggestions()


class _Collector:
    """What has been seen of the tree; dictionaries stand for ordered sets."""

    def __init__(self) -> None:
        self.loaded: dict[str, None] = {}
        self.stored: set[str] = set()
        self.questioned: set[str] = set()
        self.values: dict[str, dict[str, Json]] = {}
        self.fields: dict[str, None] = {}
        self.constants: dict[str, None] = {}
        self.searched: dict[str, None] = {}
        self.loops: dict[str, dict[str, None]] = {}
        """The variables that are gone through, by the name that an item of them has."""

    def visit(self, node: nodes.Node) -> None:
        match node:
            case nodes.Name(name=name, ctx="load"):
                self.loaded[name] = None
            case nodes.Name(name=name) | nodes.Macro(name=name):
                self.stored.add(name)
            case nodes.Const(value=str() as value):
                self.constants[value] = None
            case nodes.Getattr(attr=name) | nodes.Getitem(arg=nodes.Const(value=str() as name)):
                self.fields[name] = None
            case nodes.Test(name="defined" | "undefined", node=nodes.Name(name=name)):
                self.questioned.add(name)
            case nodes.Filter(name="default" | "d", node=nodes.Name(name=name)):
                self.questioned.add(name)
            case nodes.For(target=nodes.Name(name=item), iter=gone_through):
                inner = (each for each in _walk(gone_through) if isinstance(each, nodes.Name))
                names = dict.fromkeys(each.name for each in inner)
                self.loops.setdefault(item, {}).update(names)
            case nodes.Compare():
                self._compared(node)
            case _:
                pass

    def _compared(self, node: nodes.Compare) -> None:
        sides = [node.expr, *(operand.expr for operand in node.ops)]
        for left, operand in zip(sides, node.ops, strict=False):
            self._member(left, operand)
        items: list[nodes.Node] = []
        for side in sides:
            items += side.items if isinstance(side, nodes.List | nodes.Tuple) else [side]
        found: list[Json] = [
            item.value
            for item in items
            if isinstance(item, nodes.Const) and isinstance(item.value, str | int | float)
        ]
        for side in sides:
            if isinstance(side, nodes.Name):
                for value in found:
                    self.values.setdefault(side.name, {})[repr(value)] = value

    def _member(self, item: nodes.Node, operand: nodes.Operand) -> None:
        """Take a variable that is searched for a constant for a list that may hold it."""
        match item, operand:
            case (
                nodes.Const(value=str() | int() | float() as value),
                nodes.Operand(op="in" | "notin", expr=nodes.Name(name=name)),
            ):
                self.values.setdefault(name, {})[repr([value])] = [value]
            case _, nodes.Operand(op="in" | "notin", expr=nodes.Name(name=name)):
                self.searched[name] = None
            case _:
                pass

    def suggestions(self) -> Suggestions:
        # A field may be asked for by `'name' in message` or through a loop over names.
        named = [constant for constant in self.constants if constant.isidentifier()]
        return Suggestions(
            variables=tuple(
                name for name in self.loaded if name not in self.stored or name in self.questioned
            ),
            values={name: tuple(seen.values()) for name, seen in self._with_lists().items()},
            searched=tuple(self.searched),
            names=frozenset(self.loaded),
            fields=tuple(self.fields | dict.fromkeys(named)),
            constants=tuple(self.constants),
        )

    def _with_lists(self) -> dict[str, dict[str, Json]]:
        """Add the lists of what the items of a variable are compared with."""
        values = {name: dict(seen) for name, seen in self.values.items()}
        for item, names in self.loops.items():
            for name in names:
                for value in self.values.get(item, {}).values():
                    values.setdefault(name, {})[repr([value])] = [value]
        return values


def _walk(node: nodes.Node) -> Iterator[nodes.Node]:
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(list(current.iter_child_nodes())))
