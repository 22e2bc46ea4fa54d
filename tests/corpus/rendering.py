"""The renderer over the corpus: whose each character is, and ten turns by bridge and by render.

The vocabulary is Qwen's, with the stop strings of the templates added as its special tokens: a
stand-in for vocabularies that the package index does not have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from msgspec.structs import replace
from tokenizers import AddedToken, Tokenizer

from autoparser import AutoparserError, ChatTemplate
from autoparser.analysis.analysis import Analysis, analyze
from autoparser.analysis.core.conversation import (
    Entry,
    Json,
    Message,
    Presence,
    ToolCall,
    ToolResult,
    UserMessage,
)
from autoparser.analysis.core.message_battery import battery_tools
from autoparser.analysis.core.message_shape import offered_tools
from autoparser.analysis.core.text_alignment import is_unit
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.turn_shape import PromptProgress
from autoparser.analysis.history.message_attribution import Attributed
from autoparser.analysis.history.prompt_tokens import RenderedTokens
from autoparser.analysis.history.renderer import Renderer
from autoparser.analysis.learning.prober import choose_sentinels
from tests.analysis.history.vocabularies import qwen

Messages: TypeAlias = list[dict[str, object]]

TOKENS = {
    "bos_token": "<|endoftext|>",
    "eos_token": "<|im_end|>",
    **{f"{name}_token": "<|endoftext|>" for name in ("unk", "sep", "pad", "cls", "mask")},
}
TURNS = 10
THOUGHT = "Thinking it over."
WORDS = (
    "brisk",
    "candid",
    "dapper",
    "eager",
    "frank",
    "gentle",
    "humble",
    "jolly",
    "keen",
    "lucid",
)


def analyzed(path: Path) -> Analysis | None:
    """Analyze a template with special tokens of the vocabulary; None where that fails."""
    template = ChatTemplate(path.read_text(encoding="utf-8"), TOKENS, name=path.stem)
    try:
        return analyze(template)
    except AutoparserError:
        return None


@cache
def vocabulary() -> Tokenizer:
    """Return the vocabulary."""
    return qwen()


def renderer(analysis: Analysis, **options: object) -> Renderer:
    """Make the renderer of a template, its stop strings single tokens."""
    tokenizer = vocabulary()
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
    for turn, word in enumerate(WORDS[:TURNS]):
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
    """Return entries as messages of the shape that the template takes."""
    words = choose_sentinels(analysis.template.text)
    return [dict(each) for each in analysis.shape.messages(tuple(entries), words.system)]


def tools_for(analysis: Analysis) -> list[object] | None:
    """Return the tools in that shape."""
    return offered_tools(battery_tools(), analysis.shape)  # type: ignore[return-value]


def texts_of(message: dict[str, object]) -> list[str]:
    """Return the texts of a message that stand in a render as they are."""
    found: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            for item in value:
                walk(item)
        elif isinstance(value, dict):
            for key, item in value.items():
                if key not in {"role", "type", "id", "tool_call_id", "name"}:
                    walk(item)

    walk(message)
    return [text for text in found if " " in text]


@dataclass(slots=True)
class Attribution:
    """How the attribution of one template's render compares with the truth."""

    name: str
    rendered: bool = False
    faults: list[str] = field(default_factory=list)


def attribution_of(path: Path, analysis: Analysis) -> Attribution:
    """Attribute a conversation whose texts are all different, and look for each of them."""
    found = Attribution(path.stem)
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
            found.rendered = True
            found.faults += _faults(result, messages)
            found.faults += _prompted(made, result, messages, tools)
    return found


def _faults(result: Attributed, messages: Messages) -> Iterator[str]:
    segments, text = result.segments, result.text
    ends = [0, *(segment.end for segment in segments)]
    if [segment.start for segment in segments] + [len(text)] != ends:
        yield "not every character is in one segment"
    shared = Counter(each for message in messages for each in texts_of(message))
    for at, message in enumerate(messages):
        for each in texts_of(message):
            if shared[each] == 1:
                yield from _misplaced(result, each, at, sampled=message["role"] == "assistant")
    for segment in segments:
        said = text[segment.start : segment.end]
        if segment.content and " " in said.strip() and not any(each in said for each in shared):
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
        under = [
            each
            for each in result.segments
            if each.start < match.end() and each.end > match.start()
        ]
        if {(each.message, each.content, each.sampled) for each in under} != {
            (message, True, sampled)
        }:
            yield f"{words!r} is not sampled={sampled} content of message {message}"


