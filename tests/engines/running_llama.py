"""Run llama.cpp's server with a parrot, for a `with` block.

It runs in its own process, `python -m tests.engines.running_llama MODEL SLOTS [--jinja]`, which
prints its address and ends when its standard input closes, so it never outlives a test.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from autoparser.analysis.engines.engine_worker.llama_reader import server_params

from .parrot import Parrot

CONTEXT = 8192
ROOT = Path(__file__).parents[2]
START = 60.0
"""Seconds that it may take to end; it begins within one."""


@dataclass(frozen=True)
class RunningLlama:
    """A server that listens."""

    url: str
    parrot: Parrot
    model: Path
    """The GGUF file that it serves."""


@contextmanager
def running_llama(
    parrot: Parrot,
    folder: Path,
    *,
    slots: int = 2,
    template: Path | None = None,
    template_text: str = "",
) -> Generator[RunningLlama]:
    """Write the parrot into a folder, its template with it, start a server, and end that.

    With a template's file the server renders by it; with a text alone it is without Jinja.
    """
    model = folder / "parrot.gguf"
    parrot.save_gguf(model, template_text if template is None else template.read_text("utf-8"))
    log = folder / "server.log"
    arguments = [str(model), str(slots), *([] if template is None else ["--jinja"])]
    with log.open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(  # noqa: S603 - the interpreter that runs the tests
            [sys.executable, "-m", "tests.engines.running_llama", *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        assert url, log.read_text("utf-8")
        yield RunningLlama(url, parrot, model)
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(START)


def main(model: str, slots: int, jinja: str = "") -> None:
    params = server_params(model, "", CONTEXT * slots)
    params.use_jinja = bool(jinja)
    params.n_parallel = slots
    params.n_threads_http = 2 * slots + 4
    server = import_module("xllamacpp").Server(params)
    print(server.listening_address, flush=True)  # noqa: T201 - whoever started it reads it
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
