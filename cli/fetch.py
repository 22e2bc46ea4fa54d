"""``autoparser fetch``: a model's templates and tokenizer from the Hub."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from .output import print_report
from .source import RevisionOption

__all__ = ["fetch"]


def fetch(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A model on the Hub: org/name, org/name/file.gguf or org/name:Q4_K_M.",
            show_default=False,
        ),
    ],
    revision: RevisionOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Write the files to this new directory, too."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Fetch what a model has of chat templates, special tokens and tokenizers, and no weights.

    The files come into the Hub's cache, where every command finds them without a network. Prints
    the commit, and the files with their sizes. What -o writes is a model directory, which every
    command takes.

    Exit code: 0 if it is there, 2 if not.
    """
    from autoparser.analysis.document import source_document
    from autoparser.analysis.fetching import fetch as fetched
    from autoparser.reports import fetch_report

    found = fetched(model, revision=revision, to=output)
    if as_json:
        # ASCII alone: no reader and no terminal takes it for anything else.
        document = {"source": source_document(found.source), "files": dict(found.files)}
        typer.echo(json.dumps(document, indent=2))
    else:
        print_report(fetch_report(found, None if output is None else str(output)))
