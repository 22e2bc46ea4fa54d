"""Whole turns: what a format writes is read back, however it is cut, and nothing is lost."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autoparser import analyze
from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.message_battery import battery_messages
from autoparser.analysis.core.schema_keywords import type_of
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.turn_format import RefusedMessageError, TurnFormat
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import Delta, DeltaKind, ParsedMessage, Status
from tests.analysis.tiny import CONTENT, turn

from .loop import analysis_of, disagreement, gaps

pytestmark = pytest.mark.slow

FIXTURES = Path(__file__).parents[3] / "fixtures" / "templates"
NAMES = sorted(path.stem for path in FIXTURES.glob("*.jinja"))

EXCEPTIONS = {
    "a6-key-is-tag": "arrays of arrays in tags of the same name",
    "j3-4-tagged-array": "nothing opens reasoning, so content alone cannot be told from it",
    "j8-python-dict": "nothing opens reasoning, so content alone cannot be told from it",
    "p1-3-double-quotes": "strings in quotes, without escapes",
    "p1-4-unquoted": "strings without quotes",
    "reasoning-delimiter": "nothing opens reasoning, so content alone cannot be told from it",
    "history-tool-cycle": "only ids that carry the name give the name back; the battery's do not",
    "t5-id-carries-name": "only ids that carry the name give the name back; the battery's do not",
}
"""Fixtures that lose something of some messages when they write them, and what."""


def tools_of(message: Message) -> list[dict[str, Any]]:
    properties: dict[str, dict[str, Any]] = {}
    for call in message.calls:
        kinds = {key: {"type": str(type_of(value))} for key, value in call.arguments.items()}
        properties.setdefault(call.name, {}).update(kinds)
    return [
        {"type": "function", "function": {"name": name, "parameters": {"properties": typed}}}
        for name, typed in properties.items()
    ]


def survives(format_: TurnFormat, message: Message) -> tuple[Any, ...]:
    """Return what of a message the template writes at all."""
    layout = format_.layouts[message.presence]
    reasoning = layout.reasoning.apply(message.reasoning)
    content = layout.content.apply(message.content)
    calls: list[tuple[str, dict[str, Any]]] = []
    if TurnPart.CALLS in layout.parts and format_.calls is not None:
        members = format_.calls.arguments.members
        for call in format_.calls.written(message.calls):
            kept = {
                key: value
                for key, value in call.arguments.items()
                if members.row(type_of(value)) is not None
            }
            calls.append((call.name, kept))
    return (
        reasoning if TurnPart.REASONING in layout.parts and reasoning.strip() else None,
        content if TurnPart.CONTENT in layout.parts and content.strip() else None,
        calls,
    )


def seen(message: ParsedMessage) -> tuple[Any, ...]:
    calls = [(call.name, json.loads(call.arguments)) for call in message.tool_calls]
    return message.reasoning_content, message.content, calls


def outputs(name: str) -> Iterator[tuple[OutputParser, str, Message]]:
    """Return the battery's messages as a model would write them after the default prompt."""
    analysis = analysis_of(name)
    format_ = analysis.format
    prompt = next((each.text for each in format_.openings if not each.setting), "")
    for case in battery_messages():
        try:
            text = format_.write(case.message)
        except RefusedMessageError:
            continue
        known = prompt if prompt and text.startswith(prompt) else format_.header
        if not text.startswith(known):
            continue
        parser = analysis.parser(tools_of(case.message), prompt=known or None)
        yield parser, text[len(known) :], case.message


@pytest.mark.parametrize("name", [name for name in NAMES if name not in EXCEPTIONS])
def test_what_is_written_is_read_back(name: str) -> None:
    format_ = analysis_of(name).format
    for parser, text, message in outputs(name):
        assert seen(parser.parse(text)) == survives(format_, message), text


def pieces_of(text: str, source: random.Random) -> Iterator[str]:
    at = 0
    while at < len(text):
        size = source.randint(1, 9)
        yield text[at : at + size]
        at += size


