"""From a template to its analysis: negotiation, phases, format, view, verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, cast

from autoparser.analysis.constraining.gate import Gate, gate
from autoparser.analysis.constraining.grammar import Grammar, format_slices, grammar_of
from autoparser.analysis.core.conversation import Json, Message, Tool, tool_for
from autoparser.analysis.core.errors import (
    TemplateLimitError,
    TemplateRenderError,
    TemplateUnusableError,
)
from autoparser.analysis.core.format import (
    Begun,
    ContentParts,
    Formats,
    JsonType,
    Part,
    TurnFormat,
)
from autoparser.analysis.describing.document import document
from autoparser.analysis.describing.view import MarkerRegistry, View, view_of
from autoparser.analysis.inference.check import (
    Check,
    TemplateContinuation,
    TemplateTurns,
    continuations,
    self_check,
)
from autoparser.analysis.inference.learning.content_parts import learn_content_parts
from autoparser.analysis.inference.learning.switches import MOST_VARIABLES, Switch, find_switches
from autoparser.analysis.inference.phases import Draft, Finding
from autoparser.analysis.inference.probing import (
    Negotiated,
    Prober,
    Sentinels,
    Shape,
    ShapeTrial,
    StringArguments,
    Suggestions,
    UnusableTemplateError,
    choose_sentinels,
    negotiate,
    suggestions_of,
    switch_candidates,
)
from autoparser.analysis.inference.setting_formats import format_under, learn_formats
from autoparser.analysis.loading.isolation import DEFAULT_LIMITS, Limits, run_task
from autoparser.analysis.loading.template import ChatTemplate, IsolatedTemplate, isolated
from autoparser.analysis.loading.tokens import tokenizer_of
from autoparser.analysis.reading.expression import belonging, build, expression_document, request_of
from autoparser.analysis.reading.parsing import OutputParser, after_reasoning

if TYPE_CHECKING:
    from autoparser.analysis.constraining.constrained import (
        Constraint,
        GrammarBackend,
        ReasoningGate,
    )

SPECIAL_TOKENS = (
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
)
"""The names that transformers gives special tokens."""


@dataclass(frozen=True)
class Analysis:
    """All that was found out about a template."""

    template: ChatTemplate
    formats: Formats
    """How turns are written, under every setting of the switches."""
    view: View
    """The fullest of the formats in other words."""
    phases: tuple[Finding, ...]
    """What was concluded, and from which renders, under the setting of the fullest format."""
    checks: tuple[Check, ...]
    """The verdict on each of the formats."""
    continuations: tuple[TemplateContinuation, ...]
    """What the template writes after its generation prompts."""
    switches: tuple[Switch, ...]
    shape: Shape
    string_arguments: StringArguments | None
    """What becomes of arguments given as JSON text; None: calls are not written at all."""
    trials: tuple[ShapeTrial, ...]
    stand_ins: Mapping[str, str]
    """Special tokens that the template reads and that are not known, and what stood for them."""
    renders: int
    """How many renders the analysis took."""

    def to_dict(self) -> dict[str, Json]:
        """Return everything as JSON values; the schema is versioned and described in the docs.

        This is `document`, and as `parser` the expression of a turn for any request.
        """
        turn = build(self.formats, request_of(None))
        return {**document(self), "parser": expression_document(turn)}

    def parser(
        self,
        tools: Sequence[object] | None = None,
        *,
        prompt: str | None = None,
        chat_template_kwargs: Mapping[str, object] | None = None,
        tool_choice: object = "auto",
        parallel_tool_calls: bool = True,
        json_schema: Mapping[str, object] | None = None,
        reasoning: Literal["separate", "inline", "raw"] = "separate",
        call_deltas: Literal["incremental", "whole"] = "incremental",
        unclosed_reasoning: Literal["calls", "keep"] = "calls",
        call_ids: Callable[[str, int], str] | int | None = None,
        tokenizer: object | None = None,
        strip_code_fence: bool = False,
        reasoning_over: bool = False,
    ) -> OutputParser:
        """Make the parser of what a model writes for a request.

        `tools` and `tool_choice` are OpenAI's; without tools every function name is taken.
        `prompt` is the rendered prompt, or any tail of it that holds the generation prompt;
        None stands for the template's default one. `chat_template_kwargs` are the values of the
        template's switches that the prompt is rendered with: where they are given they say which
        format it belongs to, else its end does. `json_schema` says that the answer is JSON:
        markers inside its strings are text, and without tools nothing in it is a call. Without
        `parallel_tool_calls` only the first of several calls counts; the others are junk.
        `reasoning` leaves it in the content: "inline" its text alone, "raw" with its markers.
        `call_ids` makes the ids of calls that are written without one, from a call's name and its
        number; a number is the seed of `CallIds`, None stands for ids that no other call has.
        With the model's `tokenizer` (all that `tokenizer_of` takes) texts may be fed
        with their token ids: a marker that came as ordinary text is then text. `strip_code_fence`
        leaves out the fence of Markdown around an answer by `json_schema`. `reasoning_over` says
        that texts begin after the reasoning, whatever the prompt says: it was cut off already.
        Where reasoning never closes, a whole call inside it is a call, so the text is held from
        there on, and what opens content ends it; with `unclosed_reasoning="keep"` all is reasoning.
        Raises RequestError for tools that are not valid tools, TokenizerError for what is not a
        tokenizer.
        """
        request = request_of(
            tools,
            prompt=prompt,
            begun=self._begun(tools, chat_template_kwargs),
            tool_choice=tool_choice,
            parallel_tool_calls=parallel_tool_calls,
            json_schema=json_schema,
        )
        turn = build(self.formats, request)
        return OutputParser(
            after_reasoning(turn) if reasoning_over else turn,
            offered=None if request.tools is None else frozenset(request.tools),
            reasoning=reasoning,
            whole_calls=call_deltas == "whole",
            keeps_reasoning=unclosed_reasoning == "keep",
            call_ids=call_ids,
            tokenizer=None if tokenizer is None else tokenizer_of(tokenizer),
            strip_code_fence=strip_code_fence,
        )

    def grammar(
        self,
        tools: Sequence[object] | None = None,
        *,
        prompt: str | None = None,
        chat_template_kwargs: Mapping[str, object] | None = None,
        tool_choice: object = "auto",
        parallel_tool_calls: bool = True,
        json_schema: Mapping[str, object] | None = None,
        strict: bool | None = None,
        lazy: bool = False,
        loosen: bool = False,
    ) -> Grammar:
        """Make the grammar of what a model may write for a request.

        The arguments are those of `parser`. With `strict`, objects have no members but those that
        their schema names; a `lazy` grammar begins with the calls. Raises RequestError where the
        request contradicts itself; what cannot be written raises GrammarError or SchemaError when
        it is written. With `loosen`, keywords of schemas that cannot be held to are left out
        instead, and `Grammar.loosened` tells which.
        """
        return grammar_of(
            self.formats,
            tools,
            prompt=prompt,
            begun=self._begun(tools, chat_template_kwargs),
            tool_choice=tool_choice,
            parallel_tool_calls=parallel_tool_calls,
            json_schema=json_schema,
            strict=strict,
            lazy=lazy,
            loosen=loosen,
        )

    def backend(
        self, tokenizer: object, *, workers: int = 4, capacity: int = 256
    ) -> GrammarBackend:
        """Make what compiles grammars for a tokenizer, and keeps them; close it when done.

        It takes what `grammar` gives, and any other `Constraint`. `tokenizer` is all that
        `tokenizer_of` takes; one that says of no token that it ends an answer has the tokens that
        end this template's turns. `workers` are threads, `capacity` is how many grammars it caches.
        Raises TokenizerError.
        """
        from autoparser.analysis.constraining.constrained import GrammarBackend  # noqa: PLC0415 - llguidance

        known = tokenizer_of(tokenizer)
        ends = [stop for stop in self.format.stop_strings if known.hf.token_to_id(stop) is not None]
        if known.eos is None and ends:
            known = tokenizer_of(known, eos=ends)
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
        """Make a constraint wait for the end of the reasoning, as this template writes it.

        The constraint says nothing of reasoning: a schema, a regex, a structural tag. What opens
        and closes reasoning comes from the format that the prompt belongs to, and whether it is
        open from where the prompt ends; `prompt` and `chat_template_kwargs` are those of `parser`.
        With a backend in place of the tokenizer, what it has compiled is used again.
        Raises TokenizerError, and ConstraintError for a constraint that cannot be compiled.
        """
        from autoparser.analysis.constraining.constrained import (  # noqa: PLC0415 - llguidance
            GrammarBackend,
            reasoning_gate_of,
        )

        known = self._begun(None, chat_template_kwargs)
        request = request_of(None, prompt=prompt, begun=known)
        format_ = belonging(self.formats, request)[0].format
        turn = build(self.formats, request)
        if isinstance(tokenizer, GrammarBackend):
            return reasoning_gate_of(format_, turn, constraint, tokenizer)
        with self.backend(tokenizer, workers=1) as backend:
            return reasoning_gate_of(format_, turn, constraint, backend)

    def turns(
        self,
        tools: Sequence[object] | None = None,
        *,
        prompt: str | None = None,
        chat_template_kwargs: Mapping[str, object] | None = None,
    ) -> TemplateTurns:
        """Make what asks the template how it writes messages after the prompt of a request.

        The arguments are those of `parser`. The conversation is one of its own, since a prompt is
        but a text; the setting is the one that the prompt belongs to. Raises RequestError.
        """
        begun = self.begun(tools, prompt=prompt, chat_template_kwargs=chat_template_kwargs)[0]
        opening = begun.opening
        known = begun.format.setting if opening is None else opening.setting
        given = cast("Mapping[str, Json]", chat_template_kwargs or {})
        offered = [cast("Mapping[str, object]", tool) for tool in tools or ()]
        return TemplateTurns(
            self.prober(),
            setting={**known, **given},
            tools=[cast("Tool", tool.get("function", tool)) for tool in offered],
            named=begun.format.with_naming_ids,
        )

    def under(self, setting: Mapping[str, object], *, tools: bool = True) -> Begun:
        """Find how turns are written under a setting of the switches, and how its prompt begins.

        Callers know the setting as `chat_template_kwargs`. A setting that was not learnt is
        rendered; switches that change neither make no difference.
        """
        given = cast("Mapping[str, Json]", setting)
        known = self.formats.under(given, tools=tools)
        if known is not None:
            return known
        draft = Draft(
            suggestions_of(self.template),
            Part.REASONING in self.formats.fullest.shown,
            Part.CALLS in self.formats.fullest.shown,
            self.switches,
        )
        return format_under(self.prober(), draft, self.formats, given, tools=tools)

    def prober(self) -> Prober:
        """Make what renders conversations as the analysis did, with nothing set."""
        sentinels = choose_sentinels(self.template.text)
        return Prober(
            self.rendering,
            sentinels,
            tokens={**self.template.special_tokens, **self.stand_ins},
            tools=[_probing_tool(sentinels)],
            shape=self.shape,
            setting=self.formats.base,
        )

    def begun(
        self,
        tools: Sequence[object] | None = None,
        *,
        prompt: str | None = None,
        chat_template_kwargs: Mapping[str, object] | None = None,
    ) -> tuple[Begun, ...]:
        """Say which formats a request's prompt may belong to, and where in the turn it ends.

        The arguments are those of `parser`. More than one is given where the prompt ends alike
        under settings that write turns otherwise; the default's comes first.
        """
        known = self._begun(tools, chat_template_kwargs)
        return belonging(self.formats, request_of(tools, prompt=prompt, begun=known))

    def _begun(
        self, tools: Sequence[object] | None, setting: Mapping[str, object] | None
    ) -> Begun | None:
        return None if setting is None else self.under(setting, tools=tools is None or bool(tools))

    @property
    def format(self) -> TurnFormat:
        """How turns are written for which nothing is set."""
        return self.formats.default.format

    @property
    def check(self) -> Check:
        """The verdict on the format for which nothing is set."""
        return self.checks[0]

    @property
    def ok(self) -> bool:
        """Whether every setting's format is as the template writes, and passes the gate."""
        return all(check.ok for check in self.checks) and self.gate.ok

    @property
    def gate(self) -> Gate:
        """Whether what the template writes after its prompts is accepted and read back.

        It is computed when it is first asked for: it needs a grammar and a parser of every prompt.
        """
        return self._gate

    @cached_property
    def _gate(self) -> Gate:
        return gate(self.formats, self.continuations, self.prober())

    @property
    def content_parts(self) -> ContentParts:
        """What becomes of content that is a list of texts, images, videos and sounds.

        It is found out when it is first asked for, by renders of its own.
        """
        return self._content_parts

    @cached_property
    def _content_parts(self) -> ContentParts:
        return learn_content_parts(self.prober(), calls=self.formats.united.calls is not None)

    @property
    def rendering(self) -> ChatTemplate:
        """The template as it was rendered for the analysis, and as what follows from it has to be.

        It is `template`; where transformers' sandbox alone is why that cannot be rendered
        (`check.forbidden`), it is the same template in the sandbox that lets lists change.
        """
        return self.template if self.check.forbidden is None else self.template.in_mutable_sandbox

    @property
    def markers(self) -> MarkerRegistry:
        """The markers, by name."""
        return self.view.markers


