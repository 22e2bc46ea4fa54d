"""Select the cases of each test lane: `-m "not slow"`, `-m "slow and not rare"`, `-m rare`.

`sampled` leaves some to the quick lane; of those that are slow, conftest.py marks most as rare.
"""

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
