r"""The portrait of a template: its analysis, its round trips, a conversation, grammars, masks.

`traced_prompt` renders a conversation, so that a page can show which line of the template wrote
which piece. Without tools, for `fixtures/templates/j1-json-in-tags.jinja`, the pieces and lines are

    '<|im_start|>user\nWhat is the weather in Rio?<|im_end|>\n'    24
    '<|im_start|>assistant\n'                                      26
    'It is sunny.'                                                 31
    '<|im_end|>\n'                                                 47

and then a second question and the generation prompt, of the lines 24 and 53.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter

from msgspec import structs
from tokenizers import Tokenizer

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import (
    Entry,
    Json,
    Message,
    Tool,
    ToolCall,
    ToolResult,
    UserMessage,
)
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.decoding.answer_judge import DecodingTrial
from autoparser.analysis.decoding.matcher_grammar import new_mask
from autoparser.analysis.formats.learned_format import LearnedFormat
from autoparser.analysis.history.conversation_replay import ReplayStage
from autoparser.analysis.history.round_trips import RoundTrip, round_trip
from autoparser.analysis.history.scenario_files import shipped_scenarios
from autoparser.analysis.learning.template_turns import WrittenTurn
from autoparser.analysis.learning.tools_in_prompt import ToolsInPrompt
from autoparser.analysis.lint.linting import LintReport, lint
from autoparser.analysis.lint.rule_conversations import real_shapes
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.sources.token_bytes import OpaqueTokens
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from autoparser.analysis.templates.render_trace import RenderTrace

from .portrait_conversation import PortraitConversation, TokenStrip, ten_turns, token_strip

# An invented conversation rendered step by step, for the template's source beside its prompt.


ANY_TEXT = "any text"
_QUESTION = "What is the weather in Rio?"
_THOUGHT = "The user asks about Rio."
# The id has nine letters and digits, as some templates demand.
_CALL = ToolCall("get_weather", {"city": "Rio", "days": 1}, "aB3dE6gH1")


def traced_prompt(analysis: Analysis, tools: Sequence[Tool]) -> RenderTrace:
    """Render a conversation with reasoning, a call and its result, or a shorter one.

    A template that fails on it gets a question and an answer.
    """
    stage = ReplayStage(analysis)
    setting = analysis.formats.fullest.setting
    writes_calls = bool(tools) and analysis.formats.fullest.calls is not None
    whole = stage.trace(tuple(_example_entries(calls=writes_calls)), tuple(tools), setting)
    if whole.failure is None:
        return whole
    return stage.trace(tuple(_example_entries(calls=False)), (), setting)


def _example_entries(*, calls: bool) -> Sequence[Entry]:
    question = UserMessage(_QUESTION)
    if not calls:
        return [question, Message("It is sunny."), UserMessage("Thank you.")]
    return [
        question,
        Message("", _THOUGHT, (_CALL,)),
        ToolResult('{"sky": "clear"}', _CALL.name, _CALL.id),
    ]


# The prompt of a plain question, as each setting makes it.


@dataclass(frozen=True, slots=True)
class PlainPrompt:
    """A prompt, and the settings under which the template renders it."""

    text: str
    r"""The prompt, such as
    `"<|im_start|>user\nWhat is the weather in Rio?<|im_end|>\n<|im_start|>assistant\n"`."""
    settings: tuple[Mapping[str, Json], ...]
    """The settings that give this prompt, each of one switch, such as
    `({}, {"enable_thinking": True})`; the empty one comes first."""


def plain_prompts(analysis: Analysis) -> tuple[PlainPrompt, ...]:
    """Render a question under the defaults, then with each value of each switch; merge equal ones.

    A switch that inserts any text is set to `ANY_TEXT`. Prompts with another end than the first
    come before those with another beginning, the least different first. A setting that raises is
    left out.
    """
    stage = ReplayStage(analysis)
    values = [
        {switch.name: value}
        for switch in analysis.switches
        for value in (*switch.values, *[ANY_TEXT] * (switch.inserted and not switch.numeric))
    ]
    found: dict[str, list[Mapping[str, Json]]] = {}
    for setting in ({}, *values):
        try:
            text = stage.prompt(
                (UserMessage(_QUESTION),), (), {**analysis.formats.base, **setting}
            ).text
        except AutoparserError:
            continue
        # Default values come first, so that the prompt without any setting is the first one.
        found.setdefault(text, []).append(setting)
    if not found:
        return ()
    usual, *others = (PlainPrompt(text, tuple(settings)) for text, settings in found.items())
    others.sort(
        key=lambda prompt: (
            # A switch that changes the generation prompt changes how the model begins, so it comes
            # first.
            _after_question(prompt.text) == _after_question(usual.text),
            abs(len(prompt.text) - len(usual.text)),
        )
    )
    return (usual, *others)


def _after_question(prompt: str) -> str:
    return prompt.rpartition(_QUESTION)[2]


# A turn as the template renders it under each value of each switch, one at a time.
#
# Everything shown comes from renders; the learned format is not used.


@dataclass(frozen=True, slots=True)
class SwitchView:
    """An answer as the template writes it under one setting."""

    setting: Mapping[str, Json]
    """The variables beside those that the template cannot render without, such as
    `{"enable_thinking": False}`; empty for the default."""
    turn: WrittenTurn
    """The turn as it is rendered, such as after the prompt `"…<｜Assistant｜><think>"`."""


def switch_views(analysis: Analysis, tools: Sequence[Tool]) -> tuple[SwitchView, ...]:
    """Render an answer with all parts that the template writes, under the defaults first.

    A setting under which the prompt raises is left out. A template without switches has no views.
    """
    if not analysis.switches:
        return ()
    format_ = analysis.formats.fullest
    message = Message(
        "Let me look.",
        "" if format_.reasoning is None else _THOUGHT,
        () if format_.calls is None else (structs.replace(_CALL, id=""),),
    )
    values = [{switch.name: value} for switch in analysis.switches for value in switch.values]
    offered = tools if message.calls else ()
    views = (_switch_view(analysis, message, offered, setting) for setting in ({}, *values))
    return tuple(view for view in views if view is not None)


def _switch_view(
    analysis: Analysis, message: Message, tools: Sequence[Tool], setting: Mapping[str, Json]
) -> SwitchView | None:
    try:
        turns = analysis.turns(
            [{"type": "function", "function": tool} for tool in tools], chat_template_kwargs=setting
        )
        turn = turns.written_turn(message)
    except AutoparserError:
        return None
    return SwitchView(setting, turn)


# A request's grammar in every form, and the reason if a form cannot express it.


@dataclass(frozen=True, slots=True)
class GrammarForms:
    """The grammar of a request in the forms that engines take."""

    forms: Mapping[str, str]
    """GBNF, Lark and a structural tag by name, such as `{"GBNF": "root ::= …"}`, without those that
    cannot be written."""
    refusals: Mapping[str, str]
    """The reason for each form that cannot be written."""
    triggers: tuple[str, ...]
    """The texts after which the grammar applies, e.g. `("<call>",)`."""
    preserved_tokens: tuple[str, ...]
    """The markers that a tokenizer must not split, e.g. `</call>`."""
    stop_strings: tuple[str, ...]
    """The texts that end a turn, e.g. `("<|end|>",)`."""


def written_grammar(
    analysis: LearnedFormat, tools: Sequence[Tool], opaque: OpaqueTokens | None = None
) -> GrammarForms:
    """Write the grammar of a request that offers these tools.

    Lark refers to the tokenizer's `opaque` tokens by id; without them, every marker is text.
    """
    try:
        grammar = analysis.grammar(list(tools))
    except AutoparserError as error:
        return GrammarForms({}, {"any form": str(error)}, (), (), analysis.format.stop_strings)
    tokens = opaque or OpaqueTokens()
    writers: dict[str, Callable[[], str]] = {
        "GBNF": grammar.gbnf,
        "Lark": lambda: grammar.lark(tokens),
        "structural tag": lambda: json.dumps(
            grammar.structural_tag(), indent=2, ensure_ascii=False
        ),
    }
    forms: dict[str, str] = {}
    refusals: dict[str, str] = {}
    for name, write in writers.items():
        try:
            forms[name] = write()
        except AutoparserError as error:
            refusals[name] = str(error)
    return GrammarForms(
        forms, refusals, grammar.triggers, grammar.preserved_tokens, grammar.stop_strings
    )


# The cost of a mask: the time for each one, over answers written under the grammar.
#
# The figures depend on this machine, unlike everything else in a portrait.


WALKS = 6
MOST_TOKENS = 256
"""At most this many masks of one answer are timed."""
SEED = 7


@dataclass(frozen=True, slots=True)
class MaskCost:
    """Microseconds of each mask, sorted."""

    microseconds: tuple[float, ...]
    """The time of each mask, the shortest first, such as `(44.3, 45.7, 46.1, …)`."""
    answers: int
    """The number of answers whose masks were timed, such as `6`."""
    refusal: str = ""
    """The reason if the figures are missing."""

    @property
    def median(self) -> float:
        """The median in microseconds."""
        return median(self.microseconds)

    @property
    def high(self) -> float:
        """The 99th percentile in microseconds."""
        return self.microseconds[int(len(self.microseconds) * 0.99)]

    @property
    def most(self) -> float:
        """The slowest mask in microseconds."""
        return self.microseconds[-1]


def mask_cost(analysis: Analysis, tools: Sequence[Tool], tokenizer: Tokenizer) -> MaskCost:
    """Sample random answers under the grammar, and time the mask of each token."""
    try:
        return _time_masks(analysis, tools, tokenizer)
    except AutoparserError as error:
        return MaskCost((), 0, str(error))


def _time_masks(analysis: Analysis, tools: Sequence[Tool], tokenizer: Tokenizer) -> MaskCost:
    with analysis.backend(tokenizer) as backend:
        decoding = backend.tokenizer
    trial = DecodingTrial(
        analysis.formats.default,
        analysis.grammar(list(tools)),
        analysis.parser(list(tools)),
        decoding,
        analysis.turns(tools),
    )
    mask = new_mask(1, decoding.mask_words)
    times: list[float] = []
    answers = list(islice(trial.walks(WALKS, seed=SEED, limit=MOST_TOKENS), WALKS))
    for answer in answers:
        # Each answer is masked from its beginning.
        grammar = trial.compiled.clone()
        for token in answer.tokens:
            begun = perf_counter()
            grammar.fill_vocab_mask(mask)
            # Measure only the mask: consuming the token is the sampler's step.
            times.append((perf_counter() - begun) * 1e6)
            grammar.accept_token(token)
    if not times:
        return MaskCost((), len(answers), "no answer has a token")
    return MaskCost(tuple(sorted(times)), len(answers))


Progress = Callable[[str], object]
"""Called with the name of the next step."""


@dataclass(frozen=True, slots=True)
class Portrait:
    """The content of a report on one template."""

    analysis: Analysis
    """The analysis of the template, such as
    `<Analysis of Qwen-Qwen3-0.6B.jinja: self-check 47/47, 1 format>`."""
    tools: tuple[Tool, ...]
    """The tools of the example request, as functions without the `type` envelope."""
    tokenizer: str
    """The tokenizer's file, such as `"tokenizer.json"`, or an empty text without one."""
    grammar: GrammarForms
    """The grammar of the example request, such as one whose GBNF begins with `root ::=`."""
    round_trip: RoundTrip
    """The verdicts of the shipped scenarios, such as `<RoundTrip: 27 holds, 24 breaks, 1 raises>`.
    """
    strips: tuple[TokenStrip, ...]
    """The tokens reused after each turn of the round trip, such as `(" in", " Oslo", "?")`."""
    conversation: PortraitConversation
    """Ten turns, rendered again and bridged, such as
    `PortraitStep(turn=1, calls=True, cached=36, rendered=50, …)`."""
    masks: MaskCost | None
    """The mask times, as for 6 answers, or None without a tokenizer."""
    lint: LintReport
    """The findings of lint, such as `<LintReport: AP108, AP304, AP405, …>`."""
    trace: RenderTrace
    """An example conversation, rendered step by step."""
    prompts: tuple[PlainPrompt, ...]
    """The prompts of a plain question under every value of every switch, such as under
    `{"enable_thinking": False}`."""
    views: tuple[SwitchView, ...]
    """A turn under every value of every switch, such as `{"thinking": True}`."""
    tools_in_prompt: ToolsInPrompt
    """The parts of the tool schemas that reach the prompt, of example tools if none were given,
    such as 81 parts of 7 tools."""


