r"""Learn the frame of calls by sentinels: the text that opens and closes a section and a call.

`learn_frame` renders turns of one, two and three calls and splits the repeated text from its
surroundings. From the turn of three calls, with inner texts A, B and C,

    <|assistant|><c>A</c>;<c>B</c>;<c>C</c><|end|>

the text between two calls is `</c>;<c>`. What it shares with the text before the first call, `<c>`,
opens a call; what it shares with the text after the last, `</c>`, closes it; `;` separates. For
`fixtures/templates/a1-function-parameter.jinja` that gives

    prefix       '<|im_start|>assistant\n<think>\n\n</think>\n\n'
    open         '<tool_call>\n<function='
    inner        'qkphffqx>\n<parameter=mcdsbpxt>\nzhvwxqzm'    first sentinel to last
    close        '\n</parameter>\n</function>\n</tool_call>'
    separator    '\n'
    suffix       '<|im_end|>\n'

The module also reads generation prompts (`prompt_text`, `describe_openings`), markers before calls
that no usual turn shows (`learn_leads`), and numbers that count calls (`mark_numbers`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct, structs
from msgspec.structs import replace

from autoparser.analysis.core.call_format import CallLimit
from autoparser.analysis.core.conversation import Message, Presence, ToolResult
from autoparser.analysis.core.message_shape import Setting
from autoparser.analysis.core.text_alignment import (
    MarkerBlock,
    RepeatedText,
    TemplateLiteral,
    common_prefix,
    edge_units,
    is_unit,
    split_repetition,
)
from autoparser.analysis.core.turn_shape import PromptProgress, TurnOpening

from .observer import ObservedTurn, Observer, SlotKind
from .prober import Prober
from .shape_negotiation import switch_candidates
from .suggestions import Suggestions

# Generation prompts: the part of the turn that each has already written.


class PromptText(NamedTuple):
    """The text that `add_generation_prompt` adds under a setting."""

    setting: Setting
    """The values set, e.g. `{"enable_thinking": False}`."""
    text: str
    r"""E.g. `"<|im_start|>assistant\n<think>\n\n</think>\n\n"`."""
    tools: bool = True
    """Whether tools are offered; the prompt without tools is listed only if it differs."""
    signs: tuple[str, ...] = ()
    """Texts before the turn by which the prompt differs from those of other formats, e.g.
    instructions on how to write calls."""


def prompt_text(prober: Prober, setting: Setting, *, tools: bool = True) -> str | None:
    """Return the text that `add_generation_prompt` adds, or None if the prompt does not render.

    If the template writes something else without it, such as the token that ends a training
    example, the common prefix is cut off, but no marker is cut in two.
    """
    # The prompt is what `add_generation_prompt=True` adds to the same conversation.
    alone = prober.probe((prober.user,), tools=tools, setting=setting)
    prompt = prober.probe((prober.user,), tools=tools, generation=True, setting=setting)
    if not prompt.rendered:
        return None
    # Equal texts may mean no prompt, or one that `add_generation_prompt` does not control.
    if alone.rendered and prompt.text == alone.text:
        return _unconditional_prompt(prober, setting) if tools else ""
    if alone.rendered and prompt.text.startswith(alone.text):
        return prompt.text[len(alone.text) :]
    # The texts diverge earlier, but at least the text after the user's words belongs to the prompt.
    user = prober.sentinels.user
    end = prompt.text.rfind(user) + len(user)
    shared = len(common_prefix(prompt.text, alone.text)) if alone.rendered else end
    return prompt.text[max(shared, end) :]


def _unconditional_prompt(prober: Prober, setting: Setting) -> str:
    """Return the generation prompt that a template writes unconditionally.

    It may begin only turns with calls, as one that has closed the reasoning.
    """
    observer = Observer(prober.using(setting=setting))
    behind = observer.behind
    if not behind:
        return ""
    shown = (observer.sample(Presence(content=True)), observer.sample(Presence(calls=True)))
    return behind if any(turn.text.startswith(behind) for turn in shown) else ""


def prompts_under(prober: Prober, settings: Sequence[Setting]) -> tuple[PromptText, ...]:
    """Return every setting's generation prompt, and the one without tools if it differs."""
    return tuple(prompt for setting in settings for prompt in _prompts_of_setting(prober, setting))


def _prompts_of_setting(prober: Prober, setting: Setting) -> Iterator[PromptText]:
    text = prompt_text(prober, setting)
    if text is not None:
        yield PromptText(setting, text)
    bare = prompt_text(prober, setting, tools=False)
    # A template that only handles tools renders no prompt without them.
    if bare and bare != text:
        yield PromptText(setting, bare, tools=False)


