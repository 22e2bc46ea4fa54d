"""Renders of conversations, each made once, and the lines by which two renders differ.

Missing text was written by no line. The line to name is the one that let it be written in another
render: in

    {%- for message in messages %}
    {%- if message.role == 'system' %}{{- message.content }}{%- endif %}

a developer message is lost at line 2, whose test held for a system message.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import zip_longest
from typing import NamedTuple

from msgspec import Struct, structs

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.error_words import one_line
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.text_alignment import prefix_length
from autoparser.analysis.learning.plain_words import plain_words
from autoparser.analysis.templates.chat_template import (
    ChatTemplate,
    prepared_messages,
    prepared_tools,
)
from autoparser.analysis.templates.render_trace import (
    PromptPiece,
    RenderTrace,
    SourceMap,
    StepKind,
    TraceStep,
)

from .hit import HitCause, HitEvidence, ShownText

NOON = datetime.datetime(2025, 7, 16, 12, 34, 56)  # noqa: DTZ001
"""The time at which rules render, unless they pass another."""


def _no_trace() -> RenderTrace:
    return RenderTrace("", (), (), (), 0, None, ())


@dataclass(frozen=True, slots=True)
class Render:
    """A conversation and its render, or the template's error."""

    messages: tuple[Mapping[str, Json], ...]
    """The conversation as it was passed in, e.g. ``({"role": "user", "content": "pkvrbnwj"},)``."""
    text: str = ""
    """The rendered text, e.g. ``"<|user|>pkvrbnwj<|end|><|assistant|>"``; empty if the template
    raised."""
    error: TemplateRenderError | None = None
    """The exception, e.g. ``TemplateRenderError("Unknown role: developer")``, or None if the
    template rendered."""
    retrace: Callable[[], SourceMap] = field(default=SourceMap, compare=False, repr=False)
    """Renders again, once, and maps the text to template lines, e.g. ``"<|end|>"`` to line 4;
    slower than a render."""
    walk: Callable[[], RenderTrace] = field(default=_no_trace, compare=False, repr=False)
    """Renders again step by step, e.g. to see which test of an ``if`` failed; slower still."""
    plain: Callable[[], Render | None] = field(default=lambda: None, compare=False, repr=False)
    """Renders again, once, with ordinary words for the sentinels, e.g. ``"What is the weather in
    Rio?"`` for ``"pkvrbnwj"``; None if the result differs by more than those."""

    @property
    def origins(self) -> tuple[tuple[int, int], ...]:
        """Pairs of offset and template line, one wherever another line begins to write."""
        found: list[tuple[int, int]] = []
        offset = 0
        for span in self.retrace().spans:
            if span.line is not None and (not found or found[-1][1] != span.line):
                found.append((offset, span.line))
            offset += len(span.text)
        return tuple(found)

    @property
    def rendered(self) -> bool:
        """Whether a text was rendered."""
        return self.error is None

    @property
    def crashed(self) -> bool:
        """Whether the template crashed, as opposed to `raise_exception`."""
        return self.error is not None and not self.error.refused

    def shown_text(self, label: str) -> ShownText:
        """Return the render as a text of evidence."""
        label = label if self.plain() else f"{label}, in invented words"
        reason = "" if self.error is None else self.error.reason
        return ShownText(
            label, self.text, reason, tuple(dict(message) for message in self.messages)
        )

    @property
    def reason(self) -> str:
        """The error in one line without a full stop; empty if the template rendered."""
        return "" if self.error is None else one_line(self.error.reason).rstrip(".")

    @property
    def cause(self) -> HitCause | None:
        """The failure as the cause of findings, or None if the template rendered."""
        error = self.error
        return None if error is None else HitCause("raises", error.line, error.reason)

    def holds(self, word: str) -> bool:
        """Return whether the text contains a word, in any case."""
        # A template may change the case of a word.
        return word in self.text or word.lower() in self.text.lower()

    def line_of(self, text: str) -> int | None:
        """Return the template's line that wrote the start of the first `text`."""
        return self.retrace().line_of(text)

    def line_at(self, position: int) -> int | None:
        """Return the template's line that wrote the character at an offset."""
        return self.retrace().line_at(position)


def in_plain_words(one: Render, other: Render) -> tuple[Render, Render]:
    """Return two renders in plain words, or unchanged if either differs in them."""
    plain, other_plain = one.plain(), other.plain()
    if plain is None or other_plain is None:
        return one, other
    return plain, other_plain


