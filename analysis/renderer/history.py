"""Whether the template leaves the history as it was when new messages follow."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.conversation import Presence
from autoparser.analysis.expression import request_of
from autoparser.analysis.view.text_markers import reasoning_wrap

from .renders import Message, Messages
from .shares import shared
from .skeleton import Base, Skeletons
from .vocabulary import Vocabulary


class Kept(StrEnum):
    """What becomes of the turns before the last one."""

    ALL = "all stays"
    NOT_REASONING = "reasoning is dropped"
    CHANGED = "other text changes, too"


class History:
    """Finds out by renders, once for each kind of turn and each row of roles that follows."""

    def __init__(self, analysis: Analysis, skeletons: Skeletons, vocabulary: Vocabulary) -> None:
        """Prepare; nothing is rendered yet."""
        self._skeletons = skeletons
        self._vocabulary = vocabulary
        self._known: dict[tuple[Presence, tuple[str, ...], bool], Kept] = {}
        wrap = reasoning_wrap(analysis.format)
        self._open, self._close = wrap.open.strip(), wrap.close.strip()
        self._header = analysis.format.header.strip()

    def kept(
        self, base: Base, presence: Presence, turn: Message, new: Messages, roles: tuple[str, ...]
    ) -> Kept:
        """Say what becomes of earlier turns when `new` follows `turn`."""
        key = (presence, roles, bool(base.renders.tools))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._find(base, turn, new)
        return known

    def _find(self, base: Base, turn: Message, new: Messages) -> Kept:
        plain = self._stays(base, turn, new, reasoning=False)
        if plain is False:
            return Kept.CHANGED
        thought = self._stays(base, turn, new, reasoning=True)
        return Kept.NOT_REASONING if thought is False else Kept.ALL

    def _stays(self, base: Base, turn: Message, new: Messages, *, reasoning: bool) -> bool | None:
        """Say whether an earlier history stays; None where the template refuses all of them."""
        for calls in (True, False) if self._skeletons.calls else (False,):
            tool = next(iter(request_of(base.renders.tools).tools or ()), "")
            entries = self._skeletons.earlier(reasoning=reasoning, calls=calls, tool=tool)
            messages = self._skeletons.dialogue(entries)
            prompt = base.renders.attempt(messages, generation=True)
            after = base.renders.attempt([*messages, turn, *new], generation=True)
            if prompt is not None and after is not None:
                # What the prompt writes of the turn itself is asked for elsewhere.
                ended = base.renders.attempt(messages)
                before = prompt if ended is None else prompt[: shared(ended, prompt)]
                return after.startswith(before)
        return None

    def reasons(self, prompt: Sequence[int]) -> bool:
        """Whether a prompt holds reasoning, or nobody can tell."""
        if not self._close:
            return True
        close = self._vocabulary.single(self._close)
        if close is not None and close not in prompt:
            return False
        text = self._vocabulary.decode(prompt)
        at = text.find(self._close)
        while at >= 0:
            opened = [
                found + len(mark)
                for mark in (self._open, self._header)
                if mark and (found := text.rfind(mark, 0, at)) >= 0
            ]
            if text[max(opened, default=0) : at].strip():
                return True
            at = text.find(self._close, at + len(self._close))
        return False
