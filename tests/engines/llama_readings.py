"""What llama.cpp's own parser, which it makes of a template, reads of the template's texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from autoparser.analysis.core.battery import loose_tools
from autoparser.analysis.core.conversation import ReadCall, ReadMessage
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.engines import AskedText
from autoparser.analysis.server_probe import ProbeClient, server_at
from autoparser.analysis.server_probe.engine_server import TextNotAskedError, TextRefusedError
from autoparser.analysis.server_probe.known_text import KnownText, ProbedChat

from .parrot import Parrot
from .running_llama import running_llama

VERSION = "llama.cpp b11549"
OWN = "its own"
USER = {"role": "user", "content": "Please look into it."}


def llama_record(path: Path, texts: Sequence[AskedText]) -> Mapping[str, Any]:
    """Start a server with the template, and have it go on with each text and end there."""
    right = exact = total = 0
    failure: tuple[str, str] | None = None
    with (
        TemporaryDirectory() as folder,
        running_llama(Parrot(), Path(folder), template=path, slots=1) as running,
        ProbeClient(running.url, timeout=60) as client,
    ):
        (rung,) = server_at(client).rungs()
        for asked in sorted(texts, key=lambda each: len(each.text)):
            chat = ProbedChat([USER], loose_tools() if asked.tools else (), asked.setting)
            try:
                read = rung.read(chat, KnownText(asked.title, asked.meant, asked.text))
            except TextNotAskedError:
                continue
            except (TextRefusedError, AutoparserError) as error:
                total += 1
                failure = failure or (asked.title, str(error))
                continue
            calls = tuple(ReadCall(each.name, each.arguments) for each in read.calls)
            found = asked.judge.judge(asked.meant, ReadMessage(read.content, read.reasoning, calls))
            total += 1
            right += found.right
            exact += found.agreement == "exact"
            if not found.right:
                failure = failure or (asked.title, found.part)
    best: dict[str, Any] = {"tool": OWN, "reasoning": None, "total": total, "exact": exact}
    best |= {"right": right, "streamed": None, "all": right == total, "failure": failure}
    return {"template": path.name, "engine": VERSION, "best": best, "auto": None}
