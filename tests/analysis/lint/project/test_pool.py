from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from autoparser.analysis.lint.project.pool import in_order, usual_jobs


def square(value: int) -> int:
    if value == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return value * value


def lost(value: int) -> int:
    return -value


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_answers_come_in_the_order_of_the_values(jobs: int) -> None:
    steps: list[None] = []
    values = [5, 3, 1, 4, 2]
    told: list[int] = []

    def progress(total: int) -> Callable[[], object]:
        told.append(total)
        return lambda: steps.append(None)

    answers = in_order(square, values, jobs, lost=lost, progress=progress)
    assert answers == [25, 9, 1, 16, 4]
    assert (told, len(steps)) == ([5], 5)


def test_a_process_that_dies_costs_its_own_answer_alone() -> None:
    answers = in_order(square, [*range(10)], 2, lost=lost, progress=lambda _: lambda: None)
    assert answers == [0, 1, 4, 9, 16, 25, 36, -7, 64, 81]


def test_there_is_a_core() -> None:
    assert usual_jobs() >= 1