def compare_renders(one: Render, label: str, other: Render, other_label: str) -> HitEvidence:
    """Pair two renders as evidence, both in plain words or both in sentinels."""
    one, other = in_plain_words(one, other)
    shown, other_shown = one.shown_text(label), other.shown_text(other_label)
    # The lines that wrote the texts matter only where the texts differ.
    if not (one.rendered and other.rendered) or one.text == other.text:
        return HitEvidence(shown, other_shown)
    return HitEvidence(
        replace(shown, origins=one.origins), replace(other_shown, origins=other.origins)
    )


def show_render(render: Render, label: str) -> HitEvidence:
    """Return one render as evidence, in plain words if possible."""
    return HitEvidence((render.plain() or render).shown_text(label))


class AskedRender(NamedTuple):
    """A render, with the variables that it was made with."""

    variables: Mapping[str, object]
    """The variables of the template, e.g. ``messages`` and ``add_generation_prompt``."""
    render: Render
    """The result, e.g. the `Render` with the text ``"<|user|>pkvrbnwj<|end|><|assistant|>"``."""


class RenderSetting(Struct, frozen=True):
    """The arguments of a render, beside the messages."""

    tools: Sequence[Json] | None = None
    """The tools as they are passed, e.g. ``({"type": "function", "function": {"name":
    "get_forecast", …}},)``, or None."""
    generation: bool = False
    """The value of `add_generation_prompt`, e.g. True."""
    switches: Mapping[str, Json] | None = None
    """Variables such as ``{"enable_thinking": False}``."""
    clock: datetime.datetime = NOON
    """The time for `strftime_now`, e.g. ``datetime(2025, 7, 16, 12, 34, 56)``, so that renders
    repeat."""
    as_given: bool = False
    """Whether to skip transformers' preparation of messages, which drops keys whose value is None,
    e.g. ``{"content": None}``, and copies between the fields of reasoning."""


class LintRenders:
    """Renders conversations with one template, prepared as transformers does."""

    def __init__(self, template: ChatTemplate, tokens: Mapping[str, str]) -> None:
        """Store the template and its special tokens."""
        self._template = template
        self._tokens = tokens
        self._renders: dict[str, Render] = {}
        self._past_renders: list[AskedRender] = []
        self._tools: dict[str, list[object] | None] = {}
        self._last_tools: tuple[Sequence[Json] | None, str] = (None, repr(None))

    def render(self, messages: Sequence[Mapping[str, Json]], setting: RenderSetting) -> Render:
        """Return the render of messages, from the cache if possible."""
        # Lists and dictionaries cannot be keys; and unlike `==`, `repr` distinguishes 1 and True.
        key = repr((messages, self._tools_key(setting.tools), structs.replace(setting, tools=None)))
        known = self._renders.get(key)
        if known is None:
            variables = self.variables(messages, setting)
            known = self._render(tuple(messages), variables)
            self._renders[key] = known
            self._past_renders.append(AskedRender(variables, known))
        return known

    @property
    def past(self) -> Sequence[AskedRender]:
        """Every render so far, in order."""
        return self._past_renders

    def variables(
        self, messages: Sequence[Mapping[str, Json]], setting: RenderSetting
    ) -> dict[str, object]:
        """Return the variables of such a render, to render it elsewhere."""
        sent: object = [*messages] if setting.as_given else prepared_messages(messages)
        return {
            "strftime_now": setting.clock.strftime,
            **self._tokens,
            "messages": sent,
            "tools": self._prepare_tools(setting.tools),
            # transformers passes `documents` even if there are none, so that it is defined.
            "documents": None,
            "add_generation_prompt": setting.generation,
            # Last, so that a setting can replace the others, as in conversations with documents.
            **(setting.switches or {}),
        }

    def _tools_key(self, tools: Sequence[Json] | None) -> str:
        """Return a cached key of the tools: computing it is slow, and most renders share them."""
        if tools is None:
            return repr(None)
        if self._last_tools[0] is not tools:
            self._last_tools = (tools, repr(tools))
        return self._last_tools[1]

    def _prepare_tools(self, tools: Sequence[Json] | None) -> list[object] | None:
        """Return prepared tools, cached: templates cannot change them."""
        key = self._tools_key(tools)
        if key not in self._tools:
            self._tools[key] = prepared_tools(tools)
        return self._tools[key]

    def _render(
        self, messages: tuple[Mapping[str, Json], ...], variables: Mapping[str, object]
    ) -> Render:
        try:
            text = self._template.render_prepared(variables)
        except TemplateRenderError as error:
            found = Render(messages, error=error)
        else:
            found = Render(
                messages,
                text,
                None,
                # Made if asked for: both take longer than a render, and few renders are shown.
                cache(partial(self._template.source_map, variables, in_macros=True)),
                partial(self._template.step_through, variables),
            )
        return replace(found, plain=cache(partial(self._plain, found, variables)))

    def _plain(self, render: Render, variables: Mapping[str, object]) -> Render | None:
        """Return a render in plain words, or None if the template treats those differently."""
        words = plain_words(self._template.text)
        found = self._render(words.value(render.messages), words.variables(variables))
        # A template may count or cut characters; then the sentinels stay in the evidence.
        if found.text != words.text(render.text) or found.reason != words.text(render.reason):
            return None

        def retrace() -> SourceMap:
            # Translating the known spans is cheaper than tracing again.
            spans = [span._replace(text=words.text(span.text)) for span in render.retrace().spans]
            same = "".join(span.text for span in spans) == found.text
            return SourceMap((*spans,)) if same else found.retrace()

        shown: Render = replace(found, retrace=cache(retrace), plain=lambda: shown)
        return shown


