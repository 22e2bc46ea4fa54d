"""Judge one step of a conversation: whether it holds, and where, why and by whom it breaks.

The sampled turn is the one that the template itself writes after the prompt, up to the string at
which a model stops. If the parser reads another message from it, because the template strips,
lowercases or escapes with loss, that turn would come back whatever the template does, and the
format writes it instead. For the argument `x^2` and a template that strips the sign:

    the template   <arg name="term">x2</arg>
    the format     <arg name="term">x^2</arg>

A text of the format counts only if the parser reads the message from it; if it reads the message
from neither text, nothing shows what a model would write. If the template does not write the turn
after the prompt, the reason is returned, e.g. `"its turn lacks the reasoning"`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, structs
from msgspec.structs import replace

from autoparser.analysis.core.conversation import Message, UserMessage
from autoparser.analysis.core.errors import TemplateLimitError, TemplateRenderError
from autoparser.analysis.core.message_shape import Setting
from autoparser.analysis.core.text_alignment import prefix_length
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_shape import PromptProgress, TurnOpening
from autoparser.analysis.parsing.parsed_message import ParsedMessage, Status, message_from
from autoparser.analysis.parsing.text_tape import SpanKind
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of

from .client_memory import has_unreadable_call
from .conversation_replay import Exchange, Replay, ReplayStage
from .sampled_turns import (
    NotWrittenError,
    Pieces,
    Prompt,
    Sample,
    SampledKind,
    SampledPiece,
    sample_turn,
)
from .scenarios import Next, Scenario
from .trip_causes import Cause, Culprit, break_cause, break_fault
from .turn_variations import VARIATIONS, Spelling, respell_calls, respelled_by, rewritten_by

if TYPE_CHECKING:
    from tokenizers import Tokenizer


REWRITTEN = "it changes the text of the turn"
"""The reason why the format wrote a turn that the template writes, too."""


def says_message(parsed: ParsedMessage, text: str, message: Message) -> bool:
    """Return whether a parsed text is this message, regardless of ids and order of arguments."""
    try:
        read = message_from(parsed, text)
    except ValueError:
        return False
    return _message_key(read) == _message_key(message)


def _message_key(message: Message) -> tuple[object, ...]:
    # As JSON text, since True == 1 in Python; sorted, since the order of arguments is free.
    calls = [
        (call.name, json.dumps(dict(call.arguments), sort_keys=True)) for call in message.calls
    ]
    return message.reasoning, message.content, calls


# The token level: whether the prompt's and the sampled tokens are a prefix of the next prompt's.


AT_NEWLINES = re.compile(r"\n|[^\n]+")
"""Matches the pieces of a text in which each newline is a token of its own."""


@dataclass(frozen=True, slots=True)
class TokenVerdict:
    """The number of cached tokens that the next prompt reuses."""

    holds: bool
    """Whether all tokens are reused, as in `TokenVerdict(True, 7, 7, 15, 15)`."""
    sampled: int
    """The number of sampled tokens, such as `9`."""
    reused: int
    """The number of sampled tokens in the common prefix with the next prompt, such as `2`."""
    prompt: int
    """The number of tokens of the prompt, such as `15`."""
    prompt_reused: int
    """The number of the prompt's tokens in that prefix, such as `15`."""


