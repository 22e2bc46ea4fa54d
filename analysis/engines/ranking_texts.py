r"""Render the texts of known meaning that the parsers of an engine are asked to read.

    asked_texts(analysis)  ->  AskedTexts: `"<tool_call>\n{…"` means a call of `get_weather`

Contract: a text is a render of the template after one of its prompts, without the end of the turn,
since an engine stops there. Its meaning is the rendered message, without the parts that the
template does not write. A hostile message, which quotes markers or calls, is included only if this
package's parser distinguishes it from others; the parser never decides what is right.

For example, of a template that writes calls as `<call>JSON</call>`, one of its texts has

    title "1 call", opening "<assistant>", end "</s>",
    text '<call>{"name": "get_forecast", "arguments": {"city": "Oslo", "days": 3}}</call>',
    meant Message(calls=(ToolCall("get_forecast", {"city": "Oslo", "days": 3}, "aB3dE6gH1"),))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from msgspec.structs import replace

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json, Message, ToolCall, tool_function
from autoparser.analysis.core.format_choice import PromptFormat
from autoparser.analysis.core.message_battery import (
    MIXED_TOOL,
    BatteryCase,
    battery_messages,
    loose_tools,
)
from autoparser.analysis.core.reading_judge import ReadCall, ReadingJudge, ReadMessage
from autoparser.analysis.core.schema_validation import Validate, schema_validator
from autoparser.analysis.core.turn_shape import TurnOpening
from autoparser.analysis.learning.continuations import ASKED, turns_after
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.turn_expression import build_expression
from autoparser.analysis.parsing.turn_request import read_request

MOST_MARKERS = 8
"""Markers that are quoted; each is quoted in two messages."""
_ID = "aB3dE6gH1"
"""An id of nine letters and digits, which the strictest templates want."""
_ANSWER = "Nothing is to be done."


def hostile_messages(
    markers: Sequence[str], reasoning_end: str, call: str
) -> Iterator[BatteryCase]:
    """Yield messages that quote a template's markers; `call` is a call as it writes one.

    Which of them can be told from other messages at all is for the caller to find out.
    """
    for marker in markers[:MOST_MARKERS]:
        for title in (f"the marker {marker} in a string", f"{marker} alone in a string"):
            text = marker if "alone" in title else f"It says {marker} here."
            yield BatteryCase(title, Message(calls=(ToolCall(MIXED_TOOL, {"title": text}, _ID),)))
    if call:
        real = (ToolCall(MIXED_TOOL, {"title": "real"}, _ID),)
        yield BatteryCase("a call quoted in reasoning", Message(_ANSWER, f"I could say {call}"))
        yield BatteryCase(
            "a call quoted in reasoning before another", Message("", f"Not {call}, but:", real)
        )
    if reasoning_end:
        yield BatteryCase(
            "content that quotes the end of reasoning",
            Message(f"It ends with {reasoning_end} there.", "The user asks for a tag."),
        )


THOUGHT = "Let me see."
"""Reasoning for messages without any, after a prompt that has opened it."""


@dataclass(frozen=True, slots=True)
class AskedText:
    """A text and its meaning."""

    title: str
    """The case of the battery, e.g. `"2 calls"`."""
    prompt: str
    r"""The whole prompt before the text, e.g. `"…<|im_start|>assistant\n"`."""
    text: str
    """The turn without its end, e.g. `"<tool_call>\\n{…}\\n</tool_call>"`."""
    opening: str
    """The generation prompt at the end of the prompt, e.g. `"<|im_start|>assistant\\n"`."""
    end: str
    """The end of the turn, which the text does not include, e.g. `"<|im_end|>"`."""
    setting: Mapping[str, Json]
    """The variables of the template, e.g. `{"enable_thinking": False}`."""
    others: tuple[Mapping[str, Json], ...]
    """Other settings with the same generation prompt, e.g. `({"enable_thinking": True},)`."""
    tools: bool
    """Whether tools are offered."""
    meant: Message
    """The message that the template rendered as this text, e.g. with the content
    `"Here is what I found."`."""
    hostile: bool
    """Whether markers or calls are quoted in it as plain text, as in
    `"</tool_call> alone in a string"`."""
    judge: ReadingJudge
    """Judges readings of the text, by the template: a message that it writes as the same text is
    right, too."""

    def to_worker(self) -> dict[str, Json]:
        """Return the text in the form of the worker's requests."""
        return {
            "prompt": self.prompt,
            "opening": self.opening,
            "text": self.text,
            "end": self.end,
            "setting": dict(self.setting),
            "others": [dict(other) for other in self.others],
            "tools": self.tools,
        }


@dataclass(frozen=True, slots=True)
class AskedTexts:
    """The texts, and the number of messages without one."""

    texts: tuple[AskedText, ...]
    """The texts, e.g. 58, those after the default prompt first."""
    not_asked: int
    """Messages that the template refuses or does not write after the prompt, and hostile ones that
    no reader can tell from others, e.g. 8."""
    offered: tuple[Json, ...] = field(default_factory=loose_tools)
    """The tools that are offered with the texts, e.g. `get_forecast`."""


