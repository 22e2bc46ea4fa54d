"""Run a template with every branch taken, in a sandbox that records forbidden access.

The syntax tree is rewritten first: conditions are evaluated but not obeyed, loops run at least
once, and other templates are recorded instead of loaded:

    >>> template = ChatTemplate("{% if a %}b{% else %}c{% endif %}{{ ''.__class__ }}")
    >>> run = force_branches(template, {})
    >>> run.text, run.forbidden
    ('bc', {'__class__': None})
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import wraps
from itertools import islice
from typing import Any, cast

from jinja2 import Template, Undefined, nodes
from jinja2.ext import LoopControlExtension
from jinja2.runtime import Context, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment, is_internal_attribute
from jinja2.visitor import NodeTransformer

from autoparser.analysis.core.error_words import is_row
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.analysis.templates.environment import GenerationTag, chat_environment
from autoparser.analysis.templates.worker_limits import LimitReached, current_guard

# The value of everything that cannot be computed: it accepts every operation and stays undefined.


class SilentUndefined(Undefined):
    """An Undefined that never raises: the result of any operation is undefined again."""

    def __getattr__(self, name: str) -> Any:
        # Python and MarkupSafe look these up to learn what a value can do, e.g. `__html__`.
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def _same(self, *args: Any, **kwargs: Any) -> Any:
        del args, kwargs
        return self

    def _other(self, other: Any) -> Any:
        return other

    def _false(self, other: object) -> bool:
        del other
        return False

    __getitem__ = __call__ = __neg__ = __pos__ = _same
    # Text that is joined with an unknown value is still written.
    __add__ = __radd__ = _other
    __sub__ = __rsub__ = __mul__ = __rmul__ = _same
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _same
    __mod__ = __rmod__ = __pow__ = __rpow__ = _same
    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = _false  # type: ignore[assignment]

    def __int__(self) -> int:  # type: ignore[override]
        return 0

    def __float__(self) -> float:  # type: ignore[override]
        return 0.0

    def __iter__(self) -> Iterator[Any]:
        yield from ()


# The results of a run with every branch taken.


GADGETS = ("lipsum", "cycler", "joiner")
"""Jinja's own globals that no chat template needs; known escapes from sandboxes start with them."""


@dataclass(slots=True)
class ForcedRun:
    """The observations of a run; the keys of each dictionary are distinct and in order."""

    text: str = ""
    r"""All text that the template may write, in the order of the source, e.g. ``"System:
    rwgvpbsb\n\nUser: pkvrbnwj\n\nAssistant: "``."""
    forbidden: dict[str, None] = field(default_factory=dict[str, None])
    """The private attributes that it accesses, e.g. ``__class__``."""
    by_name: dict[str, None] = field(default_factory=dict[str, None])
    """The private attributes that it names by a string, e.g. with the filter `attr`."""
    gadgets: dict[str, None] = field(default_factory=dict[str, None])
    """The members of `GADGETS` that it calls, e.g. ``{"cycler": None}``."""
    loaded: dict[str, None] = field(default_factory=dict[str, None])
    """The templates that it includes, imports or extends, e.g. ``macros.jinja``."""
    error: str = ""
    """The error that ended the run early, e.g. ``"TemplateAssertionError: No filter named
    'nosuch'."``; empty if none did."""


# The rewritten syntax tree. A decision becomes a call of a function that receives all alternatives:
# `a if b else c` becomes `autoparser_either(a, c, b)`. `WatchedSandbox` defines the functions.


EITHER = "autoparser_either"
ITEMS = "autoparser_items"
UNPACKED = "autoparser_unpacked"
SLICED = "autoparser_sliced"
LOADED = "autoparser_loaded"


