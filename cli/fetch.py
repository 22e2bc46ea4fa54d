"""``autoparser fetch``: a model's templates and tokenizer from the Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import wings
from .options import PrintedOptions, RevisionOption
from .output import open_outlet


def fetch(
    *,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A model on the Hub: org/name, org/name/file.gguf, org/name:Q4_K_M, or its URL.",
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
    result: PrintedOptions,
) -> None:
    """Fetch what a model has of chat templates, special tokens and tokenizers, and no weights.

    The files come into the Hub's cache, where every command finds them without a network. Prints
    the commit, and the files with their sizes. What -o writes is a model directory, which every
    command takes.

    Exit code: 0 if it is there, 2 if not.
    """
    as_json = result.is_json
    found = wings.fetch(model, revision=revision, to=output)
    with open_outlet(None) as outlet:
        if as_json:
            outlet.json(wings.fetched_document(found))
        else:
            outlet.report(wings.fetch_report(found, None if output is None else str(output)))
