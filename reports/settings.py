"""The formats of a template's settings, and what the gate says of their prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.turn_format import Formats, TurnFormat
from autoparser.analysis.core.turn_shape import TurnOpening
from autoparser.analysis.core.verdicts import Gate
from autoparser.analysis.formats.learned_format import LearntFormat

from .blocks import Blocks, Row, heading, joined, prose, rows, sentence
from .setting_words import setting_words
from .verdict import verdict
from .visible import quoted, visible

__all__ = [
    "fault_section",
    "gate_score",
    "gate_style",
    "gate_words",
    "setting_rows",
    "settings_section",
    "settings_words",
]

FAULTS_SHOWN = 4


def gate_words(learnt: LearntFormat) -> Text:
    """Say in one sentence what became of what the template writes after its prompts."""
    gate = learnt.gate
    if not gate.asked:
        return Text("not asked: no turn that was tried goes on from a generation prompt")
    counted = Text(gate_score(gate), style=gate_style(learnt))
    words = ": what the template writes after its prompts is accepted by the grammar and read back"
    if not gate.ok:
        failed = gate.asked - gate.passed + gate.usual_asked - gate.usual_passed
        words = f": {failed} texts that the template writes after its prompts"
        words += " are refused by the grammar or read otherwise, see the end"
    if gate.not_asked:
        words += f"; {gate.not_asked} not asked, where its turn does not go on from the prompt"
    return sentence(counted, words)


def gate_score(gate: Gate) -> str:
    """Return the verdict in figures, with those of the form that users send where it is another."""
    usual = f", usual form {gate.usual_passed}/{gate.usual_asked}" if gate.usual_asked else ""
    return f"gate {gate.passed}/{gate.asked}{usual}"


def gate_style(learnt: LearntFormat) -> str:
    """Return the style of the gate's score: green only where users' own form is asked, too."""
    if not learnt.gate.ok:
        return "bold red"
    return "bold" if learnt.spoiled else "bold green"


def settings_section(analysis: LearntFormat) -> Blocks:
    """List the settings that change how a turn is written; nothing where none does."""
    formats = analysis.formats
    if len(formats) == 1:
        return []
    drawn = [*heading("Settings"), *prose(settings_words(formats))]
    for setting, writes in setting_rows(analysis):
        drawn += prose(setting, hang=2)
        drawn += prose(writes, indent=6)
    for group in formats.alike:
        settings = [Text(_of(begun.opening)) for begun in group if begun.opening is not None]
        prompt = group[0].opening
        if prompt is not None:
            ends = quoted(prompt.text)
            same = sentence("A prompt that ends with ", ends, " may be one with ")
            tells = "what stands before it tells"
            if not all(begun.opening and begun.opening.signs for begun in group):
                tells = "it is read as under the first, unless the setting is given"
            both = sentence(same, joined(settings, " or "), f": {tells}.")
            drawn += prose(both)
    if formats.untried:
        drawn += prose(f"{formats.untried} further combinations of values were not tried.")
    return drawn


def settings_words(formats: Formats) -> str:
    """Say how many formats there are, and of which one the rest of the report tells."""
    return (
        "The chat_template_kwargs change how a turn is written or where it begins:"
        f" {len(formats)} formats. Markers, turn and phases in this report are those with"
        f" {_named(formats.fullest)}."
    )


def setting_rows(analysis: LearntFormat) -> Iterator[Row]:
    """Say of each format under what it is so, what it writes, and whether it holds."""
    for format_, check in zip(analysis.formats, analysis.checks, strict=True):
        words = sentence(_writes(format_), "; ", verdict(check))
        yield " or ".join(_telling(format_)), words


def _writes(format_: TurnFormat) -> Text:
    said = sentence("the prompt ends with ", _ends(format_.openings))
    if format_.later_openings:
        said = sentence(said, ", behind earlier turns also with ", _ends(format_.later_openings))
    if TurnPart.REASONING in format_.elsewhere:
        said.append("; no reasoning is written")
    return said


def _ends(openings: Sequence[TurnOpening]) -> Text:
    texts = dict.fromkeys(opening.text for opening in openings)
    return joined([quoted(text) if text else Text("nothing") for text in texts], " or ")


def _telling(format_: TurnFormat) -> list[str]:
    """Name the settings of a format, those left out that only say more of the same."""
    told: list[TurnOpening] = []
    for opening in sorted(format_.openings, key=lambda opening: len(opening.setting)):
        if not any(_covers(other, opening) for other in told):
            told.append(opening)
    return [_of(opening) for opening in told]


def _covers(one: TurnOpening, other: TurnOpening) -> bool:
    same = all(repr(other.setting.get(name)) == repr(one.setting[name]) for name in one.setting)
    return same and one.tools is other.tools


def _of(opening: TurnOpening | None) -> str:
    setting = "" if opening is None else setting_words(opening.setting)
    bare = "" if opening is None or opening.tools else " without tools"
    return f"{setting or 'nothing set'}{bare}"


def _named(format_: TurnFormat) -> str:
    return setting_words(format_.setting) or "nothing set"


def fault_section(formats: Formats, gate: Gate) -> Blocks:
    """Show what the gate does not let pass; nothing where all passes."""
    if gate.ok:
        return []
    usual = f", as users send them {gate.usual_passed} of {gate.usual_asked}"
    words = f"Gate: {gate.passed} of {gate.asked} texts pass"
    drawn = heading(f"{words}{usual if gate.usual_asked else ''}")
    drawn += rows(list(_faults(formats, gate)))
    left_out = len(gate.faults) - FAULTS_SHOWN
    if left_out > 0:
        drawn += prose(f"and {left_out} more")
    return drawn


def _faults(formats: Formats, gate: Gate) -> Iterator[tuple[str, Text]]:
    for fault in gate.faults[:FAULTS_SHOWN]:
        setting = setting_words(fault.setting)
        under = f" with {setting}" if setting and len(formats) > 1 else ""
        words = f"not {fault.question.value}{under}: {visible(fault.detail)}"
        yield fault.title, Text(words)