class Encoder:
    """Encodes texts; results are cached."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Store the tokenizer; special tokens in a text are encoded as special."""
        self._tokenizer = tokenizer_of(tokenizer)
        self._encoded_texts: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text. Raises TokenizerError if it cannot be encoded."""
        if text not in self._encoded_texts:
            self._encoded_texts[text] = self._tokenizer.encode(text)
        return self._encoded_texts[text]

    def compare(self, prompt: str, sampled: str, text: str, *, newlines: bool) -> TokenVerdict:
        """Compare the cached tokens with the tokens of the next prompt.

        `newlines`: the model wrote each newline as a token of its own; else its text is encoded in
        one piece. Either way it is encoded apart from the prompt, which it could not change.
        """
        asked = self.encode(prompt)
        pieces = AT_NEWLINES.findall(sampled) if newlines else [sampled]
        written = [token for piece in pieces for token in self.encode(piece)]
        shared = shared_tokens([*asked, *written], self.encode(text))
        return TokenVerdict(
            holds=shared == len(asked) + len(written),
            sampled=len(written),
            reused=max(0, shared - len(asked)),
            prompt=len(asked),
            prompt_reused=min(shared, len(asked)),
        )

    def size(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return len(self.encode(text))


def shared_tokens(left: Sequence[object], right: Sequence[object]) -> int:
    """Return the length of the common prefix."""
    limit = min(len(left), len(right))
    return next((at for at in range(limit) if left[at] != right[at]), limit)


class TemplateSample(Struct, frozen=True):
    """A turn by the template, or the reason why it does not write one."""

    text: str
    """The turn after the prompt, up to its stop string, such as `"It is sunny in Oslo.<|im_end|>"`;
    empty if there is none."""
    unwritten: str = ""
    """The reason why the template does not write the turn after the prompt, such as
    `"its turn lacks the reasoning"`; else empty."""


def template_sample(
    stage: ReplayStage,
    scenario: Scenario,
    setting: Setting,
    prompt: Prompt,
    message: Message,
    stops: Sequence[str],
) -> TemplateSample:
    """Render a message as the last turn and return the text after the prompt, up to a stop."""

    def last_turn(turn: Message) -> str:
        return stage.last_turn(scenario.history, turn, scenario.tools, setting, scenario.engine)

    try:
        whole = last_turn(message)
    except TemplateRenderError as error:
        return TemplateSample("", f"it raises if the turn is last: {error.reason}")
    # Such a template has another header in the history, so the format has to write the turn.
    if not whole.startswith(prompt.text):
        return TemplateSample("", "its turn does not continue the prompt")
    rest = whole[len(prompt.text) :]
    parts = {"reasoning": message.reasoning, "content": message.content}
    missing = [name for name, part in parts.items() if part and part not in rest]
    missing += ["call"] * any(call.name not in rest for call in message.calls)
    # The same name may occur elsewhere, so a call counts as written only if the text changes
    # without it.
    for fewer in _without_one_call(message):
        try:
            missing += ["call"] * (last_turn(fewer) == whole)
        except TemplateRenderError:
            continue  # refused without that call: the call does make a difference
    if missing:
        names = " and the ".join(dict.fromkeys(missing))
        return TemplateSample("", f"its turn lacks the {names}")
    return TemplateSample(_cut_after_stop(rest, message, stops))


def _without_one_call(message: Message) -> Iterator[Message]:
    calls = message.calls
    for at in range(len(calls) if len(calls) > 1 else 0):
        yield structs.replace(message, calls=(*calls[:at], *calls[at + 1 :]))


def _cut_after_stop(text: str, message: Message, stops: Sequence[str]) -> str:
    """Cut a turn after the first stop string behind the last of its message's texts."""
    words = [message.reasoning, message.content]
    for call in message.calls:
        words += [
            call.name,
            *(argument for argument in call.arguments.values() if isinstance(argument, str)),
        ]
    # A message may contain the stop string in its text; the turn ends only after that.
    found = [text.rfind(word) + len(word) for word in words if word and word in text]
    last = max(found, default=0)
    ends = [at + len(stop) for stop in stops if (at := text.find(stop, last)) >= 0]
    return text[: min(ends)] if ends else text.rstrip()


CONTEXT = 60
"""Characters shown on either side of a difference."""


class Outcome(StrEnum):
    """The result of a step."""

    HOLDS = "holds"
    BREAKS = "breaks"
    RAISES = "raises"
    NOT_APPLICABLE = "not applicable"
    """The format at hand has no such text, the prompt itself cannot be rendered, or a limit ended
    the render of the next one."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference between the sampled and the rendered text."""

    at: int
    """The offset in the sampled text, such as `77`; negative, such as `-19`, if it is in the prompt
    before it."""
    part: str
    """The part of the turn at that offset, e.g. `reasoning`."""
    before: str
    """The end of the common prefix, such as
    `"me": "get_weather", "arguments": {"city": "Oslo", "days": 3}`."""
    sampled: str
    """The sampled text, or the prompt's, after the common prefix, such as
    `"The user wants the weather.</think>It is sunny"`."""
    rendered: str
    """The next prompt's text after the common prefix, such as `"</think>It is sunny"`."""
    line: int | None = None
    """The template's line that wrote it, such as `50`, or None if unknown."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a scenario under one setting of the switches, with one next role."""

    setting: Setting
    """The values of the switches, such as `{"enable_thinking": False}`."""
    next: Next
    """The messages after the turn, such as `Next.USER`."""
    outcome: Outcome
    """The result for the text, such as `Outcome.BREAKS`."""
    tokens: TokenVerdict | None = None
    """The result for tokens, such as `TokenVerdict(True, 7, 7, 15, 15)`, or None without a
    tokenizer or a next prompt."""
    cause: Cause | None = None
    """The cause of the break, such as `Cause.WHITESPACE`, or None if text and tokens hold."""
    difference: Difference | None = None
    """The first difference, such as one in `"the arguments"`, or None."""
    reason: str = ""
    """The reason why it does not apply, such as `"the prompt closes the reasoning"`, or the
    template's error message."""
    sampled: str = ""
    r"""The sampled text, such as `"It is sunny in Oslo.\n<｜end▁of▁sentence｜>"`."""
    status: Status | None = None
    """How the sampled text was parsed, such as `Status.REPAIRED`."""
    fault: Culprit | None = None
    """The party at fault, such as `Culprit.TEMPLATE`, or None if text and tokens hold."""
    unconfirmed: str = ""
    """Why the format, not the template, wrote the turn before its variations, such as
    `"its turn lacks the reasoning"`; else empty."""

    @property
    def holds(self) -> bool:
        """Whether all cached tokens, or characters without a tokenizer, are reused."""
        return self.outcome is Outcome.HOLDS and (self.tokens is None or self.tokens.holds)

    @property
    def applies(self) -> bool:
        """Whether the scenario applies to this template under this setting."""
        return self.outcome is not Outcome.NOT_APPLICABLE


