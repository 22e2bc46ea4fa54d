"""One template of the two, as requests are played through it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.asked_bounds import AskedTally
from autoparser.analysis.core.battery import battery_tools
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.errors import TemplateLimitError, TemplateRenderError
from autoparser.analysis.inference.probing import Prober, Setting, choose_sentinels

from .compared_requests import ComparedRequest

__all__ = ["ComparisonStage", "Outcome"]

Outcome: TypeAlias = str | TemplateRenderError | None
"""The text, the refusal, or None where it was not asked."""

MOST_BEYOND = 3
"""Renders that may run into a limit before no more are asked: each takes as long as it may."""


class ComparisonStage:
    """Renders requests through one template, in the shape that it takes."""

    def __init__(self, analysis: Analysis, other: Analysis) -> None:
        """Prepare to play `analysis`; special tokens that it lacks come from the other's files."""
        template = analysis.template
        known: Mapping[str, str] = {
            name: other.template.special_tokens.get(name, text)
            for name, text in analysis.stand_ins.items()
        }
        self._prober = Prober(
            template,
            choose_sentinels(template.text),
            tokens={**template.special_tokens, **known},
            tools=battery_tools(),
            shape=analysis.shape,
        )
        self._beyond = 0
        self._shaped: dict[object, list[dict[str, Json]]] = {}

    def play(self, request: ComparedRequest, setting: Setting) -> Outcome:
        """Render a request under a setting."""
        if self._beyond >= MOST_BEYOND:
            return None
        messages = self._shaped.get(request.key)
        if messages is None:
            messages = self._shaped[request.key] = request.messages(self._prober.shape)
        try:
            return self._prober.render_messages(
                messages, tools=request.tools, generation=request.generation, setting=setting
            )
        except TemplateLimitError as error:
            self._beyond += 1
            return error
        except TemplateRenderError as error:
            return error

    @property
    def asked(self) -> AskedTally:
        """What was rendered so far."""
        return self._prober.meter.asked

    def line_at(self, request: ComparedRequest, setting: Setting, at: int) -> int | None:
        """Return the template's line that wrote the character at a place; None: not known."""
        try:
            written = self._prober.mapped_messages(
                request.messages(self._prober.shape),
                tools=request.tools,
                generation=request.generation,
                setting=setting,
            )
        except TemplateRenderError:
            return None
        return written.line_at(at)
