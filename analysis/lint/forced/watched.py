"""The environment that a forced run happens in: the sandbox, which writes down what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from itertools import islice
from typing import Any, cast

from jinja2 import Undefined
from jinja2.ext import LoopControlExtension
from jinja2.runtime import Context, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment, is_internal_attribute

from autoparser.analysis.core.value_kind import is_row
from autoparser.analysis.loading.template.environment import GenerationTag, chat_environment

from .branches import EITHER, ITEMS, LOADED, SLICED, UNPACKED
from .forced_run import GADGETS, ForcedRun
from .nothing import Nothing

MOST_ITEMS = 2
MOST_DEPTH = 3
MOST_CALLS = 3000
LARGEST = 1000
"""What bounds a run: a loop's rounds, macros in macros, calls, numbers to multiply by."""


class Watched(ImmutableSandboxedEnvironment):
    """Refuses what the sandbox refuses, writes it down, and goes on."""

    intercepted_binops = frozenset(ImmutableSandboxedEnvironment.default_binop_table)
    intercepted_unops = frozenset(ImmutableSandboxedEnvironment.default_unop_table)

    def __init__(self, seen: ForcedRun) -> None:
        """Write down in `seen`."""
        usual = chat_environment()
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[GenerationTag, LoopControlExtension],
            optimized=False,
            undefined=Nothing,
        )
        self.seen = seen
        self.calls = self.depth = 0
        self.naming = False
        self.filters = {name: self._going_on(function) for name, function in usual.filters.items()}
        self.globals = {**usual.globals, **self._functions()}

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Write private attributes down."""
        if attr.startswith("_") or is_internal_attribute(obj, attr):
            self.seen.forbidden[attr] = None
            if self.naming:
                self.seen.by_name[attr] = None
        return super().is_safe_attribute(obj, attr, value)

    def unsafe_undefined(self, obj: Any, attribute: str) -> Undefined:
        """Return nothing, so that the run goes on."""
        return Nothing(obj=obj, name=attribute)

    def call(self, context: Context, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call what may be called, within the bounds; what raises gives nothing."""
        self.calls += 1
        macro = isinstance(function, Macro)
        if self.calls > MOST_CALLS or (macro and self.depth >= MOST_DEPTH):
            return Nothing()
        self.depth += macro
        try:
            return super().call(context, function, *args, **kwargs)
        except Exception:  # noqa: BLE001 - untrusted code raises whatever it likes
            return Nothing()
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
                return Nothing()
            finally:
                self.naming = False

        return going_on

    def _functions(self) -> dict[str, Callable[..., Any]]:
        def loaded(name: object) -> str:
            self.seen.loaded[str(name)] = None
            return ""

        def items(value: object, width: int) -> list[Any]:
            if self.calls > MOST_CALLS:
                return []
            return _items(value, width)

        def gadget(name: str) -> Callable[..., Any]:
            def called(*args: object, **kwargs: object) -> Nothing:
                del args, kwargs
                self.seen.gadgets[name] = None
                return Nothing()

            return called

        return {
            EITHER: _either,
            ITEMS: items,
            UNPACKED: _unpacked,
            SLICED: _sliced,
            LOADED: loaded,
            "raise_exception": _silent,
            "range": _few,
            **{name: gadget(name) for name in GADGETS},
        }


def _silent(words: object = "") -> str:
    """Refuse nothing."""
    del words
    return ""


def _few(*ends: object) -> list[int]:
    """Count to few, whatever the ends."""
    del ends
    return [*range(MOST_ITEMS)]


def _small(left: object, right: object) -> bool:
    return all(not isinstance(each, int) or abs(each) < LARGEST for each in (left, right)) and all(
        not isinstance(each, str) or len(each) < LARGEST for each in (left, right)
    )


def _either(first: object, *others: object) -> object:
    """Return the first, or the next one that is something; of two texts both."""
    if isinstance(first, str) and others and isinstance(others[0], str):
        return first if first == others[0] else f"{first}{others[0]}"
    return next((each for each in (first, *others) if not isinstance(each, Undefined)), first)


def _items(value: object, width: int) -> list[Any]:
    """Return a few items to go round with, one that is nothing where there is none."""
    found: list[object] = []
    if isinstance(value, Iterable):
        found = [*islice(cast("Iterable[object]", value), MOST_ITEMS)]
    found = found or [Nothing()]
    return [_unpacked(each, width) for each in found] if width else found


def _unpacked(value: object, width: int) -> Any:
    """Return as many values as there are names."""
    if is_row(value) and len(value) == width:
        return [*value]
    return [Nothing()] * width


def _sliced(value: Any, start: Any, stop: Any, step: Any) -> Any:
    if not isinstance(value, list | tuple | str):
        return Nothing()
    ends = [end if isinstance(end, int) else None for end in (start, stop, step)]
    return value[slice(ends[0], ends[1], ends[2] or None)]  # pyright: ignore[reportUnknownVariableType]
