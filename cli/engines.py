"""``autoparser engines``, ``probe`` and ``plugins``: the engines' reading of a template."""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import StrEnum
from functools import partial
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
    TokenizerOption,
    key_option,
)
from .output import print_note, status_line
from .request import SwitchOptions, warn_of_check, warn_of_switches
from .source import NamedSource, ServedSource

FINDINGS = 1
"""The exit code if no parser reads every text, a server reads one differently, or a plugin is
missing."""
NO_VERDICT = 2
"""The exit code of a probe that could not test anything."""


def engines(
    *,
    python: Annotated[
        list[str] | None,
        "PATH",
        "The bin/python of an environment with vLLM, SGLang or llama.cpp (the package"
        " xllamacpp). Can be repeated. [default: the one that runs this]",
    ] = None,
    tokenizer: TokenizerOption = None,
    source: NamedSource,
    result: ResultOptions,
    limits: Limits | None = None,
) -> int:
    """Rank the built-in parsers of vLLM, SGLang and llama.cpp.

    Answers "which --tool-call-parser do I pass?". The engines' own parsers parse turns that the
    template renders after its prompts, and adversarial ones, whole and streamed. The results are
    compared with the rendered messages: arguments as JSON, content and reasoning except for
    whitespace at the edges. No model or server is needed; an engine's code runs in its own Python,
    with the permissions of this process.

    Exit code: 0 if some parsers read every text, 1 if none do, 2 if there is no engine to ask.
    """
    result.check()
    source.check()

    # Look for engines first: without one, the analysis would be in vain.
    found = find_engines(python or [sys.executable], source.source)
    with status_line("analyzing") as show_step:
        analysis = source.analysis(source.template(tokenizer), isolate=limits)
        # Only the vocabulary is used, so any tokenizer of the model will do.
        held = source.tokenizer(tokenizer, analysis.template, segmenting=False)
        vocabulary = None if held is None else [*held.get_vocab(with_added_tokens=True)]
        tried = wings.try_engines(source.label, analysis, found, show_step, vocabulary)
    result.write(partial(wings.engines_document, tried), partial(wings.engines_report, tried))
    return 0 if tried.ok else FINDINGS


def find_engines(pythons: list[str], source: str | None = None) -> list[tuple[str, str]]:
    """Return the installed engines with their Pythons. Raises AutoparserError without any.

    `source` is the template as the command names it, if it names one.
    """
    found = [(engine, python) for python in pythons for engine in wings.installed_engines(python)]
    if not found:
        raise AutoparserError(
            f"no engine is installed in {', '.join(pythons)}",
            hint=f"name a Python that has {' or '.join(wings.ENGINES)}: --python PATH/bin/python;"
            " for the flags of this package's own parser:"
            f" autoparser analyze {wings.shell_word(source or 'TEMPLATE')} --show serve",
        )
    return found


SERVED = "the server's own"


class MethodName(StrEnum):
    """The ways to send a text to a server's parser."""

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
    switch_options: SwitchOptions,
    served_model: ServedModelOption = "",
    method: Annotated[
        MethodName | None,
        "Call the parser directly (given), force the output on the model (forced), or sample it"
        " (sampled). [default: the first of these that the server supports]",
    ] = None,
    no_ranking: Annotated[bool, "Test only the parsers that the server is set to use."] = False,
    python: Annotated[
        str | None,
        "PATH",
        "The bin/python of vLLM's environment: if the server misreads an output, the engine's"
        " parsers are ranked there. [default: the one that runs this]",
    ] = None,
    yes: Annotated[bool, "Allow a server that is not on this machine."] = False,
    api_key: Annotated[
        str,
        key_option("AUTOPARSER_API_KEY", "API key of the server."),
    ] = "",
    server_timeout: ServerTimeoutOption = 120.0,
    edges: Annotated[bool, "Also compare whitespace at the edges of each part."] = False,
    exit_zero: ExitZeroOption = False,
    result: ResultOptions,
    limits: Limits | None = None,
) -> int:
    """Check a running server's prompts and parsing against a template.

    First compares the server's prompts with the template's. Then the server's parser gets outputs
    with a known meaning, rendered by the template: reasoning, content and tool calls are compared
    (calls as JSON), and the stream with the whole answer. If the server has several parsers, all of
    them are ranked. Without TEMPLATE, uses the template that the server reports.

    Exit code: 0 if everything matches, 1 if something differs, 2 if there is no server to probe or
    no output could be tested.
    """
    result.check()
    settings = switch_options.values()

    # Refuse a remote server before the first request, which may carry a key.
    address = wings.checked_address(url, anywhere=yes)
    with wings.ProbeClient(address, timeout=server_timeout, key=api_key) as client:
        # The server first: without TEMPLATE, the one that it reports is analyzed.
        server = wings.server_at(client, served_model)
        template, label = _probed_template(server.served, source)
        warn_of_switches(label, template, settings)
        analysis = wings.analyze(template, isolate=limits or False)
        warn_of_check(label, analysis, "the texts may differ from a model's")
        found = wings.probe_server(
            server,
            analysis,
            url=address,
            settings=settings,
            rung=None if method is None else wings.TextRoute(method.value),
            ranked=not no_ranking,
        )
    found = _with_installed(found, analysis, python)
    result.write(
        partial(wings.probe_document, found, analysis.template),
        partial(wings.probe_report, found, label),
    )
    if exit_zero or found.ok(edges=edges):
        return 0
    return NO_VERDICT if found.untested else FINDINGS


