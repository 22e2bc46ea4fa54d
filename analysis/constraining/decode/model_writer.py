"""Answers of a causal model of transformers, with the mask and without."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from autoparser.analysis.constraining.constrained import (
    ConstraintError,
    FreeGrammar,
    GrammarObject,
    RefusedTokenError,
)
from autoparser.analysis.constraining.constrained.model_sampler import (
    DeviceError,
    ModelSampler,
    choose_device,
    measure,
)
from autoparser.analysis.core.errors import AutoparserError

from .answers import DecodedAnswer, DecodingReport
from .decoding_trial import DecodingTrial

WARM_UP = 2
"""Tokens that are written before the time is taken: the first ones load what the device runs."""


class ModelError(AutoparserError):
    """A model cannot be loaded."""


@dataclass(frozen=True)
class LoadedModel:
    """A model on its device."""

    network: Any
    """A `PreTrainedModel`."""
    device: str
    """The device's own name where it has one."""

    @property
    def width(self) -> int:
        """How many tokens its logits are for."""
        width: int = self.network.config.get_text_config().vocab_size
        return width


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """What a model's answers cost, and what it wrote without the mask."""

    device: str
    batch: int
    """Answers that were written side by side."""
    tokens_per_second: float
    """Of all answers of a batch together, under the mask."""
    unmasked_tokens_per_second: float
    unmasked: DecodingReport


def load_model(directory: Path, device: str) -> LoadedModel:
    """Load a model from its directory; nothing is fetched.

    `device` is cpu, cuda, or auto. Raises DeviceError where torch, transformers or the device is
    missing, ModelError where there is no model.
    """
    chosen = choose_device(device)
    try:
        transformers: Any = importlib.import_module("transformers")
    except ImportError as error:
        raise DeviceError(
            "asking a model needs transformers, which is not installed",
            hint="install the extra: pip install 'autoparser-chat[gpu]'",
        ) from error
    if not (directory / "config.json").is_file():
        raise ModelError(
            "there is no model here",
            file=str(directory),
            hint="name a directory with a config.json and the weights",
        )
    try:
        network = transformers.AutoModelForCausalLM.from_pretrained(
            str(directory), local_files_only=True, dtype="auto"
        )
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"cannot be loaded: {error}", file=str(directory)) from error
    return LoadedModel(network.eval().to(chosen), _name(chosen))


def _name(device: Any) -> str:
    if device.type != "cuda":
        return str(device)
    torch: Any = importlib.import_module("torch")
    return str(torch.cuda.get_device_name(device))


class ModelWriter:
    """Writes a model's answers to one prompt, and takes the time."""

    def __init__(
        self,
        trial: DecodingTrial,
        model: LoadedModel,
        prompt: str,
        *,
        batch: int,
        seed: int,
        limit: int,
        masked: bool = True,
    ) -> None:
        """`limit` is in tokens of an answer; `masked=False` lets the model write what it likes."""
        self._trial = trial
        self._model = model
        self._prompt = trial.tokenizer.encode(prompt) or [trial.tokenizer.eos_id]
        self._batch = batch
        self._seed = seed
        self._limit = limit
        self._masked = masked
        self._tokens = 0
        self._seconds = 0.0

    def answers(self, count: int) -> Iterator[DecodedAnswer]:
        """Write so many answers, a batch at a time; each batch has a seed of its own."""
        self._written(1, self._seed, WARM_UP)
        for start in range(0, count, self._batch):
            size = min(self._batch, count - start)
            answers, seconds = self._written(size, self._seed + start, self._limit)
            self._tokens += sum(len(answer.tokens) for answer in answers)
            self._seconds += seconds
            for at, answer in enumerate(answers, start):
                yield replace(answer, name=f"answer {at}")

    @property
    def tokens_per_second(self) -> float:
        """Tokens of all answers of a batch together, a second; 0 before any was written."""
        return self._tokens / self._seconds if self._seconds else 0.0

    def _written(self, size: int, seed: int, limit: int) -> tuple[list[DecodedAnswer], float]:
        tokenizer = self._trial.tokenizer
        grammars: list[GrammarObject] = [
            self._trial.compiled.clone() if self._masked else FreeGrammar(tokenizer)
            for _ in range(size)
        ]
        sampler = ModelSampler(
            self._model.network, [self._prompt] * size, seed=seed, masked=self._masked
        )
        try:
            done = measure(grammars, tokenizer, sampler, limit)
        except (ConstraintError, RefusedTokenError) as error:
            return [DecodedAnswer("", "", broken=str(error))] * size, 0.0
        answers = [
            DecodedAnswer(
                "", walk.text, walk.tokens, walk.ended, walk.forced if self._masked else 0
            )
            for walk in done.walks
        ]
        return answers, done.seconds
