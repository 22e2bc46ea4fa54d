"""Propose messages that outputs may mean, under every notation of calls.

A proposal assigns each output a message. It only suggests: the format that is concluded from it
has to read outputs completely, and to write them back unchanged.

Added tokens of a tokenizer suggest markers where outputs leave them open. A marker that is one
token begins and ends where the token does. Its name has no meaning; its place does:

    '<|mull|>Rain, perhaps.<|full|>Let me see.<|use|>look {…'   reasoning stands between the first
    two, since words stand there, and the third opens the call
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.core.string_notation import StringEscape
from autoparser.analysis.core.text_alignment import edge_units, is_unit
from autoparser.analysis.core.turn_format import TurnFormat

from .example_alignment import ArgumentStyle, Hypothesis, leading_space
from .example_conclusion import turn_text
from .examples import Example
from .output_calls import FramedBeginning, ObjectStyle, entry_calls, framed_beginning, object_calls
from .output_sightings import SightedCall, SightedOutput, with_ids
from .outputs import TOLERANCES, LoggedOutput, OfferedTools, shared_beginning, shared_end

# Reasoning that no render shows: a block at the front of turns, between two markers.
#
# The text before calls is content. If much of it begins with one marker, or the prompt has written
# that, and holds another marker later, the text between the two is taken for reasoning.


_SHARE = 0.6
"""At least this share of the texts that begin alike has to close the block."""
_FEWEST_REASONING_TEXTS = 2
"""At least this many texts have to show it."""


@dataclass(frozen=True, slots=True)
class ReasoningBlock:
    """The markers of reasoning, whitespace included."""

    open: str
    r"""The opening, e.g. `"<think>\n"`; empty if the prompt has written it."""
    close: str
    r"""E.g. `"\n</think>\n\n"`."""

    def split(self, text: str) -> tuple[str, str] | None:
        """Return the reasoning and the text after it, or None if the text has no such block."""
        # A turn may lack the whitespace beside markers, so ignore it.
        core, begin = self.close.strip(), len(self.open.rstrip())
        at = text.find(core, begin)
        if at < 0 or not text.startswith(self.open.rstrip()):
            return None
        end = at + len(core)
        before = self.close[: self.close.find(core)]
        after = self.close[self.close.find(core) + len(core) :]
        inner = text[begin:at].removeprefix(self.open[begin:]).removesuffix(before)
        return inner, text[end:].removeprefix(after)


def find_reasoning(texts: Sequence[str], answers: Sequence[str] = ()) -> ReasoningBlock | None:
    """Find the block that most of these texts, which precede calls, begin with.

    `answers` are those of them without a call after them.
    """
    units = [(text, edge_units(text)) for text in texts if text.strip()]
    opened = [(text, _join_leading_space(row)) for text, row in units]
    # A block opens with the marker that most texts begin with.
    firsts = Counter(row[0] for _, row in opened if is_unit(row[0].lstrip()))
    for opening, count in firsts.most_common(1):
        begun = [(text, row[1:]) for text, row in opened if row[0] == opening]
        if count >= _FEWEST_REASONING_TEXTS and (closing := _usual_closing(begun)):
            return block_between(opening, closing, [text for text, _ in begun])
    # No marker in brackets opens the block: try a block of JSON or a line of words.
    framed = framed_beginning([text for text, _ in units])
    if framed is not None and not _holds_whole_answers(framed, answers):
        begun_alike = [text for text, _ in units if text.startswith(framed.opening)]
        return block_between(framed.opening, framed.closing, begun_alike)
    # The prompt may have written the opening, so that only the close shows.
    closing = _usual_closing(units)
    return block_between("", closing, [text for text, _ in units]) if closing else None


def _join_leading_space(row: Sequence[str]) -> list[str]:
    """Join whitespace before the first unit to it."""
    first, *rest = row
    return [first + rest[0], *rest[1:]] if first.isspace() and rest else [first, *rest]


def _holds_whole_answers(framed: FramedBeginning, answers: Sequence[str]) -> bool:
    """Whether most blocks are whole answers, so content, as when every answer is JSON."""
    rests = [
        answer.partition(framed.closing)[2]
        for answer in answers
        if answer.startswith(framed.opening) and framed.closing in answer
    ]
    return 2 * sum(not rest.strip() for rest in rests) > len(rests)


def _usual_closing(opened_texts: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Return the marker that nearly all texts have once, the first of several."""
    seen = Counter(unit for _, row in opened_texts for unit in dict.fromkeys(row) if is_unit(unit))
    found = [
        unit
        for unit, count in seen.items()
        if count >= max(_FEWEST_REASONING_TEXTS, _SHARE * len(opened_texts))
    ]
    return found[0] if found else ""


