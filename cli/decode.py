"""``autoparser decode``: answers sampled under the grammar, each of them judged.

Options that depend on each other are checked before a template is read:

    $ autoparser decode chat_template.jinja --device cpu
    --device needs --model; add --model DIR
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from autoparser.analysis.templates.worker_limits import Limits

from . import wings
from .options import (
    LoosenOption,
    ResultOptions,
    ServerOptions,
    ServerTimeoutOption,
    TokenizerOption,
    excludes,
    help_order,
    needs,
    option_rules,
)
from .output import print_warning, progress_bar
from .request import ChatRequestOptions, RequestValues, warn_of_loosening, warn_of_request
from .source import LearnedSource, NamedSource

FAULTS = 1
"""The exit code if any answer has a fault."""


BATCH = 8
"""Outputs that a model samples at once, without `--batch`."""


@help_order(
    "tools tokenizer walks seed limit tool_choice no_parallel json_schema prompt "
    "model device batch server engine served_model server_timeout loosen free_reasoning show "
    "chat_template_kwargs switch"
)
@option_rules(
    needs("--device", "--model", "DIR"),
    needs("--batch", "--model", "DIR"),
    excludes("--model", "--server"),
    excludes("--tokenizer", "--server", "a server's text is checked without a tokenizer"),
    excludes("--free-reasoning", "--server"),
    needs("--server", "--engine", f"NAME, one of {', '.join(wings.ServerEngine)}"),
    needs("--engine", "--server", "URL"),
)
def decode(
    *,
    request_options: ChatRequestOptions,
    tokenizer: TokenizerOption = None,
    walks: Annotated[int, typer.Option(metavar="N", min=1, help="Number of outputs.")] = 50,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the first output.")] = 0,
    limit: Annotated[
        int,
        typer.Option(metavar="TOKENS", min=1, help="Truncate each output after this many tokens."),
    ] = 4000,
    model: Annotated[
        Path | None,
        "DIR",
        "Directory of a model that samples, by transformers. [default: tokens are random]",
    ] = None,
    device: Annotated[
        str | None, "DEVICE", "Where the model runs: auto, cpu or cuda. [default: auto]"
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help=f"Outputs that the model samples at once. [default: {BATCH}]"
        ),
    ] = None,
    backend: ServerOptions,
    server_timeout: ServerTimeoutOption = 120.0,
    loosen: LoosenOption = False,
    free_reasoning: Annotated[
        bool, "Leave the reasoning unconstrained; the grammar starts after it."
    ] = False,
    show: Annotated[bool, "Show every output and its verdict."] = False,
    source: LearnedSource,
    result: ResultOptions,
    limits: Limits | None = None,
) -> int:
    """Sample under the grammar and verify every output.

    Each output must be accepted by the grammar, end, parse as one message without stray text, and
    have arguments that match their schemas, formats included. The template then renders the message
    as the next turn: an output is clean if the same text follows the prompt. Messages that a
    template drops, rewrites or cannot render are counted separately. Without --tools no calls are
    sampled; without a tokenizer, one is built from the bytes and the template's markers.

    Exit code: 0 if every output is right, 1 if one is not or the template loses text of
    OpenAI-style messages, 2 if nothing can be sampled.
    """
    result.check()
    source.check()
    request = request_options.read()
    offered, given, setting = request.tools or [], request.prompt, request.setting

    analysis = source.learned_format(tokenizer, isolate=limits)
    warn_of_request(source.label, analysis, request)
    turns = _following_turns(source.label, analysis, request)
    # Without --prompt, outputs follow the prompt that the template renders for these tools.
    if given is None and isinstance(turns, wings.TemplateTurns) and turns.prompted.rendered:
        request = request.with_values(prompt=turns.prompt)
    options = request.options
    # Judge free answers, too, by whether the template would render them like this.
    grammar = replace(
        analysis.grammar(offered, chat_template_kwargs=setting, **options, loosen=loosen),
        as_written=True,
    )
    if loosen:
        warn_of_loosening(
            source.label, grammar.loosened("lark" if backend.server is None else "gbnf")
        )
    parser = analysis.parser(offered, chat_template_kwargs=setting, **options)
    loaded = None if model is None else _load_quietly(model, device or "auto")
    # A server returns text, whose tokens are unknown: it is checked byte by byte.
    ours, named = wings.made_tokenizer(grammar, markers=False), OF_SERVER
    if backend.server is None:
        # A model's directory has its tokenizer.
        named_path = tokenizer or (None if loaded is None else model)
        ours, named = _decode_tokenizer(
            named_path, source, analysis, grammar, loaded, stops=free_reasoning
        )
    begun = analysis.begun(offered, prompt=request.prompt, chat_template_kwargs=setting)[0]
    trial = wings.DecodingTrial(begun, grammar, parser, ours, turns, given, free_reasoning)
    # The tokens of a server are unknown, so how well markers fit them is unknown, too.
    fit = wings.MarkerFit() if backend.server is not None else trial.fit
    _warn_of_markers(named, fit)
    figures, words = None, f"the model {model}"
    if loaded is not None:
        report, figures = _judge_model(trial, loaded, walks, seed, limit, batch or BATCH)
    else:
        answers, words = trial.walks(walks, seed=seed, limit=limit), "at random"
        if backend.server is not None and backend.engine is not None:
            words = f"{backend.engine} at {backend.server}"
            server = wings.CompletionServer(
                backend.server, backend.engine, backend.served_model, server_timeout
            )
            answers = wings.server_answers(
                trial, server, trial.model_prompt, count=walks, seed=seed, limit=limit
            )
        with progress_bar(walks) as advance:
            report = wings.judge_answers(answers, trial.judge, advance)
    if offered and request.tool_choice == "auto" and report.answers and not report.calls:
        # The outputs may well be clean, so the report alone would not show that no call was tried.
        print_warning(source.label, "no output has a call; --tool-choice required samples calls")
    setting_used = wings.DecodeSetting(
        named, words, seed, limit, fit.plain, figures, free_reasoning, analysis.spoiled
    )
    result.write(
        partial(wings.decode_document, report, setting_used, analysis.template),
        partial(wings.decode_report, report, setting_used, answers=show),
    )
    return 0 if report.ok and analysis.spoiled is None else FAULTS


MADE = "one token per byte, and one per marker of the template"
"""The name of a tokenizer that is made for the template."""

OF_SERVER = "the server's own; its text is checked byte by byte"
"""The name of a server's tokenizer in the report."""


