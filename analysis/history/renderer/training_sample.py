"""A trajectory as one row of training data: its ids, what a loss counts, where its calls stand.

Contract: the ids are those that the model was given and has written, none of them made anew. A
prompt that does not begin with what stood before it is an error: nothing could be trained on as
one row without ids that the model has never seen in that place.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autoparser.analysis.reading.expression import RequestError
from autoparser.analysis.reading.parsing import Status

from .response import ReadOutput


@dataclass(frozen=True, slots=True)
class TrajectoryStep:
    """A prompt, and what the model wrote after it."""

    prompt_ids: Sequence[int]
    completion_ids: Sequence[int]
    complete: bool = True
    """False where the output was cut."""


@dataclass(frozen=True, slots=True)
class CallTokens:
    """The tokens that a call stands in, or an attempt at one that failed."""

    start: int
    end: int
    """Exclusive. A token that holds characters of the call and others is in."""
    status: Status


@dataclass(frozen=True, slots=True)
class TrainingSample:
    """One row of training data; ids and mask are as long as each other."""

    token_ids: tuple[int, ...]
    loss_mask: tuple[bool, ...]
    """What the model wrote, up to its stop token, which is in."""
    calls: tuple[CallTokens, ...]
    """Of all its outputs, by their places in the sample."""


def call_tokens(
    output: ReadOutput, ids: Sequence[int], decode: Callable[[Sequence[int]], str], first: int = 0
) -> tuple[CallTokens, ...]:
    """Say in which tokens the calls of an output stand; `first` is the place of its first one."""
    # A stop token may be what closes a call.
    until = len(ids) if output.stop is None else output.stop + 1
    lengths: dict[int, int] = {}

    def length(count: int) -> int:
        if count not in lengths:
            # Of a character that is not whole yet nothing counts.
            lengths[count] = len(decode(ids[:count]).rstrip("\N{REPLACEMENT CHARACTER}"))
        return lengths[count]

    places = range(until + 1)
    return tuple(
        CallTokens(
            first + max(0, bisect_right(places, each.start, key=length) - 1),
            first + min(until, bisect_left(places, each.end, key=length)),
            each.status,
        )
        for each in output.message.attempts
    )


def check_step(at: int, prompt_ids: Sequence[int], so_far: Sequence[int]) -> None:
    """Raise RequestError where a prompt does not begin with what stood before it."""
    prompt = tuple(prompt_ids)
    if prompt[: len(so_far)] == tuple(so_far):
        return
    pairs = zip(prompt, so_far, strict=False)
    parted = next((place for place, (one, other) in enumerate(pairs) if one != other), len(prompt))
    raise RequestError(
        f"the prompt parts from what stands before it at token {parted}",
        place=f"trajectory[{at}].prompt_ids",
        hint="make prompts by bridge_to_next_turn, or a sample of each stretch that holds together",
    )
