r"""The format of an assistant turn: the value that parsers, grammars and reports read.

`TurnFormat` adds to the observed `TurnShape` the markers that follow from it, and `write`, which
writes a turn as the template would. From a format follow the literals between the parts of its
turns (`format_joints`); `stop_texts` says where turns end.

    >>> from autoparser import analyze, load_template
    >>> formats = analyze(load_template("fixtures/templates/a1-function-parameter.jinja")).formats
    >>> [*format_joints(formats.united)["content", "calls"]]
    ['\n\n']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec.structs import replace

from .call_format import CallLimit
from .conversation import Message, Presence
from .text_alignment import MarkerBlock, TemplateLiteral
from .turn_parts import TurnLayout, TurnPart
from .turn_shape import (
    PromptProgress,
    TurnShape,
    content_markers_beside,
    reasoning_block,
    turn_end_literals,
)
from .verdicts import EvidenceKind


class RefusedMessageError(ValueError):
    """The template raises on such a message."""


class TurnFormat(TurnShape, frozen=True):
    r"""The format of an assistant turn: the markers of its parts and its ends.

        format_.write(Message("Hello."))  # '<|im_start|>assistant\nHello.<|im_end|>\n'

    `repr` shows its parts and stop strings.
    """

    def __repr__(self) -> str:
        """Return the parts of turns and the stop strings in one line."""
        parts = ", ".join(part.value for part in TurnPart if part in self.shown_parts)
        stops = ", ".join(map(repr, self.stop_strings))
        ends = f" until {stops}" if stops else ""
        return f"<{type(self).__name__}: {self.header!r} {parts or 'nothing'}{ends}>"

    @cached_property
    def reasoning(self) -> MarkerBlock | None:
        """The markers around reasoning, or None if the format has none."""
        return reasoning_block(self)

    @cached_property
    def content(self) -> MarkerBlock:
        """The markers around content, which may be empty."""
        return content_markers_beside(self, self.reasoning)

    @cached_property
    def end_literals(self) -> tuple[TemplateLiteral, ...]:
        """The ends of turns, each with the whitespace between content and it."""
        return turn_end_literals(self)

    @property
    def evidence(self) -> dict[TurnPart, EvidenceKind]:
        """The evidence for each part that is parsed, in the order of the parts."""
        reasoning = {TurnPart.REASONING} if self.reasoning is not None else set[TurnPart]()
        # Reasoning that a prompt opens is in no layout, but has markers and is parsed.
        read = self.shown_parts | self.elsewhere | self.not_rendered.keys() | reasoning
        return {
            part: self.not_rendered.get(part, EvidenceKind.RENDER)
            for part in TurnPart
            if part in read
        }

    @cached_property
    def prompted_header(self) -> str:
        """The header if a generation prompt writes it; empty if the model writes it.

        One prompt may omit it, as some do after the result of a call; only if all prompts omit it
        does the model write it.
        """
        written = any(opening.written is not PromptProgress.NOTHING for opening in self.openings)
        return self.header if written else ""

    @cached_property
    def whole(self) -> TurnFormat:
        """The format with the whole header of the default prompt.

        If a switch varies the header, `header` is only the common part of all settings.
        """
        default = next(iter(self.openings), None)
        layouts = [layout for layout in self.layouts.values() if not layout.refusal]
        if (
            default is None
            or default.written is not PromptProgress.OTHER
            or not layouts
            or not default.text.startswith(self.header)
            or not all(layout.literals[0].startswith(default.text) for layout in layouts)
        ):
            return self
        return replace(self, header=default.text)

    def with_naming_ids(self, message: Message) -> Message:
        """Return the message with ids that contain the names, if names are not written apart."""
        calls = self.calls
        if calls is None or calls.naming is None:
            return message
        # Without ids of this form, the written turn would lose the names of the functions.
        named = (
            replace(call, id=calls.naming.write(call.name, calls.index_base + at))
            for at, call in enumerate(message.calls)
        )
        return replace(message, calls=tuple(named))

    def write(self, message: Message) -> str:
        """Write the turn as the template would, from the format alone.

        Raises RefusedMessageError if the template raises on such a message.
        """
        return "".join(self.pieces(message))

    def pieces(self, message: Message) -> list[str]:
        """Write the turn as `write` does, in pieces: literal, part, literal, and so on."""
        layout = self.layouts[message.presence]
        if layout.refusal:
            raise RefusedMessageError(layout.refusal)
        pieces = [layout.literals[0]]
        for part, literal in zip(layout.parts, layout.literals[1:], strict=True):
            pieces.append(self._write_part(part, layout, message))
            pieces.append(literal)
        return pieces

    def _write_part(self, part: TurnPart, layout: TurnLayout, message: Message) -> str:
        match part:
            case TurnPart.REASONING:
                return layout.reasoning.apply(message.reasoning)
            case TurnPart.CONTENT:
                return layout.content.apply(self.without_cut(message.content))
            case TurnPart.CALLS:
                if self.calls is None:
                    return ""
                if self.calls.limit is CallLimit.REFUSED and len(message.calls) > 1:
                    raise RefusedMessageError(CallLimit.REFUSED.value)
                refused = self.calls.refused_type(message.calls)
                if refused is not None:
                    raise RefusedMessageError(f"raises on an argument of type {refused}")
                return self.calls.write(message.calls)

    def without_cut(self, content: str) -> str:
        """Return the content without reasoning that the template cuts from it."""
        cut = self.reasoning_cut
        # The template splits content at its last closing marker, so the rest may have none.
        return content.rpartition(cut)[2] if cut else content


START = "start"
END = "end"


def format_joints(
    format_: TurnFormat,
) -> Mapping[tuple[str, str], Mapping[str, Sequence[Presence]]]:
    """Return the literals between two neighbors, each with the layouts that have it there.

    A neighbor is the name of a part, `start` or `end`.
    """
    seen: dict[tuple[str, str], dict[str, list[Presence]]] = {}
    for presence, layout in sorted(format_.layouts.items()):
        # A refused message has no text, so nothing can follow anything.
        if layout.refusal:
            continue
        stations = [START, *(part.value for part in layout.parts), END]
        for index, literal in enumerate(layout.literals):
            texts = seen.setdefault((stations[index], stations[index + 1]), {})
            texts.setdefault(literal, []).append(presence)
    return seen
