r"""A template's learned turns, and everything that follows from them without a render.

For example, a parser, which takes every function name if no tools are given:

    >>> from autoparser import analyze, load_template
    >>> analysis = analyze(load_template("fixtures/templates/j1-json-in-tags.jinja"))
    >>> text = '<tool_call>\n{"name": "find", "arguments": {}}\n</tool_call><|im_end|>'
    >>> [(call.name, call.arguments) for call in analysis.parser().parse(text).tool_calls]
    [('find', '{}')]
"""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from msgspec import convert, structs

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.error_words import (
    is_mapping,
    value_kind,
)
from autoparser.analysis.core.format_choice import (
    Formats,
    PromptFormat,
)
from autoparser.analysis.core.message_shape import MessageShape, StringArguments
from autoparser.analysis.core.switches import Switch, UnmovedVariable, unread_variables
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.verdicts import AskedForm, Check, Gate
from autoparser.analysis.parsing.output_parser import OutputParser, after_reasoning
from autoparser.analysis.parsing.turn_expression import build_expression, formats_of_request
from autoparser.analysis.parsing.turn_nodes import TurnTree
from autoparser.analysis.parsing.turn_request import (
    IdentityCache,
    ParserFields,
    ParserOptions,
    ParserRequest,
    RequestError,
    RequestOptions,
    read_options,
    read_request,
    request_with,
    schemas_by_name,
)
from autoparser.shown import Shown

from .format_document import check_document, turn_document
from .format_file import SCHEMA, FormatFile, SavedPhase, SavedTemplate, file_text

if TYPE_CHECKING:
    from autoparser.analysis.core.stop_texts import StopTexts
    from autoparser.analysis.decoding.constraints import Constraint
    from autoparser.analysis.decoding.grammar_backend import GrammarBackend
    from autoparser.analysis.decoding.matcher_grammar import ReasoningGate
    from autoparser.analysis.grammar.request_grammar import Grammar
    from autoparser.analysis.learning.prober import Finding
    from autoparser.analysis.sources.tokenizer import ModelTokenizer
    from autoparser.analysis.templates.chat_template import ChatTemplate

    from .format_view import FormatView, MarkerRegistry


