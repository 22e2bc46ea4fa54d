"""``autoparser demo`` and ``fetch``: directories that every command accepts as a model."""

from __future__ import annotations

from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from autoparser.analysis.core.errors import AutoparserError

from . import wings
from .options import PrintedOptions, RevisionOption
from .output import write_file

DIRECTORY = Path("autoparser-demo")
FILES = ("chat_template.jinja", "tools.yaml", "output.txt", "messages.yaml")
"""The demo's files, in the order in which `demo_report` takes them."""


def demo(
    *,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DIR", help="Directory for the files."),
    ] = DIRECTORY,
    result: PrintedOptions,
) -> None:
    """Write a demo template, tools and output to try the commands on.

    No model writes as this template does, so nothing can know its format in advance. Files that
    exist and differ are left alone, and that is an error.

    Exit code: 0 if the files are there, 2 if not.
    """
    result.check()
    # As resources of the package, which need not be files of a folder.
    shipped = files("autoparser.cli") / "demo_files"
    texts = {output / name: (shipped / name).read_text(encoding="utf-8") for name in FILES}
    # Check all files before writing any.
    for path, text in texts.items():
        if path.exists() and (path.is_dir() or wings.read_path(path, noted=False) != text.encode()):
            raise AutoparserError(
                "this file already exists and differs",
                file=str(path),
                hint="name a new directory with -o DIR",
            )
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AutoparserError(
            f"cannot be created ({error.strerror or type(error).__name__})",
            file=str(output),
            hint="name another directory with -o DIR",
        ) from None
    for path, text in texts.items():
        write_file(path, text)
    names = [str(path) for path in texts]
    result.write(lambda: {"files": [*names]}, lambda _: wings.demo_report(names))


def fetch(
    *,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="Model on the Hub: org/name, org/name/file.gguf, org/name:Q4_K_M, or its URL.",
            show_default=False,
        ),
    ],
    revision: RevisionOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Also write the files to this new directory."
        ),
    ] = None,
    result: PrintedOptions,
) -> None:
    """Download a model's chat template and tokenizer from the Hub.

    Downloads chat templates, special tokens and tokenizers, but no weights, to the Hub's cache,
    where every command finds them without a network. Prints the commit, and the files with their
    sizes. With -o, also writes a model directory, which every command takes.

    Exit code: 0 if the files are in the cache, 2 if not.
    """
    result.check()
    # No worker: nothing that is fetched is run.
    found = wings.fetch(model, revision=revision, to=output)
    folder = None if output is None else str(output)
    result.write(partial(wings.document_json, found), lambda _: wings.fetch_report(found, folder))
