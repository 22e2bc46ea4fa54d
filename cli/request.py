"""Requests from options: their files, read and checked, and the warnings.

Contract: - is standard input wherever a file is named. An unreadable file is an AutoparserError
with the file, the place in it and the expected content.

For example, the values of `--switch` become template variables as

    enable_thinking=false  ->  ("enable_thinking", False)
    effort=high            ->  ("effort", "high")
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from autoparser.analysis.core.error_words import (
    is_mapping,
    spelling_hint,
    value_kind,
)
from autoparser.analysis.core.errors import AutoparserError

from . import wings
from .options import OptionGroup, ToolsOption
from .output import print_warning
from .source import STANDARD_INPUT

CHOICES = ("auto", "none", "required")
"""The tool choices that are not the name of a tool."""


class RequestValues(OptionGroup):
    """A request as options describe it, with its files read."""

    tools: Sequence[wings.Tool] | None
    """The offered tools, e.g. `get_weather`, or None if unknown, so that any function may be
    called."""
    tool_choice: str
    """E.g. `auto`, or the name of a tool."""
    parallel: bool
    """Whether a turn may have several calls, e.g. False with `--no-parallel`."""
    json_schema: Mapping[str, Any] | None
    """The schema of an answer in JSON, e.g. `{"type": "object"}`, or None for other answers."""
    prompt_file: Path | None
    """The file of the prompt, for warnings, e.g. `prompt.txt`."""
    prompt: str | None
    r"""The rendered prompt, or its end, e.g. `"<|im_start|>assistant\n"`, or None for the
    template's own prompt."""
    switches: Mapping[str, object]
    """The template variables, e.g. `{"enable_thinking": False}`."""

    @property
    def setting(self) -> Mapping[str, object] | None:
        """Return the values of switches, or None if none is set, so that the prompt decides."""
        return self.switches or None

    @property
    def options(self) -> wings.RequestOptions:
        """Return the options of a parser or a grammar other than tools and switches."""
        return {
            "prompt": self.prompt,
            "tool_choice": self.tool_choice,
            "parallel_tool_calls": self.parallel,
            "json_schema": self.json_schema,
        }


# The next three repeat literals of `parsing.parsed_message`: importing it brings msgspec, which
# `parse --help` does without, and typer 0.16 takes no literals as choices. Type checkers find a
# value that no parser takes.
class Forgiven(StrEnum):
    """The calls that count despite deviations."""

    EXACT = "exact"
    REPAIRS = "repairs"
    ALL = "all"


class MarkupPlace(StrEnum):
    """The places for the text of calls that could not be read."""

    KEEP = "keep"
    DROP = "drop"
    SEPARATE = "separate"


class UnclosedReasoning(StrEnum):
    """The readings of reasoning without an end marker."""

    CALLS = "calls"
    KEEP = "keep"
    CONTENT = "content"


ForgiveOption: TypeAlias = Annotated[
    Forgiven,
    "Which calls to accept: exact, those of turns as the template writes them; repairs, also"
    " malformed ones that can be repaired without loss or guessing; all, also bare JSON and"
    " positional arguments.",
]
MarkupOption: TypeAlias = Annotated[
    MarkupPlace, "Where the text of unreadable calls goes: keep, into the content; drop; separate."
]
UnclosedReasoningOption: TypeAlias = Annotated[
    UnclosedReasoning,
    "How to parse unclosed reasoning: calls, reasoning up to a whole call; keep, reasoning to"
    " its end; content, the answer.",
]


KWARGS = "--chat-template-kwargs"
CLOCK = "strftime_now"
"""A function, which an option's text cannot represent."""