@dataclass(slots=True)
class Rounds:
    """Ten turns of one template."""

    name: str
    checked: bool
    turns: int = 0
    rerender_breaks: int = 0
    answered: int = 0
    bridge_breaks: int = 0
    fallback_breaks: int = 0
    """Prefixes that break by rendering where there is no bridge."""
    needless: list[str] = field(default_factory=list)
    """Refusals where a render of the longer conversation would have kept the prefix."""
    noted: int = 0
    """Bridges that say what a render would have otherwise."""
    silent: list[str] = field(default_factory=list)
    """Bridges whose text is not that of the whole render, without a note."""
    refusals: Counter[str] = field(default_factory=Counter)
    stopped: str = ""
    """Why the conversation could not be had."""


def rounds_of(
    path: Path, analysis: Analysis, *, reasoning: bool = True, retention: str = "none"
) -> Rounds:
    """Have the conversation: each turn's prompt by bridge where there is one, else rendered."""
    found = Rounds(path.stem, not analysis.check.failures)
    switches = setting_for(analysis, reasoning=reasoning)
    made = renderer(analysis, thinking_retention=retention, switches=switches)
    tools = tools_for(analysis)
    for calls in (True, False):
        entries = conversation(analysis, reasoning=reasoning, calls=calls)
        try:
            _have(found, made, analysis, entries, tools)
        except AutoparserError as error:
            # A template that takes a call may still refuse a conversation with many of them.
            found.stopped = str(error)
        if found.turns:
            break
    return found


def setting_for(analysis: Analysis, *, reasoning: bool) -> Mapping[str, object]:
    """Return the switches under which the prompt leaves a turn open that reasons, or does not."""
    presence = Presence(reasoning=reasoning and shows(analysis, TurnPart.REASONING), content=True)
    layout = analysis.format.layouts[presence]
    openings = [each for each in analysis.format.openings if each.text]
    fitting = [each for each in openings if layout.literals[0].startswith(each.text)]
    return fitting[0].setting if fitting else {}


def _have(
    found: Rounds,
    made: Renderer,
    analysis: Analysis,
    entries: Sequence[Entry],
    tools: list[object] | None,
) -> None:
    tokenizer = vocabulary()
    prompt: tuple[int, ...] | None = None
    exact, kept = True, False
    last = max(at for at, entry in enumerate(entries) if isinstance(entry, Message))
    for at in range(last):
        if not isinstance(entries[at], Message):
            continue
        before = shaped(analysis, entries[:at])
        if prompt is None:
            prompt = tuple(made.encode(_prompt(made, before, tools)))
        known = entries
        entries, completion = _sampled(made, analysis, entries, at, tools, prompt)
        until = next(
            (i for i in range(at + 1, len(entries)) if isinstance(entries[i], Message)),
            len(entries),
        )
        new = shaped(analysis, entries[at + 1 : until])
        new = new[1:] if analysis.shape.system else new
        after = shaped(analysis, entries[:until])
        # Whitespace that such a model writes is its own, not the template's.
        exact = exact and entries is known
        bridged = made.bridge_to_next_turn(prompt, completion, new, tools)
        rendered = tuple(made.encode(_prompt(made, after, tools)))
        previous = (*prompt, *completion)
        found.turns += 1
        broken = rendered[: len(previous)] != previous
        found.rerender_breaks += broken
        if isinstance(bridged, RenderedTokens):
            found.answered += 1
            found.noted += bool(bridged.notes)
            found.bridge_breaks += bridged.token_ids[: len(previous)] != previous
            text = tokenizer.decode(bridged.token_ids, skip_special_tokens=False)
            whole = tokenizer.decode(rendered, skip_special_tokens=False)
            if not exact:
                text, whole = ("".join(each.split()) for each in (text, whole))
            kept = kept or any(note.startswith("kept") for note in bridged.notes)
            if text != whole and not kept:
                found.silent.append(_difference(text, whole))
            prompt = bridged.token_ids
        else:
            found.refusals[bridged.reason.name] += 1
            found.fallback_breaks += broken
            if not broken:
                found.needless.append(f"message {at}: {bridged}")
            prompt, exact, kept = rendered, True, False


