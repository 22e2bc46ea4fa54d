"""What an assistant turn looks like: the one value that everything after the analysis reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.evidence_kind import EvidenceKind

from .call import CallLimit
from .content import content_of
from .end_literals import end_literals_of
from .layout import Layout, Part
from .literal import Block, Literal
from .reasoning import reasoning_of
from .shape import TurnShape, Written


class RefusedMessageError(ValueError):
    """The template does not write such a message: it raises."""


@dataclass(frozen=True)
class TurnFormat(TurnShape):
    """An assistant turn, and what follows from how it was seen.

    It is answered once: what opens and closes a part, what ends a turn.
    """

    @cached_property
    def reasoning(self) -> Block | None:
        """What opens and closes reasoning; None where nothing does."""
        return reasoning_of(self)

    @cached_property
    def content(self) -> Block:
        """What opens and closes content."""
        return content_of(self, self.reasoning)

    @cached_property
    def end_literals(self) -> tuple[Literal, ...]:
        """The texts that end a turn, each with the whitespace between it and content."""
        return end_literals_of(self)

    @property
    def evidence(self) -> dict[Part, EvidenceKind]:
        """What is the evidence for each part that is read, in the order of the parts."""
        reasoning = {Part.REASONING} if self.reasoning is not None else set[Part]()
        read = self.shown | self.elsewhere | self.not_rendered.keys() | reasoning
        return {
            part: self.not_rendered.get(part, EvidenceKind.RENDER) for part in Part if part in read
        }

    @cached_property
    def prompted_header(self) -> str:
        """The header, where a generation prompt writes it; empty where the model writes it.

        One prompt may leave it out, as some do after the result of a call; where all do, nobody
        but the model is left to write it.
        """
        written = any(opening.written is not Written.NOTHING for opening in self.openings)
        return self.header if written else ""

    @cached_property
    def whole(self) -> TurnFormat:
        """The format with its whole header.

        Where a switch varies the header's front, that is what the default prompt writes of it.
        """
        default = next(iter(self.openings), None)
        layouts = [layout for layout in self.layouts.values() if not layout.refusal]
        if (
            default is None
            or default.written is not Written.OTHER
            or not layouts
            or not default.text.startswith(self.header)
            or not all(layout.literals[0].startswith(default.text) for layout in layouts)
        ):
            return self
        return replace(self, header=default.text)

    def with_naming_ids(self, message: Message) -> Message:
        """Return the message with ids that carry the names, where nothing else of a call does."""
        calls = self.calls
        if calls is None or calls.naming is None:
            return message
        named = (
            replace(call, id=calls.naming.write(call.name, calls.index_base + at))
            for at, call in enumerate(message.calls)
        )
        return replace(message, calls=tuple(named))

    def write(self, message: Message) -> str:
        """Write the turn as the template would, from the format alone.

        Raises RefusedMessageError where the template raises on such a message.
        """
        return "".join(self.pieces(message))

    def pieces(self, message: Message) -> list[str]:
        """Write the turn as `write` does, in pieces: a literal, a part, a literal, and so on."""
        layout = self.layouts[message.presence]
        if layout.refusal:
            raise RefusedMessageError(layout.refusal)
        pieces = [layout.literals[0]]
        for part, literal in zip(layout.parts, layout.literals[1:], strict=True):
            pieces.append(self._write_part(part, layout, message))
            pieces.append(literal)
        return pieces

    def _write_part(self, part: Part, layout: Layout, message: Message) -> str:
        match part:
            case Part.REASONING:
                return layout.reasoning.apply(message.reasoning)
            case Part.CONTENT:
                return layout.content.apply(self.without_cut(message.content))
            case Part.CALLS:
                if self.calls is None:
                    return ""
                if self.calls.limit is CallLimit.REFUSED and len(message.calls) > 1:
                    raise RefusedMessageError(CallLimit.REFUSED.value)
                refused = self.calls.refused_type(message.calls)
                if refused is not None:
                    raise RefusedMessageError(f"raises on an argument of type {refused}")
                return self.calls.write(message.calls)

    def without_cut(self, content: str) -> str:
        """Return what is left of a content out of which the template cuts reasoning."""
        cut = self.reasoning_cut
        return content.rpartition(cut)[2] if cut else content
