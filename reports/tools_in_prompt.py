"""What of offered tools reaches the prompt, and on which the template raises."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from rich.text import Text

from autoparser.analysis.core.errors import one_line
from autoparser.analysis.learning.tool_crashes import ToolCrash
from autoparser.analysis.learning.tools_in_prompt import LostPart, ToolsInPrompt

from .blocks import Blocks, Row, heading, prose, rows, sentence
from .visible import visible

TOOLS_IN_PROMPT = "What of the tools reaches the prompt"
FAILS = "The template fails on tools with"
WRITTEN = "Their texts are written"
GUESSED = "Not in the prompt, so that the model guesses"
BOUNDS = "Not in the prompt, and bounds or explains values"
LONGEST = 200
"""Characters of a tool that are shown."""


def tools_in_prompt_section(found: ToolsInPrompt) -> Blocks:
    """Draw what becomes of tools, what hurts most first."""
    drawn = [*heading(TOOLS_IN_PROMPT), *prose(tools_summary(found))]
    for title, pairs in tools_in_prompt_groups(found):
        drawn += [*prose(f"{title}:"), *rows(pairs, indent=4)]
    return drawn


def tools_summary(found: ToolsInPrompt) -> Text:
    """Say in one sentence how many tools and parts of them do."""
    if not found.taken:
        return Text("The template renders no request with tools.")
    offered = f"{found.tools} tool{'s' * (found.tools != 1)} offered"
    crashing = len({name for crash in found.crashes for name in crash.tools})
    places = sum(len(part.places) for part in found.lost)
    said = Text(offered)
    if found.crashes:
        fail = f"{crashing} fail" if crashing != 1 else "1 fails"
        said = sentence(said, ", ", (fail, "red"))
    if found.parts:
        lost = f"{places} are lost" if places != 1 else "1 is lost"
        said.append(f"; {found.parts} parts of their schemas were changed, one by one or together")
        said.append(f", {lost if places else 'and all reach the prompt'}")
    return said.append(".")


def tools_in_prompt_groups(found: ToolsInPrompt) -> Iterator[tuple[str, list[Row]]]:
    """Return what is wrong, by how much it hurts: a title, and a row for each cause or keyword."""
    fails: list[Row] = [
        (crash.cause or "no cause found", _crash_words(crash)) for crash in found.crashes
    ]
    written: list[Row] = [(str(each), Text("not as the tools have it")) for each in found.spelled]
    lost: list[list[Row]] = [
        [(str(part), _lost_words(part)) for part in found.lost if part.heavy is heavy]
        for heavy in (True, False)
    ]
    groups = {FAILS: fails, WRITTEN: written, GUESSED: lost[0], BOUNDS: lost[1]}
    return ((title, pairs) for title, pairs in groups.items() if pairs)


def _crash_words(crash: ToolCrash) -> Text:
    line = "" if crash.line is None else f" in line {crash.line}"
    reason = visible(one_line(crash.reason, LONGEST))
    said = sentence((_tools(crash.tools), "red"), f": {reason}{line}")
    if crash.smallest:
        shown = one_line(json.dumps(crash.smallest, ensure_ascii=False, default=str), LONGEST)
        said.append(f"; the smallest is {visible(shown)}")
    return said


def _lost_words(part: LostPart) -> Text:
    more = len(part.places) - 1
    places = f", and in {more} more place{'s' * (more != 1)}" if more else ""
    return Text(f"{_tools(part.tools)} at {visible(part.places[0].pointer)}{places}")


def _tools(names: Sequence[str]) -> str:
    if len(names) == 1:
        return visible(names[0])
    return f"{len(names)} tools such as {visible(names[0])}" if names else "several at once"
