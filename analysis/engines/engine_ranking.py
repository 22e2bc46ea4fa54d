"""Rank the parsers of an engine by the number of a template's turns that they read right.

Contract: each parser is tried alone first, a tool parser by calls only, a reasoning parser by
reasoning only. The best of both kinds, and no parser of a kind, are combined into pairs, which are
ranked by whole messages, read at once and streamed. Ties are broken by exact readings, then by
fewer parsers, then by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from itertools import product

from msgspec.structs import replace

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import (
    Json,
    Message,
    MessageAgreement,
    ReadCall,
    ReadingJudge,
    ReadingVerdict,
    ReadMessage,
    ToolCall,
    function_of,
)
from autoparser.analysis.core.message_battery import (
    MIXED_TOOL,
    BatteryCase,
    battery_messages,
    loose_tools,
)
from autoparser.analysis.core.schema_document import Validate, schema_validator
from autoparser.analysis.core.turn_format import PromptFormat
from autoparser.analysis.core.turn_shape import TurnOpening
from autoparser.analysis.learning.continuations import ASKED, turns_after
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.turn_expression import build_expression
from autoparser.analysis.parsing.turn_request import request_of
from autoparser.analysis.templates.chat_template import ChatTemplate

from .engine_process import EngineParsers, EngineProcess, ParserAnswer, ParserError, ParserPair

# The texts that an engine's parsers are asked about: the template's own turns, and their meaning.
#
# Contract: a text is what the template renders after one of its prompts, without what ends the
# turn, since an engine stops there. What it means is the message that it was rendered from, without
# the parts that the template does not write. A hostile message is asked about only where a reader
# exists that tells it, which this package's parser shows; it never says what is right.


# Messages that are hard to read: markers where they are text, calls that are only quoted.


MOST_MARKERS = 8
_ID = "aB3dE6gH1"
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


@dataclass(frozen=True, slots=True)
class AskedText:
    """A text and its meaning."""

    title: str
    """The case of the battery, e.g. `"2 calls"`."""
    prompt: str
    """The whole prompt before the text."""
    text: str
    """The turn without its end, e.g. `"<tool_call>\\n{…}\\n</tool_call>"`."""
    opening: str
    """The generation prompt at the end of the prompt, e.g. `"<|im_start|>assistant\\n"`."""
    end: str
    """The end of the turn, which the text does not include, e.g. `"<|im_end|>"`."""
    setting: Mapping[str, Json]
    """The variables of the template, e.g. `{"enable_thinking": False}`."""
    others: tuple[Mapping[str, Json], ...]
    """Other settings with the same generation prompt."""
    tools: bool
    """Whether tools are offered."""
    meant: Message
    """The message that the template rendered as this text."""
    hostile: bool
    """Whether markers or calls are quoted in it as plain text."""
    judge: ReadingJudge
    """Judges readings of the text, by the template."""

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
    """The texts, those after the default prompt first."""
    not_asked: int
    """Messages that the template refuses or does not write after the prompt, and hostile ones that
    no reader can tell from others."""


def asked_texts(analysis: Analysis) -> AskedTexts:
    """Return the turns after each generation prompt.

    After the default one these are the whole battery and hostile messages, after each of the others
    some messages of the battery.
    """
    seen: set[tuple[str, str]] = set()
    texts: list[AskedText] = []
    not_asked = 0
    for at, (begun, opening) in enumerate(_prompts(analysis)):
        source = _Turns(analysis, begun, opening)
        for case, hostile in source.cases(whole=not at):
            found = source.text_of(case, hostile=hostile)
            if found is None:
                not_asked += 1
            elif (found.prompt, found.text) not in seen:
                seen.add((found.prompt, found.text))
                texts.append(found)
    return AskedTexts(tuple(texts), not_asked)


def _prompts(analysis: Analysis) -> Iterator[tuple[PromptFormat, TurnOpening]]:
    """Return the formats and their openings, the default's first, each text of a prompt once."""
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
        self._tools = loose_tools() if opening.tools and self._turns.offers else ()
        # What a prompt may have begun of the turn is no part of how it ends.
        self._ends = [end.core for end in turn_start.format.end_literals]
        self._judge = ReadingJudge(self._alike, _allowed)
        self._parser = OutputParser(
            build_expression(
                analysis.formats, request_of(self._tools or None, begun_turn=turn_start)
            )
        )

    def cases(self, *, whole: bool) -> Iterator[tuple[BatteryCase, bool]]:
        """Yield the messages, each with whether it is hostile."""
        for case in battery_messages():
            if (whole or case.title in ASKED) and (self._tools or not case.message.calls):
                yield case, False
        if whole and self._turns.prompted.rendered:
            ends = self._analysis.markers.reasoning_end
            # Those that are more than punctuation, each once.
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
        if shown.calls and self._alike(shown, replace(shown, calls=())):
            return None
        text, end = self._stopped(text)
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
        for reasoning in (message.reasoning, message.reasoning or THOUGHT, ""):
            fitting = replace(message, reasoning=reasoning)
            text = self._turns.written_turn(fitting).continuation
            if text is not None:
                return fitting, text
        return message, None

    def _alike(self, one: Message, other: Message) -> bool:
        turns = self._turns
        first, second = turns.written_turn(one), turns.written_turn(other)
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
    functions = map(function_of, loose_tools())
    return {function["name"]: schema_validator(function["parameters"]) for function in functions}


