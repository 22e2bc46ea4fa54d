"""``autoparser decode``: answers written under the grammar, each of them judged."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .inputs import STANDARD_INPUT, read_prompt, read_schema, read_tools
from .output import print_report, report_width
from .progress import progress_of
from .request import check_choice, warn_of

if TYPE_CHECKING:
    from autoparser.analysis.constrained import DecodingTokenizer
    from autoparser.analysis.decode import MarkerFit
    from autoparser.analysis.grammar import Grammar

__all__ = ["decode"]

FAULTS = 1
"""The exit code where any answer is not as it should be."""

TOKENIZER_FILE = "tokenizer.json"
MADE = "one token a byte, and one for each marker of the template"


class SamplerName(StrEnum):
    """What chooses the tokens."""

    RANDOM = "random"
    TRANSFORMERS = "transformers"


def decode(
    source: Annotated[
        str,
        typer.Argument(
            metavar="TEMPLATE",
            help="A template file, a model directory, a tokenizer_config.json,"
            " or - for standard input.",
            show_default=False,
        ),
    ],
    tools: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The tools offered, OpenAI's, as YAML or JSON: a list, or {tools: [...]}."
            " Without them nothing is called.",
        ),
    ] = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="A tokenizer.json, or a directory that holds one; else that of TEMPLATE's"
            " directory. Without any, one is made of the bytes and the template's markers.",
        ),
    ] = None,
    walks: Annotated[int, typer.Option(metavar="N", min=1, help="How many answers.")] = 50,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="The first answer's seed.")] = 0,
    limit: Annotated[
        int, typer.Option(metavar="TOKENS", min=1, help="Tokens after which an answer is cut.")
    ] = 4000,
    tool_choice: Annotated[
        str, typer.Option(metavar="CHOICE", help="auto, none, required, or the name of a tool.")
    ] = "auto",
    no_parallel: Annotated[
        bool, typer.Option("--no-parallel", help="The request allows one call only.")
    ] = False,
    json_schema: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Content is JSON by this schema.")
    ] = None,
    prompt: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The rendered prompt or its tail; else the template's default prompt.",
        ),
    ] = None,
    sampler: Annotated[
        SamplerName, typer.Option(help="What chooses the tokens: chance, or a model.")
    ] = SamplerName.RANDOM,
    name: Annotated[
        str | None,
        typer.Option(help="Which of several named templates, such as tool_use."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """Write answers under the grammar of a request, and check every one of them.

    Each has to be accepted by the grammar, to end, to be read as a message without junk, with
    arguments that their schemas allow, and the template has to render that message to the same
    text.

    Exit code: 0 if all are so, 1 if any is not, 2 if there is nothing to decode.
    """
    offered = None if tools is None else read_tools(tools)
    check_choice(tool_choice, offered)
    asked = None if prompt is None else read_prompt(prompt)
    schema = None if json_schema is None else read_schema(json_schema)

    # Imported here so that help does without the engine.
    from autoparser.analysis.analysis import analyze as analyzed
    from autoparser.analysis.decode import DecodingTrial, judged
    from autoparser.analysis.sources import load_template
    from autoparser.reports import DecodeSetting, decode_document, decode_report

    analysis = analyzed(load_template(source, name=name))
    grammar = analysis.grammar(
        offered,
        prompt=asked,
        tool_choice=tool_choice,
        parallel_tool_calls=not no_parallel,
        json_schema=schema,
    )
    parser = analysis.parser(
        offered or [],
        prompt=asked,
        tool_choice=tool_choice,
        parallel_tool_calls=not no_parallel,
        json_schema=schema,
    )
    warn_of(source, prompt, analysis, asked, offered)
    loaded, named = _tokenizer(tokenizer, source, grammar)
    trial = DecodingTrial(analysis.format, grammar, parser, loaded, asked)
    fit = trial.fit
    if fit.frame:
        _warn_of_markers(named, fit)
    with progress_of(walks) as advance:
        report = judged(trial.walks(walks, seed=seed, limit=limit), trial.judge, advance)
    setting = DecodeSetting(named, "by chance", seed, limit, fit.plain)
    if as_json:
        # ASCII alone: no reader and no terminal takes it for anything else.
        typer.echo(json.dumps(decode_document(report, setting), indent=2, allow_nan=False))
    else:
        print_report(decode_report(report, setting, report_width()))
    return 0 if report.ok else FAULTS


def _tokenizer(given: Path | None, source: str, grammar: Grammar) -> tuple[DecodingTokenizer, str]:
    """Load the tokenizer that was named, or the source's own; or make one. And say which."""
    from autoparser.analysis.constrained import load_tokenizer
    from autoparser.analysis.decode import made_tokenizer

    found = given or _beside(source)
    if found is None:
        return made_tokenizer(grammar), MADE
    return load_tokenizer(found), str(found)


def _beside(source: str) -> Path | None:
    """Find the tokenizer of the model that a source is of."""
    if source == STANDARD_INPUT:
        return None
    path = Path(source)
    # Beside a file too, since `tokenizer_config.json` and `chat_template.jinja` are a model's.
    directory = path if path.is_dir() else path.parent
    return directory if (directory / TOKENIZER_FILE).is_file() else None


def _warn_of_markers(tokenizer: str, fit: MarkerFit) -> None:
    from autoparser.reports import visible

    names = ", ".join(map(visible, fit.plain))
    typer.echo(
        f"{tokenizer}: warning: this tokenizer may be another model's: these markers of the"
        f" template are no tokens of it, but text: {names}",
        err=True,
    )
