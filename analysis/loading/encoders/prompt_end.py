"""Where the next turn begins in what an encoder writes that cannot be asked to leave it out.

Such a function writes the start of the model's turn after every conversation that waits for
one. Two encodings tell it from what ends a user's turn: with one user message V, and with two, U
and V. What stands before V in both is how a user's turn begins; the rest of what stands between
U and V is how one ends; and what follows V beyond that end is the start of the model's turn.
"""

from __future__ import annotations

from collections.abc import Callable

from autoparser.analysis.core.alignment import common_suffix

__all__ = ["generation_prompt"]

U, V = "Uqaz7", "Vwsx8"


def generation_prompt(encode: Callable[[list[object]], str]) -> str:
    """Return the start of the model's turn, as `encode` writes it; empty where it writes none.

    Raises what `encode` raises.
    """
    one = encode([_user(V)])
    two = encode([_user(U), _user(V)])
    if one.count(V) != 1 or two.count(U) != 1 or two.count(V) != 1:
        return ""
    between = two[two.index(U) + len(U) : two.index(V)]
    begin = common_suffix(one[: one.index(V)], between)
    end = between[: len(between) - len(begin)]
    behind = two[two.index(V) + len(V) :]
    return behind.removeprefix(end) if behind.startswith(end) else ""


def _user(text: str) -> object:
    return {"role": "user", "content": text}
