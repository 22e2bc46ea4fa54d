"""Attribute every character of a rendered conversation to its message and its writer.

Each character is in exactly one segment: of a message or of the template; brought by the message or
written around it by the template; sampled by the model or written by the prompt. Three steps:

    find_places     where the texts of messages stand, by a render with marks in them
    Shares.cut      where the share of one message ends and the next begins
    attribute_render  the segments, with what is sampled and what a loss counts

For example, the render of "Hi" by a user and "Yes." by an assistant has the segments

    <u>  Hi  </s>       of message 0, "Hi" its content
    <a>  Yes.  </s>     of message 1, "Yes." its content; "Yes.</s>" is sampled, "<a>" prompted
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeAlias

from autoparser.analysis.core.stop_texts import whole_stops
from autoparser.analysis.core.text_alignment import common_prefix
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.templates.chat_template import REASONING_FIELDS

from .history_renders import HistoryRenders, Message, Messages, generation_ranges
from .text_marks import LeafKind, Marks, Path, Run, Style, replace_texts, text_leaves

# The places of message texts in a render.
#
# Contract: a marked render counts only if it equals the plain render once its marks are removed. If
# a template inspects a text and therefore renders something else, the texts are marked in another
# style, then each kind of text separately, then each text; a text that cannot be marked is left
# out.


@dataclass(frozen=True, slots=True)
class Places:
    """The runs of one render that came from the texts of its messages."""

    marks: Marks
    """The numbered texts and the word that marks them, such as `zzzz`."""
    styles: Mapping[int, Style]
    """By leaf: how its text was marked, such as `{0: Style.EDGES}`; a text that is missing here
    cannot be marked."""
    runs: tuple[Run, ...]
    """Sorted by their place in the render, without overlaps, such as
    `(Run(1284, 1292, 0), Run(1325, 1329, 1))`."""

    def mark_texts(self, messages: Messages) -> list[Message]:
        """Return these messages, all or the first of them, with marks in their texts."""
        leaves = self.marks.leaves
        known = {
            at: style for at, style in self.styles.items() if leaves[at].message < len(messages)
        }
        return replace_texts(messages, _marked_texts(self.marks, known))

    def read(self, marked: str) -> tuple[str, list[Run]]:
        """Remove the marks from a render; return its text and the runs of the messages' texts."""
        text, found = self.marks.read(marked)
        return text, self.marks.runs(text, found, self.styles)

    def message(self, run: Run) -> int:
        """Return the number of the message that a run came from."""
        return self.marks.leaves[run.leaf].message


def find_places(
    renders: HistoryRenders,
    messages: Messages,
    text: str,
    *,
    generation: bool,
    reasoning_fields: Sequence[str] = REASONING_FIELDS,
) -> Places:
    """Find the texts of `messages` in `text`, their render."""
    search = _PlaceSearch(renders, messages, text, generation, reasoning_fields)
    search.mark_all()
    search.widen()
    return _drop_repetitions(
        Places(search.marks, search.styles, _without_overlaps(search.runs)), renders, messages
    )


def _drop_repetitions(places: Places, renders: HistoryRenders, messages: Messages) -> Places:
    """Leave out runs where a later message repeats a text of an earlier one, such as a call's name.

    A conversation that ends with a message shows how often that message itself writes its text.
    """
    repeated = [leaf for leaf, times in Counter(r.leaf for r in places.runs).items() if times > 1]
    allowed: dict[int, int] = {}
    for leaf in repeated:
        count = places.marks.leaves[leaf].message + 1
        marked = renders.attempt(places.mark_texts(messages[:count]))
        if marked is not None:
            _, runs = places.read(marked)
            # A template may write the text twice itself, e.g. a call's name in an opening and a
            # closing tag.
            allowed[leaf] = max(1, sum(run.leaf == leaf for run in runs))
    if not allowed:
        return places
    seen: Counter[int] = Counter()
    kept: list[Run] = []
    for run in places.runs:
        seen[run.leaf] += 1
        if seen[run.leaf] <= allowed.get(run.leaf, seen[run.leaf]):
            kept.append(run)
    return Places(places.marks, places.styles, tuple(kept))