def _allowed(call: ToolCall) -> bool:
    check = _checks().get(call.name)
    return check is not None and not check(dict(call.arguments))


# The scores of a pair of parsers.


class TextDelivery(StrEnum):
    """How a text is passed to a parser."""

    WHOLE = "at once"
    """The text in one piece, as for an answer that is not streamed."""
    TOKENS = "a token at a time"
    """A delta for each token."""
    BLOCKS = "several tokens at a time"
    """A delta for each 6 tokens, as under speculative decoding."""

    @property
    def tokens(self) -> int:
        """Number of tokens in a delta; 0 for a text in one piece."""
        return {TextDelivery.WHOLE: 0, TextDelivery.TOKENS: 1, TextDelivery.BLOCKS: 6}[self]


@dataclass(frozen=True, slots=True)
class ParserFailure:
    """A text that was read wrong."""

    title: str
    """The case of the battery, e.g. `"2 calls"`."""
    delivery: TextDelivery
    """How the text came."""
    text: str
    """The text that was parsed."""
    meant: Message
    """The message that it means."""
    verdict: ReadingVerdict
    """The first difference between the meaning and the reading."""


@dataclass(frozen=True, slots=True)
class DeliveryScore:
    """The score of the texts in one delivery."""

    delivery: TextDelivery
    """How the texts came."""
    verdicts: tuple[ReadingVerdict, ...]
    """The verdict on each text."""

    @property
    def exact(self) -> int:
        """Number of texts read exactly."""
        return sum(verdict.agreement is MessageAgreement.EXACT for verdict in self.verdicts)

    @property
    def right(self) -> int:
        """Number of texts read right, up to whitespace at the edges."""
        return sum(verdict.right for verdict in self.verdicts)


@dataclass(frozen=True, slots=True)
class PairScore:
    """How a pair of parsers read the texts."""

    pair: ParserPair
    """The parsers, e.g. `ParserPair("hermes", "qwen3")`."""
    whole: DeliveryScore
    """The score of the texts in one piece."""
    streamed: tuple[DeliveryScore, ...]
    """A score for each size of delta that the engine streams."""
    failure: ParserFailure | None
    """The failure with the shortest text."""

    @property
    def total(self) -> int:
        """Number of texts."""
        return len(self.whole.verdicts)

    @property
    def streamed_right(self) -> int:
        """Number of texts read right in every stream."""
        rows = zip(*(score.verdicts for score in self.streamed), strict=True)
        return sum(all(verdict.right for verdict in row) for row in rows)

    @property
    def all_right(self) -> bool:
        """Whether every text was read right, at once and streamed."""
        return self.whole.right == self.streamed_right == self.total


def _judged(question: AskedText, answer: ParserAnswer) -> ReadingVerdict:
    """Judge the reading of one text."""
    if isinstance(answer, ReadMessage):
        return question.judge.judge(question.meant, answer)
    return ReadingVerdict(MessageAgreement.OTHER, "message", "to be read", answer.reason)


_IN_BRACKETS = re.compile(r"<[^<>\s]{1,40}>|\[[^\[\]\s]{1,40}\]")
TRIED = 4
"""Most parsers of each kind that are combined into pairs."""


