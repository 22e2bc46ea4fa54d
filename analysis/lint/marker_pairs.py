"""Paired markers, generation blocks, and generation prompts compared with the turns they begin.

In `<call><name>look</call>` the pair `call` is opened and closed once, the pair `name` only opened.

    >>> found = marker_balance("<|turn_begin|>a<think>b<|turn_end|>")
    >>> turn, think = MarkerPair("<|", ("turn", "_")), MarkerPair("<", ("think",))
    >>> found.opened[turn], found.closed[turn]
    (1, 1)
    >>> found.opened[think], found.closed[think], found.within[think] == {turn}
    (1, 0, True)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

from autoparser.analysis.core.conversation import Dialogue, Message
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.text_alignment import TemplateLiteral, prefix_length
from autoparser.analysis.core.turn_shape import TurnOpening
from autoparser.analysis.learning.plain_words import plain_words
from autoparser.analysis.templates.environment import GENERATION_CLOSE, GENERATION_OPEN

from .hit import Hit, Severity
from .hit_words import quote_text
from .lint_renders import Render, compare_renders, in_plain_words
from .rule_conversations import render_with
from .subject import Subject

# Markers that come in pairs, recognized by their spelling alone: a slash, or begin and end.


# Besides ASCII, markers have full-width bars, and `▁` in place of spaces: `<｜call▁end｜>`.
_MARKER = re.compile(r"([<\[|｜]+)(/?)([|｜]*)([\w.:\-▁]+(?:[|｜][\w.:\-▁]+)*)")
_JOINT = re.compile(r"([_\-▁.:]+)")
_OPENS, _CLOSES = frozenset({"begin", "start", "bos"}), frozenset({"end", "eos"})


class MarkerPair(NamedTuple):
    """The common part of an opening and a closing marker."""

    brackets: str
    """Its brackets, e.g. ``<|``."""
    name: tuple[str, ...]
    """Its name without begin or end, e.g. ``("tool", "_", "call", "_")`` of ``<|tool_call_begin|>``
    and ``<|tool_call_end|>``."""


class MarkerBalance(NamedTuple):
    """The counts of a text's paired markers."""

    opened: Counter[MarkerPair]
    """The number of opening markers, by pair, e.g. ``{MarkerPair("<", ("think",)): 1}``."""
    closed: Counter[MarkerPair]
    """The number of closing markers, by pair, e.g. ``{MarkerPair("<|", ("header",)): 2}``."""
    spelled: dict[MarkerPair, str]
    """One marker of each pair as spelled in the text, e.g. ``<think>``."""
    within: dict[MarkerPair, frozenset[MarkerPair]]
    """For each pair, the pairs around its first opening marker that close later, e.g.
    ``frozenset()`` for ``<think>`` outside all."""


def marker_balance(text: str, but: Collection[str] = ()) -> MarkerBalance:
    """Count the paired markers of a text, except those in `but`, e.g. special tokens."""
    found = MarkerBalance(Counter(), Counter(), {}, {})
    for marker in TemplateLiteral.of(text).markers:
        if marker in but:
            continue
        pair, opens = _pair_of(marker)
        if pair is None:
            continue
        if opens:
            still = (other for other in found.opened if found.opened[other] > found.closed[other])
            found.within.setdefault(pair, frozenset(still))
        (found.opened if opens else found.closed)[pair] += 1
        found.spelled.setdefault(pair, marker)
    # A marker that opens and never closes is a separator, and encloses nothing.
    closing = {
        pair: frozenset(other for other in around if found.closed[other])
        for pair, around in found.within.items()
    }
    return found._replace(within=closing)


def pair_halves(text: str, pair: MarkerPair) -> list[str]:
    """Return the spellings of a pair's markers in a text, e.g. ``["<think>", "</think>"]``."""
    markers = dict.fromkeys(TemplateLiteral.of(text).markers)
    halves = [marker for marker in markers if _pair_of(marker)[0] == pair]
    return sorted(halves, key=closes_marker)


def unpaired_at(text: str, pair: MarkerPair) -> int:
    """Return the offset of the first marker without its other half, or 0.

    In ``<a>x<a>y</a>`` it is the first marker, because the second opens before it is closed.
    """
    offset, still = 0, -1
    for marker in TemplateLiteral.of(text).markers:
        offset = text.find(marker, offset)
        found, opens = _pair_of(marker)
        if found == pair:
            # A second opener before a closer, or a closer without an opener.
            if opens == (still >= 0):
                return still if opens else offset
            still = offset if opens else -1
        offset += len(marker)
    return max(still, 0)


