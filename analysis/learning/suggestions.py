"""Collect from a template's syntax tree the names and constants that are worth probing with.

A collector walks the tree once. It records the variables, the constants that they are compared with
or default to, and, through a value flow, the members that are read of them. For example

    {%- set mode = options.mode | default("fast") %}{% if mode == "deep" %}…{% endif %}
    {%- if n > 3 %}…{% endif %}{% set level = effort or "low" %}

suggests for the variable `options` the values `{"mode": "fast"}` and `{"mode": "deep"}`, for `n`
the numbers 3 and 4, one on each side of the comparison, and for `effort` the word `low` and both
booleans. These are suggestions only; renders decide.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from jinja2 import nodes
from msgspec import Struct, field

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.error_words import is_list
from autoparser.analysis.core.switches import ANY_WORD
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.analysis.templates.encoded_template import EncodedTemplate
from autoparser.analysis.templates.encoder_source import (
    compared_values,
    mentioned_fields,
    text_constants,
)
from autoparser.analysis.templates.environment import undeclared_names
from autoparser.analysis.templates.source_text import PASSED


class Suggestions(Struct, frozen=True):
    """Names and constants worth trying on this template."""

    variables: tuple[str, ...] = ()
    """Variables that the template reads and a caller may set, e.g. `enable_thinking`."""
    values: dict[str, tuple[Json, ...]] = field(default_factory=dict[str, tuple[Json, ...]])
    """Constants that a variable is compared with, or that are its default, e.g. `{"effort":
    ("low", "high")}`."""
    structures: dict[str, tuple[Json, ...]] = field(default_factory=dict[str, tuple[Json, ...]])
    """Objects and lists with the members that are read of a variable, e.g. `{"x": ({"type":
    "json_object"},)}` where `x.type` is compared with that word."""
    flags: frozenset[str] = frozenset()
    """Variables that are tested for truth, as by `{% if enable_thinking %}`."""
    searched: tuple[str, ...] = ()
    """Variables that are searched for something that is not a constant, as by `name in
    builtin_tools`."""
    names: frozenset[str] = frozenset()
    """Every variable that the template reads, e.g. `messages`."""
    fields: tuple[str, ...] = ()
    """Names of attributes and items that the template reads, e.g. `reasoning_content`."""
    constants: tuple[str, ...] = ()
    """Text constants in expressions, e.g. `"</think>"` in `content.split("</think>")`."""


SPECIAL_TOKENS = (
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
)
"""The names of special tokens in transformers."""


def stand_in_tokens(template: ChatTemplate, suggestions: Suggestions) -> dict[str, str]:
    """Return names in angle brackets for the special tokens that are read but unknown."""
    read = (name for name in SPECIAL_TOKENS if name in suggestions.names)
    return {name: f"<{name}>" for name in read if name not in template.special_tokens}


def rendering_tokens(template: ChatTemplate, suggestions: Suggestions) -> dict[str, str]:
    """Return the special tokens, and placeholders for those that are read but unknown."""
    return {**stand_in_tokens(template, suggestions), **template.special_tokens}


def template_suggestions(template: ChatTemplate) -> Suggestions:
    """Collect the suggestions of a template, or of an encoder's source.

    Raises TemplateSyntaxError.
    """
    if not isinstance(template, EncodedTemplate):
        return suggest_values(template.syntax_tree)
    tree = ast.parse(template.text)
    constants = text_constants(tree)
    # Python reads fields by `message["name"]`, `get("name")` or a loop over names.
    named = (constant for constant in constants if constant.isidentifier())
    values = compared_values(tree, template.parameters)
    return Suggestions(
        variables=template.parameters,
        values={name: tuple(seen) for name, seen in values.items()},
        flags=frozenset(template.parameters),
        names=frozenset(template.parameters),
        fields=tuple(dict.fromkeys((*mentioned_fields(tree), *named))),
        constants=constants,
    )


def suggest_values(tree: nodes.Template) -> Suggestions:
    """Collect the suggestions of one template, each in the order of the source."""
    found = _Collector()
    for node in _walk_nodes(tree):
        found.visit(node)
    return found.suggestions(tree)


_CHILDLESS = frozenset({nodes.Const, nodes.Name, nodes.TemplateData})
_FILTERS = (nodes.Filter, nodes.Test)
_UNSETTING = frozenset({*_FILTERS, nodes.Macro})
_STATING = frozenset(
    {nodes.Assign, nodes.Compare, nodes.Getattr, nodes.Getitem, nodes.If, nodes.Macro}
)
_CHOOSING = (nodes.Call, nodes.CondExpr, nodes.Filter, nodes.And, nodes.Or)
"""Nodes that may yield one of several values, or a respelled one."""
_STANDING_IN = (nodes.CondExpr, nodes.Filter, nodes.Or)

_RESPELLING = frozenset(
    {"capitalize", "casefold", "d", "default", "e", "escape", "forceescape", "lower", "lstrip"}
    | {"replace", "rstrip", "safe", "string", "strip", "striptags", "title", "trim", "upper"}
)
"""Filters and methods that respell a text, or replace it by a default where it is unset."""


def _unset_names(node: nodes.Node) -> set[str]:
    """Return the name that a node treats as possibly unset, or an empty set for other nodes."""
    if not isinstance(node, _FILTERS):
        return set()
    match node:
        case (
            nodes.Test(name="defined" | "undefined", node=nodes.Name(name=name))
            | nodes.Filter(name="default" | "d", node=nodes.Name(name=name))
        ):
            return {name}
        case _:
            return set()


_EQUAL = frozenset({"eq", "equalto", "==", "ne", "!=", "sameas"})
_BESIDE = {"gt": (0, 1), "lteq": (0, 1), "lt": (-1, 0), "gteq": (-1, 0)}
"""Offsets that yield one number on each side of a comparison."""

_OF_LISTS = frozenset({"join", "map", "reject", "rejectattr", "select", "selectattr"})
"""Filters that iterate over the items of their operand."""

MOST_STRUCTURES = 6
"""At most this many objects and lists are suggested for a variable."""
_MOST_WORDS = 2
"""At most this many of the words that a part of a variable is compared with are tried."""
_ITEM, _VALUE = "[]", "{}"
"""Placeholders for the name of any item of a list, and of the value of any key."""
LONGEST_DEFAULT = 40
"""Longer defaults of a variable are contents, such as a system message."""


class _Collector:
    """Collects facts from the nodes of a tree; dictionaries serve as ordered sets."""

    def __init__(self) -> None:
        # The order of the source decides which values are tried first.
        self.loaded: dict[str, None] = {}
        self.stored: set[str] = set()
        self.questioned: set[str] = set()
        self.fields: dict[str, None] = {}
        self.constants: dict[str, None] = {}
        self.searched: dict[str, None] = {}
        self.own: set[int] = set()
        """The nodes in which a macro tests its own parameter."""
        self.flow = _ValueFlow()

    def visit(self, node: nodes.Node) -> None:
        # The most frequent nodes first.
        if isinstance(node, nodes.Name):
            if node.ctx == "load":
                self.loaded[node.name] = None
            else:
                self.stored.add(node.name)
        elif isinstance(node, nodes.Const):
            if isinstance(node.value, str):
                self.constants[node.value] = None
        else:
            self.flow.visit(node)
            if type(node) in _UNSETTING:
                self._visit_unset(node)
            if type(node) in _STATING:
                self._visit_statement(node)

    def _visit_statement(self, node: nodes.Node) -> None:
        match node:
            case nodes.Getattr(attr=name) | nodes.Getitem(arg=nodes.Const(value=str() as name)):
                self.fields[name] = None
            case nodes.Macro(name=name):
                self.stored.add(name)
            case nodes.Assign(target=nodes.Name(name=name), node=value):
                self._question(name, value)
            # A variable that is set inside a test of itself is the caller's, with a default.
            case nodes.If(test=test, body=[nodes.Assign(target=nodes.Name(name=name)), *_]):
                self._question(name, test)
            case nodes.Compare(expr=left, ops=operands):
                for operand in operands:
                    self._search(left, operand)
                    left = operand.expr
            case _:
                pass

    def _visit_unset(self, node: nodes.Node) -> None:
        if isinstance(node, nodes.Macro) and node.args:
            own = {parameter.name for parameter in node.args}
            self.own |= {id(inner) for inner in _walk_nodes(node) if _unset_names(inner) & own}
        if isinstance(node, _FILTERS) and id(node) not in self.own:
            self.questioned |= _unset_names(node)

    def _question(self, name: str, read: nodes.Node) -> None:
        """Treat a name that is read where it is first set as the caller's.

        As in `{% set x = x or 'usual' %}` and `{% if not x %}{% set x = 'usual' %}{% endif %}`.
        """
        names = (inner for inner in _walk_nodes(read) if isinstance(inner, nodes.Name))
        if name not in self.stored and any(inner.name == name for inner in names):
            self.questioned.add(name)

    def _search(self, item: nodes.Node, operand: nodes.Operand) -> None:
        match item, operand:
            case nodes.Const(value=str() | int() | float()), _:
                pass
            case _, nodes.Operand(op="in" | "notin", expr=nodes.Name(name=name)):
                # In `x in tools` the variable is a list; in `"a" in x` it may also be a text.
                self.searched[name] = None
            case _:
                pass

    def _variables(self, tree: nodes.Template) -> tuple[str, ...]:
        """Return the variables that are never set, or set only where the caller has not."""
        unset = [name for name in self.loaded if name not in self.stored]
        # A name that is set without a test before it is the template's own.
        doubtful = [name for name in self.loaded if name in self.stored & self.questioned]
        if doubtful:
            # A name tested only in a macro that has it as a parameter is not the caller's.
            unset += undeclared_names(tree).intersection(doubtful)
        return tuple(name for name in self.loaded if name in unset)

    def suggestions(self, tree: nodes.Template) -> Suggestions:
        # A field may be looked up by `'name' in message` or in a loop over names.
        named = [constant for constant in self.constants if constant.isidentifier()]
        variables = self._variables(tree)
        structures, keys = self.flow.structures(
            [variable for variable in variables if variable not in PASSED]
        )
        values = {
            name: tuple(_plain_values(seen, keys.get(name, ())))
            for name, seen in self.flow.values(variables).items()
        }
        return Suggestions(
            variables=variables,
            values={name: seen for name, seen in values.items() if seen},
            structures=structures,
            flags=self.flow.flags(variables),
            searched=tuple(self.searched),
            names=frozenset(self.loaded),
            fields=tuple(self.fields | dict.fromkeys(named)),
            constants=tuple(self.constants),
        )


class _Structure(NamedTuple):
    """Possible values of a variable, or of a part of it."""

    whole: Json
    """A value with all members that are read, e.g. `{"type": "json_object", "strict": True}`."""
    telling: tuple[Json, ...]
    """Values with one member that the template tests each, equal to a word that it is compared
    with, or true, e.g. `({"type": "json_object"}, {"strict": True})`."""

    @property
    def values(self) -> tuple[Json, ...]:
        telling = self.telling[: MOST_STRUCTURES - 1]
        return telling if self.whole in telling else (*telling, self.whole)


def _container_structure(inner: Mapping[str, _Structure]) -> _Structure:
    """Return a list if its items are iterated over, else an object."""
    named = {key: structure for key, structure in inner.items() if key not in (_ITEM, _VALUE)}
    # The keys are unknown, as in `for key, value in x.items()`.
    if not named and _VALUE in inner:
        return _Structure({ANY_WORD: ANY_WORD}, ())
    if not named:
        item = inner[_ITEM]
        return _Structure([item.whole], tuple([structure] for structure in item.telling))
    return _Structure(
        {key: structure.whole for key, structure in named.items()},
        tuple({key: value} for key, structure in named.items() for value in structure.telling),
    )


_NONE_REACHED: Mapping[str, set[str]] = {}


def _plain_values(values_by_repr: Mapping[str, Json], keys: Collection[str]) -> Iterator[Json]:
    """Return the values that are not keys of an object, which are searched for, not compared.

    A word that is searched for is present as the item of a list, too.
    """
    # `"a" in x` tests for a key if `x` is an object, and for a substring otherwise.
    sought = {
        repr(value) for key in keys if repr([key]) in values_by_repr for value in (key, [key])
    }
    return (value for shown, value in values_by_repr.items() if shown not in sought)


class _ValueFlow:
    """Tracks which names hold the value of a variable, and the constants they are compared with.

    A value flows through `{% set %}`, an attribute of a namespace or a parameter of a macro.
    Scopes are not distinguished: a superfluous value costs a few renders, a missing one a format.
    """

    def __init__(self) -> None:
        self._name_values: dict[str, list[nodes.Node]] = {}
        """The expressions whose value a name may have."""
        self._items: dict[str, list[str]] = {}
        """The variables that are iterated over, by the name of the loop variable."""
        self._parameters: dict[str, list[str]] = {}
        """The parameters of each macro."""
        self._calls: list[tuple[str, nodes.Call]] = []
        self._compared: list[tuple[nodes.Node, str, nodes.Node]] = []
        self._tests: list[nodes.Node] = []
        """Expressions that are tested for truth."""
        self._or_operands: list[nodes.Node] = []
        """Expressions that are used if true: both a test and a value."""
        self._choices: list[nodes.Node] = []
        """Expressions in which a text may be the default of a variable."""
        self._read: Counter[str] = Counter()
        """Names with an attribute, as `x.type`, and how often each is read."""
        self._sought: dict[str, None] = {}
        """The same for searched constants, each an item, a part of a text or a name."""
        self._methods: set[int] = set()
        """The nodes that name a method."""

    def visit(self, node: nodes.Node) -> None:
        for visit in _FLOW_VISITS.get(type(node), ()):
            visit(self, node)

    def visit_binding(self, node: nodes.Node) -> None:
        """Record the values of a name: assignments, defaults, and items of literal lists."""
        match node:
            case nodes.Assign(
                target=nodes.Name(name=name),
                node=nodes.Call(node=nodes.Name(name="namespace"), kwargs=attributes),
            ):
                for attribute in attributes:
                    self._hold(f"{name}.{attribute.key}", attribute.value)
            case nodes.Assign(target=nodes.Name(name=name), node=value):
                self._hold(name, value)
            case nodes.Assign(target=nodes.NSRef(name=name, attr=key), node=value):
                self._hold(f"{name}.{key}", value)
            case nodes.Macro(name=name, args=parameters, defaults=defaults):
                self._parameters[name] = [parameter.name for parameter in parameters]
                for parameter, value in zip(reversed(parameters), reversed(defaults), strict=False):
                    self._hold(parameter.name, value)
            case nodes.Call(node=nodes.Name(name=name)):
                self._calls.append((name, node))
            # A loop over a literal list gives its variable each of the constants.
            case nodes.For(target=nodes.Name(name=item), iter=nodes.List() | nodes.Tuple() as row):
                self._hold(item, row)
            case nodes.For(target=nodes.Name(name=item), iter=gone_through):
                inner = (
                    inner_name
                    for inner_name in _walk_nodes(gone_through)
                    if isinstance(inner_name, nodes.Name)
                )
                self._items.setdefault(item, []).extend(inner_name.name for inner_name in inner)
            case _:
                pass

    def visit_structure(self, node: nodes.Node) -> None:
        """Record the members that are read of a value, such as `message.tool_calls`."""
        if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
            self._methods.add(id(node.node))
            self._read_each(_value_names(node))
        match node:
            # The keys are unknown, so members of such an object get a placeholder name.
            case nodes.Call(node=nodes.Getattr(node=inner, attr="items" | "values")):
                self._read_behind(inner, _VALUE)
            case nodes.Getattr() | nodes.Getitem(arg=nodes.Const(value=str())) if (
                id(node) not in self._methods
            ):
                self._read_each(_value_names(node))
            case nodes.Getitem(node=inner, arg=nodes.Name()):
                self._read_behind(inner, _VALUE)
            case nodes.For(target=nodes.Name(name=item), iter=gone_through):
                self._read_behind(gone_through, _ITEM)
                self._hold(item, nodes.Getattr(gone_through, _ITEM, "load"))
            case nodes.Filter(node=nodes.Node() as inner, name=name) if name in _OF_LISTS:
                self._read_behind(inner, _ITEM)
            case nodes.Compare(
                expr=nodes.Const(value=str() as key),
                ops=[nodes.Operand(op="in" | "notin", expr=inner)],
            ):
                if key.isidentifier():
                    self._sought |= dict.fromkeys(f"{name}.{key}" for name in _value_names(inner))
            case _:
                pass

    def _read_behind(self, inner: nodes.Node, key: str) -> None:
        self._read_each(f"{name}.{key}" for name in _value_names(inner))

    def _read_each(self, names: Iterable[str]) -> None:
        for name in names:
            self._read[name] += 1

    def structures(
        self, variables: Collection[str]
    ) -> tuple[dict[str, tuple[Json, ...]], dict[str, set[str]]]:
        """Return, by variable, objects and lists with the members that are read, and its keys."""
        reached = self._reached_members(variables)
        members = dict.fromkeys(member for names in reached.values() for member in sorted(names))
        if not members:
            return {}, {}
        values = self.values(members, reached)
        # A value that is also rendered is a text.
        tests = {
            id(alternative): alternative
            for test in self._tests
            for alternative in _alternative_nodes(test)
        }
        tested = Counter(name for test in tests.values() for name in _value_names(test))
        flags = [name for name, reads in self._read.items() if tested[name] == reads]
        asked = {held for name in flags for held in reached.get(name, ())}

        def build_structure(member: str) -> _Structure:
            inner = {
                inner_member.removeprefix(f"{member}."): build_structure(inner_member)
                for inner_member in members
                if inner_member.rpartition(".")[0] == member
            }
            if inner:
                return _container_structure(inner)
            # A member that is read but never compared gets an arbitrary word.
            known = values[member]
            # Exclude words searched for inside the value, which is hardly equal to one of them.
            words = [
                value
                for value in known.values()
                if not isinstance(value, list) and repr([value]) not in known
            ]
            telling: list[Json] = [*words[:_MOST_WORDS], *([True] if member in asked else [])]
            return _Structure((telling or [ANY_WORD])[0], tuple(telling))

        keys: dict[str, set[str]] = {}
        for name, _, key in (member.partition(".") for member in members):
            keys.setdefault(name, set()).add(key)
        return {name: build_structure(name).values for name in keys}, keys

    def _reached_members(self, variables: Collection[str]) -> dict[str, set[str]]:
        """Return the names that hold the value of a member of a variable, with those members.

        `set kind = x.type` maps both `kind` and `x.type` to `x.type`.
        """
        reached: dict[str, set[str]] = {}
        # A member may be bound to another name, of which members are read in turn. A searched
        # constant is a key if the variable is an object by the other reads.
        for names in (self._read, self._read, self._sought):
            members = {member for known in reached.values() for member in known}
            objects = {
                member.rpartition(".")[0] for member in members if not member.endswith(_ITEM)
            }
            # A name may refer to a member through several assignments.
            sources = self._sources({*variables, *members}, reached)
            for read in names:
                for name, key in _member_splits(read):
                    for source in sources.get(name, ()):
                        if names is self._read or source in objects:
                            reached.setdefault(read, set()).add(f"{source}.{key}")
        return reached

    def visit_test(self, node: nodes.Node) -> None:
        if isinstance(node, _STANDING_IN):
            self._choices.append(node)
        match node:
            case nodes.If(test=test) | nodes.CondExpr(test=test) | nodes.Not(node=test):
                self._tests.append(test)
            case nodes.And(left=left, right=right):
                self._tests += [left, right]
            case nodes.Or(left=left, right=right):
                self._or_operands += [left, right]
            case nodes.Test(name="true" | "false" | "boolean", node=tested):
                self._tests.append(tested)
            case _:
                pass

    def visit_comparison(self, node: nodes.Node) -> None:
        match node:
            case nodes.Test(name=name, node=left, args=[right]) if name in _EQUAL:
                self._compared.append((left, "eq", right))
            case nodes.Test(name="in", node=left, args=[right]):
                self._compared.append((left, "in", right))
            case nodes.Compare(expr=left, ops=operands):
                for operand in operands:
                    self._compared.append((left, operand.op, operand.expr))
                    left = operand.expr
            # `NAMES[level]` with a literal mapping: its keys are the values that `level` may have.
            case nodes.Getitem(node=looked_in, arg=key):
                self._compared.append((key, "key", looked_in))
            case nodes.Call(node=nodes.Getattr(node=looked_in, attr="get"), args=[key, *_]):
                self._compared.append((key, "key", looked_in))
            # The tested prefix is itself a text that passes the test.
            case nodes.Call(node=nodes.Getattr(node=text, attr="startswith"), args=[start]):
                self._compared.append((text, "eq", start))
            case _:
                pass

    def _hold(self, name: str, value: nodes.Node) -> None:
        self._name_values.setdefault(name, []).append(value)

    def _pass_arguments(self) -> None:
        """Bind the parameters of macros to the arguments of their calls."""
        for name, call in self._calls:
            parameters = self._parameters.get(name, [])
            for parameter, value in zip(parameters, call.args, strict=False):
                self._hold(parameter, value)
            for keyword in call.kwargs:
                if keyword.key in parameters:
                    self._hold(keyword.key, keyword.value)
        # Clear the calls: this runs for every question, and arguments need binding only once.
        self._calls.clear()

    @cached_property
    def _passing(self) -> Mapping[str, set[str]]:
        """The names whose value each name may hold; valid once all nodes are visited."""
        self._pass_arguments()
        return {
            name: {held for value in values for held in _value_names(value)}
            for name, values in self._name_values.items()
        }

    def _sources(
        self, variables: Collection[str], reached: Mapping[str, set[str]]
    ) -> Mapping[str, set[str]]:
        """Return, by name, the variables whose value it may hold.

        `reached` are names that hold a member of a variable; a member counts as a variable here.
        """
        found = {name: {name} for name in variables}
        for name, members in reached.items():
            found[name] = found.get(name, set()) | members
        changed = True
        # Names may pass values in a circle, but the sets only grow, so this ends.
        while changed:
            changed = False
            for name, others in self._passing.items():
                known = found.setdefault(name, set())
                more = {source for other in others for source in found.get(other, ())} - known
                known |= more
                changed = changed or bool(more)
        return found

    def flags(self, variables: Collection[str]) -> frozenset[str]:
        """Return the variables that are tested for truth."""
        sources = self._sources(variables, _NONE_REACHED)
        tests = (*self._tests, *self._or_operands)
        names = {name for test in tests for name in _value_names(test)}
        return frozenset(variable for name in names for variable in sources.get(name, ()))

    def values(
        self, variables: Collection[str], reached: Mapping[str, set[str]] = _NONE_REACHED
    ) -> Mapping[str, dict[str, Json]]:
        """Map each variable to its defaults and compared values."""
        sources = self._sources(variables, reached)
        found: dict[str, dict[str, Json]] = {name: {} for name in variables}
        for name, values in self._beside_names:
            for source in sources.get(name, ()):
                found[source] |= {repr(value): value for value in values}
            for source in found.keys() & self._items.get(name, ()):
                found[source] |= {repr([value]): [value] for value in values}
        return found

    @cached_property
    def _beside_names(self) -> Sequence[tuple[str, Sequence[Json]]]:
        """The defaults of names and the values they are compared with, once all is visited."""
        self._pass_arguments()
        found: list[tuple[str, Sequence[Json]]] = []

        def add(names: Iterable[str], values: Sequence[Json]) -> None:
            found.extend((name, values) for name in names if values)

        for name, expressions in self._name_values.items():
            add([name], [text for expression in expressions for text in _default_texts(expression)])
        for choice in self._choices:
            add(_value_names(choice), [*_default_texts(choice)])
        for left, operator, right in self._compared:
            add(_value_names(left), _values_beside(self._constants(right), operator))
            if operator == "key":
                continue
            others = self._constants(left)
            if operator in ("in", "notin"):
                # A list with this item, or a text that contains the item.
                others = [*([other] for other in others), *others]
            add(_value_names(right), _values_beside(others, operator))
        return found

    def _constants(self, node: nodes.Node) -> list[Json]:
        """Return the constants that an operand may be or contain."""
        found: list[Json] = []
        for alternative in _alternative_nodes(node):
            # A name may stand for constants that were assigned to it: `set modes = ["a", "b"]`.
            named = (
                self._name_values.get(alternative.name, ())
                if isinstance(alternative, nodes.Name)
                else ()
            )
            for operand in (
                alternative,
                *(inner for value in named for inner in _alternative_nodes(value)),
            ):
                found += _own_constants(operand)
        return found


_Flow = _ValueFlow
_FLOW_VISITS: Mapping[type[nodes.Node], Sequence[Callable[[_ValueFlow, nodes.Node], None]]] = {
    nodes.Getattr: (_Flow.visit_structure,),
    nodes.Getitem: (_Flow.visit_structure, _Flow.visit_comparison),
    nodes.Compare: (_Flow.visit_structure, _Flow.visit_comparison),
    nodes.Call: (_Flow.visit_structure, _Flow.visit_binding, _Flow.visit_comparison),
    nodes.For: (_Flow.visit_structure, _Flow.visit_binding),
    nodes.Filter: (_Flow.visit_structure, _Flow.visit_test),
    nodes.Test: (_Flow.visit_test, _Flow.visit_comparison),
    nodes.Assign: (_Flow.visit_binding,),
    nodes.Macro: (_Flow.visit_binding,),
    **dict.fromkeys(
        (nodes.If, nodes.CondExpr, nodes.Not, nodes.And, nodes.Or), (_Flow.visit_test,)
    ),
}
"""The methods with a case for a node type: trying all cases on all nodes takes longer."""


def _own_constants(node: nodes.Node) -> Iterator[Json]:
    match node:
        case nodes.Const(value=str() | int() | float() as value):
            yield value
        case nodes.List(items=items) | nodes.Tuple(items=items):
            for item in items:
                if isinstance(item, nodes.Const):
                    yield from _own_constants(item)
        case nodes.Dict(items=pairs):
            for pair in pairs:
                yield from _own_constants(pair.key)
        case _:
            pass


def _values_beside(values: Iterable[Json], operator: str) -> list[Json]:
    """Return the values, or for an ordering operator a number on each side of each."""
    found: list[Json] = []
    for value in values:
        if isinstance(value, int) and not isinstance(value, bool):
            # `x > 3` is true for 4 and false for 3: both sides are tried.
            found += [value + more for more in _BESIDE.get(operator, (0,))]
        else:
            found.append(value)
    return found


def _alternative_nodes(node: nodes.Node) -> Sequence[nodes.Node]:
    """Return the alternatives of an expression, respelled or not: `(x or 'usual') | lower`."""
    # Check the type first: `match` is slow to run on every node.
    if not isinstance(node, _CHOOSING):
        return (node,)
    match node:
        case nodes.CondExpr(expr1=one, expr2=None):
            return _alternative_nodes(one)
        case (
            nodes.CondExpr(expr1=one, expr2=nodes.Node() as other)
            | nodes.Or(left=one, right=other)
            | nodes.And(left=one, right=other)
        ):
            return (*_alternative_nodes(one), *_alternative_nodes(other))
        case nodes.Filter(node=nodes.Node() as inner, name="default" | "d", args=[other, *_]):
            return (*_alternative_nodes(inner), *_alternative_nodes(other))
        case (
            nodes.Filter(node=nodes.Node() as inner, name=name)
            | nodes.Call(node=nodes.Getattr(node=inner, attr=name))
        ) if name in _RESPELLING:
            return _alternative_nodes(inner)
        case _:
            return (node,)


def _value_names(node: nodes.Node) -> list[str]:
    """Return the names, and attributes of names, whose value an expression may take."""
    if isinstance(node, nodes.Name):
        return [node.name]
    if isinstance(node, nodes.Getattr):
        return [f"{name}.{node.attr}" for name in _value_names(node.node)]
    names: list[str] = []
    for alternative in _alternative_nodes(node):
        match alternative:
            case nodes.Name(name=name):
                names.append(name)
            case nodes.Getattr():
                names += _value_names(alternative)
            case (
                nodes.Getitem(node=inner, arg=nodes.Const(value=str() as key))
                | nodes.Call(
                    node=nodes.Getattr(node=inner, attr="get"),
                    args=[nodes.Const(value=str() as key), *_],
                )
            ):
                names += [f"{name}.{key}" for name in _value_names(inner)]
            case _:
                pass
    return names


def _member_splits(read: str) -> Iterator[tuple[str, str]]:
    """Yield each split of a read into name and member: `ns.x.type`, of `ns` or `ns.x`."""
    names = read.split(".")
    for at in range(1, len(names)):
        yield ".".join(names[:at]), ".".join(names[at:])


def _default_texts(node: nodes.Node) -> Iterator[str]:
    """Yield the texts that an expression may be, as far as they may be the default of a value."""
    for alternative in _alternative_nodes(node):
        match alternative:
            case nodes.Const(value=str() as value) if 0 < len(value) <= LONGEST_DEFAULT:
                yield value
            case _:
                pass


def _walk_nodes(node: nodes.Node) -> Iterator[nodes.Node]:
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        # Skip most nodes, which have no children.
        if type(current) in _CHILDLESS:
            continue
        # Like `iter_child_nodes`, in half the time.
        inner: list[nodes.Node] = []
        for name in current.fields:
            value: object = getattr(current, name, None)
            if isinstance(value, nodes.Node):
                inner.append(value)
            elif value and is_list(value):
                inner += [child for child in value if isinstance(child, nodes.Node)]
        inner.reverse()
        waiting += inner
