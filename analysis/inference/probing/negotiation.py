"""Finding by trying in which shape a template takes its messages.

Templates disagree on arguments as object or JSON string, content as text or parts, what stands
for empty content, tools wrapped or bare, where reasoning goes. Each trial is one render; what
came out decides.
"""

from __future__ import annotations

from dataclasses import dataclass

from autoparser.analysis.core.message_shape import Setting, StringArguments

from .call_shape import call_shape, string_arguments
from .prober import Prober
from .reasoning_shape import reasoning_shape
from .suggestions import Suggestions
from .text_shape import text_shape, tool_shape
from .trials import ShapeTrial, UnusableTemplateError, switch_candidates


@dataclass(frozen=True, slots=True)
class Negotiated:
    """The shape that a template takes, and the trials that showed it."""

    prober: Prober
    """Probes in the shape that was found, with nothing set but what a render needs."""
    showing: Setting
    """The setting that brings reasoning into the text; the prober's own, if that does or none."""
    calls: bool
    """Whether tool calls reach the text."""
    reasoning: bool
    """Whether reasoning reaches the text."""
    trials: tuple[ShapeTrial, ...]
    string_arguments: StringArguments | None
    """None where calls do not reach the text."""


def negotiate(prober: Prober, suggestions: Suggestions) -> Negotiated:
    """Find the shape. Raises UnusableTemplateError where nothing can be rendered."""
    trials: list[ShapeTrial] = []
    try:
        prober = text_shape(prober, trials)
    except UnusableTemplateError as error:
        if error.cause is None or error.cause.refused:
            raise
        # A variable that the template takes for granted may be what it stumbles over.
        empty: Setting = dict.fromkeys(switch_candidates(suggestions), "")
        prober = text_shape(prober.using(setting=empty), trials)
    prober, calls = call_shape(prober, suggestions, trials)
    prober = tool_shape(prober, suggestions, trials)
    base = prober.setting
    prober, reasoning = reasoning_shape(prober, suggestions, calls, trials)
    showing, prober = prober.setting, prober.using(setting=base)
    texts = string_arguments(prober) if calls else None
    if texts is not None:
        trials.append(ShapeTrial("arguments as JSON text", str(texts)))
    return Negotiated(prober, showing, calls, reasoning, tuple(trials), texts)