class SwitchOptions(OptionGroup):
    """The template variables of a request: as one JSON object, one by one, or both."""

    chat_template_kwargs: Annotated[
        str | None,
        "JSON",
        "Template variables as a JSON object, such as '{\"enable_thinking\": false}'.",
    ] = None
    switch: Annotated[
        list[str] | None,
        "NAME=VALUE",
        "One template variable, such as enable_thinking=false. Can be repeated.",
    ] = None

    @property
    def given(self) -> dict[str, object]:
        """Return the given values by the names of their options."""
        both = {KWARGS: self.chat_template_kwargs, "--switch": self.switch}
        return {option: value for option, value in both.items() if value}

    def values(self) -> dict[str, wings.Json]:
        """Return the variables. Raises AutoparserError for values that cannot be set."""
        text = self.chat_template_kwargs
        # A list and no dictionary, so that a variable that is given twice is noticed.
        pairs = [] if text is None else [*_json_variables(text).items()]
        pairs += map(_switch_value, self.switch or ())
        found: dict[str, wings.Json] = {}
        for name, value in pairs:
            if name in (*wings.PASSED, CLOCK):
                raise AutoparserError(
                    f"{name} cannot be set as a template variable",
                    hint="remove it: the request sets it",
                )
            if name in found:
                raise AutoparserError(
                    f"{name} is set twice", hint=f"set it once, by {KWARGS} or by --switch"
                )
            found[name] = value
        return found


def _switch_value(text: str) -> tuple[str, wings.Json]:
    """Parse a `NAME=VALUE` text. Raises AutoparserError."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise AutoparserError(
            f"invalid --switch {text!r}", hint="use --switch NAME=VALUE, e.g. thinking=true"
        )
    return name, wings.variable_value(value)


def _json_variables(text: str) -> dict[str, wings.Json]:
    """Return the variables of a JSON object. Raises AutoparserError with the place in it."""

    def wrong(message: str, place: str | None = None) -> AutoparserError:
        hint = """write an object such as '{"enable_thinking": false}'"""
        return AutoparserError(message, file=KWARGS, place=place, hint=hint)

    # Python's `json` silently keeps the last of two equal keys.
    def without_twins(pairs: list[tuple[str, wings.Json]]) -> dict[str, wings.Json]:
        names = [name for name, _ in pairs]
        twin = next((name for name in names if names.count(name) > 1), None)
        if twin is not None:
            raise wrong(f"{twin} is set twice", json.dumps(twin))
        return dict(pairs)

    # Python's `json` accepts NaN and Infinity, which JSON does not have.
    def refuse_constant(name: str) -> None:
        raise wrong(f"JSON has no {name}", f"column {text.find(name) + 1}")

    try:
        found: object = json.loads(
            text, object_pairs_hook=without_twins, parse_constant=refuse_constant
        )
    except json.JSONDecodeError as error:
        place = f"column {error.colno}"
        if error.lineno > 1:
            place = f"line {error.lineno}, {place}"
        raise wrong(f"invalid JSON: {error.msg.lower()}", place) from None
    except RecursionError:
        raise wrong("nested too deep") from None
    if not is_mapping(found):
        raise wrong(f"must be an object, got {value_kind(found)}")
    unfit = next((name for name in found if not name.isidentifier()), None)
    if unfit is not None:
        raise wrong("no template variable can have this name", json.dumps(unfit))
    return {**found}


class ChatRequestOptions(SwitchOptions):
    """The options that describe a request."""

    tools: ToolsOption = None
    tool_choice: Annotated[str, "CHOICE", "auto, none, required, or the name of a tool."] = "auto"
    no_parallel: Annotated[bool, "Allow at most one tool call."] = False
    json_schema: Annotated[
        Path | None,
        "FILE",
        "The JSON schema of the answer, in which markers are plain text.",
    ] = None
    prompt: Annotated[
        Path | None,
        "FILE",
        "The rendered prompt, or the end of it. [default: the template's own prompt]",
    ] = None

    def read(self) -> RequestValues:
        """Read the files named by the options. Raises AutoparserError for invalid ones."""
        offered = None if self.tools is None else read_tools(self.tools)
        _check_choice(self.tool_choice, offered)
        return RequestValues(
            tools=offered,
            tool_choice=self.tool_choice,
            parallel=not self.no_parallel,
            json_schema=None if self.json_schema is None else read_schema(self.json_schema),
            prompt_file=self.prompt,
            prompt=None if self.prompt is None else read_prompt(self.prompt),
            switches=self.values(),
        )


def _check_choice(choice: str, tools: Sequence[object] | None) -> None:
    """Raise AutoparserError unless the choice is a keyword or a tool's name, and tools allow it."""
    # Without --tools any function may be called, but an empty list offers none.
    if choice == "required" and tools is not None and not tools:
        raise AutoparserError("a call is required, and no tool is offered", hint="offer tools")
    if choice in CHOICES:
        return

    # The names are read as for a parser: tools come in several forms.
    names = list(wings.read_request(tools).tools or ())
    if choice in names:
        return
    words = ", ".join(CHOICES)
    wanted = f"or a tool: {', '.join(names)}" if names else "or a tool of --tools"
    raise AutoparserError(
        f"unknown tool choice {choice!r}",
        hint=spelling_hint(choice, [*CHOICES, *names], f"choose from {words}, {wanted}"),
    )


