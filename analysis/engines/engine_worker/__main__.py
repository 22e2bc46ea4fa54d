"""Answers questions about texts until nothing more comes.

    python -c PROGRAM sglang

One JSON object a line is read, and each is answered with one. `{}` names the engine, its version,
its parsers, and how many tokens of a stream come together. `{"load": {"template", "special_tokens",
"vocabulary", "tools", "texts", "seconds"}}` gives what is to be read, and is answered with what the
engine's `auto` would choose for the template, and with the texts that it cannot be asked about, by
their places. `{"tool", "reasoning", "texts", "tokens"}` has a pair of parsers read some of the
texts, that many tokens at a time, or all at once where it is 0, with one answer for each text: what
was read, or the error. A text that takes more seconds of processor time is given up; what hangs
beyond Python's reach is for the caller to end.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module, metadata
from typing import Any

from .asked_engine import AskedEngine, Reading
from .llama_reader import LlamaCpp
from .python_readers import Sglang, Vllm


class TookTooLong(BaseException):
    """A text took too long; engines that catch every Exception do not catch this."""


def _give_up(*_: object) -> None:
    raise TookTooLong


ENGINES: Mapping[str, Callable[[], AskedEngine]] = {
    "vllm": Vllm,
    "sglang": Sglang,
    "xllamacpp": LlamaCpp,
}


def answers(
    engine: AskedEngine, loaded: Mapping[str, Any], request: Mapping[str, Any]
) -> Iterator[Reading]:
    """Read some of the texts by a pair of parsers."""
    read = engine.reader(request["tool"], request["reasoning"])
    for at in request["texts"]:
        given = partial(read, loaded["texts"][at], request["tokens"])
        yield read_limited(given, loaded["seconds"])


def read_limited(read: Callable[[], Reading], seconds: float) -> Reading:
    """Return what is read, or why nothing is."""
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        return read()
    except TookTooLong:
        return {"error": f"it is not done after {seconds:g} seconds"}
    except Exception as error:  # noqa: BLE001 - whatever an engine raises is its answer
        return {"error": f"{type(error).__name__}: {error}"}
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def version(name: str) -> str:
    """Return an engine's version, as it was installed or as it says itself."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return str(getattr(import_module(name), "__version__", "of an unknown version"))


def main(name: str) -> None:
    """Answer until nothing more comes."""
    logging.disable(logging.CRITICAL)
    # Whatever an engine prints, in Python or below it, is not an answer.
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    signal.signal(signal.SIGVTALRM, _give_up)
    engine = ENGINES[name]()
    loaded: Mapping[str, Any] = {}
    for line in sys.stdin:
        request = json.loads(line)
        answer: dict[str, Any] = {}
        try:
            if "load" in request:
                loaded = request["load"]
                answer["auto"] = engine.load(loaded)
                answer["left_out"] = engine.left_out(loaded)
            elif "texts" in request:
                answer["read"] = list(answers(engine, loaded, request))
            else:
                tools, reasoning = engine.parsers()
                named = {"tools": [*tools], "reasoning": [*reasoning], "steps": [*engine.steps]}
                answer = {**named, "name": engine.name, "version": version(name)}
        except Exception as error:  # noqa: BLE001 - whatever an engine raises is its answer
            answer["error"] = f"{type(error).__name__}: {error}"
        output.write(json.dumps(answer) + "\n")
        output.flush()


if __name__ == "__main__":
    main(sys.argv[1])
