"""A template with its analysis and renders, as rules ask for them.

A check renders conversations and compares them:

    plain = subject.play(subject.chat)  # a question, an answer, another question
    stripped = subject.play((subject.user, Message("  padded  "), subject.next_user))

Words of the conversations are sentinels (`subject.marks`), so a word that is found in a render came
from its message and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import structs

from autoparser.analysis.analysis import Analysis, analyze
from autoparser.analysis.core.conversation import (
    Dialogue,
    Json,
    Message,
    Tool,
    ToolCall,
    ToolResult,
    UserMessage,
    tool_for,
)
from autoparser.analysis.core.errors import (
    AutoparserError,
    LimitKind,
    TemplateLimitError,
    TemplateRenderError,
    TemplateSyntaxError,
    TemplateUnusableError,
)
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.message_shape import EmptyContent, MessageShape, offered_tools
from autoparser.analysis.core.turn_parts import TurnPart
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
"""The number of switch values that the matrix covers; each adds five renders."""


class Subject:
    """One template under inspection. Answers that several rules need are computed once."""

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
        """Store the arguments; nothing is rendered yet.

        `analysis` saves the subject from computing its own. `jinjas` are other implementations to
        compare renders with, and `given_tools` functions to offer instead of the rules' own.
        """
        self.given_tools = tuple(given_tools)
        self.jinjas = tuple(jinjas)
        self.template = template
        self.tokenizer = tokenizer
        self.directory = directory
        self._given_analysis = analysis

    @cached_property
    def syntax_error(self) -> TemplateSyntaxError | None:
        """The error with which Jinja rejects the template, or None if it compiles."""
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
                # Every conversation would run into the time limit, once per rule.
                raise
            return error

    @property
    def failure(self) -> AutoparserError | None:
        """Why the template cannot be analyzed, or None if it can.

        Raises TemplateLimitError if no render ends in time.
        """
        return None if isinstance(self._outcome, Analysis) else self._outcome

    @property
    def analysis(self) -> Analysis:
        """The analysis. Raises `failure` if it failed."""
        if isinstance(self._outcome, AutoparserError):
            raise self._outcome
        return self._outcome

    @property
    def format(self) -> TurnFormat:
        """The format of a turn. Raises `failure` if the analysis failed."""
        return self.analysis.formats.united

    def has(self, need: RuleNeed) -> bool:
        """Return whether the subject meets a need."""
        match need:
            case RuleNeed.SOURCE:
                return True
            case RuleNeed.TOKENIZER:
                return self.tokenizer is not None
            case RuleNeed.DIRECTORY:
                return self.directory is not None
            case RuleNeed.RENDERS:
                return self.syntax_error is None
            # All other needs rest on an analysis.
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
        """Return the need that a skipped rule reports: the analysis, if its own rests on one."""
        rests = need.part is not None or (need is RuleNeed.OTHER_JINJAS and bool(self.jinjas))
        return RuleNeed.ANALYSIS if rests and not self.has(RuleNeed.ANALYSIS) else need

    @cached_property
    def marks(self) -> Sentinels:
        """Words that occur nowhere in the template, one for each part of a message."""
        return choose_sentinels(self.template.text)

    @cached_property
    def suggestions(self) -> Suggestions:
        """The inputs that the syntax tree suggests to render with. Raises TemplateSyntaxError."""
        return template_suggestions(self.template)

    @cached_property
    def tokens(self) -> Mapping[str, str]:
        """The special tokens; unknown ones that the template reads get a name in angle brackets."""
        return rendering_tokens(self.template, self.suggestions)

    @property
    def shape(self) -> MessageShape:
        """The shape in which the template takes messages; the plainest if it cannot be analyzed."""
        return MessageShape() if self.failure is not None else self.analysis.shape

    @cached_property
    def tools(self) -> tuple[Json, ...]:
        """Tools in OpenAI's form, with sentinels as names and keys."""
        return tuple({"type": "function", "function": function} for function in self.functions)

    @cached_property
    def functions(self) -> tuple[Tool, ...]:
        """Three functions with the string parameters and one parameter of every other type."""
        properties = dict.fromkeys(self.marks.keys, "string")
        for kind, key in self.marks.typed_keys.items():
            # A parameter that can only be null would be of no use.
            if kind is not JsonType.NULL:
                properties[key] = str(kind)
        return tuple(tool_for(name, "Does what it says.", properties) for name in self.marks.names)

    @property
    def rendering(self) -> ChatTemplate:
        """The template as rules render it: outside the sandbox if the analysis had to leave it."""
        return self.template if self.failure is not None else self.analysis.rendering

    @cached_property
    def _renders(self) -> LintRenders:
        """The renders of all rules, so that a conversation of several rules is rendered once."""
        return LintRenders(self.rendering, self.tokens)

    @property
    def past_renders(self) -> Sequence[AskedRender]:
        """Every distinct render so far, in order."""
        return self._renders.past

    @cached_property
    def _strict(self) -> LintRenders:
        """The renders of transformers' sandbox, even if the analysis had to leave it."""
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
        """Render messages unchanged, for rules about the shape of messages.

        `setting` holds the switches; None sets those under which the format was found.
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
        """Render a conversation in the shape that the template takes, for all other rules.

        `system` is the text of a system message, which is always there if the template requires
        one. `setting` is set on top of the switches under which the format was found.
        """
        shape = self.shape
        messages = shape.messages(dialogue, self.marks.system)
        # A shape that requires a system message has added one already.
        if system and not shape.system:
            content: Json = shape.user_text(system)
            messages = [{"role": "system", "content": content}, *messages]
        asked = self._usual_request(tools=tools, generation=generation, setting=setting)
        return self._renders.render(messages, structs.replace(asked, clock=clock))

    def _usual_request(
        self, *, tools: bool, generation: bool, setting: Mapping[str, Json] | None = None
    ) -> RenderSetting:
        """Return the setting for conversations in the template's shape."""
        return RenderSetting(
            tools=self.usual_tools if tools else None,
            generation=generation,
            switches={**self.usual_setting, **(setting or {})},
            # Preparation drops None, but here None is the only value for empty content that the
            # template takes.
            as_given=self.shape.empty_content is EmptyContent.NULL,
        )

    def as_transformers(self, render: Render, *, tools: bool, generation: bool) -> Render:
        """Render in transformers' sandbox what `play` may have rendered outside it."""
        if self.rendering is self.template:
            return render
        asked = self._usual_request(tools=tools, generation=generation)
        return self._strict.render(render.messages, asked)

    def variables(self, render: Render, *, tools: bool, generation: bool) -> dict[str, object]:
        """Return the variables of a render of `play`, to render it elsewhere."""
        asked = self._usual_request(tools=tools, generation=generation)
        return self._renders.variables(render.messages, asked)

    @cached_property
    def forced_run(self) -> ForcedRun:
        """A run with every branch taken, on a conversation with every kind of message."""
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
        """Whole conversations of every kind that the template takes, the smallest first.

        Raises `failure` if the analysis failed.
        """
        return tuple(played for played in self.wide_matrix if not played.conversation.unusual)

    @cached_property
    def wide_matrix(self) -> tuple[PlayedConversation, ...]:
        """The matrix with the unusual conversations. Raises `failure` if the analysis failed."""
        conversations = conversations_for(self.texts, self._matrix_scope)
        return tuple(map(self.play_whole, conversations))

    def scene(self, name: str) -> PlayedConversation | None:
        """Return the smallest conversation of a scene, or None if the template cannot be asked."""
        return next((played for played in self.matrix if played.conversation.scene == name), None)

    @cached_property
    def texts(self) -> ConversationTexts:
        """The texts of the matrix's messages."""
        return texts_for(self.template.text)

    @property
    def takes_parallel_calls(self) -> bool:
        """Whether the template takes two calls in one message. Raises like `analysis`."""
        return self._matrix_scope.parallel

    @cached_property
    def in_other_jinjas(self) -> tuple[JinjaComparison, ...]:
        """The renders of the matrix by other Jinja implementations. Raises like `analysis`."""
        played = self.matrix
        return tuple(
            compare_matrix(jinja, self.rendering, self.tokens, played, self.past_renders)
            for jinja in self.jinjas
        )

    @cached_property
    def _matrix_scope(self) -> MatrixScope:
        calls = self.format.calls is not None
        # Some templates write the first call alone and do not raise, so both must be found.
        both = (self.call(0), self.call(1))
        two = self.play(self.turn(Message(calls=both)), tools=True)
        # `any_other` is a sample for "any other value": the switch may expect a list there.
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
            # If the template loses text without a system message, conversations must show that.
            system_needed=self.shape.system and not self._without_system.rendered,
            tools=calls or "tools" in self.suggestions.names,
            settings=[*islice(values, MOST_SETTINGS)],
            nulls={
                switch.name: not all(isinstance(value, bool) for value in switch.values)
                for switch in islice(self.analysis.switches, MOST_SETTINGS)
                if switch.values
            },
            documents="documents" in self.suggestions.names,
        )

    @property
    def _without_system(self) -> Render:
        """A question without the system message that the template requires."""
        content: Json = self.shape.user_text(self.user.text)
        # `play` would add the required system message.
        question: list[dict[str, Json]] = [{"role": "user", "content": content}]
        return self._renders.render(question, self._usual_request(tools=False, generation=True))

    def play_whole(self, conversation: WholeConversation) -> PlayedConversation:
        """Render a conversation of a matrix, this template's or another's."""
        render = self._render_whole(conversation, self._renders)
        return PlayedConversation(conversation, render)

    def play_as(
        self, conversation: WholeConversation, shape: MessageShape, *, as_given: bool = False
    ) -> Render:
        """Render a conversation of a matrix in a given shape."""
        return self._render_whole(conversation, self._renders, shape, as_given=as_given)

    def edited_player(self, text: str) -> Callable[[WholeConversation], Render]:
        """Return a renderer of conversations for an edited text of this template."""
        # The edited text needs renders of its own, not the cached ones.
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
            asked = structs.replace(asked, tools=offered_tools(self.functions, shape))
        asked = structs.replace(asked, as_given=asked.as_given or as_given)
        return renders.render(conversation.messages(shape or self.shape), asked)

    @cached_property
    def usual_tools(self) -> tuple[Json, ...] | None:
        """The tools in the shape that the template takes, or None if it takes none."""
        given = offered_tools(self.functions, self.shape)
        return None if given is None else tuple(given)

    @cached_property
    def usual_setting(self) -> Mapping[str, Json]:
        """The switches under which the format was found; empty if the analysis failed."""
        return {} if self.failure is not None else self.format.setting

    @cached_property
    def with_nothing_set(self) -> Subject:
        """The same template, rendered without the switches under which its format was found."""
        # The format and its shape stay the same, so the analysis is not repeated.
        plain = Subject(
            self.template,
            tokenizer=self.tokenizer,
            directory=self.directory,
            analysis=self.analysis,
            jinjas=self.jinjas,
            given_tools=self.given_tools,
        )
        # Set in place of the cached value, so that it is never computed.
        plain.usual_setting = {}
        return plain

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
        """Return a call of one of the tools, by default with one string argument."""
        marks = self.marks
        given = arguments or {marks.keys[0]: marks.values[position]}
        return ToolCall(marks.names[position], given, marks.ids[position])

    def answer(self, call: ToolCall, text: str = "") -> ToolResult:
        """Return the result of a call."""
        return ToolResult(text or self.marks.answer, call.name, call.id)

    def turn(self, message: Message) -> Dialogue:
        """Return a question and this message, with results if the template requires them."""
        # Some templates raise on a call without a result.
        answers = [self.answer(call) for call in message.calls] if self.shape.answered else []
        return (self.user, message, *answers)
