"""The switches of a template: the variables a caller may set, and what each changes.

Callers know them as `chat_template_kwargs`. A variable is a switch if a value of it changes a
render; where it does so only without tools, only beside a system message or only under the
setting that brings reasoning into the text, the switch says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from autoparser.analysis.core.conversation import Dialogue, Json, Message, ToolResult
from autoparser.analysis.core.switches import Effect, Switch
from autoparser.analysis.inference.probing import (
    Probe,
    Prober,
    Setting,
    Suggestions,
    answered,
    call_of,
    switch_candidates,
)


@dataclass(frozen=True, slots=True)
class Ground:
    """A kind of conversation in which switches are tried, all else being equal."""

    prober: Prober
    """With its shape and its setting."""
    tools: bool
    calls: bool
    only: str
    """The ground in words, for a switch that shows itself on no ground before it."""

    def sample(self, setting: Setting) -> str:
        """Render one conversation that has much in it: whether it changes says enough."""
        return _outcome(
            self.prober.probe(self._history, tools=self.tools, generation=True, setting=setting)
        )

    def turn(self, setting: Setting) -> str:
        """Render a conversation that ends with the assistant's turn."""
        return _outcome(self._turn(setting))

    def views(self, setting: Setting) -> _Views:
        """Render all that tells what a switch does."""
        user = self.prober.user
        return _Views(
            self.prober.probe((user,), tools=self.tools, generation=True, setting=setting),
            self.prober.probe((user,), tools=self.tools, setting=setting),
            self.prober.probe(self._history, tools=self.tools, setting=setting),
            self._turn(setting),
        )

    def _turn(self, setting: Setting) -> Probe:
        return self.prober.probe(
            answered(self.prober, self._told), tools=self.tools, setting=setting
        )

    @property
    def _told(self) -> Message:
        return Message(self.prober.sentinels.content, self.prober.sentinels.reasoning)

    @property
    def _history(self) -> Dialogue:
        user, marks = self.prober.user, self.prober.sentinels
        if not self.calls:
            return (user, self._told, user)
        called = Message(reasoning=marks.reasoning, calls=(call_of(self.prober),))
        answer = ToolResult(marks.answer, marks.names[0], marks.ids[0])
        return (user, called, answer, self._told, user)


def _outcome(probe: Probe) -> str:
    return probe.text if probe.rendered else f"\0{probe.error}"


@dataclass(frozen=True, slots=True)
class _Views:
    """The renders in which a switch shows what it does."""

    prompt: Probe
    alone: Probe
    history: Probe
    turn: Probe

    @property
    def probes(self) -> tuple[Probe, ...]:
        return self.prompt, self.alone, self.history, self.turn


MOST_VARIABLES = 64
"""So many variables are tried; the corpus's most open template reads fewer."""


def find_switches(
    prober: Prober, suggestions: Suggestions, *, calls: bool, showing: Setting
) -> tuple[Switch, ...]:
    """Try the variables that the syntax tree suggests; renders decide which are switches.

    `prober` has nothing set but what a render needs; under `showing` reasoning is in the text.
    """
    grounds = list(_grounds(prober, calls=calls, showing=showing))
    found: list[Switch] = []
    for name in switch_candidates(suggestions)[:MOST_VARIABLES]:
        switch = _Trial(name, grounds).switch(suggestions.values.get(name, ()))
        if switch is not None:
            found.append(switch)
    return tuple(found)


def _grounds(prober: Prober, *, calls: bool, showing: Setting) -> Iterator[Ground]:
    """Return the grounds, the usual one first."""
    yield Ground(prober, tools=True, calls=calls, only="")
    yield Ground(prober, tools=False, calls=False, only="without tools")
    system = replace(prober.shape, system=True)
    if system != prober.shape:
        beside = prober.using(shape=system)
        yield Ground(beside, tools=True, calls=calls, only="beside a system message")
        yield Ground(
            beside, tools=False, calls=False, only="without tools, beside a system message"
        )
    if showing != prober.setting:
        new = {name: value for name, value in showing.items() if name not in prober.setting}
        values = (f"{name}={json.dumps(value)}" for name, value in new.items())
        shown, words = prober.using(setting=showing), f"with {', '.join(values)}"
        yield Ground(shown, tools=True, calls=calls, only=words)
        yield Ground(shown, tools=False, calls=False, only=f"{words}, without tools")


