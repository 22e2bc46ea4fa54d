"""Check the renderer on the corpus: owners of characters, and ten turns by bridge and by render.

The vocabulary is Qwen's, with the templates' stop strings as special tokens. It stands in for
vocabularies that the package index does not have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise, product
from pathlib import Path
from typing import Any, TypeAlias

from msgspec.structs import replace
from tokenizers import AddedToken

from autoparser import Analysis, AutoparserError, ChatTemplate, Renderer, analyze
from autoparser.analysis.core.conversation import (
    Entry,
    Json,
    Message,
    Presence,
    ToolCall,
    ToolResult,
    UserMessage,
)
from autoparser.analysis.core.format_choice import opening_at_end
from autoparser.analysis.core.message_battery import battery_tools
from autoparser.analysis.core.message_shape import offered_tools
from autoparser.analysis.core.text_alignment import is_unit
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.turn_shape import PromptProgress
from autoparser.analysis.history.message_attribution import Attributed
from autoparser.analysis.history.rendered_tokens import RenderedTokens
from autoparser.analysis.learning.prober import choose_sentinels
from tests.analysis.history.renderers import qwen

from .corpus_templates import Board

Messages: TypeAlias = list[dict[str, object]]

TOKENS = {
    "bos_token": "<|endoftext|>",
    "eos_token": "<|im_end|>",
    **{f"{name}_token": "<|endoftext|>" for name in ("unk", "sep", "pad", "cls", "mask")},
}
THOUGHT = "Thinking it over."
WORDS = (
    *("brisk", "candid", "dapper", "eager", "frank"),
    *("gentle", "humble", "jolly", "keen", "lucid"),
)


def analyzed(path: Path) -> Analysis | None:
    template = ChatTemplate(path.read_text(encoding="utf-8"), TOKENS, name=path.stem)
    try:
        return analyze(template)
    except AutoparserError:
        return None


def renderer(analysis: Analysis, **options: object) -> Renderer:
    """Make the renderer of a template, its stop strings single tokens of the vocabulary."""
    tokenizer = qwen()
    stops = [stop for stop in analysis.format.stop_strings if is_unit(stop)]
    tokenizer.add_special_tokens([AddedToken(stop, normalized=False) for stop in stops])
    return Renderer(analysis, tokenizer, **options)  # type: ignore[arg-type]


def shows(analysis: Analysis, part: TurnPart) -> bool:
    """Whether a turn of this part alone, or with content, is written."""
    presence = {
        TurnPart.CALLS: Presence(calls=True),
        TurnPart.REASONING: Presence(reasoning=True, content=True),
    }.get(part, Presence(content=True))
    layout = analysis.format.layouts.get(presence)
    return layout is not None and part in layout.parts and not layout.refusal


def conversation(analysis: Analysis, *, reasoning: bool, calls: bool = True) -> list[Entry]:
    """Return ten turns of the model: calls that are answered, then an answer, as far as it goes."""
    calls = calls and analysis.format.calls is not None and shows(analysis, TurnPart.CALLS)
    thought = reasoning and shows(analysis, TurnPart.REASONING)
    entries: list[Entry] = []
    for turn, word in enumerate(WORDS):
        thinking = f"Thinking it over, {word} as ever." if thought else ""
        cycle = turn % 4
        if cycle == 0 or not calls:
            entries.append(UserMessage(f"A {word} question, please."))
        if calls and cycle != 3:
            id_ = f"{word:a<8.8}{turn}"
            arguments: dict[str, Json] = {"city": f"{word.title()} Falls", "days": turn + 1}
            entries.append(Message("", thinking, (ToolCall("get_forecast", arguments, id_),)))
            entries.append(ToolResult(f"A {word} result.", "get_forecast", id_))
        else:
            entries.append(Message(f"A {word} answer.", thinking))
    return entries


def shaped(analysis: Analysis, entries: Sequence[Entry]) -> Messages:
    words = choose_sentinels(analysis.template.text)
    return [dict(message) for message in analysis.shape.messages(tuple(entries), words.system)]


def tools_for(analysis: Analysis) -> list[object] | None:
    return offered_tools(battery_tools(), analysis.shape)  # type: ignore[return-value]


def texts_of(message: object) -> list[str]:
    """Return the texts of a message that stand in a render as they are."""
    if isinstance(message, str):
        return [message] if " " in message else []
    if isinstance(message, dict):
        names = {"role", "type", "id", "tool_call_id", "name"}
        message = [item for key, item in message.items() if key not in names]
    items = message if isinstance(message, list) else ()
    return [text for item in items for text in texts_of(item)]


def attribution_faults(analysis: Analysis) -> list[str] | None:
    """Attribute a conversation whose texts are all different, and look for each of them.

    None if the template renders none.
    """
    found: list[str] | None = None
    made = renderer(analysis)
    for reasoning, calls in product((True, False), repeat=2):
        entries = conversation(analysis, reasoning=reasoning, calls=calls)
        messages = shaped(analysis, entries)
        tools = tools_for(analysis)
        for generation in (False, True):
            try:
                result = made.attribute(messages, tools, add_generation_prompt=generation)
            except AutoparserError:
                continue
            faults = [*_faults(result, messages), *_prompted(made, result, messages, tools)]
            found = [*(found or ()), *faults]
    return found


def _faults(result: Attributed, messages: Messages) -> Iterator[str]:
    segments, text = result.segments, result.text
    ends = [0, *(segment.end for segment in segments)]
    if [segment.start for segment in segments] + [len(text)] != ends:
        yield "not every character is in one segment"
    shared = Counter(text for message in messages for text in texts_of(message))
    for at, message in enumerate(messages):
        for words in texts_of(message):
            if shared[words] == 1:
                yield from _misplaced(result, words, at, sampled=message["role"] == "assistant")
    for segment in segments:
        said = text[segment.start : segment.end]
        if segment.content and " " in said.strip() and not any(text in said for text in shared):
            yield f"{said[:40]!r} is content"


def _prompted(
    made: Renderer, result: Attributed, messages: Messages, tools: list[object] | None
) -> Iterator[str]:
    """Find turns that are not sampled from where their prompt ends, as far as that is there."""
    for at, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        try:
            prompt = made.analysis.rendering.render(messages[:at], tools, True)
        except AutoparserError:
            continue
        sampled = [s.start for s in result.segments if s.message == at and s.sampled]
        if sampled and result.text.startswith(prompt) and sampled[0] != len(prompt):
            yield f"message {at} is sampled from {sampled[0]}, not {len(prompt)}"


def _misplaced(result: Attributed, words: str, message: int, *, sampled: bool) -> Iterator[str]:
    for match in re.finditer(re.escape(words), result.text):
        under = {
            (segment.message, segment.content, segment.sampled)
            for segment in result.segments
            if segment.start < match.end() and segment.end > match.start()
        }
        if under != {(message, True, sampled)}:
            yield f"{words!r} is not sampled={sampled} content of message {message}"


@dataclass(slots=True)
class Rounds:
    name: str
    checked: bool
    counts: Counter[str] = field(default_factory=Counter[str])
    """Turns; bridges, bridges with a note, and prefixes that a bridge breaks; prefixes that renders
    break, and how many of these have no bridge."""
    needless: list[str] = field(default_factory=list[str])
    """Refusals where a render of the longer conversation would have kept the prefix."""
    silent: list[str] = field(default_factory=list[str])
    """Bridges whose text differs from the whole render, without a note."""
    refusals: Counter[str] = field(default_factory=Counter[str])


def rounds_of(path: Path, analysis: Analysis, *, reasoning: bool, retention: str) -> Rounds:
    """Have the conversation: each turn's prompt by bridge where there is one, else rendered."""
    found = Rounds(path.stem, not analysis.check.failures)
    switches = setting_for(analysis, reasoning=reasoning)
    made = renderer(analysis, thinking_retention=retention, switches=switches)
    for calls in (True, False):
        # A template that renders one call may still refuse a conversation with many of them.
        with suppress(AutoparserError):
            _Talk(made, conversation(analysis, reasoning=reasoning, calls=calls)).have(found)
        if found.counts["turns"]:
            break
    return found