def describe_openings(
    prompts: Sequence[PromptText], header: str, reasoning: MarkerBlock | None
) -> tuple[TurnOpening, ...]:
    """Return how much of the turn each generation prompt has written."""
    return tuple(
        TurnOpening(
            dict(prompt.setting),
            prompt.text,
            written_by(prompt.text, header, reasoning),
            prompt.tools,
            prompt.signs,
        )
        for prompt in prompts
    )


_UNKNOWN = MarkerBlock(TemplateLiteral(), TemplateLiteral())


def written_by(text: str, header: str, reasoning: MarkerBlock | None) -> PromptProgress:
    """Return how much of a turn its beginning `text` has written."""
    reasoning = reasoning or _UNKNOWN
    if not text:
        return PromptProgress.NOTHING
    # Whitespace may differ: some templates write the line break with the turn, not the prompt.
    if text == header or (text.strip() == header.strip() and header.strip()):
        return PromptProgress.HEADER
    if header.startswith(text):
        return PromptProgress.PART_OF_HEADER
    head = header.strip()
    if head not in text:
        return PromptProgress.OTHER
    # The prompt's text after the header: an opened block, a closed one, or something else.
    rest = (text[text.rindex(head) + len(head) :] if head else text).strip()
    opening, close = reasoning.open.core, reasoning.close.core
    if opening and rest == opening:
        return PromptProgress.REASONING_OPEN
    if close and rest.endswith(close) and (not opening or rest.startswith((opening, close))):
        return PromptProgress.REASONING_CLOSED
    return PromptProgress.OTHER


# Markers right before a call, and stop strings, that no turn of the usual messages shows.
#
# Both sources are suggestions of the template's syntax tree. A variable that is searched may be a
# list of tools that are called in another way: with the called tool in it, the render shows the
# opening of the call and the end of the turn. And a text constant that is one marker, and that no
# render has shown, is known to the template: right before a call that reads completely, it is
# markup.


_CALLS = Presence(calls=True)
_MOST = 8
"""At most this many of either are tried."""


class Leads(NamedTuple):
    """Markers that may precede a call, and further ends of turns."""

    markers: tuple[str, ...] = ()
    """Markers that may precede a call, e.g. `"<|tool|>"`."""
    stops: tuple[str, ...] = ()
    """Stop strings of turns that end in such a call, e.g. `"<|call|>"`."""


def learn_leads(observer: Observer, suggestions: Suggestions) -> Leads:
    """Learn the markers before calls and the stop strings that only a list or constant shows."""
    unseen = [
        text
        for constant in suggestions.constants
        if is_unit(text := constant.strip()) and not observer.prober.has_rendered(text)
    ]
    usual = observer.sample(_CALLS)
    markers, stops = dict.fromkeys(unseen[:_MOST]), dict[str, None]()
    candidates = set(switch_candidates(suggestions))
    for name in [name for name in suggestions.searched if name in candidates][:_MOST]:
        marks, prober = observer.prober.sentinels, observer.prober
        # `name in LIST` tests for a list that contains the called tool.
        setting: Setting = {**prober.setting, name: [marks.names[0]]}
        turn = Observer(prober.using(setting=setting)).sample(_CALLS)
        # A list of tools may be a switch that raises, or drops the call.
        if turn.refusal or marks.names[0] not in turn.text:
            continue
        before, _, after = turn.text.partition(marks.names[0])
        markers |= dict.fromkeys(_new_markers(before, usual))
        last = edge_units(after.rstrip())[-1:]
        stops |= dict.fromkeys(_new_markers("".join(last), usual))
    return Leads(tuple(markers), tuple(stops))


def _new_markers(text: str, usual: ObservedTurn) -> list[str]:
    """Return the markers of a text that the usual turn lacks."""
    units = (unit.strip() for unit in edge_units(text)) if text else ()
    return [unit for unit in units if is_unit(unit) and unit not in usual.text]


# Numbers that count calls: texts equal except for a number that grows by one.


INDEX_MARK = "\ue000"
"""Placeholder for the number of the call in a learned text."""

_NUMBERS = re.compile(r"(\d+)")


def mark_numbers(texts: Sequence[str]) -> tuple[str, int] | None:
    """Return the text that `texts` share, with marks for counting numbers, and the first number.

    Return None if the texts differ in anything else. A text without counting numbers is returned
    unchanged, with -1.
    """
    rows = [_NUMBERS.split(text) for text in texts]
    first = rows[0]
    if any(len(row) != len(first) for row in rows):
        return None
    base = -1
    pieces: list[str] = []
    # `split` puts the numbers at odd positions: `a1b2` is `a`, `1`, `b`, `2`, ``.
    for at, piece in enumerate(first):
        column = [row[at] for row in rows]
        if all(other == piece for other in column):
            pieces.append(piece)
        elif at % 2 and [int(number) for number in column] == list(
            range(int(piece), int(piece) + len(column))
        ):
            pieces.append(INDEX_MARK)
            base = int(piece)
        else:
            return None
    return "".join(pieces), base


