"""The battery's conversations, rendered by both templates, and where the texts part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autoparser.analysis.alignment import prefix_length
from autoparser.analysis.analysis import Analysis
from autoparser.analysis.check import battery, battery_tools
from autoparser.analysis.conversation import Answer, Dialogue, User
from autoparser.analysis.errors import TemplateRenderError
from autoparser.analysis.probing import Prober, choose_sentinels
from autoparser.analysis.roundtrip.replay import SYSTEM

CONTEXT = 60
"""Characters that are shown on either side of the first difference."""

_QUESTION = User("What is the weather in Oslo?")
_THANKS = User("Thank you. And tomorrow?")


@dataclass(frozen=True, slots=True)
class RenderChange:
    """A conversation that the two templates render differently."""

    conversation: str
    at: int
    """Characters that both texts have before they part."""
    before: str
    """The end of those."""
    left: str | None
    """What the one has from there on; None: it raises."""
    right: str | None
    left_error: str = ""
    """The template's words where it raises."""
    right_error: str = ""


@dataclass(frozen=True, slots=True)
class _Request:
    name: str
    dialogue: Dialogue
    tools: bool
    generation: bool


def changed_renders(left: Analysis, right: Analysis) -> tuple[tuple[RenderChange, ...], int]:
    """Render every conversation by both; give those that differ, and how many there are.

    Each template gets the messages in the shape that it takes, and one that reads a special token
    which only the other's files name gets it from there.
    """
    ours, theirs = _prober(left, right), _prober(right, left)
    requests = list(_requests())
    found = [
        change
        for request in requests
        if (change := _compared(request, _text(ours, request), _text(theirs, request))) is not None
    ]
    return tuple(found), len(requests)


def _prober(analysis: Analysis, other: Analysis) -> Prober:
    template = analysis.rendering
    known: Mapping[str, str] = {
        name: other.template.special_tokens.get(name, text)
        for name, text in analysis.stand_ins.items()
    }
    return Prober(
        template,
        choose_sentinels(template.text),
        tokens={**template.special_tokens, **known},
        tools=battery_tools(),
        shape=analysis.shape,
        setting=analysis.formats.fullest.setting,
    )


def _requests() -> Iterator[_Request]:
    for tools in (False, True):
        words = "with tools" if tools else "without tools"
        yield _Request(f"a question, {words}", (_QUESTION,), tools, generation=True)
    for case in battery():
        said = case.message
        answers = tuple(Answer("Sunny.", call.name, call.id) for call in said.calls)
        yield _Request(f"{case.title}, last", (_QUESTION, said), tools=True, generation=False)
        dialogue: Dialogue = (_QUESTION, said, *answers)
        if answers:
            yield _Request(f"{case.title}, then answers", dialogue, tools=True, generation=True)
        yield _Request(
            f"{case.title}, then a user", (*dialogue, _THANKS), tools=True, generation=True
        )


def _text(prober: Prober, request: _Request) -> str | TemplateRenderError:
    messages = prober.shape.messages(request.dialogue, SYSTEM)
    try:
        return prober.render_messages(messages, tools=request.tools, generation=request.generation)
    except TemplateRenderError as error:
        return error


def _compared(
    request: _Request, left: str | TemplateRenderError, right: str | TemplateRenderError
) -> RenderChange | None:
    refused = isinstance(left, TemplateRenderError), isinstance(right, TemplateRenderError)
    # What a template says when it raises is no behaviour that a model or a cache sees.
    if left == right or all(refused):
        return None
    ours = "" if isinstance(left, TemplateRenderError) else left
    theirs = "" if isinstance(right, TemplateRenderError) else right
    at = 0 if any(refused) else prefix_length(ours, theirs)
    return RenderChange(
        request.name,
        at,
        ours[max(0, at - CONTEXT) : at],
        None if refused[0] else ours[at : at + CONTEXT],
        None if refused[1] else theirs[at : at + CONTEXT],
        left.reason if isinstance(left, TemplateRenderError) else "",
        right.reason if isinstance(right, TemplateRenderError) else "",
    )