class ParserPart(StrEnum):
    """The part of a message that a parser reads."""

    CALLS = "calls"
    """The tool calls."""
    REASONING = "reasoning"
    """The reasoning."""

    def right(self, question: AskedText, answer: ParserAnswer) -> bool:
        """Return whether this part of the message was read right."""
        if not isinstance(answer, ReadMessage):
            return False
        if self is ParserPart.CALLS:
            meant, read = Message(calls=question.meant.calls), ReadMessage(calls=answer.calls)
        else:
            meant = Message(reasoning=question.meant.reasoning)
            read = ReadMessage(reasoning=answer.reasoning)
        return question.judge.judge(meant, read).right

    def parser(self, name: str) -> ParserPair:
        """Return a parser of this part, with none of the other."""
        return ParserPair(tool=name) if self is ParserPart.CALLS else ParserPair(reasoning=name)


@dataclass(frozen=True, slots=True)
class UnusableParser:
    """A parser that could not be made."""

    part: ParserPart
    """The part that it reads."""
    name: str
    """Its name, e.g. `"mistral"`."""
    reason: str
    """Why it could not be made, in the words of the engine."""


@dataclass(frozen=True, slots=True)
class EngineRanking:
    """The ranking of one engine's parsers."""

    offered: EngineParsers
    """The engine and its parsers."""
    python: str
    """The Python of the engine, e.g. `"/opt/vllm/bin/python"`."""
    pairs: tuple[PairScore, ...]
    """The pairs, best first."""
    auto: PairScore | None
    """The pair that the engine's `auto` chooses by the template, or None if it has no `auto`."""
    alike: tuple[tuple[str, ...], ...] = ()
    """Names of parsers with equal readings; the first of them was put into pairs."""
    unusable: tuple[UnusableParser, ...] = ()
    """The parsers that could not be made."""
    left_out: Mapping[int, str] = field(default_factory=dict[int, str])
    """Why the engine cannot read a text, by index of the text."""

    @property
    def engine(self) -> str:
        """The engine and its version."""
        return f"{self.offered.name} {self.offered.version}"

    @property
    def best(self) -> PairScore:
        """The pair to choose; its parsers are None if none is better than no parser."""
        return self.pairs[0]


def rank_parsers(
    process: EngineProcess,
    analysis: Analysis,
    questions: AskedTexts,
    vocabulary: Sequence[str] | None = None,
) -> EngineRanking:
    """Rank the parsers of one engine. Raises AutoparserError if it cannot be asked at all.

    The engine's `auto` also uses the model's `vocabulary`; None if it is not known.
    """
    return _Ranking(process, analysis, questions, vocabulary).rank()


