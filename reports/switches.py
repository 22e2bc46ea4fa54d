"""The switches in words: the default behavior, and the effect of each value.

For example, the first screen lists the switch of the template of `autoparser demo` as

    Switches (chat_template_kwargs)
      enable_thinking  default true; false: the prompt closes reasoning
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format_choice import Formats
from autoparser.analysis.core.switches import Switch, SwitchEffect, UnmovedVariable
from autoparser.analysis.core.turn_shape import PromptProgress
from autoparser.analysis.formats.learned_format import LearnedFormat

from .blocks import (
    Blocks,
    Heading,
    Row,
    Words,
    code,
    heading,
    join_texts,
    lead,
    prose,
    sentence,
    table,
)
from .terminal import LABEL_STYLE, Lines, cut_at_word, drawn_lines
from .visible import first_names, quote_marker, value_words, visible

ROOMY = 4
"""Lines of switches up to which variables without effect are named, too."""
NO_EFFECT = "No visible effect"
"""The label of variables that are read but changed no render."""


def screen_switches(learned: LearnedFormat, width: int, most: int) -> Lines:
    """List the switches on at most `most` lines, those that change most of a turn first."""
    if not learned.switches and not learned.unmoved:
        return []
    switches = sorted(learned.switches, key=_weight)
    whole_lines, folded = _folded_switches(switches, width, most)
    shown = [_switch_sentence(learned, switch) for switch in switches[:whole_lines]]
    # Only of the shown ones: a folded switch may have the longest name.
    widest = max((len(str(name)) for name, _ in shown), default=0)
    lines = [
        sentence("  ", (f"{name:<{widest}}", LABEL_STYLE), "  ", words) for name, words in shown
    ]
    none = [sentence(f"{NO_EFFECT}: ", unmoved_words(learned.unmoved))] if learned.unmoved else []
    lines += none[: most // ROOMY]
    # Insert before the variables without effect, which matter least.
    lines[whole_lines:whole_lines] = folded
    cut = any(line.cell_len > width for line in lines) or len(none) > most // ROOMY
    whole = "; in full: --show switches" if cut or folded else ""
    # A line that only lists names does not show effects.
    grouped = any(": " in line.plain for line in folded)
    title = "Switches, and what they change" if grouped else "Switches"
    for line in lines:
        if line.cell_len > width:
            cut_at_word(line, width - 2)
            line.append(" …")
    return [*drawn_lines(heading(f"{title} (chat_template_kwargs{whole})"), width), *lines]


def _folded_switches(switches: Sequence[Switch], width: int, most: int) -> tuple[int, Lines]:
    """Return how many switches get a line of their own, and the lines of the others.

    The others are grouped by their effects, or only named if the groups need too many lines.
    """
    if len(switches) <= most:
        return len(switches), []
    # Show as many switches on their own line as leave room for groups of the others.
    for whole in range(most - 1, -1, -1):
        groups: dict[str, list[str]] = {}
        for switch in switches[whole:]:
            effects = ", ".join(
                _SHORT[effect] for effect in SwitchEffect if effect in switch.changes
            )
            groups.setdefault(effects or "raises", []).append(visible(switch.name))
        words = "; ".join(f"{', '.join(names)}: {effects}" for effects, names in groups.items())
        lines = drawn_lines(prose(Text(words, style="dim")), width)
        if whole + len(lines) <= most:
            return whole, lines
    # Even the groups are too long: only names, as many as fit on one line.
    names = [visible(switch.name) for switch in switches[most - 1 :]]
    named = [f"  … {first_names(names, count)}" for count in range(len(names), 0, -1)]
    line = next((line for line in named if len(line) <= width), named[-1])
    return most - 1, [Text(line, style="dim")]


_SHORT = {
    SwitchEffect.GENERATION_PROMPT: "generation prompt",
    SwitchEffect.HISTORY_REASONING: "history",
    SwitchEffect.TURN: "turn",
    SwitchEffect.CALLS: "calls",
    SwitchEffect.ARGUMENTS: "arguments",
    SwitchEffect.PROMPT: "prompt text",
    SwitchEffect.RAISES: "raises",
}


def _weight(switch: Switch) -> tuple[bool, int]:
    """Order switches by their effects, as these are declared; those under a condition come last."""
    order = [*SwitchEffect]
    return bool(switch.only), min(map(order.index, switch.changes), default=len(order))


def _unmoved_variables(variables: Sequence[UnmovedVariable]) -> Blocks:
    return prose(sentence(f"{NO_EFFECT}: ", unmoved_words(variables))) if variables else []


def unmoved_words(variables: Sequence[UnmovedVariable]) -> Text:
    """Name the variables that are read but had no effect in any trial."""
    words = [f"{visible(variable.name)}{' (raises)' * variable.raises}" for variable in variables]
    return Text(", ".join(words))


def switch_sentences(learned: LearnedFormat) -> Iterator[Row]:
    """Describe each switch: its default behavior, and the effects of its values."""
    return (_switch_sentence(learned, switch) for switch in learned.switches)


def _switch_sentence(learned: LearnedFormat, switch: Switch) -> Row:
    unset = unset_words(switch, learned.formats)
    switch_words = [Text(unset)] if unset else []
    switch_words += [
        sentence((label, "bold"), does) for label, does in _values(learned.formats, switch)
    ]
    raising = _raising(switch)
    if raising:
        switch_words.append(Text(f"{raising} raises"))
    words = join_texts(switch_words, "; ")
    if _common(switch):
        words.append(f"; only {switch.only}")
    return visible(switch.name), words


def switch_section(learned: LearnedFormat) -> Blocks:
    """List the variables that a caller may set, and the effect of each value."""
    cells: list[Sequence[Words]] = []
    for switch in learned.switches:
        name = code(visible(switch.name))
        cells.append((name, "", unset_words(switch, learned.formats) or "unset by default"))
        cells += [(name, code(value), words) for value, words in switch_rows(learned, switch)]
    words = "Variables that a caller may set, and what each value changes."
    return [
        Heading(Text("Switches"), "switches", str(len(learned.switches))),
        *lead(words if cells else "None: no variable changes a render."),
        *table("Switches", ("switch", "value", "effect"), cells, grouped=True),
        *_unmoved_variables(learned.unmoved),
    ]


def unset_words(switch: Switch, formats: Formats) -> str:
    """Describe the template's behavior with the switch unset."""
    # The template renders nothing without it, so its default is never seen.
    if switch.name in formats.base:
        return f"{value_words(formats.base[switch.name])} here: unset raises"
    if switch.default is None:
        return ""
    # By `repr`, since 1, 1.0 and True are equal in Python.
    groups = (group for group in switch.groups if repr(group[0]) == repr(switch.default))
    equal = next(groups, (switch.default,))
    # If the template compares the variable with a word, leave out booleans, which no caller sends.
    named = [value for value in equal if isinstance(value, bool) is isinstance(equal[0], bool)]
    return f"default {' or '.join(map(value_words, named))}"


