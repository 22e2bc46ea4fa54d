r"""The parts of an assistant turn, their layout, and the whitespace stripped from their edges.

For example, the layout of a turn that has only content, and content as such a template writes it:

    >>> edges = StrippedEdges(EdgeStrip.NEWLINE, EdgeStrip.WHITESPACE)
    >>> layout = TurnLayout((TurnPart.CONTENT,), ("<|assistant|>", "<|end|>"), content=edges)
    >>> before, after = layout.literals
    >>> before + layout.content.apply("\n\nHello. \n") + after
    '<|assistant|>\nHello.<|end|>'
"""

# Annotations are values here: as texts, msgspec would compile each at the first read.
from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field


class EdgeStrip(StrEnum):
    """The characters that a template strips from one edge of a text."""

    NOTHING = "nothing"
    NEWLINE = "one newline"
    NEWLINES = "newlines"
    WHITESPACE = "whitespace"

    def left(self, text: str) -> str:
        """Strip the beginning of `text`."""
        if self is EdgeStrip.NEWLINE:
            return text.removeprefix("\n")
        return text.lstrip(_STRIPPED[self]) if self in _STRIPPED else text

    def right(self, text: str) -> str:
        """Strip the end of `text`."""
        if self is EdgeStrip.NEWLINE:
            return text.removesuffix("\n")
        return text.rstrip(_STRIPPED[self]) if self in _STRIPPED else text


_STRIPPED: Mapping[EdgeStrip, str | None] = {
    EdgeStrip.NEWLINES: "\n",
    EdgeStrip.WHITESPACE: None,
}


class StrippedEdges(Struct, frozen=True):
    """The characters that a template strips from both edges of a text."""

    left: EdgeStrip = EdgeStrip.NOTHING
    """From the beginning, e.g. `EdgeStrip.WHITESPACE`."""
    right: EdgeStrip = EdgeStrip.NOTHING
    """From the end, e.g. `EdgeStrip.WHITESPACE`."""

    def apply(self, text: str) -> str:
        """Write `text` as the template does."""
        if self.left is EdgeStrip.NOTHING and self.right is EdgeStrip.NOTHING:
            return text
        return self.right.right(self.left.left(text))


class TurnPart(StrEnum):
    """A block of a turn."""

    REASONING = "reasoning"
    CONTENT = "content"
    CALLS = "calls"


class TurnLayout(Struct, frozen=True):
    """The layout of turns with certain parts."""

    parts: tuple[TurnPart, ...] = ()
    """The parts that are written, in order, e.g. `(CONTENT, CALLS)`; a template may drop or repeat
    a part."""
    literals: tuple[str, ...] = ("",)
    r"""The texts before, between and after the parts, e.g.
    `("<|im_start|>assistant\n", "<|im_end|>\n")` around one part."""
    reasoning: StrippedEdges = field(default_factory=StrippedEdges)
    """The whitespace that is stripped from reasoning, such as
    `StrippedEdges(EdgeStrip.WHITESPACE, EdgeStrip.WHITESPACE)`."""
    content: StrippedEdges = field(default_factory=StrippedEdges)
    """The whitespace that is stripped from content, such as
    `StrippedEdges(EdgeStrip.WHITESPACE, EdgeStrip.WHITESPACE)`."""
    refusal: str = ""
    """The message of the exception with which the template refuses such turns, such as
    `"no tools"`."""