def block_between(opening: str, closing: str, texts: Sequence[str]) -> ReasoningBlock:
    """Return the block between two markers, with the whitespace of these texts."""
    held = [text for text in texts if closing in text]
    inside = [text[len(opening) : text.find(closing)] for text in held]
    after = [text[text.find(closing) + len(closing) :] for text in held]
    full = [text for text in inside if text.strip()] or inside
    rest = [text for text in after if text.strip()] or after
    return ReasoningBlock(
        opening + leading_space(shared_beginning(full)) if opening else "",
        leading_space(shared_end(full)[::-1])[::-1]
        + closing
        + leading_space(shared_beginning(rest)),
    )


class SuggestedMarkers:
    """The added tokens of a tokenizer."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        """Store the tokens' texts; without any, nothing is suggested."""
        words = sorted((text for text in texts if text.strip()), key=len, reverse=True)
        self._any = re.compile("|".join(map(re.escape, words)) or r"(?!)")

    def block(self, fronts: Sequence[str]) -> tuple[str, str] | None:
        """Return the tokens around words at the front of most texts with such tokens."""
        pairs = Counter(
            (block[0].group(), block[1].group()) for text in fronts if (block := self._block(text))
        )
        return max(pairs, key=lambda pair: pairs[pair], default=None)

    def opening(self, begins: Sequence[str], shared: str) -> str:
        """Return the opening of calls in `shared`, the common end of `begins`, from a token on."""
        opened = Counter(begin[at:] for begin in begins if (at := self._opening(begin)) is not None)
        usual = max(opened, key=lambda text: opened[text], default="")
        return usual if usual and shared.endswith(usual) else shared

    def _opening(self, begin: str) -> int | None:
        block = self._block(begin)
        found = self._any.search(begin, block[1].end() if block else 0)
        return None if found is None else found.start()

    def _block(self, text: str) -> tuple[re.Match[str], re.Match[str]] | None:
        """Return the first two tokens, if the text begins with one and words are between them."""
        found = self._any.finditer(text)
        first, second = next(found, None), next(found, None)
        if first is None or second is None or text[: first.start()].strip():
            return None
        # A single word is the name of a role or a channel.
        words = text[first.end() : second.start()].split()
        return (first, second) if len(words) > 1 else None


_SENTENCE_END = re.compile(r"^(?:[.!?…:,;]+(?=\s)|[.!?…]+(?=[^\w\s]))")
ReadTurn: TypeAlias = Callable[[str], Message]
"""Reads the text before calls as the template writes reasoning and content."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """The meaning of the outputs under one notation of calls."""

    examples: tuple[Example, ...]
    """The outputs, each with a message that it may mean, e.g. one call of `look` for
    `"[do look(city='Oslo', days=3)]<|eot|>"`."""
    guess: Hypothesis
    """The order of a call's fields, e.g. NAME, ARGUMENTS, and the style of its arguments."""
    calls: int
    """The number of calls that were sighted, e.g. 10; more are better."""


