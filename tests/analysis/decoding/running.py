"""Servers that tests start, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
PROCESS = "tests.analysis.decoding.server_process"
CLOSERS = ("<tool>", "</tool>")
"""Those of the fixture that the tests ask with."""


@dataclass
class Running:
    url: str
    asked: Path

    @property
    def requests(self) -> list[dict[str, Any]]:
        # Libraries say things there, too.
        lines = self.asked.read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]


Start = Callable[[str, str], Running]


def servers(tmp_path: Path) -> Generator[Start]:
    """Start servers, and end them with the test."""
    running: list[subprocess.Popen[str]] = []

    def started(mode: str, engine: str = "vllm") -> Running:
        asked = tmp_path / f"asked-{len(running)}"
        with asked.open("w", encoding="utf-8") as errors:
            process = subprocess.Popen(  # noqa: S603 - the interpreter that runs the tests
                [sys.executable, "-m", PROCESS, mode, engine, *CLOSERS],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        running.append(process)
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        assert port, asked.read_text("utf-8")
        return Running(f"http://127.0.0.1:{port}", asked)

    yield started
    for process in running:
        process.terminate()
        process.communicate(timeout=10)
