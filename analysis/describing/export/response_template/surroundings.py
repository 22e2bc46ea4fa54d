r"""What the fields of one document need to know of the whole turn.

For example, of a turn whose header the prompt has written:

    >>> from autoparser import analyze, load_template
    >>> from autoparser.analysis.core.format import Formats
    >>> from autoparser.analysis.reading.expression import Request, build
    >>> template = load_template("fixtures/templates/a1-function-parameter.jinja")
    >>> format_ = analyze(template).format.whole
    >>> turn = build(Formats.of(format_), Request())
    >>> from autoparser.analysis.describing.export.response_template.joints import joints_of
    >>> around = TargetSurroundings(format_, turn, joints_of(format_))
    >>> around.begins, around.ends, around.end
    ('\\A', ('<|im_end|>',), '<\\|im_end\\|>')
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autoparser.analysis.core.format import Block, CallFormat, Part, Strip, TurnFormat, Written
from autoparser.analysis.reading.expression import Turn

from .framing import CallsField
from .joints import ANY, TargetJoint, between
from .patterns import ANY_SPACE, either, exact, loose, widest


@dataclass(frozen=True, slots=True)
class TargetSurroundings:
    """The turn, and what the target reads of it."""

    format: TurnFormat
    turn: Turn
    joints: tuple[TargetJoint, ...]
    calls: CallsField | None = None
    """None: none are written, or the target cannot read them."""
    reasoning: Block | None = None
    """None: there is none, or the target cannot read it."""

    @property
    def begins(self) -> str:
        """Match where a turn begins: the text's beginning, or a header that the model writes."""
        header = self.turn.header.core
        return rf"(?:\A|{exact(header)})" if self.writes_header else r"\A"

    @property
    def writes_header(self) -> bool:
        """Whether the model may write a header: the prompt leaves it out, or the turn goes on."""
        header, calls = self.turn.header.core, self.format.calls
        if not header:
            return False
        unwritten = (
            header not in opening.text and opening.written is not Written.OTHER
            for opening in self.format.openings
        )
        inside = [text for layout in self.format.layouts.values() for text in layout.literals[1:]]
        inside += [calls.separator] if calls is not None else []
        return any(header in text for text in inside) or any(unwritten)

    @property
    def ends(self) -> tuple[str, ...]:
        """What ends a turn; one that begins with another adds nothing to it."""
        cores = tuple(dict.fromkeys(end.core for end in self.turn.ends if end.core))
        return tuple(
            core
            for core in cores
            if not any(core != other and core.startswith(other) for other in cores)
        )

    @property
    def end(self) -> str:
        """Match what ends a turn, the end of the text aside; empty where nothing does."""
        header = self.turn.header.core
        going_on = rf"(?!\s*{exact(header)})" if self.turn.goes_on and header else ""
        # Where one marker ends a turn and begins the next, the first one in the text begins it.
        begun = r"(?!\A)" if header in self.ends else ""
        found = either(f"{exact(core)}{_no_call(core, self.format.calls)}" for core in self.ends)
        return f"{begun}{found}{going_on}" if found else ""

    @property
    def explicit(self) -> bool:
        """Whether content is always opened, so that what stands outside is nothing."""
        joints = list(between(self.joints, left=ANY, right=[Part.CONTENT]))
        return bool(self.turn.content.open.core) and all(self._opened(joint) for joint in joints)

    def _opened(self, joint: TargetJoint) -> bool:
        blocks = (self.turn.content.open, *self.turn.content.others)
        return any(joint.text.rstrip().endswith(each.core) for each in blocks if each.core)

    @property
    def closed(self) -> str:
        """Match markup after which whitespace is not content, if more markup follows."""
        return either(self._closed())

    def _closed(self) -> Iterator[str]:
        yield self.begins
        if self.reasoning is not None:
            yield exact(self.reasoning.close.core)
        yield exact(self.turn.content.close.core)
        if self.calls is not None:
            yield self.calls.section_close
            yield self.calls.behind

    def gap(self, part: Part, *, left: bool, written: Sequence[str]) -> str:
        """Match the whitespace at an edge of a part: what is written, or all that is stripped."""
        edges = self._edges(part, left=left)
        if edges == {Strip.WHITESPACE}:
            return ANY_SPACE
        return r"\n*" if edges <= _NEWLINES and edges else widest(written)

    def stripped(self, part: Part) -> bool:
        """Whether both edges of a part are stripped whenever it is written."""
        both = self._edges(part, left=True) | self._edges(part, left=False)
        return both == {Strip.WHITESPACE}

    def _edges(self, part: Part, *, left: bool) -> set[Strip]:
        layouts = [each for each in self.format.layouts.values() if part in each.parts]
        edges = [each.reasoning if part is Part.REASONING else each.content for each in layouts]
        return {each.left if left else each.right for each in edges}


_NEWLINES = {Strip.WHITESPACE, Strip.NEWLINES}


def _no_call(end: str, calls: CallFormat | None) -> str:
    """Look that what ends a turn does not open a call, where calls are opened by the same."""
    opening = "" if calls is None else calls.opening.strip()
    rest = opening.removeprefix(end).strip()
    return rf"(?!\s*{loose(rest)})" if opening.startswith(end) and rest else ""
