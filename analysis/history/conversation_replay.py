"""Replay one step of a conversation as an engine takes it: prompt, parse, history, next prompt.

Contract: a replay is a pure function of its exchange; a template's refusal is part of it.

For a template that writes reasoning only in the last message:

    whole   <|user|>…<|end|><|assistant|>(r)The user wants the weather.(/r)It is sunny …
    text    <|user|>…<|end|><|assistant|>It is sunny in Oslo.<|end|><|user|>Thanks. What …
    at      the offset of `(r)` in the first and of `It` in the second
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Dialogue, Json, Message, Tool
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.format_choice import (
    PromptFormat,
    opening_at_end,
)
from autoparser.analysis.core.media_treatment import PartsOutcome
from autoparser.analysis.core.message_shape import Setting
from autoparser.analysis.core.text_alignment import prefix_length
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.learning.prober import Prober, choose_sentinels
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import ParsedMessage
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.analysis.templates.render_trace import RenderTrace, SourceMap

from .client_memory import (
    EngineMessages,
    Remembered,
    following_messages,
    remember_message,
    render_continued,
)
from .sampled_turns import Prompt
from .scenarios import Answers, EngineHabits, MessagesAs, Next

SYSTEM = "You are a helpful assistant."


class Exchange(Struct, frozen=True):
    """The inputs of one step; equal exchanges have equal replays."""

    setting: Setting
    """The switches of both requests, e.g. `{"enable_thinking": False}`."""
    history: Dialogue
    """The conversation before the turn, such as `(UserMessage("What is the weather in Oslo?"),)`.
    """
    tools: tuple[Tool, ...]
    """The offered tools, such as `get_weather`; empty if none is offered."""
    sampled: str
    """The model's output, e.g. `"It is sunny in Oslo.<|end|>"`."""
    cut: bool
    """Whether the output was truncated, such as to `"It is sunny"`."""
    next: Next
    """The messages after the turn, such as `Next.TOOL`."""
    answers: Answers = Answers.ALL
    """The calls that get results, such as `Answers.REVERSED`."""
    engine: EngineHabits = field(default_factory=EngineHabits)
    """How the engine changes messages before it stores them, such as
    `EngineHabits(arguments=ArgumentsAs.OBJECT)`."""


class Replay(Struct, frozen=True):
    """The result of one step: the parsed turn, the stored message, the next prompt."""

    exchange: Exchange
    """The inputs of the step, such as an exchange whose `sampled` is
    `"It is sunny in Oslo.<|im_end|>"`."""
    format: TurnFormat
    r"""The format of turns under the exchange's setting, such as
    `<TurnFormat: '<|im_start|>assistant\n' reasoning, content, calls until '<|im_end|>'>`."""
    prompt: Prompt
    r"""The prompt after which the output was sampled, such as the one with the text
    `"<|im_start|>user\nWhat is the weather in Oslo?<|im_end|>\n<|im_start|>assistant\n"`."""
    parsed: ParsedMessage
    """The output, parsed, such as `<ParsedMessage ok: calls 'get_weather'>`."""
    memory: Remembered
    """The message stored in the history, such as
    `Remembered({"role": "assistant", "content": "It is sunny in Oslo."}, ())`."""
    text: str = ""
    r"""The next prompt, such as one that begins with `<|im_start|>user\nWhat is the weather`, or
    empty if the template raised."""
    error: TemplateRenderError | None = None
    """The template's error on the next prompt, such as
    `"cannot render the conversation: TypeError: Can only get item pairs from a mapping."`, or None.
    """

    @property
    def whole(self) -> str:
        """The text that must be a prefix of the next prompt."""
        return self.prompt.text + self.exchange.sampled

    @property
    def at(self) -> int | None:
        """The offset at which the next prompt departs from `whole`, or None if it does not."""
        whole = self.whole
        if self.error is None and self.text.startswith(whole):
            return None
        return prefix_length(whole, self.text)

    @property
    def holds(self) -> bool:
        """Whether the last prompt and the sampled text are a prefix of the next prompt."""
        return self.at is None


