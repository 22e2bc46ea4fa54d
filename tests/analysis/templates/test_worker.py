"""One task in a worker: its value, its error, its limits, and how a worker may die."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autoparser import ChatTemplate, Limit, TaskLimitError, TemplateSyntaxError, WorkerDiedError
from autoparser.analysis.core.errors import AutoparserError, TemplateRenderError
from autoparser.analysis.templates.worker_limits import Limits
from autoparser.analysis.templates.worker_pool import TaskWorker, close_workers, run_task

pytestmark = pytest.mark.slow

ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
SHORT = Limits(render_seconds=0.2, seconds=0.5, memory=100_000_000)


@pytest.fixture(autouse=True)
def _no_worker_is_left() -> Iterator[None]:
    close_workers()
    yield
    close_workers()


@pytest.fixture(params=["forked", "fresh"])
def ways(request: pytest.FixtureRequest) -> Iterator[str]:
    """Start workers in both ways: a process with a second thread does not fork."""
    done = threading.Event()
    if request.param == "fresh":
        threading.Thread(target=done.wait).start()
    yield request.param
    done.set()


@pytest.mark.usefixtures("ways")
def test_a_task_runs_in_another_process_which_is_used_again() -> None:
    first, second = run_task(os.getpid), run_task(os.getpid)
    assert first == second != os.getpid()


@pytest.mark.usefixtures("ways")
def test_a_worker_has_nothing_to_read_and_no_file_of_its_parent(tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as file:
        assert run_task(os.read, 0, 1) == b""
        assert not same_file(file.fileno())


def same_file(number: int) -> bool:
    """Whether a number stands for the same file in a worker."""
    try:
        there = run_task(os.fstat, number)
    except OSError:
        return False
    return os.path.samestat(there, os.fstat(number))


def test_what_a_task_raises_comes_out_with_the_place_it_was_raised_at() -> None:
    with pytest.raises(ValueError, match="invalid literal") as caught:
        run_task(int, "x")
    assert any("In a worker" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    "error",
    [
        AutoparserError("wrong", file="a", place="line 1", hint="fix it"),
        TemplateRenderError("no", file="a", line=3, refused=True),
        TemplateSyntaxError("no", file="a", line=3, column=4, excerpt="x\n^", hint="fix it"),
        TaskLimitError(Limit.MEMORY, "too much", file="a"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_come_out_as_they_were(error: AutoparserError) -> None:
    with pytest.raises(type(error)) as caught:
        run_task(_raise, error)
    assert (str(caught.value), caught.value.__dict__) == (str(error), error.__dict__)


def _raise(error: Exception) -> None:
    raise error


def test_a_task_that_never_steps_through_python_is_killed_after_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # However long a machine under load takes over it, the kernel is to end it.
    monkeypatch.setattr("autoparser.analysis.templates.worker_pool.START_SECONDS", 600.0)
    with pytest.raises(TaskLimitError, match=r"more than 0\.5 s") as caught:
        run_task(sum, range(10**12), limits=SHORT, file="endless")
    assert caught.value.limit is Limit.TASK_TIME
    assert str(caught.value).startswith("endless: ")


def test_memory_is_counted_from_what_the_worker_has() -> None:
    with pytest.raises(TaskLimitError, match="more than 100 MB") as caught:
        run_task(bytearray, 200_000_000, limits=SHORT)
    assert caught.value.limit is Limit.MEMORY
    assert len(run_task(bytearray, 10_000_000, limits=SHORT)) == 10_000_000


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGKILL, "killed"),
        (signal.SIGSEGV, "crashed (SIGSEGV)"),
        (signal.SIGABRT, "gave up (SIGABRT)"),
        (signal.SIGTERM, "crashed (SIGTERM)"),
    ],
)
def test_a_worker_that_dies_is_told_from_a_limit(number: int, words: str) -> None:
    with pytest.raises(WorkerDiedError) as caught:
        run_task(signal.raise_signal, number, file="a.jinja")
    assert words in str(caught.value)
    assert run_task(abs, -1) == 1


def test_a_worker_that_leaves_has_an_exit_code() -> None:
    with pytest.raises(WorkerDiedError, match="exit code 3"):
        run_task(os._exit, 3)


def test_what_cannot_be_sent_is_the_callers_mistake() -> None:
    with pytest.raises((TypeError, AttributeError)):
        run_task(len, threading.Lock())
    with pytest.raises(TypeError, match="pickle"):
        run_task(threading.Lock)


def test_an_interrupt_leaves_the_worker_alone_and_ends_it_in_the_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker = TaskWorker()
    os.kill(worker.pid, signal.SIGINT)
    assert worker.call(abs, -1, limits=SHORT) == 1

    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(worker.connection, "poll", interrupted)
    with pytest.raises(KeyboardInterrupt):
        worker.call(abs, -1, limits=SHORT)
    assert not worker.alive
    with pytest.raises(ProcessLookupError):
        os.kill(worker.pid, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("task", [sum, _raise], ids=["busy", "idle"])
def test_a_worker_does_not_outlive_its_parent(task: Callable[..., object]) -> None:
    here, there = os.pipe()
    parent = os.fork()
    if not parent:
        try:
            worker = TaskWorker()
            if task is sum:
                endless = (
                    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
                )
                template = ChatTemplate(endless)
                worker.submit(template.render, [{"role": "user"}], limits=Limits())
            os.write(there, str(worker.pid).encode())
            signal.pause()
        finally:
            os._exit(1)
    number = int(os.read(here, 20))
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    waited = threading.Event()
    for _ in range(600):
        if state_of(number) == "Z":
            return
        waited.wait(0.05)
    pytest.fail("the worker goes on")


def state_of(number: int) -> str:
    """Return the state of a process as Linux has it; Z for one that is no more."""
    try:
        return Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return "Z"
