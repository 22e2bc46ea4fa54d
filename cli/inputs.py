"""What a request is made of, from files: the model's output, the prompt, the tools.

Contract: - stands for standard input wherever a file is named. What cannot be read is an
AutoparserError that names the file, the place in it and what was expected there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autoparser.analysis.core.conversation import Tool
from autoparser.analysis.core.errors import AutoparserError

from .source import STANDARD_INPUT

__all__ = [
    "check_standard_input",
    "read_functions",
    "read_log",
    "read_messages",
    "read_output",
    "read_prompt",
    "read_schema",
    "read_tools",
    "read_value",
]


def read_output(path: Path | None) -> str:
    """Return what the model wrote, character for character; None reads standard input."""
    return _read(Path(STANDARD_INPUT) if path is None else path, "what the model wrote")


def read_prompt(path: Path) -> str:
    """Return the rendered prompt, or a tail of it."""
    return _read(path, "the rendered prompt")


def read_log(path: Path) -> str:
    """Return the lines of a log."""
    return _read(path, "the log")


def read_tools(path: Path) -> list[Tool]:
    """Return the tools of a YAML or JSON file: a list, or a mapping with the list as `tools`."""
    from autoparser.analysis.core.request_files import given_tools

    return [*given_tools(read_value(path, "the tools"), str(path))]


def read_functions(path: Path) -> tuple[Tool, ...]:
    """Return the functions of such tools, without wrappers. Raises AutoparserError for none."""
    from autoparser.analysis.core.conversation import function_of

    found = tuple(map(function_of, read_tools(path)))
    if not found:
        hint = "name a file with tools, such as what MCP's tools/list answers"
        raise AutoparserError("this list of tools is empty", file=str(path), hint=hint)
    return found


def check_standard_input(*named: object) -> None:
    """Raise AutoparserError where more than one of these is standard input."""
    if [str(each) for each in named].count(STANDARD_INPUT) > 1:
        raise AutoparserError(
            "standard input holds one file, and - stands for several here",
            hint="name the others",
        )


def read_messages(path: Path) -> list[dict[str, Any]]:
    """Return the messages of a YAML or JSON file: a list, or a mapping with it as `messages`."""
    from autoparser.analysis.core.request_files import given_messages

    return given_messages(read_value(path, "the messages"), str(path))


def read_schema(path: Path) -> Mapping[str, Any]:
    """Return the JSON schema of a YAML or JSON file: it, or OpenAI's `json_schema` around it."""
    from autoparser.analysis.core.documents import read
    from autoparser.analysis.core.request_files import given_schema

    value, file = read_value(path, "the JSON schema"), str(path)
    hint = 'write an object such as {"type": "object", "properties": …}'
    given = read(value, dict[str, Any], file=file, hint=hint)
    for wrapper in ("json_schema", "schema"):
        inner = given.get(wrapper, given)
        given = read(inner, dict[str, Any], file=file, place=wrapper, hint=hint)
    given_schema(given, file)
    return given


def read_value(path: Path, what: str) -> object:
    """Return what a YAML or JSON file holds; `what` that is, in words."""
    text = _read(path, what).removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
    return _loaded(text, path)


def _read(path: Path, what: str) -> str:
    """Return the text of a file, or of standard input, as long as it is not too much."""
    from autoparser.analysis.sources.local_files import read_bounded, read_path

    hint = f"name a file that holds {what}"
    if str(path) == STANDARD_INPUT:
        content = read_bounded(sys.stdin.buffer, "standard input", hint)
        return _decoded(content, "standard input")
    try:
        return _decoded(read_path(path, hint), str(path))
    except FileNotFoundError:
        reason = "there is no such file"
    except OSError as error:
        reason = f"cannot be read ({error.strerror or type(error).__name__})"
    raise AutoparserError(reason, file=str(path), hint=hint)


def _decoded(content: bytes, file: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise AutoparserError(
            f"this is not UTF-8 ({error.reason} 0x{content[error.start]:02x})",
            file=file,
            place=f"byte {error.start}",
            hint="save the text as UTF-8",
        ) from None


def _loaded(text: str, path: Path) -> Any:
    """Read a text as JSON where it is named so or begins so, else as YAML."""
    named = path.suffix.lower() == ".json"
    if named or text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            # YAML has such lists and mappings too, written in other ways.
            if named:
                raise _broken("JSON", error.msg, path, error.lineno, error.colno) from None
        except RecursionError:
            raise _too_deep(path) from None
    return _loaded_yaml(text, path)


def _loaded_yaml(text: str, path: Path) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        words = error.problem or error.context or "it does not end"
        place = (None, None) if mark is None else (mark.line + 1, mark.column + 1)
        raise _broken("YAML", words, path, *place) from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        column = len(before) - (before.rfind("\n") + 1) + 1
        line = before.count("\n") + 1
        raise _broken("YAML", "a character that YAML refuses", path, line, column) from None
    except RecursionError:
        raise _too_deep(path) from None
    except ValueError as error:
        # A date such as 2024-13-45 is read, and there is none.
        raise _broken("YAML", str(error), path, None, None) from None


def _broken(
    what: str, words: str, path: Path, line: int | None, column: int | None
) -> AutoparserError:
    return AutoparserError(
        f"broken {what}: {words}",
        file=str(path),
        place=None if line is None else f"line {line}, column {column}",
        hint=f"correct the {what} there",
    )


def _too_deep(path: Path) -> AutoparserError:
    return AutoparserError("nested too deep", file=str(path), hint="write simpler schemas")
