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
from autoparser.analysis.core.conversation import Answer, Dialogue, Message as Turn, User
from autoparser.analysis.core.errors import AutoparserError, TemplateRenderError
from autoparser.analysis.inference.check import battery, battery_tools
from autoparser.analysis.inference.probing import choose_sentinels, offered
from autoparser.analysis.loading.template import ChatTemplate

from .attribution import Attributed, attribute, historic_closes
from .generation import generation_ranges
from .leaves import fields_of
from .marks import MARK_DIGITS, unused_word
from .renders import Messages, Renders, prepared
from .shares import Joints


MARK_LETTERS = 8
"""A conversation is not known yet: a longer word is less likely to be in one."""


class TrainingTemplateError(AutoparserError):
    """A template with generation markers cannot be written, or is not the same template."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """A turn in which what is marked is not what the renderer says is sampled."""

    conversation: tuple[str, ...]
    """The roles of its messages."""
    message: int
    turn: str
    """The parts of the turn."""
    left_out: tuple[str, ...]
    """What the model writes, unmarked."""
    marked_too: tuple[str, ...]
    """What the model does not write, marked."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What was rendered by both templates."""

    conversations: int
    """Rendered to the same text by both, or refused by both."""
    refused: int
    masked: int
    """Conversations in which what is marked is also what the renderer says is sampled."""
    deviations: tuple[Deviation, ...]
    """One for each kind of turn in each kind of conversation, in which that is not so."""

    @property
    def passed(self) -> bool:
        """Whether the markers are the renderer's loss mask wherever both render."""
        return self.masked == self.conversations - self.refused


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
    try:
        return _made(analysis, ends=True)
    except TrainingTemplateError:
        # A template may refuse a conversation that ends with a turn, such as an unanswered call.
        return _made(analysis, ends=False)


def _made(analysis: Analysis, *, ends: bool) -> TrainingTemplate:
    original = analysis.template
    patched = ChatTemplate(
        _wrapped(analysis, ends=ends),
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
    renders = Renders.of(analysis.template, tools, {})
    # One clock for both, so that no second lies between them.
    others = Renders(patched, renders.tools, renders.switches, renders.clock)
    joints = Joints(analysis.formats.united)
    fields = fields_of(analysis.shape)
    words = choose_sentinels(analysis.template.text)
    conversations = refused = masked = 0
    deviations: dict[tuple[object, ...], Deviation] = {}
    for dialogue, generation in product(_dialogues(), (False, True)):
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
        if text is None:
            refused += 1
            continue
        whole = attribute(
            renders, messages, joints, generation=generation, reasoning_fields=fields, text=text
        )
        marked = _marked(others, messages, text, generation=generation)
        found = list(_deviations(whole, marked, dialogue, messages))
        masked += not found
        for each in found:
            deviations.setdefault((each.conversation, each.message, each.turn), each)
    return Proof(conversations, refused, masked, tuple(deviations.values()))


def _marked(
    others: Renders, messages: Messages, text: str, *, generation: bool
) -> list[tuple[int, int]]:
    """Return what generation blocks hold; nothing where nobody can tell."""
    try:
        marked = generation_ranges(others, messages, text, generation=generation)
    except TemplateRenderError:
        return []
    return _joined(marked or [])


def _deviations(
    whole: Attributed, marked: Sequence[tuple[int, int]], dialogue: Dialogue, messages: Messages
) -> Iterator[Deviation]:
    """Return the turns of a conversation that are marked otherwise than they are sampled."""
    sampled = _joined((each.start, each.end) for each in whole.segments if each.sampled)
    left_out = _beyond(sampled, marked)
    marked_too = _beyond(marked, sampled)
    owners: dict[int, tuple[list[str], list[str]]] = {}
    for which, stretches in enumerate((left_out, marked_too)):
        for start, end in stretches:
            owner = next(each.message for each in whole.segments if each.end > start)
            owners.setdefault(owner, ([], []))[which].append(whole.text[start:end])
    roles = tuple(str(message.get("role")) for message in messages)
    # A system message that the template needs stands before the dialogue.
    before = len(messages) - len(dialogue)
    for owner, (left, too) in sorted(owners.items()):
        turn = dialogue[owner - before] if owner >= before else None
        parts = str(turn.presence) if isinstance(turn, Turn) else "no turn"
        yield Deviation(roles, owner, parts, tuple(left), tuple(too))


def _beyond(
    one: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return what of the stretches in `one` is in none of `other`; both rise."""
    found: list[tuple[int, int]] = []
    for start, end in one:
        at = start
        for begin, stop in other:
            if stop <= at or begin >= end:
                continue
            if begin > at:
                found.append((at, begin))
            at = max(at, stop)
        if at < end:
            found.append((at, end))
    return found


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
    """Return every message of the battery: alone, between others, and again after its results."""
    done, again = Turn("All done.", "It is done."), User("Thanks. Anything else?")
    for case in battery():
        answers = tuple(Answer("done", call.name, call.id) for call in case.message.calls)
        asked: Dialogue = (User("Please look into it."), case.message, *answers)
        yield asked
        yield (*asked, *([done] if answers else []), again, Turn("Nothing else."))
        if answers:
            yield (*asked, case.message, *answers, done)


def _wrapped(analysis: Analysis, *, ends: bool) -> str:
    format_ = analysis.formats.united
    text = analysis.template.text.removesuffix("\n")
    around = (
        files("autoparser.analysis.history.renderer")
        .joinpath("training.jinja")
        .read_text(encoding="utf-8")
    )
    values = {
        "original": text,
        "mark": _literal(unused_word(text + around, MARK_LETTERS)),
        "digits": str(MARK_DIGITS),
        "width": str(MARK_DIGITS + 2),
        "header": _literal(format_.header),
        "openings": _listed([each.text for each in format_.openings if each.text]),
        "stops": _listed([stop for stop in format_.stop_strings if stop]),
        "closes": _listed(historic_closes(format_)),
        "fields": _listed(fields_of(analysis.shape)),
        "ends": str(ends).lower(),
    }
    # All at once: what is put in is not looked at again.
    return re.sub("@(\\w+)@", lambda place: values[place[1]], around)


def _literal(text: str) -> str:
    """Write a text as Jinja reads it."""
    inner = text.encode("unicode_escape").decode("ascii").replace('"', '\\"')
    return f'"{inner}"'


def _listed(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(_literal, texts))}]"