def setting_for(analysis: Analysis, *, reasoning: bool) -> Mapping[str, object]:
    """Return the switches under which the prompt leaves a turn open that reasons, or does not."""
    presence = Presence(reasoning=reasoning and shows(analysis, TurnPart.REASONING), content=True)
    layout = analysis.format.layouts[presence]
    openings = [opening for opening in analysis.format.openings if opening.text]
    fitting = [opening for opening in openings if layout.literals[0].startswith(opening.text)]
    return fitting[0].setting if fitting else {}


class _Talk:
    def __init__(self, made: Renderer, entries: list[Entry]) -> None:
        self._made = made
        self._analysis = made.analysis
        self._entries = entries
        self._tools = tools_for(made.analysis)

    def have(self, found: Rounds) -> None:
        """Bridge from each turn of the model to the next, and count what came of it."""
        tokenizer, counts = qwen(), found.counts
        turns = [at for at, entry in enumerate(self._entries) if isinstance(entry, Message)]
        prompt: tuple[int, ...] | None = None
        exact, kept = True, False
        for at, until in pairwise(turns):
            if prompt is None:
                prompt = tuple(self._made.encode(self._prompt(at)))
            completion, own = self._sampled(at, prompt)
            # Whitespace of another model's turn need not be the template's.
            exact = exact and own
            new = shaped(self._analysis, self._entries[at + 1 : until])
            new = new[1:] if self._analysis.shape.system else new
            bridged = self._made.bridge_to_next_turn(prompt, completion, new, self._tools)
            rendered = tuple(self._made.encode(self._prompt(until)))
            previous = (*prompt, *completion)
            broken = rendered[: len(previous)] != previous
            counts["turns"] += 1
            counts["broken"] += broken
            if isinstance(bridged, RenderedTokens):
                counts["bridges"] += 1
                counts["noted"] += bool(bridged.notes)
                counts["broken by bridge"] += bridged.token_ids[: len(previous)] != previous
                text = tokenizer.decode(bridged.token_ids, skip_special_tokens=False)
                whole = tokenizer.decode(rendered, skip_special_tokens=False)
                if not exact:
                    text, whole = ("".join(shown.split()) for shown in (text, whole))
                kept = kept or any(note.startswith("kept") for note in bridged.notes)
                if text != whole and not kept:
                    found.silent.append(_difference(text, whole))
                prompt = bridged.token_ids
            else:
                found.refusals[bridged.reason.name] += 1
                counts["broken without"] += broken
                if not broken:
                    found.needless.append(f"message {at}: {bridged}")
                prompt, exact, kept = rendered, True, False

    def _prompt(self, until: int) -> str:
        messages = shaped(self._analysis, self._entries[:until])
        switches: dict[str, Any] = self._made.switches
        return self._analysis.rendering.render(messages, self._tools, True, **switches)

    def _own_text(self, at: int) -> tuple[str, bool]:
        """Return the sampled text of a turn, and whether the turn begins like its prompt."""
        turn = self._entries[at]
        assert isinstance(turn, Message)
        messages = shaped(self._analysis, self._entries[: at + 1])
        if turn.calls and self._analysis.shape.answered:
            results = [ToolResult("done", call.name, call.id) for call in turn.calls]
            messages += shaped(self._analysis, results)
            messages = [m for at, m in enumerate(messages) if at == 0 or m["role"] != "system"]
        whole = self._made.attribute(messages, self._tools)
        last = max(n for n, message in enumerate(messages) if message["role"] == "assistant")
        own = [segment for segment in whole.segments if segment.message == last and segment.sampled]
        text = "".join(whole.text[segment.start : segment.end] for segment in own)
        return text, whole.text.startswith(self._prompt(at))

    def _sampled(self, at: int, prompt: Sequence[int]) -> tuple[tuple[int, ...], bool]:
        """Return the model's ids for a turn, and whether they are the template's own.

        Where no turn of the history begins like the prompt, the model goes on in its own way, and
        the conversation has that.
        """
        text, fits = self._own_text(at)
        if not fits:
            turn = self._entries[at]
            assert isinstance(turn, Message)
            self._entries[at] = replace(turn, reasoning="")
            text, _ = self._own_text(at)
            format_, shown = (
                self._analysis.format,
                qwen().decode([*prompt], skip_special_tokens=False),
            )
            block, opening = format_.reasoning, opening_at_end(format_, shown)
            opened = opening is not None and opening.written is PromptProgress.REASONING_OPEN
            if opened and block is not None and block.close.core:
                self._entries[at] = replace(turn, reasoning=THOUGHT)
                text = f"{THOUGHT}\n{block.close.core}\n\n{text}"
        return tuple(qwen().encode(text, add_special_tokens=False).ids), fits