class _Ranking:
    """Asks one engine about one template's texts."""

    def __init__(
        self,
        process: EngineProcess,
        analysis: Analysis,
        questions: AskedTexts,
        vocabulary: Sequence[str] | None,
    ) -> None:
        self._process, self._texts = process, questions.texts
        self._offered = process.parsers()
        self._deliveries = [
            delivery
            for delivery in TextDelivery
            if not delivery.tokens or delivery.tokens in self._offered.steps
        ]
        loaded = process.load(
            analysis.template,
            _likely_tokens(analysis.template) if vocabulary is None else vocabulary,
            loose_tools(),
            [text.to_worker() for text in questions.texts],
        )
        self._chosen = loaded.auto
        self._left_out = loaded.left_out
        self._text_places = [at for at in range(len(questions.texts)) if at not in loaded.left_out]
        self._unusable: list[UnusableParser] = []
        self._alike: list[tuple[str, ...]] = []

    def rank(self) -> EngineRanking:
        """Try the parsers alone, then pairs of the best."""
        calling = [at for at in self._text_places if self._texts[at].meant.calls]
        thinking = any(self._texts[at].meant.reasoning for at in self._text_places)
        tools = self._best(ParserPart.CALLS, self._offered.tools, calling)
        thinkers = self._offered.reasoning * thinking
        reasoning = self._best(ParserPart.REASONING, thinkers, self._text_places)
        pairs = [ParserPair(*names) for names in product(tools, reasoning)]
        scored = sorted(map(self._score, pairs), key=_worst_last)
        return EngineRanking(
            self._offered,
            self._process.python,
            tuple(scored),
            None if self._chosen is None else self._score(self._chosen),
            tuple(self._alike),
            tuple(self._unusable),
            self._left_out,
        )

    def _best(
        self, part: ParserPart, names: Sequence[str], texts: Sequence[int]
    ) -> list[str | None]:
        """Return None, for no parser, and the parsers that read their part of the messages best.

        Of parsers that read alike, such as one under several names, the first is returned.
        """
        read: dict[tuple[ParserAnswer, ...], list[str]] = {}
        for name in names if texts else ():
            answers = self._read(part, name, texts)
            if answers:
                read.setdefault(answers, []).append(name)
        found: list[tuple[int, str]] = []
        for answers, alike in read.items():
            found.append((-self._right(part, (*texts, *texts), answers), alike[0]))
            self._alike += [tuple(alike)] * (len(alike) > 1)
        return [None, *(name for _, name in sorted(found)[:TRIED])]

    def _read(self, part: ParserPart, name: str, texts: Sequence[int]) -> tuple[ParserAnswer, ...]:
        """Return the answers of a parser, at once then streamed; empty if it reads no text right.

        Most parsers are for other formats; streaming to these, too, would take most of the time.
        """
        answers: list[ParserAnswer] = []
        for delivery in (TextDelivery.WHOLE, TextDelivery.TOKENS):
            given = self._process.read(part.parser(name), texts, delivery.tokens)
            if isinstance(given, ParserError):
                self._unusable.append(UnusableParser(part, name, given.reason))
                return ()
            if not self._right(part, texts, given):
                return ()
            answers += given
        return tuple(answers)

    def _right(
        self, part: ParserPart, texts: Sequence[int], answers: Sequence[ParserAnswer]
    ) -> int:
        """Return how many texts were read right in one part of the message."""
        pairs = zip(texts, answers, strict=True)
        return sum(part.right(self._texts[at], answer) for at, answer in pairs)

    def _score(self, pair: ParserPair) -> PairScore:
        texts = [self._texts[at] for at in self._text_places]
        scores: list[DeliveryScore] = []
        failures: list[ParserFailure] = []
        for delivery in self._deliveries:
            answers = self._process.read(pair, self._text_places, delivery.tokens)
            every = [answers] * len(texts) if isinstance(answers, ParserError) else answers
            verdicts = tuple(map(_judged, texts, every))
            scores.append(DeliveryScore(delivery, verdicts))
            failures += [
                ParserFailure(asked.title, delivery, asked.text, asked.meant, verdict)
                for asked, verdict in zip(texts, verdicts, strict=True)
                if not verdict.right
            ]
        # The shortest text, at once before streamed.
        failure = min(failures, key=lambda failure: len(failure.text), default=None)
        return PairScore(pair, scores[0], tuple(scores[1:]), failure)


def _likely_tokens(template: ChatTemplate) -> list[str]:
    """Return texts that may be tokens of the model: all texts in brackets in its template.

    Only the engine's own choice depends on them, and a missing token could make that choice worse.
    """
    found = (*_IN_BRACKETS.findall(template.text), *template.special_tokens.values())
    return list(dict.fromkeys(found))


def _worst_last(score: PairScore) -> tuple[object, ...]:
    pair = score.pair
    return (
        -score.whole.right - score.streamed_right,
        -score.whole.exact - sum(delivery.exact for delivery in score.streamed),
        (pair.tool is not None) + (pair.reasoning is not None),
        pair.tool or "",
        pair.reasoning or "",
    )


# All engines, tried on one template.


@dataclass(frozen=True, slots=True)
class EnginesTried:
    """The rankings of all engines."""

    template: str
    """The name of the template, as messages show it."""
    texts: int
    """The number of texts."""
    hostile: int
    """Number of texts with markers or calls that are text."""
    not_asked: int
    """Number of messages without a text: see `AskedTexts`."""
    rankings: tuple[EngineRanking, ...]
    """One for each engine and Python."""

    @property
    def ok(self) -> bool:
        """Whether a pair of some engine reads all texts right."""
        return any(pair.all_right for ranking in self.rankings for pair in ranking.pairs)


def try_engines(
    name: str,
    analysis: Analysis,
    engines: Sequence[tuple[str, str]],
    say: Callable[[str], object],
    vocabulary: Sequence[str] | None = None,
) -> EnginesTried:
    """Rank the parsers of engines, given as (name, Python); `say` is called before each.

    `vocabulary` has the model's tokens, or is None if they are not known. Raises AutoparserError.
    """
    asked = asked_texts(analysis)
    rankings: list[EngineRanking] = []
    for engine, python in engines:
        say(f"asking {engine}")
        with EngineProcess(engine, python) as process:
            rankings.append(rank_parsers(process, analysis, asked, vocabulary))
    hostile = sum(text.hostile for text in asked.texts)
    return EnginesTried(name, len(asked.texts), hostile, asked.not_asked, tuple(rankings))
