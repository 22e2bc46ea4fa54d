"""What a worker and its parent send each other: pickled values.

Contract: a worker runs the engine on untrusted templates, and is not a sandbox itself: what comes
from it is unpickled, as from a part of this program. Frozen mappings are pickled as such.
"""

from __future__ import annotations

import gc
import io
import pickle
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from copyreg import dispatch_table
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from .limits import Limits

__all__ = ["Reply", "TaskRequest", "dumped", "loaded"]


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """A task: a function of a module, its arguments, and what it may take."""

    function: Callable[..., object]
    arguments: tuple[object, ...]
    named: Mapping[str, object]
    limits: Limits
    file: str | None
    """What the task is about, as errors name it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """How a task ended."""

    value: object = None
    error: BaseException | None = None
    """What it raised; None where it gave a value."""
    grown: int = 0
    """Bytes of data that the worker has more than when it began to serve; 0 where unknown."""


def dumped(value: object) -> bytes:
    """Pickle a value. Raises what pickle does for a value that cannot be."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, pickle.HIGHEST_PROTOCOL)
    # Of its own, so that what other code pickles is as it was.
    pickler.dispatch_table = {**dispatch_table, MappingProxyType: _frozen}
    with _no_collection():
        pickler.dump(value)
    return buffer.getvalue()


def loaded(content: bytes) -> Any:
    """Return the value that was pickled."""
    with _no_collection():
        return pickle.loads(content)  # noqa: S301 - from this program's own worker


@contextmanager
def _no_collection() -> Generator[None]:
    """Look for no garbage: thousands of objects come, and none of them is any."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _frozen(value: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    # By a function, since Python gives the type itself no name to find it by.
    return _refrozen, (dict(value),)


def _refrozen(value: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(value)
