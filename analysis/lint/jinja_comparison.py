"""What another program's Jinja makes of whole conversations, judged by the template's own renders.

Contract: every conversation is asked or counted with the reason why not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile

from autoparser.analysis.loading.template import ChatTemplate, template_tokens

from .lint_renders import Render
from .other_jinjas import JinjaAnswer, JinjaQuestion, OtherJinja, ask

__all__ = ["JinjaComparison", "JinjaDifference", "SentConversation", "TagPlace", "compare"]


@dataclass(frozen=True, slots=True)
class SentConversation:
    """A conversation that the template renders, and what it is rendered with."""

    words: str
    variables: Mapping[str, object]
    render: Render
    judged: Mapping[str, object] | None = None
    """What the template itself rendered instead, where what is sent should become that text."""


@dataclass(frozen=True, slots=True)
class TagPlace:
    """A place of a template, and what stands there."""

    line: int
    """From 1."""
    text: str


@dataclass(frozen=True, slots=True)
class JinjaDifference:
    """A conversation that another program renders otherwise, or not at all."""

    sent: SentConversation
    answer: JinjaAnswer
    place: TagPlace | None
    """Where it failed, or what wrote the first character that is another; None: not known."""


@dataclass(frozen=True, slots=True)
class JinjaComparison:
    """All conversations in one program."""

    jinja: OtherJinja
    same: tuple[SentConversation, ...]
    """Those that it renders as the template is meant."""
    differences: tuple[JinjaDifference, ...]
    not_asked: Mapping[str, int]
    """How many were not asked, by reason."""

    @property
    def alike(self) -> int:
        """How many it renders as the template is meant."""
        return len(self.same)

    @property
    def asked(self) -> int:
        """How many were asked."""
        return self.alike + len(self.differences)

    @property
    def words(self) -> str:
        """Say in one line what was asked and what was not."""
        left = "".join(f"; {count} not asked: {why}" for why, count in self.not_asked.items())
        return f"{self.jinja.label} renders {self.alike} of {self.asked} conversations alike{left}"


def compare(
    jinja: OtherJinja,
    template: ChatTemplate,
    tokens: Mapping[str, str],
    clock: datetime,
    conversations: Sequence[SentConversation],
    not_asked: Mapping[str, int],
) -> JinjaComparison:
    """Have a program render the conversations; `not_asked` are counted already."""
    sent = [each.variables for each in conversations]
    answers = ask(jinja, JinjaQuestion(template.text, tokens, clock, sent))
    missing = Counter(not_asked)
    differences: list[JinjaDifference] = []
    same: list[SentConversation] = []
    for each, answer in zip(conversations, answers, strict=True):
        if not answer.asked:
            missing[answer.error] += 1
        elif answer.error or answer.text != each.render.text:
            place = _place(template, each, answer)
            differences.append(JinjaDifference(each, answer, place))
        else:
            same.append(each)
    return JinjaComparison(jinja, tuple(same), tuple(differences), missing)


def _place(template: ChatTemplate, sent: SentConversation, answer: JinjaAnswer) -> TagPlace | None:
    if answer.error:
        return None if answer.at is None else _tag(template.text, answer.at)
    usual = sent.render.text
    both = zip(usual, answer.text, strict=False)
    first = sum(1 for _ in takewhile(lambda two: two[0] == two[1], both))
    # What the other writes beyond the end comes after the last that is written here.
    span = template.source_map(sent.judged or sent.variables).span_at(min(first, len(usual) - 1))
    return None if span is None else _cut(_one_newline(template.text), span.start, span.end)


def _one_newline(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _tag(text: str, at: int) -> TagPlace:
    """Return the tag that holds a place."""
    begun = 0
    for token in template_tokens(text):
        if token.kind in ("block_begin", "variable_begin", "raw_begin"):
            begun = token.start
        if token.kind in ("block_end", "variable_end", "raw_begin") and token.end > at >= begun:
            return _cut(text, begun, token.end)
    return _cut(text, at, at)


def _cut(text: str, start: int, end: int) -> TagPlace:
    return TagPlace(text.count("\n", 0, start) + 1, text[start:end].strip())
