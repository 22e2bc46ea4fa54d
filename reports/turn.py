"""A call and a whole turn, drawn with the name of each part beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.formats.learned_format import LearntFormat

from .blocks import Blocks, Row, heading, prose, rows
from .example import ExampleSpan, call_spans, example_call, example_message, turn_spans
from .visible import lines

WRITTEN_STYLE = "bold"
MARKUP_STYLE = "cyan"
PROMPT_END = "(the generation prompt ends here, the model writes the rest)"


def call_section(analysis: LearntFormat) -> Blocks:
    """Draw one call, its arguments taken apart; nothing where the template writes no calls."""
    calls = analysis.formats.united.calls
    if calls is None:
        return []
    spans = call_spans(calls, example_call(analysis.formats.united, 0))
    doubted = TurnPart.CALLS in analysis.formats.united.unconfirmed
    says = "the prompt's words tell the model to write it" if doubted else "the model writes it"
    return [
        *heading(f"A call, as {says}"),
        *rows(list(_rows(spans)), words=False),
    ]


def turn_section(analysis: LearntFormat) -> Blocks:
    """Draw a turn with as many parts as the template writes in one, from an invented message."""
    format_ = analysis.formats.united
    message = example_message(format_)
    spans = turn_spans(format_, analysis.markers, message)
    prompt = next((opening.text for opening in format_.openings if not opening.setting), "")
    before, after = cut_at_prompt(spans, prompt)
    drawn = list(_rows(before))
    if before:
        drawn.append(("", Text(PROMPT_END, style="dim")))
    drawn += _rows(after)
    notes = [line for note in turn_notes(format_, message) for line in prose(note)]
    return [
        *heading("A whole turn, as the model writes it"),
        *notes,
        *rows(drawn, words=False),
    ]


def _rows(spans: Sequence[ExampleSpan]) -> Iterator[Row]:
    for span in spans:
        style = WRITTEN_STYLE if span.written else MARKUP_STYLE
        for at, line in enumerate(lines(span.text, style)):
            yield ("" if at else span.label), line


def cut_at_prompt(
    spans: Sequence[ExampleSpan], prompt: str
) -> tuple[list[ExampleSpan], list[ExampleSpan]]:
    """Cut a turn where the generation prompt ends; all is after it where it differs."""
    text = "".join(span.text for span in spans)
    if not prompt or not text.startswith(prompt):
        return [], list(spans)
    before: list[ExampleSpan] = []
    after: list[ExampleSpan] = []
    left = len(prompt)
    for span in spans:
        inside = span.text[:left]
        behind = span.text[len(inside) :]
        left -= len(inside)
        if inside:
            before.append(ExampleSpan(span.label, inside, span.written))
        if behind:
            after.append(ExampleSpan(span.label, behind, span.written))
    return before, after


def turn_notes(format_: TurnFormat, message: Message) -> Iterator[str]:
    """Say what an observant reader misses in the example."""
    if format_.calls is not None and not message.calls:
        seen = TurnPart.CALLS not in format_.unconfirmed
        why = "none is written beside other parts" if seen else "no render shows one"
        yield f"This example has no call: {why}."
        return
    presence = message.presence
    full = next((layout for key, layout in format_.layouts.items() if all(key)), None)
    if full is None or all(presence):
        return
    if full.refusal:
        yield "A message with reasoning, content and calls is refused, so this one has fewer parts."
    elif presence.calls and TurnPart.CONTENT not in full.parts:
        yield "Content is not written beside calls, so this example has none."