def judge_scenario(
    stage: ReplayStage, scenario: Scenario, coming: Next, setting: Setting, encoder: Encoder | None
) -> Verdict:
    """Play a scenario and judge it."""
    try:
        exchange, written = sample_exchange(stage, scenario, coming, setting)
        replay = stage.play(exchange)
    except NotWrittenError as reason:
        return Verdict(setting, coming, Outcome.NOT_APPLICABLE, reason=str(reason))
    except TemplateRenderError as error:
        reason_ = f"the prompt cannot be rendered: {error.reason}"
        return Verdict(setting, coming, Outcome.NOT_APPLICABLE, reason=reason_)
    return _judge_replay(stage, replay, encoder, written)


def sample_exchange(
    stage: ReplayStage, scenario: Scenario, coming: Next, setting: Setting
) -> tuple[Exchange, Sample]:
    """Return the exchange with its sampled text. Raises NotWrittenError, TemplateRenderError."""
    _check_media(stage, scenario)
    written = _sample_scenario(stage, scenario, setting)
    if coming is Next.CONTINUATION and not written.cut:
        raise NotWrittenError("only truncated turns continue")
    exchange = _make_exchange(scenario, setting, coming, written.text, cut=written.cut)
    # In some notations the rest is a valid call, e.g. where each argument has a tag of its own.
    if any(VARIATIONS[name].breaks_call for name in scenario.variations):
        parsed = stage.read(exchange)
        if (
            parsed.tool_calls
            and not has_unreadable_call(parsed)
            and parsed.status is not Status.MALFORMED
        ):
            raise NotWrittenError("the rest of the call is a complete call")
    return exchange, written