def analyze(template: ChatTemplate, *, isolate: bool | Limits = False) -> Analysis:
    """Analyse a template; with `isolate`, in a worker process, under limits.

    So is a template that `isolated` gave, whatever `isolate` says, and under its own limits. What
    the analysis renders later, for a round trip or a prompt, is then rendered in a worker too.

    Raises TemplateSyntaxError where Jinja cannot read it, and TemplateUnusableError where no
    conversation can be rendered so that its messages show, or where renders are not repeatable.
    In a worker raises TemplateLimitError where renders are beyond a limit again and again,
    TaskLimitError where all of them together are, WorkerDiedError where the worker was killed.
    """
    if isolate and not isinstance(template, IsolatedTemplate):
        template = isolated(template, DEFAULT_LIMITS if isolate is True else isolate)
    if not isinstance(template, IsolatedTemplate):
        return _analyzed(template)
    file = template.origin or template.name
    found = run_task(_analyzed, template.plain(), limits=template.limits, file=file)
    return replace(found, template=template)


def _analyzed(template: ChatTemplate) -> Analysis:
    """Analyse as transformers renders, and once more where its sandbox alone is in the way."""
    found: Analysis | TemplateUnusableError
    try:
        found = _learned(template)
    except TemplateUnusableError as error:
        found = error
    freed = _freed(template) if _meets_sandbox(found) else None
    if freed is not None:
        return freed
    if isinstance(found, TemplateUnusableError):
        raise found
    return found


