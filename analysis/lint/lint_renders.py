"""What a rule looks at: conversations as an engine sends them, each rendered at most once.

The template's line where two renders part, for findings about what one of them lacks.

A text that is missing was written by no line. What can be named is what let it be written in the
other render: in

    {%- for message in messages %}
    {%- if message.role == 'system' %}{{- message.content }}{%- endif %}

a developer's message is lost at line 2, where the same test held for a system's.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import zip_longest
from typing import NamedTuple

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.errors import TemplateRenderError, one_line
from autoparser.analysis.core.text_alignment import common_prefix, prefix_length
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

from .hit import Hit, HitCause, HitEvidence, Severity, ShownText

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
    plain: Callable[[], Render | None] = field(default=lambda: None, compare=False, repr=False)
    """Renders again, once, in plain words for those who read it; None where they differ."""

    @property
    def origins(self) -> tuple[tuple[int, int], ...]:
        """Where in the text another line of the template begins to write, and which line."""
        found: list[tuple[int, int]] = []
        at = 0
        for span in self.retrace().spans:
            if span.line is not None and (not found or found[-1][1] != span.line):
                found.append((at, span.line))
            at += len(span.text)
        return tuple(found)

    @property
    def rendered(self) -> bool:
        """Whether a text came out."""
        return self.error is None

    @property
    def crashed(self) -> bool:
        """Whether it failed without the template's meaning to."""
        return self.error is not None and not self.error.refused

    def shown_text(self, label: str) -> ShownText:
        """Return it as one half of evidence."""
        label = label if self.plain() else f"{label}, in invented words"
        reason = "" if self.error is None else self.error.reason
        return ShownText(
            label, self.text, reason, tuple(dict(message) for message in self.messages)
        )

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


def in_plain_words(one: Render, other: Render) -> tuple[Render, Render]:
    """Return two renders in plain words, or as they are if either is not the same in them."""
    plain, other_plain = one.plain(), other.plain()
    if plain is None or other_plain is None:
        return one, other
    return plain, other_plain


def compare_renders(one: Render, label: str, other: Render, other_label: str) -> HitEvidence:
    """Put two renders side by side, both in plain words or both in sentinels."""
    one, other = in_plain_words(one, other)
    shown, other_shown = one.shown_text(label), other.shown_text(other_label)
    if not (one.rendered and other.rendered) or one.text == other.text:
        return HitEvidence(shown, other_shown)
    return HitEvidence(
        replace(shown, origins=one.origins), replace(other_shown, origins=other.origins)
    )


def show_render(render: Render, label: str) -> HitEvidence:
    """Show one render, in plain words where it is the same in them."""
    return HitEvidence((render.plain() or render).shown_text(label))


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
        self._renders: dict[str, Render] = {}
        self._past_renders: list[AskedRender] = []
        self._tools: dict[str, list[object] | None] = {}
        self._last_tools: tuple[Sequence[Json] | None, str] = (None, repr(None))

    def render(self, messages: Sequence[Mapping[str, Json]], setting: RenderSetting) -> Render:
        """Render messages."""
        key = repr((messages, self._tools_key(setting.tools), replace(setting, tools=None)))
        known = self._renders.get(key)
        if known is None:
            variables = self.variables(messages, setting)
            known = self._render(tuple(messages), variables)
            self._renders[key] = known
            self._past_renders.append(AskedRender(variables, known))
        return known

    @property
    def past(self) -> Sequence[AskedRender]:
        """Every render so far, in their order."""
        return self._past_renders

    def variables(
        self, messages: Sequence[Mapping[str, Json]], setting: RenderSetting
    ) -> dict[str, object]:
        """Return what such a render is made with, for a render elsewhere."""
        sent: object = [*messages] if setting.as_given else prepared_messages(messages)
        return {
            "strftime_now": setting.clock.strftime,
            **self._tokens,
            "messages": sent,
            "tools": self._prepare_tools(setting.tools),
            "documents": None,
            "add_generation_prompt": setting.generation,
            **(setting.switches or {}),
        }

    def _tools_key(self, tools: Sequence[Json] | None) -> str:
        """Return the tools as a text, which takes long and is mostly asked of the same ones."""
        if tools is None:
            return repr(None)
        if self._last_tools[0] is not tools:
            self._last_tools = (tools, repr(tools))
        return self._last_tools[1]

    def _prepare_tools(self, tools: Sequence[Json] | None) -> list[object] | None:
        """Prepare tools, the same ones once: a template cannot change them."""
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
                cache(partial(self._template.source_map, variables)),
                partial(self._template.step_through, variables),
            )
        return replace(found, plain=cache(partial(self._plain, found, variables)))

    def _plain(self, render: Render, variables: Mapping[str, object]) -> Render | None:
        """Render a conversation in plain words; None where the template tells them apart."""
        words = plain_words(self._template.text)
        found = self._render(words.value(render.messages), words.variables(variables))
        if found.text != words.text(render.text) or found.reason != words.text(render.reason):
            return None

        def retrace() -> SourceMap:
            # To map what is known costs less than to trace again.
            spans = [span._replace(text=words.text(span.text)) for span in render.retrace().spans]
            same = "".join(span.text for span in spans) == found.text
            return SourceMap((*spans,)) if same else found.retrace()

        shown: Render = replace(found, retrace=cache(retrace), plain=lambda: shown)
        return shown


