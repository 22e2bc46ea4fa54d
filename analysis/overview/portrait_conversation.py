"""A conversation of ten turns: the tokens a prefix cache reuses if re-rendered, and if bridged.

Contract: the model writes each turn in the learned format. The cache then holds the tokens of the
prompt and of the turn; the next prompt reuses the longest prefix that it shares with them.

For a template that drops reasoning after the next user message, the first turn is, in bytes,

    cached 78     <u>What is the weather in Rio?</s><a><t>The user asks about Rio.</t>It is sun…
    reused 32     <u>What is the weather in Rio?</s><a>
    bridged 112   the 78, and the next question with its prompt
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tokenizers import Tokenizer

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import (
    Entry,
    Message,
    Tool,
    ToolCall,
    ToolResult,
    UserMessage,
)
from autoparser.analysis.core.errors import AutoparserError, TemplateRenderError
from autoparser.analysis.core.format_choice import opening_at_end
from autoparser.analysis.core.message_shape import offered_tools
from autoparser.analysis.core.text_alignment import prefix_length
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.decoding.answer_judge import made_tokenizer
from autoparser.analysis.history.conversation_replay import ReplayStage
from autoparser.analysis.history.rendered_tokens import RenderedTokens
from autoparser.analysis.history.renderer import Renderer
from autoparser.analysis.history.round_trips import TripRow
from autoparser.analysis.history.sampled_turns import NotWrittenError, Prompt, sample_turn
from autoparser.analysis.history.trip_verdict import (
    AT_NEWLINES,
    CONTEXT,
    Encoder,
    Outcome,
    shared_tokens,
)
from autoparser.analysis.sources.tokenizer import TokenText
from autoparser.analysis.templates.chat_template import ChatTemplate

LEAD = 6
"""The number of prompt pieces shown before the turn."""
INSTEAD = 12
"""The number of pieces of the next prompt shown where it departs."""

SINGLE_NEWLINES = "single-newlines"
"""The name of the variation that encodes each newline as a token of its own."""

_WORDS = re.compile(r"\n|[^\S\n]+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class TokenStrip:
    """The part of one turn that the next prompt reuses; the verdict has the cause of the rest."""

    lead: tuple[str, ...]
    """The last pieces of the prompt, such as
    `(" in", " Oslo", "?", "<｜Assistant｜>", "<think>", "</think>")`."""
    lead_reused: int
    """The number of reused pieces of the prompt's end, such as `6`."""
    pieces: tuple[str, ...]
    """The pieces of the sampled turn, such as
    `("It", " is", " sunny", " in", " Oslo", ".", "<｜end▁of▁sentence｜>")`."""
    reused: int
    """The number of reused pieces, from the first, such as `108`."""
    instead: tuple[str, ...]
    """The next prompt's text at the first piece not reused, such as
    `("</think>", "It", " is", " sunny")`; empty if all are."""
    tokens: bool
    """Whether the pieces are tokens, such as `" sunny"`; without a tokenizer, they are words and
    punctuation."""


def token_strip(stage: ReplayStage, row: TripRow, tokens: TokenText | None) -> TokenStrip:
    """Cut a row's turn into pieces and count the reused ones, by its usual verdict."""
    if tokens is not None:
        try:
            # A character that several tokens share belongs to the first of them.
            return _cut_strip(
                stage, row, lambda text: tokens.encode(text).pieces(text), tokens=True
            )
        except AutoparserError:
            # The tokenizer has no token for a character that only this turn has.
            pass
    return _cut_strip(stage, row, _WORDS.findall, tokens=False)


def _cut_strip(
    stage: ReplayStage, row: TripRow, cut: Callable[[str], list[str]], *, tokens: bool
) -> TokenStrip:
    verdict, scenario = row.verdict, row.scenario
    try:
        prompt = stage.prompt(scenario.history, scenario.tools, verdict.setting).text
    except TemplateRenderError:
        prompt = ""
    sampled = verdict.sampled
    written = AT_NEWLINES.findall(sampled) if SINGLE_NEWLINES in scenario.variations else [sampled]
    asked, pieces = cut(prompt), [token for text in written for token in cut(text)]
    lead = tuple(asked[-LEAD:])
    if verdict.outcome is Outcome.RAISES:
        return TokenStrip(lead, len(lead), tuple(pieces), 0, (), tokens)
    after = prompt + sampled
    whole = True
    difference = verdict.difference
    if difference is not None:
        # The next prompt as far as the verdict shows it: the common text, and a little more.
        after = after[: len(prompt) + difference.at] + difference.rendered
        whole = len(difference.rendered) < CONTEXT
    # No word crosses the place where the model began to write, but tokens may.
    at = 0 if tokens else len(prompt)
    following = [*cut(after[:at]), *cut(after[at:])]
    shared = shared_tokens([*asked, *pieces], following)
    lost = len(asked) + len(pieces) - shared
    # Where the verdict's text is cut, its last piece may be part of a longer one.
    instead = following[shared : len(following) if whole else -1]
    return TokenStrip(
        lead,
        max(0, len(lead) - max(0, len(asked) - shared)),
        tuple(pieces),
        max(0, shared - len(asked)),
        tuple(instead[:INSTEAD] or ("",)) if lost else (),
        tokens,
    )