def _meets_sandbox(found: Analysis | TemplateUnusableError) -> bool:
    """Whether the sandbox forbids something without which there is no format, or not all of it."""
    if isinstance(found, TemplateUnusableError):
        cause = found.__cause__
        return isinstance(cause, TemplateRenderError) and cause.forbidden
    crashes = [failure.crash for failure in found.check.failures]
    return any(crash is not None and crash.forbidden for crash in crashes)


def _freed(template: ChatTemplate) -> Analysis | None:
    """Analyse in the sandbox that lets lists change; None where that is not all it takes.

    A list that grows while it is read has no end there: what goes beyond a limit is not freed.
    """
    try:
        found = _learned(template.in_mutable_sandbox)
    except (TemplateLimitError, TemplateUnusableError):
        return None
    return None if found.check.forbidden is None else replace(found, template=template)


def _learned(template: ChatTemplate) -> Analysis:
    suggestions = suggestions_of(template)
    stand_ins = {
        name: f"<{name}>"
        for name in SPECIAL_TOKENS
        if name in suggestions.names and name not in template.special_tokens
    }
    sentinels = choose_sentinels(template.text)
    prober = Prober(
        template,
        sentinels,
        tokens={**template.special_tokens, **stand_ins},
        tools=[_probing_tool(sentinels)],
    )
    negotiated = _negotiated(prober, template, suggestions)
    prober = negotiated.prober
    switches = find_switches(
        prober, suggestions, calls=negotiated.calls, showing=negotiated.showing
    )
    untried = max(0, len(switch_candidates(suggestions)) - MOST_VARIABLES)
    draft = Draft(suggestions, negotiated.reasoning, negotiated.calls, switches, untried)
    learnt = learn_formats(prober, draft, negotiated.showing)
    view = view_of(
        learnt.formats,
        requires_nonnull_content=learnt.draft.requires_nonnull_content,
    )
    return Analysis(
        template=template,
        formats=learnt.formats,
        view=view,
        phases=learnt.findings,
        checks=tuple(
            self_check(each, prober.using(setting=each.setting)) for each in learnt.formats
        ),
        continuations=continuations(learnt.formats, prober),
        switches=switches,
        shape=prober.shape,
        string_arguments=negotiated.string_arguments,
        trials=negotiated.trials,
        stand_ins=stand_ins,
        renders=prober.meter.renders,
    )


