"""Parse exports with an engine's own parser, in a worker in that engine's Python."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from autoparser import Json, TurnFormat
from autoparser.analysis.core.format_choice import Formats
from autoparser.analysis.export.export_limits import Export, ExportLimit, MessagePiece
from autoparser.analysis.export.response_template import trial_tools
from autoparser.analysis.parsing.turn_expression import build_expression
from autoparser.analysis.parsing.turn_request import ParserRequest
from autoparser.analysis.templates.worker_pool import ClosedAtExit

WORKER = Path(__file__).with_name("response_template_worker.py")
STREAMED = 3
"""Characters of a piece of a stream: fewer than a marker has."""
_NUMBERED = ExportLimit(MessagePiece.IDS, "an engine numbers calls itself")


class RefusedExportError(Exception):
    """An engine does not load a document."""


class ExportReader(ClosedAtExit):
    """An engine's reading after a prompt: whole, streamed, and truncated.

    Used as `Parse` of `autoparser.analysis.export.response_template`; raises ValueError where one
    of the three is read otherwise than the first, or not at all.
    """

    def __init__(self, engine: str, python: str) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - the person who tests names the program
            [python, str(WORKER), engine],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )
        self._document: Mapping[str, Json] | None = None
        self._ends: tuple[str, ...] = ()

    def close(self) -> None:
        """Let the engine's program end."""
        self._process.communicate()

    def load(self, format_: TurnFormat, export: Export) -> Export:
        """Load a document in the engine; return the promise of the export.

        Raises RefusedExportError with the engine's words.
        """
        turn = build_expression(Formats.of(format_.whole), ParserRequest())
        self._ends = tuple(end.core for end in turn.ends if end.core)
        self._document = export.document
        answer = self._ask(load=export.document, tools=trial_tools())
        if "error" in answer:
            raise RefusedExportError(answer["error"])
        return replace(export, limits=(*export.limits, _NUMBERED))

    def __call__(
        self,
        text: str,
        response_template: Mapping[str, Json],
        *,
        prefix: str,
        tools: Sequence[Json],
    ) -> Mapping[str, object]:
        """Parse a model's output after a prompt."""
        del tools
        assert response_template is self._document, "the document is loaded before it is used"
        whole = self._read(prefix, text, 0)
        stopped = self._stopped(text)
        for read, step, words in ((text, STREAMED, "streamed"), (stopped, 0, "without the end")):
            found = self._read(prefix, read, step)
            if found != whole:
                raise ValueError(f"{words}: {found}, but at once: {whole}")
        return whole

    def _stopped(self, text: str) -> str:
        """Remove the end of the turn: an engine stops there and does not pass it on."""
        for end in self._ends:
            if text.rstrip().endswith(end):
                return text.rstrip().removesuffix(end)
        return text

    def _read(self, prefix: str, text: str, step: int) -> Mapping[str, object]:
        answer = self._ask(prefix=prefix, text=text, step=step)
        if "error" in answer:
            raise ValueError(answer["error"])
        message: Mapping[str, object] = answer["message"]
        return message

    def _ask(self, **asked: object) -> Any:
        given, answers = self._process.stdin, self._process.stdout
        assert given is not None, "it is a pipe"
        assert answers is not None, "it is a pipe"
        given.write(json.dumps(asked) + "\n")
        given.flush()
        return json.loads(answers.readline())
