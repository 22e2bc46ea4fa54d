"""Prompts that make a parrot write a script: the script in the user's message, and padding."""

from __future__ import annotations

from collections.abc import Callable

from .parrot import Parrot

PAD = "x"
"""One byte, which is one token of a parrot."""


class ScriptTooLongError(ValueError):
    """A script and what follows it do not fit into the parrot's lag."""


def padded_message(parrot: Parrot, script: str, prompt_of: Callable[[str], str]) -> str:
    """Return the user's message after whose prompt the parrot writes the script.

    `prompt_of` renders the prompt of a message. From the script's first token to the first one
    that is generated there have to be `parrot.lag` tokens. Raises ScriptTooLongError where there
    are more already, and ValueError where the template does not write the script as it is.
    """

    def message(padding: int) -> str:
        # Framed by letters: templates cut the whitespace at the edges of a message.
        return f"Say: {script}{PAD * padding}."

    found = prompt_of(message(0))
    start = found.rfind(script)
    if start < 0:
        raise ValueError(f"the prompt does not hold the script: {script!r}")
    behind = parrot.tokenizer.encode(found[start:]).ids
    missing = parrot.lag - len(behind)
    if missing < 0:
        raise ScriptTooLongError(f"the lag is {parrot.lag}, and {len(behind)} tokens are there")
    return message(missing)
