"""Tasks in worker processes: values, errors, limits, and how a worker may die."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from msgspec import structs

from autoparser import (
    AutoparserError,
    ChatTemplate,
    Limits,
    WorkerPool,
    analyze,
    isolated,
    load_template,
)
from autoparser.analysis.templates import worker_pool
from autoparser.analysis.templates.environment import GENERATION_OPEN
from autoparser.analysis.templates.isolated_template import IsolatedTemplate
from autoparser.analysis.templates.worker_pool import TaskWorker, close_workers, run_task
from autoparser.errors import (
    LimitKind,
    TaskLimitError,
    TemplateLimitError,
    TemplateRenderError,
    TemplateSyntaxError,
    WorkerDiedError,
)
from tests.fixture_analyses import TEMPLATES

TEMPLATE = TEMPLATES / "j1-json-in-tags.jinja"
MESSAGES = [{"role": "user", "content": "hi"}]
VARIABLES = {"messages": MESSAGES, "tools": None, "add_generation_prompt": True}
ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
SHORT = Limits(render_seconds=0.2, seconds=0.5, memory=100_000_000, characters=100_000)
slow = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def _no_worker_is_left() -> Iterator[None]:
    close_workers()
    yield
    close_workers()


def test_isolated_template_equals_the_plain_one() -> None:
    plain = load_template(TEMPLATE)
    apart = isolated(plain)
    assert apart.plain() == plain
    assert apart.render(MESSAGES, enable=True) == plain.render(MESSAGES, enable=True)
    assert apart.source_map(VARIABLES) == plain.source_map(VARIABLES)
    assert apart.step_through(VARIABLES) == plain.step_through(VARIABLES)
    marks = ChatTemplate("{% generation %}x{% endgeneration %}")
    marked = isolated(marks).render_generation(VARIABLES)
    assert isolated(marks).marks_generation
    assert marked == marks.render_generation(VARIABLES)
    assert marked.startswith(GENERATION_OPEN)
    template = isolated(ChatTemplate("x", {"bos_token": "<s>"}, "default", "a"), SHORT)
    copied = pickle.loads(pickle.dumps(template))  # noqa: S301 - our own
    assert (copied, copied.limits) == (template, SHORT)


POWER = "{{ 7 ** (messages | length * 99999999) % 3 }}"


@pytest.mark.parametrize(
    ("text", "limit", "words"),
    [
        pytest.param(ENDLESS, LimitKind.RENDER_TIME, "more than 0.2 s", marks=slow),
        pytest.param(POWER, LimitKind.RENDER_TIME, "more than 0.2 s", marks=slow),
        ("{{ ('x' * (messages | length * 10 ** 9)) | length }}", LimitKind.MEMORY, "100 MB"),
        ("{{ 'x' * (messages | length * 100_001) }}", LimitKind.OUTPUT, "100000 characters"),
    ],
)
def test_render_over_a_limit_names_the_limit(text: str, limit: LimitKind, words: str) -> None:
    template = isolated(ChatTemplate(text, origin="bad.jinja"), structs.replace(SHORT, seconds=2))
    with pytest.raises(TemplateLimitError, match=words) as caught:
        template.render(MESSAGES)
    assert caught.value.limit is limit
    assert str(caught.value).startswith("bad.jinja: ")
    with pytest.raises(TemplateLimitError):
        template.source_map(VARIABLES)
    assert isinstance(template.step_through(VARIABLES).failure, TemplateLimitError)
    assert isolated(ChatTemplate("ok")).render(MESSAGES) == "ok"


@slow
def test_constant_that_compiles_too_long_is_a_syntax_error() -> None:
    template = isolated(ChatTemplate("{{ 7 ** 99999999 % 3 }}"), structs.replace(SHORT, seconds=5))
    with pytest.raises(TemplateSyntaxError, match=r"cannot compile .*more than 0\.2 s") as caught:
        template.check_syntax()
    assert caught.value.limit is LimitKind.RENDER_TIME


def test_trace_over_a_limit_keeps_the_written_text() -> None:
    text = "a{% for x in range(n) %}{% if x %}-{% endif %}{% endfor %}"
    trace = isolated(ChatTemplate(text), Limits(characters=100)).step_through({"n": 500})
    assert isinstance(trace.failure, TemplateLimitError)
    assert trace.failure.limit is LimitKind.OUTPUT
    assert trace.prompt.startswith("a---")


def test_refusal_and_syntax_error_are_equal_in_a_worker() -> None:
    refusing = ChatTemplate("{{ raise_exception('no') }}", origin="a")
    broken = ChatTemplate("{{ x(", origin="a")
    for template, kind in ((refusing, TemplateRenderError), (broken, TemplateSyntaxError)):
        with pytest.raises(kind) as here:
            template.render(MESSAGES)
        with pytest.raises(kind) as there:
            isolated(template).render(MESSAGES)
        assert str(here.value) == str(there.value)
        assert here.value.__dict__ == there.value.__dict__
    with pytest.raises(TemplateSyntaxError):
        isolated(broken).check_syntax()
    with pytest.raises(TemplateSyntaxError):
        _ = isolated(broken).syntax_tree


@slow
def test_isolated_analysis_equals_the_plain_one_and_renders_in_workers() -> None:
    plain = load_template(TEMPLATE)
    found = analyze(isolated(plain, structs.replace(SHORT, seconds=20)))
    assert isinstance(found.template, IsolatedTemplate)
    assert found.template.limits.seconds == 20
    assert replace(found, template=plain) == analyze(plain)
    with pytest.raises(TemplateLimitError) as caught:
        analyze(ChatTemplate(ENDLESS), isolate=SHORT)
    assert caught.value.limit is LimitKind.RENDER_TIME


@slow
def test_one_render_over_a_limit_does_not_end_the_analysis() -> None:
    text = TEMPLATE.read_text(encoding="utf-8")
    # Few messages of the self-check hold markup.
    trap = f"{{% if '<b>' in messages[-1].content | default('', true) %}}{ENDLESS}{{% endif %}}"
    found = analyze(ChatTemplate(text + trap), isolate=structs.replace(SHORT, seconds=20))
    assert found.format.calls is not None
    assert any("more than 0.2 s" in failure.reason for failure in found.check.failures)


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(2, limits=SHORT) as workers:
        yield workers


def _process(_: int) -> int:
    return os.getpid()


def processes(pool: WorkerPool) -> set[int]:
    """Return the numbers of a pool's processes, as its two workers tell them."""
    return {outcome.result() for outcome in pool.map(_process, range(2))}


