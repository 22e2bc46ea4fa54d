"""Run a template with every branch taken, in a sandbox that records what it refuses.

The syntax tree is changed first: conditions are computed and not asked, loops run at least once,
and other templates are recorded instead of loaded. `{% if a %}b{% else %}c{% endif %}` writes `bc`.
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

from autoparser.analysis.core.errors import is_row
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.analysis.templates.environment import GenerationTag, chat_environment
from autoparser.analysis.templates.worker_limits import LimitReached, current_guard

# What stands for all that cannot be computed: it takes part in everything and gives nothing.


class SilentUndefined(Undefined):
    """Undefined that never raises: whatever is done with it, it is nothing again."""

    def __getattr__(self, name: str) -> Any:
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
    __add__ = __radd__ = _other
    __sub__ = __rsub__ = __mul__ = __rmul__ = _same
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _same
    __mod__ = __rmod__ = __pow__ = __rpow__ = _same
    __lt__ = __le__ = __gt__ = __ge__ = _false  # type: ignore[assignment]

    def __contains__(self, item: object) -> bool:
        del item
        return False

    def __int__(self) -> int:  # type: ignore[override]
        return 0

    def __float__(self) -> float:  # type: ignore[override]
        return 0.0

    def __iter__(self) -> Iterator[Any]:
        yield from ()


# What a run with every branch taken has shown.


GADGETS = ("lipsum", "cycler", "joiner")
"""Jinja's own globals that no chat template needs; known ways out of sandboxes begin there."""


@dataclass(slots=True)
class ForcedRun:
    """What a template does if every branch is taken; each text once, in order."""

    text: str = ""
    """All that it may write, in the order of the source."""
    forbidden: dict[str, None] = field(default_factory=dict[str, None])
    """Private attributes that it reaches for."""
    by_name: dict[str, None] = field(default_factory=dict[str, None])
    """Those of them that it names by a text, as the filter `attr` does."""
    gadgets: dict[str, None] = field(default_factory=dict[str, None])
    """The globals of `GADGETS` that it calls."""
    loaded: dict[str, None] = field(default_factory=dict[str, None])
    """Other templates that it includes, imports or extends."""
    error: str = ""
    """What ended the run early; empty where nothing did."""


# The changed syntax tree: conditions are computed and not asked, so that every branch runs.
#
# A decision becomes a call of a function that takes all there is to decide between; the functions
# are those of `WatchedSandbox`.


EITHER = "autoparser_either"
ITEMS = "autoparser_items"
UNPACKED = "autoparser_unpacked"
SLICED = "autoparser_sliced"
LOADED = "autoparser_loaded"


class BranchOpener(NodeTransformer):
    """Changes a tree in place."""

    def visit_If(self, node: nodes.If) -> list[nodes.Node]:  # noqa: N802 - Jinja's names
        """Compute the test, then run each side."""
        self.generic_visit(node)
        return [_statement_of(node.test), *node.body, *node.elif_, *node.else_]

    def visit_CondExpr(self, node: nodes.CondExpr) -> nodes.Node:  # noqa: N802
        """Compute both sides."""
        self.generic_visit(node)
        other = node.expr2 or nodes.Const("", lineno=node.lineno)
        return _call(EITHER, node.expr1, other, node.test)

    def visit_And(self, node: nodes.And) -> nodes.Node:  # noqa: N802
        """Compute both sides."""
        self.generic_visit(node)
        return _call(EITHER, node.right, node.left)

    def visit_Or(self, node: nodes.Or) -> nodes.Node:  # noqa: N802
        """Compute both sides."""
        self.generic_visit(node)
        return _call(EITHER, node.left, node.right)

    def visit_Not(self, node: nodes.Not) -> nodes.Node:  # noqa: N802
        """Compute what is negated."""
        self.generic_visit(node)
        return _call(EITHER, nodes.Const(True, lineno=node.lineno), node.node)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        """Compute what is compared; to compare it may fail."""
        self.generic_visit(node)
        sides = [node.expr, *(operand.expr for operand in node.ops)]
        return _call(EITHER, nodes.Const(True, lineno=node.lineno), *sides)

    def visit_Test(self, node: nodes.Test) -> nodes.Node:  # noqa: N802
        """Compute what is tested."""
        self.generic_visit(node)
        rest = [*(node.args or ()), *(pair.value for pair in node.kwargs or ())]
        return _call(EITHER, nodes.Const(True, lineno=node.lineno), node.node, *rest)

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        """Slice only what can be sliced."""
        self.generic_visit(node)
        if not isinstance(node.arg, nodes.Slice):
            return node
        ends = [
            end or nodes.Const(None, lineno=node.lineno)
            for end in (node.arg.start, node.arg.stop, node.arg.step)
        ]
        return _call(SLICED, node.node, *ends)

    def visit_For(self, node: nodes.For) -> list[nodes.Node]:  # noqa: N802
        """Go round at least once, whatever the filter says, and run the other side, too."""
        self.generic_visit(node)
        node.iter = _call(ITEMS, node.iter, _width(node.target))
        if node.test is not None:
            node.body = [_statement_of(node.test), *node.body]
            node.test = None
        other, node.else_ = node.else_, []
        return [node, *other]

    def visit_Assign(self, node: nodes.Assign) -> nodes.Node:  # noqa: N802
        """Unpack only what can be unpacked."""
        self.generic_visit(node)
        if isinstance(node.target, nodes.Tuple):
            node.node = _call(UNPACKED, node.node, _width(node.target))
        return node

    def visit_Macro(self, node: nodes.Macro) -> list[nodes.Node]:  # noqa: N802
        """Call it once, after where it is defined."""
        self.generic_visit(node)
        name = nodes.Name(node.name, "load", lineno=node.lineno)
        called = nodes.Call(name, [], [], None, None, lineno=node.lineno)
        return [node, nodes.Output([called], lineno=node.lineno)]

    def visit_Break(self, node: nodes.Break | nodes.Continue) -> list[nodes.Node]:  # noqa: N802
        """Go on with what follows."""
        del node
        return []

    visit_Continue = visit_Break  # noqa: N815

    def visit_Include(  # noqa: N802
        self, node: nodes.Include | nodes.Import | nodes.FromImport | nodes.Extends
    ) -> nodes.Node:
        """Record the other template instead of loading it."""
        return _statement_of(_call(LOADED, node.template))

    visit_Import = visit_FromImport = visit_Extends = visit_Include  # noqa: N815


