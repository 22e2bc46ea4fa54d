"""The options that several commands share: each has one spelling, one meaning and one help text.

Contract: an option that more than one command takes is defined here (the limits of workers in
`isolation.py`), and no command gives it another meaning. ``--format``
chooses a form, ``-o`` writes the result to a file, ``--jobs`` counts processes. ``--json`` is short
for ``--format json`` where text is the default form and JSON another.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from autoparser.analysis.core.errors import AutoparserError

SOURCES = (
    "A template file, a model directory, a tokenizer_config.json, a GGUF file, - for standard"
    " input, or a model on the Hub: org/name, org/name/file.gguf, org/name:Q4_K_M, or its URL."
)

SourceArgument = Annotated[
    str | None,
    typer.Argument(metavar="TEMPLATE", help=SOURCES, show_default=False),
]
NameOption = Annotated[
    str | None, typer.Option(help="Which of several named templates, such as tool_use.")
]
SourcesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE…",
        help="Template files, directories to search, patterns, model directories, Hub ids,"
        " or - for standard input.",
        show_default=False,
    ),
]
SelectOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RULES",
        help="Only these rules: codes, beginnings of codes such as AP3, names, or ALL;"
        " several with commas.",
    ),
]
IgnoreOption = Annotated[list[str] | None, typer.Option(metavar="RULES", help="Not these rules.")]
ExtendSelectOption = Annotated[
    list[str] | None, typer.Option(metavar="RULES", help="These rules, too.")
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The settings: a pyproject.toml with [tool.autoparser.lint], or an"
        " autoparser.toml. [default: the nearest from here upward]",
        show_default=False,
    ),
]
IsolatedOption = Annotated[bool, typer.Option("--isolated", help="Read no settings.")]
BaselineOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Findings in this file are known, and do not fail."),
]
ProfileOption = Annotated[
    str | None,
    typer.Option(
        metavar="PROFILE",
        help="Whose findings are shown and count: release, strict (all), engines, training or"
        " cache. [default: release; strict with --select]",
        show_default=False,
    ),
]
MinSeverityOption = Annotated[
    str | None,
    typer.Option(
        metavar="SEVERITY",
        help="Findings from here on: info, warning or error. [default: info]",
        show_default=False,
    ),
]
MinConfidenceOption = Annotated[
    str, typer.Option(metavar="CONFIDENCE", help="Findings from here on: low, medium or high.")
]
NoCacheOption = Annotated[
    bool,
    typer.Option(
        "--no-cache",
        envvar="AUTOPARSER_NO_CACHE",
        help="Look at every template anew, and leave nothing for the next run.",
    ),
]
CacheDirOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        envvar="AUTOPARSER_CACHE_DIR",
        help="Where what was found is cached for the next run. [default: where the system has"
        " caches]",
        show_default=False,
    ),
]
RevisionOption = Annotated[
    str | None,
    typer.Option(metavar="REVISION", help="A branch, tag or commit of a model on the Hub."),
]
TemplateOption = Annotated[
    str | None,
    typer.Option(
        "--template",
        metavar="PATH",
        help="Where the template of a saved format is; else where it was when the format was"
        " learnt. It must be the same text.",
    ),
]
EncoderOption = Annotated[
    str | None,
    typer.Option(
        metavar="MODULE:FUNCTION",
        help="Run this Python function in the place of a template: path/to/module.py:function or"
        " package.module:function. Values of its parameters follow as ?name=value&name=value.",
    ),
]
TokenizerOption = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="A tokenizer.json, a directory that holds one, a GGUF file, or a model on the Hub;"
        " else the one beside the template.",
    ),
]

SwitchOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Set this variable of the template, as chat_template_kwargs do. May be given several"
        " times.",
    ),
]

ToolsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The tools offered, OpenAI's or an MCP server's, as YAML or JSON: a list, or"
        " {tools: [...]}.",
    ),
]
ToolChoiceOption = Annotated[
    str, typer.Option(metavar="CHOICE", help="auto, none, required, or the name of a tool.")
]
NoParallelOption = Annotated[
    bool, typer.Option("--no-parallel", help="The request allows one call only.")
]
LoosenOption = Annotated[
    bool,
    typer.Option(
        "--loosen",
        help="Leave out what schemas say and a grammar cannot hold, and name it as a warning.",
    ),
]
JsonSchemaOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The answer is JSON by this schema: markers in it are text."),
]
PromptOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The rendered prompt or its tail; else the template's default prompt.",
    ),
]


class EngineName(StrEnum):
    """What runs after a server."""

    VLLM = "vllm"
    SGLANG = "sglang"
    LLAMA_SERVER = "llama-server"


ServerOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Let a server write: http://HOST:PORT with /v1/completions. The grammar is sent"
        " in the request field of its --engine.",
    ),
]
EngineOption = Annotated[
    EngineName | None, typer.Option(help="What runs behind --server.", show_default=False)
]
ServedModelOption = Annotated[
    str, typer.Option(metavar="NAME", help="The model's name at the server, if it wants one.")
]

OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Write the result to a file, do not print it."
    ),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", metavar="N", min=1, help="How many processes. [default: one a core]"
    ),
]
ExitZeroOption = Annotated[bool, typer.Option("--exit-zero", help="Exit with 0 whatever is found.")]
UnsafeFixesOption = Annotated[
    bool,
    typer.Option(
        "--unsafe-fixes", help="Make edits, too, that change renders which no finding calls wrong."
    ),
]
WatchOption = Annotated[
    bool, typer.Option("--watch", help="Run again whenever a file that it reads changes.")
]


def format_option(forms: str) -> Any:
    """Return the option that chooses a form; `forms` says what they are."""
    return typer.Option("--format", "-f", help=f"What to write: {forms}")


class TextOrJson(StrEnum):
    """The forms of most commands."""

    TEXT = "text"
    JSON = "json"


TextOrJsonOption = Annotated[
    TextOrJson | None,
    format_option("text, or json, which docs/json-schema.md describes. [default: text]"),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Short for --format json.")]


def is_json(form: TextOrJson | None, short: bool) -> bool:
    """Whether JSON is asked for, in either way. Raises AutoparserError where both contradict."""
    if short and form is TextOrJson.TEXT:
        raise AutoparserError(
            "--json and --format text contradict each other", hint="leave one of them out"
        )
    return short or form is TextOrJson.JSON
