"""``autoparser probe``: what a running server makes of prompts and of answers."""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.templates.worker_limits import Limits

from . import wings
from .options import (
    ExitZeroOption,
    ResultOptions,
    ServedModelOption,
    ServerTimeoutOption,
    SwitchOption,
    key_option,
)
from .output import Outlet, open_outlet, print_note, protect_source, status_line
from .request import read_switches, warn_of_check, warn_of_switches
from .source import NamedSource, ServedSource

FOUND = 1
"""The exit code where a server reads otherwise."""


SERVED = "the server's own"


class RungName(StrEnum):
    """The ways to bring a text before a server's parser."""

    GIVEN = "given"
    FORCED = "forced"
    SAMPLED = "sampled"


def probe(
    *,
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL", help="A running server: http://127.0.0.1:PORT.", show_default=False
        ),
    ],
    source: ServedSource,
    switch: SwitchOption = None,
    served_model: ServedModelOption = "",
    rung: Annotated[
        RungName | None,
        "How texts come before its parser: given to it, forced upon its model, or sampled."
        " Else the first of these that it has a way for.",
    ] = None,
    no_ranking: Annotated[bool, "Ask its own parsers alone, not all that it has."] = False,
    python: Annotated[
        str | None,
        "PATH",
        "The bin/python of vLLM's environment: where the server reads otherwise, the engine's own"
        " parsers are asked there which reads best. [default: the one that runs this]",
    ] = None,
    yes: Annotated[bool, "Probe a server that is not on this machine."] = False,
    api_key: Annotated[
        str,
        key_option("AUTOPARSER_API_KEY", "The server's key."),
    ] = "",
    server_timeout: ServerTimeoutOption = 120.0,
    edges: Annotated[bool, "Whitespace at the edges of a part counts, too."] = False,
    exit_zero: ExitZeroOption = False,
    result: ResultOptions,
    limits: Limits | None = None,
) -> int:
    """See what a running vLLM, SGLang or llama-server makes of prompts and of answers.

    The prompts come first: what the server renders, beside what the template renders. Then answers
    whose meaning is known, as the template itself writes them, are brought before the server's
    parser; reasoning, content and calls are compared, calls as JSON, and the stream with the answer
    at once. Where a server has many parsers, all of them are ranked. Without TEMPLATE, it is the
    one that the server says it serves.

    Exit code: 0 if all is as it is meant, 1 if something is not or nothing could be asked, 2 if
    there is no server to probe.
    """
    as_json = result.is_json
    settings = read_switches(switch)
    protect_source(source.source, result.output)

    address = wings.checked_address(url, anywhere=yes)
    with wings.ProbeClient(address, timeout=server_timeout, key=api_key) as client:
        server = wings.server_at(client, served_model)
        template, label = _probed_template(server.served, source)
        warn_of_switches(label, template, settings)
        analysis = wings.analyze(template, isolate=limits or False)
        warn_of_check(label, analysis, "texts may not be what a model writes")
        found = wings.probe_server(
            server,
            analysis,
            url=address,
            settings=settings,
            rung=None if rung is None else wings.TextRoute(rung.value),
            ranked=not no_ranking,
        )
    found = _with_installed(found, analysis, python)
    with open_outlet(result.output) as outlet:
        _write_result(found, analysis, label, outlet, as_json=as_json)
    return 0 if exit_zero or found.ok(edges=edges) else FOUND


def _probed_template(
    served: wings.ServedModel, source: NamedSource
) -> tuple[wings.ChatTemplate, str]:
    """Return the template, and what messages call it. Raises AutoparserError."""
    if source.source is None and served.template is not None:
        return wings.ChatTemplate(served.template, dict(served.special_tokens)), SERVED
    named = source.source or served.template_place
    if named is None:
        raise AutoparserError(
            "the server does not say which template it serves", hint="name it after the address"
        )
    if source.source is None:
        print_note(f"the template is that of {named}, which the server says it serves")
    source = replace(source, source=named)
    found = source.template()
    tokens = {**served.special_tokens, **found.special_tokens}
    return replace(found, special_tokens=tokens), source.label


def _with_installed(
    probe_result: wings.ServerProbe, analysis: wings.Analysis, python: str | None
) -> wings.ServerProbe:
    """Add the best of the engine's own parsers, where a server offers none to ask for by name.

    Raises AutoparserError for a named Python that does not have the engine.
    """
    engine = probe_result.served.engine
    if probe_result.ok() or engine is not wings.ServerEngine.VLLM:
        return probe_result
    path = python or sys.executable
    if engine not in wings.engines_of(path):
        if python is None:
            return probe_result
        raise AutoparserError(f"has no {engine}", file=path, hint=f"name a Python of {engine}")
    with status_line("asking the engine's own parsers") as show_step:
        tried = wings.try_engines("", analysis, [(engine, path)], show_step)
    best = wings.InstalledParsers.of_ranking(tried.rankings[0])
    return replace(probe_result, installed=best)


def _write_result(
    probe_result: wings.ServerProbe,
    analysis: wings.Analysis,
    label: str,
    outlet: Outlet,
    *,
    as_json: bool,
) -> None:
    if as_json:
        outlet.json(wings.probe_document(probe_result, analysis.template))
    else:
        outlet.report(wings.probe_report(probe_result, label, outlet.width))
