"""The command ``autoparser``: its commands, loaded on use; every error becomes a line.

Contract of the exit code: 0 done, 1 done with findings that the command reports, 2 unreadable
input, contradictory use, or a fault of this program, whose traceback is in a file: one line on
standard error. Listing the commands or completing their names imports none of them; a run imports
its own.

Typer converts values by pydantic, with an adapter for each option, used or not; importing pydantic
alone takes longer than importing typer. Here a value that already has its type, a path or the name
of a choice is converted directly, with typer's result. All other values, and every complaint, are
left to typer. For example, `autoparser parse x --reasoning inlne` exits with 2 and the line

    autoparser parse: Invalid value for '--reasoning': 'inlne' is not one of 'separate', 'inline',
    'raw'; did you mean inline?; see 'autoparser parse --help'
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from autoparser import __version__
from autoparser.analysis.core.error_words import (
    one_line,
    spelling_hint,
)
from autoparser.analysis.core.errors import (
    FULL,
    AutoparserError,
    TemplateSyntaxError,
    fault_error,
    fault_keeper,
)
from autoparser.lazy_names import lazy_pattern

from .output import (
    escape_unprintable,
    guarded_files,
    hold_library_messages,
    open_missing_streams,
    quiet_standard_output,
)

if TYPE_CHECKING:
    from .options import Command


class _NoPlainValue(Exception):
    """Raised for values that typer has to convert."""


_WITHOUT_JSON = {
    "debug": (
        ": it draws on a terminal",
        "autoparser render TEMPLATE --trace --json writes the steps of a render",
    ),
    "report": (
        ": it writes a page",
        "use analyze --json for the format, lint --json for the findings, roundtrip --json for the"
        " round trips",
    ),
    "serve": (
        ": it runs until it is stopped, and answers requests in JSON",
        "leave out --json; its URL is on standard output unless that is a terminal",
    ),
}
"""Why a command has no JSON, and the way out."""


class PlainValueCommand(TyperCommand):
    """A command that takes plain values without typer's conversion."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, and the option for help."""
        return _with_plain_values(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the options, with ruff's `--output-format` as another name of `--format`."""
        known = {name for param in self.params for name in param.opts}
        # Typer would report an unknown option, without a hint.
        if "--json" in args and "--json" not in known:
            why, hint = _WITHOUT_JSON.get(str(self.name), ("", "leave out --json"))
            raise AutoparserError(f"autoparser {self.name} has no JSON output{why}", hint=hint)
        if "--format" in known:
            named = (word.partition("=") for word in args)
            args = [
                "".join(("--format", *value) if name == "--output-format" else (name, *value))
                for name, *value in named
            ]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command, without overwriting any file that it reads."""
        with guarded_files(ctx.params):
            return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write an example, and the options."""
        with formatter.section("Example"):
            formatter.write_text(f"autoparser {EXAMPLES[str(self.name)]}")
        super().format_options(ctx, formatter)


def _with_plain_values(parameters: Sequence[Any]) -> list[Any]:
    for parameter in parameters:
        # Typer's private hook, for the time that it saves: `rule AP301` takes 0.46 s of processor
        # time with it and 0.58 s without, `import typer` 0.19 s (best of 7; 2 cores, no GPU, busy).
        # Before pydantic, typer had no such hook and did not convert defaults.
        usual = getattr(parameter, "get_runtime_param", None)
        if usual is not None and not isinstance(usual, _PlainConversion):
            parameter.__dict__["get_runtime_param"] = _PlainConversion(usual)
    return [*parameters]


class _PlainConversion:
    """The conversion of the values of one parameter."""

    def __init__(self, usual: Callable[[], Any]) -> None:
        self._usual = usual

    def __call__(self) -> _PlainConversion:
        """Return this: typer obtains the conversion by a call."""
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return a value as the command takes it. Raises typer's errors."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        try:
            return _plain_value(value, param.type_descriptor, several=several)
        except _NoPlainValue:
            return self._usual().coerce(value, param=param, ctx=ctx)


def _plain_value(value: object, descriptor: Any, *, several: bool) -> object:
    kind, option_info = descriptor.annotation, descriptor.parameter_info
    if option_info.parser is not None:
        raise _NoPlainValue
    if not several:
        return _single_value(value, kind, option_info)
    if get_origin(kind) is not list or not isinstance(value, (list, tuple)):
        raise _NoPlainValue
    (inner,) = get_args(kind)
    return [_single_value(item, inner, option_info) for item in cast("Sequence[object]", value)]


def _single_value(value: object, kind: Any, option_info: Any) -> object:
    if isinstance(kind, type) and type(value) is kind and issubclass(kind, (str, Path)):
        found: object = value
    elif kind is Path and isinstance(value, str):
        found = Path(value)
    elif isinstance(kind, type) and issubclass(kind, StrEnum) and value in [*kind]:
        found = kind(cast("str", value))
    else:
        raise _NoPlainValue
    if isinstance(found, Path) and (
        any(getattr(option_info, name, None) for name in _PATH_WISHES) or not _is_readable(found)
    ):
        raise _NoPlainValue
    return found


_PATH_WISHES = frozenset({"exists", "writable", "resolve_path", "allow_dash", "path_type"})
"""Settings of path options that need typer's conversion."""


def _is_readable(path: Path) -> bool:
    try:
        path.stat()
    except OSError:
        # The file does not exist; whatever reads it reports that.
        return True
    # A path with a null character.
    except ValueError:
        return False
    # Typer refuses an unreadable path, so its complaint has to be made by typer.
    return os.access(path, os.R_OK)


GROUPS = {
    "Get started": {
        "demo": "Write a demo template, tools and output to try the commands on.",
        "fetch": "Download a model's chat template and tokenizer from the Hub.",
    },
    "Look at a template": {
        "analyze": "Show how a chat template writes turns, reasoning and tool calls.",
        "render": "Render messages as transformers does, also with loss masks.",
        "debug": "Step through a render: which line of the template wrote what.",
        "compare": "Compare the renders of two templates, or of the revisions of one.",
        "report": "Write an HTML page about a chat template.",
        "survey": "Summarize a directory of chat templates.",
    },
    "Parse and learn": {
        "parse": "Parse a model's output into reasoning, content and tool calls.",
        "learn": "Learn from outputs the parts of a format that no render shows.",
        "export": "Export the format as a response_template for transformers.",
    },
    "Constrain": {
        "grammar": "Write a grammar for constrained decoding: GBNF, Lark or EBNF.",
        "decode": "Sample under the grammar and verify every output.",
    },
    "Check": {
        "lint": "Find bugs that lose tool calls, miss the cache or harm training.",
        "fix": "Fix what lint finds, with edits verified by rendering.",
        "rule": "Explain a lint rule, or list all of them.",
        "roundtrip": "Check that sampled turns re-render exactly (prefix-cache safe).",
    },
    "Serve": {
        "engines": "Rank the built-in parsers of vLLM, SGLang and llama.cpp.",
        "probe": "Check a running server's prompts and parsing against a template.",
        "plugins": "Check that vLLM and SGLang can load this package's parser.",
        "serve": "Serve an OpenAI-compatible chat API over a completion server.",
    },
}
"""Every command by its group, in the order of the help; each is a function of the same name."""

SUMMARIES = {name: words for group in GROUPS.values() for name, words in group.items()}

DEMO = "autoparser-demo"
"""The folder that `autoparser demo` writes by default."""
EXAMPLES = {
    "demo": "demo",
    "fetch": "fetch Qwen/Qwen3-8B",
    "analyze": f"analyze {DEMO}",
    "render": f"render {DEMO} --messages {DEMO}/messages.yaml",
    "debug": f"debug {DEMO}",
    "compare": "compare before.jinja after.jinja",
    "report": f"report {DEMO} -o report.html",
    "survey": f"survey {DEMO} --lint",
    "parse": f"parse {DEMO} --input {DEMO}/output.txt",
    "learn": f"learn {DEMO} --outputs log.jsonl --tools tools.yaml",
    "export": f"export {DEMO} -o response_template.json",
    "grammar": f"grammar {DEMO} --tools {DEMO}/tools.yaml",
    "decode": f"decode {DEMO} --tools {DEMO}/tools.yaml",
    "lint": f"lint {DEMO}",
    "fix": f"fix {DEMO} --write",
    "rule": "rule AP301",
    "roundtrip": f"roundtrip {DEMO} --fail-on any",
    "engines": "engines Qwen/Qwen3-8B --python venv/bin/python",
    "probe": "probe http://127.0.0.1:8000 Qwen/Qwen3-8B",
    "plugins": "plugins",
    "serve": "serve Qwen/Qwen3-8B --server http://127.0.0.1:8000 --engine vllm",
}
"""An example for the help of each command; `autoparser demo` writes the folder."""

HOMES = {
    "demo": "model_files",
    "fetch": "model_files",
    "fix": "lint",
    "probe": "engines",
    "plugins": "engines",
}
"""Modules of commands that do not have a module of the same name."""


def _work_wrapper(name: str) -> Callable[[Command], Command]:
    """Return the decorator that adds options to a command, and runs its work in a worker."""
    if name in WORKERLESS:
        from .options import with_groups

        return with_groups
    from autoparser.analysis.templates.worker_limits import DEFAULT_LIMITS

    from .command_runs import in_worker, in_workers, with_watch

    match name:
        case "analyze":
            # The watch is the outer wrapper: each of its runs gets a new worker.
            return lambda command: with_watch()(in_worker()(command))
        case "parse":
            # A saved format runs no code, so parsing by one needs no worker.
            from .source import names_saved_format

            return in_worker(harmless=names_saved_format)
        case "grammar" | "export" | "learn":
            return in_worker()
        # These render many times more: two templates, or scenarios under every setting.
        case "roundtrip" | "compare":
            return in_worker(seconds=300)
        case "report":
            watch = with_watch("tools", "tokenizer", to_file=True)
            return lambda command: watch(in_worker(seconds=300)(command))
        # One render, so the time of the command is the time of a render.
        case "render":
            return in_worker(seconds=DEFAULT_LIMITS.render_seconds, one_render=True)
        case _:
            return in_workers


WORKERLESS = frozenset({"demo", "fetch", "rule", "plugins"})
"""Commands that run no foreign code."""


class LazyCommands(Mapping[str, Any]):
    """The commands by name, each loaded on first use.

    They are click's, of which typer brings its own and exports no class.
    """

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in SUMMARIES:
            raise KeyError(name)
        if name not in self._loaded:
            home = import_module(f".{HOMES.get(name, name)}", __package__)
            command = getattr(home, name)
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            # Imported here, since the list of commands does without the options.
            from .options import with_verbosity

            verbose = with_verbosity(_work_wrapper(name)(command))
            alone.command(name, cls=PlainValueCommand)(verbose)
            self._loaded[name] = typer.main.get_command(alone)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(SUMMARIES)

    def __len__(self) -> int:
        return len(SUMMARIES)


class CommandGroup(TyperGroup):
    """The command ``autoparser``, which loads a command when it is run."""

    def __init__(self, **settings: Any) -> None:
        """Store typer's settings; the commands are loaded on use."""
        super().__init__(**settings)
        self.commands: Any = LazyCommands()

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, and the option for help."""
        return _with_plain_values(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of the help."""
        del ctx
        return [*SUMMARIES]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the help's line on each command."""
        del ctx
        longest = max(map(len, SUMMARIES))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                # Click aligns each section by itself; equal lengths align all of them.
                formatter.write_dl([(name.ljust(longest), commands[name]) for name in commands])


BAD_INPUT = 2
"""The exit code of every error."""
INTERRUPTED = 130
"""A shell's exit code of a program that Ctrl-C ended: 128 plus SIGINT's number."""
CLOSED_PIPE = 141
"""A shell's exit code of a program whose reader has closed the pipe: 128 plus SIGPIPE's number."""


app = typer.Typer(
    name="autoparser",
    cls=CommandGroup,
    # Plain help without boxes, which is faster.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_UsageError = cast("type[Exception]", typer.BadParameter.__mro__[1])
"""The base of all usage errors. Typer bundles its own click, and exports only this error and two
that are not usage errors."""


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
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Derive parsers, grammars and checks from a chat template, with no per-model code.

    Start with 'autoparser demo' and 'autoparser analyze autoparser-demo'. 'autoparser COMMAND
    --help' has an example of each command.

    Why a call was lost: 'autoparser parse TEMPLATE -i OUTPUT --explain'. Which commit broke a
    template: 'autoparser compare --history FILE'.
    """
    del version
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code; every error becomes a line and a code."""
    escape_unprintable()
    keeper = fault_keeper.set(_keep_fault)
    # Commands print the warnings of the Python API themselves, with the file they are about.
    warnings.filterwarnings("ignore", category=UserWarning, module="autoparser")
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except MemoryError:
        return _print_error("out of memory; free some, or reduce the input")
    except BaseException as fault:  # noqa: BLE001 - with exit code 1 it would pass for a finding
        return _print_error(str(fault_error(fault, None)))
    finally:
        fault_keeper.reset(keeper)


def _keep_fault(fault: BaseException) -> Path | None:
    # Imported lazily: only a fault needs it.
    from autoparser.analysis.sources.written_files import write_fault

    return write_fault(fault)


def _run(arguments: Sequence[str]) -> int:
    command = typer.main.get_command(app)
    try:
        # Otherwise click prints errors in its own words, and exits with its own codes.
        code: object = command.main([*arguments], prog_name="autoparser", standalone_mode=False)
        # Flush here: at interpreter exit, a failure to write could no longer be reported.
        sys.stdout.flush()
    except AutoparserError as error:
        excerpt = error.excerpt if isinstance(error, TemplateSyntaxError) else ""
        return _print_error(str(error), excerpt)
    except typer.Abort:
        return INTERRUPTED
    except BrokenPipeError:
        return _end_unread()
    except SystemExit as end:
        # Click exits like this if the reader has gone, and after a shell's completion request.
        return _end_unread() if isinstance(end.__context__, OSError) else int(end.code or 0)
    except OSError as error:
        if error.errno not in FULL:
            raise
        quiet_standard_output()
        way_out = "make room there, or name a file with --output"
        return _print_error(f"standard output: cannot be written ({error.strerror}); {way_out}")
    except _UsageError as error:
        return _print_error(_usage_line(error))
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
    # Pydantic puts "Value error, " before the words of a validator.
    words = one_line(say().replace("Value error, ", "", 1)).rstrip(".")
    before, _, after = words.partition(_CHOICES)
    given, known = _QUOTED.findall(before), _QUOTED.findall(after)
    meant = spelling_hint(given[-1], known) if given and known else ""
    return f"{path}: {'; '.join(filter(None, (words, meant)))}; see '{path} --help'"


_CHOICES, _QUOTED = "is not one of", lazy_pattern(r"'([^']*)'")
"""Typer's words before the values of a choice: it exports no class of such an error."""


def main() -> None:
    """Run the command line."""
    open_missing_streams()
    # The log of a server is read by its operator, who wants to see all of it.
    if sys.argv[1:2] != ["serve"]:
        hold_library_messages()
    _leave(run(sys.argv[1:]))


def _leave(code: int) -> None:
    """Exit, without taking down the interpreter where nothing needs that.

    Taking down each module is a tenth of the instructions of a short command. mypy leaves in the
    same way.
    """
    if threading.active_count() == 1:
        # No public function runs the exit handlers early.
        atexit._run_exitfuncs()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        for stream in (sys.stdout, sys.stderr):
            # The command's own output is flushed already, with errors reported.
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    # Threads at work are waited for by the interpreter alone.
    sys.exit(code)
