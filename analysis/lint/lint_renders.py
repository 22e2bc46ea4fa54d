"""What a rule looks at: conversations as an engine sends them, each rendered at most once."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import NamedTuple

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.errors import TemplateRenderError, one_line
from autoparser.analysis.loading.template import (
    ChatTemplate,
    RenderTrace,
    SourceMap,
    prepared_messages,
    prepared_tools,
)

from .hit import HitCause, HitEvidence, ShownText

NOON = datetime.datetime(2025, 7, 16, 12, 34, 56)  # noqa: DTZ001
"""The time at which rules render, unless they ask for another."""


def _no_trace() -> RenderTrace:
    return RenderTrace("", (), (), (), 0, None, ())


@dataclass(frozen=True, slots=True)
class Render:
    """A conversation and the text that came of it, or the template's refusal."""

    messages: tuple[Mapping[str, Json], ...]
    text: str = ""
    error: TemplateRenderError | None = None
    retrace: Callable[[], SourceMap] = field(default=SourceMap, compare=False, repr=False)
    """Renders again, once, and tells what wrote the text, which costs more than to render."""
    walk: Callable[[], RenderTrace] = field(default=_no_trace, compare=False, repr=False)
    """Renders again step by step, which costs more still."""

    @property
    def origins(self) -> tuple[tuple[int, int], ...]:
        """Where in the text another line of the template begins to write, and which line."""
        found: list[tuple[int, int]] = []
        at = 0
        for each in self.retrace().spans:
            if each.line is not None and (not found or found[-1][1] != each.line):
                found.append((at, each.line))
            at += len(each.text)
        return tuple(found)

    @property
    def rendered(self) -> bool:
        """Whether a text came out."""
        return self.error is None

    @property
    def crashed(self) -> bool:
        """Whether it failed without the template's meaning to."""
        return self.error is not None and not self.error.refused

    def shown(self, label: str) -> ShownText:
        """Return it as one half of evidence."""
        reason = "" if self.error is None else self.error.reason
        return ShownText(label, self.text, reason, tuple(dict(each) for each in self.messages))

    @property
    def reason(self) -> str:
        """Why it failed, on one line without a full stop; empty where it did not."""
        return "" if self.error is None else one_line(self.error.reason).rstrip(".")

    @property
    def cause(self) -> HitCause | None:
        """The failure as the cause of findings; None where there is none."""
        error = self.error
        return None if error is None else HitCause("raises", error.line, error.reason)

    def holds(self, word: str) -> bool:
        """Return whether the text holds a word, whichever of its letters are capitals."""
        return word in self.text or word.lower() in self.text.lower()

    def line_of(self, text: str) -> int | None:
        """Return the template's line that wrote the beginning of the first `text`."""
        return self.retrace().line_of(text)

    def line_at(self, position: int) -> int | None:
        """Return the template's line that wrote the character at a position, from 0."""
        return self.retrace().line_at(position)


def compared(one: Render, label: str, other: Render, other_label: str) -> HitEvidence:
    """Put two renders side by side."""
    shown, other_shown = one.shown(label), other.shown(other_label)
    if not (one.rendered and other.rendered) or one.text == other.text:
        return HitEvidence(shown, other_shown)
    return HitEvidence(
        replace(shown, origins=one.origins), replace(other_shown, origins=other.origins)
    )


def alone(render: Render, label: str) -> HitEvidence:
    """Show one render."""
    return HitEvidence(render.shown(label))


class AskedRender(NamedTuple):
    """A render, and what it was made with."""

    variables: Mapping[str, object]
    render: Render


@dataclass(frozen=True, slots=True)
class RenderSetting:
    """What messages are rendered with."""

    tools: Sequence[Json] | None = None
    generation: bool = False
    switches: Mapping[str, Json] | None = None
    clock: datetime.datetime = NOON
    as_given: bool = False
    """Leave out what transformers does to messages before: it drops the keys whose value is None,
    and fills the fields of reasoning from each other."""


class LintRenders:
    """Renders conversations through one template, as transformers prepares them."""

    def __init__(self, template: ChatTemplate, tokens: Mapping[str, str]) -> None:
        """Prepare to render `template`, with `tokens` as its special tokens."""
        self._template = template
        self._tokens = tokens
        self._known: dict[str, Render] = {}
        self._asked: list[AskedRender] = []
        self._tools: dict[str, list[object] | None] = {}
        self._last_tools: tuple[Sequence[Json] | None, str] = (None, repr(None))

    def render(self, messages: Sequence[Mapping[str, Json]], asked: RenderSetting) -> Render:
        """Render messages."""
        key = repr((messages, self._named(asked.tools), replace(asked, tools=None)))
        known = self._known.get(key)
        if known is None:
            variables = self.variables(messages, asked)
            known = self._render(tuple(messages), variables)
            self._known[key] = known
            self._asked.append(AskedRender(variables, known))
        return known

    @property
    def asked(self) -> Sequence[AskedRender]:
        """Every render so far, in their order."""
        return self._asked

    def variables(
        self, messages: Sequence[Mapping[str, Json]], asked: RenderSetting
    ) -> dict[str, object]:
        """Return what such a render is made with, for a render elsewhere."""
        sent: object = [*messages] if asked.as_given else prepared_messages(messages)
        return {
            "strftime_now": asked.clock.strftime,
            **self._tokens,
            "messages": sent,
            "tools": self._prepared(asked.tools),
            "documents": None,
            "add_generation_prompt": asked.generation,
            **(asked.switches or {}),
        }

    def _named(self, tools: Sequence[Json] | None) -> str:
        """Return the tools as a text, which takes long and is mostly asked of the same ones."""
        if tools is None:
            return repr(None)
        if self._last_tools[0] is not tools:
            self._last_tools = (tools, repr(tools))
        return self._last_tools[1]

    def _prepared(self, tools: Sequence[Json] | None) -> list[object] | None:
        """Prepare tools, the same ones once: a template cannot change them."""
        key = self._named(tools)
        if key not in self._tools:
            self._tools[key] = prepared_tools(tools)
        return self._tools[key]

    def _render(
        self, messages: tuple[Mapping[str, Json], ...], variables: Mapping[str, object]
    ) -> Render:
        try:
            text = self._template.render_prepared(variables)
        except TemplateRenderError as error:
            return Render(messages, error=error)
        return Render(
            messages,
            text,
            None,
            cache(partial(self._template.source_map, variables)),
            partial(self._template.step_through, variables),
        )
