"""``autoparser render``: from messages to the prompt, and the owner of each of its tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from autoparser.analysis.core.errors import AutoparserError, TemplateRenderError

from . import wings
from .options import (
    JsonOption,
    OutputOption,
    TokenizerOption,
    ToolsOption,
    chosen_form,
    excludes,
    format_option,
    needs,
)
from .output import Outlet, open_outlet, print_note, print_warning
from .request import (
    SwitchOptions,
    check_standard_input,
    read_messages,
    read_tools,
    warn_of_switches,
    warn_of_truths,
)
from .source import NamedSource


class RenderForm(StrEnum):
    """The forms of a render."""

    TEXT = "text"
    JSON = "json"
    TRAINING = "training-template"


def render(
    *,
    messages: Annotated[
        Path | None,
        "FILE",
        "Conversation as YAML or JSON: a list, or {messages: [...]}; - for standard input.",
    ] = None,
    tools: ToolsOption = None,
    switch_options: SwitchOptions,
    generation_prompt: Annotated[
        bool | None,
        typer.Option(
            "--generation-prompt/--no-generation-prompt",
            help="Whether to add the generation prompt. [default: unless the last message is the"
            " assistant's]",
            show_default=False,
        ),
    ] = None,
    tokens: Annotated[bool, "Show the tokens, the message of each, and the loss mask."] = False,
    trace: Annotated[
        bool,
        "Show which line of the template wrote what, and which conditions held for which values.",
    ] = False,
    tokenizer: TokenizerOption = None,
    form: Annotated[
        RenderForm | None,
        format_option(
            "json needs --tokens or --trace; training-template is the template with the"
            " generation markers that transformers makes a loss mask from. [default: text]"
        ),
    ] = None,
    as_json: JsonOption = False,
    source: NamedSource,
    output: OutputOption = None,
) -> None:
    """Render messages as transformers does, also with loss masks.

    --tokens shows for each token which message it belongs to, whether it is text of that message,
    and whether the model would write it, which is the loss mask. --trace shows which line of the
    template wrote each piece, which conditions were tested, and the values in them; if the template
    fails, up to that point.

    Exit code: 0 if it was rendered; 1 if the markers of a training template are not the loss mask,
    with each such turn named; 2 if the template fails, with its error.
    """
    form = chosen_form(form, as_json, RenderForm.JSON) or RenderForm.TEXT
    about = {
        "--messages": messages,
        "--tools": tools,
        **switch_options.given,
        "--generation-prompt": generation_prompt,
        # A flag that is off counts as not given.
        "--tokens": tokens or None,
        "--trace": trace or None,
        # An encoder may return token ids, which this tokenizer decodes.
        "--tokenizer": tokenizer if source.encoder is None else None,
    }
    _check_use({option for option, value in about.items() if value is not None}, form)

    source.check()
    if form is RenderForm.TRAINING:
        with open_outlet(output) as outlet:
            passed = _write_training_template(source, outlet)
        if not passed:
            raise typer.Exit(1)
        return
    check_standard_input(source.source, messages, tools)
    conversation = read_messages(messages) if messages is not None else []
    offered = None if tools is None else read_tools(tools)
    # Any other variables of the template, whose names mypy cannot know.
    switches: dict[str, Any] = {**switch_options.values()}
    template = source.template(tokenizer)
    warn_of_switches(source.label, template, switches)
    prompt = generation_prompt
    if prompt is None:
        # A conversation that ends with an answer asks for no further one.
        prompt = conversation[-1]["role"] != "assistant"
    warn_of_truths(
        source.label,
        switches,
        lambda given: template.render(conversation, offered, prompt, **cast("Any", given)),
    )
    add_hint = partial(_add_hint, template, messages, conversation, offered, prompt, switches)
    failure: TemplateRenderError | None = None
    with open_outlet(output) as outlet:
        if trace:
            variables = template.variables(conversation, offered, prompt, **switches)
            failure = _write_trace(template, variables, outlet, as_json=form is RenderForm.JSON)
        else:
            try:
                if tokens:
                    renderer = _renderer(source, template, tokenizer, switches)
                    as_json = form is RenderForm.JSON
                    _write_tokens(
                        renderer, conversation, offered, outlet, prompt=prompt, as_json=as_json
                    )
                else:
                    # The prompt and nothing else: no newline after it.
                    outlet.text(template.render(conversation, offered, prompt, **switches))
            except TemplateRenderError as error:
                add_hint(error)
                raise
    if failure is not None:
        add_hint(failure)
        # Raised only now: the text rendered before the failure has been printed.
        raise failure


def _add_hint(
    template: wings.ChatTemplate,
    file: Path | None,
    messages: Sequence[Mapping[str, object]],
    tools: Sequence[object] | None,
    prompt: bool,
    switches: Mapping[str, Any],
    failure: TemplateRenderError,
) -> None:
    """Add the way out to the error: a special token, or another form of a message's field."""
    unknown = wings.stand_in_tokens(template, wings.template_suggestions(template))
    # The template may read a special token that nothing here knows, e.g. `bos_token`.
    name = next((token for token in unknown if token in failure.reason), None)
    if failure.hint is not None:
        return
    if name is not None:
        failure.hint = (
            f"name the model's directory, which knows it, or give it: --switch {name}='<s>'"
        )
        return
    found = wings.unrendered_field(
        messages, lambda mended: template.render(mended, tools, prompt, **switches)
    )
    if found is not None:
        failure.hint = f"{file}: {found}: write {found.wanted}"


