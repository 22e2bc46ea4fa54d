r"""Render the turns that the template itself writes after its generation prompts.

`render_continuations` renders messages of the battery after every prompt, under every setting,
also after earlier turns; `with_later_openings` adds the openings that only prompts after earlier
turns have. For `fixtures/templates/a1-function-parameter.jinja` the prompt and two of the turns are

    <|im_start|>assistant\n<think>\n                       the prompt's end, and after it:
    \n</think>\n\nHere is what I found.<|im_end|>\n        content
    The user wants facts.\nA lookup is due.\n</think>…     reasoning and content

With an empty reasoning, the turn still continues the prompt: it closes the block at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from autoparser.analysis.core.conversation import Dialogue, Message, ToolCall, UserMessage
from autoparser.analysis.core.format_choice import (
    Formats,
    opening_at_end,
)
from autoparser.analysis.core.message_battery import (
    CITY_TOOL,
    BatteryCase,
    battery_messages,
    battery_tools,
)
from autoparser.analysis.core.message_shape import FormDeparture
from autoparser.analysis.core.text_alignment import edge_units, is_unit
from autoparser.analysis.core.turn_format import (
    RefusedMessageError,
    TurnFormat,
)
from autoparser.analysis.core.turn_shape import PromptProgress, TurnOpening

from .generation_prompts import written_by
from .prober import Prober
from .template_turns import QUESTION, TemplateTurns

ASKED = (
    "content",
    "reasoning and content",
    "1 call",
    "content and 1 call",
    "reasoning and 1 call",
    "reasoning and content and 2 calls",
    "an argument of every type",
    "content with markup",
)
"""The messages of the battery to render; some of them continue a prompt."""

ASKED_LATER = ("content", "1 call", "reasoning and 1 call")
"""The messages to render after earlier turns, too: a template that counts or remembers calls
writes the first of them differently."""


class Earlier(StrEnum):
    """The content of a conversation before the prompt."""

    NOTHING = ""
    CALL = "a call and its result"
    ANSWER = "an answer and a second user message"


EARLIER_CALL = ToolCall(CITY_TOOL, {"city": "Lima", "days": 2}, "eA2rL4yC6")
EARLIER_WORDS = ("Good morning.", "Good morning! What is it about?")


class TemplateContinuation(Struct, frozen=True):
    """One message as the template writes it after a generation prompt."""

    opening: TurnOpening
    r"""The opening of the prompt, e.g. `"<|im_start|>assistant\n<think>\n"`, with the setting of
    both renders."""
    title: str
    """The title of the message in the battery, e.g. `"reasoning and 1 call"`."""
    message: Message
    """The message that the template writes, e.g. with the content `"Here is what I found."`."""
    text: str | None
    r"""The text after the prompt, e.g. `"Hm.\n</think>\n\n…<|im_end|>\n"`, or None if the
    template's turn does not continue the prompt."""
    earlier: Earlier = Earlier.NOTHING
    """The content of the conversation before the question, e.g. a call and its result."""
    prompt: str = ""
    r"""The whole prompt; it ends with the opening, e.g. `"…<|im_start|>assistant\n"`."""
    before: str = ""
    """The conversation without the text that `add_generation_prompt` adds."""
    form: FormDeparture | None = None
    """How the message as users send it departs from the template's form, e.g. with
    `"arguments as an object"` for a template that expects `"arguments as a JSON string"`, or None
    if it was sent in the template's form."""


def render_continuations(
    formats: Formats, prober: Prober, form: FormDeparture | None
) -> tuple[TemplateContinuation, ...]:
    """Render the messages after every generation prompt; `prober` sets nothing.

    They are rendered again as users send them, if that is another form and it is accepted.
    """
    return tuple(
        continuation
        for format_ in formats
        for opening in _distinct_openings(format_)
        for way in ((None,) if form is None else (None, form))
        for continuation in _continuations_after(format_, opening, prober, way)
    )


def _distinct_openings(format_: TurnFormat) -> Iterator[TurnOpening]:
    """Yield one opening for each text: settings whose prompts end alike continue alike."""
    seen: set[str] = set()
    for opening in format_.openings:
        if opening.text.strip() and opening.text not in seen:
            seen.add(opening.text)
            yield opening


def _continuations_after(
    format_: TurnFormat, opening: TurnOpening, prober: Prober, form: FormDeparture | None
) -> Iterator[TemplateContinuation]:
    """Render each message after a prompt: alone, after a call, and after an answer."""
    for earlier in Earlier:
        turns = turns_after(format_, opening, prober, earlier, form)
        # No call can be continued in a template without calls, or without tools.
        if earlier is Earlier.CALL and not (turns.offers and format_.calls):
            continue
        if (earlier or form) and not turns.prompted.rendered:
            # Lint checks which conversations a template accepts.
            continue
        for case in _cases_to_render(ASKED_LATER if earlier else ASKED, calls=turns.offers):
            # Ids that carry the name must have the template's own form, or the call has no name.
            message = format_.with_naming_ids(case.message)
            dialogue = (*_earlier_messages(format_, earlier), UserMessage(QUESTION), message)
            if form is not None and form.same(dialogue, tools=turns.offers):
                continue
            # A refused prompt is recorded, too: the gate counts it as not asked.
            text = turns.written_turn(message).continuation if turns.prompted.rendered else None
            if form is None or text is not None:
                yield TemplateContinuation(
                    opening, case.title, message, text, earlier, turns.prompt, turns.before, form
                )


