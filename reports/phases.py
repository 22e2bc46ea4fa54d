"""The conclusion of each phase, the renders behind it, and the markers that they found."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from rich.text import Text

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Dialogue, Message, ToolResult, UserMessage
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.formats.learned_format import LearnedFormat
from autoparser.analysis.formats.saved_format import SavedFormat
from autoparser.analysis.learning.prober import Evidence, Finding, Probe

from .blocks import (
    Blocks,
    ComparedTexts,
    Entries,
    Entry,
    Facts,
    Heading,
    Row,
    TableColumn,
    TextSide,
    code,
    join_texts,
    lead,
    link,
    prose,
    sentence,
    split_pieces,
    table,
    tag_text,
)
from .visible import (
    DOUBT_STYLE,
    LEGEND,
    doubt,
    literal,
    marker_text,
    quote_marker,
    setting_words,
    visible,
)

PAIRS = (
    "Each phase renders two conversations that differ in one point; text that only one of the"
    " renders contains is marked."
)
RENDERS_SHOWN = "--phase T3 shows the renders of one phase, --diffs those of all."
NO_RENDERS = "A saved format does not contain the renders: pass the template to see them."


def phases_section(learned: LearnedFormat, opened: Collection[str] = ()) -> Blocks:
    """List the phases' conclusions, each unfolding to its renders, if any."""
    saved = isinstance(learned, SavedFormat)
    count = str(len(learned.phases))
    hint = "" if saved else RENDERS_SHOWN
    return [
        Heading(Text("Phases"), "phases", count, hint=hint),
        *lead(NO_RENDERS if saved else PAIRS),
        *lead("docs/modes.md explains modes, markers and terms of this report."),
        Entries(tuple(phase_entries(learned, opened)), "Phase"),
    ]


def phase_entries(learned: LearnedFormat, opened: Collection[str] = ()) -> Iterator[Entry]:
    """Return a line for each phase: its conclusion, with its markers and renders folded."""
    markers = learned.markers.items()
    for finding in learned.phases:
        words = Text(visible(finding.conclusion))
        found = [
            sentence(code(name), " ", quote_marker(markers[name]))
            for name in finding.markers
            if name in markers
        ]
        behind: Blocks = prose(sentence("markers: ", join_texts(found, ", "))) if found else []
        evidence: Sequence[Evidence] = ()
        if isinstance(learned, Analysis) and isinstance(finding, Finding):
            evidence = learned.shown_evidence(finding)
        yield Entry(
            finding.title,
            words if finding.confirmed else sentence(words, doubt()),
            finding.phase,
            # Markers alone are not worth unfolding: they have a section of their own.
            blocks=[*behind, *map(_renders, evidence)] if evidence else [],
            opened=finding.phase in opened,
            # A link to anything inside the box opens it.
            anchor=f"phase-{finding.phase}",
        )


def _renders(evidence: Evidence) -> ComparedTexts:
    # A difference is named by both renders, as in `one argument / two arguments`.
    first, _, second = evidence.difference.partition(" / ")
    split = evidence.split
    pieces = split_pieces(split.prefix, split.left, split.right, split.suffix)
    sides = (
        _render(first or "the one", evidence.left),
        _render(second or "the other", evidence.right),
    )
    return ComparedTexts(sides, pieces, evidence.difference)


def _render(name: str, probe: Probe) -> TextSide:
    said = Facts(tuple(dialogue_rows(probe.dialogue)), 6, at_words=False, label=9, look="said")
    error = None
    if probe.error is not None:
        reason = tag_text(visible(probe.error.reason), "q")
        error = sentence("no text, the template raises: ", reason)
    conditions = render_conditions(probe)
    return TextSide(visible(name), conditions, [said], error, label=f"the render of {name}")


def render_conditions(probe: Probe) -> str:
    """Return the other inputs of a render, in words."""
    # Tools change most prompts, so their absence is named, too.
    words = ["with tools" if probe.tools else "without tools"]
    if probe.generation:
        words.append("with the generation prompt")
    if probe.setting:
        words.append(f"with {setting_words(probe.setting)}")
    return ", ".join(words)


def dialogue_rows(dialogue: Dialogue) -> list[Row]:
    """Return the messages of a conversation by speaker."""
    pairs: list[Row] = []
    for entry in dialogue:
        match entry:
            case UserMessage():
                pairs.append(("user", Text(marker_text(entry.text))))
            case ToolResult():
                pairs.append(("tool", Text(marker_text(entry.text))))
            case Message():
                # A probe may send an empty message on purpose.
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


def marker_section(learned: LearnedFormat) -> Blocks:
    """List every marker and stop string, each with the phase whose renders show it."""
    sources = {name: finding.phase for finding in learned.phases for name in finding.markers}
    markers = learned.markers.items()
    cells = [
        (
            code(name),
            _phase_link(sources.get(name, "")),
            _mark_unconfirmed(learned, name, literal(text)),
        )
        for name, text in markers.items()
    ]
    # Stop strings do not belong to a part, so no phase derives them.
    stops = learned.formats.united.stop_strings
    cells += [(code("stop string"), _phase_link(""), literal(text)) for text in stops]
    title = Heading(Text("Markers"), "markers", str(len(markers)))
    # A template of plain text has no markers, and that is a result.
    if not cells:
        return [title, *lead("None: no part has markers around it.")]
    heads = ("marker", "found by", TableColumn("text", at_words=False))
    words = "Markers, stripped, and the phase that found each."
    return [title, *lead(f"{words} {LEGEND}."), *table("Markers", heads, cells)]


def _phase_link(phase: str) -> Text:
    return link(phase, f"#phase-{phase}") if phase else Text("the end of the turn")


_PARTS = {"reasoning": TurnPart.REASONING, "content": TurnPart.CONTENT}


def _mark_unconfirmed(analysis: LearnedFormat, name: str, text: Text) -> Text:
    # All other names, such as `func_name_prefix`, belong to calls.
    part = _PARTS.get(name.partition("_")[0], TurnPart.CALLS)
    if part not in analysis.formats.united.unconfirmed:
        return text
    return sentence(text, ("  not confirmed", DOUBT_STYLE))