def _following_turns(
    label: str, analysis: wings.Analysis | wings.SavedFormat, request: RequestValues
) -> wings.TemplateTurns | wings.NoTurns:
    """Return the template's turns after a request's prompt, or none, with a warning."""
    if isinstance(analysis, wings.SavedFormat):
        print_warning(label, "a saved format has no template to re-render the outputs")
        return wings.NoTurns("a saved format has no template that would write it again")
    return analysis.turns(
        request.tools or [], prompt=request.prompt, chat_template_kwargs=request.setting
    )


def _judge_model(
    trial: wings.DecodingTrial,
    model: wings.LoadedModel,
    count: int,
    seed: int,
    limit: int,
    batch: int,
) -> tuple[wings.DecodingReport, wings.ModelFigures]:
    """Judge the answers of a model, with the mask and without."""
    reports: list[wings.DecodingReport] = []
    speeds: list[float] = []
    with progress_bar(2 * count) as advance:
        # The unmasked outputs show what the grammar changes, and what the mask costs.
        for masked in (True, False):
            writer = wings.ModelWriter(
                trial, model, trial.model_prompt, batch=batch, seed=seed, limit=limit, masked=masked
            )
            reports.append(wings.judge_answers(writer.answers(count), trial.judge, advance))
            speeds.append(writer.tokens_per_second)
    return reports[0], wings.ModelFigures(model.device, batch, speeds[0], speeds[1], reports[1])


def _load_quietly(directory: Path, device: str) -> wings.LoadedModel:
    """Load the model without the progress bars and warnings of its library."""
    # transformers reads these variables when it is imported.
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    return wings.load_model(directory, device)


def _decode_tokenizer(
    tokenizer_path: Path | None,
    source: NamedSource,
    analysis: wings.LearnedFormat,
    grammar: wings.Grammar,
    loaded: wings.LoadedModel | None,
    *,
    stops: bool = False,
) -> tuple[wings.ModelTokenizer, str]:
    """Load the named tokenizer, or the model's or the source's own, or make one.

    Returns it with its name. A `loaded` model's tokenizer is never made: its tokens are fixed. With
    `stops`, the stop strings also end an answer in a made one.
    """
    if loaded is not None:
        path = tokenizer_path or Path()
        # A model's logits may be wider than the vocabulary of its tokenizer.
        return wings.tokenizer_of(path, vocab_size=loaded.width), str(path)
    # A GGUF file or a model on the Hub contains its own tokenizer.
    beside = source.beside
    local = tokenizer_path or (None if beside in (None, source.source) else Path(beside).parent)
    if local is not None and local.exists():
        return wings.tokenizer_of(local), str(local)
    # Only a local directory declares the token that ends an answer; otherwise the template does.
    found = source.tokenizer(tokenizer_path, analysis.template, segmenting=False)
    if found is None:
        return wings.made_tokenizer(grammar, stops=stops), MADE
    end = analysis.template.special_tokens.get("eos_token")
    return wings.tokenizer_of(found, eos=end), str(tokenizer_path or source.source)


def _warn_of_markers(tokenizer: str, fit: wings.MarkerFit) -> None:
    """Warn of a tokenizer that seems to belong to another model."""
    if not fit.frame:
        return
    names = ", ".join(map(wings.visible, fit.plain))
    print_warning(
        tokenizer,
        "the tokenizer may belong to another model: it has no tokens for these markers of the"
        f" template: {names}",
    )