def with_later_openings(formats: Formats, continuations: Sequence[TemplateContinuation]) -> Formats:
    """Add the ends of prompts after earlier turns that no opening of their format has.

    Nothing is rendered; `continuations` are all continuations of these formats.
    """
    completed = tuple(
        replace(format_, later_openings=_later_openings(format_, continuations))
        for format_ in formats
    )
    full = completed[next(at for at, old in enumerate(formats) if old is formats.fullest)]
    return replace(formats, distinct=completed, fullest=full)


def _later_openings(
    format_: TurnFormat, continuations: Sequence[TemplateContinuation]
) -> tuple[TurnOpening, ...]:
    """Find ends of prompts after earlier turns that the known openings do not cover."""
    groups: dict[tuple[str, Earlier], list[TemplateContinuation]] = {}
    for continuation in continuations:
        known_opening = any(continuation.opening is opening for opening in format_.openings)
        if continuation.form is None and known_opening:
            key = repr(continuation.opening.setting), continuation.earlier
            groups.setdefault(key, []).append(continuation)
    later: list[TurnOpening] = []
    for (setting, earlier), group in groups.items():
        known = replace(format_, later_openings=tuple(later))
        first = group[0]
        # A known opening at the prompt's end already determines how the turn continues.
        if earlier and opening_at_end(known, first.prompt) is None:
            alone = groups.get((setting, Earlier.NOTHING), group)[0].before
            text = _identifying_end(first, alone)
            begun = _equivalent_beginning(format_, group, text) if text else None
            if begun is not None:
                later.append(
                    replace(
                        first.opening,
                        text=text,
                        stands_for=begun,
                        written=written_by(begun, format_.header, format_.reasoning),
                    )
                )
    return tuple(later)


def _identifying_end(continuation: TemplateContinuation, alone: str) -> str:
    """Return the text at a prompt's end that identifies it, or an empty text.

    If `add_generation_prompt` adds nothing, that is the last marker before it, unless `alone`, a
    conversation that ends with a user's message, ends with it as well.
    """
    # Letters identify a prompt's end; a bare line break occurs anywhere.
    added = continuation.prompt.removeprefix(continuation.before)
    if any(map(str.isalnum, added)) and continuation.prompt != added:
        return added
    units = edge_units(continuation.prompt.rpartition(QUESTION)[2])
    at = max((at for at, unit in enumerate(units) if is_unit(unit)), default=None)
    last = "" if at is None else "".join(units[at:])
    return "" if alone.rstrip().endswith(last.rstrip()) else last


def _equivalent_beginning(
    format_: TurnFormat, group: Sequence[TemplateContinuation], text: str
) -> str | None:
    """Return the beginning of a turn after a user's message that continues in the same way.

    Return None if turns do not agree on it, and the text alone does not decide.
    """
    begun: set[str] = set()
    for continuation in group:
        if continuation.text:
            try:
                turn = format_.write(continuation.message)
            except RefusedMessageError:
                continue
            # The format does not write this text, so the prompt's part of the turn is unknown.
            if not turn.endswith(continuation.text):
                return None
            begun.add(turn.removesuffix(continuation.text))
    if begun:
        return begun.pop() if len(begun) == 1 else None
    # No turn continues this prompt, e.g. because the history drops reasoning. But a prompt that
    # opens reasoning, or closes an empty block, also does so after a user's message.
    whole = format_.header.rstrip() + text.strip()
    written = written_by(whole, format_.header, format_.reasoning)
    opens = written in {PromptProgress.REASONING_OPEN, PromptProgress.REASONING_CLOSED}
    return whole + text[len(text.rstrip()) :] if opens else None


def turns_after(
    format_: TurnFormat,
    opening: TurnOpening,
    prober: Prober,
    earlier: Earlier = Earlier.NOTHING,
    form: FormDeparture | None = None,
) -> TemplateTurns:
    """Return the template's turns after a generation prompt, with the tools of the battery."""
    tools = battery_tools() if opening.tools else ()
    return TemplateTurns(
        prober if form is None else prober.using(shape=form.shape),
        setting=opening.setting,
        tools=tools,
        add_naming_ids=format_.with_naming_ids,
        history=_earlier_messages(format_, earlier),
    )


def _earlier_messages(format_: TurnFormat, earlier: Earlier) -> Dialogue:
    question, answer = EARLIER_WORDS
    match earlier:
        case Earlier.NOTHING:
            return ()
        case Earlier.CALL:
            # Ids that carry the name are generated; other ids differ from the ids of later calls.
            return (UserMessage(question), format_.with_naming_ids(Message(calls=(EARLIER_CALL,))))
        case Earlier.ANSWER:
            return (UserMessage(question), Message(answer))


def _cases_to_render(titles: Sequence[str], *, calls: bool) -> Iterator[BatteryCase]:
    for case in battery_messages():
        if case.title in titles and (calls or not case.message.calls):
            yield case
