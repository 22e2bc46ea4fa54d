r"""The texts that stand around the parts of a turn, collected from all its layouts.

For example, what stands after reasoning:

    >>> from autoparser import analyze, load_template
    >>> template = load_template("fixtures/templates/a1-function-parameter.jinja")
    >>> joints = joints_of(analyze(template).format.whole)
    >>> for joint in between(joints, left=[Part.REASONING], right=ANY):
    ...     print(joint.right, repr(joint.text))
    content '\n</think>\n\n'
    None '\n</think>\n\n<|im_end|>\n'
    calls '\n</think>\n\n'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autoparser.analysis.core.format import CallFormat, Part, Slot, TurnFormat


@dataclass(frozen=True, slots=True)
class TargetJoint:
    """What is written between two neighbours."""

    left: Part | None
    """None: the turn begins here, after its header."""
    right: Part | None
    """None: the turn ends here."""
    text: str

    @property
    def blank(self) -> bool:
        """Whether it is whitespace alone, or nothing."""
        return not self.text.strip()


def joints_of(format_: TurnFormat) -> tuple[TargetJoint, ...]:
    """Collect the joints of every layout; whitespace at the calls' own edges is theirs."""
    before, after = _call_edges(format_.calls)
    header = written_header(format_)
    found: dict[TargetJoint, None] = {}
    for layout in format_.layouts.values():
        if layout.refusal:
            continue
        neighbours: Sequence[Part | None] = (None, *layout.parts, None)
        for at, literal in enumerate(layout.literals):
            left, right = neighbours[at], neighbours[at + 1]
            text = literal.removeprefix(header) if left is None else literal
            text = after + text if left is Part.CALLS else text
            text = text + before if right is Part.CALLS else text
            found[TargetJoint(left, right, text)] = None
    return tuple(found)


def written_header(format_: TurnFormat) -> str:
    """Return the header that a turn begins after; one that is blank has to end all prompts."""
    header = format_.header
    prompted = all(opening.text.endswith(header) for opening in format_.openings)
    return header if header.strip() or prompted else ""


def between(
    joints: Sequence[TargetJoint], *, left: Sequence[Part | None], right: Sequence[Part | None]
) -> Iterator[TargetJoint]:
    """Return the joints whose neighbours are among these."""
    for joint in joints:
        if joint.left in left and joint.right in right:
            yield joint


ANY: Sequence[Part | None] = (None, *Part)


def closing_text(calls: CallFormat) -> str:
    """Return what is written after the last slot of the last call."""
    last = calls.row[-1]
    return ("" if isinstance(last, Slot) else last) + calls.section_close


def _call_edges(calls: CallFormat | None) -> tuple[str, str]:
    if calls is None:
        return "", ""
    opening, closing = calls.opening, closing_text(calls)
    return (
        opening[: len(opening) - len(opening.lstrip())],
        closing[len(closing.rstrip()) :],
    )
