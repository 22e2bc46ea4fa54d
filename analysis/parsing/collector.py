"""Gathering what the readers find into deltas and, in the end, the message."""

from __future__ import annotations

from dataclasses import dataclass, field

from autoparser.analysis.reading import Span

from .message import Delta, DeltaKind, ParsedCall, ParsedMessage, Status


@dataclass(slots=True)
class _Prose:
    """A text whose leading whitespace is kept back until something stands behind it."""

    kind: DeltaKind
    pieces: list[str] = field(default_factory=list[str])
    waiting: str = ""
    fresh: bool = True
    """Nothing came yet, or nothing since a call: whitespace waits for what stands behind it."""

    def text(self) -> str | None:
        """Give the whole; None where there was nothing but whitespace."""
        return "".join(self.pieces) or None


class Collector:
    """Takes what the readers find, in order."""

    __slots__ = (
        "_call",
        "_calls",
        "_content",
        "_given_up",
        "_pieces",
        "_reasoning",
        "deltas",
        "known",
        "status",
        "whole_calls",
    )

    def __init__(self, known: frozenset[str] | None, *, inline: bool, whole_calls: bool) -> None:
        """`known` are the tools offered, None: any; `inline` keeps reasoning in the content."""
        self.deltas: list[Delta] = []
        self.known = known
        self.status = Status.OK
        self.whole_calls = whole_calls
        self._content = _Prose(DeltaKind.CONTENT)
        self._reasoning = self._content if inline else _Prose(DeltaKind.REASONING)
        self._calls: list[ParsedCall] = []
        self._call: tuple[str, str] | None = None
        self._pieces: list[str] = []
        self._given_up = 0

    def reasoning(self, text: str) -> None:
        """Add to the reasoning."""
        self._add(self._reasoning, text)

    def content(self, text: str) -> None:
        """Add to the content."""
        self._add(self._content, text)

    def _add(self, prose: _Prose, text: str) -> None:
        if not text:
            return
        if prose.fresh:
            if text.isspace():
                prose.waiting += text
                return
            text = prose.waiting + text
            prose.waiting = ""
            prose.fresh = False
        prose.pieces.append(text)
        self.deltas.append(Delta(prose.kind, text))

    def forget(self) -> None:
        """Forget the text so far: the prompt wrote it."""
        for prose in (self._content, self._reasoning):
            prose.pieces = []

    def drop_blank(self) -> None:
        """Forget whitespace behind which nothing came: it stood between two parts."""
        self._content.waiting = self._reasoning.waiting = ""
        self._content.fresh = True

    def open_call(self, name: str, call_id: str = "") -> None:
        """Begin a call; from here on it is one."""
        self._call = (name, call_id)
        self._pieces = []
        if not self.whole_calls:
            self.deltas.append(Delta(DeltaKind.CALL, name, self._index, call_id))

    def arguments(self, text: str) -> None:
        """Add to the arguments of the open call."""
        if text:
            self._pieces.append(text)
            if not self.whole_calls:
                self.deltas.append(Delta(DeltaKind.ARGUMENTS, text, self._index))

    def name_call(self, call_id: str) -> None:
        """Give the open call its id, where that is written behind its name."""
        if self._call is not None:
            self._call = (self._call[0], call_id)

    @property
    def _index(self) -> int:
        """The index of the open call among all that were opened."""
        return len(self._calls) + self._given_up

    @property
    def calling(self) -> bool:
        """Whether a call is open."""
        return self._call is not None

    @property
    def calls(self) -> int:
        """How many calls have closed."""
        return len(self._calls)

    def close_call(self, status: Status) -> None:
        """End the open call."""
        if self._call is None:
            return
        name, call_id = self._call
        if self.known is not None and name not in self.known:
            status = Status.UNKNOWN_TOOL
        arguments = "".join(self._pieces)
        if self.whole_calls:
            index = self._index
            self.deltas.append(Delta(DeltaKind.CALL, name, index, call_id))
            self.deltas.append(Delta(DeltaKind.ARGUMENTS, arguments, index))
        self._calls.append(ParsedCall(name, arguments, call_id, status))
        self._call = None

    def give_up_call(self) -> None:
        """Forget the open call: it could not be read. Its index is not given again."""
        if self._call is not None and not self.whole_calls:
            self._given_up += 1
        self._call = None
        self.status = Status.MALFORMED

    def message(self, spans: tuple[Span, ...], *, complete: bool) -> ParsedMessage:
        """Give the message as far as it has come."""
        partial = None
        if self._call is not None:
            name, call_id = self._call
            partial = ParsedCall(name, "".join(self._pieces), call_id, Status.CUT)
        status = self.status
        if partial is not None or not complete:
            status = Status.CUT
        elif status is Status.OK and any(call.status is Status.REPAIRED for call in self._calls):
            status = Status.REPAIRED
        reasoning = None if self._reasoning is self._content else self._reasoning.text()
        return ParsedMessage(
            self._content.text(), reasoning, tuple(self._calls), partial, status, spans
        )
