"""A turn under each value of each switch, as the template renders it."""

from __future__ import annotations

from collections.abc import Sequence

from autoparser.analysis.overview.portrait import SwitchView
from autoparser.reports.setting_words import setting_words
from autoparser.reports.visible import visible

from .element import Element, Node, fragment, h
from .page_parts import lead, opening
from .phases import difference

__all__ = ["switch_views"]


def switch_views(views: Sequence[SwitchView]) -> Element:
    """Fold a view for each setting that changes something; the first is what nothing set gives."""
    usual, *others = views
    alike = [each for each in others if _texts(each) == _texts(usual)]
    changing = [each for each in others if each not in alike]
    names = [fragment(" ", h("code", setting_words(each.setting))) for each in alike]
    return fragment(
        lead("What follows the question in the prompt, and what the template writes of a turn."),
        [_view(each) for each in (usual, *changing)],
        h("p", "The same as with nothing set:", names) if alike else None,
    )


def _texts(view: SwitchView) -> tuple[str, str, str]:
    return view.prompt, view.turn.text, view.turn.refusal


def _view(view: SwitchView) -> Element:
    name = setting_words(view.setting) or "nothing set"
    return opening(
        h("b", name, class_="what"),
        h("h3", "The prompt ends with"),
        _text(view.prompt, f"The prompt's end, {name}"),
        h("h3", "The turn in the history"),
        h("p", visible(view.turn.refusal), class_="bad")
        if view.turn.refusal
        else _text(view.turn.text, f"The turn, {name}"),
    )


def _text(text: str, label: str) -> Node:
    return difference("", text, "", "both", label) if text else h("p", "nothing", class_="dim")
