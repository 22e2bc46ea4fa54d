"""Whether the template itself writes what a model is taken to have written.

A sample is put together by the format that was learnt. Where the template writes the same turn
after the same prompt, it has to be that text; where it cannot be asked, the reason is told:

>>> unconfirmed(stage, scenario, setting, asked)   # where the history keeps no reasoning
'it leaves the reasoning out of the turn'
"""

from __future__ import annotations

from dataclasses import dataclass

from autoparser.analysis.core.alignment import prefix_length
from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.inference.probing import Setting

from .replay import ReplayStage
from .sampled import NotWrittenError, Prompt
from .scenario import Scenario

_SHOWN = 40


@dataclass(frozen=True, slots=True)
class WrittenByFormat:
    """A turn as the format writes it after a prompt."""

    prompt: Prompt
    message: Message
    text: str


def unconfirmed(
    stage: ReplayStage, scenario: Scenario, setting: Setting, written: WrittenByFormat
) -> str:
    """Say why the template cannot confirm a sample; empty where it writes the same.

    Raises NotWrittenError where it writes all of the message, and in another text.
    """
    message, text = written.message, written.text
    try:
        whole = stage.last_turn(scenario.history, message, scenario.tools, setting)
    except TemplateRenderError as error:
        return f"it refuses the turn as the last one: {error.reason}"
    if not whole.startswith(written.prompt.text):
        return "its turn does not go on from the prompt"
    rest = whole[len(written.prompt.text) :]
    if rest.startswith(text):
        return ""
    parts = {"reasoning": message.reasoning, "content": message.content}
    missing = [name for name, said in parts.items() if said and said not in rest]
    missing += ["call"] * any(call.name not in rest for call in message.calls)
    if missing:
        return f"it leaves the {' and the '.join(missing)} out of the turn"
    at = prefix_length(rest, text)
    ours, theirs = text[at : at + _SHOWN], rest[at : at + _SHOWN]
    raise NotWrittenError(f"the template writes {theirs!r} where the format has {ours!r}")