def warn_of_request(
    source: str, analysis: wings.Analysis | wings.SavedFormat, request: RequestValues
) -> None:
    """Warn of conditions that may make the message wrong."""
    warn_of_check(source, analysis, "the message may be wrong")
    # Calls may exist under some settings only, so every format has to lack them.
    if request.tools and all(format_.calls is None for format_ in analysis.formats):
        print_warning(source, "this template renders no tool calls, so none are parsed")
    if request.prompt is not None:
        warning = wings.prompt_warning(analysis.formats, request.prompt)
        if warning is not None:
            print_warning(request.prompt_file, warning)
    warn_of_settings(source, analysis, request.switches)


def warn_of_check(source: str, learned: wings.LearnedFormat, doubt: str) -> None:
    """Warn of a failed self-check; `doubt` is the possible consequence."""
    if not learned.check.ok:
        print_warning(source, wings.check_doubt(learned.check, doubt))


def warn_of_loosening(source: str, loosened: Iterable[wings.Loosening]) -> None:
    """Warn of schema keywords that a grammar does not enforce."""
    for loosening in loosened:
        print_warning(source, str(loosening))


def warn_of_switches(
    source: str, template: wings.ChatTemplate, switches: Mapping[str, object]
) -> None:
    """Warn of switches that the template never reads."""
    if switches:
        read = sorted(wings.template_suggestions(template).names)
        _print_lines(source, wings.unread_variables(switches, read))


def warn_of_truths(
    source: str, switches: Mapping[str, object], render: Callable[[Mapping[str, object]], str]
) -> None:
    """Warn of texts, such as `flase`, for switches of which the template only tests the truth.

    The template decides: any text renders as true does, and not as false does. `render` renders
    with the given switches.
    """
    for name, value in switches.items():
        if not isinstance(value, str) or not value:
            continue
        try:
            # If the template compared texts, the changed one would render differently.
            others = (value, f"{value}_", True, False)
            text, other, true, false = (render({**switches, name: one}) for one in others)
        except AutoparserError:
            continue
        if text == other == true != false:
            words = f"the template only tests whether {name} is true, and {value!r} counts as true"
            print_warning(source, f"{words}; write true or false")


def warn_of_settings(
    source: str, learned: wings.Analysis | wings.SavedFormat, switches: Mapping[str, object]
) -> None:
    """Warn of switches without a known effect in the learned format."""
    _print_lines(source, learned.unread(switches))


def _print_lines(source: str, lines: Mapping[str, str]) -> None:
    for line in lines.values():
        print_warning(source, line)


def read_output(path: Path | None) -> str:
    """Return the model's output unchanged; None reads standard input."""
    return _read_text(Path(STANDARD_INPUT) if path is None else path, "the model's output")


def read_prompt(path: Path) -> str:
    """Return the rendered prompt, or a tail of it."""
    return _read_text(path, "the rendered prompt")


def read_log(path: Path) -> str:
    """Return the lines of a log."""
    return _read_text(path, "the log")


def read_tools(path: Path) -> list[wings.Tool]:
    """Return the tools of a YAML or JSON file: a list, or a mapping with the list as `tools`."""
    return [*wings.given_tools(file_value(path, "the tools"), str(path))]


def read_functions(path: Path) -> tuple[wings.Tool, ...]:
    """Return the functions of these tools, without wrappers, or raise AutoparserError if empty."""
    found = tuple(map(wings.tool_function, read_tools(path)))
    if not found:
        hint = "name a file with tools, such as the result of MCP's tools/list"
        raise AutoparserError("this list of tools is empty", file=str(path), hint=hint)
    return found


