"""``autoparser serve``: a chat endpoint in front of a completion server."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, TextIO

import typer

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.templates.worker_limits import Limits

from . import wings
from .options import (
    LoosenOption,
    ServerOptions,
    TokenizerOption,
    key_option,
)
from .output import print_note
from .request import (
    Forgiven,
    ForgiveOption,
    MarkupOption,
    MarkupPlace,
    SwitchOptions,
    UnclosedReasoning,
    UnclosedReasoningOption,
    warn_of_switches,
)
from .source import NamedSource

MEGABYTE = 1_000_000
EXTRA = ("anyio", "h11", "prometheus-client", "starlette", "uvicorn")
"""The packages of the extra `serve`."""


def serve(
    *,
    backend: ServerOptions,
    host: Annotated[str, "HOST", "Address to listen on."] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            metavar="PORT", min=0, max=65535, help="Port to listen on; 0 for any free one."
        ),
    ] = 8080,
    tokenizer: TokenizerOption = None,
    loosen: LoosenOption = False,
    forgive: ForgiveOption = Forgiven.REPAIRS,
    markup: MarkupOption = MarkupPlace.KEEP,
    unclosed_reasoning: UnclosedReasoningOption = UnclosedReasoning.CALLS,
    max_body: Annotated[
        float, typer.Option(metavar="MB", min=0.001, help="Limit on the size of a request.")
    ] = 8.0,
    max_seconds: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="Time limit for an answer.")
    ] = 600.0,
    max_chats: Annotated[
        int, typer.Option(metavar="N", min=1, help="Number of chats answered at the same time.")
    ] = 256,
    traffic_log: Annotated[
        Path | None,
        "FILE",
        "Append prompts and completions to this file, for roundtrip --log. Without it, nothing"
        " that users say is written anywhere.",
    ] = None,
    learned: Annotated[
        Path | None,
        typer.Option(
            "--learned",
            metavar="FILE",
            help="Format that autoparser learn wrote for this template, used to parse answers.",
        ),
    ] = None,
    switch_options: SwitchOptions,
    api_key: Annotated[
        str,
        key_option("AUTOPARSER_API_KEY", "API key that clients must send. [default: none]"),
    ] = "",
    server_key: Annotated[
        str,
        key_option("AUTOPARSER_SERVER_KEY", "API key of the server at --server."),
    ] = "",
    cors: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN",
            help="Origin whose pages may call the API, or * for all. Can be repeated. [default:"
            " none]",
            show_default=False,
        ),
    ] = None,
    source: NamedSource,
    limits: Limits | None = None,
) -> int:
    """Serve an OpenAI-compatible chat API over a completion server.

    Renders the prompt with the template, constrains the answer by the grammar of the request, and
    parses it, as a whole or as a stream. It keeps no state: run as many as you like. Needs the
    extra autoparser-chat[serve].

    Exit code: 2 if it cannot start; otherwise it runs until a signal ends it.
    """
    if backend.server is None or backend.engine is None:
        *names, last = wings.ServerEngine
        raise AutoparserError(
            f"serve needs --server URL and --engine ({', '.join(names)} or {last})"
        )
    source.check()
    # Checked before the analysis, which takes seconds, so that mistakes are reported at once.
    switches = switch_options.values()
    _require_extra()

    bounds = wings.ServingLimits(int(max_body * MEGABYTE), max_seconds, max_chats)
    with ExitStack() as opened:
        # Check the address before the analysis, so that a wrong one is reported at once.
        address, served = backend.server, backend.served_model
        wings.CompletionServer(address, backend.engine, served).check()
        analysis, loaded = _learn(source, tokenizer, learned, switches, limits)
        preparer = wings.ChatPreparer(
            analysis,
            switches=switches,
            tokenizer=loaded,
            loosen=loosen,
            engine=backend.engine,
            forgive=forgive.value,
            markup=markup.value,
            unclosed_reasoning=unclosed_reasoning.value,
        )
        server = wings.CompletionBackend(
            address, backend.engine, model=served, connections=bounds.requests, key=server_key
        )
        name = served or _public_name(source.label)
        endpoint = wings.ChatEndpoint(preparer, server, model=name, limits=bounds)
        endpoint.api_key, endpoint.origins = api_key, tuple(cors or ())
        if traffic_log is not None:
            # Open the log after all inputs are read, so that it is refused if it is one of them.
            with wings.writing(traffic_log, "name another file"):
                log = opened.enter_context(wings.open_log(traffic_log))
            endpoint.report_answer = _log_writer(log)
        # Opened here and not by uvicorn, so that a port in use is a line and an exit code.
        listening = opened.enter_context(_open_socket(host, port))
        where = listening.getsockname()
        url = f"http://{where[0]}:{where[1]}/v1"
        print_note(f"Serving {url} (backend: {backend.engine} at {backend.server})")
        if not sys.stdout.isatty():
            # A script asks for any free port, and needs to know which one it is.
            typer.echo(url)
        wings.bounded_server(endpoint.application()).run(sockets=[listening])
    return 0


def _learn(
    source: NamedSource,
    tokenizer: Path | None,
    learned: Path | None,
    switches: Mapping[str, wings.Json],
    limits: Limits | None,
) -> tuple[wings.Analysis, wings.Tokenizer | None]:
    """Analyze the template, with a format learned for it, and load the tokenizer."""
    template = source.template(tokenizer)
    analysis = source.analysis(template, isolate=limits)
    if learned is not None:
        analysis = wings.with_saved(analysis, wings.load_format(learned))
    warn_of_switches(source.label, template, switches)
    return analysis, source.tokenizer(tokenizer, template, segmenting=True)


def _public_name(label: str) -> str:
    """Return the last name of a path, which clients may see, or any other label unchanged."""
    # Only the last name: the rest would tell clients about this machine's folders.
    path = Path(label)
    # Resolved, since a path such as `.` has no name.
    return path.resolve().name if path.exists() else label


def _require_extra() -> None:
    """Raise AutoparserError if the packages of the extra are not installed."""
    missing = [name for name in EXTRA if find_spec(name.replace("-", "_")) is None]
    if missing:
        packages = f"package{'s' * (len(missing) > 1)} {', '.join(missing)}"
        raise AutoparserError(
            f"serve needs the {packages}", hint="pip install '.[serve]' in a checkout"
        )


def _open_socket(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), backlog=1024)
    except OSError as error:
        raise AutoparserError(
            f"cannot listen on {host}:{port}: {error.strerror}",
            hint="use another --port, or 0 for any free port",
        ) from error


def _log_writer(log: TextIO) -> Callable[[wings.AnsweredChat], None]:
    """Return a function that writes a chat as a line of the log."""

    def write(chat: wings.AnsweredChat) -> None:
        line = {
            "prompt": chat.prompt,
            "completion": chat.completion,
            "prompt_token_ids": chat.prompt_token_ids,
            "token_ids": chat.token_ids,
        }
        log.write(
            json.dumps({key: value for key, value in line.items() if value is not None}) + "\n"
        )
        # Flush each line, so that the log is complete while the server runs.
        log.flush()

    return write