class BranchOpener(NodeTransformer):
    """Rewrites a tree in place."""

    def visit_If(self, node: nodes.If) -> list[nodes.Node]:  # noqa: N802 - Jinja's names
        """Evaluate the test, then run every side."""
        self.generic_visit(node)
        # The condition itself may access something that the sandbox forbids.
        return [_statement_of(node.test), *node.body, *node.elif_, *node.else_]

    def visit_CondExpr(self, node: nodes.CondExpr) -> nodes.Node:  # noqa: N802
        """Evaluate both sides."""
        self.generic_visit(node)
        # Without an `else`, Jinja writes nothing.
        other = node.expr2 or nodes.Const("", lineno=node.lineno)
        return _call_node(EITHER, node.expr1, other, node.test)

    def visit_And(self, node: nodes.And) -> nodes.Node:  # noqa: N802
        """Evaluate both sides."""
        self.generic_visit(node)
        # If both sides are true, `and` returns the right value, `or` the left one.
        return _call_node(EITHER, node.right, node.left)

    def visit_Or(self, node: nodes.Or) -> nodes.Node:  # noqa: N802
        """Evaluate both sides."""
        self.generic_visit(node)
        return _call_node(EITHER, node.left, node.right)

    def visit_Not(self, node: nodes.Not) -> nodes.Node:  # noqa: N802
        """Evaluate the operand."""
        self.generic_visit(node)
        return _call_node(EITHER, nodes.Const(True, lineno=node.lineno), node.node)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        """Evaluate the operands; comparing them may fail."""
        self.generic_visit(node)
        sides = [node.expr, *(operand.expr for operand in node.ops)]
        return _call_node(EITHER, nodes.Const(True, lineno=node.lineno), *sides)

    def visit_Test(self, node: nodes.Test) -> nodes.Node:  # noqa: N802
        """Evaluate the operand and the arguments."""
        self.generic_visit(node)
        rest = [*(node.args or ()), *(pair.value for pair in node.kwargs or ())]
        return _call_node(EITHER, nodes.Const(True, lineno=node.lineno), node.node, *rest)

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        """Slice only values that support it."""
        self.generic_visit(node)
        if not isinstance(node.arg, nodes.Slice):
            return node
        ends = [
            end or nodes.Const(None, lineno=node.lineno)
            for end in (node.arg.start, node.arg.stop, node.arg.step)
        ]
        return _call_node(SLICED, node.node, *ends)

    def visit_For(self, node: nodes.For) -> list[nodes.Node]:  # noqa: N802
        """Iterate at least once, regardless of the filter, and run the `else` side, too."""
        self.generic_visit(node)
        # `for key, value in …` unpacks each item, and an undefined value has too few.
        node.iter = _call_node(ITEMS, node.iter, _width(node.target))
        if node.test is not None:
            node.body = [_statement_of(node.test), *node.body]
            node.test = None
        # Jinja runs the `else` side only for a loop without rounds.
        other, node.else_ = node.else_, []
        return [node, *other]

    def visit_Assign(self, node: nodes.Assign) -> nodes.Node:  # noqa: N802
        """Unpack only values that support it."""
        self.generic_visit(node)
        if isinstance(node.target, nodes.Tuple):
            node.node = _call_node(UNPACKED, node.node, _width(node.target))
        return node

    def visit_Macro(self, node: nodes.Macro) -> list[nodes.Node]:  # noqa: N802
        """Call the macro once, after its definition."""
        self.generic_visit(node)
        # Nothing else may call the macro, and without a call its body would never run.
        name = nodes.Name(node.name, "load", lineno=node.lineno)
        called = nodes.Call(name, [], [], None, None, lineno=node.lineno)
        return [node, nodes.Output([called], lineno=node.lineno)]

    def visit_Break(self, node: nodes.Break | nodes.Continue) -> list[nodes.Node]:  # noqa: N802
        """Continue with the next statement."""
        # Executed, it would hide the statements after it.
        del node
        return []

    visit_Continue = visit_Break  # noqa: N815

    def visit_Include(  # noqa: N802
        self, node: nodes.Include | nodes.Import | nodes.FromImport | nodes.Extends
    ) -> nodes.Node:
        """Record the other template instead of loading it."""
        return _statement_of(_call_node(LOADED, node.template))

    visit_Import = visit_FromImport = visit_Extends = visit_Include  # noqa: N815


