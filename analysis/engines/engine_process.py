"""Run an engine's parsers in a process of the engine's own Python.

A request is a line of JSON, and so is each answer (`engine_worker/__main__.py` has all of them):

    {"tool": "hermes", "reasoning": null, "texts": [0], "tokens": 0}
    {"read": {"reasoning": "", "content": "Hi", "calls": []}}

Contract: the process ends with the block that started it. If a parser kills or hangs the process,
only its answer is lost, and the next request starts another process. A time limit is one text's, so
that a slow machine loses no texts. If no process can be started, AutoparserError is raised.
"""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from msgspec import convert

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.reading_judge import ReadCall, ReadMessage
from autoparser.analysis.core.server_engines import ServerEngine
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.analysis.templates.worker_pool import ClosedAtExit, python_answer

ENGINES = tuple(engine.record.package for engine in ServerEngine)
"""The modules of engines that a Python may have."""
START = 300.0
"""Seconds for importing an engine, from a slow disk, too."""
TEXT = 5.0
"""Seconds of CPU time for one text."""
ANSWER = 120.0
"""Seconds for the answer about one text, while other processes use the processor, too."""
MOST_LOST = 2
"""Texts that may end or hang the process before a pair of parsers is asked no more.

A parser that hangs on every text would take hours; one that hangs on one text is asked on.
"""
_FOLDER = Path(__file__).parent
# The worker is a package of its own there, and no other module of this folder is importable.
_PROGRAM = (
    "import sys; folder = sys.argv.pop(1); sys.path[:] = [folder, *filter(None, sys.path)];"
    " import engine_worker.__main__ as worker; sys.path.remove(folder); worker.main(sys.argv[1])"
)
_FIND = (
    # An empty entry is the current folder, whose modules could hide the engine's.
    "import sys; sys.path[:] = filter(None, sys.path); import importlib.util as u, json;"
    " print(json.dumps([e for e in sys.argv[1:] if u.find_spec(e) is not None]))"
)


@dataclass(frozen=True, slots=True)
class ParserPair:
    """Names of a tool parser and a reasoning parser; None for no parser."""

    tool: str | None = None
    """E.g. `"hermes"`."""
    reasoning: str | None = None
    """E.g. `"qwen3"`."""


@dataclass(frozen=True, slots=True)
class EngineParsers:
    """The parsers that an engine offers."""

    name: str
    """The engine, e.g. `"vllm"`."""
    version: str
    """Its version, e.g. `"0.32.0"`."""
    tools: tuple[str, ...]
    """Names of its tool parsers, e.g. `("hermes", "mistral")`; empty if it derives one."""
    reasoning: tuple[str, ...]
    """Names of its reasoning parsers, e.g. `("deepseek_r1", "qwen3")`."""
    steps: tuple[int, ...]
    """Possible numbers of tokens per delta in its streams, e.g. `(1, 6)`."""

    @property
    def has_parsers(self) -> bool:
        """Whether any parser can be chosen by name."""
        return bool(self.tools or self.reasoning)


@dataclass(frozen=True, slots=True)
class LoadedTexts:
    """An engine's answer about a template and its texts."""

    auto: ParserPair | None = None
    """The pair that its `auto` would choose, or None if it has no `auto`."""
    left_out: Mapping[int, str] = field(default_factory=dict[int, str])
    """The reasons why it cannot be asked about texts, by index of the text, e.g.
    `{3: "its prompt does not end with …"}`."""


@dataclass(frozen=True, slots=True)
class ParserError:
    """The error of a parser instead of an answer, or how its process ended."""

    reason: str
    """E.g. `"KeyError: 'name'"` or `"no answer after 120 seconds"`."""
    late: bool = False
    """Whether a time limit ended it, as after 120 seconds, so that it may be slow rather than
    wrong."""


ParserAnswer = ReadMessage | ParserError


def installed_engines(python: str) -> tuple[str, ...]:
    """Return the engines that a Python has. Raises AutoparserError if it cannot be run."""
    return tuple(python_answer(python, _FIND, ENGINES, START))