def parting_line(one: Render, other: Render) -> int | None:
    """Return the line where two renders take different ways, or None if they never do.

    If their texts differ, it is the line that let the additional text be written. Otherwise it is
    the first test or loop with another outcome, or the last place that saw another value.
    """
    if one.error is not None:
        return one.error.line
    if not other.rendered:
        return None
    here, there = one.walk(), other.walk()
    if one.text == other.text:
        return _parting_step(here, there) or _last_seen_otherwise(here, there)
    start = prefix_length(one.text, other.text)
    left, right = one.text[start:], other.text[start:]
    # Text was inserted into one of the renders: name the line that rendered it.
    if right.endswith(left):
        return _what_let(there, start, here)
    if left.endswith(right):
        return _what_let(here, start, there)
    return one.line_at(start)


def line_of_the_lost(lacking: Render, keeping: Render, text: str) -> int | None:
    """Return the line that let a text be written in one render but not in the other."""
    if lacking.error is not None:
        return lacking.error.line
    at = keeping.text.find(text)
    return None if at < 0 else _what_let(keeping.walk(), at, lacking.walk())


def line_that_saw(render: Render, word: str) -> int | None:
    """Return the last line that read a value containing a word, or None."""
    trace = render.walk()
    for step in reversed(trace.steps):
        if word in step.words or any(word in value.words for value in step.seen):
            return trace.sites[step.site].line
    return None


def _what_let(keeping: RenderTrace, at: int, lacking: RenderTrace) -> int | None:
    """Return the line of the outermost test or loop around a text that went this way only here.

    If all did, perhaps for another message, it is the outermost test that held less often there, or
    failed less often because it held, and otherwise the place that wrote the text.
    """
    piece = _piece_at(keeping, at)
    if piece is None:
        return None
    here, there = (Counter(map(_way, trace.steps)) for trace in (keeping, lacking))
    reasons = keeping.reasons(piece)
    never = (reason for reason in reasons if not there[_way(reason)])
    rarer = (
        reason
        for reason in reasons
        if there[_way(reason)] < here[_way(reason)]
        and (reason.held or there[_held(reason)] > here[_held(reason)])
    )
    # A test that never held there explains more than one that held less often.
    found = next(never, None) or next(rarer, None)
    site = piece.site if found is None else found.site
    return None if site is None else keeping.sites[site].line


def _piece_at(trace: RenderTrace, at: int) -> PromptPiece | None:
    end = 0
    for piece in trace.pieces:
        end += len(piece.text)
        if at < end:
            return piece
    return None


def _way(step: TraceStep) -> tuple[StepKind, int, bool | None]:
    return step.kind, step.site, step.held


def _held(step: TraceStep) -> tuple[StepKind, int, bool | None]:
    return step.kind, step.site, True


def _parting_step(one: RenderTrace, other: RenderTrace) -> int | None:
    for here, there in zip_longest(one.steps, other.steps):
        if here is None or there is None or _way(here) != _way(there):
            both = [step for step in (here, there) if step is not None]
            # An additional iteration of a loop is aligned with the step after the loop.
            first = next((step for step in both if step.kind is StepKind.PASS), both[0])
            return one.sites[first.site].line
    return None


def _last_seen_otherwise(one: RenderTrace, other: RenderTrace) -> int | None:
    # Both renders took the same way, so their steps correspond.
    for here, there in reversed([*zip(one.steps, other.steps, strict=False)]):
        if (here.words, here.seen) != (there.words, there.seen):
            return one.sites[here.site].line
    return None
