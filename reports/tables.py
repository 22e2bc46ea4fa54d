"""The markers and the switches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from autoparser.analysis.core.format import Part
from autoparser.analysis.core.switches import Effect, Switch
from autoparser.analysis.describing.document import effects_of, effects_of_text, prompt_under
from autoparser.analysis.learnt import LearntFormat

from .layout import Lines, Row, heading, prose, rows, sentence
from .setting_words import DOUBT_STYLE, value_words
from .visible import LEGEND, literal, quoted, visible

__all__ = ["marker_rows", "marker_section", "switch_rows", "switch_section", "switch_words"]


def marker_section(analysis: LearntFormat, width: int) -> Lines:
    """List every marker by its name, with the phase that found it."""
    if not analysis.markers.items():
        return [*heading("Markers", width), *prose("none: nothing stands around any part", width)]
    pairs = [(f"{phase:2}  {name}", text) for phase, name, text in marker_rows(analysis)]
    return [*heading("Markers", width), *prose(LEGEND, width), *rows(pairs, width, words=False)]


def marker_rows(analysis: LearntFormat) -> Iterator[tuple[str, str, Text]]:
    """Return each marker: the phase that found it, its name, its text."""
    sources = {name: finding.phase for finding in analysis.phases for name in finding.markers}
    for name, text in analysis.markers.items().items():
        yield sources.get(name, ""), name, _doubted(analysis, name, literal(text))


_PARTS = {"reasoning": Part.REASONING, "content": Part.CONTENT}


def _doubted(analysis: LearntFormat, name: str, text: Text) -> Text:
    part = _PARTS.get(name.partition("_")[0], Part.CALLS)
    if part not in analysis.formats.united.unconfirmed:
        return text
    return sentence(text, ("  not confirmed", DOUBT_STYLE))


def switch_section(analysis: LearntFormat, width: int) -> Lines:
    """List the variables that a caller may set, and what each value changes."""
    switches = analysis.switches
    if not switches:
        return [*heading("Switches", width), *prose("none: no variable changes a render", width)]
    drawn = heading("Switches", width)
    for switch in switches:
        drawn += rows([(visible(switch.name), Text(switch_words(switch)))], width)
        drawn += rows(list(switch_rows(analysis, switch)), width, indent=4)
    return drawn


def switch_words(switch: Switch) -> str:
    """Say which value is as if none was set, and where alone the switch does anything."""
    words = [f"acts only {switch.only}"] if switch.only else []
    if switch.default is not None:
        words.append(f"{value_words(switch.default)} is what happens when it is not set")
    elif not switch.inserted:
        words.append("unset is unlike every value that was tried")
    return "; ".join(words)


def switch_rows(analysis: LearntFormat, switch: Switch) -> Iterator[Row]:
    """Say of each value what it changes."""
    if switch.inserted:
        yield "any text", Text(f"is written in; {_effects(effects_of_text(switch))}")
    for value in switch.values:
        effects = effects_of(switch, value)
        if not effects and repr(value) == repr(switch.default):
            continue  # `switch_words` has said so
        words = Text(_effects(effects))
        prompt = prompt_under(analysis.formats, {switch.name: value})
        if prompt is not None and Effect.GENERATION_PROMPT in effects:
            words.append(": ").append_text(_prompt(prompt))
        yield value_words(value), words


def _effects(effects: Sequence[Effect]) -> str:
    if not effects:
        return "as when it is not set"
    if Effect.RAISES in effects:
        return Effect.RAISES.value
    # What else it changes first, since the prompt's text follows.
    ordered = sorted(effects, key=lambda effect: effect is Effect.GENERATION_PROMPT)
    return f"changes {' and '.join(effect.value for effect in ordered)}"


def _prompt(text: str) -> Text:
    return quoted(text) if text else Text("empty")