def switch_rows(analysis: LearnedFormat, switch: Switch) -> Iterator[Row]:
    """Describe the effect of each value, with the text of each generation prompt."""
    for label, value, effects, only in _value_effects(switch):
        words = sentence(f"only {only}: " if only else "", _effects(effects))
        # A value of free text has no prompt of its own.
        prompt = None if value is None else analysis.formats.prompt_under({switch.name: value})
        if prompt is not None and not only and SwitchEffect.GENERATION_PROMPT in effects:
            words.append(": ").append_text(quote_marker(prompt) if prompt else Text("empty"))
        yield label, words
    raising = _raising(switch)
    if raising:
        yield raising, Text(SwitchEffect.RAISES.value)


def _value_effects(switch: Switch) -> Iterator[tuple[str, Json, tuple[SwitchEffect, ...], str]]:
    """Yield each effect: a label, an example value, the effects, and their condition."""
    other = "number" if switch.numeric else "text"
    if switch.inserted:
        free = f"any {other}" if switch.numeric else "free text"
        yield free, None, switch.text_effects, switch.only
    for at, group in enumerate(switch.groups):
        effects = switch.value_effects(group[0])
        # Values without an effect are named with the default, to which they are equal.
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
    """Return whether all values share the switch's condition."""
    return bool(switch.only) and all(only == switch.only for *_, only in _value_effects(switch))


def _raising(switch: Switch) -> str:
    """Name the values that raise; empty if none does."""
    names = [value_words(value) for value in switch.raising]
    if switch.others_raise:
        known = bool(switch.values) and not switch.inserted
        names.append(f"any {'other ' * known}{'number' if switch.numeric else 'text'}")
    return " or ".join(names)


def _values(formats: Formats, switch: Switch) -> Iterator[tuple[str, Text]]:
    for label, value, effects, only in _value_effects(switch):
        does = _does(formats, None if value is None or only else {switch.name: value}, effects)
        where = f"{only}, " if only and not _common(switch) else ""
        inserted = value is None and effects == (SwitchEffect.PROMPT,)
        does = Text(", inserted before the turn") if inserted else sentence(": ", does)
        yield f"{where}{label}", does


def _effects(effects: Sequence[SwitchEffect]) -> str:
    changed = [effect for effect in effects if effect is not SwitchEffect.RAISES]
    # A value may do nothing but make some conversations raise.
    if not changed:
        return SwitchEffect.RAISES.value
    # Name the other effects first, since the prompt's text follows.
    *first, last = sorted(changed, key=lambda effect: effect is SwitchEffect.GENERATION_PROMPT)
    raises = ", and some conversations raise" * (SwitchEffect.RAISES in effects)
    return f"changes {', '.join(first)}{' and ' * bool(first)}{last}{raises}"


def _does(
    formats: Formats, setting: dict[str, Json] | None, effects: tuple[SwitchEffect, ...]
) -> Text:
    begun = None if setting is None else formats.under(setting)
    opening = None if begun is None else begun.opening
    setting_tells = (
        # An opening found without this switch does not show the effect of its value.
        opening is not None and setting is not None and setting.keys() <= opening.setting.keys()
    )
    if opening is None or not setting_tells or SwitchEffect.GENERATION_PROMPT not in effects:
        return Text(_effects(effects))
    others = [effect for effect in effects if effect is not SwitchEffect.GENERATION_PROMPT]
    # In words if the default prompt has others, else by its text.
    usual = formats.default.opening
    words = _IN_WORDS.get(opening.written)
    if words is not None and (usual is None or usual.written is not opening.written):
        prompt_words = Text(f"the prompt {words}")
    else:
        prompt_words = sentence("the prompt ends with ", quote_marker(opening.text))
    return sentence(prompt_words, f", {_effects(others)}") if others else prompt_words


_IN_WORDS = {
    PromptProgress.NOTHING: "does not begin the turn",
    PromptProgress.HEADER: "ends with the header",
    PromptProgress.REASONING_OPEN: "opens reasoning",
    PromptProgress.REASONING_CLOSED: "closes reasoning",
}