def _call(function: str, *args: nodes.Node) -> nodes.Call:
    line = args[0].lineno
    name = nodes.Name(function, "load", lineno=line)
    return nodes.Call(name, [*args], [], None, None, lineno=line)


def _statement_of(expression: nodes.Node) -> nodes.Node:
    return nodes.ExprStmt(expression, lineno=expression.lineno)


def _width(target: nodes.Node) -> nodes.Const:
    width = len(target.items) if isinstance(target, nodes.Tuple) else 0
    return nodes.Const(width, lineno=target.lineno)


# The environment that a forced run happens in: the sandbox, which writes down what it refuses.


MOST_ITEMS = 2
MOST_DEPTH = 3
MOST_CALLS = 3000
LARGEST = 1000
"""What bounds a run: a loop's rounds, macros in macros, calls, numbers to multiply by."""


class WatchedSandbox(ImmutableSandboxedEnvironment):
    """Refuses what the sandbox refuses, writes it down, and goes on."""

    intercepted_binops = frozenset(ImmutableSandboxedEnvironment.default_binop_table)
    intercepted_unops = frozenset(ImmutableSandboxedEnvironment.default_unop_table)

    def __init__(self, forced_run: ForcedRun) -> None:
        """Write down in `forced_run`."""
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
        self.naming = False
        self.filters = {name: self._going_on(function) for name, function in usual.filters.items()}
        self.globals = {**usual.globals, **self._functions()}

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Write private attributes down."""
        if attr.startswith("_") or is_internal_attribute(obj, attr):
            self.forced_run.forbidden[attr] = None
            if self.naming:
                self.forced_run.by_name[attr] = None
        return super().is_safe_attribute(obj, attr, value)

    def unsafe_undefined(self, obj: Any, attribute: str) -> Undefined:
        """Return nothing, so that the run goes on."""
        return SilentUndefined(obj=obj, name=attribute)

    def call(self, context: Context, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call what may be called, within the bounds; what raises gives nothing."""
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
        """Compute what is small; what raises gives the left side."""
        if operator == "**" or (operator == "*" and not _small(left, right)):
            return left
        try:
            return super().call_binop(context, operator, left, right)
        except Exception:  # noqa: BLE001 - as above
            return left

    def call_unop(self, context: Context, operator: str, arg: Any) -> Any:
        """Compute it; what raises gives what there was."""
        try:
            return super().call_unop(context, operator, arg)
        except Exception:  # noqa: BLE001 - as above
            return arg

    def _going_on(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a filter so that it gives nothing where it raises."""

        @wraps(function)
        def going_on(*args: Any, **kwargs: Any) -> Any:
            self.naming = True
            try:
                found: Any = function(*args, **kwargs)
                # Those that give one after the other look the names up only then.
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
            "raise_exception": lambda *_: "",
            "range": lambda *_: [*range(MOST_ITEMS)],
            **{name: gadget(name) for name in GADGETS},
        }


def _small(left: object, right: object) -> bool:
    return all(not isinstance(each, int) or abs(each) < LARGEST for each in (left, right)) and all(
        not isinstance(each, str) or len(each) < LARGEST for each in (left, right)
    )


def _merge_values(first: object, *others: object) -> object:
    """Return the first, or the next one that is something; of two texts both."""
    if isinstance(first, str) and others and isinstance(others[0], str):
        return first if first == others[0] else f"{first}{others[0]}"
    return next((other for other in (first, *others) if not isinstance(other, Undefined)), first)


def _items(value: object, width: int) -> list[Any]:
    """Return a few items to go round with, one that is nothing where there is none."""
    found: list[object] = []
    if isinstance(value, Iterable):
        found = [*islice(cast("Iterable[object]", value), MOST_ITEMS)]
    found = found or [SilentUndefined()]
    return [_unpack_value(each, width) for each in found] if width else found


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


def force_branches(template: ChatTemplate, variables: Mapping[str, object]) -> ForcedRun:
    """Run a template with every branch taken. Raises nothing."""
    seen = ForcedRun()
    pieces: list[str] = []
    guard = current_guard()
    try:
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
    # The time is the one that is given: what runs tomorrow finds the same.
    given = {**environment.globals, **variables}
    size = 0
    for piece in made.root_render_func(made.new_context(given)):
        # What a call block gives may be nothing.
        pieces.append(str(piece))
        size += len(pieces[-1])
        if size > LONGEST_TEXT:
            break
