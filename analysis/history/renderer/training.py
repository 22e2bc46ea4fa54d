"""A template with `{% generation %}` markers, written around one that has none.

The markers are transformers' extension: they say which part of a conversation the model writes,
and change no text. The template itself is not touched. It becomes a macro; after it stands what
renders it, finds in its text what each assistant message has added after the generation prompt,
and writes the text again in pieces, those inside a generation block. So the text is the same by
construction; the proof renders both all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import product

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Dialogue, Message as Turn, ToolResult, User
from autoparser.analysis.core.errors import AutoparserError, TemplateRenderError
from autoparser.analysis.core.format import Slot, TurnFormat
from autoparser.analysis.inference.check import battery, battery_tools
from autoparser.analysis.inference.probing import choose_sentinels, offered
from autoparser.analysis.loading.template import ChatTemplate

from .attribution import attribute
from .generation import generation_ranges
from .leaves import fields_of
from .renders import HistoryRenders, Messages, prepared
from .shares import Joints


class TrainingTemplateError(AutoparserError):
    """A template with generation markers cannot be written, or is not the same template."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What was rendered by both templates."""

    conversations: int
    """Rendered to the same text by both, or refused by both."""
    refused: int
    masked: int
    """Conversations in which what is marked is also what the renderer says is sampled."""


@dataclass(frozen=True, slots=True)
class TrainingTemplate:
    """A template with generation markers, and the proof that it is the same template."""

    template: ChatTemplate
    proof: Proof
    patched: bool
    """False where the template had such markers itself."""


def training_template(analysis: Analysis) -> TrainingTemplate:
    """Return the template with generation markers. Raises TrainingTemplateError."""
    original = analysis.template
    if original.source is not None and original.source.ran_code:
        raise TrainingTemplateError(
            "an encoder in Python has no template that markers could stand in",
            file=original.origin,
            hint="use the loss mask of autoparser's renderer instead",
        )
    if original.marks_generation:
        return TrainingTemplate(original, _proved(analysis, original), patched=False)
    patched = ChatTemplate(
        _wrapped(analysis),
        original.special_tokens,
        original.name,
        original.origin,
        original.source,
    )
    try:
        patched.check_syntax()
    except AutoparserError as error:
        raise TrainingTemplateError(
            f"the template cannot stand in a macro: {error.message}", file=original.origin
        ) from error
    return TrainingTemplate(patched, _proved(analysis, patched), patched=True)


def _proved(analysis: Analysis, patched: ChatTemplate) -> Proof:
    tools = offered(battery_tools(), analysis.shape)
    renders = HistoryRenders.of(analysis.template, tools, {})
    # One clock for both, so that no second lies between them.
    others = HistoryRenders(patched, renders.tools, renders.switches, renders.clock)
    joints = Joints(analysis.formats.united)
    fields = fields_of(analysis.shape)
    conversations = refused = masked = 0
    for dialogue, generation in product(_dialogues(), (False, True)):
        words = choose_sentinels(analysis.template.text)
        messages = prepared(analysis.shape.messages(dialogue, words.system))
        text = renders.attempt(messages, generation=generation)
        other = others.attempt(messages, generation=generation)
        if text != other:
            raise TrainingTemplateError(
                "with generation markers it does not render the same text",
                file=analysis.template.origin,
                hint="use the loss mask of autoparser's renderer instead",
            )
        conversations += 1
        refused += text is None
        masked += text is not None and _alike(
            renders, others, messages, joints, fields, generation=generation
        )
    return Proof(conversations, refused, masked)


def _alike(
    renders: HistoryRenders,
    others: HistoryRenders,
    messages: Messages,
    joints: Joints,
    fields: Sequence[str],
    *,
    generation: bool,
) -> bool:
    """Whether the markers say what the attribution does."""
    whole = attribute(renders, messages, joints, generation=generation, reasoning_fields=fields)
    try:
        marked = generation_ranges(others, messages, whole.text, generation=generation)
    except TemplateRenderError:
        return False
    sampled = _joined((each.start, each.end) for each in whole.segments if each.sampled)
    return marked is not None and _joined(marked) == sampled


def _joined(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Put stretches together that touch."""
    found: list[tuple[int, int]] = []
    for start, end in stretches:
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def _dialogues() -> Iterator[Dialogue]:
    """Return every message of the battery, alone and between others."""
    for case in battery():
        answers = tuple(ToolResult("done", call.name, call.id) for call in case.message.calls)
        yield (User("Please look into it."), case.message, *answers)
        yield (
            User("Please look into it."),
            case.message,
            *answers,
            Turn("All done.", "It is done."),
            User("Thanks. Anything else?"),
            Turn("Nothing else."),
        )


def _wrapped(analysis: Analysis) -> str:
    format_ = analysis.formats.united
    openings = sorted({opening.text for opening in format_.openings}, key=len, reverse=True)
    literals = [layout.literals[0] for layout in format_.layouts.values() if not layout.refusal]
    eos = str(analysis.template.special_tokens.get("eos_token") or "")
    stops = [stop for stop in (*format_.stop_strings, eos) if stop]
    text = analysis.template.text.removesuffix("\n")
    values = {
        "original": text,
        "header": _literal(format_.header),
        "openings": _listed([opening for opening in openings if opening]),
        "stops": _listed(stops),
        "fields": _listed(fields_of(analysis.shape)),
        "reach": str(max(map(len, [*literals, *openings, format_.header])) + _before_name(format_)),
    }
    around = (
        files("autoparser.analysis.history.renderer")
        .joinpath("training.jinja")
        .read_text(encoding="utf-8")
    )
    # All at once: what is put in is not looked at again.
    return re.sub("@(\\w+)@", lambda place: values[place[1]], around)


def _before_name(format_: TurnFormat) -> int:
    """Say how many characters stand between a turn's first literal and a call's name."""
    if format_.calls is None:
        return 0
    pieces = format_.calls.row
    first = pieces[: next((at for at, each in enumerate(pieces) if each is Slot.NAME), 0)]
    return len(format_.calls.section_open) + sum(
        len(each) for each in first if not isinstance(each, Slot)
    )


def _literal(text: str) -> str:
    """Write a text as Jinja reads it."""
    inner = text.encode("unicode_escape").decode("ascii").replace('"', '\\"')
    return f'"{inner}"'


def _listed(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(_literal, texts))}]"