class EngineProcess(ClosedAtExit):
    """The worker in an engine's Python; used as a context."""

    def __init__(
        self,
        engine: str,
        python: str = sys.executable,
        *,
        text_seconds: float = TEXT,
        answer_seconds: float = ANSWER,
    ) -> None:
        """Store the limits for a text: `text_seconds` of CPU time, `answer_seconds` in all."""
        self.engine, self.python = engine, python
        self._text_seconds, self._answer_seconds = text_seconds, answer_seconds
        self._running: _Running | None = None
        self._loaded: Mapping[str, Any] | None = None

    def close(self) -> None:
        """End the process."""
        if self._running is not None:
            self._running.end()
            self._running = None

    def parsers(self) -> EngineParsers:
        """Return the parsers that the engine offers. Raises AutoparserError."""
        answer = self._ask({}, START)
        if isinstance(answer, ParserError):
            raise AutoparserError(
                f"cannot start {self.engine}: {answer.reason}",
                file=self.python,
                hint=f"try {self.python} -c 'import {self.engine}'",
            )
        return convert(answer, EngineParsers)

    def load(
        self,
        template: ChatTemplate,
        vocabulary: Sequence[str],
        tools: Sequence[Json],
        texts: Sequence[Mapping[str, Any]],
    ) -> LoadedTexts:
        """Send the texts. An engine that cannot load the template reports it for each later."""
        given = {
            "template": template.text,
            "special_tokens": dict(template.special_tokens),
            "vocabulary": [*vocabulary],
            "markers": likely_tokens(template, vocabulary),
            "tools": [*tools],
            "texts": [*texts],
            "seconds": self._text_seconds,
        }
        self._loaded = {"load": given}
        answer = self._ask(self._loaded, START)
        if isinstance(answer, ParserError):
            return LoadedTexts()
        return convert(answer, LoadedTexts, str_keys=True)

    def read(
        self, pair: ParserPair, texts: Sequence[int], tokens: int
    ) -> Sequence[ParserAnswer] | ParserError:
        """Return the answers of two parsers to texts, or the error if they cannot be made.

        `tokens` is the number of tokens in a delta; 0 sends each text at once. After `MOST_LOST`
        texts that ended or hung the process, the others have the last one's error.
        """
        answers: list[ParserAnswer] = []
        lost = 0
        while (error := self._read_rest(pair, texts, tokens, answers)) is not None:
            # The process still runs, so it was not lost: the parsers cannot be created.
            if self._running is not None:
                return error
            lost += 1
            answers.append(error)
            left = len(texts) - len(answers)
            if lost == MOST_LOST or not left:
                # If no text was answered, the parsers cannot be used at all.
                return error if lost == len(answers) else [*answers, *[error] * left]
        return answers

    def _read_rest(
        self, pair: ParserPair, texts: Sequence[int], tokens: int, answers: list[ParserAnswer]
    ) -> ParserError | None:
        """Append the answers to the other texts; return an error that ends them, or None."""
        rest = list(texts[len(answers) :])
        request = {"tool": pair.tool, "reasoning": pair.reasoning, "texts": rest, "tokens": tokens}
        seconds = self._answer_seconds
        answer = self._ask(request, seconds) if rest else None
        while answer is not None and not isinstance(answer, ParserError):
            answers.append(_answer(answer["read"]))
            # Each answer is on its own line.
            answer = self._next(seconds) if len(answers) < len(texts) else None
        return answer

    def _ask(self, request: Mapping[str, Any], seconds: float) -> Any:
        """Return an answer or a ParserError; start another process if the last one ended."""
        if self._running is None:
            self._running = _Running(self.python, self.engine)
            # A new process has no texts yet, and requests refer to them by number.
            if self._loaded is not None and request is not self._loaded:
                loaded = self._ask(self._loaded, START)
                if isinstance(loaded, ParserError):
                    return loaded
        self._running.ask(json.dumps(request))
        return self._next(seconds)

    def _next(self, seconds: float) -> Any:
        """Return the next answer of the running process, or a ParserError."""
        running = self._running
        if running is None:
            raise RuntimeError("nothing was asked")
        try:
            line = running.answer(seconds)
        except queue.Empty:
            self.close()
            return ParserError(f"no answer after {seconds:g} seconds", late=True)
        if not line:
            words = running.last_words()
            self.close()
            return ParserError(f"the process ended with {words}")
        answer = json.loads(line)
        return ParserError(answer["error"]) if "error" in answer else answer


class _Running:
    """The process while it runs."""

    def __init__(self, python: str, engine: str) -> None:
        self._errors = TemporaryFile()  # noqa: SIM115 - closed with the process
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the person who asks names the program
                [python, "-c", _PROGRAM, str(_FOLDER), engine],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
                encoding="utf-8",
                # Nothing is fetched: an engine may look for a model's files on the Hub.
                env={**os.environ, "HF_HUB_OFFLINE": "1"},
            )
        except OSError as error:
            self._errors.close()
            raise AutoparserError(
                f"this Python cannot be run ({error.strerror})",
                file=python,
                hint="name the bin/python of the engine's environment",
            ) from error
        # A queue, since not every system can wait for a pipe with a timeout.
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._pass_on, daemon=True).start()

    def ask(self, line: str) -> None:
        """Send a line. That the process has ended is seen in its answer."""
        given = self._process.stdin
        with suppress(OSError):
            if given is not None:
                given.write(f"{line}\n")
                given.flush()

    def answer(self, seconds: float) -> str:
        """Return the next line, or empty if the process ended. Raises queue.Empty."""
        return self._lines.get(timeout=seconds)

    def last_words(self) -> str:
        """Return how the process ended, with the last line of its stderr."""
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f"the code {code}: {lines[-1]}" if lines else f"the code {code}"

    def end(self) -> None:
        """Kill the process and close its pipes."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            # Unwritten input of a process that has ended is lost.
            with suppress(OSError, ValueError):
                if pipe is not None:
                    pipe.close()
        self._errors.close()

    def _pass_on(self) -> None:
        """Put the lines of answers into the queue, then an empty line for the end."""
        with suppress(OSError, ValueError):
            for line in self._process.stdout or ():
                self._lines.put(line)
        self._lines.put("")


_IN_BRACKETS = re.compile(r"<[^<>\s]{1,40}>|\[[^\[\]\s]{1,40}\]")


def likely_tokens(template: ChatTemplate, vocabulary: Sequence[str] | None = None) -> list[str]:
    """Return texts that may be tokens of the model: all texts in brackets in its template.

    Of a known vocabulary only its tokens. A missing token could make an engine's own choice of
    parsers worse, and cuts a marker in pieces where a stream is made of tokens.
    """
    found = (*_IN_BRACKETS.findall(template.text), *template.special_tokens.values())
    known = None if vocabulary is None else {*vocabulary}
    return [token for token in dict.fromkeys(found) if known is None or token in known]


def _answer(read: Mapping[str, Any]) -> ParserAnswer:
    if "error" in read:
        return ParserError(read["error"], read["late"])
    calls = tuple(ReadCall(name, given) for name, given in read["calls"])
    return ReadMessage(read["content"], read["reasoning"], calls)