class ReplayStage:
    """Replays exchanges with one template."""

    def __init__(self, analysis: Analysis, template: ChatTemplate | None = None) -> None:
        """Store the arguments; rendering is lazy.

        `template` renders in place of the analyzed one, e.g. an edit of it with the same format.
        """
        self.analysis = analysis
        template = analysis.rendering if template is None else template
        self._prober = Prober(
            template,
            choose_sentinels(template.text),
            # The same stand-ins as in the analysis, whose format contains them.
            tokens={**template.special_tokens, **analysis.stand_ins},
            tools=(),
            shape=analysis.shape,
        )
        self._probers: dict[str, Prober] = {}
        self._prompts: dict[str, Prompt] = {}
        self._last_turns: dict[str, str] = {}
        self._parsers: dict[tuple[str, str, int], OutputParser] = {}
        self._formats: dict[str, TurnFormat] = {}

    @property
    def beyond(self) -> int:
        """The number of renders that ran into a limit."""
        return self._prober.meter.beyond

    def prompt(
        self,
        history: Dialogue,
        tools: tuple[Tool, ...],
        setting: Setting,
        engine: EngineHabits | None = None,
    ) -> Prompt:
        """Render the prompt of a request. Raises TemplateRenderError.

        The history's turns are stored as `engine` stores them, or unchanged without one.
        """
        # Calls and tools hold dictionaries, which cannot be hashed.
        key = repr((history, tools, dict(setting), engine or EngineHabits()))
        if key not in self._prompts:
            prober = self._offering(tools)
            messages = self._messages(engine).conversation(history, SYSTEM)
            offered = bool(tools)
            text = prober.render_messages(messages, tools=offered, generation=True, setting=setting)
            try:
                base = prober.render_messages(messages, tools=offered, setting=setting)
            # Some templates refuse this conversation without a prompt; then no part of the prompt
            # is known to open the turn.
            except TemplateRenderError:
                base = text
            self._prompts[key] = Prompt(text, text[: prefix_length(text, base)])
        return self._prompts[key]

    def last_turn(
        self,
        history: Dialogue,
        turn: Message,
        tools: tuple[Tool, ...],
        setting: Setting,
        engine: EngineHabits,
    ) -> str:
        """Render a conversation that ends with this turn. Raises TemplateRenderError.

        The turn itself is in the shape that suits the template best: it has not been stored yet.
        """
        key = repr((history, turn, tools, dict(setting), engine))
        if key not in self._last_turns:
            before = self._messages(engine).conversation(history, SYSTEM)
            messages = [*before, self.analysis.shape.message(turn)]
            self._last_turns[key] = self._offering(tools).render_messages(
                messages, tools=bool(tools), setting=setting
            )
        return self._last_turns[key]

    def trace(self, history: Dialogue, tools: tuple[Tool, ...], setting: Setting) -> RenderTrace:
        """Render the prompt of a request with a trace of its steps."""
        messages = self.analysis.shape.messages(history, SYSTEM)
        prober = self._offering(tools)
        asked = prober.variables(messages, tools=bool(tools), generation=True, setting=setting)
        return prober.template.step_through(asked)

    def prompt_format(
        self, prompt: Prompt, tools: tuple[Tool, ...], setting: Setting
    ) -> PromptFormat:
        """Return the format of turns under a setting and the part of one that a prompt contains."""
        key = repr((bool(tools), dict(setting)))
        if key not in self._formats:
            self._formats[key] = self.analysis.under(setting, tools=bool(tools)).format
        format_ = self._formats[key]
        return PromptFormat(format_, opening_at_end(format_, prompt.text))

    def read(self, exchange: Exchange) -> ParsedMessage:
        """Parse the sampled text. Raises TemplateRenderError if the prompt does not render."""
        prompt = self._exchange_prompt(exchange)
        begun = self.prompt_format(prompt, exchange.tools, exchange.setting)
        return self._parser(begun, prompt, exchange).parse(
            exchange.sampled, complete=not exchange.cut
        )

    def play(self, exchange: Exchange) -> Replay:
        """Parse the sampled text, store it in the history, and render the next prompt.

        Raises TemplateRenderError if the first prompt does not render.
        """
        prompt = self._exchange_prompt(exchange)
        begun = self.prompt_format(prompt, exchange.tools, exchange.setting)
        parsed = self.read(exchange)
        # The engine stores what its parser returned, not what the model wrote.
        kept = remember_message(
            self._messages(exchange.engine), begun.format, parsed, exchange.sampled
        )
        return self._render_next_prompt(Replay(exchange, begun.format, prompt, parsed, kept))

    def render_again(self, replay: Replay) -> Replay:
        """Render the next prompt of a step that another template's stage has parsed.

        Raises TemplateRenderError if the first prompt does not render.
        """
        return self._render_next_prompt(
            replace(replay, prompt=self._exchange_prompt(replay.exchange))
        )

    def places_at(self, replay: Replay, at: int) -> Iterator[int]:
        """Yield the template's offsets that wrote the text at `at` of the next prompt.

        Then those that wrote it while the turn was the last one. A prompt that does not render
        has no offsets.
        """
        for next_prompt in (False, True):
            try:
                span = self._source_map(replay, next_prompt=next_prompt).span_at(at)
            except TemplateRenderError:
                continue
            if span is not None:
                yield span.start

    def line_at(self, replay: Replay, at: int) -> int | None:
        """Return the template's line that wrote the text at `at` of the next prompt.

        Return None if unknown: after the prompt's end, and within the continued turn.
        """
        # The continued turn is cut out of a render with a tag, which has no source map.
        if replay.exchange.next is Next.CONTINUATION:
            return None
        return self._source_map(replay, next_prompt=True, in_macros=True).line_at(at)

    def _source_map(
        self, replay: Replay, *, next_prompt: bool, in_macros: bool = False
    ) -> SourceMap:
        """Render the next prompt, or the conversation up to the turn, with a source map."""
        exchange = replay.exchange
        prober = self._offering(exchange.tools)
        asked = prober.variables(
            self._history(replay, following=next_prompt),
            tools=bool(exchange.tools),
            generation=next_prompt,
            setting=exchange.setting,
        )
        return prober.template.source_map(asked, in_macros=in_macros)

    def with_turn(self, replay: Replay, message: Mapping[str, Json]) -> str:
        """Return the next prompt with another stored message, or an empty text if it raises."""
        return self._render_next_prompt(
            replace(replay, memory=replace(replay.memory, message=message))
        ).text

    def _render_next_prompt(self, replay: Replay) -> Replay:
        """Return a copy of a parsed step with its next prompt rendered."""
        exchange = replay.exchange
        continued = exchange.next is Next.CONTINUATION
        messages = self._history(replay, following=not continued)
        prober, offered = self._offering(exchange.tools), bool(exchange.tools)
        try:
            if continued:
                # A continued turn has no generation prompt: the model goes on within its own
                # message.
                text = render_continued(prober, messages, tools=offered, setting=exchange.setting)
            else:
                text = prober.render_messages(
                    messages, tools=offered, generation=True, setting=exchange.setting
                )
        except TemplateRenderError as error:
            return replace(replay, text="", error=error)
        return replace(replay, text=text, error=None)

    def _exchange_prompt(self, exchange: Exchange) -> Prompt:
        return self.prompt(exchange.history, exchange.tools, exchange.setting, exchange.engine)

    def _messages(self, engine: EngineHabits | None) -> EngineMessages:
        habits = engine or EngineHabits()
        # `content_parts` needs renders, so test the habit first.
        parts = (
            habits.messages is MessagesAs.API_PARTS
            and self.analysis.content_parts.texts is PartsOutcome.WRITTEN
        )
        return EngineMessages(self.analysis.shape, habits, parts)

    def _history(self, replay: Replay, *, following: bool) -> list[Mapping[str, Json]]:
        """Return the messages up to the turn, with those that follow it if `following`."""
        exchange, kept = replay.exchange, replay.memory
        messages = self._messages(exchange.engine)
        history = [*messages.conversation(exchange.history, SYSTEM), kept.message]
        if following:
            coming = following_messages(kept.calls, exchange.next, exchange.answers)
            history += messages.conversation(coming)
        return history

    def _parser(
        self, prompt_format: PromptFormat, prompt: Prompt, exchange: Exchange
    ) -> OutputParser:
        opening, tools = prompt_format.opening, exchange.tools
        tail = prompt.text if opening is None else opening.text
        # `_formats` keeps the formats alive, so no id is reused.
        key = (tail, repr(tools), id(prompt_format.format))
        if key not in self._parsers:
            # A prompt that writes nothing of the turn gives no indication.
            whole_prompt = prompt.text if tail.strip() else None
            self._parsers[key] = self.analysis.parser(
                list(tools) or None, prompt=whole_prompt, chat_template_kwargs=exchange.setting
            )
        return self._parsers[key]

    def _offering(self, tools: tuple[Tool, ...]) -> Prober:
        key = repr(tools)
        if key not in self._probers:
            self._probers[key] = self._prober.using(tools=tools)
        return self._probers[key]