class _Trial:
    """The trial of one variable on all grounds."""

    def __init__(self, name: str, grounds: Sequence[Ground]) -> None:
        # Where the variable itself brings the reasoning, its own ground tells nothing new.
        self._name = name
        self._grounds = [
            ground
            for ground in grounds
            if ground is grounds[0] or name not in ground.prober.setting
        ]
        self._base = grounds[0].prober.setting
        self._usual = [self._texts(ground, ground.prober.setting) for ground in self._grounds]

    def _texts(self, ground: Ground, setting: Setting) -> tuple[str, ...]:
        if ground is self._grounds[0]:
            return ground.sample(setting), ground.turn(setting)
        return (ground.sample(setting),)

    def _under(self, ground: Ground, value: Json) -> Setting:
        return {**ground.prober.setting, self._name: value}

    def _all_texts(self, value: Json) -> list[tuple[str, ...]]:
        return [self._texts(ground, self._under(ground, value)) for ground in self._grounds]

    def switch(self, suggested: Sequence[Json]) -> Switch | None:
        """Try the values; None where none of them changes anything."""
        word = self._grounds[0].prober.sentinels.next_user[::-1]
        with_word = self._all_texts(word)
        inserted = any(word in text for texts in with_word for text in texts)
        values: list[Json] = list(suggested)
        if not inserted:
            values += [True, False]
        seen: dict[tuple[tuple[str, ...], ...], Json] = {}
        for value in values:
            texts = self._all_texts(value)
            if tuple(texts) in seen or self._raises(texts):
                continue
            seen[tuple(texts)] = value
        if not inserted and all(list(texts) == self._usual for texts in seen):
            return None
        differing = self._differing([*seen, *([tuple(with_word)] if inserted else [])])
        return Switch(
            self._name,
            tuple(seen.values()),
            self._default(seen),
            tuple(self._effects(differing, value) for value in seen.values()),
            inserted,
            self._effects(differing, word) if inserted else (),
            differing[0].only if differing else "",
        )

    def _default(self, seen: Mapping[tuple[tuple[str, ...], ...], Json]) -> Json:
        """Return the value that does what the unset variable does; None where none does.

        Another switch may hide what the value does, so what that one adds counts only where the
        variable does nothing without it.
        """
        based = [ground.prober.setting == self._base for ground in self._grounds]

        def differs(texts: Sequence[tuple[str, ...]], *, everywhere: bool) -> bool:
            asked = (base or everywhere for base in based)
            return any(
                counts and one != other
                for counts, one, other in zip(asked, texts, self._usual, strict=True)
            )

        everywhere = not any(differs(texts, everywhere=False) for texts in seen)
        alike = (
            value for texts, value in seen.items() if not differs(texts, everywhere=everywhere)
        )
        return next(alike, None)

    def _raises(self, texts: Sequence[tuple[str, ...]]) -> bool:
        """Whether a value makes the usual conversation raise that renders without it."""
        return texts[0][0].startswith("\0") and not self._usual[0][0].startswith("\0")

    def _differing(self, seen: Sequence[Sequence[tuple[str, ...]]]) -> list[Ground]:
        """Return the grounds on which any value shows, the first of them leading."""
        return [
            ground
            for at, ground in enumerate(self._grounds)
            if any(texts[at] != self._usual[at] for texts in seen)
        ]

    def _effects(self, grounds: Sequence[Ground], value: Json) -> tuple[Effect, ...]:
        """Say what a value changes on the first ground on which it changes anything."""
        for ground in grounds:
            unset = ground.views(ground.prober.setting)
            effects = _effects(ground.prober, unset, ground.views(self._under(ground, value)))
            if effects:
                return effects
        return ()


def _effects(prober: Prober, unset: _Views, views: _Views) -> tuple[Effect, ...]:
    if any(
        one.rendered and not other.rendered
        for one, other in zip(unset.probes, views.probes, strict=True)
    ):
        return (Effect.RAISES,)
    marks = prober.sentinels
    effects: list[Effect] = []
    if views.alone.text != unset.alone.text:
        effects.append(Effect.PROMPT)
    if _added(views.prompt, views.alone) != _added(unset.prompt, unset.alone):
        effects.append(Effect.GENERATION_PROMPT)
    counts = [view.history.text.count(marks.reasoning) for view in (unset, views)]
    if counts[0] != counts[1]:
        effects.append(Effect.HISTORY_REASONING)
    if _added(views.turn, views.alone) != _added(unset.turn, unset.alone):
        effects.append(Effect.TURN)
    if not effects and any(
        _outcome(one) != _outcome(other)
        for one, other in zip(unset.probes, views.probes, strict=True)
    ):
        effects.append(Effect.PROMPT)
    return tuple(effects)


def _added(longer: Probe, shorter: Probe) -> str:
    if longer.text.startswith(shorter.text):
        return longer.text[len(shorter.text) :]
    return longer.text