def streamed(parser: OutputParser, pieces: Iterator[str]) -> tuple[ParsedMessage, list[Delta]]:
    stream = parser.stream()
    deltas: list[Delta] = []
    for piece in pieces:
        deltas += stream.feed(piece)
    deltas += stream.finish()
    return stream.message, deltas


def check_spans(message: ParsedMessage, text: str) -> None:
    ends = [0, *(span.end for span in message.spans)]
    assert [span.start for span in message.spans] == ends[:-1]
    assert ends[-1] == len(text)


def check_deltas(message: ParsedMessage, deltas: list[Delta]) -> None:
    def joined(kind: DeltaKind) -> str | None:
        return "".join(delta.text for delta in deltas if delta.kind is kind) or None

    assert joined(DeltaKind.CONTENT) == message.content
    assert joined(DeltaKind.REASONING) == message.reasoning_content


def edited(text: str, source: random.Random) -> str:
    """Do to a text what models and networks do: cut, drop, double, swap, insert."""
    if not text:
        return text
    start = source.randrange(len(text))
    end = min(len(text), start + source.randint(1, 6))
    return source.choice(
        [
            text[:start],
            text[:start] + text[end:],
            text[:end] + text[start:],
            text[:start] + text[start:end][::-1] + text[end:],
            text[:start]
            + source.choice(["<", "</", "{", '"', "}", "]", "\n", "```"])
            + text[start:],
        ]
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_way_of_cutting_gives_the_same(name: str) -> None:
    source = random.Random(name)
    chosen = source.sample(list(outputs(name)), 4)
    for parser, text, _ in chosen:
        for variant in (text, edited(text, source), edited(text, source)):
            whole = parser.parse(variant)
            check_spans(whole, variant)
            for pieces in (iter(variant), pieces_of(variant, source)):
                message, deltas = streamed(parser, pieces)
                assert message == whole, variant
                check_deltas(message, deltas)


@pytest.mark.parametrize("name", sorted(EXCEPTIONS))
def test_the_exceptions_are_needed(name: str) -> None:
    format_ = analysis_of(name).format
    lost = 0
    for parser, text, message in outputs(name):
        try:
            lost += seen(parser.parse(text)) != survives(format_, message)
        except ValueError:
            lost += 1
    assert lost


WORDS = turn(CONTENT, opening="Assistant: ", end="<|end|>\n", prompt="")
"""A header of mere words, and no generation prompt that would write it."""


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("Assistant: Hi.<|end|>", "Hi."),
        ("Hi.<|end|>", "Hi."),
        ("A", "A"),
        ("Assist", "Assist"),
        ("Assistants: two.<|end|>", "Assistants: two."),
        ("I am Assistant: Hi.<|end|>", "I am Assistant: Hi."),
        ("Assistant: Assistant: Hi.<|end|>", "Assistant: Hi."),
    ],
)
def test_a_header_of_mere_words_is_one_at_the_beginning_alone(text: str, content: str) -> None:
    parser = analyze(WORDS).parser()
    message = parser.parse(text)
    assert message.content == content
    ended = text.endswith("<|end|>")
    assert message.status is (Status.OK if ended else Status.UNFINISHED)
    assert not gaps(message.spans, text)
    assert not disagreement(parser, text, list(text))


@pytest.mark.parametrize("space", ["", "\n", "\n\n", " "])
def test_whitespace_before_a_call_that_cannot_be_read_is_content_with_it(space: str) -> None:
    text = f"Let me look.{space}<tool_call>\nnonsense\n</tool_call>"
    parser = analysis_of("j1-json-in-tags").parser()
    message = parser.parse(f"{text}<|im_end|>")
    assert message.content == text
    assert message.status is Status.MALFORMED
    assert not gaps(message.spans, f"{text}<|im_end|>")
    assert not disagreement(parser, text, list(text))