def _call_node(function: str, *args: nodes.Node) -> nodes.Call:
    line = args[0].lineno
    name = nodes.Name(function, "load", lineno=line)
    return nodes.Call(name, [*args], [], None, None, lineno=line)


def _statement_of(expression: nodes.Node) -> nodes.Node:
    return nodes.ExprStmt(expression, lineno=expression.lineno)


def _width(target: nodes.Node) -> nodes.Const:
    width = len(target.items) if isinstance(target, nodes.Tuple) else 0
    return nodes.Const(width, lineno=target.lineno)


# The sandbox of a forced run, which records forbidden access.


MOST_ITEMS = 2
MOST_DEPTH = 3
MOST_CALLS = 3000
LARGEST = 1000
"""The bounds of a run: rounds of a loop, nested macros, calls, factors of a multiplication."""


class WatchedSandbox(ImmutableSandboxedEnvironment):
    """Refuses the same access as the sandbox, records it, and continues."""

    intercepted_binops = frozenset(ImmutableSandboxedEnvironment.default_binop_table)
    intercepted_unops = frozenset(ImmutableSandboxedEnvironment.default_unop_table)

    def __init__(self, forced_run: ForcedRun) -> None:
        """Record in `forced_run`."""
        usual = chat_environment()
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[GenerationTag, LoopControlExtension],
            optimized=False,
            undefined=SilentUndefined,
        )
        self.forced_run = forced_run
        self.calls = self.depth = 0
        # Whether a filter runs: `attr` and `map(attribute=…)` get names of attributes as strings.
        self.naming = False
        self.filters = {name: self._going_on(function) for name, function in usual.filters.items()}
        self.globals = {**usual.globals, **self._functions()}

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Record private attributes."""
        if attr.startswith("_") or is_internal_attribute(obj, attr):
            self.forced_run.forbidden[attr] = None
            if self.naming:
                self.forced_run.by_name[attr] = None
        return super().is_safe_attribute(obj, attr, value)

    def unsafe_undefined(self, obj: Any, attribute: str) -> Undefined:
        """Return an undefined value, so that the run continues."""
        return SilentUndefined(obj=obj, name=attribute)

    def call(self, context: Context, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call a permitted function within the bounds; an exception becomes an undefined value."""
        self.calls += 1
        macro = isinstance(function, Macro)
        if self.calls > MOST_CALLS or (macro and self.depth >= MOST_DEPTH):
            return SilentUndefined()
        self.depth += macro
        try:
            return super().call(context, function, *args, **kwargs)
        except Exception:  # noqa: BLE001 - untrusted code raises whatever it likes
            return SilentUndefined()
        finally:
            self.depth -= macro

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute operations on small values; an exception gives the left operand."""
        # A power of small numbers is not small: `9 ** 99`.
        if operator == "**" or (operator == "*" and not _small(left, right)):
            return left
        try:
            return super().call_binop(context, operator, left, right)
        except Exception:  # noqa: BLE001 - as above
            return left

    def call_unop(self, context: Context, operator: str, arg: Any) -> Any:
        """Compute the operation; an exception gives the operand."""
        try:
            return super().call_unop(context, operator, arg)
        except Exception:  # noqa: BLE001 - as above
            return arg

    def _going_on(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a filter so that an exception becomes an undefined value."""

        @wraps(function)
        def going_on(*args: Any, **kwargs: Any) -> Any:
            self.naming = True
            try:
                found: Any = function(*args, **kwargs)
                # Lazy filters look names up only while they are consumed.
                lazy = hasattr(found, "__next__")
                return [*islice(found, LARGEST)] if lazy else found
            except Exception:  # noqa: BLE001 - as above
                return SilentUndefined()
            finally:
                self.naming = False

        return going_on

    def _functions(self) -> dict[str, Callable[..., Any]]:
        def loaded(name: object) -> str:
            self.forced_run.loaded[str(name)] = None
            return ""

        def items(value: object, width: int) -> list[Any]:
            # Nested loops multiply: after reaching the bound, the others end, too.
            if self.calls > MOST_CALLS:
                return []
            return _items(value, width)

        def gadget(name: str) -> Callable[..., Any]:
            def gadget_call(*_: object, **__: object) -> SilentUndefined:
                self.forced_run.gadgets[name] = None
                return SilentUndefined()

            return gadget_call

        return {
            EITHER: _merge_values,
            ITEMS: items,
            UNPACKED: _unpack_value,
            SLICED: _slice_value,
            LOADED: loaded,
            # A template that refuses must be run to its end, and a range may be huge.
            "raise_exception": lambda *_: "",
            "range": lambda *_: [*range(MOST_ITEMS)],
            **{name: gadget(name) for name in GADGETS},
        }


