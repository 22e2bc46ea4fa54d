"""Generation prompts, held against the turns that they begin."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from autoparser.analysis.core.conversation import Dialogue, Message
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.text_alignment import TemplateLiteral, prefix_length
from autoparser.analysis.core.turn_shape import TurnOpening
from autoparser.analysis.learning.plain_words import plain_words
from autoparser.analysis.templates.environment import GENERATION_CLOSE, GENERATION_OPEN

from .hit import Hit, Severity
from .lint_renders import Render, compare_renders, in_plain_words, quote_text
from .rule_conversations import render_with
from .subject import Subject

# Markers that come in pairs, as their looks tell: how often a text opens and closes each.


_MARKER = re.compile(r"([<\[|｜]+)(/?)([|｜]*)([\w.:\-▁]+(?:[|｜][\w.:\-▁]+)*)")
_JOINT = re.compile(r"([_\-▁.:]+)")
_OPENS, _CLOSES = frozenset({"begin", "start", "bos"}), frozenset({"end", "eos"})


class MarkerPair(NamedTuple):
    """What an opening marker and its closing one have in common."""

    brackets: str
    name: tuple[str, ...]


class MarkerBalance(NamedTuple):
    """How often a text holds the markers of each pair."""

    opened: Counter[MarkerPair]
    closed: Counter[MarkerPair]
    spelled: dict[MarkerPair, str]
    """One marker of each pair, as it stands in the text."""
    within: dict[MarkerPair, frozenset[MarkerPair]]
    """The pairs that are open, and close later, where each pair first opens."""


def marker_balance(text: str, but: Collection[str] = ()) -> MarkerBalance:
    """Count the markers of a text; those of `but`, such as special tokens, are left out."""
    found = MarkerBalance(Counter(), Counter(), {}, {})
    for unit in TemplateLiteral.of(text).markers:
        if unit in but:
            continue
        pair, opens = _pair_of(unit)
        if pair is None:
            continue
        if opens:
            still = (each for each in found.opened if found.opened[each] > found.closed[each])
            found.within.setdefault(pair, frozenset(still))
        (found.opened if opens else found.closed)[pair] += 1
        found.spelled.setdefault(pair, unit)
    closing = {
        pair: frozenset(each for each in around if found.closed[each])
        for pair, around in found.within.items()
    }
    return found._replace(within=closing)


def unpaired_at(text: str, pair: MarkerPair) -> int:
    """Return where the first marker of a pair begins that has no other half, or 0.

    In ``<a>x<a>y</a>`` that is the first one, since the second opens before it is closed.
    """
    at, still = 0, -1
    for unit in TemplateLiteral.of(text).markers:
        at = text.find(unit, at)
        found, opens = _pair_of(unit)
        if found == pair:
            if opens == (still >= 0):
                return still if opens else at
            still = at if opens else -1
        at += len(unit)
    return max(still, 0)


def crossed_marker(text: str) -> tuple[str, str] | None:
    """Return a marker that opens within another, and the one that closes the outer before it.

    In ``<call><name>x</call></name>`` these are ``<name>`` and ``</call>``. Only pairs that open
    and close equally often are looked at: a marker that nothing closes may be a separator.
    """
    found = marker_balance(text)
    whole = {each for each in found.opened if found.opened[each] == found.closed[each]}
    still: list[tuple[MarkerPair, str]] = []
    for unit in TemplateLiteral.of(text).markers:
        pair, opens = _pair_of(unit)
        if pair is None or pair not in whole:
            continue
        if opens:
            still.append((pair, unit))
        elif still and still[-1][0] == pair:
            still.pop()
        else:
            return (still[-1][1], unit) if any(each == pair for each, _ in still) else None
    return None


def empty_blocks(text: str) -> Iterator[str]:
    """Yield each marker with the one that closes it after whitespace: ``<think> </think>``."""
    for one, other in pairwise(TemplateLiteral.of(text).markers):
        pair, opens = _pair_of(one)
        if opens and pair is not None and _pair_of(other) == (pair, False):
            found = re.search(rf"{re.escape(one)}\s*{re.escape(other)}", text)
            if found is not None:
                yield found.group()


def closes_marker(unit: str) -> bool:
    """Whether a marker closes another, as its looks tell."""
    pair, opens = _pair_of(unit)
    return pair is not None and not opens


def _pair_of(unit: str) -> tuple[MarkerPair | None, bool]:
    """Return the pair of a marker, and whether the marker opens it."""
    match = _MARKER.match(unit)
    if match is None:
        return None, False
    brackets, slash, more, name = match.groups()
    if slash:
        return MarkerPair(brackets + more, (name,)), False
    parts = _JOINT.split(name)
    if len(parts) > 1:
        for at, part in enumerate(parts):
            if part.lower() in _OPENS | _CLOSES:
                rest = tuple(other.lower() for other in (*parts[:at], *parts[at + 1 :]))
                return MarkerPair(brackets, rest), part.lower() in _OPENS
    return MarkerPair(brackets, (name,)), True


# What a template marks as generated by the model, for training on that alone.


_BLOCK = re.compile(f"{GENERATION_OPEN}(.*?){GENERATION_CLOSE}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class MarkedRender:
    """A conversation with what is trained on."""

    render: Render
    blocks: tuple[str, ...]
    """The texts of the generation blocks, in order."""
    behind: str
    """The text after the last block; all of it where there is none."""
    plain: Callable[[], MarkedRender | None] = field(
        default=lambda: None, compare=False, repr=False
    )
    """Renders again in plain words; None where they differ."""


def render_marked(
    subject: Subject, dialogue: Dialogue, *, tools: bool = False
) -> MarkedRender | None:
    """Render a conversation with the marks of generation blocks; None where it raises."""
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
    same = plain is not None and (plain.blocks, plain.behind) == words.value(
        (found.blocks, found.behind)
    )
    return plain if same else None


@dataclass(frozen=True, slots=True)
class TurnBeginning:
    """A generation prompt, and whole turns that a model may have written after it."""

    opening: TurnOpening
    prompt: Render
    plain: Render
    """The turn without reasoning."""
    reasoned: Render
    """The same turn with reasoning, whether the template writes it or not; where the one without
    goes on from the prompt, that one."""

    @property
    def begins_plain(self) -> bool:
        """Whether the turn without reasoning goes on from the prompt."""
        return _goes_on(self.prompt, self.plain, self.opening)

    @property
    def begins_reasoned(self) -> bool:
        """Whether the turn with reasoning goes on from the prompt."""
        return _goes_on(self.prompt, self.reasoned, self.opening)

    @property
    def comparable(self) -> bool:
        """Whether there is anything to compare."""
        return self.prompt.rendered and (self.plain.rendered or self.reasoned.rendered)

    def departing(self, subject: Subject, what: str) -> Hit:
        """Return the hit that the prompt does not begin `what`."""
        return Hit(
            f"the generation prompt does not begin {what}: {self.where()}",
            (compare_renders(self.prompt, "the prompt", self.plain, "the turn in the history"),),
            line=self.line,
            severity=self._severity(subject),
            setting=self.opening.setting,
        )

    def _severity(self, subject: Subject) -> Severity:
        """Weigh a prompt that does not begin the turn.

        Where only reasoning is missing from the history, most are meant so; and where turns do
        not follow each other, the model's own never comes into the history.
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
        """The template's line that ends the prompt."""
        return last_line(self.prompt)

    def where(self, *, reasoned: bool = False) -> str:
        """Quote the prompt's end and the turn's beginning, from where they part."""
        turn = self.reasoned if reasoned or not self.plain.rendered else self.plain
        prompt, turn = in_plain_words(self.prompt, turn)
        at = prefix_length(prompt.text, turn.text)
        start = min(at, len(prompt.text) - len(self.opening.text))
        begun = quote_text(prompt.text[start:])
        return f"{begun} against {quote_text(turn.text[start:][:_SHOWN])}"