def _prompt(made: Renderer, messages: Messages, tools: list[object] | None) -> str:
    """Render a prompt; whose its characters are is not asked."""
    switches: dict[str, Any] = made.switches
    return made.analysis.rendering.render(messages, tools, True, **switches)


def _own_text(
    made: Renderer,
    analysis: Analysis,
    entries: Sequence[Entry],
    at: int,
    tools: list[object] | None,
    written: str,
) -> tuple[str, bool]:
    """Return what of an entry's turn is sampled, and whether the turn begins like the prompt."""
    turn = entries[at]
    assert isinstance(turn, Message)
    messages = shaped(analysis, entries[: at + 1])
    if turn.calls and analysis.shape.answered:
        messages += shaped(
            analysis, [ToolResult("done", call.name, call.id) for call in turn.calls]
        )
        messages = [m for at, m in enumerate(messages) if at == 0 or m["role"] != "system"]
    whole = made.attribute(messages, tools)
    last = max(n for n, message in enumerate(messages) if message["role"] == "assistant")
    own = [each for each in whole.segments if each.message == last and each.sampled]
    text = "".join(whole.text[each.start : each.end] for each in own)
    return text, whole.text.startswith(written)


def _sampled(
    made: Renderer,
    analysis: Analysis,
    entries: Sequence[Entry],
    at: int,
    tools: list[object] | None,
    prompt: Sequence[int],
) -> tuple[Sequence[Entry], tuple[int, ...]]:
    """Return what the model would write for an entry, and the conversation in which it did."""
    tokenizer = vocabulary()
    turn = entries[at]
    assert isinstance(turn, Message)
    before = shaped(analysis, entries[:at])
    written = _prompt(made, before, tools)
    text, fits = _own_text(made, analysis, entries, at, tools, written)
    if not fits:
        # No turn of the history begins like the prompt: the model goes on in its own way.
        shown = tokenizer.decode(list(prompt), skip_special_tokens=False)
        block = analysis.format.reasoning
        close, core = ("", "") if block is None else (block.close.core, block.open.core)
        opened = [
            each.text
            for each in analysis.format.openings
            if each.written is PromptProgress.REASONING_OPEN
        ]
        # After the result of a call the prompt may open the reasoning without a header.
        begun = bool(core) and shown.rstrip().endswith(core)
        thinks = bool(close) and (shown.endswith(tuple(opened)) or begun)
        entries = [*entries]
        entries[at] = replace(turn, reasoning="")
        text, _ = _own_text(made, analysis, entries, at, tools, written)
        if thinks:
            entries[at] = replace(turn, reasoning=THOUGHT)
            text = f"{THOUGHT}\n{close}\n\n{text}"
    return entries, tuple(tokenizer.encode(text, add_special_tokens=False).ids)


def _difference(one: str, other: str) -> str:
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    return f"{one[at - 30 : at + 60]!r} for {other[at - 30 : at + 60]!r}"


KINDS: Mapping[str, tuple[bool, str]] = {
    "reasoning, none kept": (True, "none"),
    "reasoning, all kept": (True, "all"),
    "no reasoning": (False, "none"),
}
"""Conversations with and without reasoning, and the retention that the bridge is told."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found of one template."""

    attribution: Attribution
    rounds: Mapping[str, Rounds]


def surveyed(path: Path) -> Survey | None:
    """Survey one template; None where it cannot be analyzed."""
    analysis = analyzed(path)
    if analysis is None:
        return None
    return Survey(
        attribution_of(path, analysis),
        {
            name: rounds_of(path, analysis, reasoning=reasoning, retention=retention)
            for name, (reasoning, retention) in KINDS.items()
        },
    )


