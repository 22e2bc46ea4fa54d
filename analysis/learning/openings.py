"""Generation prompts: what they have already written of the turn, under each setting."""

from __future__ import annotations

from collections.abc import Sequence

from autoparser.analysis.alignment import prefix_length
from autoparser.analysis.format import Opening, Written
from autoparser.analysis.probing import Prober, Setting

from .switches import Effect, Switch


def prompt_text(prober: Prober, setting: Setting) -> str | None:
    """Give what `add_generation_prompt` adds; None where the prompt cannot be rendered."""
    alone = prober.probe((prober.user,), setting=setting)
    prompt = prober.probe((prober.user,), generation=True, setting=setting)
    if not prompt.rendered:
        return None
    if alone.rendered and prompt.text.startswith(alone.text):
        return prompt.text[len(alone.text) :]
    user = prober.sentinels.user
    end = prompt.text.rfind(user) + len(user)
    shared = prefix_length(prompt.text, alone.text) if alone.rendered else end
    return prompt.text[max(shared, end) :]


def opening_settings(prober: Prober, switches: Sequence[Switch]) -> list[Setting]:
    """Give the settings whose generation prompts may differ: the defaults first."""
    settings: list[Setting] = [{}]
    if prober.setting:
        settings.append(prober.setting)
    for switch in switches:
        if Effect.GENERATION_PROMPT in switch.changes and not switch.inserted:
            for value in switch.values:
                setting = {switch.name: value}
                if setting not in settings:
                    settings.append(setting)
    return settings


def describe_openings(
    texts: Sequence[tuple[Setting, str]], header: str, reasoning_open: str, reasoning_close: str
) -> tuple[Opening, ...]:
    """Say of each generation prompt how much of the turn it has written."""
    return tuple(
        Opening(dict(setting), text, _written(text, header, reasoning_open, reasoning_close))
        for setting, text in texts
    )


def _written(text: str, header: str, opening: str, close: str) -> Written:
    if not text:
        return Written.NOTHING
    if text == header or (text.strip() == header.strip() and header.strip()):
        return Written.HEADER
    if header.startswith(text):
        return Written.PART_OF_HEADER
    head = header.strip()
    if head not in text:
        return Written.OTHER
    rest = text[text.rindex(head) + len(head) :].strip()
    opening, close = opening.strip(), close.strip()
    if opening and rest == opening:
        return Written.REASONING_OPEN
    if close and rest.endswith(close) and (not opening or rest.startswith((opening, close))):
        return Written.REASONING_CLOSED
    return Written.OTHER