def is_alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def _die(number: int) -> int:
    if number:
        signal.raise_signal(number)
    return number


def test_pool_results_keep_order_and_workers(pool: WorkerPool) -> None:
    before = processes(pool)
    assert [outcome.error for outcome in pool.map(time.sleep, [0.1, 0.0, 0.05, 0.0])] == [None] * 4
    assert [outcome.value for outcome in pool.map(abs, range(-50, 0))] == [*range(50, 0, -1)]
    assert processes(pool) == before


def test_dead_worker_loses_only_its_task(pool: WorkerPool) -> None:
    signals = [0, 0, signal.SIGKILL, 0, signal.SIGSEGV, 0]
    found = list(pool.map(_die, signals, name=str))
    assert [type(outcome.error) for outcome in found] == [
        WorkerDiedError if number else type(None) for number in signals
    ]
    assert "SIGKILL" in str(found[2].error)
    victim = min(processes(pool))
    os.kill(victim, signal.SIGKILL)
    while Path(f"/proc/{victim}/stat").exists() and state_of(victim) != "Z":
        time.sleep(0.01)
    # The worker died between two tasks, so no task is lost.
    assert [outcome.value for outcome in pool.map(abs, [-1, -2, -3])] == [1, 2, 3]
    assert victim not in processes(pool)


@slow
def test_silent_worker_is_killed_and_a_late_one_awaited(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pool, "START_SECONDS", 0.0)
    monkeypatch.setattr(worker_pool, "LOADED_MACHINE", 0.2)
    # A sleeping task uses no processor time.
    assert "did not answer" in str(next(pool.map(time.sleep, [600])).error)
    # Simulate a machine so busy that every answer is overdue when it is requested.
    monkeypatch.setattr(worker_pool, "START_SECONDS", 0.01)
    monkeypatch.setattr(worker_pool, "LOADED_MACHINE", 0.0)
    found = list(pool.map(sum, [range(3_000_000), range(3)]))
    assert [outcome.value for outcome in found] == [sum(range(3_000_000)), 3]


