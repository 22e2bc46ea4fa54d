"""What each phase concluded, the renders that say so, and the markers that they found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Dialogue, Message, ToolResult, UserMessage
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.formats.format_file import SavedPhase
from autoparser.analysis.formats.learned_format import LearnedFormat
from autoparser.analysis.learning.prober import Evidence, Finding, Probe

from .blocks import (
    Blocks,
    DifferencePiece,
    Row,
    Side,
    blank,
    difference,
    heading,
    joined,
    prose,
    rows,
    sentence,
)
from .visible import (
    DOUBT_STYLE,
    LEGEND,
    doubt,
    literal,
    marker_text,
    quoted,
    setting_words,
    visible,
)


def phases_section(analysis: LearnedFormat, renders: str) -> Blocks:
    """List the phases with their conclusions, one row each; `renders` says where those are."""
    pairs = [(_title(finding), _conclusion(finding)) for finding in analysis.phases]
    return [
        *heading("Phases"),
        *prose(renders),
        *prose("docs/modes.md explains modes, markers and the words of this report."),
        *rows(pairs),
    ]


def _title(finding: Finding | SavedPhase) -> str:
    return f"{finding.phase} {finding.title}"


def _conclusion(finding: Finding | SavedPhase) -> Text:
    words = Text(visible(finding.conclusion))
    return words if finding.confirmed else sentence(words, doubt())


def phase_section(analysis: Analysis, finding: Finding) -> Blocks:
    """Show a phase in full: its conclusion, its markers, and each pair of renders."""
    markers = analysis.markers.items()
    found = [
        sentence(f"{name} ", quoted(markers[name])) for name in finding.markers if name in markers
    ]
    drawn = [*heading(f"Phase {_title(finding)}"), *prose(_conclusion(finding))]
    if found:
        drawn += prose(sentence("markers: ", joined(found, ", ")))
    for evidence in finding.evidence:
        drawn += _evidence(evidence)
    return drawn


def _evidence(evidence: Evidence) -> Blocks:
    first, _, second = evidence.difference.partition(" / ")
    names = (first or "the one", second or "the other")
    sides = ((Side.LEFT, names[0], evidence.left), (Side.RIGHT, names[1], evidence.right))
    drawn = [*blank(), *prose(Text(visible(evidence.difference), style="bold"))]
    for side, name, probe in sides:
        drawn += prose(f"{side.value} {visible(name)}: {render_conditions(probe)}", hang=2)
        drawn += rows(dialogue_rows(probe.dialogue), indent=6, words=False, label=9)
    drawn += blank()
    for side, _, probe in sides:
        if probe.error is not None:
            reason = visible(probe.error.reason)
            drawn += prose(f"{side.value} no text, the template raises: {reason}", hang=2)
    split = evidence.split
    pieces = [
        DifferencePiece(Side.BOTH, split.prefix),
        DifferencePiece(Side.LEFT, split.left),
        DifferencePiece(Side.RIGHT, split.right),
        DifferencePiece(Side.BOTH, split.suffix),
    ]
    if not split.left and not split.right and split.prefix:
        return drawn + prose("both render the same text")
    return drawn + difference([piece for piece in pieces if piece.text])


def render_conditions(probe: Probe) -> str:
    """Say what else went into a render."""
    words = ["with tools" if probe.tools else "without tools"]
    if probe.generation:
        words.append("with the generation prompt")
    if probe.setting:
        words.append(f"with {setting_words(probe.setting)}")
    return ", ".join(words)


def dialogue_rows(dialogue: Dialogue) -> list[Row]:
    """Return who says what in a conversation."""
    pairs: list[Row] = []
    for entry in dialogue:
        match entry:
            case UserMessage():
                pairs.append(("user", Text(marker_text(entry.text))))
            case ToolResult():
                pairs.append(("tool", Text(marker_text(entry.text))))
            case Message():
                texts = _message(entry) or ["(nothing)"]
                pairs += [("" if at else "assistant", Text(text)) for at, text in enumerate(texts)]
    return pairs


def _message(message: Message) -> Sequence[str]:
    texts = [
        f"{name}: {marker_text(text)}"
        for name, text in (("reasoning", message.reasoning), ("content", message.content))
        if text
    ]
    for call in message.calls:
        arguments = ", ".join(f"{key}={value!r}" for key, value in call.arguments.items())
        call_id = f"  id {call.id}" if call.id else ""
        texts.append(visible(f"call: {call.name}({arguments}){call_id}"))
    return texts


def marker_section(analysis: LearnedFormat) -> Blocks:
    """List every marker by its name, with the phase that found it."""
    if not analysis.markers.items():
        return [*heading("Markers"), *prose("none: nothing stands around any part")]
    pairs = [(f"{phase:2}  {name}", text) for phase, name, text in marker_rows(analysis)]
    return [*heading("Markers"), *prose(LEGEND), *rows(pairs, words=False)]


def marker_rows(analysis: LearnedFormat) -> Iterator[tuple[str, str, Text]]:
    """Return each marker: the phase that found it, its name, its text."""
    sources = {name: finding.phase for finding in analysis.phases for name in finding.markers}
    for name, text in analysis.markers.items().items():
        yield sources.get(name, ""), name, _doubted(analysis, name, literal(text))


_PARTS = {"reasoning": TurnPart.REASONING, "content": TurnPart.CONTENT}


def _doubted(analysis: LearnedFormat, name: str, text: Text) -> Text:
    part = _PARTS.get(name.partition("_")[0], TurnPart.CALLS)
    if part not in analysis.formats.united.unconfirmed:
        return text
    return sentence(text, ("  not confirmed", DOUBT_STYLE))