def propose_meanings(
    outputs: Sequence[LoggedOutput],
    base: TurnFormat,
    offered: OfferedTools,
    read: ReadTurn | None,
    tokens: Sequence[str] = (),
) -> list[Proposal]:
    """Propose meanings of outputs, the proposals with most calls first.

    `read` reads reasoning as the template writes it; if it is None, the outputs have to show it.
    `tokens` are the added tokens of the model's tokenizer, which may be markers.
    """
    # Try the suggested tokens first; if they fail, the outputs alone decide.
    suggested = [SuggestedMarkers(tokens), SuggestedMarkers()] if tokens else [SuggestedMarkers()]
    texts = [
        turn_text(Example(output.text, Message(), output.prompt, output.place), base)
        for output in outputs
    ]
    ends = [end.text for end in base.ends if end.text.strip()]
    found: list[Proposal] = []
    for style, calls in _calls_by_style(texts, offered):
        sighted = [
            SightedOutput(text, start, tuple(sighted_calls))
            for (text, start), sighted_calls in zip(texts, calls, strict=True)
        ]
        number = sum(map(len, calls))
        if number:
            found += [
                _proposal(outputs, identified, style, read, ends, (markers, opening))
                for identified in with_ids(sighted)
                for markers in suggested
                for opening in _possible_openings(identified, markers)
            ]
    distinct = [proposal for at, proposal in enumerate(found) if proposal not in found[:at]]
    return sorted(distinct, key=lambda proposal: -proposal.calls)


def group_by_notation(
    outputs: Sequence[LoggedOutput], offered: OfferedTools
) -> list[Sequence[LoggedOutput]]:
    """Group outputs by the characters around the names in them, if those differ.

    `"look"` and `<look>` are of two formats. An output without a name is in every group.
    """
    signs = [
        {(output.text[: name.start][-1:], _signs_at(output.text, name.end)) for name in names}
        for output, names in ((output, offered.names_in(output.text)) for output in outputs)
    ]
    counted = Counter(sign for signs_of_output in signs for sign in signs_of_output)
    named = sum(map(bool, signs))
    return [
        [output for output, seen in zip(outputs, signs, strict=True) if sign in seen or not seen]
        for sign, count in counted.most_common(_KINDS)
        if _FEWEST_ALIKE <= count < named
    ]


def _signs_at(text: str, place: int) -> str:
    return text[place : place + (1 if text[place + 1 : place + 2].isalnum() else 2)]


_KINDS = 3
"""At most this many formats are searched for in mixed outputs."""
_FEWEST_ALIKE = 2
_ESCAPES = (
    StringEscape.JSON,
    StringEscape.VERBATIM,
    StringEscape.PYTHON,
    StringEscape.HTML,
    StringEscape.JSON_HTML,
)


def _calls_by_style(
    texts: Sequence[tuple[str, int]], offered: OfferedTools
) -> Iterator[tuple[ArgumentStyle, list[list[SightedCall]]]]:
    # Try objects first: if they explain all calls, entries are not needed.
    for name_first in (True, False):
        for encoded in (False, True):
            style = ObjectStyle(name_first, encoded)
            yield (
                ArgumentStyle(whole=not encoded, encoded=encoded),
                [object_calls(text, start, offered, style) for text, start in texts],
            )
    for escape in _ESCAPES:
        seen: list[list[list[SightedCall]]] = []
        for odd in TOLERANCES:
            calls = entry_calls(texts, offered, escape, odd)
            if calls not in seen:
                seen.append(calls)
                yield ArgumentStyle(escape=escape), calls