CITIES = ("Rio", "Quito", "Oslo", "Ulm", "Hanoi", "Lagos", "Lima", "Turin", "Osaka", "Accra")
TURNS = len(CITIES)
TOKENS = "tokens"
BYTES = "bytes, each marker counted as one"
"""The unit of figures without a tokenizer."""

ROUND = 4
"""The turns between two user messages: three calls and an answer."""
PAD = "a"
"""Pads call ids to nine letters and digits, the length that some templates require."""
BREAK_CONTEXT = 40
"""Characters shown on either side of a break."""


@dataclass(frozen=True, slots=True)
class PortraitStep:
    """One turn and the next prompt; the figures count `PortraitConversation.unit`."""

    turn: int
    """The turn's number, from 1."""
    calls: bool
    """Whether the turn calls a tool, such as `get_weather`; otherwise it is an answer."""
    cached: int
    """The length of the prompt and the sampled turn, such as `1350`."""
    rendered: int
    """The length of the next prompt, rendered from the messages, such as `1433`."""
    reused: int
    """The length of the prefix that the next prompt shares with the cache, such as `1350`."""
    bridged: int | None
    """The length of the bridged prompt, which keeps the whole cache, such as `1433`, or None if
    refused."""
    refusal: str = ""
    """The reason for a refused bridge."""
    note: str = ""
    """The text that the bridge keeps and a render drops, such as `"kept, although the template
    drops reasoning from the history: of the turn that the model wrote"`."""
    before: str = ""
    r"""The end of the common prefix, where it breaks, such as
    `"in Rio?<|im_end|>\n<|im_start|>assistant\n"`."""
    cached_text: str = ""
    r"""The cached text after the common prefix, such as
    `"<think>\nThe user asks about Rio.\n</think"`."""
    instead: str = ""
    r"""The next prompt's text after the common prefix, such as
    `"<tool_call>\n{"name": "get_weather", "arg"`."""

    @property
    def breaks(self) -> bool:
        """Whether re-rendering discards cached tokens."""
        return self.reused < self.cached


@dataclass(frozen=True, slots=True)
class PortraitConversation:
    """Ten turns, or fewer if one could not be taken."""

    steps: tuple[PortraitStep, ...]
    """The turns that were taken, in order, such as
    `(PortraitStep(turn=1, calls=True, cached=1350, rendered=1433, reused=1350, …), …)`."""
    unit: str
    """The unit of the figures: tokens, or `BYTES` without a tokenizer."""
    stopped: str = ""
    """The reason if there are fewer than ten."""

    @property
    def thrown_away(self) -> int:
        """The number of cached tokens that re-rendering computes again."""
        return sum(step.cached - step.reused for step in self.steps)

    @property
    def breaks(self) -> int:
        """The number of turns after which the prefix breaks."""
        return sum(step.breaks for step in self.steps)


def ten_turns(
    analysis: Analysis, tools: Sequence[Tool], tokenizer: Tokenizer | None
) -> PortraitConversation:
    """Run the conversation, with calls if the template writes them.

    Without a tokenizer, one of bytes and markers counts the figures.
    """
    unit = TOKENS if tokenizer is not None else BYTES
    encoder = tokenizer or made_tokenizer(analysis.grammar(None)).hf
    # A renderer refuses templates with stand-ins, whose texts would be wrong in a real prompt; here
    # tokens are only counted.
    analysis = _with_stand_ins(analysis)
    # A template may render calls but refuse this conversation with them.
    tried = [True, False] if analysis.formats.fullest.calls is not None and tools else [False]
    stopped = ""
    for calls in tried:
        talk = _TenTurns(analysis, tools if calls else (), encoder)
        steps, stopped = talk.take_turns(calls=calls)
        if steps:
            return PortraitConversation(tuple(steps), unit, stopped)
    return PortraitConversation((), unit, stopped)


def _with_stand_ins(analysis: Analysis) -> Analysis:
    """Treat the stand-ins of unknown special tokens as the template's own."""
    template = analysis.template
    tokens = {**template.special_tokens, **analysis.stand_ins}
    declared = ChatTemplate(template.text, tokens, template.name, template.origin)
    return replace(analysis, template=declared, stand_ins={})


def _city_question(turn: int) -> UserMessage:
    return UserMessage(f"What is the weather in {CITIES[turn % TURNS]}?")