_SHOWN = 40


def last_line(render: Render) -> int | None:
    """Return the template's line that wrote the end of a render."""
    return render.line_at(len(render.text.rstrip()) - 1)


def turn_beginnings(subject: Subject) -> Iterator[TurnBeginning]:
    """Return each setting's generation prompt, and turns of content after it."""
    content = subject.marks.content
    yield from _beginnings(subject, Message(content), tools=False)


def beginnings_of_calls(subject: Subject) -> Iterator[TurnBeginning]:
    """Return each setting's generation prompt, and turns of one call after it."""
    yield from _beginnings(subject, Message(calls=(subject.call(),)), tools=True)


def _beginnings(subject: Subject, message: Message, *, tools: bool) -> Iterator[TurnBeginning]:
    asked: Dialogue = (subject.user,)
    reasoned = Message(message.content, subject.marks.reasoning, message.calls)
    # What holds with nothing set is not said to hold under a switch.
    for opening in sorted(subject.format.openings, key=lambda each: len(each.setting)):
        setting = opening.setting
        if opening.text:
            prompt = render_with(subject, asked, setting, tools=tools, generation=True)
            plain = render_with(subject, subject.turn(message), setting, tools=tools)
            other = plain
            if not _goes_on(prompt, plain, opening):
                other = render_with(subject, subject.turn(reasoned), setting, tools=tools)
            yield TurnBeginning(opening, prompt, plain, other)


def _goes_on(prompt: Render, turn: Render, opening: TurnOpening) -> bool:
    """Whether a turn begins with the prompt, or with its opening and all that differs is no turn's.

    A word to the model behind all messages, as that it must call a tool, stands behind the turn,
    too, once that is one of them: `<user>Hi<note>Call.<assistant>` before `<user>Hi<assistant>Yes
    <note>Call.` (AP609 tells that.)
    """
    if not turn.rendered:
        return False
    if turn.text.startswith(prompt.text):
        return True
    before = prompt.text.removesuffix(opening.text)
    common = prefix_length(before, turn.text)
    return common < len(before) < len(prompt.text) and any(
        turn.text.startswith(opening.text, at)
        and turn.text.endswith(before[at:])
        and not before[at:].isspace()
        for at in range(common + 1)
    )
