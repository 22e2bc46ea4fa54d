"""``autoparser render``: from messages to the prompt, and whose each of its tokens is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from autoparser.analysis.errors import AutoparserError

from .inputs import read_messages, read_tools
from .output import print_json, print_report, print_text, report_width, say, warn, write_file
from .source import Asked, EncoderOption, NameOption, RevisionOption, SourceArgument
from .switches import SwitchOption, read_switches, warn_of_switches

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from autoparser.analysis.renderer import Renderer as TokenRenderer, TrainingTemplate
    from autoparser.analysis.template import ChatTemplate

__all__ = ["render"]

TRAINING = "training-template"
"""What a template can be turned into."""


def render(
    source: SourceArgument = None,
    messages: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The conversation, as YAML or JSON: a list, or {messages: [...]}.",
        ),
    ] = None,
    tools: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The tools offered, OpenAI's, as YAML or JSON."),
    ] = None,
    switch: SwitchOption = None,
    generation_prompt: Annotated[
        bool | None,
        typer.Option(
            "--generation-prompt/--no-generation-prompt",
            help="Whether the prompt ends where the model begins."
            " [default: unless the last message is an assistant's]",
            show_default=False,
        ),
    ] = None,
    tokens: Annotated[
        bool,
        typer.Option(
            "--tokens", help="Show the tokens: of which message each is, and the loss mask."
        ),
    ] = False,
    tokenizer: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="A tokenizer.json or its directory; else the one beside the template.",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help=f"Write the template itself in another form: {TRAINING}, with generation"
            " markers by which transformers knows what the model writes.",
        ),
    ] = None,
    name: NameOption = None,
    revision: RevisionOption = None,
    encoder: EncoderOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --tokens: print JSON.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to a file, do not print."),
    ] = None,
) -> None:
    """Render messages to the prompt, exactly as transformers does.

    With --tokens, shows for each token of which message it is, whether the message brought it,
    and whether the model would write it, which is what a loss counts.

    Exit code: 0 if it was rendered, 2 if not: the template's own words say why.
    """
    about = {
        "--messages": messages,
        "--tools": tools,
        "--switch": switch,
        "--generation-prompt": generation_prompt,
        "--tokens": tokens or None,
        "--tokenizer": tokenizer,
        "--json": as_json or None,
    }
    _check({option for option, value in about.items() if value is not None}, to)

    asked_for = Asked(source, name, revision, encoder)
    if to is not None:
        _give_training(asked_for.template(), asked_for.label, output)
        return
    conversation = read_messages(messages) if messages is not None else []
    offered = None if tools is None else read_tools(tools)
    switches = read_switches(switch or [])
    template = asked_for.template(tokenizer)
    warn_of_switches(asked_for.label, template, switches)
    prompt = generation_prompt
    if prompt is None:
        prompt = conversation[-1]["role"] != "assistant"
    if tokens:
        needed = "--tokens needs a tokenizer"
        loaded = asked_for.tokenizer(tokenizer, template, segmenting=True, needed=needed)
        text = _shown_tokens(
            template,
            cast("Tokenizer", loaded),
            asked_for.tokenizer_name(tokenizer),
            conversation,
            offered,
            switches,
            prompt=prompt,
            as_json=as_json,
            plain=output is not None,
        )
        if text is not None and output is not None:
            write_file(output, text)
        return
    text = _rendered(template, conversation, offered, switches, prompt=prompt)
    if output is not None:
        write_file(output, text)
    else:
        # The prompt and nothing else: no newline behind it.
        print_text(text)


def _rendered(
    template: ChatTemplate,
    messages: Sequence[object],
    tools: Sequence[object] | None,
    switches: Mapping[str, Any],
    *,
    prompt: bool,
) -> str:
    return template.render(messages, tools, prompt, **switches)


def _check(given: set[str], to: str | None) -> None:
    """Raise AutoparserError for options that do not go together."""
    if to is not None and to != TRAINING:
        raise AutoparserError(f"there is no form {to!r}", hint=f"give --to {TRAINING}")
    if to is not None and given:
        options = ", ".join(sorted(given))
        raise AutoparserError(
            "--to writes the template, not a conversation", hint=f"leave out {options}"
        )
    if to is None and "--messages" not in given:
        raise AutoparserError("there is no conversation to render", hint="give --messages FILE")
    if "--tokens" not in given:
        for option in ("--tokenizer", "--json"):
            if option in given:
                raise AutoparserError(f"{option} is about tokens", hint="add --tokens")


def _shown_tokens(
    template: ChatTemplate,
    loaded: Tokenizer,
    named: str,
    messages: Sequence[Mapping[str, object]],
    tools: Sequence[object] | None,
    switches: Mapping[str, object],
    *,
    prompt: bool,
    as_json: bool,
    plain: bool,
) -> str | None:
    """Print the tokens; or give them as plain text."""
    from dataclasses import replace

    from autoparser.analysis.analysis import analyze
    from autoparser.analysis.document import template_document
    from autoparser.analysis.renderer import Renderer
    from autoparser.reports import json_text, tokens_document, tokens_report

    from .output import PLAIN_WIDTH

    special = {key: str(value) for key, value in switches.items() if key.endswith("_token")}
    template = replace(template, special_tokens={**template.special_tokens, **special})
    renderer = Renderer(analyze(template), loaded, switches=switches)
    _warn_of_stops(named, renderer)
    found = renderer.attribute(messages, tools, add_generation_prompt=prompt)
    rendered, pieces = renderer.tokens(found)
    roles = [str(message["role"]) for message in messages]
    if as_json:
        told = {
            "template": template_document(template),
            **tokens_document(rendered, pieces, roles),
        }
        if not plain:
            print_json(told, indent=2)
        return f"{json_text(told, indent=2)}\n"
    report = tokens_report(rendered, pieces, roles, PLAIN_WIDTH if plain else report_width())
    if not plain:
        print_report(report)
    return f"{report.plain}\n"


def _warn_of_stops(tokenizer: str, renderer: TokenRenderer) -> None:
    """Say on standard error where the tokenizer takes a stop string for several tokens."""
    from autoparser.reports import visible

    for stop in renderer.analysis.format.stop_strings:
        size = len(renderer.encode(stop))
        if size > 1:
            warn(
                tokenizer,
                f"the stop string {visible(stop)} is {size} tokens:"
                " is this the model's own tokenizer?",
            )


def _give_training(template: ChatTemplate, source: str, output: Path | None) -> None:
    from autoparser.analysis.analysis import analyze
    from autoparser.analysis.renderer import training_template

    made: TrainingTemplate = training_template(analyze(template))
    text = made.template.text
    if output is not None:
        write_file(output, text)
    else:
        print_text(text)
    proof = made.proof
    what = "with markers around the same template" if made.patched else "it has markers itself"
    say(
        f"{source}: {what}: the same text in {proof.conversations} conversations"
        f" ({proof.refused} refused by both), the markers as autoparser's loss mask in"
        f" {proof.masked} of {proof.conversations - proof.refused}"
    )
