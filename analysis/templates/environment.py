"""The Jinja environment that transformers 5.23.0 renders chat templates in.

Facts from the wheel, ``utils/chat_template_utils.py``: an immutable sandbox with
``trim_blocks`` and ``lstrip_blocks``, loop controls, a ``generation`` tag that leaves the
text as it is, a ``tojson`` that is ``json.dumps`` without HTML escapes, and the globals
``raise_exception``, ``strftime_now``, ``dict`` and ``namespace``. All else is Jinja's own.
Some templates change lists, which that sandbox forbids; what they would write is seen in Jinja's
other sandbox, which differs in nothing else.

One environment serves all templates: a template can change neither it nor its globals.
Constant folding is off: it changes no text, costs a quarter of the compilation, and would
rewrite the syntax tree that others read.

For example, with `m = {"role": "<user>"}`; `m.get` is the method, since dictionaries have one:

    {{ m.role }} {{ m.get('role') }} {{ m|tojson }}  ->  <user> <user> {"role": "<user>"}
"""

from __future__ import annotations

import json
import marshal
from datetime import datetime
from functools import cache
from types import BuiltinMethodType, MethodType
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias
from weakref import WeakKeyDictionary

from jinja2 import meta, nodes
from jinja2.compiler import CodeGenerator
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.ext import Extension, LoopControlExtension
from jinja2.idtracking import VAR_LOAD_RESOLVE
from jinja2.runtime import LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEnvironment
from jinja2.utils import Namespace

from .sandbox_kind import SandboxKind

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping

    from jinja2.compiler import Frame
    from jinja2.parser import Parser
    from jinja2.runtime import Context


class TemplateRefusal(TemplateError):
    """The template called ``raise_exception``; the first argument is its message."""


class GenerationTag(Extension):
    """``{% generation %}…{% endgeneration %}``: a scope of its own, no effect on the text.

    transformers parses it as a call block, so variables set inside stay inside.
    """

    tags = {"generation"}  # noqa: RUF012 - as Jinja declares it

    def parse(self, parser: Parser) -> nodes.Node:
        """Read the block up to its end tag."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        call = self.call_method("_unchanged")
        return nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _unchanged(self, caller: Callable[[], str]) -> str:
        return caller()


class MarkedGenerationTag(GenerationTag):
    """The same tag, with `GENERATION_OPEN` and `GENERATION_CLOSE` around its content."""

    def _unchanged(self, caller: Callable[[], str]) -> str:
        return f"{GENERATION_OPEN}{caller()}{GENERATION_CLOSE}"


GENERATION_OPEN, GENERATION_CLOSE = "\ufdd0", "\ufdd1"
"""Unicode noncharacters, which texts for interchange do not contain."""


class TemplateDict:
    """``dict`` as templates see it: a call and ``fromkeys``, no way to the type itself."""

    # A template may pass any arguments, so their types say nothing here.
    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        """Return ``dict`` of the arguments."""
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        """Return ``dict.fromkeys`` of the arguments."""
        return dict.fromkeys(*args, **kwargs)


class TemplateNamespace(Namespace):
    """``namespace`` as templates see it: names that start with an underscore are refused.

    It holds its values where Jinja's own does, which asks itself for the place at each access.
    """

    def __init__(*args: Any, **kwargs: Any) -> None:
        # Jinja's own signature, so that ``namespace(self=1)`` works.
        self, values = args[0], args[1:]
        attributes: dict[Any, Any] = dict(*values, **kwargs) if values else kwargs
        for name in attributes:
            _refuse_private(name)
        object.__setattr__(self, _VALUES, attributes)

    def __getattribute__(self, name: str) -> Any:
        if name in ("__class__", _VALUES):
            return _get_attribute(self, name)
        try:
            return _get_attribute(self, _VALUES)[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setitem__(self, name: str, value: object) -> None:
        _refuse_private(name)
        _get_attribute(self, _VALUES)[name] = value


_VALUES = "_Namespace__attrs"
_get_attribute = object.__getattribute__
"""Bypasses the `__getattribute__` of a namespace, which is most of the cost of an access."""
_BUILT_IN = frozenset({dict, list, str})
_PLAIN = _BUILT_IN | {LoopContext, TemplateDict, TemplateNamespace}
"""Classes of which every object has the same safe attributes: their names alone decide."""
_METHODS, _METHODS_OF_TEXT = frozenset(dir(dict)), frozenset(dir(str))
"""Names of their own attributes: `{{ m.items }}` is the method, whatever the keys of `m`."""
_EQUALITY = frozenset({"==", "eq", "equalto"})
_FORMATTING = frozenset({"format", "format_map"})
"""Methods of a string that the sandbox replaces."""
_BOUND = (BuiltinMethodType, MethodType)
_UNFLAGGED = frozenset({BuiltinMethodType, Macro})
_ABSENT = object()
_MOST_NAMES = 4096
"""A bound, as a template may invent any number of names of a namespace."""


_UNDECLARED: WeakKeyDictionary[nodes.Template, frozenset[str]] = WeakKeyDictionary()
"""The undeclared names of each tree that was compiled."""


class _NotingGenerator(CodeGenerator):
    """Generates Jinja's own code, and records the names that it looks up in the context.

    `find_undeclared_variables` would generate all of it again to find the same.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._looked_up: set[str] = set()

    def visit_Template(  # noqa: N802 - as Jinja names it
        self, node: nodes.Template, frame: Frame | None = None
    ) -> None:
        super().visit_Template(node, frame)
        _UNDECLARED[node] = frozenset(self._looked_up - self.environment.globals.keys())

    def enter_frame(self, frame: Frame) -> None:
        super().enter_frame(frame)
        loads = frame.symbols.loads.values()
        self._looked_up.update(name for how, name in loads if name and how == VAR_LOAD_RESOLVE)


