"""The command ``autoparser``: its commands are put together here, and every error becomes a line.

Contract of the exit code: 0 done, 1 done with findings that the command is there to report,
2 an input that cannot be read or a use that makes no sense, in one line on standard error.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, cast

import typer

from autoparser.analysis.core.errors import AutoparserError, TemplateSyntaxError, one_line
from autoparser.analysis.core.spelling import suggest
from autoparser.analysis.loading.isolation import DEFAULT_LIMITS

from .analyze import analyze
from .compare import compare
from .debug import debug
from .decode import decode
from .engines import engines
from .export import export
from .fetch import fetch
from .fix import fix
from .grammar import grammar
from .isolation import in_worker, in_workers
from .learn import learn
from .lint import lint
from .output import be_printable, quiet_standard_output
from .parse import parse
from .plugins import plugins
from .probe import probe
from .render import render
from .report import report
from .roundtrip import roundtrip
from .rule import rule
from .serve import serve
from .survey import survey
from .version import installed_version
from .watch import watched

__all__ = ["app", "main", "run"]

BAD_INPUT = 2
INTERRUPTED = 130

app = typer.Typer(
    name="autoparser",
    # Plain help: no boxes, and quicker.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(watched()(in_worker()(analyze)))
app.command()(in_worker()(parse))
app.command()(in_worker()(grammar))
app.command()(in_worker()(export))
app.command()(in_worker()(learn))
app.command()(in_worker(seconds=300)(roundtrip))
app.command()(in_workers(decode))
app.command()(in_worker(seconds=DEFAULT_LIMITS.render_seconds, one_render=True)(render))
app.command()(in_workers(debug))
app.command()(fetch)
app.command()(in_workers(engines))
app.command()(in_workers(lint))
app.command()(in_workers(fix))
app.command()(rule)
app.command()(watched("tools", "tokenizer", to_file=True)(in_worker(seconds=300)(report)))
app.command()(in_worker(seconds=300)(compare))
app.command()(in_workers(survey))
app.command()(in_workers(serve))
app.command()(in_workers(probe))
app.command()(plugins)

_UsageError = cast("type[Exception]", typer.BadParameter.__mro__[1])
"""The base of all complaints about the use. Typer brings its own click, and of its errors
exports but this one and two that are none."""


def _print_version(wanted: bool) -> None:
    if wanted:
        # Imported here since most runs do without, and it is slow to import.
        typer.echo(f"autoparser {installed_version()}")
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
    be_printable()
    command = typer.main.get_command(app)
    try:
        code: object = command.main([*arguments], prog_name="autoparser", standalone_mode=False)
    except AutoparserError as error:
        excerpt = error.excerpt if isinstance(error, TemplateSyntaxError) else ""
        return _complain(str(error), excerpt)
    except typer.Abort:
        return INTERRUPTED
    except BrokenPipeError:
        quiet_standard_output()
        return 0
    except _UsageError as error:
        return _complain(_usage(error))
    except BaseException as error:
        # The tokenizers library panics on what it did not expect; no class of it is exported.
        if type(error).__name__ != "PanicException":
            raise
        return _complain(f"the tokenizer failed on a text: {one_line(str(error))}")
    return code if isinstance(code, int) else 0


def _complain(line: str, excerpt: str = "") -> int:
    typer.echo(line, err=True)
    if excerpt:
        typer.echo(excerpt, err=True)
    return BAD_INPUT


def _usage(error: BaseException) -> str:
    context: object = getattr(error, "ctx", None)
    path: str = getattr(context, "command_path", "autoparser")
    say: Callable[[], str] = getattr(error, "format_message", error.__str__)
    words = one_line(say().replace("Value error, ", "", 1)).rstrip(".")
    before, _, after = words.partition(_CHOICES)
    given, known = _QUOTED.findall(before), _QUOTED.findall(after)
    meant = suggest(given[-1], known) if given and known else ""
    return f"{path}: {'; '.join(filter(None, (words, meant)))}; see '{path} --help'"


_CHOICES, _QUOTED = "is not one of", re.compile(r"'([^']*)'")
"""By these words typer says which values there are: it exports no class of such an error."""


def main() -> None:
    """Run the command line."""
    sys.exit(run(sys.argv[1:]))