def _make_exchange(
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
    """Raise NotWrittenError if an image, a video or a sound would not be in the prompt."""
    parts = stage.analysis.content_parts
    for entry in scenario.history:
        if isinstance(entry, Message):
            continue
        if entry.media and not parts.written_media:
            raise NotWrittenError("the template renders no images, videos or audio")
        role = "user" if isinstance(entry, UserMessage) else "tool"
        for kind in entry.media:
            treated = parts.of(kind)
            if treated is None or role not in treated.roles:
                raise NotWrittenError(f"no {kind} is written in messages of the role {role}")


def _sample_scenario(stage: ReplayStage, scenario: Scenario, setting: Setting) -> Sample:
    """Return the turn as the template writes it, or the format as a fallback and for variations."""
    prompt = stage.prompt(scenario.history, scenario.tools, setting, scenario.engine)
    if scenario.sampled is not None:
        return Sample(_single_piece(scenario.sampled), cut=scenario.cut)
    begun = stage.prompt_format(prompt, scenario.tools, setting)
    usual, opening, names = begun.format, begun.opening, scenario.variations
    message = _with_reasoning(usual, scenario, opening)
    message_with_ids = usual.with_naming_ids(message)
    template_turn = template_sample(
        stage, scenario, setting, prompt, message_with_ids, usual.stop_strings
    )

    def write(format_: TurnFormat) -> str:
        return sample_turn(format_, message, prompt, opening).text

    def right(text: str) -> bool:
        # Any next message will do, since the text is only parsed.
        exchange = _make_exchange(scenario, setting, scenario.next[0], text)
        return says_message(stage.read(exchange), text, message)

    if not template_turn.unwritten and not right(template_turn.text):
        formats = [usual]
        if usual.calls is not None:
            # The same format without stripping strings in calls.
            formats.append(respell_calls(usual, Spelling(whole=True)))
        meant = next((candidate for candidate in formats if right(write(candidate))), None)
        if meant is None:
            _check_alike(template_turn, write(usual))
        else:
            usual, template_turn = meant, TemplateSample("", REWRITTEN)
    # Without variations, the template's own text needs no format.
    if not names and not template_turn.unwritten:
        return Sample(_single_piece(template_turn.text), plain=template_turn.text)
    plain = sample_turn(usual, message, prompt, opening)
    _check_alike(template_turn, plain.text)
    format_ = respelled_by(usual, names)
    spelled = sample_turn(format_, message, prompt, opening)
    varied = rewritten_by(spelled, format_, message, names)
    # With no change, the scenario would repeat the one without variations.
    if names and varied.text == plain.text and not varied.single_newlines:
        raise NotWrittenError("the variation changes nothing")
    return replace(varied, plain=plain.text, unconfirmed=template_turn.unwritten)


def _single_piece(text: str) -> Pieces:
    return (SampledPiece(SampledKind.MARKUP, text),)


def _check_alike(sample: TemplateSample, plain: str) -> None:
    """Raise NotWrittenError if the format's text, to be varied, differs from the template's."""
    if not sample.unwritten and sample.text != plain:
        at = prefix_length(sample.text, plain)
        theirs, ours = sample.text[at : at + CONTEXT], plain[at : at + CONTEXT]
        raise NotWrittenError(f"the template writes {theirs!r} where the format has {ours!r}")


THOUGHT = "Let me see what is asked."
"""The reasoning of a turn that has a place for it."""


def _with_reasoning(
    format_: TurnFormat, scenario: Scenario, opening: TurnOpening | None
) -> Message:
    """Add reasoning if the prompt opens a reasoning block or every turn has one."""
    message = scenario.message
    if message.reasoning or scenario.silent:
        return message
    written = None if opening is None else opening.written
    block = format_.reasoning
    begun = format_.layouts[message.presence].literals[0]
    always = block is not None and bool(block.close.core) and block.close.core in begun
    if written is not PromptProgress.REASONING_OPEN and (
        written is PromptProgress.REASONING_CLOSED or not always
    ):
        return message
    thought = structs.replace(message, reasoning=THOUGHT)
    # Some templates raise on reasoning beside these parts.
    return message if format_.layouts[thought.presence].refusal else thought


def _judge_replay(
    stage: ReplayStage, replay: Replay, encoder: Encoder | None, sample: Sample
) -> Verdict:
    """Compare the next prompt with the sampled turn, as text and as tokens, and find the cause."""
    exchange = replay.exchange
    error = replay.error
    if isinstance(error, TemplateLimitError):
        # The limit ended the render; whether the template raises is unknown.
        reason = f"the next request exceeded a limit: {error.reason}"
        return Verdict(exchange.setting, exchange.next, Outcome.NOT_APPLICABLE, reason=reason)
    tokens = None
    if encoder is not None and error is None:
        tokens = encoder.compare(
            replay.prompt.text, exchange.sampled, replay.text, newlines=sample.single_newlines
        )
    cause = break_cause(stage, replay)
    # Equal texts with other tokens: the tokenizer joins the sampled text with its neighbors.
    if cause is None and tokens is not None and not tokens.holds:
        cause = Cause.RETOKENIZED
    outcome = Outcome.HOLDS if replay.holds else Outcome.BREAKS
    return Verdict(
        exchange.setting,
        exchange.next,
        outcome if error is None else Outcome.RAISES,
        tokens,
        cause,
        _find_difference(stage, replay) if error is None else None,
        "" if error is None else error.reason,
        sampled=exchange.sampled,
        status=replay.parsed.status,
        fault=break_fault(stage, replay, cause, sample.plain),
        unconfirmed=sample.unconfirmed,
    )


def _find_difference(stage: ReplayStage, replay: Replay) -> Difference | None:
    at = replay.at
    if at is None:
        return None
    prompt = len(replay.prompt.text)
    whole, text = replay.whole, replay.text
    return Difference(
        at - prompt,
        _part_name(replay, at - prompt),
        whole[max(0, at - CONTEXT) : at],
        whole[at : at + CONTEXT],
        text[at : at + CONTEXT],
        stage.line_at(replay, at),
    )


def _part_name(replay: Replay, at: int) -> str:
    if at < 0:
        within = at + len(replay.prompt.text) >= len(replay.prompt.base)
        return "the generation prompt" if within else "the prompt"
    spans = replay.parsed.spans
    found = next((span for span in spans if span.start <= at < span.end), None)
    return "the end" if found is None else f"the {_PART_NAMES.get(found.kind, found.kind.value)}"


_PART_NAMES = {SpanKind.JUNK: "text after the turn", SpanKind.NAME: "name of a call"}
