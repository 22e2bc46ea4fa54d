"""The verdict on one step of a conversation, and where it breaks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from autoparser.analysis.core.alignment import prefix_length
from autoparser.analysis.core.conversation import Message, User
from autoparser.analysis.core.errors import TemplateLimitError, TemplateRenderError
from autoparser.analysis.core.format import Opening, TurnFormat, Written
from autoparser.analysis.inference.probing import Setting
from autoparser.analysis.reading.parsing import SpanKind, Status

from .cause import Cause
from .causes import cause_of
from .fault import Culprit, fault_of
from .remembering import unreadable
from .replay import Exchange, Replay, ReplayStage
from .rewritten_turn import REWRITTEN, format_meaning, says
from .sampled import NotWrittenError, Pieces, Sample, SampledKind, SampledPiece, sample
from .scenario import Next, Scenario
from .template_sample import TemplateSample, template_sample
from .token_level import Encoder, TokenVerdict
from .variations import VARIATIONS, respelled_by, rewritten_by

CONTEXT = 60
"""So many characters are shown on either side of a difference."""


class Outcome(StrEnum):
    """What became of a step."""

    HOLDS = "holds"
    BREAKS = "breaks"
    RAISES = "raises"
    NOT_APPLICABLE = "not applicable"
    """The format at hand has no such text, the prompt itself cannot be rendered, or a limit ended
    the render of the next one."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where the sampled and the rendered text part."""

    at: int
    """Characters into the sampled text; negative: that far before its beginning."""
    part: str
    """What the sampled text is there."""
    before: str
    """The end of what both have."""
    sampled: str
    """What the model, or the prompt before it, wrote from there on."""
    rendered: str
    """What the next prompt has there."""
    line: int | None = None
    """The template's line that wrote that; None where it is not known."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a scenario goes under one setting of the switches, with one next role."""

    setting: Setting
    next: Next
    outcome: Outcome
    """At string level."""
    tokens: TokenVerdict | None = None
    """At token level; None where there is no tokenizer or no next prompt."""
    cause: Cause | None = None
    """None where both levels hold."""
    difference: Difference | None = None
    reason: str = ""
    """Why it does not apply, or what the template says where it raises."""
    sampled: str = ""
    status: Status | None = None
    """How the sampled text was parsed."""
    fault: Culprit | None = None
    """Whose fault it is; None where both levels hold."""
    unconfirmed: str = ""
    """Why the format wrote the turn, before its variations, and not the template itself; empty
    where the template did."""

    @property
    def holds(self) -> bool:
        """Whether nothing has to be computed again, as far as it was looked into."""
        return self.outcome is Outcome.HOLDS and (self.tokens is None or self.tokens.holds)

    @property
    def applies(self) -> bool:
        """Whether the scenario is one for this template, under this setting."""
        return self.outcome is not Outcome.NOT_APPLICABLE


def judge(
    stage: ReplayStage, scenario: Scenario, coming: Next, setting: Setting, encoder: Encoder | None
) -> Verdict:
    """Play a scenario and judge it."""
    try:
        exchange, written = exchange_of(stage, scenario, coming, setting)
        replay = stage.play(exchange)
    except NotWrittenError as reason:
        return Verdict(setting, coming, Outcome.NOT_APPLICABLE, reason=str(reason))
    except TemplateRenderError as error:
        reason_ = f"the prompt cannot be rendered: {error.reason}"
        return Verdict(setting, coming, Outcome.NOT_APPLICABLE, reason=reason_)
    return _judged(stage, replay, encoder, written)


def exchange_of(
    stage: ReplayStage, scenario: Scenario, coming: Next, setting: Setting
) -> tuple[Exchange, Sample]:
    """Write what the model wrote. Raises NotWrittenError, TemplateRenderError."""
    _check_media(stage, scenario)
    written = _sample(stage, scenario, setting)
    if coming is Next.CONTINUATION and not written.cut:
        raise NotWrittenError("only a turn that was cut goes on")
    exchange = _exchange(scenario, setting, coming, written.text, cut=written.cut)
    if any(VARIATIONS[name].breaks_call for name in scenario.variations):
        parsed = stage.read(exchange)
        if parsed.tool_calls and not unreadable(parsed) and parsed.status is not Status.MALFORMED:
            raise NotWrittenError("what is left of the call is a whole one")
    return exchange, written


def _exchange(
    scenario: Scenario, setting: Setting, coming: Next, sampled: str, *, cut: bool = False
) -> Exchange:
    return Exchange(
        setting,
        scenario.history,
        scenario.tools,
        sampled,
        cut,
        coming,
        scenario.answers,
        scenario.engine,
    )


def _check_media(stage: ReplayStage, scenario: Scenario) -> None:
    """Raise NotWrittenError where an image, a video or a sound would not be in the prompt."""
    parts = stage.analysis.content_parts
    for entry in scenario.history:
        if isinstance(entry, Message):
            continue
        if entry.media and not parts.written:
            raise NotWrittenError("the template writes no images, videos or sounds")
        role = "user" if isinstance(entry, User) else "tool"
        for kind in entry.media:
            treated = parts.of(kind)
            if treated is None or role not in treated.roles:
                raise NotWrittenError(f"no {kind} is written in messages of the role {role}")


