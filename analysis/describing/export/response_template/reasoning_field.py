r"""The field of the target that reads reasoning.

For example, of `<think>\n…\n</think>\n\n`:

    >>> from autoparser import analyze, load_template
    >>> from autoparser.analysis.core.format import Formats
    >>> from autoparser.analysis.reading.expression import Request, build
    >>> template = load_template("fixtures/templates/a1-function-parameter.jinja")
    >>> format_ = analyze(template).format.whole
    >>> turn = build(Formats.of(format_), Request())
    >>> from autoparser.analysis.describing.export.response_template.joints import joints_of
    >>> around = TargetSurroundings(format_, turn, joints_of(format_))
    >>> field = reasoning_field(around, turn.reasoning)
    >>> print(field["open_pattern"], field["close_pattern"])
    <think>\n? (?:\n?</think>\n{0,2}|(?=<\|im_end\|>))
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Block, Literal, Part, Written
from autoparser.analysis.describing.export.export_limits import ExportLimit, MessagePiece

from .content_field import content_alone, opened_alike
from .joints import ANY, TargetJoint, between
from .patterns import anchor, behind, either, exact, optional, space_at_end, space_at_start
from .surroundings import TargetSurroundings


@dataclass(frozen=True, slots=True)
class _Edges:
    """The whitespace around the markers of reasoning."""

    behind_open: str
    before_close: str
    behind_close: str


def reasoning_limit(around: TargetSurroundings) -> ExportLimit | None:
    """Say why the target cannot read the reasoning; None where it can, or there is none."""
    block = around.turn.reasoning
    if block is None:
        shown = any(Part.REASONING in layout.parts for layout in around.format.layouts.values())
        return (
            ExportLimit(MessagePiece.REASONING, "nothing shows where it begins and ends")
            if shown
            else None
        )
    close = block.close.core
    if not close:
        return ExportLimit(MessagePiece.REASONING, "nothing closes it")
    if any(opened_alike(text, block) for text in content_alone(around)):
        return ExportLimit(MessagePiece.REASONING, "it is opened as content is")
    closers = list(between(around.joints, left=[Part.REASONING], right=ANY))
    if any(close not in joint.text for joint in closers if joint.right):
        return ExportLimit(MessagePiece.REASONING, "what closes it depends on what follows")
    if not block.open.core and any(close not in joint.text for joint in closers):
        return ExportLimit(
            MessagePiece.REASONING, "nothing opens it, and before the end nothing closes it"
        )
    return None


def reasoning_field(around: TargetSurroundings, block: Block) -> dict[str, Json]:
    """Read reasoning between its literals."""
    edges = _edges(around, block)
    closing = f"{edges.before_close}{exact(block.close.core)}{edges.behind_close}"
    ends = [core for core in around.ends if Literal.of(core).is_marker and core != block.close.core]
    if ends:
        closing = either([closing, f"(?={either(map(exact, ends))})"])
    return {
        **anchor("open", either(_opens(around, block, edges))),
        **anchor("close", closing),
        "content": "text",
        "content_args": {"strip": around.stripped(Part.REASONING)},
    }


def _edges(around: TargetSurroundings, block: Block) -> _Edges:
    core, close = block.open.core, block.close.core
    opened = [
        space_at_start(joint.text.rpartition(core)[2])
        for joint in between(around.joints, left=ANY, right=[Part.REASONING])
        if core
    ]
    closed = [
        joint
        for joint in between(around.joints, left=[Part.REASONING], right=ANY)
        if close in joint.text
    ]
    before = [space_at_end(joint.text.partition(close)[0]) for joint in closed]
    after = [
        space_at_start(joint.text.partition(close)[2])
        for joint in closed
        if joint.right is Part.CONTENT
    ]
    return _Edges(
        around.gap(Part.REASONING, left=True, written=opened or [block.open.after]),
        around.gap(Part.REASONING, left=False, written=before or [block.close.before]),
        ""
        if around.explicit
        else around.gap(Part.CONTENT, left=True, written=after or [block.close.after]),
    )


def _opens(around: TargetSurroundings, block: Block, edges: _Edges) -> Iterator[str]:
    core, begins = block.open.core, around.begins
    if core:
        first = between(around.joints, left=[None], right=[Part.REASONING])
        spaced = any(joint.text[:1].isspace() for joint in first) and not around.explicit
        lead = optional(rf"{behind(begins)}\s+") if spaced else ""
        yield f"{lead}{exact(core)}{edges.behind_open}"
    if block.leads or not core:
        start = begins if begins == r"\A" else behind(begins)
        not_opened = f"(?!{exact(core)})" if core else ""
        yield rf"{start}{not_opened}(?=.*?{exact(block.close.core)})"


def closed_by_prompt(around: TargetSurroundings) -> str:
    """Match the close of reasoning that a prompt writes, and has not opened."""
    block = around.reasoning
    if block is None:
        return ""
    for opening in around.format.openings:
        written = opening.text.removeprefix(around.format.header).strip()
        if opening.written is Written.REASONING_CLOSED and written == block.close.core:
            gap = around.gap(Part.CONTENT, left=True, written=[block.close.after])
            return rf"\A\s*{exact(written)}{'' if around.explicit else gap}"
    return ""


def empty_block(around: TargetSurroundings) -> str:
    """Match a reasoning block without reasoning, where the field would not read it as such."""
    block = around.reasoning
    if block is None or not block.open.core:
        return ""
    edges = _edges(around, block)
    core, close = exact(block.open.core), exact(block.close.core)
    rests: dict[str, None] = {}
    leads: list[str] = []
    for joint in _empty_blocks(around, block):
        lead, _, rest = joint.text.partition(block.open.core)
        inner, _, rest = rest.partition(block.close.core)
        leads.append(lead)
        read = re.fullmatch(f"{edges.behind_open}{edges.before_close}", inner)
        follows = rest if rest.isspace() else space_at_start(rest)
        of_content = joint.right is not Part.CONTENT or _reads_all(edges.behind_close, follows)
        if not read or lead or not of_content:
            rests[follows if joint.right is Part.CONTENT else ""] = None
    if not rests:
        return ""
    gap = around.gap(Part.CONTENT, left=True, written=list(rests))
    lead = optional(rf"{behind(around.begins)}\s+") if any(leads) else ""
    return rf"{lead}{core}\s*{close}{'' if around.explicit else gap}"


def _reads_all(pattern: str, space: str) -> bool:
    """Whether a pattern takes this whitespace, and no more than it could where more follows."""
    longer = re.match(pattern, f"{space}\n")
    return longer is not None and longer.end() == len(space)


def _empty_blocks(around: TargetSurroundings, block: Block) -> Iterator[TargetJoint]:
    """Return the blocks that turns or prompts write where there is no reasoning."""
    found = [joint for joint in around.joints if joint.left is None]
    for opening in around.format.openings:
        if opening.written is Written.REASONING_CLOSED:
            text = opening.text.rpartition(around.format.header)[2]
            found.append(TargetJoint(None, Part.CONTENT, text))
    for joint in found:
        inner = joint.text.partition(block.open.core)[2].partition(block.close.core)
        if inner[1] and not inner[0].strip():
            yield joint
