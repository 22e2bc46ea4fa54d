r"""Build the fields of the target for content and reasoning, and the markup between them.

`content_field` and `reasoning_field` return a field each; `markup_pattern` matches the markup that
belongs to no field, so that it does not become content.

For example, of content that nothing opens and the end of the turn closes:

    >>> from autoparser import analyze, load_template
    >>> from autoparser.analysis.export.field_patterns import target_surroundings
    >>> template = load_template("fixtures/templates/a1-function-parameter.jinja")
    >>> around = target_surroundings(analyze(template).format)
    >>> field = content_field(around, rest="", joins=False)
    >>> "open_pattern" in field, field["content"]
    (False, 'text')
    >>> field["close_pattern"].endswith(r"\A\s*)\s+\Z)")
    True

The field for reasoning, for example of `<think>\n…\n</think>\n\n`:

    >>> field = reasoning_field(around, around.turn.reasoning)
    >>> print(field["open_pattern"], field["close_pattern"])
    <think>\n? (?:\n?</think>\n{0,2}|(?=<\|im_end\|>))

The markup that no field takes, for example an empty block of reasoning:

    >>> import re
    >>> pattern = markup_pattern(around)
    >>> re.match(pattern, "<think>\n\n</think>\n\nHello.").group()
    '<think>\n\n</think>\n\n'
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.text_alignment import MarkerBlock, TemplateLiteral
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.turn_shape import PromptProgress

from .export_limits import ExportLimit, MessagePiece
from .field_patterns import (
    ANY_SPACE,
    TargetJoint,
    TargetSurroundings,
    anchor_field,
    any_pattern,
    at_most,
    behind_pattern,
    exact_pattern,
    loose_pattern,
    optional_pattern,
    space_at_end,
    space_at_start,
    widest_pattern,
)


def content_limit(around: TargetSurroundings) -> ExportLimit | None:
    """Return the content that the target cannot read as a limit, or None if it reads all."""
    if any(layout.parts.count(TurnPart.CONTENT) > 1 for layout in around.format.layouts.values()):
        # The target keeps only the last of several texts.
        return ExportLimit(MessagePiece.CONTENT, "it is written twice")
    block = around.reasoning
    texts = [joint.text for joint in around.between(right=[TurnPart.CONTENT])]
    if block is not None and any(_opens_alike(text, block) for text in texts):
        return ExportLimit(
            MessagePiece.CONTENT_BESIDE_CALLS, "it has the same opening as reasoning"
        )
    return None


def _opens_alike(text: str, block: MarkerBlock) -> bool:
    """Return whether the text before content opens reasoning."""
    return bool(block.open.core) and text.rstrip().endswith(block.open.core)


def content_field(around: TargetSurroundings, rest: str, *, joins: bool) -> dict[str, Json]:
    """Read content: between its literals, or all that belongs to nothing else.

    `rest` matches the markup that is neither content nor any other field's. The close of content
    that nothing opens is dropped wherever it stands, so markup is part of it; content that is
    opened may begin after some. `joins` is whether pieces of content are joined.
    """
    if around.explicit:
        opens = any_pattern(
            f"{optional_pattern(rest)}{opening}" for opening in _content_openings(around)
        )
        anchors = anchor_field("open", opens) | anchor_field(
            "close", any_pattern(_explicit_closes(around))
        )
    else:
        anchors = anchor_field("close", any_pattern([rest, *_implicit_closes(around)]))
    return {
        **anchors,
        "content": "text",
        "content_args": {"strip": around.is_stripped(TurnPart.CONTENT)},
        # Text after a call is content, too, and would otherwise replace the text before it.
        **({"repeats": True, "join": ""} if joins else {}),
    }


def _content_openings(around: TargetSurroundings) -> Iterator[str]:
    taken = "" if around.reasoning is None else around.reasoning.open.core
    for opener in (around.turn.content.open, *around.turn.content.others):
        # If the marker also opens reasoning, the reasoning field reads it.
        if opener.core and opener.core != taken:
            gap = around.gap(TurnPart.CONTENT, left=True, spaces=[opener.after])
            yield f"{exact_pattern(opener.core)}{gap}"


def _explicit_closes(around: TargetSurroundings) -> Iterator[str]:
    close = around.turn.content.close.core
    for joint in around.between(left=[TurnPart.CONTENT]):
        text = joint.text
        if close and close in text:
            before = text.partition(close)[0]
            written = at_most(before) if before.isspace() else exact_pattern(before)
            yield f"{written}{exact_pattern(close)}"
        elif text.strip():
            core = text.strip()
            end = next((text for text in around.ends if core.startswith(text)), "")
            first = exact_pattern(end or TemplateLiteral.of(core).first)
            yield f"{at_most(space_at_start(text))}{first}"
        elif joint.right is TurnPart.CALLS and around.calls is not None:
            yield f"{at_most(text)}(?={around.calls.ahead})"
        elif text and joint.right is None:
            yield rf"{at_most(text)}\Z"
    yield from map(exact_pattern, around.ends)
    if around.calls is not None:
        yield f"(?={around.calls.ahead})"


def _implicit_closes(around: TargetSurroundings) -> Iterator[str]:
    ends = around.between(left=[TurnPart.CONTENT], right=[None])
    if around.end:
        ended = [joint for joint in ends if joint.text.lstrip().startswith(around.ends)]
        # If only whitespace ends the template's turns, the model's own end follows it.
        spaces = [space_at_start(joint.text) for joint in ended or ends]
        gap = around.gap(TurnPart.CONTENT, left=False, spaces=spaces)
        # Whitespace of the content's own is kept, unless only markup precedes it.
        if gap != ANY_SPACE:
            gap = optional_pattern(rf"{behind_pattern(around.closed)}\s+") + gap
        # With `.*`, text after the end of the turn does not become content.
        yield f"{gap}{around.end}.*"
        # An engine that stops there passes on the text before the end, without the end.
        yield from (rf"{exact_pattern(space)}\Z" for space in spaces if space)
    block = around.turn.content.close
    if block.core:
        yield f"{at_most(block.before)}{exact_pattern(block.core)}"
    yield rf"{behind_pattern(around.closed)}\s+\Z"
    tails = [joint.text for joint in ends if joint.text and joint.blank]
    tail = max(tails, key=len, default=around.turn.tail)
    if tail:
        yield rf"{exact_pattern(tail)}\Z"


def call_opening(around: TargetSurroundings) -> str:
    """Match the text that opens a call, with the whitespace before it that is not content."""
    calls = around.calls
    if calls is None:
        return ""
    if around.explicit:
        return calls.open
    joints = around.between(left=[TurnPart.CONTENT], right=[TurnPart.CALLS])
    spaces = [joint.text for joint in joints if joint.blank]
    space = around.gap(TurnPart.CONTENT, left=False, spaces=spaces)
    pieces = [] if space == ANY_SPACE else [rf"{behind_pattern(around.closed)}\s+"]
    if calls.separator:
        pieces.append(rf"{behind_pattern(calls.behind)}\s*{calls.separator}\s*")
    # A template may write words before its calls, which are not content.
    written = [joint.text for joint in joints if not joint.blank]
    pieces += [
        rf"{at_most(space_at_start(text))}{loose_pattern(text.strip())}\s*" for text in written
    ]
    pieces += [space] if space else []
    if pieces == [ANY_SPACE]:
        return f"{ANY_SPACE}{calls.open}"
    return f"{optional_pattern('|'.join(pieces))}{calls.open}"


class _Edges(Struct, frozen=True):
    """The whitespace around the markers of reasoning."""

    behind_open: str
    r"""After the opening marker, e.g. `"\\n?"`."""
    before_close: str
    r"""Before the closing marker, e.g. `"\\n?"`."""
    behind_close: str
    r"""After the closing marker, e.g. `"\\n{0,2}"`; empty if content is always opened."""


def reasoning_limit(around: TargetSurroundings) -> ExportLimit | None:
    """Return why the target cannot read the reasoning, or None if it can or need not."""
    block = around.turn.reasoning
    if block is None:
        shown = any(TurnPart.REASONING in layout.parts for layout in around.format.layouts.values())
        return (
            ExportLimit(MessagePiece.REASONING, "nothing shows where it begins and ends")
            if shown
            else None
        )
    close = block.close.core
    if not close:
        return ExportLimit(MessagePiece.REASONING, "it has no closing marker")
    alone = (
        literal
        for presence, layout in around.format.layouts.items()
        for literal, part in zip(layout.literals, layout.parts, strict=False)
        if part is TurnPart.CONTENT and not presence.calls
    )
    if any(_opens_alike(text, block) for text in alone):
        return ExportLimit(MessagePiece.REASONING, "it opens like content")
    closers = around.between(left=[TurnPart.REASONING])
    # The field has one close, and with another one the reasoning would go on.
    if any(close not in joint.text for joint in closers if joint.right):
        return ExportLimit(MessagePiece.REASONING, "its closing marker depends on the next part")
    if not block.open.core and any(close not in joint.text for joint in closers):
        return ExportLimit(
            MessagePiece.REASONING, "it has no opening marker, and no closing marker before the end"
        )
    return None


def reasoning_field(around: TargetSurroundings, block: MarkerBlock) -> dict[str, Json]:
    """Read reasoning between its literals."""
    edges = _edges(around, block)
    closing = f"{edges.before_close}{exact_pattern(block.close.core)}{edges.behind_close}"
    # Reasoning that nothing closes ends with the turn.
    ends = [
        core
        for core in around.ends
        if TemplateLiteral.of(core).is_marker and core != block.close.core
    ]
    if ends:
        closing = any_pattern([closing, f"(?={any_pattern(map(exact_pattern, ends))})"])
    return {
        **anchor_field("open", any_pattern(_reasoning_openings(around, block, edges))),
        **anchor_field("close", closing),
        "content": "text",
        "content_args": {"strip": around.is_stripped(TurnPart.REASONING)},
    }


def _edges(around: TargetSurroundings, block: MarkerBlock) -> _Edges:
    core, close = block.open.core, block.close.core
    opened = [
        space_at_start(joint.text.rpartition(core)[2])
        for joint in around.between(right=[TurnPart.REASONING])
        if core
    ]
    closed = [joint for joint in around.between(left=[TurnPart.REASONING]) if close in joint.text]
    before = [space_at_end(joint.text.partition(close)[0]) for joint in closed]
    after = [
        space_at_start(joint.text.partition(close)[2])
        for joint in closed
        if joint.right is TurnPart.CONTENT
    ]
    return _Edges(
        around.gap(TurnPart.REASONING, left=True, spaces=opened or [block.open.after]),
        around.gap(TurnPart.REASONING, left=False, spaces=before or [block.close.before]),
        ""
        if around.explicit
        else around.gap(TurnPart.CONTENT, left=True, spaces=after or [block.close.after]),
    )


def _reasoning_openings(
    around: TargetSurroundings, block: MarkerBlock, edges: _Edges
) -> Iterator[str]:
    core, begins = block.open.core, around.begins
    if core:
        first = around.between(left=[None], right=[TurnPart.REASONING])
        spaced = any(joint.text[:1].isspace() for joint in first) and not around.explicit
        lead = optional_pattern(rf"{behind_pattern(begins)}\s+") if spaced else ""
        yield f"{lead}{exact_pattern(core)}{edges.behind_open}"
    # Without an opening marker, only a close further on shows that a turn begins with reasoning.
    if block.leads or not core:
        start = begins if begins == r"\A" else behind_pattern(begins)
        not_opened = f"(?!{exact_pattern(core)})" if core else ""
        yield rf"{start}{not_opened}(?=.*?{exact_pattern(block.close.core)})"


def closed_by_prompt(around: TargetSurroundings) -> str:
    """Match the close of reasoning in a prompt that has not opened it."""
    block = around.reasoning
    if block is None:
        return ""
    for opening in around.format.openings:
        written = opening.text.removeprefix(around.format.header).strip()
        if opening.written is PromptProgress.REASONING_CLOSED and written == block.close.core:
            gap = around.gap(TurnPart.CONTENT, left=True, spaces=[block.close.after])
            return rf"\A\s*{exact_pattern(written)}{'' if around.explicit else gap}"
    return ""


def empty_block(around: TargetSurroundings) -> str:
    """Match a reasoning block without reasoning, if the field would not read it as such."""
    block = around.reasoning
    if block is None or not block.open.core:
        return ""
    edges = _edges(around, block)
    core, close = exact_pattern(block.open.core), exact_pattern(block.close.core)
    rests: dict[str, None] = {}
    leads: list[str] = []
    for joint in _empty_blocks(around, block):
        lead, _, rest = joint.text.partition(block.open.core)
        inner, _, rest = rest.partition(block.close.core)
        leads.append(lead)
        read = re.fullmatch(f"{edges.behind_open}{edges.before_close}", inner)
        follows = rest if rest.isspace() else space_at_start(rest)
        of_content = joint.right is not TurnPart.CONTENT or _reads_all(edges.behind_close, follows)
        # The reasoning field reads all other empty blocks and finds no text in them.
        if not read or lead or not of_content:
            rests[follows if joint.right is TurnPart.CONTENT else ""] = None
    if not rests:
        return ""
    gap = around.gap(TurnPart.CONTENT, left=True, spaces=list(rests))
    lead = optional_pattern(rf"{behind_pattern(around.begins)}\s+") if any(leads) else ""
    return rf"{lead}{core}\s*{close}{'' if around.explicit else gap}"


def _reads_all(pattern: str, space: str) -> bool:
    """Return whether a pattern takes this whitespace, and no more than it could if more follows."""
    # One more line break shows whether the pattern would take the content's own.
    longer = re.match(pattern, f"{space}\n")
    return longer is not None and longer.end() == len(space)


def _empty_blocks(around: TargetSurroundings, block: MarkerBlock) -> Iterator[TargetJoint]:
    """Return the blocks that turns or prompts write without reasoning."""
    found = [joint for joint in around.joints if joint.left is None]
    for opening in around.format.openings:
        if opening.written is PromptProgress.REASONING_CLOSED:
            text = opening.text.rpartition(around.format.header)[2]
            found.append(TargetJoint(None, TurnPart.CONTENT, text))
    for joint in found:
        inner = joint.text.partition(block.open.core)[2].partition(block.close.core)
        if inner[1] and not inner[0].strip():
            yield joint


def markup_pattern(around: TargetSurroundings) -> str:
    """Match markup; empty if there is none, or nothing could take it for content."""
    block = any_pattern([empty_block(around), closed_by_prompt(around)])
    return block if around.explicit else any_pattern([block, *_markup(around)])


def _markup(around: TargetSurroundings) -> Iterator[str]:
    yield _header(around)
    calls = around.calls
    if calls is not None:
        spaces = [
            joint.text
            for joint in around.between(left=[TurnPart.CALLS], right=[TurnPart.CONTENT])
            if joint.blank
        ]
        behind_calls = around.gap(TurnPart.CONTENT, left=True, spaces=spaces) if spaces else ""
        if calls.section_close:
            yield rf"{behind_pattern(calls.behind)}\s*{calls.section_close}{behind_calls}"
        elif widest_pattern(spaces):
            # A pattern that matches nothing would close content again and again.
            yield rf"(?<={calls.behind})(?=\s){behind_calls}(?<=\s)"
    for joint in around.joints:
        if joint.left is not TurnPart.CONTENT:
            yield _rest_of_joint(around, joint)


def _header(around: TargetSurroundings) -> str:
    """Match a header that the model writes."""
    header = around.turn.header
    if not around.writes_header:
        return ""
    ends = any_pattern(map(exact_pattern, around.ends))
    going_on = rf"(?:{ends}\s*)?" if ends and around.turn.goes_on else ""
    space = r"\s*" if header.before and not going_on else ""
    return rf"{space}{going_on}{loose_pattern(header.core)}{at_most(header.after)}"


def _rest_of_joint(around: TargetSurroundings, joint: TargetJoint) -> str:
    """Match the part of a joint that its neighbors do not take."""
    back, text = _behind_left(around, joint)
    reasoning = around.reasoning
    if joint.right is TurnPart.REASONING and reasoning is not None:
        text = text.rpartition(reasoning.open.core)[0] if reasoning.open.core else ""
    if joint.right is None:
        cores = sorted((end.core for end in around.turn.ends), key=len, reverse=True)
        end = next((core for core in cores if core and text.rstrip().endswith(core)), "")
        text = text.rstrip().removesuffix(end) if end else ""
    at_start = back == r"\A"
    if not text.strip():
        leads = joint.left is None and joint.right is TurnPart.CONTENT and back == around.begins
        start = back if at_start else f"(?<={back})"
        return f"{start}{exact_pattern(text)}" if text and leads else ""
    start = back if at_start else behind_pattern(back)
    after = r"\s*"
    if joint.right is TurnPart.CONTENT:
        after = around.gap(TurnPart.CONTENT, left=True, spaces=[space_at_end(text)])
    return rf"{start}\s*{loose_pattern(text.strip())}{after}"


def _behind_left(around: TargetSurroundings, joint: TargetJoint) -> tuple[str, str]:
    """Match the end of the left neighbor's field, and return the rest."""
    reasoning, calls, text = around.reasoning, around.calls, joint.text
    if joint.left is TurnPart.CALLS and calls is not None:
        return any_pattern([calls.section_close, calls.behind]), text
    if reasoning is not None and joint.left in (None, TurnPart.REASONING):
        written, close, rest = text.partition(reasoning.close.core)
        opened = reasoning.open.core
        if joint.left or (opened and close and written.strip() == opened):
            return exact_pattern(reasoning.close.core), rest
    return around.begins, text