# Each subclass has fields of its own, and makes the other methods anew.
@dataclass(frozen=True, init=False, repr=False, eq=False)
class LearnedFormat(Shown, ABC):
    """The learned format of a template: an `Analysis` or a `SavedFormat`.

        parser = learned.parser(tools)
        grammar = learned.grammar(tools, tool_choice="required")
        backend = learned.backend(tokenizer)

    Parsers and grammars are made for one request each; a backend serves all.
    """

    shown_as: ClassVar[str] = "learned"
    """The name of its report; see `Shown`."""

    _unread_words: ClassVar[str] = "this saved format has no switch"

    template: ChatTemplate | SavedTemplate
    """The template, such as `<ChatTemplate of Qwen-Qwen3-0.6B.jinja: 85 lines>`, or its description
    in a saved format."""
    formats: Formats
    """How turns are written, under every setting of the switches, such as
    `{"enable_thinking": False}`."""
    requires_nonnull_content: bool
    """Content that is null raises, or is printed as a word, such as `None`."""
    phases: tuple[Finding | SavedPhase, ...]
    """The conclusions of the phases with their renders, such as
    `"the name is written once after '<use '"`, under the setting of the fullest format."""
    checks: tuple[Check, ...]
    """The verdict on each of the formats, such as 47 of 47 messages passed."""
    switches: tuple[Switch, ...]
    """The switches with an effect, such as `enable_thinking`."""
    shape: MessageShape
    """The form of messages that the template expects, such as
    `MessageShape(arguments_as_string=True)`."""
    string_arguments: StringArguments | None
    """How the template renders arguments given as JSON text, such as
    `StringArguments.ENCODED_TWICE`, or None if it writes no calls."""
    stand_ins: Mapping[str, str]
    """Special tokens that the template reads and that are not known, and what stood for them, such
    as `{"bos_token": "<bos_token>"}`."""
    renders: int
    """How many renders the analysis took, such as `200`."""
    unmoved: tuple[UnmovedVariable, ...] = field(default=(), kw_only=True)
    """Variables that the template reads, such as `skip_think`, of which no effect was found."""
    also: Formats | None = field(default=None, kw_only=True)
    """The same turns with calls as outputs showed them, such as `[do look(city='Oslo', days=3)]`:
    parsers accept both, grammars write the template's. None if only the template's own calls are
    read."""

    @cached_property
    def view(self) -> FormatView:
        """The fullest of the formats in other words."""
        # Imported here: no parser and no grammar needs it.
        from .format_view import compute_view  # noqa: PLC0415

        return compute_view(self.formats, requires_nonnull_content=self.requires_nonnull_content)

    def __repr__(self) -> str:
        """Return which template it is of and the verdict, in one line."""
        check, count = self.check, len(self.formats)
        of = self.template.origin or self.template.name or "a text"
        many = f"{count} format{'s' * (count != 1)}"
        return f"<{type(self).__name__} of {of}: self-check {check.passed}/{check.total}, {many}>"

    @property
    def lacks_calls(self) -> bool:
        """Return whether the template reads tools but renders no calls, so only outputs show them.

        False if the template reads no tools: its model is offered nothing to call.
        """
        if self.formats.united.calls is not None:
            return False
        tree = getattr(self.template, "syntax_tree", None)
        if tree is None:
            return True
        # A saved format has no syntax tree, and needs no Jinja.
        from autoparser.analysis.templates.environment import undeclared_names  # noqa: PLC0415

        return "tools" in undeclared_names(tree)

    @property
    @abstractmethod
    def gate(self) -> Gate:
        """The verdict on the texts that the template writes after its prompts."""

    @abstractmethod
    def _learn(self, setting: Mapping[str, Json], *, tools: bool) -> PromptFormat:
        """Return the format of a setting that was not learned."""

    def parser(
        self,
        tools: Sequence[object] | None = None,
        *,
        chat_template_kwargs: Mapping[str, object] | None = None,
        call_ids: Callable[[str, int], str] | int | None = None,
        tokenizer: object | None = None,
        **options: Unpack[ParserOptions],
    ) -> OutputParser:
        """Return the parser of model outputs for a request.

            parser = analysis.parser(tools, prompt=prompt, tool_choice="auto")
            parser.parse('<tool_call>{"name": "f", "arguments": {}}</tool_call>').tool_calls

        `tools` are OpenAI's; without tools, calls of any function are parsed. `options` are those
        of `ParserOptions`; None is the same as absent. `chat_template_kwargs` are the switches of
        the prompt; they determine its format, or else the end of the prompt does. `call_ids` makes
        the ids of calls that have none, from a call's name and index; an integer is a seed of
        `CallIds`, None makes unique ids. With the model's `tokenizer` (whatever `tokenizer_of`
        takes), texts may be fed with their token ids: a marker that is spelled in ordinary tokens
        is then text. Raises RequestError for invalid tools or options, TokenizerError for an
        invalid tokenizer.
        """
        bare = call_ids is None and tokenizer is None and chat_template_kwargs is None
        if bare and not (options or self.also):
            return self._usual_parser(None if tools is None else schemas_by_name(tools))
        asked = read_options(ParserFields, tools, options)
        request = request_with(asked, self._setting_format(tools, chat_template_kwargs))
        self._warn_of_unread(chat_template_kwargs)
        model = None if tokenizer is None else _model_tokenizer(tokenizer)

        def parser_of(turn: TurnTree, alternative: OutputParser | None = None) -> OutputParser:
            return OutputParser(
                # An engine may cut the reasoning off and pass on only the text after it.
                after_reasoning(turn) if asked.reasoning_over else turn,
                reasoning=asked.reasoning,
                whole_calls=asked.call_deltas == "whole",
                unclosed_reasoning=asked.unclosed_reasoning,
                forgive=asked.forgive,
                markup=asked.markup,
                call_ids=call_ids,
                tokenizer=model,
                strip_code_fence=asked.strip_code_fence,
                alternative=alternative,
            )

        # Learned calls are parsed by a second parser, not by a union of both formats.
        turn, other = build_expression(self.formats, request), self._alternative(request)
        return parser_of(turn, None if other is None else parser_of(other))

    def _usual_parser(self, tools: Mapping[str, Json] | None) -> OutputParser:
        """Return the parser of a request with nothing but tools, made once for their names."""

        def make() -> OutputParser:
            # An empty list offers no tool; without a list any function may be called.
            request = ParserRequest(tools, calls=tools != {})
            # A parser that is kept must not keep the schemas of one request.
            return OutputParser(
                structs.replace(build_expression(self.formats, request), schemas={})
            )

        parser = _PARSERS.of((self.formats,), None if tools is None else tuple(tools), make)
        return parser.offering(tools or {})

    def grammar(
        self,
        tools: Sequence[object] | None = None,
        *,
        chat_template_kwargs: Mapping[str, object] | None = None,
        strict: bool | None = None,
        lazy: bool = False,
        loosen: bool | None = None,
        **options: Unpack[RequestOptions],
    ) -> Grammar:
        """Return the grammar of model outputs for a request.

            analysis.grammar(tools, tool_choice="required").gbnf()

        The arguments are those of `parser`. With `strict`, objects have only the members that their
        schema names; a `lazy` grammar begins at the calls. Schema keywords that a grammar cannot
        enforce are dropped and listed in `Grammar.loosened`, or raise for tools with `"strict":
        true`. With `loosen=True` they are dropped everywhere, with False nowhere. Raises
        RequestError if the request contradicts itself; a grammar that cannot be written raises
        GrammarError or SchemaError when it is written.
        """
        from autoparser.analysis.grammar.continued_turns import turn_after_prompt  # noqa: PLC0415 - grammars
        from autoparser.analysis.grammar.request_grammar import make_grammar  # noqa: PLC0415 - grammars

        begun = self._setting_format(tools, chat_template_kwargs)
        self._warn_of_unread(chat_template_kwargs)
        grammar = make_grammar(
            self.formats, tools, begun=begun, strict=strict, lazy=lazy, loosen=loosen, **options
        )
        if self.also is None:
            return grammar
        # A parser without tools accepts any call, a grammar without tools none.
        request = read_request(tools or [], begun_turn=begun, **options)
        other = self._alternative(request)
        return replace(grammar, alternative=None if other is None else turn_after_prompt(other))

    def _alternative(self, request: ParserRequest) -> TurnTree | None:
        """Return the turn with the learned calls, or None if none were learned or none may come."""
        if self.also is None or not request.calls:
            return None
        begun = _same(request.begun_turn, self.formats, self.also)
        return build_expression(self.also, structs.replace(request, begun_turn=begun))

    def backend(
        self, tokenizer: object, *, workers: int = 4, capacity: int = 256
    ) -> GrammarBackend:
        """Return a backend that compiles and caches grammars for a tokenizer; close it after use.

            with analysis.backend("tokenizer.json") as backend:
                matcher = backend.compile(analysis.grammar(tools)).result()

        It takes the results of `grammar` and any other `Constraint`. `tokenizer` is whatever
        `tokenizer_of` takes; if it has no end-of-sequence token, the tokens that end this
        template's turns are used. `workers` is the number of threads, `capacity` the number of
        cached grammars. Raises TokenizerError.
        """
        from autoparser.analysis.decoding.grammar_backend import GrammarBackend  # noqa: PLC0415 - llguidance
        from autoparser.analysis.grammar.request_grammar import format_slices  # noqa: PLC0415 - grammars

        known = _model_tokenizer(tokenizer)
        # A stop string of several tokens cannot end an answer by an id.
        ends = [stop for stop in self.format.stop_strings if known.hf.token_to_id(stop) is not None]
        if known.eos is None and ends:
            known = _model_tokenizer(known, eos=ends)
        slices = format_slices(self.formats, known.opaque)
        return GrammarBackend(known, workers=workers, capacity=capacity, slices=slices)

    def reasoning_gate(
        self,
        constraint: Constraint | Grammar,
        *,
        tokenizer: GrammarBackend | object,
        prompt: str | None = None,
        chat_template_kwargs: Mapping[str, object] | None = None,
    ) -> ReasoningGate:
        """Return a constraint that takes effect after the template's reasoning.

        The constraint itself (a schema, a regex, a structural tag) does not cover reasoning. The
        markers of reasoning come from the format of the prompt, and whether it is open from the end
        of the prompt; `prompt` and `chat_template_kwargs` are those of `parser`. A backend in place
        of the tokenizer reuses what it has compiled. Raises TokenizerError, and ConstraintError for
        a constraint that cannot be compiled.
        """
        from autoparser.analysis.decoding.grammar_backend import (  # noqa: PLC0415 - llguidance
            GrammarBackend,
            gate_reasoning,
        )

        request = self._request(None, chat_template_kwargs, prompt=prompt)
        format_ = formats_of_request(self.formats, request)[0].format
        turn = build_expression(self.formats, request)
        if isinstance(tokenizer, GrammarBackend):
            return gate_reasoning(format_, turn, constraint, tokenizer)
        # Only one grammar is compiled.
        with self.backend(tokenizer, workers=1) as backend:
            return gate_reasoning(format_, turn, constraint, backend)

    def under(self, setting: Mapping[str, object], *, tools: bool = True) -> PromptFormat:
        """Return the format for a setting of the switches, with the opening of its prompt.

            analysis.under({"enable_thinking": False}).opening

        The setting is the `chat_template_kwargs` of a request; switches without an effect on turns
        make no difference. A setting that was not analyzed is rendered now. Raises
        TemplateNeededError if there is no template to render.
        """
        given: Mapping[str, Any] = setting
        known = self.formats.under(given, tools=tools)
        return self._learn(given, tools=tools) if known is None else known

    def begun(
        self,
        tools: Sequence[object] | None = None,
        *,
        prompt: str | None = None,
        chat_template_kwargs: Mapping[str, object] | None = None,
    ) -> tuple[PromptFormat, ...]:
        """Return the formats that a request's prompt may belong to, with its place in the turn.

        The arguments are those of `parser`. There are several if prompts end alike under settings
        with different turns; the default setting's comes first.
        """
        return formats_of_request(
            self.formats, self._request(tools, chat_template_kwargs, prompt=prompt)
        )

    def _request(
        self,
        tools: Sequence[object] | None,
        setting: Mapping[str, object] | None,
        **options: Unpack[RequestOptions],
    ) -> ParserRequest:
        return read_request(tools, begun_turn=self._setting_format(tools, setting), **options)

    def unread(self, setting: Mapping[str, object]) -> dict[str, str]:
        """Return a line for each variable of a setting that the template never reads, by its name.

        A saved format knows the variables that were tried.
        """
        known = self._read_variables
        return (
            {}
            if setting.keys() <= known
            else unread_variables(setting, sorted(known), self._unread_words)
        )

    @cached_property
    def _read_variables(self) -> frozenset[str]:
        unmoved = (variable.name for variable in self.unmoved)
        return frozenset([*(switch.name for switch in self.switches), *unmoved])

    def _warn_of_unread(self, setting: Mapping[str, object] | None) -> None:
        """Warn the caller of the caller of variables that the template never reads."""
        for line in self.unread(setting or {}).values():
            warnings.warn(line, stacklevel=3)

    def _setting_format(
        self, tools: Sequence[object] | None, setting: Mapping[str, object] | None
    ) -> PromptFormat | None:
        if setting is None:
            return None
        if not is_mapping(setting):
            raise RequestError(
                f"must be an object, got {value_kind(setting)}",
                place="chat_template_kwargs",
                hint="give the values of switches by name",
            )
        # None stands for unknown tools; an empty list offers none, and templates may write another
        # turn.
        return self.under(setting, tools=tools is None or bool(tools))

    @property
    def format(self) -> TurnFormat:
        """The format of the default setting."""
        return self.formats.default.format

    @property
    def stop_texts(self) -> StopTexts:
        """The ends of turns after content and after calls, under all settings."""
        from autoparser.analysis.core.stop_texts import template_stop_texts  # noqa: PLC0415

        eos = self.template.special_tokens.get("eos_token")
        return template_stop_texts(tuple(self.formats), str(eos or ""))

    @property
    def check(self) -> Check:
        """The verdict on the format of the default setting."""
        return self.checks[0]

    @property
    @abstractmethod
    def _saved_template(self) -> SavedTemplate:
        """The template as a saved format describes it."""

    @property
    def sha256(self) -> str:
        """The digest of the template's text in UTF-8: another text may write other turns."""
        return self._saved_template.sha256

    @property
    def characters(self) -> int:
        """The number of characters of the template's text."""
        return self._saved_template.characters

    def to_file(self, *, gate: Gate | None = None) -> FormatFile:
        """Return the saved format: all conclusions, without the template and its renders.

        A `gate` that is passed is not computed again.
        """
        formats = self.formats
        return FormatFile(
            schema=SCHEMA,
            template=self._saved_template,
            renders=self.renders,
            formats=tuple(map(turn_document, formats)),
            fullest=formats.distinct.index(formats.fullest),
            base=formats.base,
            untried_settings=formats.untried,
            requires_nonnull_content=self.requires_nonnull_content,
            switches=self.switches,
            unmoved=self.unmoved,
            checks=tuple(map(check_document, self.checks)),
            gate=self.gate if gate is None else gate,
            shape=self.shape,
            string_arguments=self.string_arguments,
            stand_ins=dict(self.stand_ins),
            # Conclusions alone: their renders belong to the template, which is not saved.
            phases=convert(self.phases, tuple[SavedPhase, ...], from_attributes=True),
            also=() if self.also is None else tuple(map(turn_document, self.also)),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the saved format to a file, for `load_format`.

        The file is written whole or not changed. Raises OSError if it cannot be written.
        """
        # Lazy: most programs write no file.
        from autoparser.analysis.sources.written_files import write_whole  # noqa: PLC0415

        write_whole(Path(path), file_text(self.to_file()).encode("ascii"))

    @property
    def markers(self) -> MarkerRegistry:
        """The markers, by name."""
        return self.view.markers

    @property
    def ok(self) -> bool:
        """Whether the self-check and the gate pass, and OpenAI-style messages lose no text.

        Under every setting of the switches.
        """
        return all(check.ok for check in self.checks) and self.gate.ok

    @property
    def spoiled(self) -> AskedForm | None:
        """The first of OpenAI's forms that silently loses text, in any setting, or None."""
        return next((check.spoiled for check in self.checks if check.spoiled is not None), None)


_PARSERS: IdentityCache[OutputParser] = IdentityCache(128)
"""Parsers of requests without options, by format and names of tools."""


def _same(
    prompt_format: PromptFormat | None, formats: Formats, also: Formats
) -> PromptFormat | None:
    """Return the format of a setting, from formats in the same order."""
    if prompt_format is None:
        return None
    # The format of a setting that was not learned is in neither list; use the default instead.
    at = next((index for index, old in enumerate(formats) if old is prompt_format.format), 0)
    return structs.replace(prompt_format, format=also.distinct[at])


def _model_tokenizer(tokenizer: object, *, eos: Sequence[str] | None = None) -> ModelTokenizer:
    # Imported here: without a tokenizer, the module that loads one is not needed.
    from autoparser.analysis.sources.tokenizer_loading import tokenizer_of  # noqa: PLC0415

    return tokenizer_of(tokenizer, eos=eos)