def fill_number(text: str, number: int) -> str:
    """Replace the marks by a number."""
    return text.replace(INDEX_MARK, str(number))


_CALL_KINDS = (SlotKind.NAME, SlotKind.ID, SlotKind.KEY, SlotKind.VALUE)


class CallGroup(NamedTuple):
    """One call in a turn: the text from its first to its last sentinel, and its surroundings."""

    before: str
    r"""From the previous call, or the turn's start, e.g. `"\n<tool_call>\n<function="`."""
    inner: str
    r"""E.g. `"qkphffqx>\n<parameter=mcdsbpxt>\nzhvwxqzm"`."""
    after: str
    r"""Up to the next call, or the turn's end, e.g.
    `"\n</parameter>\n</function>\n</tool_call>"`."""


class CallsFrame(Struct, frozen=True):
    """The text around the calls of a turn."""

    repetition: RepeatedText
    r"""E.g. open `"<tool_call>\n<function="`, separator `"\n"`, close
    `"\n</parameter>\n</function>\n</tool_call>"`; `prefix` is the text before the first call in a
    turn of calls alone, `suffix` the rest of the turn, e.g. `"<|im_end|>\n"`."""
    inner: str
    r"""A call from its first to its last sentinel, e.g.
    `"qkphffqx>\n<parameter=mcdsbpxt>\nzhvwxqzm"`."""
    index_base: int = 0
    """The number of the first call, e.g. 0 for `functions.f:0`; 0 if calls are not numbered."""
    goes_on: bool = False
    """Whether the numbers of a later turn continue those of an earlier one, as `functions.g:1`
    does."""
    limit: CallLimit = CallLimit.MANY
    """Whether a turn may have several calls, e.g. `CallLimit.MANY`."""
    later_close: str = ""
    """The text after every call but the first, e.g. `"</all>"`; usually empty."""

    def without_header(self, header: str) -> CallsFrame:
        """Remove the turn's header from the opening of a call, if each call repeats it."""
        cut = self.repetition
        if not header.strip() or not cut.open.startswith(header):
            return self
        return replace(
            self,
            repetition=structs.replace(
                cut,
                prefix=cut.prefix + header,
                open=cut.open.removeprefix(header),
                separator=cut.separator + header,
            ),
        )

    def with_close_before(self, afters: Sequence[str]) -> CallsFrame:
        """Reduce a call's close to the text that is written whatever comes next.

        `afters` are the texts after the call in turns of one call.
        """
        cut = self.repetition
        written = self.close_of(0)
        # A close with a number belongs to its call, not to the text after it.
        if INDEX_MARK in cut.close or all(after.startswith(written) for after in afters):
            return self
        # Whitespace at the end of the close separates the call from the text after it.
        close = common_prefix(written, *afters).rstrip()
        rest = written[len(close) :]
        return replace(
            self,
            repetition=structs.replace(
                cut, close=close, separator=rest + cut.separator, suffix=rest + cut.suffix
            ),
        )

    @property
    def counts(self) -> bool:
        """Whether calls are numbered."""
        return INDEX_MARK in self.call

    @property
    def call(self) -> str:
        """One whole call of sentinels, with marks for its number."""
        return f"{self.repetition.open}{self.inner}{self.repetition.close}"

    def call_text(self, at: int) -> str:
        """Return call number `at`, in the sentinels of the first."""
        return fill_number(self.call, self.index_base + at)

    def first_open(self) -> str:
        """Return the opening of the first call."""
        return fill_number(self.repetition.open, self.index_base)

    def close_of(self, at: int) -> str:
        """Return the close of call number `at`."""
        return fill_number(self.repetition.close, self.index_base + at)


def group_calls(observer: Observer, turn: ObservedTurn, count: int) -> list[CallGroup] | None:
    """Cut a turn into its calls; return None if one is missing or they are interleaved."""
    marks = observer.prober.sentinels
    words = {
        word: at
        for sentinels in (marks.names, marks.ids, marks.keys, marks.values)
        for at, word in enumerate(sentinels)
    }
    spans: dict[int, list[tuple[int, int]]] = {}
    text = turn.text
    for found in re.finditer("|".join(words), text):
        spans.setdefault(words[found.group()], []).append(found.span())
    # A missing or additional call would give literals of other calls.
    if sorted(spans) != list(range(count)):
        return None
    cuts = [(spans[at][0][0], spans[at][-1][1]) for at in range(count)]
    # All names precede all arguments, so no text belongs to a single call.
    if any(one[1] > other[0] for one, other in pairwise(cuts)):
        return None
    begins = [0] + [end for _, end in cuts[:-1]]
    ends = [start for start, _ in cuts[1:]] + [len(text)]
    return [
        CallGroup(text[begin:start], text[start:end], text[end:following])
        for begin, (start, end), following in zip(begins, cuts, ends, strict=True)
    ]


