r"""The field of the target that reads content.

For example, of content that nothing opens and the end of the turn closes:

    >>> from autoparser import analyze, load_template
    >>> from autoparser.analysis.core.format import Formats
    >>> from autoparser.analysis.reading.expression import Request, build
    >>> template = load_template("fixtures/templates/a1-function-parameter.jinja")
    >>> format_ = analyze(template).format.whole
    >>> turn = build(Formats.of(format_), Request())
    >>> from autoparser.analysis.describing.export.response_template.joints import joints_of
    >>> around = TargetSurroundings(format_, turn, joints_of(format_))
    >>> field = content_field(around, rest="", joins=False)
    >>> "open_pattern" in field, field["content"]
    (False, 'text')
    >>> field["close_pattern"].endswith(r"\A\s*)\s+\Z)")
    True
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Block, Literal, Part
from autoparser.analysis.describing.export.export_limits import ExportLimit, MessagePiece

from .joints import ANY, between
from .patterns import (
    ANY_SPACE,
    anchor,
    at_most,
    behind,
    either,
    exact,
    loose,
    optional,
    space_at_start,
)
from .surroundings import TargetSurroundings


def content_limit(around: TargetSurroundings) -> ExportLimit | None:
    """Say what content the target cannot read; None where it can."""
    if any(layout.parts.count(Part.CONTENT) > 1 for layout in around.format.layouts.values()):
        return ExportLimit(MessagePiece.CONTENT, "it is written twice")
    block = around.reasoning
    texts = [joint.text for joint in between(around.joints, left=ANY, right=[Part.CONTENT])]
    if block is not None and any(opened_alike(text, block) for text in texts):
        return ExportLimit(MessagePiece.CONTENT_BESIDE_CALLS, "it is opened as reasoning is")
    return None


def content_alone(around: TargetSurroundings) -> Iterator[str]:
    """Return what stands before content in turns without calls."""
    for presence, layout in around.format.layouts.items():
        for literal, part in zip(layout.literals, layout.parts, strict=False):
            if part is Part.CONTENT and not presence.calls:
                yield literal


def opened_alike(text: str, block: Block) -> bool:
    """Whether what stands before content opens reasoning."""
    return bool(block.open.core) and text.rstrip().endswith(block.open.core)


def content_field(around: TargetSurroundings, rest: str, *, joins: bool) -> dict[str, Json]:
    """Read content: between its literals, or all that is nothing else.

    `rest` matches the markup that is neither content nor any other field's. What closes content
    that nothing opens is dropped wherever it stands, so markup is among it; content that is opened
    may begin after some. `joins` is whether pieces of content are joined.
    """
    if around.explicit:
        opens = either(f"{optional(rest)}{each}" for each in _opens(around))
        anchors = anchor("open", opens) | anchor("close", either(_explicit_closes(around)))
    else:
        anchors = anchor("close", either([rest, *_implicit_closes(around)]))
    return {
        **anchors,
        "content": "text",
        "content_args": {"strip": around.stripped(Part.CONTENT)},
        # Text after a call is content, too, and would else take the place of what was before.
        **({"repeats": True, "join": ""} if joins else {}),
    }


def _opens(around: TargetSurroundings) -> Iterator[str]:
    taken = "" if around.reasoning is None else around.reasoning.open.core
    for each in (around.turn.content.open, *around.turn.content.others):
        if each.core and each.core != taken:
            gap = around.gap(Part.CONTENT, left=True, written=[each.after])
            yield f"{exact(each.core)}{gap}"


def _explicit_closes(around: TargetSurroundings) -> Iterator[str]:
    close = around.turn.content.close.core
    for joint in between(around.joints, left=[Part.CONTENT], right=ANY):
        text = joint.text
        if close and close in text:
            before = text.partition(close)[0]
            yield f"{at_most(before) if before.isspace() else exact(before)}{exact(close)}"
        elif text.strip():
            core = text.strip()
            end = next((each for each in around.ends if core.startswith(each)), "")
            yield f"{at_most(space_at_start(text))}{exact(end or Literal.of(core).first)}"
        elif joint.right is Part.CALLS and around.calls is not None:
            yield f"{at_most(text)}(?={around.calls.ahead})"
        elif text and joint.right is None:
            yield rf"{at_most(text)}\Z"
    yield from map(exact, around.ends)
    if around.calls is not None:
        yield f"(?={around.calls.ahead})"


def _implicit_closes(around: TargetSurroundings) -> Iterator[str]:
    ends = list(between(around.joints, left=[Part.CONTENT], right=[None]))
    if around.end:
        ended = [joint for joint in ends if joint.text.lstrip().startswith(around.ends)]
        # Where the template ends turns by whitespace alone, the model's own end follows that.
        spaces = [space_at_start(joint.text) for joint in ended or ends]
        gap = around.gap(Part.CONTENT, left=False, written=spaces)
        if gap != ANY_SPACE:
            gap = optional(rf"{behind(around.closed)}\s+") + gap
        yield f"{gap}{around.end}.*"
        # An engine that stops there passes on what is written before the end, and no end.
        yield from (rf"{exact(space)}\Z" for space in spaces if space)
    block = around.turn.content.close
    if block.core:
        yield f"{at_most(block.before)}{exact(block.core)}"
    yield rf"{behind(around.closed)}\s+\Z"
    tails = [joint.text for joint in ends if joint.text and joint.blank]
    tail = max(tails, key=len, default=around.turn.tail)
    if tail:
        yield rf"{exact(tail)}\Z"


def call_opening(around: TargetSurroundings) -> str:
    """Match what opens a call, with the whitespace before it that is not content."""
    calls = around.calls
    if calls is None:
        return ""
    if around.explicit:
        return calls.open
    joints = list(between(around.joints, left=[Part.CONTENT], right=[Part.CALLS]))
    spaces = [joint.text for joint in joints if joint.blank]
    space = around.gap(Part.CONTENT, left=False, written=spaces)
    pieces = [] if space == ANY_SPACE else [rf"{behind(around.closed)}\s+"]
    if calls.separator:
        pieces.append(rf"{behind(calls.behind)}\s*{calls.separator}\s*")
    written = [joint.text for joint in joints if not joint.blank]
    pieces += [rf"{at_most(space_at_start(text))}{loose(text.strip())}\s*" for text in written]
    pieces += [space] if space else []
    if pieces == [ANY_SPACE]:
        return f"{ANY_SPACE}{calls.open}"
    return f"{optional('|'.join(pieces))}{calls.open}"
