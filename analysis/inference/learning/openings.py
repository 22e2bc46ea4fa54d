"""Generation prompts: what they have already written of the turn, under each setting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from autoparser.analysis.core.alignment import common_prefix
from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.format import Block, Literal, Opening, Written
from autoparser.analysis.inference.probing import Prober, Setting

from .observer import Observer


class PromptText(NamedTuple):
    """What `add_generation_prompt` adds under a setting."""

    setting: Setting
    text: str
    tools: bool = True
    """Whether tools are offered; so without tools is told apart only where that differs."""
    signs: tuple[str, ...] = ()
    """Texts before the turn by which the prompt is told from those of other formats."""


def prompt_text(prober: Prober, setting: Setting, *, tools: bool = True) -> str | None:
    """Return what `add_generation_prompt` adds; None where the prompt cannot be rendered.

    Where the template writes something else without it, such as the token that ends a training
    example, what both begin with is cut off, but no marker is cut in two.
    """
    alone = prober.probe((prober.user,), tools=tools, setting=setting)
    prompt = prober.probe((prober.user,), tools=tools, generation=True, setting=setting)
    if not prompt.rendered:
        return None
    if alone.rendered and prompt.text == alone.text:
        return _unasked(prober, setting) if tools else ""
    if alone.rendered and prompt.text.startswith(alone.text):
        return prompt.text[len(alone.text) :]
    user = prober.sentinels.user
    end = prompt.text.rfind(user) + len(user)
    shared = len(common_prefix(prompt.text, alone.text)) if alone.rendered else end
    return prompt.text[max(shared, end) :]


def _unasked(prober: Prober, setting: Setting) -> str:
    """Return the generation prompt that a template writes whether it is asked for or not.

    It may begin turns with calls alone, as one that has closed the reasoning.
    """
    observer = Observer(prober.using(setting=setting))
    behind = observer.behind
    if not behind:
        return ""
    shown = (observer.shown(Presence(content=True)), observer.shown(Presence(calls=True)))
    return behind if any(turn.text.startswith(behind) for turn in shown) else ""


def prompts_under(prober: Prober, settings: Sequence[Setting]) -> tuple[PromptText, ...]:
    """Return every setting's generation prompt, and the one without tools where it is another."""
    return tuple(prompt for setting in settings for prompt in _prompts(prober, setting))


def _prompts(prober: Prober, setting: Setting) -> Iterator[PromptText]:
    text = prompt_text(prober, setting)
    if text is not None:
        yield PromptText(setting, text)
    bare = prompt_text(prober, setting, tools=False)
    # Templates that know nothing but tools write no prompt without them.
    if bare and bare != text:
        yield PromptText(setting, bare, tools=False)


def describe_openings(
    prompts: Sequence[PromptText], header: str, reasoning: Block | None
) -> tuple[Opening, ...]:
    """Say of each generation prompt how much of the turn it has written."""
    return tuple(
        Opening(
            dict(prompt.setting),
            prompt.text,
            written_by(prompt.text, header, reasoning),
            prompt.tools,
            prompt.signs,
        )
        for prompt in prompts
    )


_UNKNOWN = Block(Literal(), Literal())


def written_by(text: str, header: str, reasoning: Block | None) -> Written:
    """Say how much of a turn the text has written that begins it."""
    reasoning = reasoning or _UNKNOWN
    if not text:
        return Written.NOTHING
    if text == header or (text.strip() == header.strip() and header.strip()):
        return Written.HEADER
    if header.startswith(text):
        return Written.PART_OF_HEADER
    head = header.strip()
    if head not in text:
        return Written.OTHER
    rest = (text[text.rindex(head) + len(head) :] if head else text).strip()
    opening, close = reasoning.open.core, reasoning.close.core
    if opening and rest == opening:
        return Written.REASONING_OPEN
    if close and rest.endswith(close) and (not opening or rest.startswith((opening, close))):
        return Written.REASONING_CLOSED
    return Written.OTHER