def _probing_tool(sentinels: Sentinels) -> Tool:
    """Offer a function with a parameter of every type; null is not a type that tools declare."""
    properties = {
        key: str(kind) for kind, key in sentinels.typed_keys.items() if kind is not JsonType.NULL
    }
    return tool_for(sentinels.names[0], "Does what it says.", properties)


def _negotiated(prober: Prober, template: ChatTemplate, suggestions: Suggestions) -> Negotiated:
    try:
        negotiated = negotiate(prober, suggestions)
    except UnusableTemplateError as error:
        cause = error.cause
        reason = str(error) if cause is None else f"{error}: {cause.reason}"
        raise TemplateUnusableError(
            f"the template {reason}",
            file=template.origin,
            line=None if cause is None else cause.line,
            hint=error.hint,
        ) from cause
    _repeatable(negotiated.prober, template)
    return negotiated


_REPEATS = 6


def _repeatable(prober: Prober, template: ChatTemplate) -> None:
    """Raise where the same conversation renders differently each time."""
    marks = prober.sentinels
    messages = prober.shape.messages((prober.user, Message(marks.content)), marks.system)
    texts: set[str] = set()
    for _ in range(_REPEATS):
        try:
            texts.add(prober.render_messages(messages))
        except TemplateRenderError as error:
            # It did render before: what a template raises now and then is random, too.
            texts |= {"", str(error)}
    if len(texts) > 1:
        raise TemplateUnusableError(
            "the template writes a different text each time it is rendered",
            file=template.origin,
            hint="nothing can be concluded from its renders; remove what is random",
        )
