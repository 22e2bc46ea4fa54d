"""The options that several commands share, and how commands take them in groups.

Contract: an option that more than one command takes is defined here (the limits of workers in
`command_runs.py`), and no command gives it another meaning. ``--format`` chooses a form, ``-o``
writes the result to a file, ``--jobs`` counts processes. ``--json`` is short for ``--format json``,
wherever there is this form.

A group is an `OptionGroup` whose fields are options, such as `ResultOptions`. A command takes it as
one parameter. `flat_parameters` puts its options in that parameter's place, for typer;
`grouped_values` makes the group of their values again, for the command:

    def engines(python: PythonOption = None, *, result: ResultOptions) -> int: ...
    # autoparser engines [--python PATH] [--format FORM] [--json] [--output FILE]

An option is `Annotated[kind, "its help"]` or `Annotated[kind, "METAVAR", "its help"]`, named as its
parameter; `complete_from` before the help gives a shell its values. One that is more, such as a
short name or bounds, has a `typer.Option`.
"""

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import (
    Annotated,
    Any,
    NamedTuple,
    Self,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import typer

from autoparser import __version__
from autoparser.analysis.core.error_words import spelling_hint
from autoparser.analysis.core.errors import AutoparserError

from . import wings
from .output import is_quiet, open_outlet, print_note

Command = Callable[..., Any]

Form = TypeVar("Form", bound=StrEnum)


# Every command has several, and `dataclass` would take longer than typer does to read the options.
@dataclass_transform(kw_only_default=True)
class OptionGroup:
    """Values of options by name; missing ones have the default of the class."""

    def __init__(self, **values: object) -> None:
        self.__dict__.update(values)

    def with_values(self, **values: object) -> Self:
        """Return a copy in which some values differ."""
        return type(self)(**{**vars(self), **values})


class LeftOut(frozenset[str]):
    """The options of a group that a command does not have."""


def leave_out(*names: str) -> LeftOut:
    """Return the annotation of a group from which a command omits some options."""
    return LeftOut(names)


def help_order(names: str) -> Callable[[Command], Command]:
    """Put these options first in the help of a command, in this order.

    Commands need it if options of their own belong between those of a group.
    """

    def mark(command: Command) -> Command:
        command.__dict__["help_order"] = {name: place for place, name in enumerate(names.split())}
        return command

    return mark


class OptionRule(NamedTuple):
    """One option that needs another or excludes it, each as it is written on the command line."""

    option: str
    """The option, or several of which any counts, e.g. `--explain or --show-evidence`; with a
    value, e.g. `--format issue`, only that one counts."""
    other: str
    """The other one, written alike, e.g. `--stream`."""
    needed: bool
    """Whether the other is needed and not excluded, e.g. True for `--chunk` and `--stream`."""
    words: str
    """The message of the error, e.g. `--chunk needs --stream`."""
    hint: str
    """The way out, e.g. `add --stream`."""

    def check(self, values: Mapping[str, Any]) -> None:
        """Raise AutoparserError if the values of a command's options break the rule."""
        if _is_given(self.option, values) and _is_given(self.other, values) is not self.needed:
            raise self.error

    @property
    def error(self) -> AutoparserError:
        """Return the error of a command that breaks the rule."""
        return AutoparserError(self.words, hint=self.hint)


def needs(option: str, other: str, value: str = "") -> OptionRule:
    """Return the rule that an option needs another one; `value` is what that takes."""
    return OptionRule(
        option, other, True, f"{option} needs {other}", f"add {other} {value}".rstrip()
    )


def excludes(option: str, other: str, hint: str = "leave one of them out") -> OptionRule:
    """Return the rule that two options contradict each other."""
    return OptionRule(option, other, False, f"{option} cannot be combined with {other}", hint)


def option_rules(*rules: OptionRule) -> Callable[[Command], Command]:
    """Declare which options of a command need or exclude others, in the order of the checks."""

    def mark(command: Command) -> Command:
        command.__dict__["option_rules"] = rules
        return command

    return mark


def _is_given(options: str, values: Mapping[str, Any]) -> bool:
    """Return whether any of these options is given, with its value if it is written with one."""
    for option in options.split(" or "):
        # `--json` is short for `--format json`.
        name, _, wanted = ("--format json" if option == "--json" else option).partition(" ")
        parameter = "form" if name == "--format" else name.lstrip("-").replace("-", "_")
        given = "json" if name == "--format" and values["as_json"] else values[parameter]
        if given == wanted if wanted else given not in (None, False, [], ()):
            return True
    return False


def flat_parameters(command: Command) -> list[inspect.Parameter]:
    """Return the options of a command and of its groups, in the order of its help."""
    found: list[inspect.Parameter] = []
    for parameter in _command_signature(command).parameters.values():
        group = _group_class(parameter)
        # `command_runs.py` adds the options for the limits and makes this argument of them.
        if parameter.name == LIMITS:
            continue
        if group is None:
            kind = parameter.annotation
            found.append(option_parameter(parameter.name, kind, default=parameter.default))
            continue
        # The help and the metavar are in the annotations, which are dropped without
        # `include_extras`.
        types = get_type_hints(group, include_extras=True)
        found += [
            option_parameter(name, kind, default=getattr(group, name))
            for name, kind in types.items()
            if name not in _omitted_options(parameter)
        ]
    order: Mapping[str, int] = getattr(command, "help_order", {})
    # The sort is stable: options without a place keep their order after the others.
    return sorted(found, key=lambda parameter: order.get(parameter.name, len(order)))


LIMITS = "limits"
"""The parameter for the limits of workers; it is not an option itself."""


def option_parameter(name: str, kind: Any, *, default: object = None) -> inspect.Parameter:
    """Return the parameter of an option; `Annotated[kind, metavar, help]` is short for typer's."""
    plain, *details = get_args(kind) if get_origin(kind) is Annotated else (kind,)
    # Only the short form ends with the text of the help; an option of typer's stays as it is.
    if details and isinstance(details[-1], str):
        # Before the help may stand the metavar, a text, and a function that completes values.
        *given, text = details
        metavar = [word for word in given if isinstance(word, str)]
        option = typer.Option(
            # Without an explicit name, typer makes two options of a flag, --name and --no-name.
            *([f"--{name.replace('_', '-')}"] if plain is bool else []),
            metavar=metavar[0] if metavar else None,
            help=text,
            show_default="[default:" not in text,
            autocompletion=next(filter(callable, given), None),
        )
        kind = Annotated[plain, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def complete_from(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return the completion of a value, or of the last of several that commas separate."""

    def complete(incomplete: str) -> list[str]:
        # Only the last of several names is being typed.
        before, comma, last = incomplete.rpartition(",")
        known = (name for name in names() if name.lower().startswith(last.lower()))
        return [f"{before}{comma}{name}" for name in known]

    return complete


def _rule_names() -> Iterator[str]:
    for rule in wings.all_rules():
        yield rule.code
        yield rule.name


complete_rules = complete_from(_rule_names)


def grouped_values(command: Command, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a command from the values of all its options.

    Raises AutoparserError for options that contradict each other.
    """
    rules: Sequence[OptionRule] = getattr(command, "option_rules", ())
    for rule in rules:
        rule.check(values)
    found: dict[str, Any] = {}
    for parameter in _command_signature(command).parameters.values():
        group = _group_class(parameter)
        if group is not None:
            # Only the names are needed, so the annotations, which are strings, are not evaluated.
            annotated: Iterator[Iterable[str]] = (
                vars(base).get("__annotations__", ()) for base in group.__mro__
            )
            names = {*chain.from_iterable(annotated)} - _omitted_options(parameter)
            found[parameter.name] = group(**{name: values[name] for name in names})
        elif parameter.name in values:
            found[parameter.name] = values[parameter.name]
    return found


def add_options(
    command: Command, added: Sequence[inspect.Parameter], run: Callable[..., object]
) -> Command:
    """Return a command with more options.

    `run` gets the values of the command's own options by name, and those of the added ones.
    """
    parameters = [*flat_parameters(command), *added]

    @functools.wraps(command)
    def command_with_options(**values: Any) -> object:
        more = [values.pop(parameter.name) for parameter in added]
        return run(values, *more)

    command_with_options.__dict__["__signature__"] = _command_signature(command).replace(
        parameters=parameters
    )
    # Typer reads both the signature and the annotations.
    command_with_options.__annotations__ = {
        parameter.name: parameter.annotation for parameter in parameters
    }
    del command_with_options.__dict__["__wrapped__"]
    return command_with_options


def with_groups(command: Command) -> Command:
    """Return a command that takes the options of its groups one by one."""

    def run(values: dict[str, Any]) -> object:
        return command(**grouped_values(command, values))

    return add_options(command, (), run)


@functools.cache
def _command_signature(command: Command) -> inspect.Signature:
    # Postponed annotations are strings until they are evaluated.
    return inspect.signature(command, eval_str=True)


def _group_class(parameter: inspect.Parameter) -> type[OptionGroup] | None:
    """Return the class of a parameter that is a group, or None."""
    kind = parameter.annotation
    if get_origin(kind) is Annotated:
        # E.g. `Annotated[NamedSource, leave_out("encoder")]`.
        kind = get_args(kind)[0]
    return kind if isinstance(kind, type) and issubclass(kind, OptionGroup) else None


def _omitted_options(parameter: inspect.Parameter) -> frozenset[str]:
    marks = get_args(parameter.annotation)
    return next((mark for mark in marks if isinstance(mark, LeftOut)), LeftOut())


_QUIET = option_parameter(
    "quiet",
    Annotated[
        bool, typer.Option("--quiet", "-q", help="Suppress notes and warnings on standard error.")
    ],
    default=False,
)
_VERBOSE = option_parameter(
    "verbose",
    Annotated[
        bool,
        typer.Option(
            "--verbose",
            "-v",
            help="Print the time taken, and the traceback of an internal error, to standard error.",
        ),
    ],
    default=False,
)


def with_verbosity(command: Command) -> Command:
    """Add `--quiet` and `--verbose` to a command, unless it has a `--quiet` of its own."""
    # The one of `lint` leaves out more: notes and the summary on standard output, too.
    own = any(parameter.name == _QUIET.name for parameter in flat_parameters(command))

    def run(values: dict[str, Any], verbose: bool, quiet: bool = False) -> object:
        # The command's own `--quiet` is among its values.
        if verbose and (quiet or values.get("quiet")):
            raise excludes("--quiet", "--verbose").error
        before, begun = is_quiet.set(quiet), monotonic()
        try:
            return command(**values)
        except Exception as fault:
            # An error of the user's is one line, and its traceback would help nobody.
            if verbose and not isinstance(fault, AutoparserError):
                traceback.print_exc()
            raise
        finally:
            is_quiet.reset(before)
            if verbose:
                print_note(f"autoparser {__version__}: {monotonic() - begun:.2f} s")

    return add_options(command, [_VERBOSE] if own else [_VERBOSE, _QUIET], run)


SOURCES = (
    "A template file, model directory, tokenizer_config.json or GGUF file, - for standard"
    " input, or a model on the Hub: org/name, org/name/file.gguf, org/name:Q4_K_M, or its URL."
)

NameOption = Annotated[
    str | None, "NAME", "Use this one of several named templates, such as tool_use."
]
SourcesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE…",
        help="Template files, directories to search, glob patterns, model directories, models on"
        " the Hub, or - for standard input.",
        show_default=False,
    ),
]
RevisionOption = Annotated[str | None, "REVISION", "Branch, tag or commit of a model on the Hub."]
TemplateOption = Annotated[
    str | None,
    typer.Option(
        "--template",
        metavar="PATH",
        help="Path of the template that a saved format was learned from, if it has moved. Its"
        " text must be the same.",
    ),
]
TokenizerOption = Annotated[
    Path | None,
    "PATH",
    "A tokenizer.json, its directory, a GGUF file or a model on the Hub. [default: the one"
    " beside the template]",
]

ToolsOption = Annotated[
    Path | None,
    "FILE",
    "Tools in OpenAI, Anthropic or MCP format, as YAML or JSON: a list, or {tools: [...]}.",
]
LoosenOption = Annotated[
    bool, "Drop schema keywords that a grammar cannot express, with a warning."
]


ServedModelOption = Annotated[str, "NAME", "Model name to send to the server, if it needs one."]

ServerTimeoutOption = Annotated[
    float, typer.Option(metavar="SECONDS", min=0.1, help="Time to wait for the server.")
]

OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Write the result to a file instead of printing it."
    ),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", metavar="N", min=1, help="Number of processes. [default: one per core]"
    ),
]
ExitZeroOption = Annotated[bool, "Exit with 0 regardless of what is found."]
UnsafeFixesOption = Annotated[bool, "Also apply edits that change renders without a finding."]
WatchOption = Annotated[bool, "Run again whenever an input file changes."]