class _PlaceSearch:
    """Marks texts until each is found or cannot be marked."""

    def __init__(
        self,
        renders: HistoryRenders,
        messages: Messages,
        text: str,
        generation: bool,
        reasoning_fields: Sequence[str],
    ) -> None:
        self.leaves = text_leaves(messages, reasoning_fields)
        self.marks = Marks(self.leaves, renders.template.text + text)
        self.styles: dict[int, Style] = {}
        self.runs: list[Run] = []
        self._renders = renders
        self._messages = messages
        self._text = text
        self._generation = generation

    def mark_all(self) -> None:
        """Mark all texts at once if possible, else in smaller and smaller groups."""
        everything = range(len(self.leaves))
        if not everything or self._mark_group(everything):
            return
        # A template that inspects one kind of text, e.g. compares the name of a call, leaves the
        # marks in the other kinds.
        for kind in LeafKind:
            group = [leaf for leaf in everything if self.leaves[leaf].kind is kind]
            if group and not self._mark_group(group):
                for leaf in group:
                    self._mark_group([leaf])

    def widen(self) -> None:
        """Include the whitespace at a text's edges in its run if the template keeps it."""
        padded = [run.leaf for run in self.runs if self._is_padded(run)]
        for kind in LeafKind:
            group = {leaf for leaf in padded if self.leaves[leaf].kind is kind}
            runs = self._try_styles(dict.fromkeys(group, Style.OUTER)) if group else None
            if runs is not None:
                self.styles |= dict.fromkeys(group, Style.OUTER)
                self.runs = [run for run in self.runs if run.leaf not in group] + runs

    def _is_padded(self, run: Run) -> bool:
        whole = self.leaves[run.leaf].text
        if self.styles[run.leaf] is not Style.EDGES or whole == whole.strip():
            return False
        before, behind = self._text[: run.start], self._text[run.end :]
        # Only a hint, since the template may write such whitespace itself; the render with outer
        # marks decides.
        return before[-1:] == whole[0] or behind[:1] == whole[-1]

    def _mark_group(self, group: Iterable[int]) -> bool:
        for style in (Style.EDGES, Style.MIDDLE):
            # Marks at the edges show where a text begins and ends even if the template cuts it;
            # marks in the middle only by comparing texts.
            styles = dict.fromkeys(group, style)
            runs = self._try_styles(styles)
            if runs is not None:
                self.styles |= styles
                self.runs += runs
                return True
        return False

    def _try_styles(self, styles: Mapping[int, Style]) -> list[Run] | None:
        """Render with marks and return the runs, or None if that gives another text."""
        texts = _marked_texts(self.marks, styles)
        marked = self._renders.attempt(
            replace_texts(self._messages, texts), generation=self._generation
        )
        if marked is None:
            return None
        text, found = self.marks.read(marked)
        return self.marks.runs(text, found, styles) if text == self._text else None


def _marked_texts(marks: Marks, styles: Mapping[int, Style]) -> dict[tuple[int, Path], str]:
    return {
        (marks.leaves[leaf].message, marks.leaves[leaf].path): marks.put(leaf, style)
        for leaf, style in styles.items()
    }


