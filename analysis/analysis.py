r"""From a template to its analysis: shape negotiation, phases, format, view, verdict.

From renders alone, a template gives a writer of turns, markers, a parser, and verdicts on them:

    >>> analysis = analyze("fixtures/templates/j1-json-in-tags.jinja")
    >>> analysis.format.write(Message("Hi.", reasoning="A greeting."))
    '<|im_start|>assistant\n<think>\nA greeting.\n</think>\n\nHi.<|im_end|>\n'
    >>> analysis.markers.reasoning_start, str(analysis.view.tools)
    ('<think>', 'JSON_NATIVE')
    >>> analysis.parser().parse("<think>\nA greeting.\n</think>\n\nHi.<|im_end|>").content
    'Hi.'
    >>> analysis.check.passed, analysis.gate.passed
    (47, 14)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

from autoparser.analysis.core.conversation import Json, Message, Tool, tool_for, tool_function
from autoparser.analysis.core.documents import copy_fields, document_json, text_digest
from autoparser.analysis.core.errors import (
    TemplateLimitError,
    TemplateRenderError,
    TemplateUnusableError,
)
from autoparser.analysis.core.format_choice import PromptFormat
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.media_treatment import ContentParts
from autoparser.analysis.core.question_bounds import AskedBounds
from autoparser.analysis.core.switches import NEVER_READ
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.verdicts import Gate
from autoparser.analysis.formats.format_file import SavedTemplate
from autoparser.analysis.formats.learned_format import LearnedFormat
from autoparser.analysis.learning.continuations import (
    TemplateContinuation,
    render_continuations,
    with_later_openings,
)
from autoparser.analysis.learning.format_assembly import format_under, learn_formats
from autoparser.analysis.learning.found_switches import MOST_VARIABLES, find_switches
from autoparser.analysis.learning.plain_words import evidence_in_plain_words
from autoparser.analysis.learning.prober import (
    Evidence,
    Finding,
    Prober,
    Sentinels,
    choose_sentinels,
)
from autoparser.analysis.learning.reasoning_phases import PhaseInput
from autoparser.analysis.learning.self_check import self_check
from autoparser.analysis.learning.shape_negotiation import (
    Negotiated,
    ShapeTrial,
    UnusableTemplateError,
    negotiate_shape,
    switch_candidates,
)
from autoparser.analysis.learning.suggestions import (
    Suggestions,
    stand_in_tokens,
    template_suggestions,
)
from autoparser.analysis.learning.template_turns import TemplateTurns, unnoticed_departures
from autoparser.analysis.parsing.turn_expression import build_expression
from autoparser.analysis.parsing.turn_request import read_request
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.analysis.templates.isolated_template import IsolatedTemplate, isolated
from autoparser.analysis.templates.worker_limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from autoparser.analysis.learning.tools_in_prompt import ToolsInPrompt
    from autoparser.analysis.sources.template_loading import TemplateGiven


@dataclass(frozen=True, repr=False)
class Analysis(LearnedFormat):
    """The learned format of a template, with the renders that show each conclusion.

        analysis = analyze("chat_template.jinja")
        analysis.check.passed, analysis.check.total  # (47, 47)
        analysis.parser().parse("Hello.<|im_end|>").content  # 'Hello.'

    `report()` returns the screen of `autoparser analyze`, `to_dict()` everything as JSON.
    """

    template: ChatTemplate
    """The template, with its special tokens, such as `{"eos_token": "</s>"}`."""
    phases: tuple[Finding, ...]
    """The conclusions of the phases with their renders, under the setting of the fullest format."""
    continuations: tuple[TemplateContinuation, ...]
    """The texts that the template writes after its generation prompts."""
    trials: tuple[ShapeTrial, ...]
    """The shapes of messages that were tried, and the results, such as `shown`."""
    asked: AskedBounds
    """The range of inputs that the renders covered."""
    beyond: int = 0
    """The number of renders that exceeded a limit; nothing is known of their conversations."""

    def to_dict(self) -> dict[str, Json]:
        """Return everything as JSON values, as `docs/analysis.schema.json` describes them.

        This is `document`, with the grammar of a turn for any request as `parser`.
        """
        from autoparser.analysis.parsing.expression_document import expression_document  # noqa: PLC0415 - few analyses are written

        turn = build_expression(self.formats, read_request(None))
        return {**analysis_document(self), "parser": expression_document(turn)}

    def turns(
        self,
        tools: Sequence[object] | None = None,
        *,
        prompt: str | None = None,
        chat_template_kwargs: Mapping[str, object] | None = None,
    ) -> TemplateTurns:
        """Return a renderer of assistant messages after the prompt of a request.

        The arguments are those of `parser`; `chat_template_kwargs` must be the prompt's own. The
        messages are rendered in a conversation of the analysis, since a prompt is only a text.
        Raises RequestError.
        """
        begun = self.begun(tools, prompt=prompt, chat_template_kwargs=chat_template_kwargs)[0]
        opening = begun.opening
        known = begun.format.setting if opening is None else opening.setting
        given: Mapping[str, Any] = chat_template_kwargs or {}
        return TemplateTurns(
            self.prober(),
            setting={**known, **given},
            tools=[*map(tool_function, tools or ())],
            add_naming_ids=begun.format.with_naming_ids,
        )

    def tools_in_prompt(self, tools: Sequence[object]) -> ToolsInPrompt:
        """Return which parts of tools reach the prompt, and the tools on which the template raises.

        `tools` are OpenAI's, wrapped (`{"type": "function", "function": {…}}`) or bare. Each answer
        comes from renders of a question with these tools, and with parts of them changed or
        removed.
        """
        # Imported here: few callers need this search, and an analysis should not pay for it.
        from autoparser.analysis.learning.tools_in_prompt import (  # noqa: PLC0415
            find_tools_in_prompt,
        )

        prober = self.prober().using(setting=self.formats.united.setting)
        return find_tools_in_prompt(prober, [*map(tool_function, tools)])

    def _learn(self, setting: Mapping[str, Json], *, tools: bool) -> PromptFormat:
        start = PhaseInput(
            template_suggestions(self.template),
            TurnPart.REASONING in self.formats.fullest.shown_parts,
            TurnPart.CALLS in self.formats.fullest.shown_parts,
            self.switches,
        )
        return format_under(self.prober(), start, self.formats, setting, tools=tools)

    _unread_words: ClassVar[str] = NEVER_READ

    @cached_property
    def _read_variables(self) -> frozenset[str]:
        return frozenset(template_suggestions(self.template).names)

    @property
    def _saved_template(self) -> SavedTemplate:
        template = self.template
        return SavedTemplate(
            name=template.name,
            origin=template.origin,
            source=template.source,
            sha256=text_digest(template.text),
            characters=len(template.text),
            special_tokens=dict(template.special_tokens),
        )

    def prober(self) -> Prober:
        """Return the renderer used by the analysis, with nothing set."""
        sentinels = choose_sentinels(self.template.text)
        return Prober(
            self.rendering,
            sentinels,
            tokens={**self.template.special_tokens, **self.stand_ins},
            tools=[_probing_tool(sentinels)],
            shape=self.shape,
            setting=self.formats.base,
        )

    def shown_evidence(self, finding: Finding) -> tuple[Evidence, ...]:
        """Return the renders behind a conclusion, in plain words if the template allows it."""
        prober = self.prober()
        return tuple(evidence_in_plain_words(pair, prober) for pair in finding.evidence)

    @property
    def gate(self) -> Gate:
        """The verdict of grammar and parser on the turns that the template renders.

        Computed on first access, with a grammar and a parser for each prompt.
        """
        return self._gate

    @cached_property
    def _gate(self) -> Gate:
        from autoparser.analysis.grammar.grammar_gate import run_gate  # noqa: PLC0415 - grammars

        return run_gate(self.formats, self.continuations, self.prober())

    @property
    def content_parts(self) -> ContentParts:
        """How the template renders content that is a list of texts, images, videos and audio.

        Computed on first access, with renders of its own.
        """
        return self.content_parts_under({})

    def content_parts_under(self, setting: Mapping[str, object]) -> ContentParts:
        """Return the treatment of such content under a setting; a switch may number images."""
        # Imported here: few callers need this, and an analysis should not pay for the import.
        from autoparser.analysis.learning.part_treatment import (  # noqa: PLC0415
            learn_content_parts,
        )

        key = repr(sorted(setting.items()))
        if key not in self._parts_under:
            prober, given = self.prober(), cast("Mapping[str, Json]", setting)
            under = prober.using(setting={**prober.setting, **given})
            calls = self.formats.united.calls is not None
            self._parts_under[key] = learn_content_parts(under, calls=calls)
        return self._parts_under[key]

    @cached_property
    def _parts_under(self) -> dict[str, ContentParts]:
        return {}

    @property
    def rendering(self) -> ChatTemplate:
        """The template as later renders need it: `template`, in the sandbox that the analysis used.

        The sandbox is another one only if the template cannot be rendered in transformers' sandbox
        (`check.forbidden`): then it may change its lists.
        """
        return self.template if self.check.forbidden is None else self.template.in_mutable_sandbox


def analyze(
    template: TemplateGiven, *, name: str | None = None, isolate: bool | Limits = False
) -> Analysis:
    """Analyze a template, without limits or, with `isolate=True`, in a worker process with limits.

        analysis = analyze("org/model", isolate=True)
        analysis.markers.reasoning_start  # '<think>'

    A template is a program: without `isolate`, one with an endless loop never returns. In a worker
    it raises an error; results are the same, and later renders are slower.

    `template` is a `ChatTemplate`, the text of one, a source of `load_template` (a path, a
    directory, a model on the Hub), or a tokenizer or processor of transformers, with its special
    tokens. `name` selects one of several named templates. A template from `isolated` stays in
    workers, with its own limits. All later renders of the analysis, such as round trips and
    prompts, run in the same way.

    Raises TemplateNotFoundError and TemplateReadError as `load_template` does, TemplateSyntaxError
    if Jinja cannot parse the template, and TemplateUnusableError if no render shows the messages,
    or if renders are not repeatable. In a worker, raises TemplateLimitError if renders keep
    exceeding a limit, TaskLimitError if the whole analysis does, and WorkerDiedError if the worker
    was killed.
    """
    if not isinstance(template, ChatTemplate):
        # Imported here: callers that pass a template do not need the modules that load one.
        from autoparser.analysis.sources.template_loading import given_template  # noqa: PLC0415

        template = given_template(template, name=name)
    if isolate and not isinstance(template, IsolatedTemplate):
        template = isolated(template, DEFAULT_LIMITS if isolate is True else isolate)
    if not isinstance(template, IsolatedTemplate):
        return _analyze_template(template)
    # Imported here: it is a tenth of all imports, and an analysis in this process starts no worker.
    from autoparser.analysis.templates.worker_pool import run_task  # noqa: PLC0415

    file = template.origin or template.name
    found = run_task(_analyze_template, template.plain(), limits=template.limits, file=file)
    return replace(found, template=template)


def _analyze_template(template: ChatTemplate) -> Analysis:
    """Analyze as transformers renders, and once more if only its sandbox prevents that."""
    found: Analysis | TemplateUnusableError
    try:
        found = _learn_template(template)
    except TemplateUnusableError as error:
        found = error
    freed = _analyze_freed(template) if _meets_sandbox(found) else None
    if freed is not None:
        return freed
    if isinstance(found, TemplateUnusableError):
        raise found
    return found


def _meets_sandbox(outcome: Analysis | TemplateUnusableError) -> bool:
    """Return whether a sandbox error prevents a complete analysis."""
    if isinstance(outcome, TemplateUnusableError):
        cause = outcome.__cause__
        return isinstance(cause, TemplateRenderError) and cause.forbidden
    crashes = [failure.crash for failure in outcome.check.failures]
    return any(crash is not None and crash.forbidden for crash in crashes)


def _analyze_freed(template: ChatTemplate) -> Analysis | None:
    """Analyze in the sandbox that lets lists change; return None if other errors remain.

    A list that grows while it is read has no end there: what goes beyond a limit is not freed.
    """
    try:
        found = _learn_template(template.in_mutable_sandbox)
    except (TemplateLimitError, TemplateUnusableError):
        return None
    return None if found.check.forbidden is None else replace(found, template=template)


def _learn_template(template: ChatTemplate) -> Analysis:
    suggestions = template_suggestions(template)
    stand_ins = stand_in_tokens(template, suggestions)
    sentinels = choose_sentinels(template.text)
    prober = Prober(
        template,
        sentinels,
        tokens={**template.special_tokens, **stand_ins},
        tools=[_probing_tool(sentinels)],
    )
    negotiated = _negotiate_template(prober, template, suggestions)
    prober = negotiated.prober
    found = find_switches(prober, suggestions, calls=negotiated.calls, showing=negotiated.showing)
    untried = max(0, len(switch_candidates(suggestions)) - MOST_VARIABLES)
    start = PhaseInput(suggestions, negotiated.reasoning, negotiated.calls, found.switches, untried)
    learned = learn_formats(prober, start, negotiated.showing)
    checks = tuple(
        self_check(format_, prober.using(setting=format_.setting)) for format_ in learned.formats
    )
    form = unnoticed_departures(prober.shape, (form for check in checks for form in check.forms))
    found_turns = render_continuations(learned.formats, prober, form)
    return Analysis(
        template=template,
        formats=with_later_openings(learned.formats, found_turns),
        requires_nonnull_content=learned.requires_nonnull_content,
        phases=learned.findings,
        checks=checks,
        continuations=found_turns,
        switches=found.switches,
        unmoved=found.unmoved,
        shape=prober.shape,
        string_arguments=negotiated.string_arguments,
        trials=negotiated.trials,
        stand_ins=stand_ins,
        renders=prober.meter.renders,
        asked=prober.meter.tally.bounds,
        beyond=prober.meter.beyond,
    )


def _probing_tool(sentinels: Sentinels) -> Tool:
    """Return a function with a parameter of every type except null, which tools do not declare."""
    properties = {
        key: str(kind) for kind, key in sentinels.typed_keys.items() if kind is not JsonType.NULL
    }
    return tool_for(sentinels.names[0], "Does what it says.", properties)


def _negotiate_template(
    prober: Prober, template: ChatTemplate, suggestions: Suggestions
) -> Negotiated:
    try:
        negotiated = negotiate_shape(prober, suggestions)
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
    """Raise if the same conversation renders differently each time."""
    marks = prober.sentinels
    messages = prober.shape.messages((prober.user, Message(marks.content)), marks.system)
    texts: set[str] = set()
    for _ in range(_REPEATS):
        try:
            texts.add(prober.render_messages(messages))
        except TemplateRenderError as error:
            # The template rendered this before, so it raises at random: count that as a text.
            texts |= {"", str(error)}
    if len(texts) > 1:
        raise TemplateUnusableError(
            "the template writes a different text each time it is rendered",
            file=template.origin,
            hint="remove its random parts: only repeatable renders can be compared",
        )


def analysis_document(analysis: Analysis) -> dict[str, Json]:
    """Return the whole analysis as JSON values, always in the same order.

    The same analysis gives the same document, byte for byte, in any process.
    """
    # Imported here: few analyses are written, and their documents have many classes.
    from autoparser.analysis.formats.analysis_document import (  # noqa: PLC0415
        ANALYSIS_SCHEMA,
        AnalysisDocument,
        AnalyzedTemplateDocument,
        SandboxDocument,
        describe_format,
        phase_document,
    )
    from autoparser.analysis.formats.format_document import (  # noqa: PLC0415
        check_document,
        format_document,
    )

    template, formats, crash = analysis.template, analysis.formats, analysis.check.forbidden
    # Sentinels depend only on the template's text, so the probes have used the same ones.
    system = choose_sentinels(template.text).system
    markers = dict(analysis.markers.items())
    whole = AnalysisDocument(
        **describe_format(analysis),
        schema=ANALYSIS_SCHEMA,
        template=copy_fields(
            AnalyzedTemplateDocument,
            template,
            sha256=analysis.sha256,
            characters=analysis.characters,
        ),
        preserved_tokens=analysis.view.preserved_tokens,
        format=format_document(analysis.format),
        formats=tuple(map(format_document, formats)),
        fullest=formats.distinct.index(formats.fullest),
        untried_settings=formats.untried,
        check=check_document(analysis.check),
        checks=tuple(map(check_document, analysis.checks)),
        gate=analysis.gate,
        sandbox=None
        if crash is None
        else SandboxDocument(template.origin, crash.line, crash.reason, analysis.check.freed),
        string_arguments=analysis.string_arguments,
        content_parts=analysis.content_parts,
        trials=analysis.trials,
        phases=tuple(
            phase_document(phase, analysis.shape, system, markers) for phase in analysis.phases
        ),
        stand_ins=dict(analysis.stand_ins),
        renders=analysis.renders,
        asked=analysis.asked,
    )
    return document_json(whole)
