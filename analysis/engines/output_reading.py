"""How the parsers of engines read one output of a model.

For example, of an output with a call, if the request offers no tools:

    read_by_engines(question, text, [("vllm", "venv/bin/python")], None, …)
    ->  (EngineOutcome("vllm", left_out="the output has calls, and no tools are offered",
                       way_out="add --tools FILE"),)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json, Tool, tool_function
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.format_choice import PromptFormat
from autoparser.analysis.core.reading_judge import ReadingJudge
from autoparser.analysis.formats.lost_calls import LossCause, LossReason, smallest_part
from autoparser.analysis.formats.output_explanation import DeviationExplanation
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import Status, message_from

from .engine_process import EngineProcess, ParserError, ParserPair, likely_tokens
from .engine_ranking import EngineRanking, PairScore, judged_reading, rank_parsers
from .ranking_texts import AskedText, AskedTexts


@dataclass(frozen=True, slots=True)
class EngineOutcome:
    """How one engine reads an output."""

    engine: str
    """The module of the engine, such as `"vllm"`."""
    ranking: EngineRanking | None = None
    """The readings of its parsers, e.g. by `ParserPair("hermes")`, or None if the engine cannot be
    asked at all."""
    left_out: str = ""
    """Why the engine was not asked, or did not answer in time, such as
    `"the output has calls, and no tools are offered"`; empty if it answered."""
    way_out: str = ""
    """An action that lets the engine be asked, such as `"add --tools FILE"`, or empty if none is
    known."""
    smallest: str = ""
    """The smallest part of the output that it also misreads, such as `"<call>find"`, or empty if
    none was searched."""

    @property
    def title(self) -> str:
        """The engine with its version, such as `"vllm 0.32.0"`, if it could be asked."""
        return self.engine if self.ranking is None else self.ranking.engine

    @property
    def judged(self) -> PairScore | None:
        """The reading by the named parsers, else by the engine's choice, else by the best ones.

        None without an answer.
        """
        if self.ranking is None or self.left_out:
            return None
        return self.ranking.auto or self.ranking.best

    @property
    def best(self) -> PairScore | None:
        """The reading by the parsers that read the output best, or None without an answer."""
        return None if self.judged is None or self.ranking is None else self.ranking.best

    @property
    def wrong(self) -> bool:
        """Whether the engine was asked and reads the output differently."""
        return self.judged is not None and not self.judged.all_right


@dataclass(frozen=True, slots=True)
class ExplainedOutput:
    """The departures of an output, and why a call was lost or wrong."""

    places: tuple[DeviationExplanation, ...]
    """The departures, in the order of the text, such as a missing `"</tool_call>"`."""
    cause: LossCause
    """Why a call was lost or wrong, such as `LossReason.STRIPPED`, or that nothing was lost."""
    engines: tuple[EngineOutcome, ...] = ()
    """How engines read the output, such as `vllm`."""
    smallest: str = ""
    """The smallest part of the output that shows the same, such as `"<call>find"`, or empty if none
    was searched."""
    template: str = "TEMPLATE"
    """The template as a command names it, e.g. `"model/chat_template.jinja"`."""
    tools: str = "FILE"
    """The file of the offered tools as a command names it, e.g. `"tools.yaml"`."""
    teachable: bool = True
    """Whether the template offers tools but writes no calls, which examples may teach."""

    def with_engines(self, outcomes: Sequence[EngineOutcome]) -> ExplainedOutput:
        """Return it with the readings of engines; if nothing else was lost, their parsers did."""
        wrong = next((outcome for outcome in outcomes if outcome.wrong), None)
        cause, smallest = self.cause, self.smallest
        # A departure of the output itself explains more than the parser that fell for it.
        if wrong is not None and cause.reason is LossReason.NOTHING:
            cause, smallest = LossCause(LossReason.PARSER, lost=True), wrong.smallest
        return replace(self, cause=cause, engines=tuple(outcomes), smallest=smallest)


@dataclass(frozen=True, slots=True)
class OutputQuestion:
    """An output of a model, and the request that it answers, as engines are asked about it."""

    analysis: Analysis
    """The analysis of the template, such as
    `<Analysis of model.jinja: self-check 47/47, 1 format>`."""
    parser: OutputParser
    """The parser of the output, such as `<OutputParser of 'look'>`."""
    begun: PromptFormat
    r"""The format and the generation prompt of the output, such as `"<|im_start|>assistant\n"`."""
    prompt: str | None
    r"""The rendered prompt, such as `"<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"`, or
    None for the generation prompt alone."""
    tools: Sequence[Tool]
    """The offered tools, such as `{"name": "look", "parameters": {…}}`."""

    @property
    def offered(self) -> tuple[Json, ...]:
        """The offered tools in OpenAI's form."""
        return tuple({"type": "function", "function": tool_function(tool)} for tool in self.tools)

    def asked_text(self, text: str) -> AskedText | None:
        """Return an output as a text for engines, or None if this package cannot read it."""
        parsed = self.parser.parse(text)
        # This package's reading is the meaning that engines are compared with, so it must be
        # certain.
        if not parsed.status.regular and parsed.status is not Status.REPAIRED:
            return None
        try:
            meant = message_from(parsed)
        except ValueError:
            return None
        opening = self.begun.opening
        start = "" if opening is None else opening.text
        bare = text.rstrip()
        ends = [end.core for end in self.begun.format.end_literals if end.core]
        # An engine removes the end of the turn before its parsers get the text.
        end = next((end for end in ends if bare.endswith(end)), "")
        return AskedText(
            "the output",
            # At least the generation prompt, which may have begun the turn.
            start if self.prompt is None else self.prompt,
            bare.removesuffix(end) if end else text,
            start,
            end,
            {} if opening is None else opening.setting,
            (),
            bool(self.tools),
            meant,
            hostile=False,
            # Only this message counts as correct.
            judge=ReadingJudge(lambda _one, _other: False, lambda _call: True),
        )

    def ask(
        self, process: EngineProcess, asked: AskedText, pair: ParserPair | None
    ) -> EngineRanking:
        """Have the parsers of an engine read an output. Raises AutoparserError."""
        texts = AskedTexts((asked,), 0, self.offered)
        return rank_parsers(process, self.analysis, texts, named=pair)


