"""A turn drawn as blocks: what opens it, its parts, what stands between them, what ends it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.turn_format import joints_of
from autoparser.analysis.formats.learned_format import LearntFormat
from autoparser.reports.example import example_message, taken_apart, turn_spans
from autoparser.reports.example_call import ExampleSpan, call_spans, example_call
from autoparser.reports.setting_words import setting_words
from autoparser.reports.turn import cut_at_prompt, turn_notes

from .element import Element, Node, fragment, h
from .page_parts import lead, table
from .signs import inline, literal, shown

__all__ = ["drawn_turn", "turn_details"]


def drawn_turn(analysis: LearntFormat) -> Element:
    """Draw a whole turn as blocks."""
    return fragment(
        lead(
            "An invented message as this template writes it, every character of it. ",
            _legend(),
        ),
        [h("p", note, class_="note") for note in _notes(analysis)],
        _blocks(analysis),
    )


def turn_details(analysis: LearntFormat) -> Element:
    """Take a call of the turn apart, and show the joints and the generation prompts."""
    return fragment(
        _call(analysis),
        _openings(analysis),
        _joints(analysis),
    )


def _legend() -> Element:
    return fragment(
        h("span", h("b", "markup"), class_="lit"),
        " is the template's, ",
        h("span", "text", class_="slot"),
        " is the model's; ",
        h("span", h("i", "↵ ⇥ ␣", class_="edge"), class_="lit"),
        " is the whitespace at the edges of markup.",
    )


def _notes(analysis: LearntFormat) -> Iterator[str]:
    return turn_notes(analysis.formats.united, example_message(analysis.formats.united))


def _blocks(analysis: LearntFormat) -> Element:
    format_ = analysis.formats.united
    message = example_message(format_)
    spans = turn_spans(format_, analysis.markers, message)
    prompt = next((opening.text for opening in format_.openings if not opening.setting), "")
    before, after = cut_at_prompt(spans, prompt)
    drawn: list[Node] = [*_grouped(analysis, message, before)]
    if before:
        drawn.append(
            h("p", "↑ the generation prompt wrote this, the model writes the rest ↓", class_="cut")
        )
    drawn += _grouped(analysis, message, after)
    return h("div", drawn, class_="turn")


_KINDS = {"header": "opening", "turn": "end", "between": "between", "separator": "calls"}


def _kind(span: ExampleSpan) -> str:
    """Say to which block a piece belongs."""
    first = span.label.split()[0]
    return _KINDS.get(first, "calls" if first in ("call", "calls") else first)


def _grouped(
    analysis: LearntFormat, message: Message, spans: Sequence[ExampleSpan]
) -> Iterator[Node]:
    for kind, group in groupby(spans, key=_kind):
        pieces = [node for span in group for node in _pieces(analysis, message, span)]
        yield h(
            "div",
            h("p", kind, class_="name"),
            h("div", pieces, class_="text"),
            class_=f"block {kind}",
        )


def _pieces(analysis: LearntFormat, message: Message, span: ExampleSpan) -> Iterator[Node]:
    for each in taken_apart(analysis.formats.united, message, span):
        yield _slot(each.text) if each.written else literal(each.text)


def _slot(text: str) -> Element:
    return h("span", shown(text), class_="slot")


def _call(analysis: LearntFormat) -> Element | None:
    calls = analysis.formats.united.calls
    if calls is None:
        return None
    spans = call_spans(calls, example_call(analysis.formats.united, 0))
    pieces = [
        h(
            "li",
            h("span", each.label, class_="of"),
            h("span", shown(each.text, breaks=False), class_="slot")
            if each.written
            else literal(each.text, breaks=False),
        )
        for each in spans
    ]
    return fragment(
        h("h3", "One call, taken apart"),
        h("ol", pieces, class_="apart"),
    )


def _openings(analysis: LearntFormat) -> Element | None:
    openings = analysis.formats.united.openings
    if not openings:
        return None
    rows = [
        (
            setting_words(opening.setting) or "nothing set",
            inline(opening.text) if opening.text else "empty",
            opening.written.value,
        )
        for opening in openings
    ]
    return fragment(
        h("h3", "The generation prompt"),
        table(
            "The generation prompt under each setting",
            ("switches", "generation prompt", "it has written"),
            rows,
            "texts-2",
        ),
    )


def _joints(analysis: LearntFormat) -> Element:
    rows = [
        (
            f"{joint.before} → {joint.after}",
            inline(joint.text) if joint.text else "nothing",
            ", ".join(str(presence) for presence in joint.presences),
        )
        for joint in joints_of(analysis.formats.united)
    ]
    return fragment(
        h("h3", "What stands between neighbours"),
        table(
            "What stands between neighbours", ("from → to", "text", "in a turn of"), rows, "texts-2"
        ),
    )
