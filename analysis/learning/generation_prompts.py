"""Read generation prompts: the part of a turn that each has already written.

`prompts_under` renders the prompt of every setting; once T3 knows the header of turns,
`describe_openings` compares them with it, and `read_prompts` searches them for the markers of
reasoning that no turn shows. For example the prompts

    <|assistant|><think>                          thinking on
    <|assistant|><think></think>                  thinking off

continue one another: the first leaves a block open that the second closes, so `<think>` and
`</think>` enclose reasoning, although no message of the template's shows any.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.message_shape import Setting
from autoparser.analysis.core.text_alignment import (
    MarkerBlock,
    TemplateLiteral,
    common_prefix,
    edge_units,
    is_unit,
)
from autoparser.analysis.core.turn_shape import PromptProgress, TurnOpening

from .observer import Observer
from .prober import Prober


class PromptText(NamedTuple):
    """The text that `add_generation_prompt` adds under a setting."""

    setting: Setting
    """The values set, e.g. `{"enable_thinking": False}`."""
    text: str
    r"""E.g. `"<|im_start|>assistant\n<think>\n\n</think>\n\n"`."""
    tools: bool = True
    """Whether tools are offered; the prompt without tools is listed only if it differs."""
    signs: tuple[str, ...] = ()
    """Texts before the turn that prompts of other formats lack, e.g.
    instructions on how to write calls."""


def prompt_text(prober: Prober, setting: Setting, *, tools: bool = True) -> str | None:
    """Return the text that `add_generation_prompt` adds, or None if the prompt does not render.

    If the template writes something else without it, such as the token that ends a training
    example, the common prefix is cut off, but no marker is cut in two.
    """
    # The prompt is what `add_generation_prompt=True` adds to the same conversation.
    alone = prober.probe((prober.user,), tools=tools, setting=setting)
    prompt = prober.probe((prober.user,), tools=tools, generation=True, setting=setting)
    if not prompt.rendered:
        return None
    # Equal texts may mean no prompt, or one that `add_generation_prompt` does not control.
    if alone.rendered and prompt.text == alone.text:
        return _unconditional_prompt(prober, setting) if tools else ""
    if alone.rendered and prompt.text.startswith(alone.text):
        return prompt.text[len(alone.text) :]
    # The texts diverge earlier, but at least the text after the user's words belongs to the prompt.
    user = prober.sentinels.user
    end = prompt.text.rfind(user) + len(user)
    shared = len(common_prefix(prompt.text, alone.text)) if alone.rendered else end
    return prompt.text[max(shared, end) :]


def _unconditional_prompt(prober: Prober, setting: Setting) -> str:
    """Return the generation prompt that a template writes unconditionally.

    It may begin only turns with calls, as one that has closed the reasoning.
    """
    observer = Observer(prober.using(setting=setting))
    behind = observer.behind
    if not behind:
        return ""
    shown = (observer.sample(Presence(content=True)), observer.sample(Presence(calls=True)))
    return behind if any(turn.text.startswith(behind) for turn in shown) else ""


def prompts_under(prober: Prober, settings: Sequence[Setting]) -> tuple[PromptText, ...]:
    """Return every setting's generation prompt, and the one without tools if it differs."""
    return tuple(prompt for setting in settings for prompt in _prompts_of_setting(prober, setting))


def _prompts_of_setting(prober: Prober, setting: Setting) -> Iterator[PromptText]:
    text = prompt_text(prober, setting)
    if text is not None:
        yield PromptText(setting, text)
    bare = prompt_text(prober, setting, tools=False)
    # A template that only handles tools renders no prompt without them.
    if bare and bare != text:
        yield PromptText(setting, bare, tools=False)


def describe_openings(
    prompts: Sequence[PromptText], header: str, reasoning: MarkerBlock | None
) -> tuple[TurnOpening, ...]:
    """Return how much of the turn each generation prompt has written."""
    return tuple(
        TurnOpening(
            dict(prompt.setting),
            prompt.text,
            written_by(prompt.text, header, reasoning),
            prompt.tools,
            prompt.signs,
        )
        for prompt in prompts
    )


_UNKNOWN = MarkerBlock(TemplateLiteral(), TemplateLiteral())


def written_by(text: str, header: str, reasoning: MarkerBlock | None) -> PromptProgress:
    """Return how much of a turn its beginning `text` has written."""
    reasoning = reasoning or _UNKNOWN
    if not text:
        return PromptProgress.NOTHING
    # Whitespace may differ: some templates write the line break with the turn, not the prompt.
    if text == header or (text.strip() == header.strip() and header.strip()):
        return PromptProgress.HEADER
    if header.startswith(text):
        return PromptProgress.PART_OF_HEADER
    head = header.strip()
    if head not in text:
        return PromptProgress.OTHER
    # The prompt's text after the header: an opened block, a closed one, or something else.
    rest = (text[text.rindex(head) + len(head) :] if head else text).strip()
    opening, close = reasoning.open.core, reasoning.close.core
    if opening and rest == opening:
        return PromptProgress.REASONING_OPEN
    if close and rest.endswith(close) and (not opening or rest.startswith((opening, close))):
        return PromptProgress.REASONING_CLOSED
    return PromptProgress.OTHER


class NamedReasoning(NamedTuple):
    """The markers of reasoning, if no turn under these settings shows it."""

    open: str = ""
    """E.g. `"<think>"`."""
    close: str = ""
    """E.g. `"</think>"`; empty if unknown."""
    confirmed: bool = True
    r"""False if only prompts or words show the markers, e.g. `<think>\n</think>` in a prompt, and
    no render reasoning between them."""


def read_prompts(
    observer: Observer, prompts: Sequence[PromptText], header: str, close: str
) -> NamedReasoning:
    """Read the reasoning's markers off generation prompts, if no turn shows them.

    A prompt that continues another one has opened the block that the other leaves closed. `close`
    is the text that reasoning is cut at, if it is only cut.
    """
    # The text of prompts after the header, shortest first: `<think>`, then
    # `<think>\n\n</think>`.
    rests = sorted(
        {
            prompt.text[len(header) :].strip()
            for prompt in prompts
            if prompt.text.startswith(header)
        },
        key=len,
    )
    rests = [rest for rest in rests if rest]
    if close:
        return NamedReasoning(next((rest for rest in rests if close not in rest), ""), close)
    for short in rests:
        for long in rests:
            if long != short and long.startswith(short):
                return NamedReasoning(short, long[len(short) :].strip(), confirmed=False)
    alone = observer.prober.probe((observer.prober.user,), tools=False).text
    for rest in rests:
        if is_unit(rest) and header.strip() and rest not in alone:
            # The prompt opens a block that no turn shows; assume the usual closing tag.
            return NamedReasoning(rest, f"{rest[0]}/{rest[1:]}", confirmed=False)
        match [unit for unit in edge_units(rest) if unit.strip()]:
            case [opening, closing] if is_unit(opening) and is_unit(closing):
                return NamedReasoning(opening, closing, confirmed=False)
            case _:
                pass
    return NamedReasoning()
