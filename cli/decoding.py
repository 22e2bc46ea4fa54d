"""The ways in which ``decode`` gets its answers: random, a model, a server; and its tokenizer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .output import warn
from .progress import progress_of
from .source import STANDARD_INPUT

if TYPE_CHECKING:
    from autoparser.analysis.decoding.answer_judge import DecodingReport, DecodingTrial
    from autoparser.analysis.decoding.answer_writers import LoadedModel, ModelFigures, Server
    from autoparser.analysis.decoding.check_vocabulary import MarkerFit
    from autoparser.analysis.formats.learned_format import LearntFormat
    from autoparser.analysis.grammar.request_grammar import Grammar
    from autoparser.analysis.sources.tokenizer import ModelTokenizer

    from .source import NamedSource

__all__ = [
    "Size",
    "by_chance",
    "by_model",
    "by_server",
    "bytes_tokenizer",
    "load_model_of",
    "load_tokenizer_of",
    "warn_of_markers",
]

MADE = "one token a byte, and one for each marker of the template"

OF_SERVER = "the server's own; its text is judged byte by byte"


class Size(NamedTuple):
    """How much is written."""

    answers: int
    seed: int
    limit: int
    """Tokens of an answer."""


def by_chance(trial: DecodingTrial, size: Size) -> DecodingReport:
    """Walk through the grammar."""
    from autoparser.analysis.decoding.answer_judge import judged

    walks = trial.walks(size.answers, seed=size.seed, limit=size.limit)
    with progress_of(size.answers) as advance:
        return judged(walks, trial.judge, advance)


def by_server(trial: DecodingTrial, server: Server, size: Size) -> DecodingReport:
    """Ask a server."""
    from autoparser.analysis.decoding.answer_judge import judged
    from autoparser.analysis.decoding.answer_writers import server_answers

    answers = server_answers(
        trial, server, trial.asked, count=size.answers, seed=size.seed, limit=size.limit
    )
    with progress_of(size.answers) as advance:
        return judged(answers, trial.judge, advance)


def by_model(
    trial: DecodingTrial, model: LoadedModel, size: Size, batch: int
) -> tuple[DecodingReport, ModelFigures]:
    """Ask a model, with the mask and without."""
    from autoparser.analysis.decoding.answer_judge import judged
    from autoparser.analysis.decoding.answer_writers import ModelFigures, ModelWriter

    reports: list[DecodingReport] = []
    speeds: list[float] = []
    with progress_of(2 * size.answers) as advance:
        for masked in (True, False):
            writer = ModelWriter(
                trial,
                model,
                trial.asked,
                batch=batch,
                seed=size.seed,
                limit=size.limit,
                masked=masked,
            )
            reports.append(judged(writer.answers(size.answers), trial.judge, advance))
            speeds.append(writer.tokens_per_second)
    return reports[0], ModelFigures(model.device, batch, speeds[0], speeds[1], reports[1])


def load_model_of(directory: Path, device: str) -> LoadedModel:
    """Load the model, without the bars and the advice of its library."""
    # They are read when it is imported.
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    from autoparser.analysis.decoding.answer_writers import load_model

    return load_model(directory, device)


def load_tokenizer_of(
    given: Path | None,
    model: Path | None,
    asked_for: NamedSource,
    analysis: LearntFormat,
    grammar: Grammar,
    loaded: LoadedModel | None,
    *,
    stops: bool = False,
) -> tuple[ModelTokenizer, str]:
    """Load the tokenizer that was named, or the model's or the source's own; or make one.

    Gives its name beside it. A model's is never made: its tokens are what they are. With `stops`,
    what ends turns ends an answer in the one that is made, too.
    """
    from autoparser.analysis.decoding.check_vocabulary import made_tokenizer
    from autoparser.analysis.sources.tokenizer_loading import tokenizer_of

    if loaded is not None:
        path = given or model or Path()
        return tokenizer_of(path, vocab_size=loaded.width), str(path)
    local = given or _beside(asked_for.source)
    if local is not None and local.exists():
        return tokenizer_of(local), str(local)
    # What is not a path has no directory that declares the end of an answer; the template does.
    found = asked_for.tokenizer(given, analysis.template, segmenting=False)
    if found is None:
        return made_tokenizer(grammar, stops=stops), MADE
    end = analysis.template.special_tokens.get("eos_token")
    return tokenizer_of(found, eos=end), str(given or asked_for.source)


def bytes_tokenizer(grammar: Grammar) -> tuple[ModelTokenizer, str]:
    """Make the tokenizer by which text is judged, and name it."""
    from autoparser.analysis.decoding.check_vocabulary import made_tokenizer

    return made_tokenizer(grammar, markers=False), OF_SERVER


def _beside(source: str | None) -> Path | None:
    """Find the tokenizer of the model that a local source is of."""
    from autoparser.analysis.sources.tokenizer_loading import tokenizer_beside

    beside = None if source in (None, STANDARD_INPUT) else tokenizer_beside(source)
    # A GGUF file and a model on the Hub are their own tokenizers.
    return None if beside is None or beside == source else Path(beside).parent


def warn_of_markers(tokenizer: str, fit: MarkerFit) -> None:
    """Say on standard error that a tokenizer looks like another model's."""
    if not fit.frame:
        return
    from autoparser.reports import visible

    names = ", ".join(map(visible, fit.plain))
    warn(
        tokenizer,
        "this tokenizer may be another model's: these markers of the"
        f" template are not tokens of it, but text: {names}",
    )