def key_option(variable: str, words: str) -> Any:
    """Return the option of a key, which can also be set by an environment variable."""
    return typer.Option(metavar="KEY", envvar=variable, help=words, show_default=False)


def format_option(forms: str, *, hidden: bool = False) -> Any:
    """Return the option that chooses a form; `forms` describes them."""
    return typer.Option("--format", "-f", help=f"Output format: {forms}", hidden=hidden)


class TextOrJson(StrEnum):
    """The forms of most commands."""

    TEXT = "text"
    JSON = "json"


JsonOption = Annotated[bool, typer.Option("--json", help="Short for --format json.")]


def chosen_form(form: Form | None, short: bool, json: Form) -> Form | None:
    """Return the selected form, with `--json` or without.

    Raises AutoparserError if both contradict each other.
    """
    if short and form not in (None, json):
        raise excludes("--json", f"--format {form}").error
    return json if short else form


def known_name(name: str, known_names: Collection[str], problem: str, usual: str = "") -> str:
    """Return a known name. Raises AutoparserError with the nearest one, or `usual`."""
    if name in known_names:
        return name
    hint = spelling_hint(name, known_names, usual or f"choose from {', '.join(known_names)}")
    raise AutoparserError(problem, hint=hint)


def refuse_full(form: str) -> AutoparserError:
    """Return the error for `--full` with a form that is always complete."""
    return AutoparserError(
        f"--full is only for text; {form} always has everything", hint="leave one out"
    )


