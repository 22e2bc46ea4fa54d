"""The turn as the template itself writes it after a prompt.

It is asked for the conversation with the message as its last turn; what follows the prompt in that
render, up to the string at which a model stops, is what the model is taken to have written. Where
the template does not write the turn there, the reason is told:

>>> template_sample(stage, scenario, {}, prompt, message, ("<|end|>",))
TemplateSample(text='It is sunny in Oslo.<|end|>', unwritten='')
>>> template_sample(stage, scenario, {}, prompt, thinking, ("<|end|>",)).unwritten
'it leaves the reasoning out of the turn'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.inference.probing import Setting

from .replay import ReplayStage
from .sampled import Prompt
from .scenario import Scenario


@dataclass(frozen=True, slots=True)
class TemplateSample:
    """A turn by the template, or why there is none."""

    text: str
    unwritten: str = ""
    """Why the template does not write the turn after the prompt; empty where it does."""


def template_sample(
    stage: ReplayStage,
    scenario: Scenario,
    setting: Setting,
    prompt: Prompt,
    message: Message,
    stops: Sequence[str],
) -> TemplateSample:
    """Have the template write a message after a prompt, up to the first of the stops."""

    def written(turn: Message) -> str:
        return stage.last_turn(scenario.history, turn, scenario.tools, setting, scenario.engine)

    try:
        whole = written(message)
    except TemplateRenderError as error:
        return TemplateSample("", f"it refuses the turn as the last one: {error.reason}")
    if not whole.startswith(prompt.text):
        return TemplateSample("", "its turn does not go on from the prompt")
    rest = whole[len(prompt.text) :]
    parts = {"reasoning": message.reasoning, "content": message.content}
    missing = [name for name, said in parts.items() if said and said not in rest]
    missing += ["call"] * any(call.name not in rest for call in message.calls)
    for fewer in _without_one_call(message):
        try:
            missing += ["call"] * (written(fewer) == whole)
        except TemplateRenderError:
            continue  # then that call is not one that makes no difference
    if missing:
        names = " and the ".join(dict.fromkeys(missing))
        return TemplateSample("", f"it leaves the {names} out of the turn")
    return TemplateSample(_stopped(rest, message, stops))


def _without_one_call(message: Message) -> Iterator[Message]:
    calls = message.calls
    for at in range(len(calls) if len(calls) > 1 else 0):
        yield replace(message, calls=(*calls[:at], *calls[at + 1 :]))


def _stopped(text: str, message: Message, stops: Sequence[str]) -> str:
    """Cut a turn after the string that stops the model, which stands after its last word."""
    words = [message.reasoning, message.content]
    for call in message.calls:
        words += [call.name, *(each for each in call.arguments.values() if isinstance(each, str))]
    found = [text.rfind(word) + len(word) for word in words if word and word in text]
    last = max(found, default=0)
    ends = [at + len(stop) for stop in stops if (at := text.find(stop, last)) >= 0]
    return text[: min(ends)] if ends else text.rstrip()