@slow
def test_failed_task_loses_only_itself_and_a_grown_worker_is_replaced(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    items: list[Any] = [[1], range(10**12), [2], "x", [3]]
    found = list(pool.map(sum, items))
    assert [outcome.value for outcome in found] == [1, None, 2, None, 3]
    assert isinstance(found[1].error, TaskLimitError)
    assert "TypeError" in str(found[3].error)
    with pytest.raises(AutoparserError):
        found[3].result()
    before = processes(pool)
    monkeypatch.setattr(worker_pool, "GROWN_TOO_LARGE", -1)
    assert len(list(pool.map(abs, range(4)))) == 4
    assert not before & processes(pool)
    assert not any(map(is_alive, before))


@slow
def test_leaving_a_pool_early_ends_its_tasks_and_processes() -> None:
    items = iter([0.2] * 100)
    numbers: set[int] = set()
    with pytest.raises(KeyboardInterrupt), WorkerPool(2, limits=SHORT) as pool:  # noqa: PT012
        results = pool.map(time.sleep, items)
        next(results)
        # Items are consumed as workers become free.
        assert len([*items]) > 80
        results.close()
        assert [outcome.value for outcome in pool.map(abs, [-1, -2])] == [1, 2]
        numbers = processes(pool)
        raise KeyboardInterrupt
    assert numbers
    assert not any(map(is_alive, numbers))


@pytest.fixture(params=["forked", "fresh"])
def _both_ways(request: pytest.FixtureRequest) -> Iterator[None]:
    """Start workers in both ways: a process with a second thread does not fork."""
    close_workers()
    done = threading.Event()
    if request.param == "fresh":
        threading.Thread(target=done.wait).start()
    yield
    done.set()
    close_workers()


@slow
@pytest.mark.usefixtures("_both_ways")
def test_worker_is_reused_and_shares_no_file_with_its_parent(tmp_path: Path) -> None:
    assert run_task(os.getpid) == run_task(os.getpid) != os.getpid()
    assert run_task(os.read, 0, 1) == b""
    with (tmp_path / "secret").open("w") as file:
        try:
            there = run_task(os.fstat, file.fileno())
        except OSError:
            return
        assert not os.path.samestat(there, os.fstat(file.fileno()))


def _raise(error: Exception) -> None:
    raise error


def test_worker_error_equals_the_raised_one() -> None:
    for error in (
        AutoparserError("wrong", file="a", place="line 1", hint="fix it"),
        TemplateRenderError("no", file="a", line=3, refused=True),
        TemplateSyntaxError("no", file="a", line=3, column=4, excerpt="x\n^", hint="fix it"),
        TaskLimitError(LimitKind.MEMORY, "too much", file="a"),
    ):
        with pytest.raises(type(error)) as caught:
            run_task(_raise, error)
        assert (str(caught.value), caught.value.__dict__) == (str(error), error.__dict__)


def test_python_error_of_a_worker_has_its_traceback_as_a_note() -> None:
    with pytest.raises(ValueError, match="invalid literal") as caught:
        run_task(int, "x")
    assert any("In a worker" in note for note in caught.value.__notes__)
    with pytest.raises((TypeError, AttributeError)):
        run_task(len, threading.Lock())
    with pytest.raises(TypeError, match="pickle"):
        run_task(threading.Lock)


@slow
def test_task_over_its_limits_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    # However long a loaded machine takes, the kernel has to end a task that makes no progress.
    monkeypatch.setattr(worker_pool, "START_SECONDS", 600.0)
    with pytest.raises(TaskLimitError, match=r"endless: .*more than 0\.5 s") as caught:
        run_task(sum, range(10**12), limits=SHORT, file="endless")
    assert caught.value.limit is LimitKind.TASK_TIME
    with pytest.raises(TaskLimitError, match="more than 100 MB") as caught:
        run_task(bytearray, 200_000_000, limits=SHORT)
    assert caught.value.limit is LimitKind.MEMORY
    # Memory is counted on top of the worker's own.
    assert len(run_task(bytearray, 10_000_000, limits=SHORT)) == 10_000_000


def test_cause_of_a_workers_death_is_named() -> None:
    ways: list[tuple[Callable[[int], object], int, str]] = [
        (signal.raise_signal, signal.SIGKILL, "killed"),
        (signal.raise_signal, signal.SIGSEGV, "crashed (SIGSEGV)"),
        (signal.raise_signal, signal.SIGABRT, "aborted (SIGABRT)"),
        (os._exit, 3, "exit code 3"),
    ]
    for task, number, words in ways:
        with pytest.raises(WorkerDiedError) as caught:
            run_task(task, number, file="a.jinja")
        assert words in str(caught.value)
        assert run_task(abs, -1) == 1


def test_interrupt_is_ignored_by_the_worker_and_ends_it_in_the_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker = TaskWorker()
    os.kill(worker.pid, signal.SIGINT)
    assert worker.call(abs, -1, limits=SHORT) == 1
    monkeypatch.setattr(worker.connection, "poll", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        worker.call(abs, -1, limits=SHORT)
    assert not worker.alive
    assert not is_alive(worker.pid)


@slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("busy", [True, False])
def test_worker_does_not_outlive_its_parent(busy: bool) -> None:
    here, there = os.pipe()
    parent = os.fork()
    if not parent:
        try:
            worker = TaskWorker()
            if busy:
                worker.submit(ChatTemplate(ENDLESS).render, MESSAGES, limits=Limits())
            os.write(there, str(worker.pid).encode())
            signal.pause()
        finally:
            os._exit(1)
    number = int(os.read(here, 20))
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    deadline = time.monotonic() + 30
    while state_of(number) != "Z":
        assert time.monotonic() < deadline, "the worker goes on"
        time.sleep(0.05)


def state_of(number: int) -> str:
    """Return the state of a process as Linux has it; Z for one that is no more."""
    try:
        return Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return "Z"