MOST_ASKED = 20_000
"""Most characters that an engine is asked to read in the search of a smallest part."""


def read_by_engines(
    question: OutputQuestion,
    text: str,
    engines: Sequence[tuple[str, str]],
    pair: ParserPair | None,
    *,
    shrink: bool,
    say: Callable[[str], object],
) -> tuple[EngineOutcome, ...]:
    """Have engines, given as (name, Python), read an output; `say` is called before each step.

    `pair` has the parsers that the user's server uses, or None if they are not known. With
    `shrink`, the smallest part that an engine misreads is searched. The outcome of an engine that
    cannot be asked has the reason. Returns nothing if this package cannot read the output.
    """
    asked = question.asked_text(text)
    if asked is None:
        return ()
    if asked.meant.calls and not asked.tools:
        # Without tools, an engine has no reason to read calls.
        words, way = "the output has calls, and no tools are offered", "add --tools FILE"
        return tuple(EngineOutcome(engine, None, words, way) for engine, _ in engines)
    found: list[EngineOutcome] = []
    for engine, python in engines:
        say(f"asking {engine}")
        with EngineProcess(engine, python) as process:
            try:
                outcome = _outcome(engine, question.ask(process, asked, pair))
            except AutoparserError as error:
                outcome = EngineOutcome(engine, None, error.message, error.hint or "")
            if shrink and outcome.wrong and outcome.judged is not None:
                say(f"searching for the smallest part that {engine} misreads")
                part = _smallest(process, question, text, outcome.judged.pair)
                outcome = replace(outcome, smallest=part)
            found.append(outcome)
    return tuple(found)


def _outcome(engine: str, ranking: EngineRanking) -> EngineOutcome:
    """Return the outcome of an engine that could be asked."""
    left_out = next(iter(ranking.left_out.values()), "")
    judged = ranking.auto or ranking.best
    if judged.failure is not None and any(row.late for row in (judged.whole, *judged.streamed)):
        # A slow engine may be right, so this text does not count.
        left_out = judged.failure.verdict.actual
    return EngineOutcome(engine, ranking, left_out)


def _smallest(process: EngineProcess, question: OutputQuestion, text: str, pair: ParserPair) -> str:
    """Return the smallest part found that these parsers misread in the same part of the message."""
    offered = question.offered
    # Texts that the template would not render do not count as misread.
    exact = OutputParser(question.parser.turn, forgive="exact")

    def misread(part: str) -> str:
        asked = question.asked_text(part)
        if asked is None or not exact.parse(part).status.regular:
            return ""
        template = question.analysis.template
        # The worker reads only texts that it was given in advance, so load each part separately.
        process.load(template, likely_tokens(template), offered, [asked.to_worker()])
        for tokens in (0, 1):
            answers = process.read(pair, [0], tokens)
            if isinstance(answers, ParserError):
                return answers.reason
            verdict = judged_reading(asked, answers[0])
            if not verdict.right:
                return verdict.part
        return ""

    whole = misread(text)
    return smallest_part(text, lambda part: misread(part) == whole, MOST_ASKED) if whole else ""
