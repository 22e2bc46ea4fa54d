"""The command ``autoparser``: what it says of itself; every error becomes a line.

Contract of the exit code: 0 done, 1 done with findings that the command is there to report,
2 an input that cannot be read or a use that makes no sense, in one line on standard error.
"""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, cast

import typer

from autoparser import __version__
from autoparser.analysis.core.errors import (
    AutoparserError,
    TemplateSyntaxError,
    one_line,
    spelling_hint,
)

from .commands import CommandGroup
from .output import FULL, escape_unprintable, quiet_standard_output

BAD_INPUT = 2
INTERRUPTED = 130
CLOSED_PIPE = 141
"""The exit code in shells of a program whose reader has gone: 128 and the number of SIGPIPE."""

RARELY = 50_000
"""New objects after which the cycle collector looks; by default 700, hundreds of times a start."""


app = typer.Typer(
    name="autoparser",
    cls=CommandGroup,
    # Plain help: no boxes, and quicker.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_UsageError = cast("type[Exception]", typer.BadParameter.__mro__[1])
"""The base of all complaints about the use. Typer brings its own click, and of its errors
exports but this one and two that are none."""


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"autoparser {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def autoparser(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and leave."
        ),
    ] = False,
) -> None:
    """Find out how a chat template writes what a model says."""
    del version
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(arguments: Sequence[str]) -> int:
    """Run the command line and give its exit code."""
    escape_unprintable()
    command = typer.main.get_command(app)
    try:
        code: object = command.main([*arguments], prog_name="autoparser", standalone_mode=False)
        # At the end of the process nobody would be left to tell it.
        sys.stdout.flush()
    except AutoparserError as error:
        excerpt = error.excerpt if isinstance(error, TemplateSyntaxError) else ""
        return _print_error(str(error), excerpt)
    except typer.Abort:
        return INTERRUPTED
    except BrokenPipeError:
        return _end_unread()
    except SystemExit as end:
        # Click leaves so when the reader has gone, and when it has told a shell how to complete.
        return _end_unread() if isinstance(end.__context__, OSError) else int(end.code or 0)
    except OSError as error:
        if error.errno not in FULL:
            raise
        quiet_standard_output()
        way_out = "make room there, or name a file with --output"
        return _print_error(f"standard output: cannot be written ({error.strerror}); {way_out}")
    except _UsageError as error:
        return _print_error(_usage_line(error))
    except BaseException as error:
        # The tokenizers library panics on what it did not expect; no class of it is exported.
        if type(error).__name__ != "PanicException":
            raise
        return _print_error(f"the tokenizer failed on a text: {one_line(str(error))}")
    return code if isinstance(code, int) else 0


def _end_unread() -> int:
    quiet_standard_output()
    return CLOSED_PIPE


def _print_error(line: str, excerpt: str = "") -> int:
    typer.echo(line, err=True)
    if excerpt:
        typer.echo(excerpt, err=True)
    return BAD_INPUT


def _usage_line(error: BaseException) -> str:
    context: object = getattr(error, "ctx", None)
    path: str = getattr(context, "command_path", "autoparser")
    say: Callable[[], str] = getattr(error, "format_message", error.__str__)
    words = one_line(say().replace("Value error, ", "", 1)).rstrip(".")
    before, _, after = words.partition(_CHOICES)
    given, known = _QUOTED.findall(before), _QUOTED.findall(after)
    meant = spelling_hint(given[-1], known) if given and known else ""
    return f"{path}: {'; '.join(filter(None, (words, meant)))}; see '{path} --help'"


_CHOICES, _QUOTED = "is not one of", re.compile(r"'([^']*)'")
"""By these words typer says which values there are: it exports no class of such an error."""


def main() -> None:
    """Run the command line."""
    # A start makes much that stays, and no garbage worth looking for.
    gc.set_threshold(RARELY)
    sys.exit(run(sys.argv[1:]))
