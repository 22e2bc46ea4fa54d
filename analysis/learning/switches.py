"""The switches of a template: the variables a caller may set, and what each changes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from autoparser.analysis.conversation import Answer, Dialogue, Json, Message
from autoparser.analysis.probing import (
    Probe,
    Prober,
    Setting,
    Suggestions,
    answered,
    call_of,
    switch_candidates,
)


class Effect(StrEnum):
    """What a switch changes."""

    GENERATION_PROMPT = "the generation prompt"
    HISTORY_REASONING = "whether reasoning stays in the history"
    TURN = "the assistant's turn"
    PROMPT = "the text before the turn"
    RAISES = "the template raises"


@dataclass(frozen=True, slots=True)
class Switch:
    """A variable that changes a render."""

    name: str
    values: tuple[Json, ...]
    """Values whose renders all differ."""
    default: Json
    """The value that renders as the unset variable does; None: no value that was tried does."""
    effects: tuple[tuple[Effect, ...], ...]
    """What each of the values changes against the unset variable."""
    inserted: bool = False
    """The value itself is written into the text, so any text is a value."""
    text_effects: tuple[Effect, ...] = ()
    """What any text changes, where it is inserted."""

    @property
    def changes(self) -> frozenset[Effect]:
        """All that any value changes."""
        every = (*self.effects, self.text_effects)
        return frozenset(effect for effects in every for effect in effects)


@dataclass(frozen=True, slots=True)
class _Views:
    """The renders in which a switch can show itself."""

    prompt: Probe
    alone: Probe
    history: Probe
    turn: Probe

    def texts(self) -> tuple[str, ...]:
        return tuple(
            probe.text if probe.rendered else f"\0{probe.error}"
            for probe in (self.prompt, self.alone, self.history, self.turn)
        )


MOST_VARIABLES = 64
"""So many variables are tried; the corpus's most open template reads fewer."""


def find_switches(prober: Prober, suggestions: Suggestions, *, calls: bool) -> tuple[Switch, ...]:
    """Try the variables that the syntax tree suggests; renders decide which are switches."""
    unset = _views(prober, prober.setting, calls=calls)
    found: list[Switch] = []
    for name in switch_candidates(suggestions)[:MOST_VARIABLES]:
        switch = _try_switch(prober, suggestions, name, unset, calls=calls)
        if switch is not None:
            found.append(switch)
    return tuple(found)


def _try_switch(
    prober: Prober, suggestions: Suggestions, name: str, unset: _Views, *, calls: bool
) -> Switch | None:
    def texts_with(value: Json) -> _Views:
        return _views(prober, {**prober.setting, name: value}, calls=calls)

    usual = unset.texts()
    word = prober.sentinels.next_user[::-1]
    inserted = any(word in text for text in texts_with(word).texts())
    values: list[Json] = list(suggestions.values.get(name, ()))
    if not inserted:
        values += [True, False]
    seen: dict[tuple[str, ...], Json] = {}
    effects: list[tuple[Effect, ...]] = []
    default: Json = None
    for value in values:
        views = texts_with(value)
        texts = views.texts()
        if texts in seen or (not views.prompt.rendered and unset.prompt.rendered):
            continue
        seen[texts] = value
        if texts == usual:
            default = value
        effects.append(_effects(prober, unset, views))
    if not inserted and all(texts == usual for texts in seen):
        return None
    told = _effects(prober, unset, texts_with(word)) if inserted else ()
    return Switch(name, tuple(seen.values()), default, tuple(effects), inserted, told)


def _views(prober: Prober, setting: Setting, *, calls: bool) -> _Views:
    marks = prober.sentinels
    told = Message(marks.content, marks.reasoning)
    dialogue: Dialogue = (prober.user, told, prober.user)
    if calls:
        called = Message(reasoning=marks.reasoning, calls=(call_of(prober),))
        answer = Answer(marks.answer, marks.names[0], marks.ids[0])
        dialogue = (prober.user, called, answer, told, prober.user)
    return _Views(
        prober.probe((prober.user,), generation=True, setting=setting),
        prober.probe((prober.user,), setting=setting),
        prober.probe(dialogue, setting=setting),
        prober.probe(answered(prober, told), setting=setting),
    )


def _effects(prober: Prober, unset: _Views, views: _Views) -> tuple[Effect, ...]:
    if any(
        one.rendered and not other.rendered
        for one, other in zip(_probes(unset), _probes(views), strict=True)
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
    if not effects and views.texts() != unset.texts():
        effects.append(Effect.PROMPT)
    return tuple(effects)


def _probes(views: _Views) -> tuple[Probe, ...]:
    return views.prompt, views.alone, views.history, views.turn


def _added(longer: Probe, shorter: Probe) -> str:
    if longer.text.startswith(shorter.text):
        return longer.text[len(shorter.text) :]
    return longer.text