def _difference(one: str, other: str) -> str:
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    return f"{one[at - 30 : at + 60]!r} for {other[at - 30 : at + 60]!r}"


KINDS: Mapping[str, tuple[bool, str]] = {
    "reasoning, none kept": (True, "none"),
    "reasoning, all kept": (True, "all"),
    "no reasoning": (False, "none"),
}
"""Conversations with and without reasoning, and the retention passed to the bridge."""


@dataclass(frozen=True, slots=True)
class Survey:
    name: str
    faults: list[str] | None
    """Texts attributed to a wrong message; None if nothing renders."""
    rounds: Mapping[str, Rounds]

    @property
    def ok(self) -> bool:
        """Whether texts are attributed rightly, and bridges equal a render or have a note."""
        rounds = self.rounds.values()
        return not self.faults and not any(
            talk.silent or talk.counts["broken by bridge"] for talk in rounds
        )


def surveyed(path: Path) -> Survey | None:
    analysis = analyzed(path)
    if analysis is None:
        return None
    rounds = {
        name: rounds_of(path, analysis, reasoning=reasoning, retention=retention)
        for name, (reasoning, retention) in KINDS.items()
    }
    return Survey(path.stem, attribution_faults(analysis), rounds)


def _lines(found: Sequence[Survey]) -> Iterator[str]:
    rendered = [row for row in found if row.faults is not None]
    right = sum(not survey.faults for survey in rendered)
    yield f"{len(found):>6}  templates analyzed"
    yield f"{right:>6}  of {len(rendered)} that render: every text is its message's"
    for survey in rendered:
        if survey.faults:
            yield f"{'':8}  {survey.name}: {survey.faults[0]}"
    had = {
        name: [row.rounds[name] for row in found if row.rounds[name].counts["turns"]]
        for name in KINDS
    }
    yield ""
    yield _row("ten turns", list(had))
    counts = list(map(_counts, had.values()))
    yield from (_row(title, [count[title] for count in counts]) for title in counts[0])
    for name, rounds in had.items():
        yield from _refusals(name, rounds)
        for one in rounds:
            yield from (f"{'':8}  {one.name}: {words}" for words in one.silent[:1])
            yield from (f"{'':8}  needless, {one.name}: {words}" for words in one.needless[:1])


