"""What stands for all that cannot be computed: it takes part in everything and gives nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jinja2 import Undefined


class Nothing(Undefined):
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