def _proposal(
    outputs: Sequence[LoggedOutput],
    sighted: Sequence[SightedOutput],
    style: ArgumentStyle,
    read: ReadTurn | None,
    ends: Sequence[str],
    marked: tuple[SuggestedMarkers, str],
) -> Proposal:
    """Return labeled examples from the calls that were found in outputs, by one style of arguments.

    The text before the first call becomes reasoning and content, by `read` or by a block that
    most of these texts share.
    """
    markers, opening = marked
    fronts = [_text_before_calls(output, ends, opening) for output in sighted]
    block = None
    if read is None:
        answers = [
            front or "" for front, seen in zip(fronts, sighted, strict=True) if not seen.calls
        ]
        full = [front for front in fronts if front]
        # The tokenizer's tokens decide if the texts alone do not.
        known = markers.block(full)
        block = find_reasoning(full, answers) if known is None else block_between(*known, full)
    before = [
        None if front is None else _message_before_calls(front, block, read) for front in fronts
    ]
    # `final\n` before all content is the name of a channel, not content.
    lead = _shared_word_line(before)
    space = _space_before_calls(sighted, before)
    examples: list[Example] = []
    for output, seen, meant in zip(outputs, sighted, before, strict=True):
        # An output that opens its call differently may still be readable, but shows nothing.
        if meant is None:
            continue
        calls = tuple(_call_as_sighted(seen.text, call) for call in seen.calls)
        content = meant.content.removeprefix(lead)
        if calls:
            # Whitespace between a block and the calls is not content.
            content = content.removesuffix(space) if content.strip() else ""
        message = Message(content, meant.reasoning, calls)
        examples.append(Example(output.text, message, output.prompt, output.place))
    orders = Counter(call.order for seen in sighted for call in seen.calls)
    order: tuple[RowSlot, ...] = orders.most_common(1)[0][0]
    return Proposal(tuple(examples), Hypothesis(order, style), sum(orders.values()))


def _message_before_calls(
    front: str, block: ReasoningBlock | None, read: ReadTurn | None
) -> Message:
    if read is not None:
        return read(front)
    split = None if block is None else block.split(front)
    return Message(front) if split is None else Message(split[1], split[0])


def _possible_openings(sighted: Sequence[SightedOutput], markers: SuggestedMarkers) -> list[str]:
    """Return possible openings of the first call of a turn, the most likely first."""
    begins = [
        output.text[output.start : output.calls[0].start] for output in sighted if output.calls
    ]
    # If the prompt opens the call, only turns with content show an opening.
    begins = [begin for begin in begins if begin] or begins
    # Cut off the end of a sentence, since markup begins after it.
    shared = [_SENTENCE_END.sub("", shared_end(begins, odd)) for odd in TOLERANCES]
    # Tolerances that lead to one opening give one proposal.
    found = dict.fromkeys(markers.opening(begins, opening) for opening in shared)
    return [opening for opening in found if opening.strip()] or [*found][:1]


def _text_before_calls(output: SightedOutput, ends: Sequence[str], opening: str) -> str | None:
    """Return the text before the calls, without their opening; of turns without calls, all.

    Return None if something else opens them.
    """
    if not output.calls:
        return _without_turn_end(output.text[output.start :], ends)
    begin = output.text[output.start : output.calls[0].start]
    return begin.removesuffix(opening) if not begin or begin.endswith(opening) else None


_WORD_LINE = re.compile(r"[^\W\d_]\w*\n")


def _shared_word_line(before: Sequence[Message | None]) -> str:
    """Return a one-word line that all contents begin with, such as the name of a channel."""
    contents = [meant.content for meant in before if meant is not None and meant.content.strip()]
    lead = _WORD_LINE.match(contents[0]) if len(set(contents)) >= _FEWEST_CONTENTS else None
    text = "" if lead is None else lead.group()
    return text if all(content.startswith(text) for content in contents) else ""


_FEWEST_CONTENTS = 3
"""At least this many contents have to begin alike."""


def _space_before_calls(sighted: Sequence[SightedOutput], before: Sequence[Message | None]) -> str:
    """Return the whitespace between content and calls; calls without content show none."""
    contents = [
        meant.content
        for meant, seen in zip(before, sighted, strict=True)
        if meant is not None and meant.content.strip() and seen.calls
    ]
    return shared_end([text[len(text.rstrip()) :] for text in contents]) if contents else ""


def _without_turn_end(text: str, ends: Sequence[str]) -> str:
    for end in ends:
        if text.rstrip().endswith(end.strip()):
            cut = text.rstrip().removesuffix(end.strip())
            return cut.removesuffix(leading_space(end))
    return text


def _call_as_sighted(text: str, call: SightedCall) -> ToolCall:
    written = "" if call.id_at is None else text[slice(*call.id_at)]
    return ToolCall(call.name, call.arguments, written)
