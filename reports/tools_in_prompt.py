"""Tool schemas in the prompt: the parts that are lost, and the tools on which a template raises.

For example, a template that reads `parameters.properties` of every tool and no descriptions:

    2 tools offered, 1 raises; 20 parts of their schemas tested, 14 are lost.
    The template raises on tools with:
      an object without properties  opening_hours: UndefinedError: … in line 2
    Missing from the prompt, so the model has to guess:
      tool description              2 tools such as reserve_table at #/description
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from rich.text import Text

from autoparser.analysis.core.error_words import one_line
from autoparser.analysis.learning.tool_crashes import ToolCrash
from autoparser.analysis.learning.tools_in_prompt import LostPart, ToolsInPrompt

from .blocks import Blocks, Heading, Row, lead, prose, rows, sentence
from .visible import visible

TOOLS_IN_PROMPT = "Which parts of your tool schemas reach the prompt"
FAILS = "The template raises on tools with"
WRITTEN = "Descriptions are rendered"
GUESSED = "Missing from the prompt, so the model has to guess"
BOUNDS = "Missing from the prompt (limits and explanations of values)"
LONGEST = 200
"""Longest tool shown, in characters."""


def tools_in_prompt_section(prompt_tools: ToolsInPrompt) -> Blocks:
    """Show how tools are rendered, the worst losses first."""
    counts = {"fail": len(prompt_tools.crashes), "lost": len(prompt_tools.lost)}
    note = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    drawn = [Heading(Text(TOOLS_IN_PROMPT), "tools", note), *lead(tools_summary(prompt_tools))]
    for title, pairs in tools_in_prompt_groups(prompt_tools):
        drawn += [*prose(f"{title}:"), *rows(pairs, indent=4)]
    return drawn


def tools_summary(prompt_tools: ToolsInPrompt) -> Text:
    """Count the tools and schema parts that reach the prompt, in one sentence."""
    if not prompt_tools.taken:
        return Text("The template raises on every request with tools.")
    offered = f"{prompt_tools.tools} tool{'s' * (prompt_tools.tools != 1)} offered"
    # One tool may crash for several causes.
    crashing = len({name for crash in prompt_tools.crashes for name in crash.tools})
    places = sum(len(part.places) for part in prompt_tools.lost)
    summary = Text(offered)
    if prompt_tools.crashes:
        fail = f"{crashing} raise" if crashing != 1 else "1 raises"
        summary = sentence(summary, ", ", (fail, "red"))
    if prompt_tools.parts:
        lost = f"{places} are lost" if places != 1 else "1 is lost"
        summary.append(f"; {prompt_tools.parts} parts of their schemas tested")
        summary.append(f", {lost if places else 'all reach the prompt'}")
    return summary.append(".")


def tools_in_prompt_groups(prompt_tools: ToolsInPrompt) -> Iterator[tuple[str, list[Row]]]:
    """Return the losses, the worst first: a title, and a row for each cause or keyword."""
    fails: list[Row] = [
        (crash.cause or "no cause found", _crash_words(crash)) for crash in prompt_tools.crashes
    ]
    written: list[Row] = [
        (str(cause), Text("unlike in the tools")) for cause in prompt_tools.spelled
    ]
    lost: list[list[Row]] = [
        [(str(part), _lost_words(part)) for part in prompt_tools.lost if part.heavy is heavy]
        for heavy in (True, False)
    ]
    groups = {FAILS: fails, WRITTEN: written, GUESSED: lost[0], BOUNDS: lost[1]}
    return ((title, pairs) for title, pairs in groups.items() if pairs)


def _crash_words(crash: ToolCrash) -> Text:
    line = "" if crash.line is None else f" in line {crash.line}"
    reason = visible(one_line(crash.reason, LONGEST))
    crash_words = sentence((_tools(crash.tools), "red"), f": {reason}{line}")
    if crash.smallest:
        shown = one_line(json.dumps(crash.smallest, ensure_ascii=False, default=str), LONGEST)
        crash_words.append(f"; the smallest is {visible(shown)}")
    return crash_words


def _lost_words(part: LostPart) -> Text:
    more = len(part.places) - 1
    places = f", and in {more} more place{'s' * (more != 1)}" if more else ""
    return Text(f"{_tools(part.tools)} at {visible(part.places[0].pointer)}{places}")


def _tools(names: Sequence[str]) -> str:
    if len(names) == 1:
        return visible(names[0])
    return f"{len(names)} tools such as {visible(names[0])}" if names else "several at once"
