from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.lint.project_run import in_order
from autoparser.analysis.templates.worker_limits import Limits

pytestmark = pytest.mark.slow


def square(value: int) -> int | str:
    if value == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    if value == 8:
        while True:
            pass
    return value * value


def failed(error: AutoparserError) -> int | str:
    return type(error).__name__


@pytest.mark.parametrize("limits", [None, Limits()])
@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_answers_come_in_the_order_of_the_values(jobs: int, limits: Limits | None) -> None:
    steps: list[None] = []
    told: list[int] = []

    def progress(total: int) -> Callable[[], object]:
        told.append(total)
        return lambda: steps.append(None)

    values = [5, 3, 1, 4, 2]
    answers = in_order(square, values, jobs, limits=limits, failed=failed, progress=progress)
    assert list(answers) == [25, 9, 1, 16, 4]
    assert (told, len(steps)) == ([5], 5)


def test_a_value_that_is_too_much_costs_its_own_answer_alone() -> None:
    limits = Limits(seconds=0.5)
    answers = in_order(
        square, [*range(10)], 2, limits=limits, failed=failed, progress=lambda _: lambda: None
    )
    assert list(answers) == [0, 1, 4, 9, 16, 25, 36, "WorkerDiedError", "TaskLimitError", 81]


def test_nothing_needs_no_worker() -> None:
    empty: list[int] = []
    for limits in (None, Limits()):
        answers = in_order(
            square, empty, 2, limits=limits, failed=failed, progress=lambda _: lambda: None
        )
        assert list(answers) == []
