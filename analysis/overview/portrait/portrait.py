"""The portrait of a template: its analysis, its round trips, a conversation, grammars, masks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.constraining.decode import made_tokenizer
from autoparser.analysis.core.conversation import Tool
from autoparser.analysis.history.roundtrip import RoundTrip, round_trip, shipped_scenarios
from autoparser.analysis.history.roundtrip.replay import ReplayStage
from autoparser.analysis.inference.check import ToolsInPrompt
from autoparser.analysis.lint import LintReport, Subject, lint
from autoparser.analysis.lint.probe_tools import REAL_SHAPES
from autoparser.analysis.loading.template import RenderTrace
from autoparser.analysis.loading.tokens import tokenizer_of

from .conversation import Conversation, ten_turns
from .grammars import GrammarForms, written_grammar
from .masks import MaskCost, mask_cost
from .strip import TokenStrip, strip_of
from .switch_views import SwitchView, switch_views
from .traced_prompt import traced_prompt

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
    """The file of the tokenizer; empty where there is none."""
    grammar: GrammarForms
    """Of the example request."""
    round_trip: RoundTrip
    strips: tuple[TokenStrip, ...]
    """One for each row of the round trip."""
    conversation: Conversation
    masks: MaskCost | None
    """None where there is no tokenizer."""
    lint: LintReport
    """What the rules found."""
    trace: RenderTrace
    """An example conversation, rendered step by step."""
    views: tuple[SwitchView, ...]
    """A turn under every value of every switch."""
    tools_in_prompt: ToolsInPrompt
    """What reaches the prompt of the tools that were given, or of functions of real shapes."""


def portray(
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
    say = progress or _silent
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
        switch_views(analysis, example_tools()),
        analysis.tools_in_prompt(REAL_SHAPES if tools is None else tools),
    )


def example_tools() -> Sequence[Tool]:
    """Return the tools of the shipped scenarios, for an example request."""
    return next((each.tools for each in shipped_scenarios() if each.tools), ())


def _silent(doing: str) -> None:
    del doing