def render_table(paths: Sequence[Path]) -> tuple[str, bool]:
    """Lay out what was found, and say whether nothing is wrong."""
    found = [each for each in map(surveyed, paths) if each is not None]
    wrong = any(
        each.attribution.faults
        or any(rounds.silent or rounds.bridge_breaks for rounds in each.rounds.values())
        for each in found
    )
    return "\n".join(_lines(found)) + "\n", not wrong


def _lines(found: Sequence[Survey]) -> Iterator[str]:
    rendered = [each.attribution for each in found if each.attribution.rendered]
    right = sum(not each.faults for each in rendered)
    yield f"{len(found):>6}  templates analyzed"
    yield f"{right:>6}  of {len(rendered)} that render: every text is its message's"
    for each in rendered:
        if each.faults:
            yield f"{'':8}  {each.name}: {each.faults[0]}"
    columns = {name: [each.rounds[name] for each in found] for name in KINDS}
    had = {name: [each for each in rounds if each.turns] for name, rounds in columns.items()}
    yield ""
    yield _row("ten turns", list(had))
    for title, count in _COUNTS.items():
        yield _row(title, [count(rounds) for rounds in had.values()])
    for name, rounds in had.items():
        yield from _refusals(name, rounds)
        for one in rounds:
            yield from (f"{'':8}  {one.name}: {words}" for words in one.silent[:1])
            yield from (f"{'':8}  needless, {one.name}: {words}" for words in one.needless[:1])


def _row(title: str, cells: Sequence[str]) -> str:
    return f"{title:50}" + "".join(f"{cell:>22}" for cell in cells)


def _turns(found: Sequence[Rounds]) -> int:
    return sum(each.turns for each in found)


def _share(part: int, whole: int) -> str:
    return f"{part} ({part / max(whole, 1):.1%})"


def _checked(found: Sequence[Rounds]) -> list[Rounds]:
    return [each for each in found if each.checked]


_COUNTS: Mapping[str, Callable[[Sequence[Rounds]], str]] = {
    "templates": lambda found: str(len(found)),
    "prefixes": lambda found: str(_turns(found)),
    "  that break by rendering again": lambda found: _share(
        sum(each.rerender_breaks for each in found), _turns(found)
    ),
    "  that break by bridging, else by rendering again": lambda found: _share(
        sum(each.bridge_breaks + each.fallback_breaks for each in found), _turns(found)
    ),
    "bridges": lambda found: _share(sum(each.answered for each in found), _turns(found)),
    "  that break the prefix": lambda found: str(sum(each.bridge_breaks for each in found)),
    "  with a note": lambda found: str(sum(each.noted for each in found)),
    "  that say otherwise than a render, without one": lambda found: str(
        sum(len(each.silent) for each in found)
    ),
    "refusals": lambda found: str(sum(sum(each.refusals.values()) for each in found)),
    "  where rendering again breaks the prefix": lambda found: str(
        sum(each.fallback_breaks for each in found)
    ),
    "  where it keeps it: needless": lambda found: str(sum(len(each.needless) for each in found)),
    "templates whose self-check passes": lambda found: str(len(_checked(found))),
    "  with a bridge": lambda found: _share(
        sum(each.answered > 0 for each in _checked(found)), len(_checked(found))
    ),
    "  with a bridge for every turn": lambda found: _share(
        sum(each.answered == each.turns for each in _checked(found)), len(_checked(found))
    ),
}
"""What is counted of the conversations of all templates, by its title."""


def _refusals(name: str, found: Sequence[Rounds]) -> Iterator[str]:
    yield f"why there is no bridge, {name}"
    reasons = sum((each.refusals for each in found), Counter[str]())
    for reason, count in reasons.most_common():
        names = [each.name for each in found if each.refusals[reason]]
        yield f"{count:>8}  {reason}, {len(names)} templates, such as {', '.join(names[:3])}"
