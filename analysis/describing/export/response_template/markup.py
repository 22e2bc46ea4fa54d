r"""The markup between the fields that none of them takes, so that it does not become content.

For example an empty block of reasoning, which is neither reasoning nor content:

    >>> from autoparser import analyze, load_template
    >>> from autoparser.analysis.core.format import Formats
    >>> from autoparser.analysis.reading.expression import Request, build
    >>> template = load_template("fixtures/templates/a1-function-parameter.jinja")
    >>> format_ = analyze(template).format.whole
    >>> turn = build(Formats.of(format_), Request())
    >>> from autoparser.analysis.describing.export.response_template.joints import joints_of
    >>> import re
    >>> pattern = markup(TargetSurroundings(format_, turn, joints_of(format_)))
    >>> re.match(pattern, "<think>\n\n</think>\n\nHello.").group()
    '<think>\n\n</think>\n\n'
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.format import Part

from .joints import TargetJoint, between
from .patterns import at_most, behind, either, exact, loose, space_at_end, widest
from .reasoning_field import closed_by_prompt, empty_block
from .surroundings import TargetSurroundings


def markup(around: TargetSurroundings) -> str:
    """Match markup; empty where there is none, or nothing could take it for content."""
    block = either([empty_block(around), closed_by_prompt(around)])
    return block if around.explicit else either([block, *_markup(around)])


def _markup(around: TargetSurroundings) -> Iterator[str]:
    yield _header(around)
    calls = around.calls
    if calls is not None:
        spaces = [
            joint.text
            for joint in between(around.joints, left=[Part.CALLS], right=[Part.CONTENT])
            if joint.blank
        ]
        behind_calls = around.gap(Part.CONTENT, left=True, written=spaces) if spaces else ""
        if calls.section_close:
            yield rf"{behind(calls.behind)}\s*{calls.section_close}{behind_calls}"
        elif widest(spaces):
            # What matches nothing would close content again and again.
            yield rf"(?<={calls.behind})(?=\s){behind_calls}(?<=\s)"
    for joint in around.joints:
        if joint.left is not Part.CONTENT:
            yield _unclaimed(around, joint)


def _header(around: TargetSurroundings) -> str:
    """Match a header that the model writes."""
    header = around.turn.header
    if not around.writes_header:
        return ""
    ends = either(map(exact, around.ends))
    going_on = rf"(?:{ends}\s*)?" if ends and around.turn.goes_on else ""
    space = r"\s*" if header.before and not going_on else ""
    return rf"{space}{going_on}{loose(header.core)}{at_most(header.after)}"


def _unclaimed(around: TargetSurroundings, joint: TargetJoint) -> str:
    """Match what of a joint its neighbours do not take."""
    back, text = _behind_left(around, joint)
    reasoning = around.reasoning
    if joint.right is Part.REASONING and reasoning is not None:
        text = text.rpartition(reasoning.open.core)[0] if reasoning.open.core else ""
    if joint.right is None:
        cores = sorted((end.core for end in around.turn.ends), key=len, reverse=True)
        end = next((core for core in cores if core and text.rstrip().endswith(core)), "")
        text = text.rstrip().removesuffix(end) if end else ""
    at_start = back == r"\A"
    if not text.strip():
        leads = joint.left is None and joint.right is Part.CONTENT and back == around.begins
        start = back if at_start else f"(?<={back})"
        return f"{start}{exact(text)}" if text and leads else ""
    start = back if at_start else behind(back)
    after = r"\s*"
    if joint.right is Part.CONTENT:
        after = around.gap(Part.CONTENT, left=True, written=[space_at_end(text)])
    return rf"{start}\s*{loose(text.strip())}{after}"


def _behind_left(around: TargetSurroundings, joint: TargetJoint) -> tuple[str, str]:
    """Match the end of what the left neighbour takes, and give what it leaves."""
    reasoning, calls, text = around.reasoning, around.calls, joint.text
    if joint.left is Part.CALLS and calls is not None:
        return either([calls.section_close, calls.behind]), text
    if reasoning is not None and joint.left in (None, Part.REASONING):
        written, close, rest = text.partition(reasoning.close.core)
        opened = reasoning.open.core
        if joint.left or (opened and close and written.strip() == opened):
            return exact(reasoning.close.core), rest
    return around.begins, text