def undeclared_names(tree: nodes.Template) -> frozenset[str]:
    """Return the names of a parsed template whose values come from the caller of a render."""
    known = _UNDECLARED.get(tree)
    return frozenset(meta.find_undeclared_variables(tree)) if known is None else known


class _Remembering(SandboxedEnvironment):
    """A sandbox that caches whether an attribute of a plain class is safe.

    Jinja checks this at each access, by a dozen tests of class, which took half the time of a
    render.
    """

    code_generator_class = _NotingGenerator

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._safe: dict[tuple[type, str], bool] = {}

    def getattr(self, obj: object, attribute: str) -> Any:
        """Answer as Jinja's own sandbox does; of a dictionary, without asking for a method first.

        `message.role` is the most frequent access of all, and an AttributeError each time. What a
        namespace holds and what no format string is are not asked for such a method either.
        """
        kind = type(obj)
        if kind is dict and attribute not in _METHODS:
            held: Any = obj
            try:
                return held[attribute]
            except KeyError:
                return self.undefined(obj=obj, name=attribute)
        if kind is str and attribute not in _METHODS_OF_TEXT:
            return self.undefined(obj=obj, name=attribute)
        if self._safe.get((kind, attribute)) and attribute not in _FORMATTING:
            if kind is TemplateNamespace:
                value = _get_attribute(obj, _VALUES).get(attribute, _ABSENT)
            else:
                value = getattr(obj, attribute, _ABSENT)
            if value is not _ABSENT and (kind in _BUILT_IN or not isinstance(value, _BOUND)):
                return value
        return super().getattr(obj, attribute)

    def getitem(self, obj: object, argument: Any) -> Any:
        """Answer as Jinja's own sandbox does, for a member of a text without two exceptions.

        A template that expects parts of content asks each character of a text for its type.
        """
        if type(obj) is str and type(argument) is str and argument not in _METHODS_OF_TEXT:
            return self.undefined(obj=obj, name=argument)
        return super().getitem(obj, argument)

    def call_test(
        self,
        name: str,
        value: Any,
        args: Any = None,
        kwargs: Any = None,
        context: Any = None,
        eval_ctx: Any = None,
    ) -> Any:
        """Answer as Jinja's own environment does, for equality without building a call of it.

        `selectattr("type", "equalto", "text")` asks it of each part, or of each character.
        """
        if name in _EQUALITY and args and len(args) == 1 and not kwargs:
            return value == args[0]
        return super().call_test(name, value, args, kwargs, context, eval_ctx)

    def call(self, context: Context, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call as Jinja's own sandbox does.

        A built-in method, such as `message.get`, a macro and `namespace` carry none of the flags
        that it asks each callable for: whether it is safe, and whether it takes the context.
        """
        kind = type(function)  # pyright: ignore[reportUnknownVariableType]
        if kind not in _UNFLAGGED and function is not TemplateNamespace:
            return super().call(context, function, *args, **kwargs)
        # Jinja's code passes these to each call in a loop or a block, for callables that take the
        # context; its own `Context.call` removes them for all others.
        kwargs.pop("_block_vars", None)
        kwargs.pop("_loop_vars", None)
        try:
            if kind is Macro:
                return function(context.eval_ctx, *args, **kwargs)
            return function(*args, **kwargs)
        except StopIteration:
            # As Jinja's `Context.call` does.
            return self.undefined(
                "value was undefined because a callable raised a StopIteration exception"
            )

    def is_safe_attribute(self, obj: object, attr: str, value: object) -> bool:
        """Answer as Jinja's own sandbox does."""
        kind = type(obj)
        if kind not in _PLAIN:
            return super().is_safe_attribute(obj, attr, value)
        safe = self._safe.get((kind, attr))
        if safe is None:
            if len(self._safe) >= _MOST_NAMES:
                self._safe.clear()
            safe = self._safe[kind, attr] = super().is_safe_attribute(obj, attr, value)
        return safe


class _ImmutableSandbox(_Remembering, ImmutableSandboxedEnvironment):
    """The sandbox of transformers."""


_ENVIRONMENTS: dict[SandboxKind, type[SandboxedEnvironment]] = {
    SandboxKind.IMMUTABLE: _ImmutableSandbox,
    SandboxKind.MUTABLE: _Remembering,
}


@cache
def chat_environment(
    sandbox: SandboxKind = SandboxKind.IMMUTABLE, *, tag: type[GenerationTag] = GenerationTag
) -> SandboxedEnvironment:
    """Return the one environment that all templates share, with this tag for generation blocks."""
    environment = _ENVIRONMENTS[sandbox](
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[tag, LoopControlExtension],
        optimized=False,
    )
    environment.filters["tojson"] = tojson
    _add_globals(environment.globals)
    return environment


def _add_globals(names: MutableMapping[str, Any]) -> None:
    names["raise_exception"] = raise_exception
    names["strftime_now"] = strftime_now
    names["dict"] = TemplateDict()
    names["namespace"] = TemplateNamespace


def _refuse_private(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace cannot hold the private name {name!r}; rename it")


_JsonKey: TypeAlias = tuple[bytes, bool, int | None, bool]
_WRITTEN: dict[_JsonKey, str] = {}
"""A cache of JSON texts by value, since each render writes the same tools again."""
_MOST_WRITTEN, _LONGEST_WRITTEN = 512, 10_000


def tojson(
    x: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Return ``x`` as JSON; the parameters have the names by which templates pass them."""
    key = _json_key(x, ensure_ascii, indent, sort_keys) if separators is None else None
    text = None if key is None else _WRITTEN.get(key)
    if text is None:
        text = json.dumps(
            x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
        )
        if key is not None:
            if len(_WRITTEN) >= _MOST_WRITTEN:
                _WRITTEN.clear()
            _WRITTEN[key] = text
    return text


def _json_key(
    x: Any, ensure_ascii: bool, indent: int | str | None, sort_keys: bool
) -> _JsonKey | None:
    """Return the cache key of a value as JSON, or None if another value could have the same key."""
    if indent is not None and type(indent) is not int:
        return None
    try:
        # Version 2 of marshal accepts only built-in types, and distinguishes 1, 1.0 and True. It
        # writes each value in full; later versions refer back to objects that occur twice, so equal
        # values could have different keys.
        value_bytes = marshal.dumps(x, 2)
    except ValueError:
        return None
    long = len(value_bytes) > _LONGEST_WRITTEN
    return None if long else (value_bytes, bool(ensure_ascii), indent, bool(sort_keys))


def raise_exception(message: str) -> NoReturn:
    """Raise TemplateRefusal with the template's message."""
    raise TemplateRefusal(message)


def strftime_now(format: str) -> str:  # noqa: A002 - templates may pass it by this name
    """Return the current time by ``format``."""
    return datetime.now().strftime(format)  # noqa: DTZ005 - local time, as transformers does
