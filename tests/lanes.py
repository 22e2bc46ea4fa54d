"""Which of many like cases the quick lane asks; the slow lane asks the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet


def sampled(cases: Iterable[object], step: int) -> list[ParameterSet]:
    """Leave every `step`-th case to the quick lane, and mark the others as slow.

    A tuple is a case of several arguments.
    """
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=() if at % step == 0 else pytest.mark.slow,
        )
        for at, case in enumerate(cases)
    ]
