"""Find the switches of a template: the variables that callers may set, and the effect of each.

Callers pass them as `chat_template_kwargs`. A variable is a switch if a value of it changes a
render. Each variable that the syntax tree suggests is tried on several grounds (conversations with
and without tools, with a system message, under the setting that brings reasoning into the text);
if it acts on some of them only, the switch records that. `settings_to_learn` then combines the
values that change a turn or its generation prompt. For example

    unset                      <|user|>U<|assistant|><think>
    enable_thinking=True       <|user|>U<|assistant|><think>               as unset: the default
    enable_thinking=False      <|user|>U<|assistant|><think></think>       changes the prompt

makes `enable_thinking` a switch of two values, and gives two settings to learn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import combinations, product
from math import prod
from typing import NamedTuple, TypeAlias

from msgspec import Struct, structs

from autoparser.analysis.core.conversation import (
    Dialogue,
    Json,
    MediaKind,
    Message,
    ToolResult,
    UserMessage,
)
from autoparser.analysis.core.message_battery import LONG_TEXT_SIZE
from autoparser.analysis.core.message_shape import Setting
from autoparser.analysis.core.switches import ANY_WORD, Switch, SwitchEffect, UnmovedVariable
from autoparser.analysis.core.text_alignment import diff_split, edge_units, prefix_length

from .observer import Observer
from .prober import Probe, Prober
from .shape_negotiation import answered_conversation, switch_candidates
from .suggestions import Suggestions

MOST_SETTINGS = 32
"""At most this many settings are learned; few templates have more than nine."""
_MATTERING = frozenset({SwitchEffect.TURN, SwitchEffect.CALLS, SwitchEffect.GENERATION_PROMPT})


class SettingsToLearn(NamedTuple):
    """The settings to learn."""

    settings: tuple[Setting, ...]
    """The default one first, e.g. `({}, {"enable_thinking": False})`."""
    untried: int = 0
    """The number of further combinations of values, which are not learned, usually 0."""


def settings_to_learn(
    base: Setting, showing: Setting, switches: Sequence[Switch]
) -> SettingsToLearn:
    """Combine the values that change a turn or its generation prompt.

    `base` is the default setting, `showing` the one that brings reasoning into the text. If there
    are too many combinations, single values come first, then pairs.
    """
    # Only values that change a turn or its prompt need a format of their own.
    options = [
        [
            (switch.name, value)
            for value, effects in zip(switch.values, switch.effects, strict=True)
            if SwitchEffect.RAISES not in effects
        ]
        for switch in switches
        if any(_MATTERING & set(effects) for effects in switch.effects)
    ]
    found: list[Setting] = []

    def add(*values: tuple[str, Json]) -> None:
        setting = {**base, **dict(values)}
        # Compared by `repr`, since `True == 1` in Python.
        if repr(setting) not in {repr(known) for known in found}:
            found.append(setting)

    add()
    # The phases run under it first, also if it sets several variables together.
    add(*showing.items())
    for values in options:
        for value in values:
            add(value)
    total = prod(len(values) + 1 for values in options)
    if total <= MOST_SETTINGS:
        for chosen in product(*([None, *values] for values in options)):
            add(*(value for value in chosen if value is not None))
        return SettingsToLearn(tuple(found))
    for one, other in combinations(options, 2):
        for pair in product(one, other):
            if len(found) < MOST_SETTINGS:
                add(*pair)
    return SettingsToLearn(tuple(found[:MOST_SETTINGS]), total - min(len(found), MOST_SETTINGS))


def turns_under(prober: Prober, setting: Setting) -> tuple[str, ...]:
    """Return turns that identify how a setting writes: settings with equal turns share a format."""
    observer = Observer(prober.using(setting=setting))
    marks = prober.sentinels
    typed: dict[str, Json] = {
        marks.keys[0]: marks.values[0],
        marks.keys[1]: [marks.integer, None, {marks.keys[2]: True}],
    }
    calls = (observer.call(0, typed), observer.call(1))
    # Together they have every part, and arguments of several types.
    turns = (
        observer.turn(Message(marks.content, marks.reasoning)),
        observer.turn(Message(marks.content)),
        observer.turn(Message(marks.content, calls=calls[:1])),
        observer.turn(Message("", marks.reasoning, calls)),
    )
    return tuple(turn.refusal or turn.text for turn in turns)


class Ground(Struct, frozen=True, dict=True):
    """A kind of conversation in which switches are tried."""

    prober: Prober
    """A prober with the ground's shape and setting, e.g. under `{"enable_thinking": True}`."""
    tools: bool
    """Whether tools are offered, e.g. not on the ground `"without tools"`."""
    calls: bool
    """Whether the conversation has a call and its result; not without tools, nor if no call reaches
    the text."""
    only: str
    """The ground in words, e.g. `"without tools"`, for a switch that shows on no earlier ground."""
    media: tuple[MediaKind, ...] = ()
    """The media in every user message before its text, e.g. two images."""
    long: bool = False
    """Whether earlier messages are long, of 4000 characters, for a switch that shortens them."""

    def sample(self, setting: Setting) -> str:
        """Render one conversation with many parts, to see whether it changes at all.

        If the template raises on it with and without the variable, the shortest one is used.
        """
        found = self._probe(self._history, setting, generation=True)
        long = found.rendered or self._takes_history
        return _text_or_error(found if long else self.prompt(setting))

    @cached_property
    def _takes_history(self) -> bool:
        return self._probe(self._history, self.prober.setting, generation=True).rendered

    def turn(self, setting: Setting) -> str:
        """Render a conversation that ends with the assistant's turn."""
        return _text_or_error(self._turn(setting))

    def prompt(self, setting: Setting) -> Probe:
        """Render the shortest conversation, with its generation prompt."""
        return self._probe((self.prober.user,), setting, generation=True)

    def views(self, setting: Setting) -> _Views:
        """Render the conversations that show the effects of a switch; sample and turn are known."""
        call = Message(calls=(self.prober.sentinels.call(),))
        return _Views(
            self.prompt(setting),
            self._probe((self.prober.user,), setting),
            self._probe(self._history, setting, generation=True),
            self._turn(setting),
            self._probe(answered_conversation(self.prober, call), setting) if self.calls else None,
        )

    def _turn(self, setting: Setting) -> Probe:
        marks = self.prober.sentinels
        turn = Message(marks.content, marks.reasoning)
        return self._probe(answered_conversation(self.prober, turn), setting)

    def _probe(self, dialogue: Dialogue, setting: Setting, *, generation: bool = False) -> Probe:
        if self.media:
            dialogue = tuple(
                structs.replace(message, media=self.media)
                if isinstance(message, UserMessage)
                else message
                for message in dialogue
            )
        return self.prober.probe(dialogue, tools=self.tools, generation=generation, setting=setting)

    @cached_property
    def _history(self) -> Dialogue:
        user, marks = self.prober.user, self.prober.sentinels
        # Words of sentinels contain no value of a switch.
        text_of = _long_text if self.long else str
        question, reply = (
            UserMessage(text_of(marks.user)),
            Message(text_of(marks.content), marks.reasoning),
        )
        if not self.calls:
            return (question, reply, user)
        called = Message(reasoning=marks.reasoning, calls=(self.prober.sentinels.call(),))
        answer = ToolResult(text_of(marks.answer), marks.names[0], marks.ids[0])
        return (question, called, answer, reply, user)