def _sample(stage: ReplayStage, scenario: Scenario, setting: Setting) -> Sample:
    """Let the template write the turn, or the format where that does not, and to vary it."""
    prompt = stage.prompt(scenario.history, scenario.tools, setting, scenario.engine)
    if scenario.sampled is not None:
        return Sample(_whole(scenario.sampled), cut=scenario.cut)
    begun = stage.begun(prompt, scenario.tools, setting)
    usual, opening, names = begun.format, begun.opening, scenario.variations
    message = _thinking(usual, scenario, opening)
    told = usual.with_naming_ids(message)
    said = template_sample(stage, scenario, setting, prompt, told, usual.stop_strings)

    def write(format_: TurnFormat) -> str:
        return sample(format_, message, prompt, opening).text

    def right(text: str) -> bool:
        exchange = _exchange(scenario, setting, scenario.next[0], text)
        return says(stage.read(exchange), text, message)

    if not said.unwritten and not right(said.text):
        meant = format_meaning(usual, write, right)
        if meant is None:
            _check_alike(said, write(usual))
        else:
            usual, said = meant, TemplateSample("", REWRITTEN)
    if not names and not said.unwritten:
        return Sample(_whole(said.text), plain=said.text)
    plain = sample(usual, message, prompt, opening)
    _check_alike(said, plain.text)
    format_ = respelled_by(usual, names)
    spelled = sample(format_, message, prompt, opening)
    varied = rewritten_by(spelled, format_, message, names)
    if names and varied.text == plain.text and not varied.single_newlines:
        raise NotWrittenError("the format itself writes it so")
    return replace(varied, plain=plain.text, unconfirmed=said.unwritten)


def _whole(text: str) -> Pieces:
    return (SampledPiece(SampledKind.MARKUP, text),)


def _check_alike(said: TemplateSample, plain: str) -> None:
    """Raise NotWrittenError where the format has another text to vary than the template's."""
    if not said.unwritten and said.text != plain:
        at = prefix_length(said.text, plain)
        theirs, ours = said.text[at : at + CONTEXT], plain[at : at + CONTEXT]
        raise NotWrittenError(f"the template writes {theirs!r} where the format has {ours!r}")


THOUGHT = "Let me see what is asked."
"""What a model thinks where its turn has a place for it."""


def _thinking(format_: TurnFormat, scenario: Scenario, opening: Opening | None) -> Message:
    """Let the model reason where the prompt opens the reasoning, or every turn has a block."""
    message = scenario.message
    if message.reasoning or scenario.silent:
        return message
    written = None if opening is None else opening.written
    block = format_.reasoning
    begun = format_.layouts[message.presence].literals[0]
    always = block is not None and bool(block.close.core) and block.close.core in begun
    if written is not Written.REASONING_OPEN and (
        written is Written.REASONING_CLOSED or not always
    ):
        return message
    thought = replace(message, reasoning=THOUGHT)
    return message if format_.layouts[thought.presence].refusal else thought


def _judged(
    stage: ReplayStage, replay: Replay, encoder: Encoder | None, written: Sample
) -> Verdict:
    exchange = replay.exchange
    error = replay.error
    if isinstance(error, TemplateLimitError):
        # The template has not answered: that it raises would be the limit's word.
        reason = f"a limit ended the next request: {error.reason}"
        return Verdict(exchange.setting, exchange.next, Outcome.NOT_APPLICABLE, reason=reason)
    if error is not None:
        return Verdict(
            exchange.setting,
            exchange.next,
            Outcome.RAISES,
            cause=Cause.RAISES,
            reason=error.reason,
            sampled=exchange.sampled,
            status=replay.parsed.status,
            fault=fault_of(stage, replay, Cause.RAISES, written.plain),
            unconfirmed=written.unconfirmed,
        )
    tokens = None
    if encoder is not None:
        tokens = encoder.compare(
            replay.prompt.text, exchange.sampled, replay.text, newlines=written.single_newlines
        )
    cause = cause_of(stage, replay)
    if cause is None and tokens is not None and not tokens.holds:
        cause = Cause.RETOKENIZED
    return Verdict(
        exchange.setting,
        exchange.next,
        Outcome.HOLDS if replay.holds else Outcome.BREAKS,
        tokens,
        cause,
        _difference(stage, replay),
        sampled=exchange.sampled,
        status=replay.parsed.status,
        fault=fault_of(stage, replay, cause, written.plain),
        unconfirmed=written.unconfirmed,
    )


def _difference(stage: ReplayStage, replay: Replay) -> Difference | None:
    at = replay.at
    if at is None:
        return None
    prompt = len(replay.prompt.text)
    whole, text = replay.whole, replay.text
    return Difference(
        at - prompt,
        _part(replay, at - prompt),
        whole[max(0, at - CONTEXT) : at],
        whole[at : at + CONTEXT],
        text[at : at + CONTEXT],
        stage.line_at(replay, at),
    )


def _part(replay: Replay, at: int) -> str:
    if at < 0:
        within = at + len(replay.prompt.text) >= len(replay.prompt.base)
        return "the generation prompt" if within else "the prompt"
    spans = replay.parsed.spans
    found = next((span for span in spans if span.start <= at < span.end), None)
    return "the end" if found is None else f"the {_WORDS.get(found.kind, found.kind.value)}"


_WORDS = {SpanKind.JUNK: "text after the turn", SpanKind.NAME: "name of a call"}