def _row(title: str, cells: Sequence[str]) -> str:
    return f"{title:50}" + "".join(f"{cell:>22}" for cell in cells)


def _share(part: int, whole: int) -> str:
    return f"{part} ({part / max(whole, 1):.1%})"


def _counts(found: Sequence[Rounds]) -> Mapping[str, str]:
    """Return the counts over the conversations of all templates, by title."""
    total = sum((row.counts for row in found), Counter[str]())
    checked = [row.counts for row in found if row.checked]
    bridged = sum(counts["bridges"] > 0 for counts in checked)
    always = sum(counts["bridges"] == counts["turns"] for counts in checked)
    turns, by_bridge, without = (
        total[title] for title in ("turns", "broken by bridge", "broken without")
    )
    return {
        "templates": str(len(found)),
        "prefixes": str(turns),
        "  that break by rendering again": _share(total["broken"], turns),
        "  that break by bridging, else by rendering again": _share(by_bridge + without, turns),
        "bridges": _share(total["bridges"], turns),
        "  that break the prefix": str(by_bridge),
        "  with a note": str(total["noted"]),
        "  that say otherwise than a render, without one": str(
            sum(len(row.silent) for row in found)
        ),
        "refusals": str(sum(row.refusals.total() for row in found)),
        "  where rendering again breaks the prefix": str(without),
        "  where it keeps it: needless": str(sum(len(row.needless) for row in found)),
        "templates whose self-check passes": str(len(checked)),
        "  with a bridge": _share(bridged, len(checked)),
        "  with a bridge for every turn": _share(always, len(checked)),
    }


def _refusals(name: str, found: Sequence[Rounds]) -> Iterator[str]:
    yield f"why there is no bridge, {name}"
    reasons = sum((row.refusals for row in found), Counter[str]())
    for reason, count in reasons.most_common():
        names = [row.name for row in found if row.refusals[reason]]
        yield f"{count:>8}  {reason}, {len(names)} templates, such as {', '.join(names[:3])}"


# The vocabulary keeps the stop strings of each template, so that one process asks them all.
RENDERS = Board(surveyed, _lines, lambda row: row.ok, chunk=10_000)
