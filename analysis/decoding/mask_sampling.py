"""Sample under masks: a grammar object allows tokens, a sampler chooses among them.

The loop is that of an engine: masks are filled for all unfinished answers, the sampler
chooses a token for each, and each grammar accepts its token; an answer ends with a token that ends
it, or at the limit. `RandomSampler` needs no model; `ModelSampler` asks one of transformers.

For example, under the regex `(yes|no)!`, with a token for each byte, only the first token is a
choice; the other two and the end are forced:

    masked_walk(grammar, tokenizer, RandomSampler(tokenizer, seed=1), limit=20)
    MaskedWalk(tokens=(77, 78, 0), text='no!', ended=True, forced=3)
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from time import perf_counter
from typing import Any, Protocol

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.sources.tokenizer import ModelTokenizer

from .constraints import ConstraintError
from .matcher_grammar import (
    GrammarObject,
    MaskRow,
    allowed_tokens,
    count_allowed,
    is_allowed,
    mask_row,
    new_mask,
)


@dataclass(frozen=True, slots=True)
class MaskedWalk:
    """One answer, written under a mask."""

    tokens: tuple[int, ...]
    """The tokens, without the one that ends the answer, e.g. `(28, 86, 157, 108, 227)`."""
    text: str
    """The tokens' text, e.g. `"Hello."`."""
    ended: bool
    """Whether it ended where the grammar allows it, not at the limit."""
    forced: int
    """Number of tokens that were the only ones allowed, the end among them, e.g. 2."""


@dataclass(frozen=True, slots=True)
class WaitingAnswer:
    """An answer that waits for its next token."""

    place: int
    """The index of the answer, e.g. 0."""
    tokens: Sequence[int]
    """The tokens written so far, e.g. `[189, 33, 132]`."""
    row: MaskRow
    """Its row of the mask, e.g. of 9 words."""


class TokenSampler(Protocol):
    """Protocol for token samplers: random, or a model."""

    def choose(self, turns: Sequence[WaitingAnswer], mask: memoryview) -> Sequence[int]:
        """Choose the next token of each unfinished answer, among those its row allows.

        ``mask`` is all rows, ``(answers, words)`` of int32; each turn's ``row`` is one of them.
        """
        ...


def masked_walk(
    grammar: GrammarObject, tokenizer: ModelTokenizer, sampler: TokenSampler, limit: int
) -> MaskedWalk:
    """Write one answer of at most ``limit`` tokens; see ``masked_walks``."""
    return masked_walks([grammar], tokenizer, sampler, limit)[0]


def masked_walks(
    grammars: Sequence[GrammarObject],
    tokenizer: ModelTokenizer,
    sampler: TokenSampler,
    limit: int,
) -> list[MaskedWalk]:
    """Write an answer for each of ``grammars`` (fresh objects, changed here), side by side.

    Raises ``ConstraintError`` if a grammar allows no token at all, and ``RefusedTokenError``
    if it refuses one that its mask allowed: both are faults of the grammar.
    """
    if not grammars:
        return []
    mask = new_mask(len(grammars), tokenizer.mask_words)
    rows = [mask_row(mask, place) for place in range(len(grammars))]
    written: list[list[int]] = [[] for _ in grammars]
    forced = [0] * len(grammars)
    ended: set[int] = set()
    # One more step than tokens, so that an answer of exactly `limit` tokens can still end.
    for _ in range(limit + 1):
        running = [
            place
            for place in range(len(grammars))
            if place not in ended and len(written[place]) <= limit
        ]
        if not running:
            break
        for place in running:
            grammars[place].fill_vocab_mask(mask, place)
            forced[place] += _only_one(rows[place], written[place])
        turns = [WaitingAnswer(place, written[place], rows[place]) for place in running]
        for place, token in zip(running, sampler.choose(turns, mask), strict=True):
            grammars[place].accept_token(token)
            if token in tokenizer.eos_ids:
                ended.add(place)
            else:
                written[place].append(token)
    return [
        MaskedWalk(
            tuple(tokens[:limit]),
            tokenizer.decode(tokens[:limit]),
            place in ended,
            forced[place],
        )
        for place, tokens in enumerate(written)
    ]


def _only_one(row: MaskRow, token_ids: Sequence[int]) -> bool:
    """Return whether the row allows exactly one token; raises if it allows none."""
    count = count_allowed(row)
    if not count:
        raise ConstraintError("the grammar allows no token", place=f"after {len(token_ids)} tokens")
    return count == 1


# A sampler that needs no model: random tokens that reach an end.
#
# Uniform sampling over the mask alone would practically never end: of a hundred thousand tokens
# that may stand in a string, one closes it. So each step takes the first of these that is allowed:
#
# 1. a begun closing text is continued; 2. where the answer may end, it does with probability
# ``ending``; 3. with probability ``closing``, and more likely the longer the answer is, a closing
# text is written (``closers``: by default the texts that close JSON's values; pass a format's own,
# such as the ends of its arguments); 4. else any allowed token, all equally likely.


JSON_CLOSERS = ('"', "]", "}")

