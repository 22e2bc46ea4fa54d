"""The switches in words: what an unset one does, and what each value does in its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.switches import Switch, SwitchEffect, UnmovedVariable
from autoparser.analysis.core.turn_format import Formats
from autoparser.analysis.core.turn_shape import PromptProgress
from autoparser.analysis.formats.learned_format import LearnedFormat

from .blocks import Blocks, Heading, Row, Words, code, heading, joined, lead, prose, sentence, table
from .terminal import Lines, drawn_lines, fact_lines
from .visible import quoted, value_words, visible

LONGEST = 8
"""Lines of all switches together."""
NO_EFFECT = "No effect found"


def screen_switches(learned: LearnedFormat, width: int) -> Lines:
    """List the switches, a row each; the rest is counted where they are many."""
    if not learned.switches and not learned.unmoved:
        return []
    drawn = drawn_lines(heading("Switches, set as chat_template_kwargs"), width)
    most = max((len(switch.name) for switch in learned.switches), default=0)
    left = LONGEST
    for at, row in enumerate(switch_sentences(learned)):
        lines = fact_lines([row], width, label=most)
        if len(lines) > left or (len(lines) == left and at + 1 < len(learned.switches)):
            more = f"… {len(learned.switches) - at} more: --show switches"
            drawn += drawn_lines(prose(Text(more, style="dim")), width)
            break
        drawn += lines
        left -= len(lines)
    return [*drawn, *drawn_lines(_unmoved(learned.unmoved), width)]


def _unmoved(variables: Sequence[UnmovedVariable]) -> Blocks:
    return prose(sentence(f"{NO_EFFECT}: ", unmoved_words(variables))) if variables else []


def unmoved_words(variables: Sequence[UnmovedVariable]) -> Text:
    """Name the variables that are read and change nothing, as far as was tried."""
    words = [f"{visible(each.name)}{' (raises)' * each.raises}" for each in variables]
    return Text(", ".join(words))


def switch_sentences(learned: LearnedFormat) -> Iterator[Row]:
    """Say of each switch what is so when it is unset, and what values do."""
    for switch in learned.switches:
        switch_words = [Text(unset_words(switch, learned.formats))]
        switch_words += [
            sentence((label, "bold"), does) for label, does in _values(learned.formats, switch)
        ]
        raising = _raising(switch)
        if raising:
            switch_words.append(Text(f"{raising} raises"))
        words = joined(switch_words, "; ")
        if _common(switch):
            words.append(f"; only {switch.only}")
        yield visible(switch.name), words


def switch_section(learned: LearnedFormat) -> Blocks:
    """List the variables that a caller may set, and what each value changes."""
    cells: list[Sequence[Words]] = []
    for switch in learned.switches:
        name = code(visible(switch.name))
        cells.append((name, "", unset_words(switch, learned.formats)))
        cells += [(name, code(value), words) for value, words in switch_rows(learned, switch)]
    words = "Variables that a caller may set, and what each value changes."
    return [
        Heading(Text("Switches"), "switches", str(len(learned.switches))),
        *lead(words if cells else "None: no variable changes a render."),
        *table("Switches", ("switch", "value", "effect"), cells, grouped=True),
        *_unmoved(learned.unmoved),
    ]


def unset_words(switch: Switch, formats: Formats) -> str:
    """Say what the template does where the switch is not set."""
    if switch.name in formats.base:
        return f"{value_words(formats.base[switch.name])} here: unset raises"
    if switch.default is None:
        return "unset by default"
    groups = (each for each in switch.groups if repr(each[0]) == repr(switch.default))
    equal = next(groups, (switch.default,))
    # Beside a word that it is compared with, booleans are nothing that a caller sends.
    named = [each for each in equal if isinstance(each, bool) is isinstance(equal[0], bool)]
    return f"unset by default, as {' or '.join(map(value_words, named))}"


def switch_rows(analysis: LearnedFormat, switch: Switch) -> Iterator[Row]:
    """Say of each value what it changes, with the text of each generation prompt."""
    for label, value, effects, only in _each(switch):
        words = sentence(f"only {only}: " if only else "", _effects(effects))
        prompt = None if value is None else analysis.formats.prompt_under({switch.name: value})
        if prompt is not None and not only and SwitchEffect.GENERATION_PROMPT in effects:
            words.append(": ").append_text(quoted(prompt) if prompt else Text("empty"))
        yield label, words
    raising = _raising(switch)
    if raising:
        yield raising, Text(SwitchEffect.RAISES.value)


def _each(switch: Switch) -> Iterator[tuple[str, Json, tuple[SwitchEffect, ...], str]]:
    """Return each effect: its values in words, one of them, itself, and where alone it shows."""
    other = "number" if switch.numeric else "text"
    if switch.inserted:
        yield f"any {other}", None, switch.text_effects, switch.only
    for at, group in enumerate(switch.groups):
        effects = switch.effects_of(group[0])
        if not effects:
            continue
        names = [
            f"any other {other}"
            if switch.any_other is not None and repr(value) == repr(switch.any_other)
            else value_words(value)
            for value in group
        ]
        only = switch.conditions[at] if switch.conditions else switch.only
        yield ", ".join(names), group[0], effects, only


def _common(switch: Switch) -> bool:
    """Whether all values act only where the switch does."""
    return bool(switch.only) and all(only == switch.only for *_, only in _each(switch))


def _raising(switch: Switch) -> str:
    """Name the values that raise; empty where none does."""
    names = [value_words(value) for value in switch.raising]
    if switch.others_raise:
        known = bool(switch.values) and not switch.inserted
        names.append(f"any {'other ' * known}{'number' if switch.numeric else 'text'}")
    return " or ".join(names)


def _values(formats: Formats, switch: Switch) -> Iterator[tuple[str, Text]]:
    for label, value, effects, only in _each(switch):
        does = _does(formats, None if value is None or only else {switch.name: value}, effects)
        written = " is written in" if value is None else ""
        where = f"{only}, " if only and not _common(switch) else ""
        yield f"{where}{label}", sentence(written, ": ", does)


def _effects(effects: Sequence[SwitchEffect]) -> str:
    changed = [effect for effect in effects if effect is not SwitchEffect.RAISES]
    if not changed:
        return SwitchEffect.RAISES.value
    # What else is changed comes first, since the prompt's text follows.
    *first, last = sorted(changed, key=lambda effect: effect is SwitchEffect.GENERATION_PROMPT)
    raises = ", and some conversations raise" * (SwitchEffect.RAISES in effects)
    return f"changes {', '.join(first)}{' and ' * bool(first)}{last}{raises}"


def _does(
    formats: Formats, setting: dict[str, Json] | None, effects: tuple[SwitchEffect, ...]
) -> Text:
    begun = None if setting is None else formats.under(setting)
    opening = None if begun is None else begun.opening
    setting_tells = (
        opening is not None and setting is not None and setting.keys() <= opening.setting.keys()
    )
    if opening is None or not setting_tells or SwitchEffect.GENERATION_PROMPT not in effects:
        return Text(_effects(effects))
    others = [effect for effect in effects if effect is not SwitchEffect.GENERATION_PROMPT]
    effect_words = [Text(_effects(others))] if others else []
    # In words where these tell it from the default's, else by its text.
    usual = formats.default.opening
    plain = opening.written not in (PromptProgress.OTHER, PromptProgress.PART_OF_HEADER)
    if plain and (usual is None or usual.written is not opening.written):
        effect_words.append(Text(f"the prompt ends with {opening.written.value}"))
    else:
        effect_words.append(sentence("the prompt ends with ", quoted(opening.text)))
    return joined(effect_words, ", ")
