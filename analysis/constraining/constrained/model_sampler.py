"""A sampler that asks a causal model of transformers; needs torch, which is asked for when used.

Logits stay where the model is: the mask travels there as words, and is spread to one value a token
on the device.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.loading.tokens import ModelTokenizer

from .matcher_grammar import GrammarObject
from .walk import WaitingAnswer, Walk, walks

__all__ = [
    "DeviceError",
    "ModelSampler",
    "Speed",
    "apply_mask",
    "choose_device",
    "measure",
]


class DeviceError(AutoparserError):
    """Torch is missing, or the device that was asked for."""


def choose_device(wanted: str = "auto") -> Any:
    """Return torch's device for ``cpu``, ``cuda`` (``cuda:1``), or ``auto``: CUDA where it is.

    Raises ``DeviceError`` where torch or the device is not there.
    """
    torch = _torch()
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
    except RuntimeError as error:
        raise DeviceError(
            f"there is no device {wanted!r}", hint="cpu, cuda or auto can be asked for"
        ) from error
    if device.type not in {"cpu", "cuda"}:
        raise DeviceError(
            f"there is no device {wanted!r}", hint="cpu, cuda or auto can be asked for"
        )
    found = torch.cuda.device_count() if device.type == "cuda" else 1
    if (device.index or 0) >= found:
        raise DeviceError(
            f"the device {wanted} is not there: torch {torch.__version__} sees {found} of CUDA",
            hint="ask for cpu, or for auto",
        )
    return device


def apply_mask(logits: Any, mask: Any) -> Any:
    """Set logits that the mask does not allow to -inf, in place, on their device.

    ``logits`` is ``(rows, width)``, ``mask`` ``(rows, words)`` of int32 on the same device, a bit a
    token; logits after the mask's last word are not allowed.
    """
    torch = _torch()
    places = torch.arange(32, dtype=torch.int32, device=mask.device)
    allowed = (mask.unsqueeze(-1) >> places & 1).flatten(1).bool()[:, : logits.shape[1]]
    logits[:, allowed.shape[1] :] = float("-inf")
    logits[:, : allowed.shape[1]].masked_fill_(~allowed, float("-inf"))
    return logits


class ModelSampler:
    """Samples from a model's distribution under the mask, a batch of answers at once.

    One sampler writes one batch: the key-value cache holds what its answers have so far.
    """

    def __init__(
        self,
        model: Any,
        prompts: Sequence[Sequence[int]],
        *,
        seed: int = 0,
        temperature: float = 1.0,
        masked: bool = True,
        pad_id: int = 0,
    ) -> None:
        """``prompts`` has the tokens of each answer's prompt, none of them empty.

        ``masked=False`` leaves the mask unused: what the model would write by itself.
        """
        torch = _torch()
        self._torch = torch
        self._model = model
        self._device = model.device
        self._masked = masked
        self._temperature = temperature
        self._pad_id = pad_id
        self._generator = torch.Generator(device=self._device).manual_seed(seed)
        self._cache: Any = None
        longest = max(len(prompt) for prompt in prompts)
        # On the left, so that the last column is the last token of every prompt.
        padded = [[pad_id] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
        self._next = torch.tensor(padded, device=self._device)
        real = [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        self._attention = torch.tensor(real, device=self._device)

    def choose(self, turns: Sequence[WaitingAnswer], mask: memoryview) -> Sequence[int]:
        """Choose the next token of each answer; those that have ended are fed padding."""
        torch = self._torch
        rows = self._next.shape[0]
        with torch.inference_mode():
            positions = (self._attention.cumsum(-1) - 1).clamp(min=0)
            output = self._model(
                input_ids=self._next,
                attention_mask=self._attention,
                position_ids=positions[:, -self._next.shape[1] :],
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=1,
            )
            self._cache = output.past_key_values
            logits = output.logits[:, -1].float() / self._temperature
            if self._masked:
                words = torch.frombuffer(mask, dtype=torch.int32).view(rows, -1)
                running = [turn.place for turn in turns]
                logits = logits[running]
                apply_mask(logits, words[running].to(self._device, non_blocking=True))
            else:
                logits = logits[[turn.place for turn in turns]]
            chosen = torch.multinomial(logits.softmax(-1), 1, generator=self._generator)
        tokens: list[int] = chosen.flatten().tolist()
        self._feed(rows, turns, tokens)
        return tokens

    def _feed(self, rows: int, turns: Sequence[WaitingAnswer], tokens: Sequence[int]) -> None:
        """Keep what was chosen as the model's next input."""
        torch = self._torch
        fed = [self._pad_id] * rows
        for turn, token in zip(turns, tokens, strict=True):
            fed[turn.place] = token
        self._next = torch.tensor(fed, device=self._device).unsqueeze(1)
        ones = torch.ones((rows, 1), dtype=self._attention.dtype, device=self._device)
        self._attention = torch.cat([self._attention, ones], dim=1)


@dataclass(frozen=True, slots=True)
class Speed:
    """What a batch of answers cost."""

    walks: tuple[Walk, ...]
    seconds: float

    @property
    def tokens_per_second(self) -> float:
        """Tokens of all answers together, a second."""
        return sum(len(walk.tokens) for walk in self.walks) / self.seconds


def measure(
    grammars: Sequence[GrammarObject],
    tokenizer: ModelTokenizer,
    sampler: ModelSampler,
    limit: int,
) -> Speed:
    """Write a batch of answers and take the time; the device has finished when it is taken."""
    torch = _torch()
    started = perf_counter()
    written = tuple(walks(grammars, tokenizer, sampler, limit))
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return Speed(written, perf_counter() - started)


def _torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise DeviceError(
            "asking a model needs torch, which is not installed",
            hint="install the extra: pip install 'autoparser-chat[gpu]'",
        ) from error
