"""An invented message as a format writes it, every part of the text by its name.

Contract: the texts of the spans, one after the other, are exactly what the format writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from autoparser.analysis.core.call_format import CallFormat
from autoparser.analysis.core.conversation import Message, Presence
from autoparser.analysis.core.text_format import TurnLayout, TurnPart
from autoparser.analysis.core.turn_format import RefusedMessageError, TurnFormat
from autoparser.analysis.formats.format_view import MarkerRegistry

from .example_call import ExampleSpan, call_spans, example_call

__all__ = ["example_message", "taken_apart", "turn_spans"]


_FULL = Message("Let me look.", "Two cities, so two lookups.")
_PART_OF = {TurnPart.REASONING: "reasoning", TurnPart.CONTENT: "content", TurnPart.CALLS: "calls"}


def example_message(format_: TurnFormat) -> Message:
    """Invent a message with as many parts as the format writes in one turn."""
    by_size = sorted(
        format_.layouts, key=lambda presence: (sum(presence), presence.calls), reverse=True
    )
    for presence in by_size:
        layout = format_.layouts[presence]
        if {_PART_OF[part] for part in layout.parts} != _names(presence):
            continue
        for calls in (2, 1):
            message = _message(format_, presence, calls)
            if _accepted(format_, message):
                return message
    return Message(_FULL.content)


def _names(presence: Presence) -> set[str]:
    return {name for name, there in presence._asdict().items() if there}


def _message(format_: TurnFormat, presence: Presence, calls: int) -> Message:
    return Message(
        _FULL.content if presence.content else "",
        _FULL.reasoning if presence.reasoning else "",
        tuple(example_call(format_, at) for at in range(calls)) if presence.calls else (),
    )


def _accepted(format_: TurnFormat, message: Message) -> bool:
    try:
        format_.write(message)
    except (RefusedMessageError, KeyError):
        return False
    return True


def turn_spans(format_: TurnFormat, markers: MarkerRegistry, message: Message) -> list[ExampleSpan]:
    """Name the parts of the turn that the format writes for this message.

    Raises RefusedMessageError where the template raises on it.
    """
    text = format_.write(message)
    layout = format_.layouts[message.presence]
    spans = [span for span in _turn(format_, layout, markers, message) if span.text]
    if "".join(span.text for span in spans) != text:
        return [ExampleSpan("turn", text)]
    return spans


def _turn(
    format_: TurnFormat, layout: TurnLayout, markers: MarkerRegistry, message: Message
) -> Iterator[ExampleSpan]:
    for at, literal in enumerate(layout.literals):
        before = layout.parts[at - 1] if at else None
        after = layout.parts[at] if at < len(layout.parts) else None
        yield from _joint(format_, markers, literal, before, after)
        if after is TurnPart.CALLS and format_.calls is not None:
            yield from _calls(format_.calls, message)
        elif after is not None:
            yield ExampleSpan(
                after.value, _written_part(format_, layout, after, message), written=True
            )


def _written_part(format_: TurnFormat, layout: TurnLayout, part: TurnPart, message: Message) -> str:
    alone = TurnLayout((part,), ("", ""), layout.reasoning, layout.content)
    return replace(format_, layouts={message.presence: alone}).write(message)


def _joint(
    format_: TurnFormat,
    markers: MarkerRegistry,
    literal: str,
    before: TurnPart | None,
    after: TurnPart | None,
) -> Iterator[ExampleSpan]:
    """Cut the literal between two parts: what closes the one, what opens the other."""
    rest = literal
    if before is None and rest.startswith(format_.header):
        yield ExampleSpan("header", format_.header)
        rest = rest[len(format_.header) :]
    closer = {TurnPart.REASONING: markers.reasoning_end, TurnPart.CONTENT: markers.content_end}
    marker = closer.get(before, "") if before is not None else ""
    if marker and marker in rest and before is not None:
        end = rest.index(marker) + len(marker)
        # The whitespace after a closer goes with it, unless something opens there.
        if after is None or not rest[end:].strip():
            end += len(rest[end:]) - len(rest[end:].lstrip())
        yield ExampleSpan(f"{before.value} closes", rest[:end])
        rest = rest[end:]
    if after is None:
        yield ExampleSpan("turn ends", rest)
    elif rest.strip():
        yield ExampleSpan(f"{after.value} {'open' if after is TurnPart.CALLS else 'opens'}", rest)
    else:
        yield ExampleSpan("between", rest)


def _calls(calls: CallFormat, message: Message) -> Iterator[ExampleSpan]:
    yield ExampleSpan("calls open", calls.section_open)
    for position, call in enumerate(calls.written(message.calls)):
        if position:
            yield ExampleSpan("separator", calls.separator)
        yield ExampleSpan(f"call {position + 1}", calls.write_call(call, position), written=True)
    yield ExampleSpan("calls close", calls.section_close)


def taken_apart(format_: TurnFormat, message: Message, span: ExampleSpan) -> Sequence[ExampleSpan]:
    """Return the parts of a call that a message's turn has as one span; another span as it is."""
    calls = format_.calls
    if calls is None or not span.label.startswith("call ") or not span.written:
        return [span]
    position = int(span.label.removeprefix("call ")) - 1
    written = calls.written(format_.with_naming_ids(message).calls)
    return call_spans(calls, written[position], position)