def parting_line(one: Render, other: Render) -> int | None:
    """Return the line where the first render goes another way than the other.

    Where their texts differ, it is what let the additional text be written; where they are alike,
    the first test or loop that went otherwise, or the last place that saw another value. None
    where there is none.
    """
    if one.error is not None:
        return one.error.line
    if not other.rendered:
        return None
    here, there = one.walk(), other.walk()
    if one.text == other.text:
        return _parting_step(here, there) or _last_seen_otherwise(here, there)
    at = prefix_length(one.text, other.text)
    left, right = one.text[at:], other.text[at:]
    if right.endswith(left):
        return _what_let(there, at, here)
    if left.endswith(right):
        return _what_let(here, at, there)
    return one.line_at(at)


def line_of_the_lost(lacking: Render, keeping: Render, text: str) -> int | None:
    """Return the line that let a text be written in one render, and did not in the other."""
    if lacking.error is not None:
        return lacking.error.line
    at = keeping.text.find(text)
    return None if at < 0 else _what_let(keeping.walk(), at, lacking.walk())


def line_that_saw(render: Render, word: str) -> int | None:
    """Return the last line that looked at a value that holds a word; None where none did."""
    trace = render.walk()
    for step in reversed(trace.steps):
        if word in step.words or any(word in each.words for each in step.seen):
            return trace.sites[step.site].line
    return None


def _what_let(keeping: RenderTrace, at: int, lacking: RenderTrace) -> int | None:
    """Return the outermost test or loop around a text that never went that way elsewhere.

    Where all of them did, for another message perhaps, it is the outermost test that held less
    often, and where there is none the place that wrote the text.
    """
    piece = _piece_at(keeping, at)
    if piece is None:
        return None
    here, there = (Counter(map(_way, trace.steps)) for trace in (keeping, lacking))
    reasons = keeping.reasons(piece)
    never = (reason for reason in reasons if not there[_way(reason)])
    rarer = (
        reason for reason in reasons if reason.held and there[_way(reason)] < here[_way(reason)]
    )
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


def _parting_step(one: RenderTrace, other: RenderTrace) -> int | None:
    for here, there in zip_longest(one.steps, other.steps):
        if here is None or there is None or _way(here) != _way(there):
            both = [each for each in (here, there) if each is not None]
            # One more pass of a loop stands beside whatever follows the loop.
            first = next((each for each in both if each.kind is StepKind.PASS), both[0])
            return one.sites[first.site].line
    return None


def _last_seen_otherwise(one: RenderTrace, other: RenderTrace) -> int | None:
    found = list(_seen_otherwise(one, other))
    return found[-1] if found else None


def _seen_otherwise(one: RenderTrace, other: RenderTrace) -> Iterator[int]:
    for here, there in zip(one.steps, other.steps, strict=False):
        if (here.words, here.seen) != (there.words, there.seen):
            yield one.sites[here.site].line


# What a rule says of a conversation that raises, beside one like it that renders.


def raising_hit(
    message: str,
    failing: tuple[Render, str],
    sound: tuple[Render, str],
    *,
    crashed: Severity | None = None,
    refused: Severity | None = None,
    setting: Mapping[str, Json] | None = None,
) -> Hit:
    """Return a hit with the line and the cause of a failure; each render has its label.

    `crashed` and `refused` are its severity where the template crashes, and where it refuses on
    purpose; None leaves that of the rule. `setting` are the switches under which alone it raises.
    """
    raising, _ = failing
    return Hit(
        message,
        (compare_renders(*failing, *sound),),
        line=None if raising.error is None else raising.error.line,
        severity=crashed if raising.crashed else refused,
        cause=raising.cause,
        setting=setting or {},
    )


# Pieces of texts as messages of findings show them: short, quoted, in one line.


def rewriting_hit(message: str, shorter: tuple[Render, str], longer: tuple[Render, str]) -> Hit:
    """Report that a longer conversation does not begin as a shorter one, each with its label."""
    one, other = in_plain_words(shorter[0], longer[0])
    at = len(common_prefix(one.text, other.text))
    before, after = (each.text[at : at + _SHOWN] for each in (one, other))
    return Hit(
        f"{message}: {before!r} becomes {after!r}",
        (compare_renders(one, shorter[1], other, longer[1]),),
        line=one.line_at(at),
    )


_SHOWN = 30
"""So many characters are quoted of what is rewritten."""
LONGEST_QUOTE = 60
"""Characters of a quoted piece; what is longer is cut in the middle."""


def quote_text(text: str) -> str:
    """Return a piece of text in quotes, its control characters as escapes."""
    if len(text) > LONGEST_QUOTE:
        kept = LONGEST_QUOTE // 2
        text = f"{text[:kept]}…{text[-kept:]}"
    return one_line(repr(text))


def failure_words(render: Render) -> str:
    """Say how a render failed: that the template refuses, or what Jinja raised."""
    error = render.error
    if error is None:
        return "renders"
    reason = one_line(error.reason, 2 * LONGEST_QUOTE).rstrip(".")
    return f"is refused: {reason!r}" if error.refused else f"fails: {reason}"


def quoted_reasons(reason: str) -> tuple[str, ...]:
    """Return an exception's words in every form that messages quote them in."""
    whole, short = one_line(reason).rstrip("."), one_line(reason, 2 * LONGEST_QUOTE).rstrip(".")
    return whole, repr(short), short


def list_words(words: Sequence[str]) -> str:
    """Join words as a sentence does: ``a, b and c``."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last
