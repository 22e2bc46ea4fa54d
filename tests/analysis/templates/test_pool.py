"""Many tasks: their order, what a lost worker costs, and that nothing is left after."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest

from autoparser import Limits, TaskLimitError, WorkerDiedError, WorkerPool
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.templates import worker_pool as pools

SHORT = Limits(render_seconds=0.2, seconds=0.5, memory=100_000_000)


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(2, limits=SHORT) as made:
        yield made


def _process(_: int) -> int:
    return os.getpid()


def processes(pool: WorkerPool) -> set[int]:
    """Return the numbers of a pool's processes, as its two workers tell them."""
    return {outcome.result() for outcome in pool.map(_process, range(2))}


def alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def test_results_come_in_the_order_of_the_items(pool: WorkerPool) -> None:
    naps = [0.2, 0.0, 0.1, 0.0]
    found = list(pool.map(time.sleep, naps))
    assert [outcome.error for outcome in found] == [None] * 4
    assert [outcome.value for outcome in pool.map(abs, range(-50, 0))] == [*range(50, 0, -1)]


def test_workers_are_used_again(pool: WorkerPool) -> None:
    before = processes(pool)
    assert len(list(pool.map(abs, range(20)))) == 20
    assert processes(pool) == before


def test_a_worker_that_is_killed_costs_its_own_task(pool: WorkerPool) -> None:
    signals = [0, 0, signal.SIGKILL, 0, signal.SIGSEGV, 0]
    found = list(pool.map(_die, signals, name=str))
    assert [type(outcome.error) for outcome in found] == [
        WorkerDiedError if number else type(None) for number in signals
    ]
    assert "SIGKILL" in str(found[2].error)
    assert len(processes(pool)) == 2


def _die(number: int) -> int:
    if number:
        signal.raise_signal(number)
    return number


def test_a_worker_that_is_killed_from_outside_in_the_middle_costs_its_own_task(
    pool: WorkerPool,
) -> None:
    victim = min(processes(pool))
    found = []
    # When the first outcome is there, every worker has another task.
    for at, outcome in enumerate(pool.map(time.sleep, [0.3] * 6)):
        if not at:
            os.kill(victim, signal.SIGKILL)
        found.append(outcome)
    lost = [outcome for outcome in found if outcome.error is not None]
    assert len(lost) == 1
    assert all(isinstance(outcome.error, WorkerDiedError) for outcome in lost)
    assert victim not in processes(pool)
    assert [outcome.value for outcome in pool.map(abs, [-3])] == [3]


def test_limits_and_faults_cost_their_own_task(pool: WorkerPool) -> None:
    items: list[object] = [[1], range(10**12), [2], "x", [3]]
    found = list(pool.map(sum, items))  # type: ignore[arg-type]
    assert [outcome.value for outcome in found] == [1, None, 2, None, 3]
    assert isinstance(found[1].error, TaskLimitError)
    assert "TypeError" in str(found[3].error)
    with pytest.raises(AutoparserError):
        found[3].result()
    assert found[4].result() == 3


def test_a_worker_that_does_not_answer_is_killed(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autoparser.analysis.templates.worker_pool.START_SECONDS", 0.0)
    monkeypatch.setattr("autoparser.analysis.templates.worker_pool.LOADED_MACHINE", 0.2)
    # It sleeps, and so takes no processor time.
    found = list(pool.map(time.sleep, [600, 0]))
    assert "no answer" in str(found[0].error)


def test_a_worker_that_is_late_but_works_is_waited_for(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if the machine were so busy that every answer is overdue when it is asked for.
    monkeypatch.setattr("autoparser.analysis.templates.worker_pool.START_SECONDS", 0.01)
    monkeypatch.setattr("autoparser.analysis.templates.worker_pool.LOADED_MACHINE", 0.0)
    found = list(pool.map(sum, [range(3_000_000), range(3)]))
    assert [outcome.value for outcome in found] == [sum(range(3_000_000)), 3]


def test_a_worker_that_has_grown_is_replaced(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = processes(pool)
    monkeypatch.setattr(pools, "GROWN_TOO_LARGE", -1)
    assert len(list(pool.map(abs, range(4)))) == 4
    assert not before & processes(pool)
    assert not any(map(alive, before))


def test_leaving_early_ends_what_is_under_way(pool: WorkerPool) -> None:
    results = pool.map(time.sleep, [0, 600, 600, 600])
    next(results)
    results.close()
    assert [outcome.value for outcome in pool.map(abs, [-1, -2])] == [1, 2]


def test_an_interrupt_leaves_no_process_behind() -> None:
    numbers: set[int] = set()

    def interrupted() -> Iterator[float]:
        yield from (0, 600)
        raise KeyboardInterrupt

    def work() -> None:
        nonlocal numbers
        with WorkerPool(2, limits=SHORT) as pool:
            numbers = processes(pool)
            list(pool.map(time.sleep, interrupted()))

    with pytest.raises(KeyboardInterrupt):
        work()
    assert numbers
    assert not any(map(alive, numbers))


def test_items_are_drawn_as_workers_are_free(pool: WorkerPool) -> None:
    drawn: list[int] = []

    def items() -> Iterator[float]:
        for item in range(100):
            drawn.append(item)
            yield 0.2

    results = pool.map(time.sleep, items())
    next(results)
    assert len(drawn) < 20
    results.close()


def test_there_is_a_core() -> None:
    assert pools.usual_jobs() >= 1