def asked_texts(analysis: Analysis) -> AskedTexts:
    """Return the turns after each generation prompt.

    After the default one these are the whole battery and hostile messages, after each of the others
    some messages of the battery.
    """
    # Prompts of several settings may be equal; each pair of prompt and text is asked once.
    seen: set[tuple[str, str]] = set()
    texts: list[AskedText] = []
    not_asked = 0
    for at, (begun, opening) in enumerate(_prompts(analysis)):
        source = _Turns(analysis, begun, opening)
        for case, hostile in source.cases(whole=not at):
            found = source.text_of(case, hostile=hostile)
            # The template refuses such a message or drops a part of it, or no reader can
            # distinguish it.
            if found is None:
                not_asked += 1
            # Several messages may be written alike, such as those that differ in a dropped part.
            elif (found.prompt, found.text) not in seen:
                seen.add((found.prompt, found.text))
                texts.append(found)
    return AskedTexts(tuple(texts), not_asked)


def _prompts(analysis: Analysis) -> Iterator[tuple[PromptFormat, TurnOpening]]:
    """Return the formats and their openings, the default's first, each text of a prompt once."""
    # With tools, since some templates write another generation prompt without any.
    found = [analysis.begun(loose_tools())[0]]
    found += [
        PromptFormat(format_, opening)
        for format_ in analysis.formats
        for opening in format_.openings
    ]
    seen: set[str] = set()
    for begun in found:
        opening = begun.opening
        if opening is not None and opening.text.strip() and opening.text not in seen:
            seen.add(opening.text)
            yield begun, opening


class _Turns:
    """The turns after one prompt."""

    def __init__(self, analysis: Analysis, turn_start: PromptFormat, opening: TurnOpening) -> None:
        self._analysis, self._opening = analysis, opening
        self._format = turn_start.format
        self._others = tuple(
            other.setting
            for format_ in analysis.formats
            for other in format_.openings
            if other.text == opening.text and other.setting != opening.setting
        )
        self._turns = turns_after(turn_start.format, opening, analysis.prober())
        # A prompt without tools offers nothing to call, so that its texts have no calls.
        self._tools = loose_tools() if opening.tools and self._turns.offers else ()
        # Ends do not depend on the part of the turn that the prompt has begun.
        self._ends = [end.core for end in turn_start.format.end_literals]
        self._judge = ReadingJudge(self._alike, _allowed)
        self._parser = OutputParser(
            build_expression(
                analysis.formats, read_request(self._tools or None, begun_turn=turn_start)
            )
        )

    def cases(self, *, whole: bool) -> Iterator[tuple[BatteryCase, bool]]:
        """Yield the messages, each with whether it is hostile."""
        for case in battery_messages():
            if (whole or case.title in ASKED) and (self._tools or not case.message.calls):
                yield case, False
        if whole and self._turns.prompted.rendered:
            ends = self._analysis.markers.reasoning_end
            # Markers that contain more than punctuation, without duplicates.
            every = dict.fromkeys(self._analysis.markers.items().values())
            markers = [text for text in every if any(map(str.isalnum, text))]
            for case in hostile_messages(markers, ends, self._call()):
                if self._tools or not case.message.calls:
                    yield case, True

    def text_of(self, case: BatteryCase, *, hostile: bool) -> AskedText | None:
        """Return the text of a message, or None if the template or no reader has one."""
        if not self._turns.prompted.rendered:
            return None
        message, text = self._fitting(self._format.with_naming_ids(case.message))
        if text is None:
            return None
        shown = self._turns.shown_message(message)
        # The template drops the calls of this message, so no reader could find them.
        if shown.calls and self._alike(shown, replace(shown, calls=())):
            return None
        text, end = self._stopped(text)
        # Our parser decides only whether a text is ambiguous, not what it means.
        if hostile and (shown != message or not self._reads_back(shown, text)):
            return None
        return AskedText(
            case.title,
            self._turns.prompt,
            text,
            self._opening.text,
            end,
            self._opening.setting,
            self._others,
            bool(self._tools),
            shown,
            hostile,
            self._judge,
        )

    def _fitting(self, message: Message) -> tuple[Message, str | None]:
        """Return a message that continues the prompt, and its text, or None if none does.

        A prompt that opens the reasoning asks for some, one that closes it for none.
        """
        # The message itself first; the others are for prompts that have begun or closed the
        # reasoning.
        for reasoning in (message.reasoning, message.reasoning or THOUGHT, ""):
            fitting = replace(message, reasoning=reasoning)
            text = self._turns.written_turn(fitting).continuation
            if text is not None:
                return fitting, text
        return message, None

    def _alike(self, one: Message, other: Message) -> bool:
        turns = self._turns
        first, second = turns.written_turn(one), turns.written_turn(other)
        # Two refusals have equal, empty texts, and show nothing.
        return not second.refusal and first.text == second.text

    def _reads_back(self, message: Message, text: str) -> bool:
        parsed = self._parser.parse(text)
        read = ReadMessage(
            parsed.content or "",
            parsed.reasoning_content or "",
            tuple(ReadCall(call.name, call.arguments) for call in parsed.tool_calls),
        )
        return self._judge.judge(message, read).right

    def _stopped(self, text: str) -> tuple[str, str]:
        """Return a turn without its end, and the end."""
        for end in self._ends:
            if text.rstrip().endswith(end):
                return text.rstrip().removesuffix(end), end
        return text, ""

    def _call(self) -> str:
        """Return a call as the template writes it, or empty if it writes none."""
        case = next(case for case in battery_messages() if case.title == "1 call")
        found = self.text_of(case, hostile=False) if self._tools else None
        return "" if found is None else found.text.strip()


@cache
def _checks() -> Mapping[str, Validate]:
    """Return validators of arguments by tool name; making them takes seconds."""
    functions = map(tool_function, loose_tools())
    return {function["name"]: schema_validator(function["parameters"]) for function in functions}


def _allowed(call: ToolCall) -> bool:
    check = _checks().get(call.name)
    return check is not None and not check(dict(call.arguments))
