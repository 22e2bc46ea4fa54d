"""The command ``autoparser``: its commands are put together here."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["app", "main"]

app = typer.Typer(name="autoparser", no_args_is_help=True, add_completion=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        # Imported here since most runs do without, and it is slow to import.
        from importlib.metadata import version

        typer.echo(f"autoparser {version('autoparser')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def autoparser(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and leave."
        ),
    ] = False,
) -> None:
    """Find out how a chat template writes what a model says."""


def main() -> None:
    """Run the command line."""
    app()
