"""The tools without which the text after a turn is the same: they are not rendered every turn.

A prompt may offer a hundred tools, and what a template writes after a turn hardly ever depends on
those that are not called. Whether it does is asked once for each kind of turn, of the render with
all tools: only where the text from the last message on is the same without the others, they are
left out from then on.
"""

from __future__ import annotations

from typing import TypeAlias

from autoparser.analysis.core.conversation import Message as Turn
from autoparser.analysis.core.errors import TemplateRenderError

from .history_renders import Message, Messages
from .skeleton import Base, Skeletons

MOST_KINDS = 256
"""Kinds of turns that are told apart at a time: the names that are called are part of a kind."""

_Kind: TypeAlias = tuple[object, ...]


class NeededTools:
    """Finds out which tools a conversation after a prompt can do without."""

    def __init__(self, skeletons: Skeletons) -> None:
        """Prepare; nothing is rendered yet."""
        self._skeletons = skeletons
        self._known: dict[_Kind, Base | None] = {}
        """None: the kind was seen once, which a proof is not worth."""

    def base(self, base: Base, turn: Turn, new: Messages) -> Base:
        """Return what stands before the turn, with no more tools than are needed."""
        return self._known.get(_kind(base, turn, new)) or base

    def learn(self, base: Base, turn: Turn, written: Message, new: Messages, text: str) -> None:
        """Prove at its second time that a kind of turn needs no tools but those that it names.

        `text` is the render with all of them, `written` the turn's message in it.
        """
        kind = _kind(base, turn, new)
        if len(base.renders.tools or ()) <= 1 or self._known.get(kind) is not None:
            return
        if kind not in self._known:
            if len(self._known) >= MOST_KINDS:
                self._known.clear()
            self._known[kind] = None
            return
        self._known[kind] = base
        try:
            fewer = self._skeletons.with_tools(base, _names(turn, new))
            again = fewer.renders.text([*fewer.messages, written, *new], generation=True)
        except TemplateRenderError:
            return
        rest = _rest(base, text)
        if rest is not None and rest == _rest(fewer, again):
            self._known[kind] = fewer


def _rest(base: Base, text: str) -> tuple[bool, str, str, str] | None:
    """Return a render from the last message's text on; None where what stands before is changed."""
    stays = text.startswith(base.head)
    if not stays and not (base.unthought and text.startswith(base.unthought)):
        return None
    start = len(base.head if stays else base.unthought)
    return stays, text[start:], base.tail, base.before[len(base.head) :]


def _kind(base: Base, turn: Turn, new: Messages) -> _Kind:
    roles = tuple(message.get("role") for message in new)
    return base.prompt, turn.presence, _names(turn, new), roles


def _names(turn: Turn, new: Messages) -> tuple[str, ...]:
    called = (call.name for call in turn.calls)
    return (*called, *(str(message["name"]) for message in new if "name" in message))
