"""The portrait of a template: its analysis, its round trips, a conversation, grammars, masks."""

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
from autoparser.analysis.decoding.answer_judge import DecodingTrial, made_tokenizer
from autoparser.analysis.decoding.matcher_grammar import new_mask
from autoparser.analysis.formats.learned_format import LearnedFormat
from autoparser.analysis.history.conversation_replay import ReplayStage
from autoparser.analysis.history.round_trips import RoundTrip, round_trip
from autoparser.analysis.history.scenario_files import shipped_scenarios
from autoparser.analysis.learning.template_turns import WrittenTurn
from autoparser.analysis.learning.tools_in_prompt import ToolsInPrompt
from autoparser.analysis.lint.conversation_matrix import real_shapes
from autoparser.analysis.lint.linting import LintReport, lint
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.sources.token_bytes import OpaqueTokens
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from autoparser.analysis.templates.render_trace import RenderTrace

from .portrait_conversation import PortraitConversation, TokenStrip, strip_of, ten_turns

# An invented conversation rendered step by step, for the template's source beside its prompt.


ANY_TEXT = "any text"
_QUESTION = "What is the weather in Rio?"
_THOUGHT = "The user asks about Rio."
# The id has nine letters and digits, as some templates demand.
_CALL = ToolCall("get_weather", {"city": "Rio", "days": 1}, "aB3dE6gH1")


def traced_prompt(analysis: Analysis, tools: Sequence[Tool]) -> RenderTrace:
    """Render a conversation with all that the template writes: reasoning, a call, its result.

    Where the template fails on that, one of a question and an answer.
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
    settings: tuple[Mapping[str, Json], ...]
    """One switch set in each, or none; the empty one stands first."""


def plain_prompts(analysis: Analysis) -> tuple[PlainPrompt, ...]:
    """Render a question with nothing set, then with each value of each switch; equal ones once.

    Where a switch inserts any text, `ANY_TEXT` is set. Prompts that end otherwise than the first
    stand before those that begin otherwise, the least different first. A setting that raises is
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
        found.setdefault(text, []).append(setting)
    if not found:
        return ()
    usual, *others = (PlainPrompt(text, tuple(settings)) for text, settings in found.items())
    others.sort(
        key=lambda each: (
            _after_question(each.text) == _after_question(usual.text),
            abs(len(each.text) - len(usual.text)),
        )
    )
    return (usual, *others)


def _after_question(prompt: str) -> str:
    return prompt.rpartition(_QUESTION)[2]


# A turn as the template writes it under each value of each switch, one at a time.
#
# What is shown is rendered; no format is asked.


@dataclass(frozen=True, slots=True)
class SwitchView:
    """What the template writes under one setting."""

    setting: Mapping[str, Json]
    """Empty: nothing is set but what the template cannot do without."""
    turn: WrittenTurn


def switch_views(analysis: Analysis, tools: Sequence[Tool]) -> tuple[SwitchView, ...]:
    """Render an answer with all that the template writes, first with nothing set.

    A setting under which the prompt cannot be made is left out. There are no views where there is
    no switch.
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


# A request's grammar in every form, and why a form cannot say it.


@dataclass(frozen=True, slots=True)
class GrammarForms:
    """What a request lets a model write, as the texts that engines take."""

    forms: Mapping[str, str]
    """GBNF, Lark and a structural tag, by their names; a form that cannot be written is not in."""
    refusals: Mapping[str, str]
    """Why the others cannot be written."""
    triggers: tuple[str, ...]
    preserved_tokens: tuple[str, ...]
    stop_strings: tuple[str, ...]


def written_grammar(
    analysis: LearnedFormat, tools: Sequence[Tool], opaque: OpaqueTokens | None = None
) -> GrammarForms:
    """Write the grammar of a request that offers these tools.

    Lark is made for a tokenizer with `opaque` tokens; without any every marker in it is text.
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


# What a mask costs: the time of each, over answers that are written under the grammar.
#
# The figures are of the machine at hand; nothing else in a portrait is.


WALKS = 6
MOST_TOKENS = 256
"""Of one answer."""
SEED = 7


@dataclass(frozen=True, slots=True)
class MaskCost:
    """Microseconds of each mask, sorted."""

    microseconds: tuple[float, ...]
    answers: int
    refusal: str = ""
    """Why there are no figures."""

    @property
    def median(self) -> float:
        """The middle one."""
        return median(self.microseconds)

    @property
    def high(self) -> float:
        """The 99th percentile."""
        return self.microseconds[int(len(self.microseconds) * 0.99)]

    @property
    def most(self) -> float:
        """The slowest."""
        return self.microseconds[-1]


def mask_cost(analysis: Analysis, tools: Sequence[Tool], tokenizer: Tokenizer) -> MaskCost:
    """Write some answers at random, and time the mask before each of their tokens."""
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
        grammar = trial.compiled.clone()
        for token in answer.tokens:
            begun = perf_counter()
            grammar.fill_vocab_mask(mask)
            times.append((perf_counter() - begun) * 1e6)
            grammar.accept_token(token)
    if not times:
        return MaskCost((), len(answers), "no answer has a token")
    return MaskCost(tuple(sorted(times)), len(answers))


TOKENS = "tokens"
BYTES = "bytes, each marker counted as one"
"""What is counted where there is no tokenizer."""

Progress = Callable[[str], object]
"""Told what is done next."""


@dataclass(frozen=True, slots=True)
class Portrait:
    """All that a report shows of one template."""

    analysis: Analysis
    tools: tuple[Tool, ...]
    """The tools of the example request, as bare functions."""
    tokenizer: str
    """The file of the tokenizer, or empty if there is none."""
    grammar: GrammarForms
    """Of the example request."""
    round_trip: RoundTrip
    strips: tuple[TokenStrip, ...]
    """One for each row of the round trip."""
    conversation: PortraitConversation
    masks: MaskCost | None
    """None if there is no tokenizer."""
    lint: LintReport
    """What the rules found."""
    trace: RenderTrace
    """An example conversation, rendered step by step."""
    prompts: tuple[PlainPrompt, ...]
    """Of a plain question, under every value of every switch."""
    views: tuple[SwitchView, ...]
    """A turn under every value of every switch."""
    tools_in_prompt: ToolsInPrompt
    """What reaches the prompt of the tools that were given, or of functions of real shapes."""


def portray_template(
    analysis: Analysis,
    *,
    tools: Sequence[Tool] | None = None,
    tokenizer: Tokenizer | None = None,
    tokenizer_name: str = "",
    directory: Path | None = None,
    progress: Progress | None = None,
) -> Portrait:
    """Gather everything; `tools` None takes those of the shipped scenarios.

    `directory` is that of the model, for the rules that look at its files.

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
    strips = tuple(strip_of(stage, row, text) for row in played.rows)
    say("having ten turns")
    encoder = tokenizer or made_tokenizer(analysis.grammar(None)).hf
    unit = TOKENS if tokenizer is not None else BYTES
    conversation = ten_turns(analysis, example_tools(), encoder, unit)
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