_WORD_BEGUN = re.compile(r"(?<=\s)\S{1,8}\Z")


class _TenTurns:
    """One conversation, turn by turn."""

    def __init__(self, analysis: Analysis, tools: Sequence[Tool], tokenizer: Tokenizer) -> None:
        self._analysis = analysis
        self._tools = tuple(tools)
        self._setting = analysis.formats.fullest.setting
        self._stage = ReplayStage(analysis)
        self._encoder = Encoder(tokenizer)
        # A bridge exists to keep computed tokens, so it keeps reasoning, too, and reports that.
        self._renderer = Renderer(
            analysis, tokenizer, switches=self._setting, thinking_retention="all"
        )
        self._offered = offered_tools(tools, analysis.shape) if tools else None
        self._bridged: tuple[int, ...] = ()
        """The prompt built by the bridges so far, or empty if it must be rendered."""

    def take_turns(self, *, calls: bool) -> tuple[list[PortraitStep], str]:
        """Return the steps, and the reason if there are fewer than ten."""
        entries: list[Entry] = [_city_question(0)]
        steps: list[PortraitStep] = []
        for turn in range(TURNS):
            calling = calls and turn % ROUND != ROUND - 1
            try:
                steps.append(self._take_turn(entries, turn, calling=calling))
            except (AutoparserError, NotWrittenError) as error:
                return steps, str(error)
        return steps, ""

    def _take_turn(self, entries: list[Entry], turn: int, *, calling: bool) -> PortraitStep:
        """Add a turn and the messages after it. Raises AutoparserError and NotWrittenError."""
        prompt = self._stage.prompt(tuple(entries), self._tools, self._setting)
        message, text = self._sample_turn(prompt, turn, calling=calling)
        new: list[Entry] = [
            ToolResult(f'{{"sky": "clear", "degrees": {turn + 9}}}', call.name, call.id)
            for call in message.calls
        ] or [_city_question(turn + 1)]
        entries += [message, *new]
        after = self._stage.prompt(tuple(entries), self._tools, self._setting).text
        written = prompt.text + text
        encode = self._encoder.encode
        asked, completion = encode(prompt.text), encode(text)
        verdict = self._encoder.compare(prompt.text, text, after, newlines=False)
        bridge = self._bridge(self._bridged or tuple(asked), completion, new)
        place = prefix_length(written, after)
        # The common beginning of two words belongs to the difference: `<think>`, `<tool_call>`.
        begun = _WORD_BEGUN.search(written, max(0, place - BREAK_CONTEXT), place)
        place -= len(begun.group()) if begun else 0
        broken = not verdict.holds
        return PortraitStep(
            turn + 1,
            calling,
            len(asked) + len(completion),
            len(encode(after)),
            verdict.prompt_reused + verdict.reused,
            *bridge,
            before=written[max(0, place - BREAK_CONTEXT) : place] if broken else "",
            cached_text=written[place : place + BREAK_CONTEXT] if broken else "",
            instead=after[place : place + BREAK_CONTEXT] if broken else "",
        )

    def _bridge(
        self, prompt: tuple[int, ...], completion: Sequence[int], new: Sequence[Entry]
    ) -> tuple[int | None, str, str]:
        """Return the bridged prompt's length or None, the reason, and the text it keeps."""
        messages = self._analysis.shape.messages(tuple(new))
        found = self._renderer.bridge_to_next_turn(prompt, completion, messages, self._offered)
        if isinstance(found, RenderedTokens):
            self._bridged = found.token_ids
            return len(found), "", "; ".join(found.notes)
        self._bridged = ()
        return None, str(found), ""

    def _sample_turn(self, prompt: Prompt, turn: int, *, calling: bool) -> tuple[Message, str]:
        """Return a sampled turn as a message and a text, with reasoning if the prompt allows it."""
        format_, city = self._analysis.formats.fullest, CITIES[turn]
        opening = opening_at_end(format_, prompt.text)
        calls: tuple[ToolCall, ...] = ()
        if calling:
            # The turn's number makes each id unique in the conversation.
            id_ = f"{city[:8].ljust(8, PAD)}{turn}"
            calls = (ToolCall("get_weather", {"city": city, "days": turn + 1}, id_),)
        content = "" if calling else f"It is sunny in {city}."
        refused = NotWrittenError("the format writes no such turn")
        # A prompt may close the reasoning, and then the model writes none.
        for reasoning in (f"The user asks about {city}.", ""):
            message = Message(content, reasoning, calls)
            if reasoning and TurnPart.REASONING not in format_.layouts[message.presence].parts:
                continue
            try:
                return message, sample_turn(format_, message, prompt, opening).text
            except NotWrittenError as reason:
                refused = reason
        raise refused