def check_standard_input(*files: object) -> None:
    """Raise AutoparserError if more than one of these is standard input."""
    if [str(file) for file in files].count(STANDARD_INPUT) > 1:
        raise AutoparserError(
            "standard input (-) is given for several files",
            hint="name the others",
        )


def read_messages(path: Path) -> list[dict[str, Any]]:
    """Return the messages of a YAML or JSON file: a list, or a mapping with it as `messages`."""
    return wings.given_messages(file_value(path, "the messages"), str(path))


def read_schema(path: Path) -> Mapping[str, Any]:
    """Return the JSON schema of a YAML or JSON file: it, or OpenAI's `json_schema` around it."""
    value, file = file_value(path, "the JSON schema"), str(path)
    hint = 'write an object such as {"type": "object", "properties": …}'
    given = wings.read_value(value, dict[str, Any], file=file, hint=hint)
    # OpenAI's `response_format` has the schema in `json_schema`, and there in `schema`.
    for wrapper in ("json_schema", "schema"):
        inner = given.get(wrapper, given)
        given = wings.read_value(inner, dict[str, Any], file=file, place=wrapper, hint=hint)
    # Only to raise for an invalid schema.
    wings.given_schema(given, file)
    return given


def file_value(path: Path, what: str) -> object:
    """Return the value of a YAML or JSON file; `what` names its content in errors."""
    # Some editors begin UTF-8 with a byte order mark.
    text = _read_text(path, what).removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
    return _load_value(text, path)


def _read_text(path: Path, what: str) -> str:
    """Return the text of a file or of standard input, up to a size limit."""
    hint = f"name a file that holds {what}"
    if str(path) == STANDARD_INPUT:
        content = wings.read_standard_input(hint)
        return _decode_text(content, "standard input")
    try:
        return _decode_text(wings.read_path(path, hint), str(path))
    except FileNotFoundError:
        reason = "no such file"
    except OSError as error:
        reason = f"cannot be read ({error.strerror or type(error).__name__})"
    raise AutoparserError(reason, file=str(path), hint=hint)


def _decode_text(content: bytes, file: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        kind = wings.binary_kind(content)
        if kind is not None:
            words = f"this is {kind}, not text"
            raise AutoparserError(words, file=file, hint="name a text file") from None
        raise AutoparserError(
            f"not UTF-8 ({error.reason} 0x{content[error.start]:02x})",
            file=file,
            place=f"byte {error.start}",
            hint="save the text as UTF-8",
        ) from None


def _load_value(text: str, path: Path) -> Any:
    """Parse a text as JSON if its name or its beginning suggests it, otherwise as YAML."""
    named = path.suffix.lower() == ".json"
    if named or text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            # YAML's flow collections begin like JSON, but are written in other ways.
            if named:
                raise _syntax_error("JSON", error.msg, path, error.lineno, error.colno) from None
        except ValueError as error:
            # The number has more than 4,300 digits.
            raise _syntax_error("JSON", str(error), path, None, None) from None
        except RecursionError:
            raise _depth_error(path) from None
    return _load_yaml(text, path)


def _load_yaml(text: str, path: Path) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        words = error.problem or error.context or "unexpected end"
        place = (None, None) if mark is None else (mark.line + 1, mark.column + 1)
        raise _syntax_error("YAML", words, path, *place) from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        column = len(before) - (before.rfind("\n") + 1) + 1
        line = before.count("\n") + 1
        raise _syntax_error(
            "YAML", "a character that YAML does not allow", path, line, column
        ) from None
    except RecursionError:
        raise _depth_error(path) from None
    except ValueError as error:
        # YAML accepts the form of a date that does not exist, such as 2024-13-45.
        raise _syntax_error("YAML", str(error), path, None, None) from None


def _syntax_error(
    what: str, words: str, path: Path, line: int | None, column: int | None
) -> AutoparserError:
    return AutoparserError(
        f"invalid {what}: {words}",
        file=str(path),
        place=None if line is None else f"line {line}, column {column}",
        hint=f"correct the {what} there",
    )


def _depth_error(path: Path) -> AutoparserError:
    return AutoparserError("nested too deep", file=str(path), hint="write simpler schemas")