def learn_frame(observer: Observer) -> CallsFrame | None:
    """Learn the frame from turns of one, two and three calls; return None if no call is shown."""
    one = observer.sample(_CALLS)
    single = group_calls(observer, one, 1)
    if single is None:
        return None
    # Three calls show the separator twice, so that counting numbers show, too.
    limit = _learn_limit(observer)
    if limit is CallLimit.MANY:
        turn = observer.sample(_CALLS, 3)
        three = None if turn.refusal else group_calls(observer, turn, 3)
        if three is not None:
            frame = _frame_of_three(observer, three) or _frame_of_later(single[0], three)
            if frame is not None:
                return replace(frame, goes_on=frame.counts and _continues_numbers(observer, frame))
    only = single[0]
    # Nothing repeats, so no separator shows where the call begins and ends; its neighbors will.
    return CallsFrame(RepeatedText(only.before, "", "", "", only.after), only.inner, limit=limit)


def _continues_numbers(observer: Observer, frame: CallsFrame) -> bool:
    """Whether the first call of a turn is number two if an earlier turn has a call."""
    prober = observer.prober
    one, other = observer.call(), observer.call(1)
    answers = [ToolResult(prober.sentinels.answer, call.name, call.id) for call in (other, one)]
    dialogue = (prober.user, Message(calls=(other,)), answers[0], Message(calls=(one,)))
    shown = prober.probe((*dialogue, answers[1]) if prober.shape.answered else dialogue)
    return frame.call_text(1) in shown.text and frame.call_text(0) not in shown.text


def _learn_limit(observer: Observer) -> CallLimit:
    two = observer.sample(_CALLS, 2)
    if two.refusal:
        return CallLimit.REFUSED
    # Which of two calls are in the text decides whether the template drops one.
    seen = {slot.at for slot in observer.pieces(two.text).slots if slot.kind in _CALL_KINDS}
    if seen == {0}:
        return CallLimit.FIRST
    if seen == {1}:
        return CallLimit.LAST
    return CallLimit.MANY


def _inner_texts(observer: Observer, three: list[CallGroup]) -> list[str]:
    """Return each call's inner text in the sentinels of the first call."""
    marks = observer.prober.sentinels
    texts: list[str] = []
    for at, group in enumerate(three):
        text = group.inner
        for words in (marks.names, marks.ids, marks.keys, marks.values):
            text = text.replace(words[at], words[0])
        texts.append(text)
    return texts


def _frame_of_three(observer: Observer, three: list[CallGroup]) -> CallsFrame | None:
    # Seen with the sentinels of the first call, three calls are equal except for their numbers.
    inner = mark_numbers(_inner_texts(observer, three))
    between = mark_numbers([three[1].before, three[2].before])
    if inner is None or between is None:
        return None
    before, after = three[0].before, three[2].after
    base = inner[1]
    text = between[0]
    if between[1] >= 0:
        head, _, tail = text.partition(INDEX_MARK)
        first = between[1]
        # The number between two calls belongs to the call on one side or the other.
        if before.endswith(f"{first - 1}{tail}"):
            base = first - 1
            before = before[: -len(f"{base}{tail}")] + INDEX_MARK + tail
        elif after.startswith(f"{head}{first + 2}"):
            base = first
            after = head + INDEX_MARK + after[len(f"{head}{first + 2}") :]
        else:
            return None
    return CallsFrame(split_repetition(before, text, after), inner[0], max(base, 0))


def _frame_of_later(one: CallGroup, three: list[CallGroup]) -> CallsFrame | None:
    """Recognize a template that writes something after every call but the first."""
    first = three[1].before
    later = close_of_later_calls(first, three[2].before, one.after, three[2].after)
    if not later:
        return None
    return CallsFrame(split_repetition(one.before, first, one.after), one.inner, later_close=later)


def close_of_later_calls(first: str, second: str, single: str, last: str) -> str:
    """Return the text after every call but the first, or an empty text if all are followed alike.

    `first` and `second` are the texts between three calls, `single` is the text after a single
    call, `last` the text after the last of several.
    """
    head = common_prefix(first, second)
    rest = first[len(head) :]
    close = second[len(head) :].removesuffix(rest)
    repeats = second == head + close + rest
    repeats = repeats and single.startswith(head) and last.startswith(head + close)
    return close if repeats and close.strip() else ""
