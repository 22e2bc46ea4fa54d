"""What the template itself writes of a message after a prompt: the judge from outside.

Whoever has written or read an answer asks here what the template makes of its message, in reply to
one conversation, under one setting, with the tools of the request. No format is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from autoparser.analysis.core.alignment import common_prefix, prefix_length
from autoparser.analysis.core.conversation import Dialogue, Json, Message, Presence, Tool
from autoparser.analysis.inference.learning.observer import Observer
from autoparser.analysis.inference.probing import Probe, Prober, ToolForm
from autoparser.analysis.loading.template import REASONING_FIELDS

QUESTION = "Please look into it, and use the tools where they are of use."
SYSTEM = "Be brief."


@dataclass(frozen=True, slots=True)
class WrittenTurn:
    """An assistant turn as it is written after a prompt."""

    prompt: str
    before: str
    """The conversation before the turn; the prompt goes on with what it has written of the turn."""
    text: str = ""
    refusal: str = ""
    """Why there is no such turn; then there is no text."""

    @property
    def whole(self) -> str:
        """The conversation and the turn."""
        return self.before + self.text

    @property
    def continuation(self) -> str | None:
        """What stands after the prompt; None: the turn does not go on from the prompt."""
        goes_on = not self.refusal and self.whole.startswith(self.prompt)
        return self.whole[len(self.prompt) :] if goes_on else None

    @property
    def rest(self) -> str:
        """What stands after the prompt, or after as much of the prompt as the turn begins with."""
        after = self.continuation
        return self.whole[len(common_prefix(self.whole, self.prompt)) :] if after is None else after


class TemplateTurns:
    """The turns that a template writes in reply to one conversation."""

    def __init__(
        self,
        prober: Prober,
        *,
        setting: Mapping[str, Json],
        tools: Sequence[Tool],
        named: Callable[[Message], Message],
        history: Dialogue = (),
    ) -> None:
        """`prober` has nothing set; `named` gives calls the ids by which alone they are named.

        `history` comes before the question, which is the result of a call where it ends with one.
        """
        shape = prober.shape
        # Reasoning that no field was found for is given all the same, in the usual one: agents
        # send it, and that it is dropped, not refused, must show.
        field = shape.reasoning_field or REASONING_FIELDS[0]
        self._named = named
        self.offers = bool(tools) and shape.tools is not ToolForm.NONE
        """Whether tools are offered to the template."""
        self._observer = Observer(
            prober.using(
                shape=replace(shape, reasoning_field=field),
                setting=setting,
                tools=tools if self.offers else (),
                sentinels=replace(prober.sentinels, user=QUESTION, system=SYSTEM),
                history=history,
            )
        )
        self._beginnings: dict[Presence, str] = {}

    @property
    def prompt(self) -> str:
        """The rendered prompt; where none can be rendered, the conversation alone."""
        return self.prompted.text if self.prompted.rendered else self._observer.before

    @cached_property
    def prompted(self) -> Probe:
        """The render of the generation prompt, or the template's refusal."""
        prober = self._observer.prober
        return prober.probe((prober.user,), tools=self.offers, generation=True)

    @property
    def before(self) -> str:
        """The conversation before the prompt."""
        return self._observer.before

    def written(self, message: Message) -> WrittenTurn:
        """Render a message as the turn that follows; calls without an id are given one."""
        turn = self._observer.turn(self._with_ids(message))
        refusal = f"the template refuses it: {turn.refusal}" if turn.refusal else ""
        if turn.rewrites:
            refusal = "the template changes the text before the turn"
        return WrittenTurn(self._prompt_before_turns, self._observer.before, turn.text, refusal)

    @cached_property
    def _prompt_before_turns(self) -> str:
        """The prompt as it stands before a turn: some templates write what is before otherwise.

        One that offers tools in the last user message alone leaves them out once it is answered.
        """
        before = self._observer.before
        said, words, behind = self.prompt.rpartition(QUESTION)
        kept, same, _ = before.rpartition(QUESTION)
        rewritten = said != kept and words == same
        return kept + same + behind if rewritten else self.prompt

    def shown(self, message: Message) -> Message:
        """Return the message without the texts that change nothing when they are taken away."""
        whole = self.written(message).text
        reasoning, content = message.reasoning, message.content
        if reasoning and self.written(replace(message, reasoning="")).text == whole:
            message = replace(message, reasoning="")
        if content and self.written(replace(message, content="")).text == whole:
            message = replace(message, content="")
        return message

    def beginning(self, message: Message, text: str) -> str:
        """Return what the text of a turn has in common with another one of the same parts."""
        if message.presence not in self._beginnings:
            self._beginnings[message.presence] = self._observer.shown(message.presence).text
        return text[: prefix_length(text, self._beginnings[message.presence])]

    def _with_ids(self, message: Message) -> Message:
        if all(call.id for call in message.calls):
            return message
        message = self._named(message)
        made = self._observer.prober.sentinels.ids[0]
        # As long as the sentinel: some templates insist on nine letters and digits.
        calls = (
            replace(call, id=call.id or f"{made[:-2]}{at:02}")
            for at, call in enumerate(message.calls)
        )
        return replace(message, calls=tuple(calls))
