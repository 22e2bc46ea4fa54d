"""Word the errors of tasks that exceed a limit, or lose their worker.

death_error(-25, limits, "t.jinja")  ->  TaskLimitError: it takes more than 60 s (SIGXCPU)
"""

from __future__ import annotations

import signal
from contextlib import suppress

from autoparser.analysis.core.errors import (
    AutoparserError,
    LimitKind,
    TaskLimitError,
    WorkerDiedError,
)

from .worker_limits import Limits, memory_words

_OPTIONS = {
    LimitKind.RENDER_TIME: "--timeout",
    LimitKind.TASK_TIME: "--timeout",
    LimitKind.MEMORY: "--memory",
    LimitKind.OUTPUT: "--max-output",
}


def raise_limit_hint(limit: LimitKind) -> str:
    """Return the hint that names the option of a limit."""
    return f"if it needs more, raise the limit with {_OPTIONS[limit]}"


def limit_error(limit: LimitKind, limits: Limits, file: str | None) -> TaskLimitError:
    """Return the error of a task that exceeded a limit."""
    return TaskLimitError(limit, _too_much(limit, limits), file=file, hint=raise_limit_hint(limit))


def _too_much(limit: LimitKind, limits: Limits) -> str:
    match limit:
        case LimitKind.MEMORY:
            return memory_words(limits.memory)
        case LimitKind.RENDER_TIME:
            return f"one step of a render takes more than {limits.render_seconds or 0:.3g} s"
        case LimitKind.OUTPUT:
            return f"it writes more than {limits.characters} characters"
        case LimitKind.TASK_TIME:
            return f"it takes more than {limits.seconds or 0:.3g} s"


def death_error(status: int, limits: Limits, file: str | None) -> AutoparserError:
    """Return the error of a task whose worker ended with this exit code."""
    name = _signal_name(status)
    if name == "SIGPROF":
        return limit_error(LimitKind.RENDER_TIME, limits, file)
    if name == "SIGXCPU":
        return limit_error(LimitKind.TASK_TIME, limits, file)
    if name is None:
        words = f"its worker ended with exit code {status}"
    elif name == "SIGKILL":
        words = "its worker was killed (SIGKILL), usually because memory ran out"
    elif name == "SIGABRT":
        words = "its worker aborted (SIGABRT), usually because memory ran out"
    else:
        words = f"its worker crashed ({name})"
    return WorkerDiedError(words, file=file, hint="there is no result; try again")


def silence_error(seconds: float, file: str | None) -> AutoparserError:
    """Return the error of a task whose worker did not answer and was killed."""
    return TaskLimitError(
        LimitKind.TASK_TIME,
        f"its worker did not answer in {seconds:.3g} s and was killed",
        file=file,
        hint=raise_limit_hint(LimitKind.TASK_TIME),
    )


def _signal_name(status: int) -> str | None:
    with suppress(ValueError):
        return signal.Signals(-status).name if status < 0 else None
    return f"signal {-status}"
