from __future__ import annotations

from collections.abc import Iterator, Sequence

from autoparser.analysis.learning.tool_crashes import ToolCrash
from autoparser.analysis.learning.tools_in_prompt import LostPart, ToolSpelling
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import list_words, raising_hit
from autoparser.analysis.lint.lint_renders import compare_renders, parting_line, show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import real_shapes, render_offer
from autoparser.analysis.lint.subject import Subject

_OF_OTHER_RULES = (ToolSpelling.PYTHON, ToolSpelling.LETTERS)
"""Escaped letters are the subject of AP526; most models read them alike."""


MOST_TOLD = 8
"""The maximum number of reported kinds of lost parts for tools from the user."""


@rule("AP534")
def check(subject: Subject) -> Iterator[Hit]:
    """Render the given tools, or functions of real shapes, and change their parts one by one."""
    tools = subject.given_tools or real_shapes()
    found = subject.analysis.tools_in_prompt(tools)
    if any(part.keyword == "tool" for part in found.lost):
        # Tools that are omitted entirely are the subject of other rules.
        return
    for crash in found.crashes:
        if crash.cause or subject.given_tools:
            yield _crash_hit(subject, crash, found.tools)
    if found.lost:
        yield _lost_hit(subject, found.lost)
    for spelling in found.spelled:
        if spelling not in _OF_OTHER_RULES:
            render = render_offer(subject, *tools)
            yield Hit(
                f"the tools are rendered {spelling}",
                (show_render(render, "with tools"),),
                line=render.line_of("&"),
            )


def _crash_hit(subject: Subject, crash: ToolCrash, offered: int) -> Hit:
    # Without a smallest tool, only several tools in one request raise.
    smallest = [crash.smallest] if crash.smallest else subject.given_tools or real_shapes()
    render = render_offer(subject, *smallest)
    sound = render_offer(subject, *([] if crash.mended is None else [crash.mended]))
    cause = f" with {crash.cause}" if crash.cause else ""
    which = f"tools{cause}"
    if subject.given_tools:
        which = f"{len(crash.tools)} of {offered} tools{cause}, such as {crash.tools[0]}"
    return raising_hit(
        f"fails on {which}: {render.reason}",
        (render, f"a tool{cause}"),
        (sound, "without"),
        crashed=Severity.ERROR,
        refused=Severity.ERROR,
    )


def _lost_hit(subject: Subject, lost: tuple[LostPart, ...]) -> Hit:
    first = lost[0]
    given, other = (render_offer(subject, tools) for tools in (first.offered, first.changed))
    words = "parts of tool schemas are not in the prompt: {}"
    told = [str(part) for part in lost]
    if subject.given_tools:
        words = "parts of these tools are not in the prompt: {}"
        told = [f"{part} ({_count(part.tools)})" for part in lost[:MOST_TOLD]]
        more = len(lost) - MOST_TOLD
        told += [f"{more} more, which 'autoparser analyze --tools' lists"] if more > 0 else []
    return Hit(
        words.format(list_words(told)),
        (compare_renders(given, f"a tool with {first}", other, "with another value"),),
        line=parting_line(given, other) or given.line_of(str(first.offered["name"])),
        severity=None if first.heavy else Severity.INFO,
    )


def _count(tools: Sequence[str]) -> str:
    return f"{len(tools)} tool{'s' * (len(tools) != 1)}"
