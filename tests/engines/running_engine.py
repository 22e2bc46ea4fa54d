"""Run the server of vLLM, SGLang or transformers with a parrot, for a `with` block."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from .parrot import END, Parrot

PATIENCE = 400.0
"""Seconds that an engine may take to start: they import for minutes on a busy machine."""
STOPPING = 20.0


@dataclass(frozen=True)
class EngineServer:
    """How an engine's server is started."""

    name: str
    variable: str
    """Names a Python that has the engine, and this package beside it."""
    command: Sequence[str]
    """After that Python; `{model}` and `{port}` are put in."""
    environment: Mapping[str, str]
    named_end: str = "tool_calls"
    """Why an answer with the call of a named function has ended, in this engine's words."""
    says_done: bool = True
    """Whether its streams end with OpenAI's last event."""

    @property
    def python(self) -> str | None:
        """The Python that the environment names."""
        return os.environ.get(self.variable)


ADDRESS = ("--host", "127.0.0.1", "--port", "{port}")
VLLM = EngineServer(
    "vllm",
    "AUTOPARSER_VLLM_PYTHON",
    (
        *("-m", "vllm.entrypoints.openai.api_server", "--model", "{model}", *ADDRESS),
        *("--dtype", "float32", "--max-model-len", "8192", "--max-num-seqs", "4"),
        *("--enforce-eager", "--enable-auto-tool-choice"),
    ),
    environment={
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": "1",
    },
    named_end="stop",
)
SGLANG = EngineServer(
    "sglang",
    "AUTOPARSER_SGLANG_PYTHON",
    (
        *("-m", "sglang.launch_server", "--model-path", "{model}", *ADDRESS),
        *("--device", "cpu", "--dtype", "float32"),
        *("--attention-backend", "torch_native", "--sampling-backend", "pytorch"),
        *("--disable-cuda-graph", "--disable-overlap-schedule", "--skip-server-warmup"),
        *("--context-length", "8192", "--max-total-tokens", "32768", "--max-running-requests", "4"),
        *("--mem-fraction-static", "0.1", "--grammar-backend", "xgrammar"),
    ),
    environment={"OMP_NUM_THREADS": "1"},
)
TRANSFORMERS = EngineServer(
    "transformers",
    "AUTOPARSER_TRANSFORMERS_PYTHON",
    (
        *("-m", "transformers.cli.transformers", "serve", "{model}", *ADDRESS),
        *("--device", "cpu", "--dtype", "float32"),
    ),
    environment={"OMP_NUM_THREADS": "1"},
    says_done=False,
)


@dataclass(frozen=True)
class RunningEngine:
    """A server that listens."""

    url: str
    model: str
    """Its model's name."""


@contextmanager
def running_engine(
    engine: EngineServer,
    parrot: Parrot,
    folder: Path,
    settings: Mapping[str, object],
    flags: Sequence[str] = (),
) -> Generator[RunningEngine]:
    """Write the parrot into a folder, serve it, and end that.

    `settings` are those of its `tokenizer_config.json`, where a model's own template stands.
    """
    model = folder / "model"
    parrot.save_directory(model)
    written = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, **settings}
    (model / "tokenizer_config.json").write_text(json.dumps(written), "utf-8")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert engine.python is not None
    command = [part.format(model=model, port=port) for part in (*engine.command, *flags)]
    log = folder / "server.log"
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", **engine.environment}
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(  # noqa: S603 - the interpreter that the caller names
            [engine.python, *command],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(process, f"{url}/health", log)
        yield RunningEngine(url, str(model))
    finally:
        _end(process)


def _wait(process: subprocess.Popen[bytes], health: str, log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text("utf-8")[-4000:]
        try:
            if httpx2.get(health, timeout=5).is_success:
                return
        except httpx2.TransportError:
            pass
        time.sleep(1)
    raise AssertionError(log.read_text("utf-8")[-4000:])


def _end(process: subprocess.Popen[bytes]) -> None:
    """End an engine and the processes that it has started, which are of its session."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(STOPPING)
        except subprocess.TimeoutExpired:
            continue