def _write_trace(
    template: wings.ChatTemplate, variables: Mapping[str, object], outlet: Outlet, *, as_json: bool
) -> TemplateRenderError | None:
    """Write a render step by step, and return the error that ended it, or None."""
    trace = template.step_through(variables)
    if as_json:
        outlet.json(wings.render_trace_document(trace, template))
    else:
        outlet.report(wings.render_trace_report(trace, outlet.width))
    return trace.failure


def _check_use(chosen_options: set[str], form: RenderForm) -> None:
    """Raise AutoparserError for options that contradict each other."""
    if form is RenderForm.TRAINING:
        if chosen_options:
            options = ", ".join(sorted(chosen_options))
            raise AutoparserError(
                f"--format {form} writes the template, not a conversation",
                hint=f"leave out {options}",
            )
        return
    if "--messages" not in chosen_options:
        raise AutoparserError("no conversation to render", hint="add --messages FILE")
    if {"--tokens", "--trace"} <= chosen_options:
        raise excludes("--tokens", "--trace").error
    if form is RenderForm.JSON and not {"--tokens", "--trace"} & chosen_options:
        raise needs(f"--format {form}", "--tokens or --trace").error
    if "--tokenizer" in chosen_options and "--tokens" not in chosen_options:
        raise needs("--tokenizer", "--tokens").error


def _renderer(
    source: NamedSource,
    template: wings.ChatTemplate,
    tokenizer: Path | None,
    switches: Mapping[str, object],
) -> wings.Renderer:
    """Return the renderer of tokens. Raises AutoparserError without a tokenizer."""
    needed = "--tokens needs a tokenizer"
    loaded = source.tokenizer(tokenizer, template, segmenting=True, needed=needed)
    # Special tokens may be given as switches, as in `--switch bos_token='<s>'`.
    special = {key: str(value) for key, value in switches.items() if key.endswith("_token")}
    template = replace(template, special_tokens={**template.special_tokens, **special})
    analysis = source.analysis(template)
    renderer = wings.Renderer(analysis, cast("wings.Tokenizer", loaded), switches=switches)
    _warn_of_stops(source.tokenizer_name(tokenizer), renderer)
    return renderer


def _write_tokens(
    renderer: wings.Renderer,
    messages: Sequence[Mapping[str, object]],
    tools: Sequence[object] | None,
    outlet: Outlet,
    *,
    prompt: bool,
    as_json: bool,
) -> None:
    found = renderer.attribute(messages, tools, add_generation_prompt=prompt)
    rendered, pieces = renderer.tokens(found)
    roles = [str(message["role"]) for message in messages]
    if as_json:
        outlet.json(wings.tokens_document(rendered, pieces, roles, renderer.analysis.template))
    else:
        outlet.report(wings.tokens_report(rendered, pieces, roles, outlet.width))


def _warn_of_stops(tokenizer: str, renderer: wings.Renderer) -> None:
    """Warn of stop strings that the tokenizer splits into several tokens."""
    for stop in renderer.analysis.format.stop_strings:
        size = len(renderer.encode(stop))
        if size > 1:
            print_warning(
                tokenizer,
                f"the stop string {wings.visible(stop)} is {size} tokens,"
                " so the tokenizer may not be the model's",
            )


def _write_training_template(source: NamedSource, outlet: Outlet) -> bool:
    analysis = source.analysis(source.template())
    made: wings.TrainingTemplate = wings.training_template(analysis)
    proof = wings.EditProof(wings.Subject(analysis.template, analysis=analysis))
    # A template with generation markers of its own was not edited.
    same = proof.prove_unchanged(made.template) if made.patched else None
    outlet.text(made.template.text)
    for line in wings.training_lines(made, same):
        print_note(f"{source.label}: {line}")
    return made.proof.passed and (same is None or isinstance(same, wings.ProvenEdit))
