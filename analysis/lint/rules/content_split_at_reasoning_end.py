"""Texts that are cut at a marker that they contain.

A template with `message.content.split('</thought>')[-1]` renders only the second half of:

    What is new?</thought>Let me look.
    a user's message that contains '</thought>' loses the text before it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

from autoparser.analysis.core.conversation import Message, UserMessage
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import Render, compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule import RuleNeed
from autoparser.analysis.lint.rule_conversations import render_answer, render_earlier, render_result
from autoparser.analysis.lint.subject import Subject

SHORTEST, LONGEST = 3, 60


class _Place(NamedTuple):
    """A place for a text that mentions a marker."""

    whose: str
    """The owner of the text, e.g. ``a user's message``."""
    plays: Sequence[Callable[[str], Render]]
    """Renderers of a text in that place, e.g. as the last answer and as an earlier one."""
    answers: bool = False
    """Whether it is an answer of the model, e.g. False for ``a user's message``."""
    reasoning: bool = False
    """Whether it is reasoning, e.g. the text in ``<think>…</think>``, which cannot mention its own
    end and be read whole."""


@rule("AP304")
def check(subject: Subject) -> Iterator[Hit]:
    """Insert the template's own text constants into each speaker's text, and report lost text."""
    constants = _constants(subject)
    for place in _places(subject):
        yield from _lost_at_markers(subject, place, constants)


def _lost_at_markers(subject: Subject, place: _Place, constants: Sequence[str]) -> Iterator[Hit]:
    """Report the first marker before which, and the first after which, text is lost."""
    before, behind = subject.marks.reasoning, subject.marks.content
    usual = [play(behind) for play in place.plays]
    if not all(behind in render.text for render in usual):
        return
    # One render shows whether any of them matters.
    mixed = behind + "".join(constant + behind for constant in constants)
    # Each marker is between two words, so that none may be missing.
    count = len(constants) + 1
    if all(play(mixed).text.count(behind) == count for play in place.plays):
        return
    markers = subject.analysis.markers
    losses: dict[tuple[str, bool], tuple[str, Render, Render]] = {}
    for constant, (play, plain) in product(constants, zip(place.plays, usual, strict=True)):
        render = play(f"{before}{constant}{behind}")
        lost = [word for word in (before, behind) if word not in render.text]
        if render.rendered and lost and not _lost_unmarked(subject, play, constant, lost):
            loss = "all" if len(lost) > 1 else _SIDES[lost[0] == before]
            opened = loss == _SIDES[False] and (
                constant.strip() in markers.reasoning_start
                or any(
                    behind in play(f"{before}{constant}{other}{behind}").text for other in constants
                )
            )
            # The constant may be a command, and content may contain a block of reasoning. If the
            # template splits that at its known end, splitting at another marker is a fault.
            known = (markers.reasoning_start, markers.reasoning_end)
            of_block = any(
                constant.strip() in marker or marker.strip() in constant for marker in known
            )
            first = losses.get((_SIDES[True], True), ("",))[0]
            split = loss == _SIDES[True] and (of_block or first != markers.reasoning_end)
            split = split or opened
            meant = loss == "all" or place.reasoning or (place.answers and split)
            losses.setdefault((loss, meant), (constant, render, plain))
    for (loss, meant), (constant, render, plain) in losses.items():
        yield Hit(
            f"{place.whose} that contains {quote_text(constant.strip())} loses {loss}",
            (compare_renders(render, "with the marker", plain, "without"),),
            line=render.line_of(before if behind not in render.text else behind),
            severity=None if meant else Severity.ERROR,
        )


def _lost_unmarked(
    subject: Subject, play: Callable[[str], Render], constant: str, lost: Sequence[str]
) -> bool:
    """Return whether the text is also lost with another word for the marker: at its line breaks."""
    word = constant.replace(constant.strip(), subject.marks.next_user)
    other = play(f"{subject.marks.reasoning}{word}{subject.marks.content}").text
    return not any(word in other for word in lost)


_SIDES = {True: "the text before it", False: "the text after it"}


def _places(subject: Subject) -> Iterator[_Place]:
    def question(text: str) -> Render:
        return subject.play((UserMessage(text),), generation=True)

    def system_message(text: str) -> Render:
        return subject.play((subject.user,), system=text, generation=True)

    def reasoning(text: str) -> Render:
        # The sentinel for reasoning is in the text, so the answer needs another.
        message = Message(subject.marks.values[0], text)
        return subject.play(subject.turn(message), tools=subject.format.calls is not None)

    answers = partial(render_answer, subject), partial(render_earlier, subject)
    yield _Place("content", answers, answers=True)
    yield _Place("a user's message", (question,))
    if not subject.shape.system:
        yield _Place("a system message", (system_message,))
    if subject.has(RuleNeed.REASONING):
        yield _Place("reasoning", (reasoning,), reasoning=True)
    if subject.format.calls is not None:
        yield _Place("a tool's result", (partial(render_result, subject),))


def _constants(subject: Subject) -> Sequence[str]:
    """Return candidates for the end of reasoning: the known one first, then by length."""
    known = subject.analysis.markers.reasoning_end
    others = {
        text
        for text in subject.suggestions.constants
        if SHORTEST <= len(text.strip()) <= LONGEST and not text.strip().isalnum()
    }
    return [*filter(None, [known]), *sorted(others - {known}, key=lambda text: (len(text), text))]