def _small(left: object, right: object) -> bool:
    return all(not isinstance(side, int) or abs(side) < LARGEST for side in (left, right)) and all(
        not isinstance(side, str) or len(side) < LARGEST for side in (left, right)
    )


def _merge_values(first: object, *others: object) -> object:
    """Return the first defined value; two strings are concatenated."""
    if isinstance(first, str) and others and isinstance(others[0], str):
        return first if first == others[0] else f"{first}{others[0]}"
    return next((other for other in (first, *others) if not isinstance(other, Undefined)), first)


def _items(value: object, width: int) -> list[Any]:
    """Return a few items to iterate over, or one undefined value if it has none."""
    found: list[object] = []
    if isinstance(value, Iterable):
        found = [*islice(cast("Iterable[object]", value), MOST_ITEMS)]
    found = found or [SilentUndefined()]
    return [_unpack_value(item, width) for item in found] if width else found


def _unpack_value(value: object, width: int) -> Any:
    """Return as many values as there are names."""
    if is_row(value) and len(value) == width:
        return [*value]
    return [SilentUndefined()] * width


def _slice_value(value: Any, start: Any, stop: Any, step: Any) -> Any:
    if not isinstance(value, list | tuple | str):
        return SilentUndefined()
    ends = [end if isinstance(end, int) else None for end in (start, stop, step)]
    return value[slice(ends[0], ends[1], ends[2] or None)]  # pyright: ignore[reportUnknownVariableType]


LONGEST_TEXT = 400_000
"""The number of characters after which a run ends."""


def force_branches(template: ChatTemplate, variables: Mapping[str, object]) -> ForcedRun:
    """Run a template with every branch taken. Raises nothing."""
    seen = ForcedRun()
    pieces: list[str] = []
    guard = current_guard()
    try:
        # In a worker, the time limit of a render applies to the run, too.
        with nullcontext() if guard is None else guard.rendering():
            _run(template, variables, seen, pieces)
    except LimitReached as reached:
        seen.error = reached.words
    except Exception as error:  # noqa: BLE001 - untrusted code raises whatever it likes
        seen.error = f"{type(error).__name__}: {error}"
    seen.text = "".join(pieces)
    return seen


def _run(
    template: ChatTemplate,
    variables: Mapping[str, object],
    forced_run: ForcedRun,
    pieces: list[str],
) -> None:
    environment = WatchedSandbox(forced_run)
    tree = BranchOpener().visit(environment.parse(template.text))
    tree.set_environment(environment)
    code = environment.compile(tree)
    made = Template.from_code(environment, code, {**environment.globals})
    # The caller's clock replaces the global one, so that a run tomorrow finds the same.
    given = {**environment.globals, **variables}
    size = 0
    for piece in made.root_render_func(made.new_context(given)):
        # A call block may return None.
        pieces.append(str(piece))
        size += len(pieces[-1])
        if size > LONGEST_TEXT:
            break