def _without_overlaps(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Sort runs; characters that two of them claim go to the first."""
    kept: list[Run] = []
    end = 0
    for run in sorted(runs, key=lambda run: (run.start, run.end)):
        start = max(run.start, end)
        if run.end > start:
            kept.append(Run(start, run.end, run.leaf))
            end = run.end
    return tuple(kept)


# Shares: which part of a render belongs to each message, and which part of that the prompt wrote.
#
# A message's share is the text that the template writes when the conversation ends with it. So the
# text between two messages is cut where the render up to the first of them ends, and the generation
# prompt before an assistant message is the prompt's, not the model's. Both are read from renders of
# the first messages, in which marks show where the last text of the earlier message ended.


TEMPLATE = -1
"""The message number of text that belongs to no message."""


@dataclass(frozen=True, slots=True)
class MessageShare:
    """One message's part of the render."""

    message: int
    """The number of the message, such as `0`."""
    start: int
    """The offset of its first character, such as `1267` after the tools."""
    end: int
    """The offset after its last character, such as `1303`."""
    prompted: int
    """The end of the part that a generation prompt writes, or `start` without one."""


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of a render of the first messages, after a given text of theirs."""

    plain: str | None
    r"""The text, such as `"<|im_end|>\n"`, or None if the template refuses to end there or does not
    write that text."""
    prompt: str | None
    r"""The same with the generation prompt, such as `"<|im_end|>\n<|im_start|>assistant\n"`."""


TailKey: TypeAlias = tuple[tuple[str, ...], str, str, bool]


@dataclass(slots=True)
class Joints:
    """The texts learned between messages, cached for all renders of one renderer."""

    format: TurnFormat
    """The format of all turns, whose ends and openings are looked for, such as
    `<TurnFormat: '[a]' content, calls until '[e]'>`."""
    tails: dict[TailKey, tuple[Tail, ...]] = field(
        default_factory=dict["TailKey", "tuple[Tail, ...]"]
    )
    """By the roles from one text to the next, such as `("user", "assistant")`, the last text's
    kind, such as `"content"`, the gap, and with tools."""
    headers: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    r"""By role: the texts that were seen to begin a message, such as
    `{"user": {"<|im_start|>user\n"}}`."""


class Shares:
    """Cuts one render between its messages."""

    def __init__(
        self, renders: HistoryRenders, messages: Messages, text: str, places: Places, joints: Joints
    ) -> None:
        """Store the arguments; `text` is the render of `messages`."""
        self._renders = renders
        self._messages = messages
        self._text = text
        self._places = places
        self._joints = joints
        self._roles = [str(message.get("role")) for message in messages]

    def cut(self) -> Iterator[MessageShare]:
        """Yield the shares in the order of the text; text in none is the template's."""
        runs = self._places.runs
        if not runs:
            return
        message = self._places.message
        start, prompted = self._first_share(runs[0])
        for run, following in zip(runs, [*runs[1:], None], strict=True):
            current = message(run)
            if following is not None and message(following) == current:
                continue
            end = len(self._text) if following is None else following.start
            then = len(self._messages) if following is None else message(following)
            if then <= current:
                # Texts are rendered out of order: the text between belongs to the text after it.
                yield MessageShare(current, start, run.end, prompted)
                start = prompted = run.end
                continue
            cuts = [*self._message_cuts(run, end, then)]
            yield MessageShare(current, start, cuts[0][0], prompted)
            for at, ((begin, opened), (stop, _)) in enumerate(pairwise(cuts), 1):
                if stop > begin:
                    yield MessageShare(current + at, begin, stop, opened)
            start, prompted = cuts[-1]
            if following is not None:
                # In later renders, this header separates the first message from other text.
                header = self._text[start:end]
                self._joints.headers.setdefault(self._roles[then], set()).add(header)

    def _message_cuts(self, run: Run, end: int, then: int) -> Iterator[tuple[int, int]]:
        """Yield where each message after `run`, up to `then`, begins and where its prompt ends."""
        current = self._places.message(run)
        gap = self._text[run.end : end]
        tails = self._known_tails(run, gap, then)
        cut = 0
        for at, tail in enumerate(tails, 1):
            assistant = self._roles[current + at - 1] == "assistant"
            cut = max(cut, self._cut_offset(tail.plain, gap, assistant=assistant))
            prompted = cut
            if tail.prompt is not None and self._is_assistant(current + at):
                prompted = max(cut, self._prompted_length(tail.prompt, run.end, end))
            yield run.end + cut, run.end + prompted

    def _prompted_length(self, prompt: str, start: int, end: int) -> int:
        """Count the characters after `start` that a prompt writes; the turn's text is at `end`.

        A prompt that continues differently may share a prefix with the model's text by chance.
        """
        if self._text.startswith(prompt, start):
            return len(prompt)
        return common_length(prompt, self._text[start:end])

    def _is_assistant(self, at: int) -> bool:
        return at < len(self._roles) and self._roles[at] == "assistant"

    def _cut_offset(self, tail: str | None, gap: str, *, assistant: bool) -> int:
        cut = 0 if tail is None else common_length(tail, gap)
        if not assistant:
            return cut
        # Some templates close a turn only once another message follows it.
        for end in self._joints.format.ends:
            close = (end.text if end.historic is None else end.historic).strip()
            rest = gap[cut:]
            at = rest.find(close) if tail is None else len(rest) - len(rest.lstrip())
            if close and at >= 0 and rest.startswith(close, at):
                behind = rest[at + len(close) :]
                space = len(behind) - len(behind.lstrip()) if tail is None else 0
                return cut + at + len(close) + space
        return cut

    def _known_tails(self, run: Run, gap: str, then: int) -> tuple[Tail, ...]:
        current = self._places.message(run)
        roles = tuple(self._roles[current : then + 1])
        kind = self._places.marks.leaves[run.leaf].kind
        # The gap is in the key: a template may write other text between the same roles, e.g. drop
        # reasoning from an earlier turn.
        key = (roles, kind.value, gap, bool(self._renders.tools))
        known = self._joints.tails.get(key)
        if known is None:
            known = tuple(
                self._render_tail(run.leaf, count) for count in range(current + 1, then + 1)
            )
            self._joints.tails[key] = known
        return known

    def _render_tail(self, leaf: int, count: int) -> Tail:
        plain = self._text_after(leaf, count, generation=False)
        prompt = (
            self._text_after(leaf, count, generation=True) if self._is_assistant(count) else None
        )
        return Tail(plain, prompt)

    def _text_after(self, leaf: int, count: int, *, generation: bool) -> str | None:
        """Render the first messages and return the text after one of theirs, or None."""
        marked = self._places.mark_texts(self._messages[:count])
        rendered = self._renders.attempt(marked, generation=generation)
        if rendered is None:
            return None
        text, runs = self._places.read(rendered)
        end = max((run.end for run in runs if run.leaf == leaf), default=None)
        return None if end is None else text[end:]

    def _first_share(self, run: Run) -> tuple[int, int]:
        """Return where the share of the first message begins and where its prompt ends."""
        before = self._text[: run.start]
        message = self._places.message(run)
        begin = self._header_start(before, message)
        if not self._is_assistant(message):
            return begin, begin
        openings = self._joints.format.openings
        written = (common_length(opening.text, before[begin:]) for opening in openings)
        return begin, begin + max(written, default=0)

    def _header_start(self, before: str, message: int) -> int:
        """Return where the header of the first message begins; text before it is the template's.

        The header is the text that the template writes before a later message of that role. A
        system message has no later one: all but the beginning of the text is its turn.
        """
        role = self._roles[message]
        if role in _ONLY_FIRST:
            bos = str(self._renders.template.special_tokens.get("bos_token") or "")
            return len(bos) if before.startswith(bos) else 0
        if role not in self._joints.headers:
            self._joints.headers[role] = set()
            self._learn_header(message)
        known = [header for header in self._joints.headers[role] if before.endswith(header)]
        return len(before) - max(map(len, known), default=0)

    def _learn_header(self, message: int) -> None:
        """Render a message of that role after an assistant's, which shows its header."""
        one = self._messages[message]
        dialogue = [one, {"role": "assistant", "content": "done"}, one]
        text = self._renders.attempt(dialogue)
        if text is not None:
            places = find_places(self._renders, dialogue, text, generation=False)
            # Cutting this dialogue records the headers.
            list(Shares(self._renders, dialogue, text, places, self._joints).cut())


_ONLY_FIRST = ("system", "developer")
"""Roles that most templates accept only in the first message."""


def common_length(left: str, right: str) -> int:
    """Return the length of the common prefix, without a marker that they share only in part."""
    return len(left) if right.startswith(left) else len(common_prefix(left, right))


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the text that is all of one kind."""

    start: int
    """The offset of its first character, such as `1267`."""
    end: int
    """The offset after its last character, such as `1284`."""
    message: int
    """The number of its message, or -1 if it is the template's own."""
    content: bool
    """Whether the message brought it: its content, its reasoning, a call's name or argument, such
    as `"Hi"` in `"<u>Hi</s>"`."""
    sampled: bool
    """Whether the model writes it: after the generation prompt, up to the stop, such as
    `"<|im_end|>"`, which counts."""
    loss: bool
    """Whether a loss counts it: inside `{% generation %}` in a template that has it, else if it
    is sampled."""


@dataclass(frozen=True, slots=True)
class Attributed:
    """A render, cut into adjacent segments without gaps."""

    text: str
    """The render, e.g. `"<u>Hi</s>"`."""
    segments: tuple[Segment, ...]
    """The segments, in the order of the text, such as
    `(Segment(start=0, end=1267, message=-1, content=False, sampled=False, loss=False), …)`."""


def attribute_render(
    renders: HistoryRenders,
    messages: Messages,
    joints: Joints,
    *,
    generation: bool = False,
    reasoning_fields: Sequence[str] = REASONING_FIELDS,
    text: str | None = None,
) -> Attributed:
    """Render a conversation and attribute its text. Raises TemplateRenderError.

    `text` is its render, if known already.
    """
    if text is None:
        text = renders.text(messages, generation=generation)
    places = find_places(
        renders, messages, text, generation=generation, reasoning_fields=reasoning_fields
    )
    shares = list(Shares(renders, messages, text, places, joints).cut())
    roles = [message.get("role") for message in messages]
    sampled = _sampled_ranges(shares, roles, places, text, joints.format)
    own = generation_ranges(renders, messages, text, generation=generation)
    counted = sampled if own is None else own
    segments = _cut_segments(text, shares, places, sampled, counted)
    return Attributed(text, segments)


def _sampled_ranges(
    shares: Sequence[MessageShare],
    roles: Sequence[object],
    places: Places,
    text: str,
    format_: TurnFormat,
) -> list[tuple[int, int]]:
    """Return the ranges that the model writes: from the prompt's end to the stop string's end."""
    found: list[tuple[int, int]] = []
    for share in shares:
        if roles[share.message] != "assistant":
            continue
        inside = [run.end for run in places.runs if share.start < run.end <= share.end]
        # A turn without any text ends where the prompt does.
        body = max([*inside, share.prompted])
        following = [run.start for run in places.runs if run.start >= share.end]
        # A stop string in the text of a later message must not end this turn.
        limit = min(following, default=len(text))
        start = _after_header(text, share.prompted, body, format_.prompted_header)
        found.append((start, _sampled_end(text, body, share.end, limit, format_)))
    return found


def _after_header(text: str, start: int, body: int, header: str) -> int:
    """Return the offset after a header that a prompt leaves out, as after a tool result."""
    lead = text[start:body]
    space = len(lead) - len(lead.lstrip())
    return start + space + len(header) if header and lead.startswith(header, space) else start


def _sampled_end(text: str, body: int, end: int, limit: int, format_: TurnFormat) -> int:
    """Return where a turn's sampled text ends; the last text of its message ends at `body`.

    The stop may be the beginning of the next turn: if nothing else closes a turn, the model ends it
    by opening the next. No text of another message stands before `limit`.
    """
    stops = [
        at + len(whole if text.startswith(whole, at) else stop)
        for stop, whole in whole_stops(format_).items()
        if (at := text.find(stop, body, limit)) >= 0 and not text[end:at].strip()
    ]
    if stops:
        return min(stops)
    # Without a stop, the turn's end in the history is the template's: the model did not write it.
    written = [len(close) for close in historic_closes(format_) if text[body:end].endswith(close)]
    return end - max(written, default=0)


def historic_closes(format_: TurnFormat) -> list[str]:
    """Return the texts that close turns in the history, the longest first."""
    closes = {end.text if end.historic is None else end.historic for end in format_.ends}
    return sorted(filter(None, closes), key=len, reverse=True)


def _cut_segments(
    text: str,
    shares: Sequence[MessageShare],
    places: Places,
    sampled: Sequence[tuple[int, int]],
    counted: Sequence[tuple[int, int]],
) -> tuple[Segment, ...]:
    """Cut the text at the edges of all ranges, and join neighbors with the same owner and flags.

    `sampled` and `counted` are the ranges that the model wrote and that count in the loss.
    """
    cuts = {0, len(text)}
    cuts.update(place for share in shares for place in (share.start, share.end))
    cuts.update(place for run in places.runs for place in (run.start, run.end))
    cuts.update(place for pair in (*sampled, *counted) for place in pair)
    ordered = sorted(cuts)
    owners = _labels(((share.start, share.end, share.message) for share in shares), ordered)
    texts = _labels(((run.start, run.end, places.message(run)) for run in places.runs), ordered)
    model = _labels(((start, end, 0) for start, end in sampled), ordered)
    loss = _labels(((start, end, 0) for start, end in counted), ordered)
    found: list[Segment] = []
    for start, end in pairwise(ordered):
        owner = texts.get(start, owners.get(start, TEMPLATE))
        # It begins where the segment before it begins, so that both are equal except for the length
        # if they have the same owner and flags.
        segment = Segment(
            found[-1].start if found else start,
            end,
            owner,
            start in texts,
            start in model,
            start in loss,
        )
        if found and replace(found[-1], end=end) == segment:
            found[-1] = segment
        else:
            found.append(replace(segment, start=start))
    return tuple(found)


def _labels(ranges: Iterable[tuple[int, int, int]], cuts: Sequence[int]) -> dict[int, int]:
    """Return the label of the range that contains each cut, the first where ranges overlap."""
    found: dict[int, int] = {}
    for start, end, label in sorted(ranges):
        for at in cuts[bisect_left(cuts, start) : bisect_left(cuts, end)]:
            found.setdefault(at, label)
    return found