PATIENCE = 2000
"""Divides the length of an answer in tokens to give its probability of closing."""
MOST = 0.6
"""Maximum of that probability: the right close may be a text that the sampler does not know."""
TRIES = 16
"""Draws from the whole vocabulary before the allowed tokens are listed."""


class RandomSampler:
    """Draws tokens from the mask, the same ones for the same seed."""

    def __init__(
        self,
        tokenizer: ModelTokenizer,
        seed: int,
        *,
        ending: float = 0.2,
        closing: float = 0.2,
        closers: Sequence[str] = JSON_CLOSERS,
    ) -> None:
        """``closers`` are texts; a tag that is an added token is written as that token."""
        self._tokenizer = tokenizer
        self._random = Random(seed)
        self._ending = ending
        self._closing = closing
        self._closers = [tokenizer.encode_marked(closer) for closer in closers if closer]
        self._closers_begun: dict[int, list[int]] = {}

    def choose(self, turns: Sequence[WaitingAnswer], mask: memoryview) -> Sequence[int]:  # noqa: ARG002 - the protocol's
        """Choose the next token of each answer."""
        return [self._choose(turn) for turn in turns]

    def _choose(self, turn: WaitingAnswer) -> int:
        begun = self._closers_begun.pop(turn.place, [])
        # A closing text begun before the first token belongs to an earlier answer.
        if begun and turn.tokens and is_allowed(turn.row, begun[0]):
            return self._go_on(turn, begun)
        ends = [token for token in self._tokenizer.eos_ids if is_allowed(turn.row, token)]
        if ends and self._random.random() < self._ending:
            return self._random.choice(ends)
        closing = max(self._closing, min(MOST, len(turn.tokens) / PATIENCE))
        if self._random.random() < closing:
            possible = [closer for closer in self._closers if is_allowed(turn.row, closer[0])]
            if possible:
                return self._go_on(turn, self._random.choice(possible))
        return self._any(turn.row)

    def _go_on(self, turn: WaitingAnswer, text: list[int]) -> int:
        if text[1:]:
            self._closers_begun[turn.place] = text[1:]
        return text[0]

    def _any(self, row: MaskRow) -> int:
        for _ in range(TRIES):
            token = self._random.randrange(self._tokenizer.vocab_size)
            if is_allowed(row, token):
                return token
        return self._random.choice(list(allowed_tokens(row)))


# A sampler that asks a causal model of transformers; needs torch, which is imported when used.
#
# Logits stay on the model's device: the mask travels there as words, and is expanded to one value a
# token on the device.


class DeviceError(AutoparserError):
    """Torch is missing, or the requested device."""


def choose_device(wanted: str) -> Any:
    """Return torch's device for ``cpu``, ``cuda`` (``cuda:1``), or ``auto``: CUDA if available.

    Raises ``DeviceError`` if torch or the device is not available.
    """
    torch = _torch()
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
    except RuntimeError:
        device = None
    if device is None or device.type not in {"cpu", "cuda"}:
        raise DeviceError(f"unknown device {wanted!r}", hint="choose from cpu, cuda and auto")
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

    A sampler writes one batch: the key-value cache holds its answers so far.
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

        With ``masked=False`` the mask is ignored: the model writes unconstrained.
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
        # Left padding, so that the last column is the last token of every prompt.
        padded = [[pad_id] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
        self._next = torch.tensor(padded, device=self._device)
        real = [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        self._attention = torch.tensor(real, device=self._device)

    def choose(self, turns: Sequence[WaitingAnswer], mask: memoryview) -> Sequence[int]:
        """Choose the next token of each answer; finished answers are fed padding."""
        torch = self._torch
        rows = self._next.shape[0]
        with torch.inference_mode():
            # Padding takes no positions: each prompt's first token is at 0.
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
        """Keep the chosen tokens as the model's next input."""
        torch = self._torch
        fed = [self._pad_id] * rows
        for turn, token in zip(turns, tokens, strict=True):
            fed[turn.place] = token
        self._next = torch.tensor(fed, device=self._device).unsqueeze(1)
        ones = torch.ones((rows, 1), dtype=self._attention.dtype, device=self._device)
        self._attention = torch.cat([self._attention, ones], dim=1)


@dataclass(frozen=True, slots=True)
class WalkSpeed:
    """The time that a batch of answers took."""

    walks: tuple[MaskedWalk, ...]
    """The answers, in the batch's order, such as one of the tokens `(267, 66, 72, …)`."""
    seconds: float
    """The time in seconds that all of them took, e.g. 7.26."""


def measure_walks(
    grammars: Sequence[GrammarObject],
    tokenizer: ModelTokenizer,
    sampler: ModelSampler,
    limit: int,
) -> WalkSpeed:
    """Write a batch of answers and measure the time, which includes the device's work."""
    torch = _torch()
    started = perf_counter()
    written = tuple(masked_walks(grammars, tokenizer, sampler, limit))
    # CUDA runs asynchronously, so the device may still be at work.
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return WalkSpeed(written, perf_counter() - started)


def _torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise DeviceError(
            "sampling from a model needs torch, which is not installed",
            hint="install the extra: pip install '.[gpu]' in a checkout",
        ) from error
