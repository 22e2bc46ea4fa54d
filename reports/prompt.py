"""Whether a prompt ends as a template's prompts do."""

from __future__ import annotations

from autoparser.analysis.core.turn_format import Formats

from .visible import shown

__all__ = ["prompt_warning"]

TAIL = 60


def prompt_warning(formats: Formats, prompt: str) -> str | None:
    """Say what a prompt was expected to end with; None where it does, or nothing is expected.

    Whitespace at the end does not count: a file often ends in a newline of its own.
    """
    format_ = formats.fullest
    expected = list(dict.fromkeys(opening.text for opening in formats.openings))
    cores = [text.rstrip() for text in expected if text.strip()]
    if not cores or formats.behind(prompt):
        return None
    reasoning = format_.reasoning
    if reasoning is not None and reasoning.opened_by(prompt) is not None:
        return None
    wanted = " or ".join(f"`{shown(text)}`" for text in expected if text.strip())
    ends = f"ends with `{shown(prompt[-TAIL:])}`" if prompt else "is empty"
    header = format_.header.strip()
    taken = ""
    behind = prompt.rpartition(header)[2] if header else ""
    if header and header in prompt and not any(stop in behind for stop in format_.stop_strings):
        taken = "; what follows the last header is taken for the beginning of the message"
    return f"the prompt {ends}, but this template's prompts end with {wanted}{taken}"