class ResultOptions(OptionGroup):
    """The form of a result that is text or JSON, and its destination."""

    form: Annotated[
        TextOrJson | None,
        format_option("text, or json (see docs/json-schema.md). [default: text]"),
    ] = None
    as_json: JsonOption = False
    output: OutputOption = None

    @property
    def is_json(self) -> bool:
        """Return whether the result is JSON. Raises AutoparserError for options that contradict."""
        return chosen_form(self.form, self.as_json, TextOrJson.JSON) is TextOrJson.JSON

    def check(self) -> None:
        """Raise AutoparserError for options that contradict each other."""
        chosen_form(self.form, self.as_json, TextOrJson.JSON)

    def write(
        self, document: Callable[[], wings.Json], report: Callable[[int], wings.Text]
    ) -> None:
        """Write the document or, given the width of lines, the report."""
        with open_outlet(self.output) as outlet:
            if self.is_json:
                outlet.json(document())
            else:
                outlet.report(report(outlet.width))


PrintedOptions = Annotated[ResultOptions, leave_out("output")]
"""Result options without `--output`, for commands that write a folder."""


class ServerOptions(OptionGroup):
    """The completion server."""

    server: Annotated[
        str | None,
        "URL",
        "Server with /v1/completions, as http://HOST:PORT. The grammar is sent in the request"
        " field that its --engine reads.",
    ] = None
    engine: Annotated[wings.ServerEngine | None, "Engine that runs at --server."] = None
    served_model: ServedModelOption = ""