def _probed_template(
    served: wings.ServedModel, source: NamedSource
) -> tuple[wings.ChatTemplate, str]:
    """Return the template with its name in messages. Raises AutoparserError."""
    if source.source is None and served.template is not None:
        return wings.ChatTemplate(served.template, dict(served.special_tokens)), SERVED
    named = source.source or served.template_place
    if named is None:
        raise AutoparserError(
            "the server does not report its template",
            hint="pass the template after the URL",
        )
    if source.source is None:
        print_note(f"comparing with the template of {named}, which the server says it serves")
    source = source.with_values(source=named)
    found = source.template()
    # The server's tokens only fill in those that the template's own files lack.
    tokens = {**served.special_tokens, **found.special_tokens}
    return replace(found, special_tokens=tokens), source.label


def _with_installed(
    probe_result: wings.ServerProbe, analysis: wings.Analysis, python: str | None
) -> wings.ServerProbe:
    """Add the best of the engine's own parsers, if the server does not offer them by name.

    Raises AutoparserError for a named Python that does not have the engine.
    """
    engine = probe_result.served.engine
    record = engine.record
    # A server with endpoints for its parsers was asked for each of them already.
    ranked_here = record.parser_flags is not None and not record.parser_endpoints
    # Another parser can only help if the server misreads a text.
    if probe_result.ok() or not probe_result.texts or not ranked_here:
        return probe_result
    path = python or sys.executable
    if record.package not in wings.installed_engines(path):
        # Unless a Python is named, the ranking is an extra, and may be left out.
        if python is None:
            return probe_result
        raise AutoparserError(
            f"this Python has no {engine}", file=path, hint=f"name a Python of {engine}"
        )
    with status_line("running the engine's own parsers") as show_step:
        tried = wings.try_engines("", analysis, [(record.package, path)], show_step)
    best = wings.InstalledParsers.of_ranking(tried.rankings[0])
    return replace(probe_result, installed=best)


def plugins(
    *,
    python: Annotated[
        str | None, "PATH", "Python of another environment, such as path/to/venv/bin/python."
    ] = None,
    no_import: Annotated[bool, "Look only at what is installed; import no engine."] = False,
    import_timeout: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0.1, help="Time limit for importing the engines."),
    ] = 300.0,
    result: ResultOptions,
) -> int:
    """Check that vLLM and SGLang can load this package's parser.

    Checks which engines are installed, whether the entry points are found, whether the parsers'
    names are registered once an engine has loaded its plugins, and whether llguidance has a version
    that all of them accept; shows how to fix each failed check.

    Exit code: 0 if nothing is missing, 1 if something is, 2 if the environment cannot be checked.
    """
    found = wings.plugin_check(python, imports=not no_import, timeout=import_timeout)
    result.write(partial(wings.plugins_document, found), partial(wings.plugins_report, found))
    return 0 if found.ok else FINDINGS
