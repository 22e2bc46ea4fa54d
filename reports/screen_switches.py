"""The switches in words: what each value does, and which is the default."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from autoparser.analysis.core.format import Formats, Opening, Written
from autoparser.analysis.core.switches import Effect, Switch
from autoparser.analysis.describing.document import effects_of, effects_of_text
from autoparser.analysis.learnt import LearntFormat

from .layout import Lines, Row, heading, joined, prose, rows, sentence
from .setting_words import value_words
from .visible import quoted, visible

__all__ = ["screen_switches", "switch_sentences"]

LONGEST = 8
"""Lines of all switches together."""


def screen_switches(learnt: LearntFormat, width: int) -> Lines:
    """List the switches, a row each; the rest is counted where they are many."""
    if not learnt.switches:
        return []
    drawn = heading("Switches, set as chat_template_kwargs", width)
    most = max(len(switch.name) for switch in learnt.switches)
    left = LONGEST
    for at, row in enumerate(switch_sentences(learnt)):
        lines = rows([row], width, label=most)
        if len(lines) > left or (len(lines) == left and at + 1 < len(learnt.switches)):
            more = f"… {len(learnt.switches) - at} more: --show switches"
            return [*drawn, *prose(Text(more, style="dim"), width)]
        drawn += lines
        left -= len(lines)
    return drawn


def switch_sentences(learnt: LearntFormat) -> Iterator[Row]:
    """Say of each switch what is the default and what the other values do."""
    return (_row(learnt.formats, switch) for switch in learnt.switches)


def _row(formats: Formats, switch: Switch) -> Row:
    words = joined(list(_values(formats, switch)), "; ")
    if switch.only:
        words = sentence(words, f"; only {switch.only}")
    return visible(switch.name), words


def _values(formats: Formats, switch: Switch) -> Iterator[Text]:
    """Say of the default that it is that, and of each other value what it does."""
    if switch.default is not None:
        yield sentence((value_words(switch.default), "bold"), " by default")
    elif not switch.inserted:
        yield Text("unset by default")
    if switch.inserted:
        yield sentence("any text is written in", _does(formats, None, effects_of_text(switch)))
    for value in switch.values:
        effects = effects_of(switch, value)
        if effects:
            begun = formats.under({switch.name: value})
            opening = None if begun is None else begun.opening
            told = opening if opening and switch.name in opening.setting else None
            does = _does(formats, told, effects)
            yield sentence((value_words(value), "bold"), does)


def _does(formats: Formats, opening: Opening | None, effects: tuple[Effect, ...]) -> Text:
    if Effect.RAISES in effects:
        return Text(": the template raises")
    said: list[Text] = []
    others = [effect.value for effect in effects if effect is not Effect.GENERATION_PROMPT]
    if others:
        said.append(Text(f"changes {' and '.join(others)}"))
    if Effect.GENERATION_PROMPT in effects:
        said.append(_prompted(formats, opening))
    return sentence(": ", joined(said, ", "))


def _prompted(formats: Formats, opening: Opening | None) -> Text:
    """Say how the prompt ends: in words where these tell it from the default's, else its text."""
    if opening is None:
        return Text("changes the generation prompt")
    usual = formats.default.opening
    plain = opening.written not in (Written.OTHER, Written.PART_OF_HEADER)
    if plain and (usual is None or usual.written is not opening.written):
        return Text(f"the prompt ends with {opening.written.value}")
    return sentence("the prompt ends with ", quoted(opening.text))
