"""What rules look at: a template, its analysis, and its renders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING

from autoparser.analysis.analysis import Analysis, analyze
from autoparser.analysis.core.conversation import (
    Dialogue,
    Json,
    Message,
    Tool,
    ToolCall,
    ToolResult,
    UserMessage,
)
from autoparser.analysis.core.errors import (
    AutoparserError,
    LimitKind,
    TemplateLimitError,
    TemplateRenderError,
    TemplateSyntaxError,
    TemplateUnusableError,
)
from autoparser.analysis.core.message_shape import EmptyContent, MessageShape, offered_tools
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.learning.prober import Sentinels, choose_sentinels
from autoparser.analysis.learning.suggestions import (
    Suggestions,
    rendering_tokens,
    template_suggestions,
)
from autoparser.analysis.templates.chat_template import ChatTemplate

from .conversation_matrix import (
    DOCUMENTS,
    ConversationTexts,
    MatrixScope,
    PlayedConversation,
    WholeConversation,
    conversations_for,
    functions_for,
    texts_for,
)
from .forced_branches import ForcedRun, force_branches
from .lint_renders import NOON, AskedRender, LintRenders, Render, RenderSetting
from .other_renders import JinjaComparison, OtherJinja, compare_matrix
from .rule import RuleNeed

if TYPE_CHECKING:
    from pathlib import Path

    from tokenizers import Tokenizer

    from autoparser.analysis.core.turn_format import TurnFormat


MOST_SETTINGS = 6
"""So many values of switches are played; each costs five renders."""


class Subject:
    """One template under inspection; what several rules ask for is found out once."""

    def __init__(
        self,
        template: ChatTemplate,
        *,
        tokenizer: Tokenizer | None = None,
        directory: Path | None = None,
        analysis: Analysis | None = None,
        jinjas: Sequence[OtherJinja] = (),
        given_tools: Sequence[Tool] = (),
    ) -> None:
        """Look at `template`; an `analysis` that there is already is not made again.

        `jinjas` are programs to ask where a rule is about them, `given_tools` functions to ask with
        instead of ours.
        """
        self.given_tools = tuple(given_tools)
        self.jinjas = tuple(jinjas)
        self.template = template
        self.tokenizer = tokenizer
        self.directory = directory
        self._given_analysis = analysis
        self._nothing_set = False

    @cached_property
    def syntax_error(self) -> TemplateSyntaxError | None:
        """Why Jinja cannot compile the template; None where it can."""
        try:
            self.template.check_syntax()
        except TemplateSyntaxError as error:
            return error
        return None

    @cached_property
    def _outcome(self) -> Analysis | AutoparserError:
        if self._given_analysis is not None:
            return self._given_analysis
        try:
            return analyze(self.template)
        except (TemplateRenderError, TemplateSyntaxError, TemplateUnusableError) as error:
            if isinstance(error, TemplateLimitError) and error.limit is LimitKind.RENDER_TIME:
                # No conversation ends; each rule would wait for its own.
                raise
            return error

    @property
    def failure(self) -> AutoparserError | None:
        """Why the template cannot be analyzed; None where it can.

        Raises TemplateLimitError where no render of it ends in time.
        """
        return None if isinstance(self._outcome, Analysis) else self._outcome

    @property
    def analysis(self) -> Analysis:
        """The analysis. Raises the error with which it failed: see `failure`."""
        if isinstance(self._outcome, AutoparserError):
            raise self._outcome
        return self._outcome

    @property
    def format(self) -> TurnFormat:
        """The format of a turn. Raises like `analysis`."""
        return self.analysis.formats.united

    def has(self, need: RuleNeed) -> bool:
        """Whether it is there."""
        match need:
            case RuleNeed.SOURCE:
                return True
            case RuleNeed.TOKENIZER:
                return self.tokenizer is not None
            case RuleNeed.DIRECTORY:
                return self.directory is not None
            case RuleNeed.RENDERS:
                return self.syntax_error is None
            case _ if self.syntax_error is not None or self.failure is not None:
                return False
            case RuleNeed.ANALYSIS:
                return True
            case RuleNeed.CALLS:
                return self.format.calls is not None
            case RuleNeed.OTHER_JINJAS:
                return bool(self.jinjas)
            case RuleNeed.REASONING:
                return any(
                    TurnPart.REASONING in layout.parts for layout in self.format.layouts.values()
                )

    def missing_need(self, need: RuleNeed) -> RuleNeed:
        """Return what is missing for a rule: the analysis, where all else rests on that."""
        rests = need.part is not None or (need is RuleNeed.OTHER_JINJAS and bool(self.jinjas))
        return RuleNeed.ANALYSIS if rests and not self.has(RuleNeed.ANALYSIS) else need

    @cached_property
    def marks(self) -> Sentinels:
        """Words that occur nowhere in the template, to tell the parts of messages by."""
        return choose_sentinels(self.template.text)

    @cached_property
    def suggestions(self) -> Suggestions:
        """What the syntax tree suggests to render with. Raises TemplateSyntaxError."""
        return template_suggestions(self.template)

    @cached_property
    def tokens(self) -> Mapping[str, str]:
        """The special tokens; names in angle brackets for those that are read and not known."""
        return rendering_tokens(self.template, self.suggestions)

    @property
    def shape(self) -> MessageShape:
        """The shape in which the template takes messages; the plainest where it takes none."""
        return MessageShape() if self.failure is not None else self.analysis.shape

    @cached_property
    def tools(self) -> tuple[Json, ...]:
        """Tools in OpenAI's form: functions of the marks' names and keys."""
        return tuple({"type": "function", "function": function} for function in self.functions)

    @cached_property
    def functions(self) -> tuple[Tool, ...]:
        """The functions of the tools, without what any shape puts around them."""
        return functions_for(self.marks)

    @property
    def rendering(self) -> ChatTemplate:
        """The template as rules render it: where the analysis had to leave the sandbox, outside."""
        return self.template if self.failure is not None else self.analysis.rendering

    @cached_property
    def _renders(self) -> LintRenders:
        return LintRenders(self.rendering, self.tokens)

    @property
    def past_renders(self) -> Sequence[AskedRender]:
        """Every conversation that was rendered so far, each once, in their order."""
        return self._renders.past

    @cached_property
    def _strict(self) -> LintRenders:
        return LintRenders(self.template, self.tokens)

    def render(
        self,
        messages: Sequence[Mapping[str, Json]],
        *,
        tools: Sequence[Json] | None = None,
        generation: bool = False,
        setting: Mapping[str, Json] | None = None,
        as_given: bool = False,
    ) -> Render:
        """Render messages exactly as they are given here: for rules about their shape.

        `setting` has the switches that are set; None sets those that the template needs.
        """
        switches = self.usual_setting if setting is None else setting
        asked = RenderSetting(tools, generation, switches, as_given=as_given)
        return self._renders.render(messages, asked)

    def play(
        self,
        dialogue: Dialogue,
        *,
        system: str = "",
        tools: bool = False,
        generation: bool = False,
        setting: Mapping[str, Json] | None = None,
        clock: datetime = NOON,
    ) -> Render:
        """Render a conversation in the shape that the template takes: for all other rules.

        `system` goes before it where it is given, and always where the template wants one.
        With `setting` these values are set on top of the ones that the template needs.
        """
        shape = self.shape
        messages = shape.messages(dialogue, self.marks.system)
        if system and not shape.system:
            content: Json = shape.user_text(system)
            messages = [{"role": "system", "content": content}, *messages]
        asked = self._usual_request(tools=tools, generation=generation, setting=setting)
        return self._renders.render(messages, replace(asked, clock=clock))

    def _usual_request(
        self, *, tools: bool, generation: bool, setting: Mapping[str, Json] | None = None
    ) -> RenderSetting:
        """Return what conversations in the template's shape are rendered with."""
        return RenderSetting(
            tools=self.usual_tools if tools else None,
            generation=generation,
            switches={**self.usual_setting, **(setting or {})},
            # What stands for no content must reach the template that asks for it.
            as_given=self.shape.empty_content is EmptyContent.NULL,
        )

    def as_transformers(self, render: Render, *, tools: bool, generation: bool) -> Render:
        """Render in transformers' sandbox what `play` rendered, whatever the analysis did."""
        if self.rendering is self.template:
            return render
        asked = self._usual_request(tools=tools, generation=generation)
        return self._strict.render(render.messages, asked)

    def variables(self, render: Render, *, tools: bool, generation: bool) -> dict[str, object]:
        """Return what `play` rendered a conversation with, for a render elsewhere."""
        asked = self._usual_request(tools=tools, generation=generation)
        return self._renders.variables(render.messages, asked)

    @cached_property
    def forced_run(self) -> ForcedRun:
        """What the template does with every branch taken, on a conversation that has it all."""
        marks, call = self.marks, self.call()
        said = Message(marks.content, marks.reasoning)
        called = Message(marks.content, marks.reasoning, (call,))
        dialogue: Dialogue = (self.user, called, self.answer(call), said, self.next_user)
        system: dict[str, Json] = {"role": "system", "content": marks.system}
        asked = RenderSetting(self.tools, generation=True)
        variables = self._renders.variables([system, *self.shape.messages(dialogue)], asked)
        return force_branches(self.template, variables)

    @cached_property
    def matrix(self) -> tuple[PlayedConversation, ...]:
        """Whole conversations of every kind that the template can be asked, the smallest first.

        It raises like `analysis`.
        """
        return tuple(each for each in self.wide_matrix if not each.conversation.unusual)

    @cached_property
    def wide_matrix(self) -> tuple[PlayedConversation, ...]:
        """The matrix and the unusual conversations. It raises like `analysis`."""
        conversations = conversations_for(self.texts, self._matrix_scope)
        return tuple(map(self.play_whole, conversations))

    def scene(self, name: str) -> PlayedConversation | None:
        """Return the smallest conversation of a scene, or None if the template cannot be asked."""
        return next((each for each in self.matrix if each.conversation.scene == name), None)

    @cached_property
    def texts(self) -> ConversationTexts:
        """The texts of the matrix."""
        return texts_for(self.template.text)

    @property
    def takes_parallel_calls(self) -> bool:
        """Whether the template takes two calls in one message; it raises like `analysis`."""
        return self._matrix_scope.parallel

    @cached_property
    def in_other_jinjas(self) -> tuple[JinjaComparison, ...]:
        """What other programs make of the matrix; it raises like `analysis`."""
        played = self.matrix
        return tuple(
            compare_matrix(jinja, self.rendering, self.tokens, played, self.past_renders)
            for jinja in self.jinjas
        )

    @cached_property
    def _matrix_scope(self) -> MatrixScope:
        calls = self.format.calls is not None
        both = (self.call(0), self.call(1))
        two = self.play(self.turn(Message(calls=both)), tools=True)
        # The sample that stands for any text is nobody's value: a list may be meant.
        values = (
            {switch.name: value}
            for switch in self.analysis.switches
            for value in switch.values
            if switch.any_other is None or value != switch.any_other
        )
        return MatrixScope(
            calls=calls,
            parallel=calls and all(str(value) in two.text for value in self.marks.values[:2]),
            reasoning=self.has(RuleNeed.REASONING),
            open_calls=not self.shape.answered,
            # Where a text is lost without one, that is what a conversation has to show.
            system_needed=self.shape.system and not self._without_system.rendered,
            tools=calls or "tools" in self.suggestions.names,
            settings=[*islice(values, MOST_SETTINGS)],
            nulls=[
                switch.name
                for switch in islice(self.analysis.switches, MOST_SETTINGS)
                if switch.values and all(isinstance(value, bool) for value in switch.values)
            ],
            documents="documents" in self.suggestions.names,
        )

    @property
    def _without_system(self) -> Render:
        """One question without the system message that the template wants."""
        content: Json = self.shape.user_text(self.user.text)
        question: list[dict[str, Json]] = [{"role": "user", "content": content}]
        return self._renders.render(question, self._usual_request(tools=False, generation=True))

    def play_whole(self, conversation: WholeConversation) -> PlayedConversation:
        """Render a conversation of the matrix, of this template's or of another's."""
        render = self._render_whole(conversation, self._renders)
        return PlayedConversation(conversation, render)

    def play_as(
        self, conversation: WholeConversation, shape: MessageShape, *, as_given: bool = False
    ) -> Render:
        """Render a conversation of the matrix in another shape than the template's."""
        return self._render_whole(conversation, self._renders, shape, as_given=as_given)

    def player_of(self, text: str) -> Callable[[WholeConversation], Render]:
        """Return what plays conversations through another text of this template."""
        other = replace(self.rendering, text=text)
        return partial(self._render_whole, renders=LintRenders(other, self.tokens))

    def _render_whole(
        self,
        conversation: WholeConversation,
        renders: LintRenders,
        shape: MessageShape | None = None,
        *,
        as_given: bool = False,
    ) -> Render:
        asked = self._usual_request(
            tools=conversation.tools,
            generation=conversation.generation,
            setting={"documents": DOCUMENTS, **conversation.setting}
            if conversation.documents
            else conversation.setting,
        )
        if shape is not None and conversation.tools:
            asked = replace(asked, tools=offered_tools(self.functions, shape))
        asked = replace(asked, as_given=asked.as_given or as_given)
        return renders.render(conversation.messages(shape or self.shape), asked)

    @cached_property
    def usual_tools(self) -> tuple[Json, ...] | None:
        """The tools in the shape that the template takes; None where it takes none."""
        given = offered_tools(self.functions, self.shape)
        return None if given is None else tuple(given)

    @property
    def usual_setting(self) -> Mapping[str, Json]:
        """The switches under which the format was seen; none where it cannot be analyzed."""
        return {} if self._nothing_set or self.failure is not None else self.format.setting

    @cached_property
    def with_nothing_set(self) -> Subject:
        """The same template, looked at without the switches under which its format was seen."""
        other = Subject(
            self.template,
            tokenizer=self.tokenizer,
            directory=self.directory,
            analysis=self.analysis,
            jinjas=self.jinjas,
            given_tools=self.given_tools,
        )
        other._nothing_set = True
        return other

    @property
    def user(self) -> UserMessage:
        """The first user message of most conversations."""
        return UserMessage(self.marks.user)

    @property
    def next_user(self) -> UserMessage:
        """A later user message."""
        return UserMessage(self.marks.next_user)

    @property
    def chat(self) -> Dialogue:
        """A question, its answer, and another question."""
        return (self.user, Message(self.marks.content), self.next_user)

    @property
    def loop(self) -> Dialogue:
        """A question, a call, and its result."""
        return (self.user, Message(calls=(self.call(),)), self.answer(self.call()))

    def call(self, position: int = 0, **arguments: Json) -> ToolCall:
        """Return a call of one of the tools; without arguments it has one, a string."""
        marks = self.marks
        given = arguments or {marks.keys[0]: marks.values[position]}
        return ToolCall(marks.names[position], given, marks.ids[position])

    def answer(self, call: ToolCall, text: str = "") -> ToolResult:
        """Return the answer to a call."""
        return ToolResult(text or self.marks.answer, call.name, call.id)

    def turn(self, message: Message) -> Dialogue:
        """Put a message after a user message, with answers where the template wants them."""
        answers = [self.answer(call) for call in message.calls] if self.shape.answered else []
        return (self.user, message, *answers)