def portray_template(
    analysis: Analysis,
    *,
    tools: Sequence[Tool] | None = None,
    tokenizer: Tokenizer | None = None,
    tokenizer_name: str = "",
    directory: Path | None = None,
    progress: Progress | None = None,
) -> Portrait:
    """Collect the content of a report; without `tools`, those of the shipped scenarios are used.

    `directory` is the model's, for the rules that check its files.

    Raises AutoparserError for a tokenizer that cannot encode the template's prompts.
    """

    def say(step: str) -> None:
        if progress is not None:
            progress(step)

    scenarios = shipped_scenarios()
    chosen = tuple(example_tools() if tools is None else tools)
    say("looking for what rules find")
    report = lint(
        Subject(
            analysis.template,
            tokenizer=tokenizer,
            directory=directory,
            analysis=analysis,
            given_tools=tools or (),
        )
    )
    say("writing grammars")
    own = None if tokenizer is None else tokenizer_of(tokenizer)
    grammar = written_grammar(analysis, chosen, None if own is None else own.opaque)
    say("playing round trips")
    played = round_trip(analysis, scenarios, tokenizer=tokenizer)
    stage = ReplayStage(analysis)
    text = None if own is None else own.text
    strips = tuple(token_strip(stage, row, text) for row in played.rows)
    say("having ten turns")
    conversation = ten_turns(analysis, example_tools(), tokenizer)
    masks = None
    if tokenizer is not None:
        say("timing masks")
        masks = mask_cost(analysis, chosen, tokenizer)
    return Portrait(
        analysis,
        chosen,
        tokenizer_name,
        grammar,
        played,
        strips,
        conversation,
        masks,
        report,
        traced_prompt(analysis, example_tools()),
        plain_prompts(analysis),
        switch_views(analysis, example_tools()),
        analysis.tools_in_prompt(real_shapes() if tools is None else tools),
    )


def example_tools() -> Sequence[Tool]:
    """Return the tools of the shipped scenarios, for an example request."""
    return next((scenario.tools for scenario in shipped_scenarios() if scenario.tools), ())