def crossed_marker(text: str) -> tuple[str, str] | None:
    """Return a marker that opens within another, and the one that closes the outer before it.

    In ``<call><name>x</call></name>`` these are ``<name>`` and ``</call>``. Only pairs that open
    and close equally often count: a marker that is never closed may be a separator.
    """
    found = marker_balance(text)
    whole = {pair for pair in found.opened if found.opened[pair] == found.closed[pair]}
    still: list[tuple[MarkerPair, str]] = []
    for marker in TemplateLiteral.of(text).markers:
        pair, opens = _pair_of(marker)
        if pair is None or pair not in whole:
            continue
        if opens:
            still.append((pair, marker))
        elif still and still[-1][0] == pair:
            still.pop()
        else:
            # It closes an outer marker while an inner one is open.
            return (still[-1][1], marker) if any(other == pair for other, _ in still) else None
    return None


def empty_blocks(text: str) -> Iterator[str]:
    """Yield each opening marker that is closed after whitespace alone: ``<think> </think>``."""
    for one, other in pairwise(TemplateLiteral.of(text).markers):
        pair, opens = _pair_of(one)
        if opens and pair is not None and _pair_of(other) == (pair, False):
            found = re.search(rf"{re.escape(one)}\s*{re.escape(other)}", text)
            if found is not None:
                yield found.group()


def closes_marker(unit: str) -> bool:
    """Return whether a marker closes another, by its spelling."""
    pair, opens = _pair_of(unit)
    return pair is not None and not opens


def _pair_of(marker: str) -> tuple[MarkerPair | None, bool]:
    """Return the pair of a marker, and whether the marker opens it."""
    match = _MARKER.match(marker)
    if match is None:
        return None, False
    brackets, slash, more, name = match.groups()
    # E.g. `</think>`, `<|/header|>` and `</|header|>`.
    if slash:
        return MarkerPair(brackets + more, (name,)), False
    # A lone word, as in `<end>`, is a name, not half of a pair.
    parts = _JOINT.split(name)
    if len(parts) > 1:
        for index, part in enumerate(parts):
            if part.lower() in _OPENS | _CLOSES:
                rest = tuple(other.lower() for other in (*parts[:index], *parts[index + 1 :]))
                return MarkerPair(brackets, rest), part.lower() in _OPENS
    return MarkerPair(brackets, (name,)), True


# Text that a template marks as generated, so that training uses nothing else.