@lru_cache(maxsize=64)
def _long_text(word: str) -> str:
    return " ".join([word] * (LONG_TEXT_SIZE // len(f"{word} ")))


def _text_or_error(probe: Probe) -> str:
    return probe.text if probe.rendered else f"{_RAISED}{probe.error}"


_RAISED = "\0"
"""The prefix of the outcome of a render that raised."""


class _Views(NamedTuple):
    """The renders that show the effects of a switch."""

    prompt: Probe
    r"""The user's message with its generation prompt, e.g. `"U:pkvrbnwj\nA:"`."""
    alone: Probe
    r"""The user's message without one, e.g. `"U:pkvrbnwj\n"`."""
    history: Probe
    r"""Several turns with a generation prompt: question, call, result, answer, and the question
    again, e.g. `"U:pkvrbnwj\nA:…U:pkvrbnwj\nA:"`."""
    turn: Probe
    """A conversation that ends with content and reasoning, e.g. with `wpzqqmqw` and `dxdpspvg`."""
    call_turn: Probe | None
    """A conversation that ends with a call, e.g. of `qkphffqx`, or None if no calls are tried."""

    @property
    def probes(self) -> tuple[Probe, ...]:
        called = () if self.call_turn is None else (self.call_turn,)
        return self.prompt, self.alone, self.history, self.turn, *called


MOST_VARIABLES = 64
"""At most this many variables are tried; no template of the corpus reads as many."""


class FoundSwitches(NamedTuple):
    """The results for the variables that the syntax tree suggests."""

    switches: tuple[Switch, ...] = ()
    """E.g. `enable_thinking`, with the effect of each value."""
    unmoved: tuple[UnmovedVariable, ...] = ()
    """Variables whose values change nothing, e.g. `custom_tools`, or only raise."""


def find_switches(
    prober: Prober, suggestions: Suggestions, *, calls: bool, showing: Setting
) -> FoundSwitches:
    """Try the variables that the syntax tree suggests; renders decide which are switches.

    `prober` sets only what a render needs; under `showing` reasoning is in the text.
    """
    grounds = list(_grounds_to_try(prober, calls=calls, showing=showing))
    names = switch_candidates(suggestions)[:MOST_VARIABLES]
    found = [_Trial(name, grounds, suggestions).result for name in names]

    def try_unmoved(others: Sequence[Ground]) -> None:
        """Try the variables without an effect on other grounds; alone only if one of them acts."""
        trials = {
            result.name: _Trial(result.name, others, suggestions)
            for result in found
            if others and isinstance(result, UnmovedVariable) and not result.raises
        }
        if _act_together(trials):
            found[:] = [
                trials[result.name].result if result.name in trials else result for result in found
            ]

    # Try long messages last: few variables need them, and a template may loop over each character.
    try_unmoved([structs.replace(grounds[0], long=True)])
    if any(isinstance(result, UnmovedVariable) for result in found):
        # Try media parts last: few variables need them, and few templates accept any.
        media = [structs.replace(grounds[0], media=(kind, kind)) for kind in MediaKind]
        try_unmoved([ground for ground in media if _shows_media(ground)])
    return FoundSwitches(
        tuple(result for result in found if isinstance(result, Switch)),
        tuple(result for result in found if isinstance(result, UnmovedVariable)),
    )


def _grounds_to_try(prober: Prober, *, calls: bool, showing: Setting) -> Iterator[Ground]:
    """Yield the grounds, the usual one first."""
    yield Ground(prober, tools=True, calls=calls, only="")
    yield Ground(prober, tools=False, calls=False, only="without tools")
    system = structs.replace(prober.shape, system=True)
    if system != prober.shape:
        beside = prober.using(shape=system)
        yield Ground(beside, tools=True, calls=calls, only="beside a system message")
        yield Ground(
            beside, tools=False, calls=False, only="without tools, beside a system message"
        )
    if showing != prober.setting:
        new = {name: value for name, value in showing.items() if name not in prober.setting}
        values = (f"{name}={json.dumps(value)}" for name, value in new.items())
        # Other settings may have the same effect; one is enough.
        shown = prober.using(setting=showing)
        words = f"under another setting, such as {', '.join(values)}"
        yield Ground(shown, tools=True, calls=calls, only=words)
        yield Ground(shown, tools=False, calls=False, only=f"without tools, {words}")


_MEDIA_WORDS = {MediaKind.IMAGE: "images", MediaKind.VIDEO: "videos", MediaKind.AUDIO: "audio"}


def _words_of_grounds(differing: Sequence[Ground]) -> str:
    """Return where a difference shows: the first ground, or every kind of part, or nothing."""
    kinds = [_MEDIA_WORDS[ground.media[0]] for ground in differing if ground.media]
    first = differing[0].only if differing else ""
    return f"with {' or '.join(kinds)}" if kinds else first


def _shows_media(ground: Ground) -> bool:
    """Whether the template accepts such parts and writes something for them."""
    usual, setting = structs.replace(ground, media=()), ground.prober.setting
    shown, without = ground.prompt(setting), usual.prompt(setting)
    return shown.rendered and shown.text != without.text


_Texts: TypeAlias = tuple[tuple[str, ...], ...]
"""The outcome of one value: on each ground, the texts of its renders."""


_Seen: TypeAlias = dict[_Texts, list[Json]]
"""Values grouped by outcome: those that render alike are together."""


def _add_sighting(sightings: _Seen, texts: _Texts, value: Json) -> None:
    known = sightings.setdefault(texts, [])
    # Compared by `repr`, since `True == 1` in Python.
    if repr(value) not in map(repr, known):
        known.append(value)


def _act_together(trials: Mapping[str, _Trial]) -> bool:
    """Whether any render changes with all variables set, to one of their values after another."""
    every = [(name, trial.values) for name, trial in trials.items()]
    # Variables begin at different values, so that two flags are not always both true.
    settings = (
        {name: values[(at + shift) % len(values)] for shift, (name, values) in enumerate(every)}
        for at in range(max((len(values) for _, values in every), default=0))
    )
    first = next(iter(trials.values()), None)
    return first is not None and any(map(first.acts_under, settings))


class _Trial:
    """The trial of one variable on all grounds."""

    def __init__(self, name: str, grounds: Sequence[Ground], suggestions: Suggestions) -> None:
        # Leave out the ground whose setting already includes this variable.
        self._name = name
        self._grounds = [
            ground
            for ground in grounds
            if ground is grounds[0] or name not in ground.prober.setting
        ]
        self._base = grounds[0].prober.setting
        self._usual = tuple(self._texts(ground, ground.prober.setting) for ground in self._grounds)
        self._compared = suggestions.values.get(name, ())
        self._structures = suggestions.structures.get(name, ())
        self._flag = name in suggestions.flags or not self._compared
        self._numeric = bool(self._compared) and all(
            isinstance(value, int | float) and not isinstance(value, bool)
            for value in self._compared
        )
        # No template compares with these words, so they show the effect of any other value.
        marks = grounds[0].prober.sentinels
        self._any: Json = marks.integer if self._numeric else marks.next_user[::-1]
        flags = (True, False) if self._flag else ()
        self.values = (self._any, *self._compared, *flags, *self._structures)

    def _texts(self, ground: Ground, setting: Setting) -> tuple[str, ...]:
        if ground is self._grounds[0]:
            return ground.sample(setting), ground.turn(setting)
        return (ground.sample(setting),)

    def _under(self, ground: Ground, value: Json) -> Setting:
        return {**ground.prober.setting, self._name: value}

    def _all_texts(self, value: Json) -> _Texts:
        return tuple(self._texts(ground, self._under(ground, value)) for ground in self._grounds)

    def acts_under(self, setting: Setting) -> bool:
        """Whether values of this and other variables change any of the renders."""
        settings = ({**ground.prober.setting, **setting} for ground in self._grounds)
        return tuple(map(self._texts, self._grounds, settings)) != self._usual

    @property
    def result(self) -> Switch | UnmovedVariable:
        """Try the values; if none of them changes anything, the variable is not a switch."""
        with_any = self._all_texts(self._any)
        # A variable whose value is printed, such as a date, accepts any text.
        inserted = any(
            str(self._any) in text and not text.startswith(_RAISED)
            for texts in with_any
            for text in texts
        )
        sightings: _Seen = {}
        raising = self._try(self._compared, sightings)
        if self._flag and not inserted:
            # If the template only compares the variable with words, do not try booleans.
            raising += self._try((True, False), sightings)
        # Objects and lists are tried last: most variables are flags or words.
        fitting = {} if inserted else self._fitting(sightings)
        if fitting and any(isinstance(value, bool) for value in raising):
            # A variable whose members are read is not a flag: no caller sends a boolean.
            raising = [value for value in raising if not isinstance(value, bool)]
            sightings = {
                at: values for at, values in sightings.items() if not isinstance(values[0], bool)
            }
        sightings |= fitting
        # No caller sends a text for its letters, either.
        plain = not inserted and (bool(self._compared) or not fitting)
        any_other = self._any_other(with_any, sightings) if plain else None
        # A word that is inserted like any other is not a distinct value.
        written = [
            texts
            for texts, values in sightings.items()
            if inserted and self._put_value(with_any, values[0]) == texts
        ]
        moving = [texts for texts in sightings if texts != self._usual and texts not in written]
        if not inserted and not moving:
            return UnmovedVariable(
                self._name, bool(raising) or self._raises_only_with(with_any, self._any)
            )
        # Users call the value that renders like an unset variable the default.
        default = self._default(sightings)
        values = {
            texts: sightings[texts] for texts in sightings if texts in moving or texts == default
        }
        differing = self._differing([*moving, *([with_any] if inserted else [])])
        effects = [self._effects(texts, equal[0]) for texts, equal in values.items()]
        firsts = [equal[0] for equal in values.values()]
        if not inserted and len(values) == 1 and _is_no_flag(firsts, effects, raising):
            return UnmovedVariable(self._name, raises=True)
        return Switch(
            self._name,
            tuple(firsts),
            None if default is None else sightings[default][0],
            tuple(changed for changed, _ in effects),
            inserted,
            self._effects(with_any, self._any)[0] if inserted else (),
            _words_of_grounds(differing),
            conditions=tuple(only for _, only in effects),
            equal_values=tuple(tuple(equal[1:]) for equal in values.values()),
            any_other=any_other,
            raising=tuple(value for value in raising if not isinstance(value, list)),
            others_raise=self._raises_only_with(with_any, self._any),
            numeric=self._numeric,
        )

    def _fitting(self, sightings: _Seen) -> _Seen:
        """Return the objects and lists with an effect that no value in `sightings` has."""
        found: _Seen = {}
        if any(
            isinstance(values[0], list) and texts != self._usual
            for texts, values in sightings.items()
        ):
            # The template expects a list that contains the searched word.
            return found
        for value in self._structures:
            texts = self._all_texts(value)
            known = texts == self._usual or texts in sightings or texts in found
            # Of values that render alike, keep the first, which is the smallest.
            if not known and not self._raises_only_with(texts, value):
                found[texts] = [value]
        return found

    def _any_other(self, with_any: _Texts, sightings: _Seen) -> Json:
        """Add to `sightings` the effect of a value unknown to the template; return that value.

        Return None if it has no effect, or the variable is a list. A variable that is compared with
        nothing has no other values, unless neither boolean has an effect.
        """
        listed = any(isinstance(value, list) for value in self._compared)
        if with_any == self._usual or listed or self._raises_only_with(with_any, self._any):
            return None
        if not self._compared and any(texts != self._usual for texts in sightings):
            return None
        # Use a word of ordinary length: a template that loops over letters renders each of them.
        value = self._any if self._numeric else ANY_WORD
        texts = with_any if self._numeric or with_any in sightings else self._all_texts(value)
        if texts == self._usual or self._raises_only_with(texts, value):
            return None
        _add_sighting(sightings, texts, value)
        return value

    def _put_value(self, with_any: _Texts, value: Json) -> _Texts:
        """Return the texts with `value` in the place of the unknown value."""
        return tuple(
            tuple(text.replace(str(self._any), str(value)) for text in texts) for texts in with_any
        )

    def _try(self, values: Sequence[Json], sightings: _Seen) -> list[Json]:
        """Add the values to `sightings`; return those that raise."""
        raising: list[Json] = []
        for value in values:
            texts = self._all_texts(value)
            if self._raises_only_with(texts, value):
                raising.append(value)
            else:
                _add_sighting(sightings, texts, value)
        return raising

    def _default(self, sightings: _Seen) -> _Texts | None:
        """Return the texts of the value that acts as the unset variable does, or None.

        Another switch may hide the effect of the value, so a difference under that switch counts
        only if the variable has no effect without it.
        """
        based = [ground.prober.setting == self._base for ground in self._grounds]

        def differs(texts: _Texts, *, everywhere: bool) -> bool:
            asked = (base or everywhere for base in based)
            return any(
                counts and one != other
                for counts, one, other in zip(asked, texts, self._usual, strict=True)
            )

        everywhere = not any(differs(texts, everywhere=False) for texts in sightings)
        alike = (texts for texts in sightings if not differs(texts, everywhere=everywhere))
        default = next(alike, None)
        # If no boolean has an effect, a boolean is as good as any other value.
        flags = [texts for texts, values in sightings.items() if isinstance(values[0], bool)]
        idle = default in flags and all(texts == default for texts in flags)
        return None if idle else default

    def _raises_only_with(self, texts: _Texts, value: Json) -> bool:
        """Whether the usual conversation raises only with the value.

        If the value changes the shortest conversation, it has an effect, too.
        """
        if not texts[0][0].startswith(_RAISED) or self._usual[0][0].startswith(_RAISED):
            return False
        ground = self._grounds[0]
        prompt = ground.prompt(self._under(ground, value))
        return not prompt.rendered or prompt.text == ground.prompt(ground.prober.setting).text

    def _differing(self, outcomes: Sequence[_Texts]) -> list[Ground]:
        """Return the grounds on which any value has an effect, the first one leading."""
        return [
            ground
            for at, ground in enumerate(self._grounds)
            if any(texts[at] != self._usual[at] for texts in outcomes)
        ]

    def _effects(self, texts: _Texts, value: Json) -> tuple[tuple[SwitchEffect, ...], str]:
        """Return the effects of a value on the first ground where it has any, and that ground."""
        differing = self._differing([texts])
        if not differing:
            return (), ""
        ground = differing[0]
        unset = ground.views(ground.prober.setting)
        effects = _effects_of_value(ground.prober, unset, ground.views(self._under(ground, value)))
        return effects, _words_of_grounds(differing)


def _is_no_flag(
    values: Sequence[Json],
    effects: Sequence[tuple[Sequence[SwitchEffect], str]],
    raising: Sequence[Json],
) -> bool:
    """Whether one boolean raises everywhere and the other one somewhere.

    A variable whose members are read, such as a list of names, is not a flag.
    """
    ((changed, _),) = effects
    flags = [*values, *raising]
    return all(isinstance(flag, bool) for flag in flags) and (
        bool(raising) and SwitchEffect.RAISES in changed
    )


def _effects_of_value(prober: Prober, unset: _Views, views: _Views) -> tuple[SwitchEffect, ...]:
    """Compare the renders under a value with those without it, effect by effect."""
    if unset.alone.rendered and not views.alone.rendered:
        return (SwitchEffect.RAISES,)
    marks = prober.sentinels
    effects: list[SwitchEffect] = []
    if views.alone.text != unset.alone.text:
        effects.append(SwitchEffect.PROMPT)
    prompts = ((unset.prompt, unset.alone), (views.prompt, views.alone))
    if _changes_added_text(prober, *prompts) or _changes_last_marker(*prompts):
        effects.append(SwitchEffect.GENERATION_PROMPT)
    counts = [view.history.text.count(marks.reasoning) for view in (unset, views)]
    if counts[0] != counts[1] and views.history.rendered:
        effects.append(SwitchEffect.HISTORY_REASONING)
    if _changes_added_text(prober, (unset.turn, unset.alone), (views.turn, views.alone)):
        effects.append(SwitchEffect.TURN)
    elif unset.call_turn is not None and views.call_turn is not None:
        called = ((unset.call_turn, unset.alone), (views.call_turn, views.alone))
        if _changes_added_text(prober, *called):
            effects.append(_effect_on_calls(prober, unset.call_turn, views.call_turn))
    raises = any(
        one.rendered and not other.rendered
        for one, other in zip(unset.probes, views.probes, strict=True)
    )
    if raises:
        effects.append(SwitchEffect.RAISES)
    # Otherwise it changes earlier messages, which a model sees as text before the turn.
    return tuple(effects) or (SwitchEffect.PROMPT,)


def _effect_on_calls(prober: Prober, unset: Probe, under: Probe) -> SwitchEffect:
    """Return the effect of a value that changes only turns that are calls."""
    marks = prober.sentinels
    one, other = (probe.text.rpartition(marks.user)[2] for probe in (unset, under))
    split = diff_split(one, other)
    identified = any(call_id in split.left or call_id in split.right for call_id in marks.ids)
    if marks.names[0] in split.suffix and not identified:
        return SwitchEffect.TURN
    # A length limit cuts arguments; that is not another notation.
    cut = marks.values[0] in one and marks.values[0] not in other
    return SwitchEffect.ARGUMENTS if cut and marks.names[0] in other else SwitchEffect.CALLS


def _changes_added_text(
    prober: Prober, unset: tuple[Probe, Probe], under: tuple[Probe, Probe]
) -> bool:
    """Whether a value changes the text that a longer conversation adds.

    Each pair is a longer conversation and the same one without its end. Text that a value appends
    after all messages, such as a note on tools, is not part of the turn.
    """
    if unset[0].rendered and not under[0].rendered:
        return False
    added = _text_added(prober, *unset)
    longer, shorter = (probe.text for probe in under)
    at = longer.rfind(added) if added else -1
    if at >= 0 and longer[:at] + longer[at + len(added) :] == shorter:
        return False
    user = prober.sentinels.user
    # If neither decides, compare the text after the user's words, whatever moved before it.
    behind = unset[0].text.rpartition(user)[2] != longer.rpartition(user)[2]
    other = _text_added(prober, *under)
    # The place of divergence depends on the next text: `<a>x<a>` before `<b>` appears as `x<a>`
    # after `<a>`, a rotation of the same text.
    alike = len(other) == len(added) and other in added + added
    return behind and not alike


def _changes_last_marker(unset: tuple[Probe, Probe], under: tuple[Probe, Probe]) -> bool:
    """Whether a prompt that is always written ends with another marker under a value."""
    unasked = all(asked.text == alone.text for asked, alone in (unset, under))
    ends = {edge_units(asked.text)[-1] for asked, _ in (unset, under) if asked.text}
    return unasked and len(ends) > 1


def _text_added(prober: Prober, longer: Probe, shorter: Probe) -> str:
    """Return the text that the longer conversation adds, else all after the user's words."""
    start = prefix_length(longer.text, shorter.text)
    rest = shorter.text[start:]
    end = len(longer.text) - len(rest)
    if end >= start and longer.text.endswith(rest):
        return longer.text[start:end]
    return longer.text.rpartition(prober.sentinels.user)[2]
