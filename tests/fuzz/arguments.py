"""Count wrong arguments under status `ok`: `python -m tests.fuzz.arguments --edits 100000`.

Rendered turns with calls are edited at random and parsed with their tools. For each call of status
`ok` in a regular message, the text must contain the rendered arguments, or their JSON, in one
piece, apart from whitespace, quotes and escapes. Answers without calls are prose, or prose about
the format (quoted markers, code fences, look-alike brackets): none may become a call or lose a
character of its content.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from autoparser import AutoparserError, ChatTemplate, Json, LearnedFormat, ToolCall, analyze
from autoparser.analysis.core.call_format import ArgumentFormat
from autoparser.analysis.core.call_notation import MemberOrder, json_notation
from autoparser.analysis.core.message_battery import battery_messages
from autoparser.analysis.core.turn_format import RefusedMessageError
from autoparser.analysis.parsing.stop_marks import call_markers
from tests.analysis.parsing.loop import TOOLS, generated, with_ids
from tests.corpus.corpus_templates import corpus_paths, own_paths
from tests.fixture_analyses import TOKENS

from .edits import Tally, edited, fuzz_options, in_shares, paths_named, print_finds

ANSWERS = 8
"""Answers without calls for each template."""


def wrong_calls(analysis: LearnedFormat, edits: int, rng: random.Random) -> Iterator[str]:
    """Edit turns with calls; yield what of a call that is `ok` does not stand in the text."""
    format_ = analysis.format
    calls = format_.calls
    turns = []
    orders = [] if calls is None else [*_in_orders(calls.arguments)]
    for case in battery_messages():
        if case.message.calls and calls is not None:
            try:
                turns.append(
                    generated(format_, format_.write(with_ids(format_, case.message)), TOOLS)
                )
            except RefusedMessageError:
                continue
    for _ in range(edits if turns and calls is not None else 0):
        turn, parser = rng.choice(turns)
        text = edited(rng, turn, (), rng.randint(1, 3))
        message = parser.parse(text)
        if not message.status.regular or calls is None:
            continue
        bare = _bare(text)
        for call in message.tool_calls:
            # Python's repr escapes this space.
            given = json.loads(call.arguments.replace("\xa0", " "))
            ways = (*(order.write(given) for order in orders), call.arguments)
            doubled = _has_doubles(call.arguments)
            if (
                call.status.value == "ok"
                and not doubled
                and not any(_bare(way) in bare for way in ways)
            ):
                yield f"{call.name} {call.arguments} of {text!r}"


def _in_orders(arguments: ArgumentFormat) -> Iterator[ArgumentFormat]:
    """Return how arguments are written: as the template sorts them, as given, and in JSON."""
    yield arguments
    members = replace(arguments.members, order=MemberOrder.GIVEN)
    values = arguments.values
    given = replace(values, object=replace(values.object, order=MemberOrder.GIVEN))
    for notation in (given, json_notation()):
        yield replace(arguments, members=members, values=notation)


def _has_doubles(arguments: str) -> bool:
    """Return whether a name stands twice in an object: then both are passed on as written."""
    found: list[bool] = []

    def note(pairs: list[tuple[str, Json]]) -> None:
        found.append(len(dict(pairs)) < len(pairs))

    json.loads(arguments, object_pairs_hook=note)
    return any(found)


def _bare(text: str) -> str:
    """Return a text without whitespace, and without the quotes and escapes that JSON may have.

    Numbers with an exponent are written as Python writes them.
    """
    text = re.sub(r"-?\d+(?:\.\d+)?[eE][+-]?\d+", lambda found: repr(float(found[0])), text)
    return re.sub(r"\\[nrtbf]|\\u[0-9a-f]{4}|[\\\"'\s\ufeff]", "", text)


def changed_answers(analysis: LearnedFormat, rng: random.Random) -> Iterator[str]:
    """Parse answers without calls; yield those that became a call or changed."""
    calls = analysis.format.calls
    call = ToolCall("get_forecast", {"city": "Oslo", "days": 3}, "abc123456")
    sample = "" if calls is None else calls.write([call])
    parser = analysis.parser(TOOLS, reasoning_over=True)
    markers = [] if parser.turn.calls is None else [*call_markers(parser.turn.calls)]
    turn = parser.turn
    opens = [turn.header, turn.content.open, turn.content.close, *turn.content.others]
    ends = [end.core for end in turn.ends if end.core]
    # A marker that contains the engine's stop string ends an answer anywhere, and headers may use
    # markers of calls, too.
    markers = [
        mark
        for mark in markers
        if not any(end in mark for end in ends)
        and not any(mark in literal.core for literal in opens)
    ] or ["<call>"]
    for _ in range(ANSWERS):
        mark = rng.choice(markers)
        quoted = rng.choice((f"`{mark}`", f'"{mark}"', f"({mark})", f"```\n{{}}\n```\n`{mark}`"))
        alike = mark.translate(_ALIKE)
        # Calls without special characters have no look-alike.
        whole = alike if sample.translate(_ALIKE) == sample else sample.translate(_ALIKE)
        text = rng.choice(
            (
                "The forecast for Oslo is rain.\n\n* bring a coat\n* take the bus",
                f"A call of a tool ends with {quoted}, and nothing follows it.",
                f"In plain signs it is {alike} here, as the page says.",
                f"In plain signs a call is {whole} here.",
                f"In plain signs a call is\n\n{whole}\n\nand nothing more.",
                f"Like this:\n\n```\n{whole}\n```\n\nBegin with `{mark}…`.",
                f"Its sign ({mark}) comes first:\n\n```\n{mark}\n```\n\nThat is all.",
                f'Before it:\n\n```json\n{{"a": 1}}\n```\n\nthen {quoted} stands.',
            )
        )
        message = parser.parse(text)
        if message.tool_calls or (message.content or "").strip() != text.strip():
            yield f"answer {text!r} became {message!r}"


_ALIKE = str.maketrans("<>｜", "[]|")


def fuzz(paths: Sequence[Path], edits: int, seed: int) -> Tally:
    """Ask so many edited turns, and some answers without calls, of each template."""
    own, tally = set(own_paths()), Tally()
    for at, path in enumerate(paths):
        template = ChatTemplate(path.read_text(encoding="utf-8"), TOKENS if path in own else {})
        rng = random.Random(f"{seed} {path.stem}")
        share = edits * (at + 1) // len(paths) - edits * at // len(paths)
        try:
            analysis = analyze(template)
            wrong = [*wrong_calls(analysis, share, rng)]
            changed = [*changed_answers(analysis, rng)]
        except AutoparserError:
            continue
        tally.counts["turns"] += share
        tally.counts["answers"] += ANSWERS
        tally.finds += [f"{path.stem}: {found}" for found in (*wrong, *changed)]
    return tally


def main() -> int:
    """Run; 1 where something was found."""
    options = fuzz_options("tests.fuzz.arguments", __doc__ or "", "edits", 10_000)
    options.add_argument("--every", type=int, default=1, help="only every n-th template")
    given = options.parse_args()
    paths = paths_named([*own_paths(), *corpus_paths()], given.words)[:: given.every]
    tally = in_shares(partial(fuzz, seed=given.seed), paths, given.amount, given.jobs)
    asked = ", ".join(f"{count} {what}" for what, count in sorted(tally.counts.items()))
    summary = f"{asked} of {len(paths)} templates, seed {given.seed}: {len(tally.finds)} finds"
    return print_finds(tally.finds, summary)


if __name__ == "__main__":
    sys.exit(main())