_BLOCK = re.compile(f"{GENERATION_OPEN}(.*?){GENERATION_CLOSE}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class MarkedRender:
    """A conversation with the texts of its generation blocks."""

    render: Render
    r"""The render without the marks, e.g. the `Render` with the text
    ``"<|assistant|>wpzqqmqw<|end|>\n"``."""
    blocks: tuple[str, ...]
    """The texts of the generation blocks, in order, e.g. ``("Hi<|end|>",)``."""
    behind: str
    r"""The text after the last block, e.g. ``"\n"``; without a block, the whole text."""
    plain: Callable[[], MarkedRender | None] = field(
        default=lambda: None, compare=False, repr=False
    )
    """Renders again in plain words, e.g. ``"Let me look."`` for ``"wpzqqmqw"``; None if those
    differ."""


def render_marked(
    subject: Subject, dialogue: Dialogue, *, tools: bool = False
) -> MarkedRender | None:
    """Render a conversation with its generation blocks marked.

    Returns None if the template has no such blocks, or raises.
    """
    if not subject.template.marks_generation:
        return None
    render = subject.play(dialogue, tools=tools)
    if not render.rendered:
        return None
    given = subject.variables(render, tools=tools, generation=False)
    found = _read_blocks(subject, render, given)
    return found and replace(found, plain=partial(_plain_blocks, subject, found, given))


def _read_blocks(
    subject: Subject, render: Render, given: Mapping[str, object]
) -> MarkedRender | None:
    try:
        text = subject.rendering.render_generation(given)
    except TemplateRenderError:
        return None
    return MarkedRender(render, tuple(_BLOCK.findall(text)), text.rpartition(GENERATION_CLOSE)[2])


def _plain_blocks(
    subject: Subject, found: MarkedRender, given: Mapping[str, object]
) -> MarkedRender | None:
    words, render = plain_words(subject.template.text), found.render.plain()
    plain = None if render is None else _read_blocks(subject, render, words.variables(given))
    # Blocks may depend on the words; then the sentinels stay in the evidence.
    same = plain is not None and (plain.blocks, plain.behind) == words.value(
        (found.blocks, found.behind)
    )
    return plain if same else None


class TurnBeginning(Struct, frozen=True):
    """A generation prompt, and complete turns that the model may have written after it."""

    opening: TurnOpening
    """The setting and text of the prompt, e.g. ``"<|assistant|>\n<think>\n"``."""
    prompt: Render
    """The conversation that ends with the generation prompt, e.g.
    ``"<|user|>pkvrbnwj<|end|><|assistant|><thought>"``."""
    plain: Render
    """The conversation with the turn, without reasoning, e.g. an answer ``"wpzqqmqw"`` after that
    user."""
    reasoned: Render
    """The same with reasoning, e.g. ``"dxdpspvg"``, unless the turn without it extends the prompt.
    """

    @property
    def begins_plain(self) -> bool:
        """Whether the turn without reasoning extends the prompt."""
        return _goes_on(self.prompt, self.plain, self.opening)

    @property
    def begins_reasoned(self) -> bool:
        """Whether the turn with reasoning extends the prompt."""
        return _goes_on(self.prompt, self.reasoned, self.opening)

    @property
    def comparable(self) -> bool:
        """Whether the prompt and a turn rendered."""
        return self.prompt.rendered and (self.plain.rendered or self.reasoned.rendered)

    def departing(self, subject: Subject, what: str) -> Hit:
        """Return a hit: the prompt is not a prefix of `what`."""
        return Hit(
            f"the generation prompt is not a prefix of {what}: {self.where()}",
            (compare_renders(self.prompt, "the prompt", self.plain, "the turn in the history"),),
            line=self.line,
            severity=self._severity(subject),
            setting=self.opening.setting,
        )

    def _severity(self, subject: Subject) -> Severity:
        """Return the severity of a prompt that is not a prefix of the turn.

        If the history only lacks reasoning, the author probably intends it; and in templates that
        do not append turns, the model's own turn never enters the history.
        """
        alone = subject.play((subject.user,))
        if self.opening.setting or not self.plain.text.startswith(alone.text):
            return Severity.WARNING
        written = self.opening.text
        before = self.prompt.text[: len(self.prompt.text) - len(written)]
        head = before + subject.format.header.rstrip()
        differs = not self.plain.text.startswith(head) or not self.prompt.text.startswith(head)
        only_header = written.strip() == subject.format.header.strip()
        return Severity.ERROR if differs or only_header else Severity.WARNING

    @property
    def line(self) -> int | None:
        """The template's line that wrote the end of the prompt."""
        return last_line(self.prompt)

    def where(self, *, reasoned: bool = False) -> str:
        """Quote the prompt's end and the turn's beginning, from the first difference."""
        turn = self.reasoned if reasoned or not self.plain.rendered else self.plain
        prompt, turn = in_plain_words(self.prompt, turn)
        common = prefix_length(prompt.text, turn.text)
        # Quote the generation prompt from its start, even if the turn agrees with a part of it.
        start = min(common, len(prompt.text) - len(self.opening.text))
        begun = quote_text(prompt.text[start:])
        return f"{begun} in the prompt, {quote_text(turn.text[start:][:_SHOWN])} in the turn"


_SHOWN = 40
"""The number of quoted characters of a turn."""


def last_line(render: Render) -> int | None:
    """Return the template's line that wrote the end of a render."""
    return render.line_at(len(render.text.rstrip()) - 1)


def turn_beginnings(subject: Subject) -> Iterator[TurnBeginning]:
    """Yield each setting's generation prompt, with turns of content."""
    content = subject.marks.content
    yield from _turn_beginnings(subject, Message(content), tools=False)


def beginnings_of_calls(subject: Subject) -> Iterator[TurnBeginning]:
    """Yield each setting's generation prompt, with turns of one call."""
    yield from _turn_beginnings(subject, Message(calls=(subject.call(),)), tools=True)


def _turn_beginnings(subject: Subject, message: Message, *, tools: bool) -> Iterator[TurnBeginning]:
    asked: Dialogue = (subject.user,)
    reasoned = Message(message.content, subject.marks.reasoning, message.calls)
    # The default setting comes first, so its faults are not attributed to a switch.
    for opening in sorted(subject.format.openings, key=lambda opening: len(opening.setting)):
        setting = opening.setting
        # Without a text of its own, a prompt cannot depart from the turn.
        if opening.text:
            prompt = render_with(subject, asked, setting, tools=tools, generation=True)
            plain = render_with(subject, subject.turn(message), setting, tools=tools)
            # A prompt that opens reasoning is a prefix only of turns with reasoning.
            other = plain
            if not _goes_on(prompt, plain, opening):
                other = render_with(subject, subject.turn(reasoned), setting, tools=tools)
            yield TurnBeginning(opening, prompt, plain, other)


def _goes_on(prompt: Render, turn: Render, opening: TurnOpening) -> bool:
    """Return whether a turn extends the prompt, if needed without text after all messages.

    A note to the model after all messages, such as that it must call a tool, also follows the turn
    once it is one of the messages: `<user>Hi<note>Call.<assistant>` before `<user>Hi<assistant>Yes
    <note>Call.` AP609 reports that.
    """
    if not turn.rendered:
        return False
    if turn.text.startswith(prompt.text):
        return True
    before = prompt.text.removesuffix(opening.text)
    common = prefix_length(before, turn.text)
    return common < len(before) < len(prompt.text) and any(
        turn.text.startswith(opening.text, start)
        and turn.text.endswith(before[start:])
        and not before[start:].isspace()
        for start in range(common + 1)
    )
